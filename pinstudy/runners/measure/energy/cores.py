"""Energy around a run by core kind, from perf's `power_core` PMU: a counter for each core.

AMD's cores have a counter each (MSR C001_029A), which Linux shows as this PMU from 6.14 on (Linux
arch/x86/events/rapl.c, model_amd_hygon, PERF_PMU_SCOPE_CORE). Its cpumask has one CPU of each core
that is online, and its event counts for CPUs, never for a task.

The counters of the hardware are 32 bits wide. The kernel extends them to 64: rapl_event_update adds
what a counter has gained since it was last read, and rapl_hrtimer_handle reads it often enough for
200 W (rapl_check_hw_unit: every 164 s at AMD's unit of 2^-16 J).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.host.software import for_tools
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.energy.perf import find_event, permission_problem
from pinstudy.runners.measure.perf.events import OUTPUT, read_permission
from pinstudy.runners.measure.perf.stat import CpuWindow
from pinstudy.runners.node.core_kinds.pmus import EVENT_SOURCES
from pinstudy.runners.node.cpuinfo import first_block
from pinstudy.runners.node.facts import smt_is_off
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.records.energy import PERF_UNIT
from pinstudy.runners.records.perf.output import parse_perf_output

PMU = "power_core"
EVENT = "energy-core"
FIELD = "energy_by_kind_j"
WINDOW = "energy_by_kind_window_s"
CPUMASK = f"{EVENT_SOURCES}/{PMU}/cpumask"
_WITHOUT = {
    "GenuineIntel": "Intel counts no core alone",
    "AuthenticAMD": "AMD's cores have a counter each; Linux shows them from 6.14 on",
    "HygonGenuine": "Hygon's cores have a counter each; Linux shows them from 6.14 on",
}
_NO_COUNTERS = "no counter of single cores is known on this processor"
_UNTOLD = f"perf printed no value of {EVENT}"
# How perf names the CPU of a row: "0" in JSON, "CPU0" in CSV.
_CPU = re.compile(r"(?:CPU)?([0-9]{1,7})", re.ASCII)


@dataclass(frozen=True)
class CoreCounters:
    """The CPUs on which to count the cores of each kind, one a core; why other kinds have none.

    `event` is what perf's `-e` takes.
    """

    event: str
    cpus: Mapping[str, tuple[int, ...]]
    unavailable: Mapping[str, str] = field(default_factory=dict)


class CoreMeter:
    """Counts the energy of every core from `start` to `stop`; one meter serves many runs."""

    def __init__(
        self, perf: str, root: Path, topology: Topology, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Measure the node at `root` with this perf; `clock` gives seconds."""
        self._perf, self._root, self._topology = perf, root, topology
        self._window = CpuWindow(clock)
        self._counters: CoreCounters | Unavailable = Unavailable("not measured")
        self._joules: dict[int, float] = {}
        self._problems: dict[int, str] = {}

    def start(self) -> None:
        """Start perf and turn its counters on."""
        self._window.close()
        self._joules, self._problems = {}, {}
        # Read anew: when a CPU goes offline, its core's counter goes to another CPU, or goes.
        self._counters = found = find_core_counters(self._root, self._topology)
        if not isinstance(found, Unavailable):
            cpus = sorted(cpu for of_kind in found.cpus.values() for cpu in of_kind)
            self._window.start(core_command(self._perf, found.event), cpus)
            self._check()

    def sample(self) -> None:
        """Do nothing: perf's counters do not wrap around."""

    def stop(self) -> None:
        """Turn the counters off, then read what perf prints."""
        output = self._window.stop()
        if output is None:
            return
        self._check()
        self._joules, self._problems = read_core_joules(output)

    def problem(self) -> str:
        """Return why no core was counted, after `stop`; empty when one was."""
        if isinstance(self._counters, Unavailable):
            return self._counters.reason
        return "" if self._joules else next(iter(self._problems.values()), _UNTOLD)

    def reading(self) -> Reading:
        """Return what was measured between `start` and `stop`.

        Fields: `energy_by_kind_j`, an object: the sum over the cores of each kind in joules,
        gross; `energy_by_kind_window_s`, the seconds between the readings.
        """
        if isinstance(self._counters, Unavailable):
            return Reading({}, {FIELD: self._counters.reason})
        window_s = self._window.window_s
        return kind_fields(self._counters, self._joules, self._problems, window_s)

    def _check(self) -> None:
        if self._window.problem:
            self._counters = Unavailable(self._window.problem)


def core_command(perf: str, event: str) -> tuple[str, ...]:
    """Return the command that counts an event of each CPU, for a PerfStat."""
    # As JSON, whose values have six decimals: CSV's have two, and an idle core uses less.
    return (perf, "stat", "-j", "-A", "-o", OUTPUT, "-e", event)


def try_cores(root: Path, perf: str | None, topology: Topology) -> CoreMeter | Unavailable:
    """Return a meter that was seen to count the node's cores, or why there is none.

    `perf` is perf's path, None where it is not installed.
    """
    found = find_core_counters(root, topology)
    if isinstance(found, Unavailable):
        return found
    if perf is None:
        return Unavailable(f"not installed; {for_tools().sentence}")
    meter = CoreMeter(perf, root, topology)
    meter.start()
    meter.stop()
    if problem := meter.problem():
        # Checked only after the trial: perf may have been granted rights that this process lacks.
        return Unavailable(permission_problem(read_permission(root)) or problem)
    return meter


def find_core_counters(root: Path, topology: Topology) -> CoreCounters | Unavailable:
    """Return where to count the cores of the node whose files are under `root`; never raises.

    A kind has no sum when the counter of one of its cores is missing, or would be added twice. No
    kind has one while CPUs are offline that may be whole cores: which kind they are of is not
    known, and a core that is offline may use energy all the same.
    """
    tree = Tree(root)
    names = tree.names(f"{EVENT_SOURCES}/{PMU}/events")
    if isinstance(names, Unavailable):
        why = _WITHOUT.get(first_block(tree).get("vendor_id", ""), _NO_COUNTERS)
        detail = "" if names.missing else f" ({names.reason})"
        return Unavailable(f"no {PMU} PMU here{detail}: {why}")
    event, mask = find_event(tree, PMU, EVENT), tree.cpulist(CPUMASK)
    for found in (event, mask):
        if isinstance(found, Unavailable):
            return found
    assert isinstance(event, str) and isinstance(mask, tuple)
    # SMT siblings that are off have no core of their own.
    if topology.offline and not smt_is_off(tree):
        return Unavailable(
            f"CPUs are offline ({format_cpulist(topology.offline)}): the energy of their cores "
            "cannot be read; put them online"
        )
    cpus: dict[str, tuple[int, ...]] = {}
    problems: dict[str, str] = {}
    for kind in topology.kinds:
        cores = [core.cpus for core in topology.cores if core.kind == kind.name]
        counted = _one_a_core(cores, mask)
        if isinstance(counted, Unavailable):
            problems[kind.name] = counted.reason
        else:
            cpus[kind.name] = counted
    if not cpus:
        return Unavailable("; ".join(dict.fromkeys(problems.values())) or "no core has a kind")
    return CoreCounters(event, cpus, problems)


def _one_a_core(
    cores: Iterable[tuple[int, ...]], mask: tuple[int, ...]
) -> tuple[int, ...] | Unavailable:
    """Return the CPU of the mask that each core has."""
    counted = []
    for core in cores:
        found = [cpu for cpu in core if cpu in mask]
        of_core = f"the core of CPUs {format_cpulist(core)}"
        if not found:
            return Unavailable(f"{of_core} has no CPU in {CPUMASK}: it may have gone offline")
        if len(found) > 1:
            return Unavailable(
                f"{of_core} has several CPUs in {CPUMASK}: its energy might be counted twice"
            )
        counted += found
    return tuple(counted)


def kind_fields(
    counters: CoreCounters,
    joules: Mapping[int, float],
    problems: Mapping[int, str],
    window_s: float,
) -> Reading:
    """Return the energy fields by core kind, from joules and problems by CPU.

    A kind that used nothing has 0 J: a core that sleeps deeply has its power cut. But where no
    core's counter moved in the `window_s` seconds, nothing was measured.
    """
    by_kind: dict[str, float] = {}
    absent = {f"{FIELD}.{kind}": why for kind, why in counters.unavailable.items()}
    for kind, cpus in counters.cpus.items():
        lacking = next((cpu for cpu in cpus if cpu not in joules), None)
        if lacking is None:
            by_kind[kind] = sum(joules[cpu] for cpu in cpus)
        else:
            untold = f"{_UNTOLD} of CPU {lacking}"
            absent[f"{FIELD}.{kind}"] = problems.get(lacking, untold)
    if any(by_kind.values()):
        return Reading({FIELD: by_kind, WINDOW: window_s}, absent)
    if by_kind:
        why = (
            f"no core's energy counter moved in {window_s:.3g} s: the run is too short for them, "
            "or the platform does not fill them"
        )
    else:
        why = "; ".join(dict.fromkeys(absent.values()))
    return Reading({}, {FIELD: why})


def read_core_joules(text: str) -> tuple[dict[int, float], dict[int, str]]:
    """Return the joules of each CPU's core in perf's output, and why other CPUs have none."""
    joules: dict[int, float] = {}
    problems: dict[int, str] = {}
    for row in parse_perf_output(text).rows:
        place = _CPU.fullmatch(row.aggregate or "")
        if row.event != EVENT or row.pmu not in (PMU, None) or place is None:
            continue
        cpu = int(place[1])
        if cpu in joules or cpu in problems:
            joules.pop(cpu, None)
            problems[cpu] = f"perf printed {EVENT} of CPU {cpu} twice"
        elif row.value is None:
            problems[cpu] = f"{EVENT} of CPU {cpu} is {row.state}"
        elif row.unit != PERF_UNIT or row.value < 0:
            problems[cpu] = f"what perf printed of {EVENT} of CPU {cpu} is no number of {PERF_UNIT}"
        else:
            joules[cpu] = row.value
    return joules, problems
