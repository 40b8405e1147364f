"""Starts pinstudy from its folder: the root of the tree goes first on the import path."""

import gc
import os
import sys

# Imports make two hundred thousand objects, tables and figures as many again, and they live until
# the command ends. With Python's 700, looking for garbage took a fifth of a report's time.
OBJECTS_BEFORE_COLLECTION = 300_000
THREADS_OF_BLAS = "OPENBLAS_NUM_THREADS"


def _leave(_number: object = None, _frame: object = None) -> None:
    # Nothing has begun. An exception could not be shown in one line: Python may be in an import.
    try:
        os.write(2, b"pinstudy: stopped\n")
    finally:
        os._exit(130)


def _leave_when_stopped() -> None:
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup(1) and others start a program with signals ignored, and they stay so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave_short(error: Exception) -> None:
    """End in one line where there is too little memory, or a file cannot be read, for the start."""
    what = "there is not enough memory (`ulimit -v` shows a limit)"
    if isinstance(error, OSError):
        what = f"cannot start: {error.filename}: {error.strerror}"
    try:
        os.write(2, f"pinstudy: {what}\n".encode(errors="replace"))
    finally:
        os._exit(1)


def _start() -> None:
    try:
        _leave_when_stopped()
    except KeyboardInterrupt:
        _leave()
    # Numpy's OpenBLAS starts a thread for each CPU when it is loaded. Where a login node limits
    # threads or memory it cannot, and interrupts the process. os.environ, which the programs under
    # study get, stays as it is.
    if THREADS_OF_BLAS not in os.environ:
        os.putenv(THREADS_OF_BLAS, "1")
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
    try:
        from pinstudy.cli.main import main
    # Without memory Python may lose the exception (SystemError).
    except (MemoryError, SystemError, OSError) as error:
        _leave_short(error)
    main()


if __name__ == "__main__":
    _start()
