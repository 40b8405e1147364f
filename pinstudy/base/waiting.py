"""Waits until descriptors can be read or written, whatever their numbers.

select(2) takes numbers below 1024 only, and a process may have more open files than that: one a
rank, or those that it inherits. poll(2) takes any, but Python's waits for whole milliseconds, and
the first looks at a program's threads are closer to each other.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterable
from typing import Protocol, TypeVar

# FD_SETSIZE of the C library.
_SELECTABLE = 1024


class _File(Protocol):
    def fileno(self) -> int: ...


Source = TypeVar("Source", bound=int | _File)


def readable(sources: Iterable[Source], limit_s: float | None = None) -> list[Source]:
    """Return the sources that can be read or are at their end, once there is one.

    Empty when there is none within `limit_s` seconds. Raises OSError for a closed descriptor.
    """
    by_number = {_number(source): source for source in sources}
    if all(number < _SELECTABLE for number in by_number):
        ready = select.select(by_number, [], [], limit_s)[0]
    else:
        ready = _polled(by_number, select.POLLIN, limit_s)
    return [by_number[number] for number in ready]


def writable(sink: int | _File, limit_s: float) -> bool:
    """Return whether a descriptor takes bytes, or has no reader, within `limit_s` seconds.

    Raises OSError for a closed descriptor.
    """
    number = _number(sink)
    if number < _SELECTABLE:
        return bool(select.select([], [number], [], limit_s)[1])
    return bool(_polled([number], select.POLLOUT, limit_s))


def _number(source: int | _File) -> int:
    return source if isinstance(source, int) else source.fileno()


def _polled(numbers: Iterable[int], event: int, limit_s: float | None) -> list[int]:
    # Its ends and errors are reported unasked: to select(2) they are ready, too.
    poll = select.poll()
    for number in numbers:
        poll.register(number, event)
    found = poll.poll(None if limit_s is None else limit_s * 1000)
    if any(what & select.POLLNVAL for _, what in found):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return [number for number, _ in found]
