"""A guest on the node, whose virtual CPUs the host places. Pure; pinstudy/runners/vm boots it."""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import plural
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.study import AppChoice, Study
from pinstudy.runners.host.software import for_guests
from pinstudy.runners.node.topology import Topology, flat_topology
from pinstudy.runners.plan.case import Case, Engine
from pinstudy.runners.plan.selection import CannotMapError, check_balanced, resolve_cpus


@dataclass(frozen=True)
class Vcpus(Engine):
    """Where the host puts a guest's virtual CPUs: `cpus` are the host's, in the order of use.

    The guest has `count` virtual CPUs and `memory_mib` MiB of memory. `emulated` guests make cases
    of their own, so that a study that is resumed under KVM does not mix them.
    """

    mapping: Mapping
    cpus: tuple[int, ...]
    count: int
    memory_mib: int
    emulated: bool = False

    group: ClassVar[str] = "guest"
    inside: ClassVar[str] = "in the guest: "
    runs_checks: ClassVar[bool] = False

    @classmethod
    def tables(cls, study: Study, choice: AppChoice, *, emulated: bool) -> list[tuple[Engine, ...]]:
        vm = study.vm
        if vm is None:
            return []
        mappings = study.vcpu_mappings
        return [tuple(cls(mapping, (), vm.cpus, vm.memory_mib, emulated) for mapping in mappings)]

    @classmethod
    def outlook(cls, study: Study, boots: int, *, live: bool, without_kvm: str) -> list[str]:
        vm = study.vm
        if vm is None:
            return []
        guest = f"{plural(vm.cpus, 'vCPU')} and {vm.memory_mib} MiB"
        by = "by KVM" if live else "by KVM, where it has that"
        if without_kvm:
            by = f"by emulation, so that its times are not this node's: {without_kvm}"
        return [f"a guest with {guest}, booted {plural(boots, 'time')} and run {by}"]

    @property
    def boot(self) -> str:
        return self.mapping.name

    @property
    def label(self) -> str:
        return f"vCPUs {self.mapping.name}, "

    @property
    def lacks(self) -> Table[str, str]:
        return {
            "regions": "regions are not measured in guests",
            "c2c": "cases in guests are not looked at with perf c2c",
            "imbalance": "not measured in guests, where a thread's CPU time includes what the host "
            "took from its CPU",
        }

    def prepared(self, node: Topology) -> tuple[Engine, str | None]:
        cpus: tuple[int, ...] = ()
        try:
            cpus = resolve_cpus(self.mapping, node, self.count, "vCPUs")
            if len(set(cpus)) < self.count:
                raise CannotMapError(f"{self.mapping.selection} puts two vCPUs on one CPU")
            if self.mapping.binding != "pin":
                check_balanced(self.mapping, [cpus], node)
        except CannotMapError as problem:
            reason = f"the guest's CPUs cannot be mapped: {problem}"
            return replace(self, cpus=cpus), reason
        return replace(self, cpus=cpus), None

    def topology(self, node: Topology) -> Topology:
        return flat_topology(self.count)

    def host_cpus(self, case: Case) -> tuple[int, ...]:
        return self.cpus

    def obtained(self, command: str) -> str:
        return f"{super().obtained(command)}, then `make vm`"

    def built(self) -> str:
        return for_guests().sentence

    def facts(self, case: Case) -> dict[str, Any]:
        return {
            "vcpus": self.count,
            "memory_mib": self.memory_mib,
            "accelerator": "tcg" if self.emulated else "kvm",
            "mapping": self.mapping.name,
            "selection": self.mapping.selection,
            "binding": self.mapping.binding,
            "cpus": format_cpulist(self.cpus),
        }
