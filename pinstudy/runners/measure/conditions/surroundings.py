"""The conditions on the node around a run: heat, throttling, quotas, other tasks, daemons.

They are read before and after a run, never during it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import asdict
from functools import reduce
from operator import or_
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.runners.host.interference import daemon_warning, find_daemons
from pinstudy.runners.host.processes import inherited_priority
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.cpu_time import BusyMeter, ForeignTasksMeter, HarnessCost
from pinstudy.runners.measure.conditions.temperature import Thermometer
from pinstudy.runners.measure.conditions.throttling import QuotaMeter, ThrottleMeter
from pinstudy.runners.measure.energy.power_limit_note import power_limit_note
from pinstudy.runners.measure.meter import Meters
from pinstudy.runners.node.node import Node
from pinstudy.runners.node.power_limits import read_power_limits
from pinstudy.runners.node.topology import with_siblings

LOADAVG = "/proc/loadavg"

_LOAD = re.compile(r"([0-9]{1,9}\.[0-9]{1,4}) ")


class Surroundings:
    """One meter of all these conditions; the CPUs' times are read nearest to the program."""

    _load: float | Unavailable
    _limits: list[dict[str, Any]] | Unavailable

    def __init__(self, node: Node) -> None:
        """Find the sensors, and the daemons that are running."""
        tree = Tree(node.root)
        self._tree = tree
        self._cores = node.topology.cores
        self.thermometer = Thermometer(tree, node.topology)
        self._daemons = find_daemons(tree)
        # Meters whose reading does not depend on the run's CPUs; add new ones here.
        self._plain = (
            self.thermometer,
            ThrottleMeter(tree, node.topology),
            QuotaMeter(tree),
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
        """Read nothing: it would disturb the program."""

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
