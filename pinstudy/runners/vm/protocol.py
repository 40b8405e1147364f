"""The protocols of host and guest, and of QEMU: JSON objects, one per line, over a byte stream.

The host sends a run's launch, the guest its observation. QEMU's own protocol (QMP) is for its CPUs:
it greets, answers each command, and reports events at any time (QEMU documentation, QEMU Machine
Protocol Specification).
"""

from __future__ import annotations

from typing import Any

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.decoding import complete
from pinstudy.base.text import one_line
from pinstudy.runners.execution.execute import Observation

# QEMU answers at once, unless it hangs.
QEMU_LIMIT_S = 60.0


def read_observation(message: object) -> Observation:
    """Return the observation of a message; raises ChannelError when it holds none."""
    try:
        observed = complete(message, Observation)
    except ValueError as error:
        raise ChannelError(f"sent no observation: {error}") from error
    if observed.teams or observed.facts or any(trace.team for trace in observed.threads):
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
