"""The runner inside a guest: makes runs at the host's request, with the code of local runs.

guest/start.sh starts it as root of the guest; it becomes the host's user before it runs anything.
The host sends `setup` once, then `clock` and `run` any number of times. After `run` the agent sends
`starting` when the program is about to be released, waits for `go`, sends `alive` about once a
second, `ended` when the program has ended, and then the observation.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from pinstudy.base.channel import Channel
from pinstudy.base.decoding import complete, message_of
from pinstudy.runners.execution.execute import Harness, execute
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.measure.perf.events import perf_command
from pinstudy.runners.plan.launch import Launch

PORT = "pinstudy"
# Software events only: on hybrid hosts a guest has no hardware counters.
EVENTS = "task-clock,context-switches,cpu-migrations,page-faults"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_ONLINE = Path("/sys/devices/system/cpu/online")


class HostMeters:
    """The outermost meter: it has the host start and stop its own meters."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def start(self) -> None:
        """Let the host start its meters; the run starts with the host's answer."""
        self._channel.send({"say": "starting"})
        self._channel.receive()

    def sample(self) -> None:
        """Tell the host that the guest is alive; the host samples its meters by itself."""
        self._channel.send({"say": "alive"})

    def stop(self) -> None:
        """Let the host stop its meters."""
        self._channel.send({"say": "ended"})


def serve(channel: Channel) -> None:
    """Answer the host until it closes the channel."""
    harness: Harness | None = None
    online = _ONLINE.read_text(encoding="ascii").strip()
    channel.send({"say": "ready", "online": online, "kernel": os.uname().release})
    while request := channel.receive():
        match request["ask"]:
            case "setup":
                try:
                    harness = _harness(channel, request)
                except OSError as error:
                    # The host searches the console for such a line.
                    raise SystemExit(f"pinstudy guest: cannot be set up: {error}") from error
                channel.send({"say": "set up"})
            case "clock":
                channel.send({"say": "clock", "monotonic_s": time.monotonic()})
            case "run":
                assert harness, "setup comes first"
                channel.send(_run(request, harness))


def _harness(channel: Channel, request: dict[str, Any]) -> Harness:
    """Permit perf all events, become the host's user, and return what runs need."""
    _PARANOID.write_text("-1", encoding="ascii")
    os.chdir(request["folder"])
    if request["hold"]:
        _hold_perf(request["perf"])
    if request["uid"] != 0:
        os.setgroups(request["groups"])
        os.setgid(request["gid"])
        os.setuid(request["uid"])
    return Harness(
        witness=Path(request["witness"]),
        perf_command=perf_command(request["perf"], EVENTS) if request["perf"] else None,
        perf_problem=request["perf_problem"],
        meters=(HostMeters(channel),),
    )


def _hold_perf(perf: str) -> None:
    """Keep one perf running, so that no other perf is the first to start or the last to end.

    At both the kernel patches its own code. QEMU's emulation of several CPUs was seen to miss that:
    a CPU then never answers the CPU that waits for it.
    """
    command = [perf, "stat", "-o", "/dev/null", "-e", EVENTS, "sleep", "infinity"]
    subprocess.Popen(command, stdin=subprocess.DEVNULL)


def _run(request: dict[str, Any], harness: Harness) -> dict[str, Any]:
    launch = complete(request["launch"], Launch)
    try:
        observed = execute(launch, request["limit_s"], harness, cpus=request["cpus"])
    except LaunchError as error:
        return {"say": "refused", "reason": str(error)}
    return {"say": "observation", "seen": message_of(observed)}


def open_port() -> int:
    """Open the virtio-serial port that the host has named PORT; device files have numbers."""
    for device in Path("/sys/class/virtio-ports").iterdir():
        if (device / "name").read_text(encoding="ascii").strip() == PORT:
            return os.open(f"/dev/{device.name}", os.O_RDWR | os.O_CLOEXEC)
    raise SystemExit("pinstudy guest: QEMU gave no port to speak over")


if __name__ == "__main__":
    serve(Channel(open_port()))
