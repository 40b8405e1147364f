"""Match a user's regular expression with a limit on its CPU time.

Python's engine backtracks: the time of `(a+)+b` is exponential in the length of a line of a's.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

LIMIT_S = 5.0
# In a text up to this long, a pattern without nested repeats takes milliseconds, and the engine
# checks for signals during any other. In a longer text it may not for a minute (`\s+x` in blanks).
_SHORT_CHARACTERS = 1 << 14
_SPANS = struct.Struct("=4q")

_Find = Callable[[str, str], "re.Match[str] | None"]
# Where the match and its group 1 begin and end; -1 where there is none.
Spans = tuple[int, int, int, int]


class TooSlowError(Exception):
    """A pattern took longer than its limit of CPU time."""

    def __init__(self, pattern: str) -> None:
        super().__init__(
            f"{pattern!r} was not decided within {LIMIT_S:g} s of CPU time; a pattern without "
            "repeats inside repeats takes less"
        )


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in the lines; raises TooSlowError."""
    return _limited(_first, pattern, text) is not None


def last_match(pattern: str, text: str) -> Spans | None:
    """Return the spans of the last match of a pattern with a group; raises TooSlowError."""
    return _limited(_last, pattern, text)


def _first(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.MULTILINE)


def _last(pattern: str, text: str) -> re.Match[str] | None:
    last = deque(re.finditer(pattern, text, re.MULTILINE), maxlen=1)
    return last[0] if last else None


def _limited(find: _Find, pattern: str, text: str) -> Spans | None:
    if len(text) > _SHORT_CHARACTERS:
        return _in_child(find, pattern, text)

    def too_slow(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(pattern)

    before = signal.signal(signal.SIGVTALRM, too_slow)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        return _spans(find(pattern, text))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _spans(match: re.Match[str] | None) -> Spans | None:
    if match is None:
        return None
    return (*match.span(), *(match.span(1) if match.re.groups else (-1, -1)))


def _in_child(find: _Find, pattern: str, text: str) -> Spans | None:
    """Search in a child process that the kernel ends after LIMIT_S of CPU time."""
    receiver, sender = os.pipe()
    with os.fdopen(receiver, "rb") as result:
        with os.fdopen(sender, "wb", buffering=0) as answer:
            pid = os.fork()
            if pid == 0:
                with suppress(BaseException):
                    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
                    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
                    answer.write(_SPANS.pack(*(_spans(find(pattern, text)) or (-1,) * 4)))
                os._exit(0)
        try:
            packed = result.read()
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM:
        raise TooSlowError(pattern)
    if len(packed) != _SPANS.size:
        # Only a lack of memory ends the child without a result: the kernel, or an allocation.
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    spans: Spans = _SPANS.unpack(packed)
    return None if spans[0] < 0 else spans
