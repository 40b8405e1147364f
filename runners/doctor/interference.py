"""Whether daemons run here that are known to interfere with measuring."""

from __future__ import annotations

from collections.abc import Iterator

from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import NOT_TRIED, Capability
from runners.host.daemons import UNITS, find_daemons, stop_commands
from runners.host.tree import Absent

NAME = "daemons"


def probe_daemons(node: AskedNode) -> Iterator[Capability]:
    """Tell which known daemons change frequencies, masks or interrupts now."""
    if not node.live:
        yield Capability(NAME, "missing", NOT_TRIED)
        return
    found = find_daemons(node.tree)
    if isinstance(found, Absent):
        yield Capability(NAME, "limited", f"not known whether any interferes: {found.reason}")
    elif not found and isinstance(node.tree.text("/proc/1/comm"), Absent):
        hidden = "/proc hides other users' processes (hidepid): daemons cannot be seen"
        yield Capability(NAME, "limited", hidden, "sudo mount -o remount,hidepid=0 /proc")
    elif not found:
        yield Capability(NAME, "ok", f"none that interferes runs ({', '.join(UNITS)} and others)")
    else:
        verb = "runs and changes" if len(found) == 1 else "run and change"
        reason = f"{', '.join(found)} {verb} frequencies, masks or interrupts while measuring"
        stop = stop_commands(found)
        yield Capability(NAME, "limited", reason, stop, stop.replace(" stop ", " disable --now "))
