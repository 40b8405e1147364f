"""How a run was throttled: by the processor, by the kernel, or by a control group's CPU quota.

The processor's counters are in cpuN/thermal_throttle/ of Intel's CPUs (Linux drivers/thermal/intel/
therm_throt.c): all CPUs of a core repeat the core's values, all CPUs of a package the package's.
Clipping at a power limit is counted only if the kernel was booted with int_pln_enable.

Where the processor does not do so itself, as on most ARM boards, the kernel lowers the highest
frequency of CPUs that are hot: a cooling device has state 0 where it does nothing, and a higher one
the more it does (Linux drivers/thermal/cpufreq_cooling.c, drivers/acpi/processor_thermal.c;
Documentation/ABI/testing/sysfs-class-thermal).

A quota (cgroup v2 `cpu.max`, v1 `cpu.cfs_quota_us`; containers have one) stops all threads of a
group for the rest of a period, even if CPUs are free. Sources: Linux Documentation/admin-guide/
cgroup-v2.rst, `cpu.stat`, and Documentation/scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import re

from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.runners.host.control_groups import OWN_GROUPS, own_directories
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.meter import BeforeAfterMeter
from pinstudy.runners.node.cpufreq import CPUS, cooling_states
from pinstudy.runners.node.topology import Topology

# The counter's name in a record -> the kernel's file.
COUNTERS = {
    f"{level}_{name}": f"{level}_{file}"
    for level in ("core", "package")
    for name, file in {
        "count": "throttle_count",
        "ms": "throttle_total_time_ms",
        "power_limit_count": "power_limit_count",
    }.items()
}
NO_COUNTERS = (
    f"{CPUS}/cpu*/thermal_throttle is missing (only Intel's CPUs have it, and no virtual machine)"
)

# The fields of `cpu.stat`, with their unit in seconds: cgroup version 2, then version 1.
_UNITS = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
_STAT = re.compile(rf"^({'|'.join(_UNITS)}) ([0-9]{{1,20}})$", re.MULTILINE)
_QUOTA_FIELD = "quota_throttled_s"

_Values = dict[str, int | Unavailable]


class ThrottleMeter(BeforeAfterMeter[_Values]):
    """Measures how far the throttle counters rise in a run; one meter serves many runs."""

    def __init__(self, tree: Tree, topology: Topology) -> None:
        self._tree = tree
        self._files = _files(tree, topology)

    def reading(self) -> Reading:
        """Return `throttle`: `{core,package}_{count,ms,power_limit_count}`, sums over the node.

        `ms` are milliseconds; core values are counted once a core, package values once a package.
        """
        if not any(self._files.values()):
            return Reading({}, {"throttle": NO_COUNTERS})
        found = reading_of(
            {counter: self._delta(counter, paths) for counter, paths in self._files.items()}
        )
        unavailable = {f"throttle.{name}": why for name, why in found.unavailable.items()}
        return Reading({"throttle": found.fields} if found.fields else {}, unavailable)

    def _delta(self, counter: str, paths: list[str]) -> int | Unavailable:
        if not paths:
            reason = f"this kernel has no {COUNTERS[counter]}"
            option = " without the boot option int_pln_enable" if "limit" in counter else ""
            return Unavailable(f"{reason}{option}")
        total = 0
        for path in paths:
            before, after = self._before[path], self._after[path]
            if isinstance(before, Unavailable):
                return before
            if isinstance(after, Unavailable):
                return after
            if after < before:
                return Unavailable(f"{path} went back from {before} to {after}")
            total += after - before
        return total

    def _read(self) -> _Values:
        return {path: self._tree.natural(path) for paths in self._files.values() for path in paths}


def _files(tree: Tree, topology: Topology) -> dict[str, list[str]]:
    """Return each counter's files, one a core or one a package; none if the kernel has none."""
    packages: dict[int, int] = {}
    for core in topology.cores:
        packages[core.package] = min(*core.cpus, packages.get(core.package, core.cpus[0]))
    holders = {
        "core": [min(core.cpus) for core in topology.cores],
        "package": list(packages.values()),
    }
    found: dict[str, list[str]] = {}
    for counter, file in COUNTERS.items():
        cpus = holders[counter.partition("_")[0]]
        folders = [f"{CPUS}/cpu{cpu}/thermal_throttle" for cpu in cpus]
        there = known(tree.names(folders[0])) or ()
        found[counter] = [f"{folder}/{file}" for folder in folders if file in there]
    return found


class CoolingMeter(BeforeAfterMeter[dict[str, int]]):
    """Reads the states of the CPUs' cooling devices, found once; one meter serves many runs."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._devices = cooling_states(tree)

    def reading(self) -> Reading:
        """Return `cpu_cooling`: the higher state of each device; nothing where all are 0."""
        both = self._before, self._after
        highest = {name: max(states.get(name, 0) for states in both) for name in self._devices}
        found = {name: state for name, state in highest.items() if state}
        return Reading({"cpu_cooling": found} if found else {})

    def _read(self) -> dict[str, int]:
        states = {name: self._tree.natural(path) for name, path in self._devices.items()}
        return {name: state for name, state in states.items() if isinstance(state, int)}


class QuotaMeter(BeforeAfterMeter[dict[str, float]]):
    """Measures the throttled time that a run adds; one meter serves many runs.

    The program is in pinstudy's own group, and every group above that may have a quota too.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._files = _stat_files(tree)

    def reading(self) -> Reading:
        """Return `quota_throttled_s`: the longest time of all levels in seconds, CPUs added up.

        The kernel adds up the time that each CPU's run queue of the group was stopped
        (kernel/sched/fair.c, unthrottle_cfs_rq).
        """
        both = self._before.keys() & self._after.keys()
        if not both:
            return Reading(
                {}, {_QUOTA_FIELD: f"no control group of {OWN_GROUPS} counts throttled CPU time"}
            )
        grown_s = max(self._after[path] - self._before[path] for path in both)
        if grown_s < 0:
            return Reading({}, {_QUOTA_FIELD: "the control groups' throttled time went back"})
        return Reading({_QUOTA_FIELD: round(grown_s, 6)})

    def _read(self) -> dict[str, float]:
        found = {}
        for path in self._files:
            if match := _STAT.search(known(self._tree.text(path)) or ""):
                found[path] = int(match[2]) * _UNITS[match[1]]
        return found


def _stat_files(tree: Tree) -> list[str]:
    """Return the paths of `cpu.stat` for this process's group and all above it, either version."""
    return [
        f"{level}/cpu.stat"
        for controllers, levels in own_directories(tree)
        if not controllers or "cpu" in controllers
        for level in levels
    ]
