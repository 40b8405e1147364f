"""libomp's own variables: KMP_AFFINITY with listed CPUs, and KMP_HW_SUBSET with counted cores.

KMP_HW_SUBSET tells the cores of Intel's hybrid CPUs apart in two ways: by type (`intel_core`,
`intel_atom`) or by efficiency (`eff1`, `eff0`). Both come from CPUID leaf 0x1A, in which Core is
efficiency 1 and Atom 0 (LLVM openmp/runtime/src/kmp_affinity.cpp, __kmp_get_hybrid_info), so they
say the same; libomp 14 reads efficiencies only. All Atoms count, E-cores and LP-E-cores alike.

Source: LLVM openmp/docs/design/Runtimes.rst; kmp_settings.cpp, __kmp_stg_parse_hw_subset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping as Table
from typing import ClassVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.node.topology import ATOM, CORE, Core, Topology
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms.omp_places import CORE_TYPE_WORDS, NO_CORE_TYPES, OmpPlaces
from pinstudy.runners.plan.selection import CannotMapError, usable


class KmpAffinity(OmpPlaces):
    """`KMP_AFFINITY=granularity=fine,explicit,proclist=[0,2]`; libgomp does not read it.

    `granularity=fine` binds to a CPU rather than to its core.
    """

    name = "kmp-affinity"
    variable = "KMP_AFFINITY"
    by_words = True

    def refusal(self, case: Case) -> str | None:
        if case.build.runtime == "libgomp":
            return f"libgomp does not read {self.variable}; use omp-places"
        return super().refusal(case)

    def variables(self, case: Case) -> dict[str, str]:
        pins = case.mapping.binding == "pin"
        listed = ",".join(map(str, case.cpus if pins else case.mask))
        listed = listed if pins else f"{{{listed}}}"
        return {"KMP_AFFINITY": f"granularity=fine,explicit,proclist=[{listed}]"}


class KmpHwSubset(KmpAffinity):
    """`KMP_HW_SUBSET=4c:intel_core,1t`, and under `pin` KMP_AFFINITY, which binds the threads.

    The runtime chooses the CPUs, so it starts without taskset, under which one would not see that
    it ignored what it was asked.
    """

    name = "kmp-hw-subset"
    launcher = None
    variable = "KMP_HW_SUBSET"
    in_order = False
    core_words: ClassVar[Table[str, str]] = CORE_TYPE_WORDS

    def problem(self, node: Topology, case: Case) -> str | None:
        if case.mapping.selection == "same-cpu":
            return f"{self.name} does not put two threads on one CPU; use omp-places"
        if case.engine.processes > 1:
            return f"{self.name} would take the same cores in every rank; use omp-places"
        return None

    def resources(self, node: Topology, case: Case) -> str:
        return hw_subset(case.cpus, node, self.core_words)

    def variables(self, case: Case) -> dict[str, str]:
        pins = case.mapping.binding == "pin"
        compact = {"KMP_AFFINITY": "granularity=fine,compact"} if pins else {}
        return {"KMP_HW_SUBSET": case.resources} | compact


class KmpHwSubsetByEfficiency(KmpHwSubset):
    """`KMP_HW_SUBSET=4c:eff1,1t`."""

    name = "kmp-hw-subset-eff"
    core_words: ClassVar[Table[str, str]] = {CORE: "eff1", ATOM: "eff0"}


def hw_subset(cpus: Iterable[int], topology: Topology, core_words: Table[str, str]) -> str:
    """Return KMP_HW_SUBSET for these CPUs, such as `4c:intel_core,8c:intel_atom,1t`.

    It counts from the first core of each package and from the first CPU of each core, among those
    that the process may use; cores of several types are counted by type. Raises CannotMapError for
    CPUs that cannot be counted so.
    """
    if topology.hybrid and not topology.core_types:
        # It would take as many cores, of whatever kind, from the first on.
        raise CannotMapError(NO_CORE_TYPES)
    wanted = set(cpus)
    ordered = sorted(topology.cores, key=lambda core: core.cpus)
    cores = [core for core in ordered if usable(core, topology)]
    taken = [core for core in cores if wanted.intersection(core.cpus)]
    used = {core.package for core in taken}
    threads = max(len(wanted.intersection(core.cpus)) for core in taken)
    taken_by_type = Counter(topology.core_type(core) for core in taken)
    types = [core_type.name for core_type in topology.core_types] or [""]
    counts = {name: -(-taken_by_type[name] // len(used)) for name in types if taken_by_type[name]}
    packages = sorted({core.package for core in cores})
    meant = [
        core
        for (package, name), there in _by_package(cores, topology).items()
        if package in packages[: len(used)]
        for core in there[: counts.get(name, 0)]
    ]
    if {cpu for core in meant for cpu in usable(core, topology)[:threads]} != wanted:
        raise CannotMapError(
            f"KMP_HW_SUBSET cannot say CPUs {format_cpulist(sorted(wanted))}: it counts from the "
            "first core of each package, equally many of each; use omp-places"
        )
    parts = [f"{len(used)}s"] if len(packages) > 1 else []
    parts += [f"{n}c:{core_words[name]}" if name else f"{n}c" for name, n in counts.items()]
    whole = all(wanted.issuperset(usable(core, topology)) for core in taken)
    return ",".join(parts if whole else [*parts, f"{threads}t"])


def _by_package(cores: Iterable[Core], topology: Topology) -> dict[tuple[int, str], list[Core]]:
    """Return the cores by package and type, each group by its CPUs."""
    groups: dict[tuple[int, str], list[Core]] = {}
    for core in cores:
        groups.setdefault((core.package, topology.core_type(core)), []).append(core)
    return groups
