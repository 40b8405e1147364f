"""A command of pinstudy on bad input: run in this process, against the clock, and judged."""

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
# What no input may make a command hold beyond what libraries and test take.
MEMORY_BYTES = 1 << 30
# What a terminal obeys, what turns the reading order of a line, and what nobody sees.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ud800-\udfff]"
)


class TookTooLongError(BaseException):
    """The command was still at work at the end of its time."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended: exit status, what it printed, and what it must not do, if it did."""

    status: int
    out: str
    err: str
    fault: str = ""


def outcome_of(arguments: Sequence[str], limit_s: float = LIMIT_S) -> Outcome:
    """Run the command line as `pinstudy` does, and judge what came of it."""
    try:
        with bounded(limit_s):
            done = run_main(arguments)
    except TookTooLongError:
        return Outcome(0, "", "", "took too long")
    except BaseException:  # noqa: BLE001 - this is what is looked for
        return Outcome(0, "", "", traceback.format_exc(limit=-4))
    fault = _fault(done.returncode, done.stdout, done.stderr)
    return Outcome(done.returncode, done.stdout, done.stderr, fault)


@contextmanager
def bounded(limit_s: float, memory_bytes: int = MEMORY_BYTES) -> Iterator[None]:
    """Stop what is done here after some seconds, or when it takes too much memory."""

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
