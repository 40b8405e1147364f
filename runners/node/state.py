"""The state in which a run is made: frequency scaling, power limits, SMT, kernel, microcode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from base.reading import Reading
from runners.host.tree import Unavailable
from runners.node.cpufreq import read_cpufreq
from runners.node.facts import SMT
from runners.node.node import Node
from runners.node.power_limits import limits_by_domain, read_power_limits

# The same for every run of a boot; every record repeats them, because it may be copied alone.
_FACTS = ("kernel", "microcode")
# A run during which one of these changed belongs to no case.
_SETTLED = ("governor_read", "epp", "min_khz", "max_khz", "turbo")


def read_state(node: Node, cpus: Sequence[int]) -> Reading:
    """Return the frequency scaling of these CPUs, power limits, SMT, kernel and microcode."""
    state = read_cpufreq(node.root, cpus).state_of(cpus)
    fields = {name: node.facts[name] for name in _FACTS if name in node.facts}
    absent = node.facts["unavailable"]
    unavailable = {name: absent[name] for name in _FACTS if name in absent}
    siblings = node.tree.text(SMT)
    if isinstance(siblings, Unavailable):
        unavailable["smt"] = siblings.reason
    else:
        fields["smt"] = siblings
    limits = read_power_limits(node.tree)
    if isinstance(limits, Unavailable):
        unavailable["power_limits"] = limits.reason
    elif known := limits_by_domain(limits):
        fields["power_limits"] = known
    else:
        reasons = (limit.get("reason") for limit in limits)
        unavailable["power_limits"] = next(filter(None, reasons), "none is named PL1 or PL2")
    return state | Reading(fields, unavailable)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return in words which settings differ between two states; empty when none do."""
    return "; ".join(
        f"{name.removesuffix('_read')} was {_shown(before.get(name))} before the run and "
        f"{_shown(after.get(name))} after it"
        for name in _SETTLED
        if before.get(name) != after.get(name)
    )


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{khz} kHz on {cpus}" for khz, cpus in value.items())
    return "unreadable" if value is None else str(value)
