"""The protocols of host and guest, and of QEMU: JSON objects, one per line, over a byte stream.

The host sends a run's launch, the guest its observation. QEMU's own protocol (QMP) is for its CPUs:
it greets, answers each command, and reports events at any time (QEMU documentation, QEMU Machine
Protocol Specification).
"""

from __future__ import annotations

import json
import os
import select
import time
from collections import Counter
from dataclasses import asdict, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from base.cpulist import MAX_CPU, parse_cpulist
from base.text import one_line, shown
from runners.execution.execute import Observation
from runners.plan.command_line import Launch

_Kind = TypeVar("_Kind")

# The other side reads at once, unless it hangs.
SAY_LIMIT_S = 60.0
# QEMU answers at once, unless it hangs.
QEMU_LIMIT_S = 60.0
# Room for a program's kept stdout and stderr, escaped.
MAX_BYTES = 16 * 1024 * 1024
# The largest numbers: counts, times in seconds (300 years), and fields that are neither.
_MAX_COUNT, _MAX_S = 2**62, 1e10
_MOST = {
    **dict.fromkeys(("wait_status", "exec_errno"), 0xFFFF),
    **dict.fromkeys(("allowed", "cpus", "hotplugged_cpus"), MAX_CPU),
}
_hints = cache(get_type_hints)


class BrokenLineError(Exception):
    """The other side is gone, or sent a message that cannot be read."""


class Line:
    """Both directions of the stream, over a descriptor that its owner closes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = b""

    def say(self, message: dict[str, Any]) -> None:
        """Send a message; raises BrokenLineError when the other side is gone or does not read."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                if not select.select([], [self._descriptor], [], SAY_LIMIT_S)[1]:
                    raise BrokenLineError(f"took nothing for {SAY_LIMIT_S:g} s")
                # A pipe that is ready takes PIPE_BUF bytes without blocking (pipe(7)).
                data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        except OSError as error:
            raise BrokenLineError(error.strerror) from error

    def hear(self, timeout_s: float | None = None) -> dict[str, Any] | None:
        """Return the next message, or None when none comes within `timeout_s` seconds.

        Raises BrokenLineError when the other side has closed the stream, or sends anything but
        JSON objects of at most MAX_BYTES.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._waiting:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._descriptor], [], [], left)[0]:
                return None
            self._waiting += self._read()
        line, _, self._waiting = self._waiting.partition(b"\n")
        return _parsed(line)

    def _read(self) -> bytes:
        try:
            more = os.read(self._descriptor, 1 << 16)
        except OSError as error:
            raise BrokenLineError(error.strerror) from error
        if not more:
            raise BrokenLineError("closed")
        if len(self._waiting) > MAX_BYTES:
            raise BrokenLineError(f"a message of more than {MAX_BYTES} bytes")
        return more


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise BrokenLineError(f"said {line[:80]!r}, which is no JSON object")
    return message


def read_launch(message: dict[str, Any]) -> Launch:
    """Return the launch of a message."""
    launch: Launch = _decoded(Launch, message)
    return launch


def observation_message(seen: Observation) -> dict[str, Any]:
    """Return an observation as a message."""
    # Not asdict, which would count the pairs of a Counter.
    threads = [
        vars(trace) | {"stays": [vars(stay) for stay in trace.stays]} for trace in seen.threads
    ]
    return asdict(replace(seen, threads=())) | {"threads": threads}


def read_observation(message: Any) -> Observation:  # noqa: ANN401 - whatever the guest says
    """Return the observation of a message; raises BrokenLineError when it holds none."""
    try:
        seen: Observation = _decoded(Observation, message)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise BrokenLineError(f"sent no observation: {error!r}") from error
    return seen


def _decoded(kind: Any, said: Any, name: str = "") -> Any:  # noqa: ANN401 - any type
    """Return a JSON value as what a field's type declares; `name` is the field's."""
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{key: _decoded(inner, said[key], key) for key, inner in _hints(kind).items()})
    origin, inside = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if said is None else _decoded(inside[0], said, name)
    if origin in (tuple, list):
        return origin(_decoded(inside[0], each, name) for each in _is(list, said))
    if origin is Counter:
        return Counter({_cpu(cpu): _number(int, looks) for cpu, looks in said.items()})
    if origin is dict:
        keys, values = inside
        return {_key(keys, key): _decoded(values, value) for key, value in said.items()}
    if kind is int:
        return _number(int, said, _MOST.get(name, _MAX_COUNT))
    return _number(float, said, _MAX_S) if kind is float else _is(kind, said)


def _key(kind: type[_Kind], text: object) -> _Kind | int:
    """Return an object's key, which JSON has as text, as what a field's type declares."""
    return _number(int, int(_is(str, text))) if kind is int else _is(kind, text)


def _cpu(text: str) -> int:
    (cpu,) = parse_cpulist(text)
    return cpu


def _is(kind: type[_Kind], value: object) -> _Kind:
    """Return a value of exactly this type, a bool being no int; raises TypeError for any other."""
    if type(value) is not kind:
        raise TypeError(f"{shown(value)} is no {kind.__name__}")
    return value


def _number(kind: type[_Kind], value: Any, most: float = _MAX_COUNT) -> _Kind:  # noqa: ANN401
    """Return a number from 0 to `most`, which NaN is not; raises TypeError or ValueError."""
    number = _is(kind, float(value) if kind is float and type(value) is int else value)
    if not 0 <= value <= most:
        raise ValueError(f"{shown(value)} is out of range")
    return number


def greet_qemu(line: Line) -> dict[int, int]:
    """Return the host's thread of each virtual CPU, by its number, of a QEMU that waits (-S).

    Raises BrokenLineError when QEMU is gone, or says anything else than the answers.
    """
    _hear(line, "QMP")
    _ask(line, "qmp_capabilities")
    cpus = _ask(line, "query-cpus-fast")
    try:
        return {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in cpus}
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenLineError(f"told no threads of its CPUs: {error!r}") from error


def start_cpus(line: Line) -> None:
    """Start the CPUs of a QEMU that was greeted; raises BrokenLineError as `greet_qemu` does."""
    _ask(line, "cont")


def _ask(line: Line, command: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    line.say({"execute": command})
    return _hear(line, "return")


def _hear(line: Line, key: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    """Return the value of `key` in QEMU's next message that is no event."""
    while message := line.hear(QEMU_LIMIT_S):
        if key in message:
            return message[key]
        if "event" not in message:
            raise BrokenLineError(f"said {one_line(str(message))}")
    raise BrokenLineError(f"did not answer within {QEMU_LIMIT_S:g} s")
