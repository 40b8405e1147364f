"""The conditions on the node around a run: heat, throttling, quotas, other tasks, clocks, daemons.

They are read before and after a run, never during it.

A node's clock may be set while a study runs, and the node may sleep. All durations are measured
with CLOCK_MONOTONIC, which cannot be set. Only `started_at` comes from CLOCK_REALTIME, which can be
set. CLOCK_BOOTTIME goes on while the node sleeps, CLOCK_MONOTONIC does not (clock_gettime(2)).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.base.units import duration
from pinstudy.runners.host.interference import daemon_warning, find_daemons
from pinstudy.runners.host.processes import inherited_priority
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.cpu_time import BusyMeter, ForeignTasksMeter, HarnessCost
from pinstudy.runners.measure.conditions.power_before import PowerBefore
from pinstudy.runners.measure.conditions.temperature import Thermometer
from pinstudy.runners.measure.conditions.throttling import (
    CoolingMeter,
    QuotaMeter,
    ThrottleMeter,
)
from pinstudy.runners.measure.meter import Meters
from pinstudy.runners.node.node import Node
from pinstudy.runners.node.power import (
    LONG_TERM,
    deciding_limits,
    limits_by_domain,
    read_power_limits,
)
from pinstudy.runners.node.topology import with_siblings

LOADAVG = "/proc/loadavg"

_LOAD = re.compile(r"([0-9]{1,9}\.[0-9]{1,4}) ")


class Surroundings:
    """One meter of all these conditions; the CPUs' times are read nearest to the program."""

    _load: float | Unavailable
    _limits: list[dict[str, Any]] | Unavailable

    def __init__(self, node: Node, power_before: PowerBefore | None = None) -> None:
        """Find the sensors, and the daemons that are running."""
        tree = Tree(node.root)
        self._tree = tree
        self._cores = node.topology.cores
        self.thermometer = Thermometer(tree, node.topology)
        self._power_before = power_before
        self._daemons = find_daemons(tree)
        # Meters whose reading does not depend on the run's CPUs; add new ones here.
        self._plain = (
            self.thermometer,
            ThrottleMeter(tree, node.topology),
            CoolingMeter(tree),
            QuotaMeter(tree),
            *((power_before,) if power_before else ()),
        )
        self._tasks = ForeignTasksMeter(tree)
        self._busy = BusyMeter(tree)
        self._meters = Meters((*self._plain, self._tasks, self._busy))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user before the study's runs, one line each."""
        warnings = (daemon_warning(known(self._daemons) or ()), _priority_warning())
        return tuple(filter(None, warnings))

    def start(self) -> None:
        """Read everything before a run."""
        self._load = read_load(self._tree)
        self._meters.start()

    def sample(self) -> None:
        """Read nothing but energy that might wrap around: it would disturb the program."""
        if self._power_before:
            self._power_before.sample()

    def stop(self) -> None:
        """Read everything after a run."""
        self._meters.stop()
        self._limits = read_power_limits(self._tree)

    def measured(
        self,
        cpus: tuple[int, ...],
        program_s: float | None,
        overhead: HarnessCost | None,
        power_w: object,
        pids: Collection[int] = (),
    ) -> Reading:
        """Return the record's fields for a run on these CPUs.

        `program_s` is the program's CPU time in seconds, `overhead` what pinstudy itself used,
        `power_w` the average package power in watts, `pids` the processes of an MPI program's
        ranks, which srun starts by a daemon of Slurm. SMT siblings of `cpus` are included, because
        a task on one slows the program just as a task on its own CPU does.
        """
        cpus = with_siblings(self._cores, cpus)
        own_s = program_s
        if own_s is not None and overhead and not set(overhead.cpus).isdisjoint(cpus):
            own_s += overhead.cpu_s
        parts = (
            *(meter.reading() for meter in self._plain),
            power_limit_note(power_w, known(self._limits) or ()),
            self._tasks.reading(cpus, pids),
            self._busy.reading(cpus, own_s),
        )
        found = reading_of({"load_1min": self._load, "daemons": self._daemons})
        if overhead:
            cost = asdict(overhead) | {"cpus": format_cpulist(overhead.cpus)}
            found.fields["harness"] = cost
        return reduce(or_, parts, found)


def _priority_warning() -> str | None:
    """Warn of an inherited policy; a nice value alone changes nothing on a node at rest."""
    priority = inherited_priority()
    if not priority or priority.startswith("nice"):
        return None
    return (
        f"programs run with {priority}, as pinstudy does: the kernel schedules usual ones "
        "otherwise; start it without chrt(1)"
    )


def read_load(tree: Tree) -> float | Unavailable:
    """Return the load average of the last minute (proc_loadavg(5))."""
    text = tree.text(LOADAVG)
    if isinstance(text, Unavailable):
        return text
    match = _LOAD.match(text)
    return float(match[1]) if match else Unavailable(f"{LOADAVG} holds no load average")


# Slewing moves a clock too, but keeps times in order: adjtime(3) by at most 0.5 ms/s.
_SLEWED_PER_S = 0.001
_MIN_STEP_S = 1.0
# No node falls asleep and wakes up within this time. The clocks must be read within less, or a
# delay between two reads would look like sleep.
_MIN_SLEEP_S = 0.1
_READ_WITHIN_S = 0.02
_READ_ATTEMPTS = 20


@dataclass(frozen=True)
class Moment:
    """One moment by three clocks, in seconds."""

    realtime_s: float
    boottime_s: float
    monotonic_s: float

    @classmethod
    def now(cls) -> Moment:
        """Read the clocks, again if this process was delayed between two of them."""
        for _ in range(_READ_ATTEMPTS):
            monotonic_s = time.clock_gettime(time.CLOCK_MONOTONIC)
            boottime_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            realtime_s = time.clock_gettime(time.CLOCK_REALTIME)
            if time.clock_gettime(time.CLOCK_MONOTONIC) - monotonic_s < _READ_WITHIN_S:
                break
        return cls(realtime_s, boottime_s, monotonic_s)

    def set_since(self, before: Moment) -> float:
        """Return by how many seconds the clock was set since; negative is back, 0 is not set."""
        passed_s = self.boottime_s - before.boottime_s
        moved_s = self.realtime_s - before.realtime_s - passed_s
        return moved_s if abs(moved_s) > _MIN_STEP_S + _SLEWED_PER_S * passed_s else 0.0

    def slept_since(self, before: Moment) -> float:
        """Return for how many seconds the node slept since; 0 when it did not."""
        passed_s = self.boottime_s - before.boottime_s
        slept_s = passed_s - (self.monotonic_s - before.monotonic_s)
        return slept_s if slept_s > _MIN_SLEEP_S else 0.0


class ClockWatch:
    """Reads the clocks between the runs of an attempt.

    `set_s` is by how many seconds the clock was set since the attempt began.
    """

    def __init__(self, now: Callable[[], Moment] = Moment.now) -> None:
        self.now = now
        self.set_s = 0.0
        self._last = now()

    def look(self) -> list[str]:
        """Return what happened since the last look, one line each."""
        before, self._last = self._last, self.now()
        lines = []
        if set_s := self._last.set_since(before):
            self.set_s += set_s
            way = "back" if set_s < 0 else "forward"
            lines.append(
                f"the node's clock was set {way} by {duration(abs(set_s))}: started_at of the "
                "records jumps with it, what is measured does not"
            )
        if slept_s := self._last.slept_since(before):
            lines.append(f"the node slept for {duration(slept_s)}")
        return lines

    def measured(self) -> Reading:
        """Return `clock_set_s` as of the last look; nothing when the clock was not set."""
        return Reading({"clock_set_s": round(self.set_s, 3)} if self.set_s else {})


# The limiter keeps the average just below PL1: from this share of PL1 on, it is taken to be active.
AT_LIMIT = 0.97


def power_limit_note(power_w: object, limits: Iterable[Mapping[str, Any]]) -> Reading:
    """Return the field `power_limit_note`: a sentence, empty when power was below the limit.

    A processor may draw more than its long-term power limit (PL1) for seconds (PL2, tau): a short
    run then measures a burst that a longer run cannot sustain. Nothing where the power was not
    measured: `power_pkg_w` has the reason. A PL1 that may not be in force limits nothing for sure.

    `power_w` is the average power of all packages in watts; `limits` are those at the end of
    the run (runners.node.power_limits.read_power_limits). PL1 is the sum over packages of each
    one's lowest limit: a package may have one limit in a model-specific register and another in a
    memory-mapped one (intel-rapl-mmio).
    """
    of_packages = [
        limit
        for limit in limits
        if str(limit["domain"]).startswith("package") and limit["name"] == LONG_TERM
    ]
    limit_w = _long_term_w(of_packages)
    name = "power_limit_note"
    if not isinstance(power_w, (int, float)):
        return Reading()
    if limit_w is None:
        return Reading({}, {name: "the package's long-term power limit (PL1) is not known"})
    if power_w < AT_LIMIT * limit_w:
        return Reading({name: ""})
    doubts = (limit.get("reason") for limit in deciding_limits(of_packages).values())
    if doubt := next(filter(None, doubts), ""):
        return Reading({}, {name: doubt})
    average = f"average package power {power_w:.1f} W"
    note = f"at PL1: {average}, PL1 {limit_w:.1f} W; the limit may have held the frequency down"
    if power_w > limit_w:
        note = f"burst above PL1: {average}, PL1 {limit_w:.1f} W; a longer run is slower"
    return Reading({name: note})


def _long_term_w(of_packages: Sequence[Mapping[str, Any]]) -> float | None:
    found = limits_by_domain(of_packages)
    complete = bool(found) and found.keys() == {limit["domain"] for limit in of_packages}
    return sum(package["pl1_w"] for package in found.values()) if complete else None
