"""Evidence from ARM's part numbers: CPUs of one part (Cortex-X925, Cortex-A725, …) are one kind.

Part numbers are tried before capacities: the two parts of NVIDIA GB10 have five capacities.
"""

from __future__ import annotations

from base.cpulist import format_cpulist
from runners.host.tree import Unavailable
from runners.node import cpuinfo
from runners.node.core_kinds.finding import Finding, NodeView, one_kind
from runners.node.core_kinds.ranking import ranked_kinds
from runners.node.cpufreq import CPUS

# Arm Architecture Reference Manual, MIDR_EL1: implementer in bits 31:24, part number in 15:4.
_MIDR = CPUS + "/cpu{}/regs/identification/midr_el1"


def by_part(view: NodeView) -> Finding:
    """Tell kinds by implementer and part number, ranked by capacity or frequency."""
    parts, source = _parts(view)
    if not parts:
        return Finding()
    groups: dict[tuple[int, int], list[int]] = {}
    for cpu, part in parts.items():
        groups.setdefault(part, []).append(cpu)
    if len(groups) == 1:
        return one_kind(view, f"every CPU is {_named(*next(iter(groups)))} ({source})")
    return ranked_kinds(
        view,
        {
            f"CPUs {format_cpulist(cpus)}: {_named(*part)} ({source})": tuple(cpus)
            for part, cpus in groups.items()
        },
    )


def _parts(view: NodeView) -> tuple[dict[int, tuple[int, int]], str]:
    """Return implementer and part of every online CPU, and the source; empty if one lacks them."""
    parts: dict[int, tuple[int, int]] = {}
    for cpu in view.online:
        midr = view.tree.hexadecimal(_MIDR.format(cpu))
        if isinstance(midr, Unavailable):
            break
        parts[cpu] = (midr >> 24 & 0xFF, midr >> 4 & 0xFFF)
    else:
        return parts, _MIDR.format("N")
    if "CPU part" not in view.first_block:
        return {}, ""
    blocks = cpuinfo.by_cpu(view.tree)
    parts.clear()
    for cpu in view.online:
        implementer = cpuinfo.number(blocks.get(cpu, {}), "CPU implementer")
        part = cpuinfo.number(blocks.get(cpu, {}), "CPU part")
        if implementer is None or part is None:
            return {}, ""
        parts[cpu] = (implementer, part)
    return parts, cpuinfo.PATH


def _named(implementer: int, part: int) -> str:
    return f"part {part:#05x} of implementer {implementer:#04x}"
