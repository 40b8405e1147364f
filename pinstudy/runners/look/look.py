"""For some seconds, where a running program's threads are, what they wait for, what disturbs them.

All is read from the kernel's files, by anybody, and the program is neither stopped nor traced.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Reading
from pinstudy.runners.host.processes import has_ended
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.look.processes import command_line
from pinstudy.runners.measure.conditions.cpu_time import (
    BusyMeter,
    CostClock,
    ForeignTasksMeter,
    HarnessCost,
)
from pinstudy.runners.node.node import Node
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.placement.sampler import Pace, PlacementSampler
from pinstudy.runners.placement.thread_placement import (
    Expected,
    Proof,
    Samples,
    busy_threads,
    prove,
)
from pinstudy.runners.placement.thread_trace import ThreadTrace

# /proc/TID/sched has one number a line (Linux kernel/sched/debug.c, proc_sched_show_task).
_MIGRATIONS = re.compile(r"^se\.nr_migrations\s*:\s*([0-9]{1,20})$", re.MULTILINE)
_MOST_BYTES = 1 << 16
_WAITED = re.compile(r"^[0-9]{1,20} ([0-9]{1,20}) [0-9]{1,20}\s*$")


@dataclass(frozen=True)
class ThreadLook:
    """What was seen of a thread, in seconds.

    `cpu_s_on` is its CPU time by core kind. `waited_s` is how long it was ready to run and waited
    for a CPU (kernel: sched-stats), `migrations` how often the kernel moved it to another CPU; None
    where the kernel does not tell. `at_work` is whether its placement decides.
    """

    tid: int
    pid: int
    name: str
    allowed: tuple[int, ...]
    ran_on: tuple[int, ...]
    cpu_s: float
    cpu_s_on: dict[str, float]
    waited_s: float | None
    migrations: int | None
    at_work: bool


@dataclass(frozen=True)
class ProgramLook:
    """What was seen of a program in `elapsed_s` seconds, with the threads at work first.

    `cpus` are those that the threads at work may use. `beside` has `foreign_cpu_s`, `interrupts_s`,
    `steal_s` and `foreign_tasks` there. `proof` is None where no CPUs were expected. `cost` is of
    pinstudy itself.
    """

    pids: tuple[int, ...]
    command: str
    elapsed_s: float
    looks: int
    ended: bool
    interrupted: bool
    threads: tuple[ThreadLook, ...]
    cpus: tuple[int, ...]
    beside: Reading
    proof: Proof | None
    cost: HarnessCost

    @property
    def at_work(self) -> tuple[ThreadLook, ...]:
        """The threads whose placement decides."""
        return tuple(thread for thread in self.threads if thread.at_work)

    @property
    def imbalance(self) -> float | None:
        """The share of the busiest thread's CPU time that the mean of those at work lacks.

        None with fewer than two of them. Threads that wait busily for others hide it.
        """
        times = [thread.cpu_s for thread in self.at_work]
        return 1 - sum(times) / len(times) / max(times) if len(times) > 1 else None

    @property
    def cpu_s_on(self) -> dict[str, float]:
        """The CPU time of all threads by core kind."""
        kinds = dict.fromkeys(kind for thread in self.threads for kind in thread.cpu_s_on)
        return {kind: sum(t.cpu_s_on.get(kind, 0.0) for t in self.threads) for kind in kinds}

    def fields(self) -> dict[str, Any]:
        """Return it as JSON's values: CPU lists as the kernel writes them."""
        lists = ("allowed", "ran_on")
        threads = [
            vars(thread) | {name: format_cpulist(getattr(thread, name)) for name in lists}
            for thread in self.threads
        ]
        return {
            "pids": list(self.pids),
            "command": self.command,
            "elapsed_s": round(self.elapsed_s, 3),
            "looks": self.looks,
            "ended": self.ended,
            "interrupted": self.interrupted,
            "cpu_s_on": self.cpu_s_on,
            "imbalance": self.imbalance,
            "cpus": format_cpulist(self.cpus),
            "beside": self.beside.fields,
            "unavailable": self.beside.unavailable,
            "placement": vars(self.proof) if self.proof else None,
            "harness": {"cpu_s": self.cost.cpu_s, "share": self.cost.cpu_s / self.elapsed_s},
            "threads": threads,
        }


@dataclass
class _Counts:
    """What the kernel has counted of threads, by (process, thread), until a moment."""

    tree: Tree
    waited_s: dict[tuple[int, int], float] = field(default_factory=dict)
    migrations: dict[tuple[int, int], int] = field(default_factory=dict)

    def read(self, threads: Sequence[ThreadTrace]) -> _Counts:
        for thread in threads:
            key, base = (thread.pid, thread.tid), f"/proc/{thread.pid}/task/{thread.tid}"
            waited = self.tree.text(f"{base}/schedstat")
            moved = self.tree.content(f"{base}/sched", _MOST_BYTES)
            if isinstance(waited, str) and (found := _WAITED.match(waited)):
                self.waited_s[key] = int(found[1]) / 1e9
            if isinstance(moved, str) and (found := _MIGRATIONS.search(moved)):
                self.migrations[key] = int(found[1])
        return self


def look(
    node: Node,
    pids: Sequence[int],
    seconds: float,
    expected: Callable[[int], Expected] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> ProgramLook:
    """Look at processes and their descendants for so many seconds, or until all have ended.

    Ctrl-C ends it earlier.

    `expected` is what their placement is to be proved against, for a number of threads at work.
    """
    tree = node.tree
    command = command_line(tree, pids[0])
    sampler = PlacementSampler(pids, clock=clock, runs_already=True)
    tasks, busy, cost = ForeignTasksMeter(tree), BusyMeter(tree), CostClock(())
    tasks.start()
    busy.start()
    began_s = clock()
    sampler.sample()
    before = _Counts(tree).read(sampler.threads)
    pace, interrupted = Pace(clock), False
    try:
        while (left_s := began_s + seconds - clock()) > 0 and _lives(tree, pids):
            sleep(min(pace.pause_s, left_s))
            pace.step(sampler)
    except KeyboardInterrupt:
        interrupted = True
    sampler.sample()
    after = _Counts(tree).read(sampler.threads)
    elapsed_s = clock() - began_s
    busy.stop()
    tasks.stop()
    deciding = busy_threads(sampler.threads)
    cpus = tuple(sorted({cpu for thread in deciding for cpu in thread.allowed}))
    used_s = sum(thread.cpu_s for thread in sampler.threads)
    harness = cost.stop()
    samples = Samples(sampler.threads, sampler.samples, elapsed_s, sampler.hotplugged_cpus)
    proof = prove(samples, expected(len(deciding))) if expected else None
    if proof and proof.verdict == "proved" and not deciding:
        proof = Proof("unproved", "no thread was at work, and idle ones tell nothing")
    return ProgramLook(
        tuple(pids),
        command,
        elapsed_s,
        sampler.samples,
        not _lives(tree, pids),
        interrupted,
        _threads(tree, node.topology, sampler.threads, deciding, before, after),
        cpus,
        busy.reading(cpus, used_s + harness.cpu_s) | tasks.reading(cpus, pids),
        proof,
        harness,
    )


def _lives(tree: Tree, pids: Sequence[int]) -> bool:
    stats = (tree.text(f"/proc/{pid}/stat") for pid in pids)
    return any(isinstance(stat, str) and not has_ended(stat) for stat in stats)


def _threads(
    tree: Tree,
    topology: Topology,
    traces: Sequence[ThreadTrace],
    deciding: Sequence[ThreadTrace],
    before: _Counts,
    after: _Counts,
) -> tuple[ThreadLook, ...]:
    at_work = {id(trace) for trace in deciding}
    found = []
    for trace in traces:
        key = (trace.pid, trace.tid)
        name = tree.text(f"/proc/{trace.pid}/task/{trace.tid}/comm")
        found.append(
            ThreadLook(
                trace.tid,
                trace.pid,
                name.strip() if isinstance(name, str) else "",
                trace.allowed,
                tuple(sorted(trace.ran_on)),
                trace.cpu_s,
                _by_kind(topology, trace.cpu_s_on),
                _since(before.waited_s, after.waited_s, key),
                _since(before.migrations, after.migrations, key),
                id(trace) in at_work,
            )
        )
    return tuple(sorted(found, key=lambda thread: (not thread.at_work, -thread.cpu_s)))


def _since(before: Mapping[Any, Any], after: Mapping[Any, Any], key: tuple[int, int]) -> Any:  # noqa: ANN401 - of either type
    """Return what was counted since; a thread that was born meanwhile began at nothing."""
    return after[key] - before.get(key, 0) if key in after else None


def _by_kind(topology: Topology, cpu_s_on: Mapping[int, float]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for cpu, seconds in cpu_s_on.items():
        kind = topology.kind_of(cpu) or ""
        shares[kind] = shares.get(kind, 0.0) + seconds
    return shares
