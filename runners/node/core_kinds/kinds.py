"""The core kinds of a node, by the first evidence that tells them apart.

Evidence that names the kinds comes before evidence that only hints at them. Neither CPU numbers nor
CPU 0 alone are evidence. A node whose CPUs cannot be told apart has one kind, named P, whose
evidence lists what was examined.

Cores that Turbo Boost Max 3.0 or AMD's prefcore favour are no kind of their own, but runs on them
cannot be compared with runs on the others. The scheduler prefers them (ITMT), while a mapping takes
its CPUs by number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from base.cpulist import cpulists_by_value
from runners.host.tree import Tree
from runners.node import cpuinfo
from runners.node.core_kinds.cache_sharing import by_cache_shape
from runners.node.core_kinds.finding import INTEL, Finding, NodeView, one_kind
from runners.node.core_kinds.identification import by_cpuid, by_part
from runners.node.core_kinds.pmus import (
    INTEL_PMUS,
    by_absence_from_pmus,
    by_core_pmus,
    core_pmus,
)
from runners.node.core_kinds.ranking import HIGHEST_PERF, MAX_FREQ, by_ranks, read_sign
from runners.node.core_kinds.riscv import by_riscv_core
from runners.node.topology import CoreKind

ORDER_OF_EVIDENCE: tuple[Callable[[NodeView], Finding], ...] = (
    by_core_pmus,
    by_part,
    by_riscv_core,
    by_cpuid,
    by_ranks,
    by_cache_shape,
    by_absence_from_pmus,
)


def find_kinds(view: NodeView) -> tuple[tuple[CoreKind, ...], tuple[str, ...]]:
    """Return the node's kinds, best first, and notes on contradictions and hidden kinds.

    Every online CPU is in exactly one kind.
    """
    observed: list[str] = []
    notes: list[str] = []
    for find in ORDER_OF_EVIDENCE:
        finding = find(view)
        if finding.note:
            notes.append(finding.note)
        if finding.kinds:
            break
        if finding.fact:
            observed.append(finding.fact)
    else:
        finding = one_kind(view, "; ".join(observed))
    if len(finding.kinds) > 1:
        return finding.kinds, tuple(notes)
    if cpuinfo.is_guest(view.first_block):
        notes.append(
            "this is a virtual machine, and these hide the host's core kinds; if you know them, "
            "name them with --kinds"
        )
    (only,) = finding.kinds
    return (replace(only, evidence=f"one kind: {only.evidence}"),), tuple(notes)


def shows_core_types(view: NodeView, kinds: Collection[CoreKind]) -> bool:
    """Whether CPUID tells every program the type of its core, as Intel's hybrids do (leaf 0x1A).

    `kinds` are those that the node's files show. Guests do not see the leaf. Recordings without
    /proc/cpuinfo are Intel's where they have Intel's PMUs.
    """
    vendor = view.vendor
    if not vendor and not set(INTEL_PMUS).isdisjoint(core_pmus(view.tree)):
        vendor = INTEL
    return vendor == INTEL and len(kinds) > 1 and not cpuinfo.is_guest(view.first_block)


def unlike_cores(tree: Tree, kinds: Iterable[CoreKind], online: tuple[int, ...]) -> Iterator[str]:
    """Yield a sentence for each kind whose CPUs differ, with the CPUs of each value."""
    signs = [(sign, read_sign(tree, sign, online)) for sign in (MAX_FREQ, HIGHEST_PERF)]
    for kind in kinds:
        for sign, values in signs:
            groups = cpulists_by_value({cpu: values[cpu] for cpu in kind.cpus if cpu in values})
            if len(groups) > 1:
                best, *others = sorted(groups, reverse=True)
                rest = ", ".join(f"{value} on {groups[value]}" for value in others)
                yield (
                    f"not all {kind.name}-cores are alike: CPUs {groups[best]} are "
                    f"favoured ({sign} {best}, {rest}); mappings take CPUs by number"
                )
                break
