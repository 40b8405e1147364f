"""benchmarks/RESULTS.md: one section a benchmark, each with the machine that it ran on."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pinstudy.base import VERSION
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.files import write_whole
from pinstudy.base.text import plural
from pinstudy.base.units import utc_now
from pinstudy.runners.doctor.report import probe
from pinstudy.runners.node.node import Node, open_node

# Capabilities without which a benchmark lacks numbers.
_COUNTED = ("hardware-counters", "energy")


def describe_machine(root: Path = Path("/")) -> list[tuple[str, str]]:
    """Return names and values that describe the node below `root`; a reason for a missing value.

    The load is the current one: call this before the benchmark causes its own.
    """
    node = open_node(root)
    facts = node.facts
    absent = facts["unavailable"]
    missing = {
        capability.name: f"n/a, because {capability.why}"
        for capability in probe(node, node.tree.live)
        if capability.state == "missing" and capability.name in _COUNTED
    }
    return [
        ("processor", facts.get("cpu_model") or f"n/a, because {absent['cpu_model']}"),
        ("CPUs", _cpus(node)),
        ("kernel", facts.get("kernel") or f"n/a, because {absent['kernel']}"),
        ("virtual machine", _yes_or_no(facts.get("virtual_machine"))),
        ("governors", _governors(facts["cpufreq"])),
        *missing.items(),
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


def _yes_or_no(fact: bool | None) -> str:
    return "n/a, because /proc/cpuinfo does not say it" if fact is None else "yes" if fact else "no"


HEAD = """\
# What the benchmarks found

Written by `make bench`, a section a benchmark; one that was not run keeps what it found before.
Each names its machine and when it began: numbers of two sections need not be of one session.
"""
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def sections_of(text: str) -> dict[str, str]:
    """Return the body of each section of a file of results, by title, in its order."""
    parts = _HEADING.split(text)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def joined(sections: Mapping[str, str], order: Sequence[str]) -> str:
    """Return the file of these sections, in the order of titles; those it does not name last."""
    titles = [title for title in order if title in sections]
    titles += [title for title in sections if title not in order]
    return "\n".join([HEAD, *(f"## {title}\n\n{sections[title]}\n" for title in titles)])


def section(machine: Sequence[tuple[str, str]], output: str) -> str:
    """Return the body of a section: the machine, then what a benchmark printed on it."""
    named = "\n".join(f"- {name}: {value}" for name, value in machine)
    # A heading of the same level would end the section.
    text = re.sub(r"^## ", "### ", output.strip(), flags=re.MULTILINE)
    return f"{named}\n\n{text}"


def keep(path: Path, title: str, body: str, order: Sequence[str]) -> None:
    """Replace a section of the file; OSError when that fails."""
    older = sections_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_whole(path, joined(older | {title: body}, order).encode())
