"""Energy around a run from perf's `power` PMU: RAPL as perf reads it, for whole packages.

The PMU counts for CPUs, never for a task (Linux arch/x86/events/rapl.c, perf_invalid_context):
among a task's events, its events would not be supported. So a separate, system-wide perf counts
them. The kernel extends the counters to 64 bits: they do not wrap around.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.perf.events import PerfPermission, perf_command
from pinstudy.runners.measure.perf.stat import CpuWindow
from pinstudy.runners.node.core_kinds.pmus import EVENT_SOURCES
from pinstudy.runners.node.cpuinfo import first_block
from pinstudy.runners.records.energy import PERF_EVENTS, PERF_UNIT, domain_fields
from pinstudy.runners.records.perf.output import parse_perf_output

POWER_PMU = f"{EVENT_SOURCES}/power"
GRANT = "sysctl kernel.perf_event_paranoid=0"
# If an event's file holds anything else, perf refuses all events.
_ENCODING = re.compile(r"event=0x[0-9a-fA-F]{1,4}", re.ASCII)
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/physical_package_id"


class PerfMeter:
    """Counts the power PMU's events from `start` to `stop`; one meter serves many runs."""

    def __init__(
        self, perf: str, pmu: PowerPmu, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Measure with this perf; `clock` gives seconds."""
        self._command = perf_command(perf, ",".join(pmu.events.values()))
        self._pmu = pmu
        self._window = CpuWindow(clock)
        self._joules: dict[str, float] = {}
        self._problems: dict[str, str] = {}

    def start(self) -> None:
        """Start perf and turn its counters on."""
        self._window.start(self._command, self._pmu.cpus)
        self._joules = {}
        self._problems = self._if_any(self._window.problem)

    def sample(self) -> None:
        """Do nothing: perf's counters do not wrap around."""

    def stop(self) -> None:
        """Turn the counters off, then read what perf prints."""
        output = self._window.stop()
        if output is None:
            return
        self._problems = self._if_any(self._window.problem)
        if not self._problems:
            self._joules, self._problems = read_joules(output)
            for domain in set(self._pmu.events) - set(self._joules) - set(self._problems):
                self._problems[domain] = f"perf printed no value of {self._pmu.events[domain]}"

    def problems(self) -> dict[str, str]:
        """Return the reason of each domain that cannot be measured, as far as known now."""
        return self._problems | dict(self._pmu.unavailable)

    def reading(self) -> Reading:
        """Return what was measured between `start` and `stop`.

        The fields are those of `pinstudy.runners.measure.energy.powercap.PowercapMeter.reading`.
        """
        return domain_fields(self._joules, self.problems(), self._window.window_s, "perf")

    def _if_any(self, problem: str) -> dict[str, str]:
        return dict.fromkeys(self._pmu.events, problem) if problem else {}


@dataclass(frozen=True)
class PowerPmu:
    """The power PMU's domains with their events, and the CPUs to count them on.

    `cpus` has one CPU for each counter; `unavailable` a reason for each domain without an event.
    """

    events: Mapping[str, str]
    cpus: tuple[int, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)


def find_power_pmu(root: Path) -> PowerPmu:
    """Return the power PMU of the node whose files are under `root`; never raises.

    The PMU's cpumask has one CPU for each package or die. Each die of a CPU that is not Intel's
    shows the counter of its package, so only the first die of a package is counted there.
    """
    tree = Tree(root)
    names = tree.names(f"{POWER_PMU}/events")
    if isinstance(names, Unavailable):
        detail = "" if names.missing else f" ({names.reason})"
        return _without(f"no power PMU here{detail}")
    cpus = _cpus(tree)
    if isinstance(cpus, Unavailable):
        return _without(cpus.reason)
    found = reading_of(
        {domain: find_event(tree, "power", event) for domain, event in PERF_EVENTS.items()}
    )
    return PowerPmu(found.fields, cpus, found.unavailable)


def read_joules(text: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return the joules of each domain in perf's output, and why the others have none."""
    domains = {event: domain for domain, event in PERF_EVENTS.items()}
    joules: dict[str, float] = {}
    problems: dict[str, str] = {}
    for row in parse_perf_output(text).rows:
        domain = domains.get(row.event) if row.pmu in ("power", None) else None
        if domain is None or domain in joules or domain in problems:
            continue
        if row.value is None:
            problems[domain] = f"{row.event} is {row.state}"
        elif row.unit != PERF_UNIT or row.value < 0 or row.aggregate is not None:
            problems[domain] = f"what perf printed of {row.event} is not a sum of {PERF_UNIT}"
        else:
            joules[domain] = row.value
    return joules, problems


def permission_problem(permission: PerfPermission) -> str:
    """Return why this process may not count whole CPUs, and the remedy; empty when it may."""
    if permission.paranoid is None:
        return "this kernel has no performance events"
    privileged = permission.admin or (permission.perfmon and not permission.forbidden)
    if permission.paranoid < 1 or privileged:
        return ""
    return (
        f"perf may count single programs only (kernel.perf_event_paranoid is "
        f"{permission.paranoid}); as root: {GRANT}"
    )


def _without(reason: str) -> PowerPmu:
    return PowerPmu({}, (), dict.fromkeys(PERF_EVENTS, reason))


def find_event(tree: Tree, pmu: str, event: str) -> str | Unavailable:
    """Return an event of a PMU as perf's `-e` takes it, or why the PMU has none that perf takes."""
    path = f"{EVENT_SOURCES}/{pmu}/events/{event}"
    text = tree.text(path)
    if isinstance(text, Unavailable):
        return Unavailable(f"the {pmu} PMU has no {event}") if text.missing else text
    if _ENCODING.fullmatch(text):
        return f"{pmu}/{event}/"
    return Unavailable(f"{path} does not hold an event")


def _cpus(tree: Tree) -> tuple[int, ...] | Unavailable:
    """Return one CPU for each counter, from the PMU's cpumask."""
    path = f"{POWER_PMU}/cpumask"
    listed = tree.cpulist(path)
    if isinstance(listed, Unavailable):
        return listed
    if not listed:
        return Unavailable(f"{path} names no CPU")
    if len(listed) == 1 or first_block(tree).get("vendor_id") == "GenuineIntel":
        return listed
    first_of: dict[int, int] = {}
    for cpu in listed:
        package = tree.integer(_TOPOLOGY.format(cpu))
        if isinstance(package, Unavailable):
            return Unavailable(f"{package.reason}: one package's energy might be counted twice")
        first_of.setdefault(package, cpu)
    return tuple(first_of.values())
