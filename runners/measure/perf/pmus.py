"""The node's core PMUs: which counters belong to which CPUs, and to which core kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.host.tree import Tree, Unavailable
from runners.measure.perf.scaling import ARM_NAMES
from runners.node.core_kinds.pmus import EVENT_SOURCES, core_pmus
from runners.node.cpuinfo import first_block, is_guest
from runners.node.topology import CoreKind


@dataclass(frozen=True)
class CorePmu:
    """A PMU of cores; `cpus` is None when it is the only one and covers all CPUs."""

    name: str
    cpus: tuple[int, ...] | None


def read_core_pmus(root: Path) -> tuple[CorePmu, ...]:
    """Return the core PMUs of the node whose files are under `root`, by name; often none in guests.

    A core PMU is named `cpu` or lists its CPUs in a file `cpus`: the rule of perf itself
    (tools/perf/util/pmu.c, is_pmu_core). A PMU whose list is empty is left out: all its cores
    are disabled.
    """
    tree = Tree(root)
    found = [CorePmu(name, cpus) for name, (_, cpus) in core_pmus(tree).items() if cpus]
    if tree.is_directory(f"{EVENT_SOURCES}/cpu") and all(pmu.name != "cpu" for pmu in found):
        found.append(CorePmu("cpu", None))
    return tuple(sorted(found, key=lambda pmu: pmu.name))


def events_by_pmu(root: Path, pmus: Iterable[CorePmu]) -> dict[str, tuple[str, ...]]:
    """Return the events that perf must open on each PMU by name, with their names there.

    On big.LITTLE perf 6.1 opens a plain `cycles` on one of the PMUs only; every perf understands
    the PMU's own name. Events that no PMU lists are left out.
    """
    tree = Tree(root)
    listed = {pmu.name: tree.names(f"{EVENT_SOURCES}/{pmu.name}/events") for pmu in pmus}
    if len(listed) < 2:
        return {}
    found = {
        event: tuple(
            f"{pmu}/{name}/"
            for pmu, names in listed.items()
            if not isinstance(names, Unavailable) and name in names
        )
        for event, name in ARM_NAMES.items()
    }
    return {event: names for event, names in found.items() if names}


def kinds_of_pmus(
    pmus: Iterable[CorePmu], kinds: Sequence[CoreKind], allowed: Iterable[int] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return for each PMU the names of the core kinds whose cycles it counts, best kind first.

    One PMU may cover two kinds: LP-E cores of most Intel parts are counted by `cpu_atom`, and AMD
    has one PMU for all. `allowed` are the CPUs that the program may use, None for all: a kind
    without any of them is left out if another kind of the same PMU has some, because only that one
    can have been counted. `kinds` are ordered as in `runners.node.topology.Topology`.
    """
    usable = None if allowed is None else set(allowed)
    named: dict[str, tuple[str, ...]] = {}
    for pmu in pmus:
        covered = [kind for kind in kinds if pmu.cpus is None or set(pmu.cpus) & set(kind.cpus)]
        if usable is not None:
            reachable = [kind for kind in covered if _meets(kind, pmu, usable)]
            covered = reachable or covered
        named[pmu.name] = tuple(kind.name for kind in covered)
    return named


def _meets(kind: CoreKind, pmu: CorePmu, usable: set[int]) -> bool:
    return any(cpu in usable and (pmu.cpus is None or cpu in pmu.cpus) for cpu in kind.cpus)


def unsupported_reason(root: Path) -> str:
    """Return, in a few words, why a node does not support a hardware event of perf's."""
    if read_core_pmus(root):
        return "its counters do not have this event"
    if is_guest(first_block(Tree(root))):
        return "no hardware PMU in this virtual machine"
    return "the kernel has no driver for this CPU's counters"
