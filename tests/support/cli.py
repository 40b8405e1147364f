"""pinstudy as a user types it, but in the process of the tests.

A process of its own needs a second for its imports. It is for tests in which the process is the
point: its signals, its streams, its interpreter.
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

from pinstudy.cli import main
from tests.support.held import argv_counting_looks
from tests.support.processes import ended
from tests.support.tools import ROOT
from tests.support.wait import HANG_S

# What the command line answers in a way of its own.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# What a user has set for his own studies.
_NOT_OURS = ("OMP_", "PINSTUDY_RESULTS")


def pinstudy(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; return what came of it, as subprocess.run does.

    The environment is that of the tests without PINSTUDY_RESULTS and what tells OpenMP, with a
    terminal of 100 columns, and then `variables`. An exception that a process would show as a
    traceback is raised.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_OURS)}
    environment |= {"COLUMNS": "100"} | variables
    before = Path.cwd()
    with mock.patch.dict(os.environ, environment, clear=True):
        os.chdir(folder)
        try:
            return run_main(arguments)
        finally:
            os.chdir(before)


def argv(*arguments: str) -> list[str]:
    """Return the words that start a command in a process of its own."""
    return [sys.executable, str(ROOT / "pinstudy"), *arguments]


@contextmanager
def started(folder: Path, *arguments: str, apart: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a process of its own, in a session too if `apart`; end it at the end.

    Its stderr is a pipe, and what it prints goes nowhere.
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


def pinstudy_without(
    module: str, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, in which a module cannot be imported.

    It counts its looks in the folder's file `looks` (tests.support.held.looks_counted).
    """
    lacking = folder / "lacking"
    lacking.mkdir()
    (lacking / f"{module}.py").write_text(f"raise ImportError('no {module} here')")
    return subprocess.run(
        argv_counting_looks(folder / "looks", *arguments),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(lacking)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def run_main(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line in the folder and environment of this process, streams in memory."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in range(2))
    status = 0
    with _as_it_was(), redirect_stdout(out), redirect_stderr(err):
        sys.argv = ["pinstudy", *arguments]
        try:
            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
    return subprocess.CompletedProcess(["pinstudy", *arguments], status, _text(out), _text(err))


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Put back what the command line sets for its whole process."""
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
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode("utf-8", "surrogateescape")
