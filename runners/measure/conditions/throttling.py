"""How often and how long the processor throttled itself during a run.

The counters are in cpuN/thermal_throttle/ of Intel's CPUs (Linux drivers/thermal/intel/
therm_throt.c): all CPUs of a core repeat the core's values, all CPUs of a package the package's.
Clipping at a power limit is counted only if the kernel was booted with int_pln_enable.
"""

from __future__ import annotations

from base.reading import Reading
from runners.host.tree import Tree, Unavailable
from runners.measure.meter import BeforeAfterMeter
from runners.node.cpufreq import CPUS
from runners.node.topology import Topology

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
    f"{CPUS}/cpu*/thermal_throttle is missing: only Intel's CPUs count their throttling, and "
    "virtual machines do not show it"
)

_Values = dict[str, int | Unavailable]


class ThrottleMeter(BeforeAfterMeter[_Values]):
    """Measures how far the throttle counters rise in a run; one meter serves many runs."""

    def __init__(self, tree: Tree, topology: Topology) -> None:
        super().__init__({})
        self._tree = tree
        self._files = _files(tree, topology)

    def reading(self) -> Reading:
        """Return `throttle`: `{core,package}_{count,ms,power_limit_count}`, sums over the node.

        `ms` are milliseconds; core values are counted once a core, package values once a package.
        """
        if not any(self._files.values()):
            return Reading({}, {"throttle": NO_COUNTERS})
        deltas: dict[str, int] = {}
        unavailable: dict[str, str] = {}
        for counter, paths in self._files.items():
            delta = self._sum(paths) if paths else Unavailable(_missing_reason(counter))
            if isinstance(delta, Unavailable):
                unavailable[f"throttle.{counter}"] = delta.reason
            else:
                deltas[counter] = delta
        return Reading({"throttle": deltas} if deltas else {}, unavailable)

    def _sum(self, paths: list[str]) -> int | Unavailable:
        total = 0
        for path in paths:
            before, after = (
                values.get(path, Unavailable(f"{path} was not read"))
                for values in (self._before, self._after)
            )
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
    """Return each counter's files, one a core or one a package; none if the first is missing."""
    packages: dict[int, int] = {}
    for core in topology.cores:
        packages[core.package] = min(*core.cpus, packages.get(core.package, core.cpus[0]))
    holders = {
        "core": [min(core.cpus) for core in topology.cores],
        "package": list(packages.values()),
    }
    files = {
        counter: [
            f"{CPUS}/cpu{cpu}/thermal_throttle/{file}" for cpu in holders[counter.partition("_")[0]]
        ]
        for counter, file in COUNTERS.items()
    }
    return {
        counter: paths if paths and not _is_missing(tree.integer(paths[0])) else []
        for counter, paths in files.items()
    }


def _is_missing(value: int | Unavailable) -> bool:
    return isinstance(value, Unavailable) and value.missing


def _missing_reason(counter: str) -> str:
    reason = f"this kernel has no {COUNTERS[counter]}"
    return f"{reason} without the boot option int_pln_enable" if "limit" in counter else reason
