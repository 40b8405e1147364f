"""The core kinds of a node, by the first evidence that tells them apart.

Evidence that names the kinds comes before evidence that only hints at them. Neither CPU numbers nor
CPU 0 alone are evidence. A node whose CPUs cannot be told apart has one kind, named P, whose
evidence lists what was examined.

Cores that Turbo Boost Max 3.0 or AMD's prefcore favour are no kind of their own, but runs on them
cannot be compared with runs on the others. The scheduler prefers them (ITMT), while a mapping takes
its CPUs by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from pinstudy.base.cpulist import cpulists_by_value
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node import cpuinfo
from pinstudy.runners.node.core_kinds.cache_sharing import by_cache_shape
from pinstudy.runners.node.core_kinds.finding import INTEL, Finding, NodeView, one_kind
from pinstudy.runners.node.core_kinds.identification import by_cpuid, by_part, cores_of_cpuid
from pinstudy.runners.node.core_kinds.pmus import (
    INTEL_PMUS,
    by_absence_from_pmus,
    by_core_pmus,
    core_pmus,
    cores_of_pmus,
)
from pinstudy.runners.node.core_kinds.ranking import HIGHEST_PERF, MAX_FREQ, by_ranks, read_sign
from pinstudy.runners.node.core_kinds.riscv import by_riscv_core
from pinstudy.runners.node.topology import ATOM, CORE, CoreKind, CoreType

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


def find_core_types(view: NodeView, kinds: Sequence[CoreKind]) -> tuple[CoreType, ...]:
    """Return the core types that CPUID tells every program, as Intel's hybrids do (leaf 0x1A).

    The kernel's PMUs and the leaf itself name them. Where a recording has neither, the fastest of
    `kinds`, those that the node's files show, are Cores: no Intel hybrid has faster Atoms. Guests
    do not see the leaf. Recordings without /proc/cpuinfo are Intel's where they have Intel's PMUs.
    """
    vendor = view.vendor
    if not vendor and not set(INTEL_PMUS).isdisjoint(core_pmus(view.tree)):
        vendor = INTEL
    if vendor != INTEL or cpuinfo.is_guest(view.first_block):
        return ()
    core = cores_of_pmus(view)
    if core is None:
        core = cores_of_cpuid(view)
    if core is None:
        core = kinds[0].cpus
    atoms = tuple(cpu for cpu in view.online if cpu not in set(core))
    return (CoreType(CORE, core), CoreType(ATOM, atoms)) if core and atoms else ()


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
