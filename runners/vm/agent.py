"""The runner inside a guest: makes one run after the other, as the host asks, by the same code.

Started by guest/start.sh as root of the guest; it gives its rights up for those of the host's user
before it runs anything. What it is asked and answers, in order: `setup`; then `clock` any number of
times and `run`, which says `starting` when the program is about to be released, waits for `go`,
says `alive` about once a second of a long run, `ended` when the program has, and then what it
observed.
"""

from __future__ import annotations

import os
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

from runners.execution.execute import Harness, execute
from runners.execution.witness import LaunchError
from runners.measure.perf.events import perf_command
from runners.vm.protocol import Line, observation_message, read_launch

PORT = "pinstudy"
# What a kernel counts by itself: a guest has no counters of the processor on hybrid hosts.
EVENTS = "task-clock,context-switches,cpu-migrations,page-faults"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_ONLINE = Path("/sys/devices/system/cpu/online")


class HostWindow:
    """The meter that is farthest from the program: the host's own, which it starts and stops."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def start(self) -> None:
        """Let the host start its meters; its answer is the run's start."""
        self._line.say({"say": "starting"})
        self._line.hear()

    def sample(self) -> None:
        """Tell the host that the guest is alive: it looks at its meters itself."""
        self._line.say({"say": "alive"})

    def stop(self) -> None:
        """Let the host stop its meters."""
        self._line.say({"say": "ended"})


def serve(line: Line) -> None:
    """Answer the host until it closes the line."""
    harness: Harness | None = None
    online = _ONLINE.read_text(encoding="ascii").strip()
    line.say({"say": "ready", "online": online, "kernel": os.uname().release})
    while request := line.hear():
        match request["ask"]:
            case "setup":
                try:
                    harness = _harness(line, request)
                except OSError as error:
                    # The host looks for such a line in the console.
                    raise SystemExit(f"pinstudy guest: cannot be set up: {error}") from error
                line.say({"say": "set up"})
            case "clock":
                line.say({"say": "clock", "monotonic_s": time.monotonic()})
            case "run":
                assert harness, "setup comes first"
                line.say(_run(request, harness))


def _harness(line: Line, request: dict[str, Any]) -> Harness:
    """Become the host's user, who may count everything here, and return what runs need."""
    _PARANOID.write_text("-1", encoding="ascii")
    os.chdir(request["folder"])
    if request["hold"]:
        _hold_perf(request["perf"])
    if request["uid"] != 0:
        os.setgroups(request["groups"])
        os.setgid(request["gid"])
        os.setuid(request["uid"])
    command = partial(perf_command, request["perf"], EVENTS) if request["perf"] else None
    return Harness(
        witness=Path(request["witness"]),
        perf_command=command,
        perf_problem=request["perf_problem"],
        meters=(HostWindow(line),),
    )


def _hold_perf(perf: str) -> None:
    """Keep one perf from now on, so that no other is the first or the last.

    At these the kernel patches its own code, which QEMU's emulation of several CPUs was seen to
    miss: a CPU then never answers the one that waits for it.
    """
    command = [perf, "stat", "-o", "/dev/null", "-e", EVENTS, "sleep", "infinity"]
    subprocess.Popen(command, stdin=subprocess.DEVNULL)


def _run(request: dict[str, Any], harness: Harness) -> dict[str, Any]:
    launch = read_launch(request["launch"])
    try:
        seen = execute(launch, request["limit_s"], harness, cpus=request["cpus"])
    except LaunchError as error:
        return {"say": "refused", "reason": str(error)}
    return {"say": "observation", "seen": observation_message(seen)}


def open_port() -> int:
    """Open the virtio-serial port that the host has named; its device is called by number."""
    for device in Path("/sys/class/virtio-ports").iterdir():
        if (device / "name").read_text(encoding="ascii").strip() == PORT:
            return os.open(f"/dev/{device.name}", os.O_RDWR | os.O_CLOEXEC)
    raise SystemExit("pinstudy guest: QEMU gave no port to speak over")


if __name__ == "__main__":
    serve(Line(open_port()))
