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
from dataclasses import asdict, replace
from typing import Any

from base.cpulist import MAX_CPU
from base.files import structured
from base.text import one_line
from base.waiting import readable, writable
from runners.execution.execute import Observation
from runners.plan.command_line import Launch

# The other side reads at once, unless it hangs.
SEND_LIMIT_S = 60.0
# QEMU answers at once, unless it hangs.
QEMU_LIMIT_S = 60.0
# Room for a program's kept stdout and stderr, escaped.
MAX_BYTES = 16 * 1024 * 1024
# The largest numbers of an observation: counts, and fields that are none.
_MAX_NUMBERS = {
    "int": 2**62,
    **dict.fromkeys(("wait_status", "exec_errno"), 0xFFFF),
    **dict.fromkeys(("allowed", "cpus", "hotplugged_cpus", "ran_on", "cpu_s_on"), MAX_CPU),
}


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
    return structured(Launch, message)


def observation_message(observed: Observation) -> dict[str, Any]:
    """Return an observation as a message."""
    # Not asdict, which would count the pairs of a Counter.
    threads = [
        vars(trace) | {"stays": [vars(stay) for stay in trace.stays]} for trace in observed.threads
    ]
    return asdict(replace(observed, threads=())) | {"threads": threads}


def read_observation(message: object) -> Observation:
    """Return the observation of a message; raises ChannelError when it holds none."""
    try:
        observed = structured(Observation, message, _MAX_NUMBERS)
    except ValueError as error:
        raise ChannelError(f"sent no observation: {error}") from error
    if observed.ranks or any(trace.rank for trace in observed.threads):
        raise ChannelError("sent ranks of MPI, which no guest starts")
    return observed


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
