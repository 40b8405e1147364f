"""The view of a node that each piece of evidence takes, and the finding that it returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node import cpuinfo
from pinstudy.runners.node.topology import Cache, CoreKind, sharing

INTEL = "GenuineIntel"


@dataclass(frozen=True)
class NodeView:
    """The facts about a node that show its kinds; `siblings` are the CPUs of each core."""

    tree: Tree
    online: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...]
    caches: tuple[Cache, ...]

    @cached_property
    def first_block(self) -> dict[str, str]:
        """The first CPU's fields in /proc/cpuinfo."""
        return cpuinfo.first_block(self.tree)

    @property
    def vendor(self) -> str:
        """`GenuineIntel`, `AuthenticAMD`, …; empty without a vendor_id (ARM)."""
        return self.first_block.get("vendor_id", "")

    @property
    def amd_family(self) -> int | None:
        """The family of an AMD CPU, or None for others."""
        if self.vendor != "AuthenticAMD":
            return None
        return cpuinfo.number(self.first_block, "cpu family")


@dataclass(frozen=True)
class Finding:
    """The result of one piece of evidence.

    `kinds` cover every online CPU, or are empty when the evidence does not show them. `fact` is
    then a part of the sentence about a node of one kind. `note` is a contradiction.
    """

    kinds: tuple[CoreKind, ...] = ()
    fact: str = ""
    note: str = ""


def one_kind(view: NodeView, evidence: str) -> Finding:
    """Return the finding that all CPUs are of one kind."""
    return Finding((CoreKind("P", view.online, evidence),))


def atom_kinds(view: NodeView, atoms: Iterable[int], evidence: str) -> list[CoreKind]:
    """Return Intel's small cores as E and LP-E: LP-E-cores are those without an L3 cache.

    Only this sign holds on every machine: Meteor Lake, Lunar Lake and Panther Lake have LP-E-cores
    in the cpu_atom PMU, and those of Panther Lake have the E-cores' frequency and CPPC values.
    hwloc uses the same rule (hwloc/topology-x86.c).
    """
    atoms = tuple(sorted(atoms))
    low_power = without_l3(view, atoms)
    others = tuple(cpu for cpu in atoms if cpu not in low_power)
    if not low_power:
        return [CoreKind("E", atoms, evidence)] if atoms else []
    missing = (
        f"{evidence}; CPUs {format_cpulist(low_power)} have no L3 cache, as others have "
        f"(/sys/devices/system/cpu/cpu{low_power[0]}/cache)"
    )
    kinds = [CoreKind("E", others, missing)] if others else []
    return [*kinds, CoreKind("LP-E", low_power, missing)]


def without_l3(view: NodeView, cpus: Iterable[int]) -> tuple[int, ...]:
    """Return those of the CPUs that have caches but no L3, if other CPUs have one."""
    with_any = {cpu for cache in view.caches for cpu in cache.cpus}
    with_l3 = {cpu for cpus in sharing(view.caches, 3) for cpu in cpus}
    if not with_l3:
        return ()
    return tuple(cpu for cpu in cpus if cpu in with_any and cpu not in with_l3)
