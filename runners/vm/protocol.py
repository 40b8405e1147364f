"""The protocol between host and guest: JSON objects, one per line, over a byte stream.

The host sends a run's launch, the guest its observation. Pure, apart from `Line`, which does I/O.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar

from base.cpulist import MAX_CPU, parse_cpulist
from base.text import shown
from runners.execution.execute import Observation
from runners.execution.placement import Stay, ThreadTrace
from runners.execution.witness import Ending
from runners.measure.conditions.overhead import HarnessCost
from runners.plan.command_line import Launch

_Kind = TypeVar("_Kind")

# The other side reads at once, unless it hangs.
SAY_LIMIT_S = 60.0
# Room for a program's kept stdout and stderr, escaped.
MAX_BYTES = 16 * 1024 * 1024


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


def launch_message(launch: Launch) -> dict[str, Any]:
    """Return a launch as a message."""
    return asdict(launch)


def read_launch(message: dict[str, Any]) -> Launch:
    """Return the launch of a message."""
    return Launch(
        launcher=tuple(message["launcher"]),
        program=tuple(message["program"]),
        environment=dict(message["environment"]),
        set_variables=dict(message["set_variables"]),
        removed_variables=tuple(message["removed_variables"]),
    )


def observation_message(seen: Observation) -> dict[str, Any]:
    """Return an observation as a message; the CPUs seen are strings, as all keys in JSON."""
    threads = [
        {
            "tid": trace.tid,
            "pid": trace.pid,
            "stays": [
                {
                    "allowed": stay.allowed,
                    "looks": stay.looks,
                    "seen": {str(cpu): looks for cpu, looks in stay.seen.items()},
                    "cpu_s": stay.cpu_s,
                }
                for stay in trace.stays
            ],
            "first_look": trace.first_look,
            "last_look": trace.last_look,
            "gone_s": trace.gone_s,
        }
        for trace in seen.threads
    ]
    return asdict(replace(seen, threads=())) | {"threads": threads}


def read_observation(message: Any) -> Observation:  # noqa: ANN401 - whatever the guest says
    """Return the observation of a message; raises BrokenLineError when it holds none."""
    try:
        return _read_observation(message)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise BrokenLineError(f"sent no observation: {error!r}") from error


def _read_observation(message: dict[str, Any]) -> Observation:
    cost = message["cost"]
    return Observation(
        ending=_ending(message["ending"]),
        timed_out=_is(bool, message["timed_out"]),
        stdout=_is(str, message["stdout"]),
        stderr=_is(str, message["stderr"]),
        threads=tuple(_trace(trace) for trace in _is(list, message["threads"])),
        looks=_count(message["looks"]),
        perf_output=_is(str, message["perf_output"]),
        perf_problem=_is(str, message["perf_problem"]),
        perf_command=tuple(_is(str, word) for word in _is(list, message["perf_command"])),
        cost=None
        if cost is None
        else HarnessCost(
            _seconds(cost["cpu_s"]), _count(cost["context_switches"]), _cpus(cost["cpus"])
        ),
        hotplugged_cpus=_cpus(message["hotplugged_cpus"]),
        unmet=_or_none(_count, message["unmet"]),
        overflowed=_is(bool, message["overflowed"]),
    )


def _ending(said: dict[str, Any]) -> Ending:
    failed = said["exec_errno"]
    return Ending(
        wait_status=_count(said["wait_status"], 0xFFFF),
        elapsed_s=_seconds(said["elapsed_s"]),
        user_s=_or_none(_seconds, said["user_s"]),
        system_s=_or_none(_seconds, said["system_s"]),
        max_rss_bytes=_or_none(_count, said["max_rss_bytes"]),
        exec_errno=None if failed is None else _count(failed, 0xFFFF),
        cpu_s=_or_none(_seconds, said["cpu_s"]),
    )


def _trace(said: dict[str, Any]) -> ThreadTrace:
    return ThreadTrace(
        tid=_count(said["tid"]),
        pid=_count(said["pid"]),
        stays=[_stay(stay) for stay in _is(list, said["stays"])],
        first_look=_count(said["first_look"]),
        last_look=_count(said["last_look"]),
        gone_s=_seconds(said["gone_s"]),
    )


def _stay(said: dict[str, Any]) -> Stay:
    return Stay(
        allowed=_cpus(said["allowed"]),
        looks=_count(said["looks"]),
        seen=Counter({_cpu(cpu): _count(looks) for cpu, looks in said["seen"].items()}),
        cpu_s=_seconds(said["cpu_s"]),
    )


def _or_none(read: Callable[[object], _Kind], value: object) -> _Kind | None:
    return None if value is None else read(value)


def _cpus(said: object) -> tuple[int, ...]:
    return tuple(_count(cpu, MAX_CPU) for cpu in _is(list, said))


def _cpu(text: str) -> int:
    (cpu,) = parse_cpulist(text)
    return cpu


def _is(kind: type[_Kind], value: object) -> _Kind:
    """Return a value of exactly this type, a bool being no int; raises TypeError for any other."""
    if type(value) is not kind:
        raise TypeError(f"{shown(value)} is no {kind.__name__}")
    return value


def _count(value: object, most: int = 2**62) -> int:
    """Return a whole number from 0 to `most`; raises TypeError or ValueError."""
    number = _is(int, value)
    if not 0 <= number <= most:
        raise ValueError(f"{shown(number)} is out of range")
    return number


def _seconds(value: object) -> float:
    """Return a time of no more than 300 years; raises TypeError or ValueError."""
    number = float(value) if type(value) is int else _is(float, value)
    # NaN is not in the range either.
    if not 0 <= number <= 1e10:
        raise ValueError(f"{number} is no time")
    return number
