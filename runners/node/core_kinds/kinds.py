"""The core kinds of a node, by the first evidence that tells them apart.

Evidence that names the kinds comes before evidence that only hints at them. Neither CPU numbers nor
CPU 0 alone are evidence. A node whose CPUs cannot be told apart has one kind, named P, whose
evidence lists what was examined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from runners.node import cpuinfo
from runners.node.core_kinds.arm_parts import by_part
from runners.node.core_kinds.cache_sharing import by_cache_shape
from runners.node.core_kinds.cpuid import by_cpuid
from runners.node.core_kinds.finding import Finding, NodeView, one_kind
from runners.node.core_kinds.frequencies import by_ranks
from runners.node.core_kinds.pmus import by_absence_from_pmus, by_core_pmus
from runners.node.topology import CoreKind

ORDER_OF_EVIDENCE: tuple[Callable[[NodeView], Finding], ...] = (
    by_core_pmus,
    by_part,
    by_cpuid,
    by_ranks,
    by_cache_shape,
    by_absence_from_pmus,
)


def find_kinds(view: NodeView) -> tuple[tuple[CoreKind, ...], tuple[str, ...]]:
    """Return the node's kinds, best first, and notes on contradictions and hidden kinds.

    Every online CPU is in exactly one kind.
    """
    seen: list[str] = []
    notes: list[str] = []
    for look in ORDER_OF_EVIDENCE:
        finding = look(view)
        if finding.note:
            notes.append(finding.note)
        if finding.kinds:
            break
        if finding.says:
            seen.append(finding.says)
    else:
        finding = one_kind(view, "; ".join(seen))
    if len(finding.kinds) > 1:
        return finding.kinds, tuple(notes)
    if cpuinfo.is_guest(view.first_block):
        notes.append(
            "this is a virtual machine, and these hide the host's core kinds; if you know them, "
            "name them with --kinds"
        )
    (only,) = finding.kinds
    return (replace(only, evidence=f"one kind: {only.evidence}"),), tuple(notes)
