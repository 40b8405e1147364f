"""A command of pinstudy on bad input: run in this process, with a time limit, and judged."""

from __future__ import annotations

import os
import re
import resource
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tests.support.cli import run_main

# A hundred times what the slowest of these commands needs on a busy node.
LIMIT_S = 30.0
# The memory that a command may need on any input, beyond that of libraries and test.
MEMORY_BYTES = 1 << 30
# Control characters, characters that turn the order of a line, and invisible ones.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ud800-\udfff]"
)


class TookTooLongError(BaseException):
    """The command exceeded its time limit."""


@dataclass(frozen=True)
class Outcome:
    """The end of a command: exit status, output, and its forbidden behaviour, if any."""

    status: int
    out: str
    err: str
    fault: str = ""


def outcome_of(arguments: Sequence[str], limit_s: float = LIMIT_S) -> Outcome:
    """Run the command line as `pinstudy` does, and judge the outcome."""
    try:
        with bounded(limit_s):
            done = run_main(arguments)
    except TookTooLongError:
        return Outcome(0, "", "", "took too long")
    except BaseException:  # noqa: BLE001 - any exception is a fault
        return Outcome(0, "", "", traceback.format_exc(limit=-4))
    fault = _fault(done.returncode, done.stdout, done.stderr)
    return Outcome(done.returncode, done.stdout, done.stderr, fault)


@contextmanager
def bounded(limit_s: float, memory_bytes: int = MEMORY_BYTES) -> Iterator[None]:
    """Stop the context after some seconds, or when it needs too much memory."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLongError

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (_mapped_bytes() + memory_bytes, hard))
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, handler)


def _mapped_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _fault(status: int, out: str, err: str) -> str:
    if status not in (0, 1, 2, 3):
        return f"exit status {status}"
    if "Traceback" in out + err:
        return "a traceback"
    unsafe = _UNSAFE.search(out + err)
    if unsafe:
        around = (out + err)[max(0, unsafe.start() - 60) : unsafe.end() + 20]
        return f"prints U+{ord(unsafe[0]):04X}: {around!r}"
    return ""
