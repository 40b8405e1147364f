"""The pre-flight check: whether a case can still run on the node as it was planned.

An allocation without some of a case's CPUs causes no error: libgomp puts all its threads on the
others, and a cpuset cuts the mask of `taskset` without a message. During a study, CPUs may go
offline, and SMT and turbo may be switched; runs before and after that must not be mixed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace

from pinstudy.base.cpulist import format_cpulist, named_cpus
from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import CPUS
from pinstudy.runners.node.facts import SMT, read_switchable, smt_is_off, switchable
from pinstudy.runners.node.node import Node
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.records.kept_facts import in_words


class Preflight:
    """Checks before each run that its case fits the node as it was when the study began."""

    def __init__(self, node: Node, set_by_cases: Collection[str] = ()) -> None:
        """Keep the affinity mask that this process has now, to restore it later.

        `set_by_cases` are the settings that the study's cases ask for, by name: it switches them
        itself, and reads them back.
        """
        self._node = node
        self._tree = Tree(node.root)
        self._own = os.sched_getaffinity(0)
        at_start = switchable(node.facts)
        self._at_start = {name: at_start[name] for name in at_start if name not in set_by_cases}

    def problem(self, case: Case) -> str | None:
        """Return why the case cannot run, with node, wanted and found; None when it can."""
        problem = self._changed() or self._offline(case) or self._not_allowed(case)
        return f"node {self._node.node_id}: {problem}" if problem else None

    def _changed(self) -> str | None:
        """Return which settings of the whole node were switched since the study began."""
        then, now = self._at_start, read_switchable(self._tree)
        changed = [
            in_words(name, then[name], now[name]) for name in then if then[name] != now[name]
        ]
        listed = "; ".join(changed)
        return f"it has changed since the study began: {listed}; put it back" if changed else None

    def _offline(self, case: Case) -> str | None:
        """Return which CPUs of the case's cores, SMT siblings included, are offline."""
        online = self._tree.cpulist(f"{CPUS}/online")
        if isinstance(online, Unavailable):
            return None
        used = set(case.all_cpus)
        cores = [core.cpus for core in self._node.topology.cores if used.intersection(core.cpus)]
        gone = sorted(used.union(*cores).difference(online))
        if not gone:
            return None
        path = f"{CPUS}/cpu{gone[0]}/online"
        back = f"echo 1 > {path}"
        if smt_is_off(self._tree):
            path, back = SMT, f"echo on > {SMT}"
        return (
            f"{named_cpus(gone)} {'is' if len(gone) == 1 else 'are'} offline, and the case runs on "
            f"CPUs {format_cpulist(case.all_cpus)} or their SMT siblings; bring back what is "
            f"missing (`{back}`)"
        )

    def _not_allowed(self, case: Case) -> str | None:
        may_use = os.sched_getaffinity(0)
        if not may_use.issuperset(case.all_cpus):
            may_use = _regained(may_use, self._own)
        missing = [cpu for cpu in sorted(set(case.all_cpus)) if cpu not in may_use]
        if missing:
            return (
                f"this process may use CPUs {format_cpulist(sorted(may_use))}, the case needs "
                f"{format_cpulist(case.all_cpus)}; missing: {format_cpulist(missing)}. "
                "In a batch job ask for the whole node (Slurm: --exclusive)"
            )
        topology = self._node.topology
        allowed = tuple(sorted(may_use.intersection(topology.online)))
        return mechanism_of(case.mechanism).problem(replace(topology, allowed=allowed), case)


def _regained(may_use: set[int], own: Iterable[int]) -> set[int]:
    """Restore this process's own affinity mask; return the CPUs that it may use then.

    Each run sets the mask, and a mask that was set while a CPU was offline lacks it for ever (Linux
    6.1 kernel/sched/core.c, __sched_setaffinity). A cpuset still cuts the restored mask.
    """
    with suppress(OSError):
        os.sched_setaffinity(0, may_use.union(own))
    return os.sched_getaffinity(0)
