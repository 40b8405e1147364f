"""Reads the threads of QEMU's CPUs over QEMU's own protocol (QMP), and starts the CPUs.

QMP is JSON objects, one per line: QEMU greets, answers each command, and reports events at any time
(QEMU documentation, QEMU Machine Protocol Specification).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from base.text import one_line
from runners.vm.protocol import BrokenLineError, Line

ANSWER_LIMIT_S = 60.0


def start_cpus(line: Line, place: Callable[[Mapping[int, int]], None]) -> None:
    """Start the CPUs of a QEMU that waits (-S), after `place` has placed their threads.

    `place` gets the host's threads by number of the virtual CPU. Raises BrokenLineError when QEMU
    is gone, or says anything else than the answers.
    """
    _hear(line, "QMP")
    _ask(line, "qmp_capabilities")
    cpus = _ask(line, "query-cpus-fast")
    try:
        threads = {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in cpus}
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenLineError(f"told no threads of its CPUs: {error!r}") from error
    place(threads)
    _ask(line, "cont")


def _ask(line: Line, command: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    line.say({"execute": command})
    return _hear(line, "return")


def _hear(line: Line, key: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    """Return the value of `key` in QEMU's next message that is no event."""
    while message := line.hear(ANSWER_LIMIT_S):
        if key in message:
            return message[key]
        if "event" not in message:
            raise BrokenLineError(f"said {one_line(str(message))}")
    raise BrokenLineError(f"did not answer within {ANSWER_LIMIT_S:g} s")
