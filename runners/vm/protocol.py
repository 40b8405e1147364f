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
from base.waiting import readable, writable
from runners.execution.execute import Observation
from runners.plan.command_line import Launch

_Kind = TypeVar("_Kind")

# The other side reads at once, unless it hangs.
SEND_LIMIT_S = 60.0
# QEMU answers at once, unless it hangs.
QEMU_LIMIT_S = 60.0
# Room for a program's kept stdout and stderr, escaped.
MAX_BYTES = 16 * 1024 * 1024
# The largest numbers: counts, times in seconds (300 years), and fields that are neither.
_MAX_COUNT, _MAX_S = 2**62, 1e10
_MAX_NUMBERS = {
    **dict.fromkeys(("wait_status", "exec_errno"), 0xFFFF),
    **dict.fromkeys(("allowed", "cpus", "hotplugged_cpus"), MAX_CPU),
}
_hints = cache(get_type_hints)


class ChannelError(Exception):
    """The other side has closed the channel, or sent a message that cannot be read."""


class Channel:
    """Both directions of the stream, over a descriptor that its owner closes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = b""

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; raises ChannelError when the other side is gone or does not read."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                if not writable(self._descriptor, SEND_LIMIT_S):
                    raise ChannelError(f"took nothing for {SEND_LIMIT_S:g} s")
                # A pipe that is ready takes PIPE_BUF bytes without blocking (pipe(7)).
                data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        except OSError as error:
            raise ChannelError(error.strerror) from error

    def receive(self, timeout_s: float | None = None) -> dict[str, Any] | None:
        """Return the next message, or None when none comes within `timeout_s` seconds.

        Raises ChannelError when the other side has closed the stream, or sends anything but
        JSON objects of at most MAX_BYTES.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._received:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not readable([self._descriptor], left):
                return None
            self._received += self._read()
        line, _, self._received = self._received.partition(b"\n")
        return _parsed(line)

    def _read(self) -> bytes:
        try:
            more = os.read(self._descriptor, 1 << 16)
        except OSError as error:
            raise ChannelError(error.strerror) from error
        if not more:
            raise ChannelError("closed")
        if len(self._received) > MAX_BYTES:
            raise ChannelError(f"a message of more than {MAX_BYTES} bytes")
        return more


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise ChannelError(f"said {line[:80]!r}, which is no JSON object")
    return message


def read_launch(message: dict[str, Any]) -> Launch:
    """Return the launch of a message."""
    launch: Launch = _decoded(Launch, message)
    return launch


def observation_message(observed: Observation) -> dict[str, Any]:
    """Return an observation as a message."""
    # Not asdict, which would count the pairs of a Counter.
    threads = [
        vars(trace) | {"stays": [vars(stay) for stay in trace.stays]} for trace in observed.threads
    ]
    return asdict(replace(observed, threads=())) | {"threads": threads}


def read_observation(message: Any) -> Observation:  # noqa: ANN401 - untrusted
    """Return the observation of a message; raises ChannelError when it holds none."""
    try:
        observed: Observation = _decoded(Observation, message)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ChannelError(f"sent no observation: {error!r}") from error
    if observed.ranks or any(trace.rank for trace in observed.threads):
        raise ChannelError("sent ranks of MPI, which no guest starts")
    return observed


def _decoded(kind: Any, value: Any, name: str = "") -> Any:  # noqa: ANN401 - any type
    """Return a JSON value as what a field's type declares; `name` is the field's."""
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind).items()
        return kind(**{key: _decoded(inner, value[key], key) for key, inner in hints})
    origin, inside = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _decoded(inside[0], value, name)
    if origin in (tuple, list):
        return origin(_decoded(inside[0], each, name) for each in _is(list, value))
    if origin is Counter:
        return Counter({_cpu(cpu): _number(int, looks) for cpu, looks in value.items()})
    if origin is dict:
        keys, values = inside
        return {_key(keys, key): _decoded(values, each) for key, each in value.items()}
    if kind is int:
        return _number(int, value, _MAX_NUMBERS.get(name, _MAX_COUNT))
    return _number(float, value, _MAX_S) if kind is float else _is(kind, value)


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


def greet_qemu(channel: Channel) -> dict[int, int]:
    """Return the host's thread of each virtual CPU, by its number, of a QEMU that waits (-S).

    Raises ChannelError when QEMU is gone, or says anything else than the answers.
    """
    _receive(channel, "QMP")
    _request(channel, "qmp_capabilities")
    cpus = _request(channel, "query-cpus-fast")
    try:
        return {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in cpus}
    except (KeyError, TypeError, ValueError) as error:
        raise ChannelError(f"told no threads of its CPUs: {error!r}") from error


def start_cpus(channel: Channel) -> None:
    """Start the CPUs of a QEMU that was greeted; raises ChannelError as `greet_qemu` does."""
    _request(channel, "cont")


def _request(channel: Channel, command: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    channel.send({"execute": command})
    return _receive(channel, "return")


def _receive(channel: Channel, key: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    """Return the value of `key` in QEMU's next message that is no event."""
    while message := channel.receive(QEMU_LIMIT_S):
        if key in message:
            return message[key]
        if "event" not in message:
            raise ChannelError(f"said {one_line(str(message))}")
    raise ChannelError(f"did not answer within {QEMU_LIMIT_S:g} s")
