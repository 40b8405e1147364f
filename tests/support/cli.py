"""pinstudy's command line in the process of the tests, or in one of its own.

A process of its own needs a second for its imports. It is for tests of the process itself: its
signals, its streams, its interpreter.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from pinstudy.cli.main import main
from tests.support.held import argv_counting_looks
from tests.support.processes import descendants, ended, wait_until_gone
from tests.support.tools import ROOT
from tests.support.wait import HANG_S

# The signals that the command line handles.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Variables that a user may have set for other studies.
_NOT_OURS = ("OMP_", "PINSTUDY_RESULTS")


def pinstudy(
    folder: Path, *arguments: str, status: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; return its status and output, as subprocess.run does.

    The environment is that of the tests without PINSTUDY_RESULTS and OpenMP's variables, with a
    terminal of 100 columns, and with `variables`. An exception that a process would show as a
    traceback is raised. With `status`, a command that ends with another one fails the test.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_OURS)}
    environment |= {"COLUMNS": "100"} | variables
    before = Path.cwd()
    with mock.patch.dict(os.environ, environment, clear=True):
        os.chdir(folder)
        try:
            done = run_main(arguments)
        finally:
            os.chdir(before)
    assert status in (None, done.returncode), f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


def argv(*arguments: str) -> list[str]:
    """Return the command line of a pinstudy command in a process of its own."""
    return [sys.executable, str(ROOT / "pinstudy"), *arguments]


@contextmanager
def started(folder: Path, *arguments: str, apart: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a process of its own, also in a session if `apart`; kill it at the end.

    Its stderr is a pipe, its stdout is discarded.
    """
    process = subprocess.Popen(
        argv(*arguments),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=apart,
    )
    with ended(process):
        yield process


def stop(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """End a started command by SIGINT or SIGKILL; wait until nothing is left that it started."""
    everyone = list(descendants(process.pid))
    process.send_signal(number)
    assert process.wait(HANG_S) == (130 if number == signal.SIGINT else -number)
    wait_until_gone(everyone)


def pinstudy_without(
    module: str, folder: Path, *arguments: str, error: str = "ImportError('no {} here')"
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own that cannot import a module, because of an error.

    It counts its looks in the folder's file `looks` (tests.support.held.looks_counted).
    """
    modules = folder / "lacking"
    modules.mkdir()
    (modules / f"{module}.py").write_text(f"raise {error.format(module)}")
    return subprocess.run(
        argv_counting_looks(folder / "looks", *arguments),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def run_main(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process's folder and environment, with streams in memory."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in range(2))
    status = 0
    with _restored(), redirect_stdout(out), redirect_stderr(err):
        sys.argv = ["pinstudy", *arguments]
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
    return subprocess.CompletedProcess(["pinstudy", *arguments], status, _text(out), _text(err))


@contextmanager
def _restored() -> Iterator[None]:
    """Restore the settings of the process that the command line changes."""
    argv, hook, mask = sys.argv, sys.unraisablehook, os.umask(0o077)
    os.umask(mask)
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        sys.argv, sys.unraisablehook = argv, hook
        os.umask(mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "surrogateescape")
