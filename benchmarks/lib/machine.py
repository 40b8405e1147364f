"""The machine that a benchmark ran on, for readers: no number means anything without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from base import VERSION
from base.cpulist import format_cpulist
from base.text import plural
from base.units import utc_now
from runners.doctor.report import probe
from runners.node.node import Node, open_node

# What a benchmark's numbers lack where the node lacks it.
_COUNTED = ("hardware-counters", "energy")


def describe_machine(root: Path = Path("/")) -> list[tuple[str, str]]:
    """Return what names the node below `root`, a name and a value each; a reason where it has none.

    The load is that of now: ask before the benchmark makes one of its own.
    """
    node = open_node(root)
    facts = node.facts
    absent = facts["unavailable"]
    lacking = {
        found.name: f"n/a, because {found.why}"
        for found in probe(node, node.tree.live)
        if found.state == "missing" and found.name in _COUNTED
    }
    return [
        ("processor", facts.get("cpu_model") or f"n/a, because {absent['cpu_model']}"),
        ("CPUs", _cpus(node)),
        ("kernel", facts.get("kernel") or f"n/a, because {absent['kernel']}"),
        ("virtual machine", _whether(facts.get("virtual_machine"))),
        ("governors", _governors(facts["cpufreq"])),
        *lacking.items(),
        ("pinstudy, Python", f"{VERSION}, {platform.python_version()}"),
        ("load before, of 1, 5 and 15 min", " ".join(f"{load:.2f}" for load in os.getloadavg())),
        ("began", utc_now("minutes").replace("+00:00", "Z")),
    ]


def _cpus(node: Node) -> str:
    topology = node.topology
    kinds = ", ".join(f"{kind.name}: {format_cpulist(kind.cpus)}" for kind in topology.kinds)
    return f"{len(topology.online)} in {plural(len(topology.cores), 'core')} ({kinds})"


def _governors(cpufreq: dict[str, object]) -> str:
    governors = cpufreq.get("governors")
    if isinstance(governors, dict) and governors:
        return ", ".join(f"{governor} ({cpus})" for governor, cpus in governors.items())
    return f"n/a, because {cpufreq.get('reason', 'no policy shows one')}"


def _whether(it: bool | None) -> str:
    return "n/a, because /proc/cpuinfo does not say it" if it is None else "yes" if it else "no"
