"""Placements in records: in how many runs they are proved, and how many threads ran. Pure.

Runs whose threads were elsewhere are not averaged. That selects runs by their behaviour: of a
program that binds its own threads, only runs too short for the looks remain. They are lost, as are
those that ended badly (pinstudy/runners/records/lost_runs.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pinstudy.base.text import plural
from pinstudy.runners.records.lost_runs import is_sample

PROVED, UNPROVED, VIOLATED = "proved", "unproved", "violated"
# The verdict of imported logs: no threads were sampled.
UNSEEN = "unseen"
# A run's course has what its threads did in each quarter of its time.
QUARTERS = 4
# A run whose processes worked, or waited for a CPU, for more than this multiple of its time had
# several at work at a time. Errors of clocks and the rounding of short runs are within a tenth.
MORE_THAN_ONE = 1.1
# On a busy node a process that has just started another may long wait for a CPU before it can wait
# for its child. Processes that work side by side use more CPU time than that.
MIN_SHARE_OF_OTHERS = 0.05


@dataclass(frozen=True)
class PlacedRuns:
    """How many runs of a case were proved, not provable (averaged), and violated (not averaged).

    Runs that went wrong for other reasons and warm-up runs are not counted. `unseen` runs are from
    imported logs, which contain no threads, so none was left out for its placement.
    """

    proved: int = 0
    unproved: int = 0
    violated: int = 0
    unseen: int = 0

    @property
    def lost(self) -> int:
        """How many runs are not proved: not provable, or violated."""
        return self.unproved + self.violated

    @property
    def usable(self) -> bool:
        """Whether enough of these runs were proved for the case to be recommended.

        A run's speed plays no part: one that was too short to be proved counts like one whose
        threads were elsewhere. Runs that ended badly are not among these.
        """
        return is_sample(self.lost, self.proved + self.lost)

    @property
    def summary(self) -> str:
        """The counts in words: `placement proved in 88 of 90 runs, 2 not provable`."""
        if self.unseen and not self.proved + self.lost:
            return f"placement not looked at in {plural(self.unseen, 'run')}"
        parts = [f"placement proved in {self.proved} of {plural(self.proved + self.lost, 'run')}"]
        parts += [f"{self.unproved} not provable"] if self.unproved else []
        parts += [f"violated in {self.violated}"] if self.violated else []
        return ", ".join(parts)


def verdict_of(record: Mapping[str, Any], name: str = "placement") -> str | None:
    """Return the verdict of a record's placement.

    `name` is `placement`, or the column of another.
    """
    verdict: str | None = (record.get(name) or {}).get("verdict")
    return UNSEEN if verdict == UNPROVED and "imported" in record else verdict


@dataclass(frozen=True)
class ObservedTeam:
    """The number of threads that a run requested, and those that the looks found.

    `threads` is the largest number in one process, 0 where none was found, `at_work` how many
    threads of the busiest process worked. `processes` is how many processes used more than 5 % of
    the CPU time. `several` is set when more than one process worked, or waited for a CPU, at a
    time: together they did so for longer than the run, and others than the busiest used CPU time.
    A script that waits for another process does not count. The threads of the busiest process are
    the team of several.
    """

    requested: int
    threads: int
    at_work: int
    processes: int
    several: bool

    @property
    def started(self) -> int:
        """The threads of the team."""
        return self.at_work if self.several else self.threads


def threads_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the threads in a run's record."""
    return (record.get("placement") or {}).get("threads") or []


def observed_team(record: Mapping[str, Any]) -> ObservedTeam:
    """Return the team in a run's record."""
    by_process: dict[int, list[Mapping[str, Any]]] = {}
    for thread in threads_of(record):
        if "process" in thread:
            by_process.setdefault(thread["process"], []).append(thread)
    used_s = {name: _sum(threads, "cpu_s") for name, threads in by_process.items()}
    total_s, busiest = sum(used_s.values()), max(used_s, key=lambda name: used_s[name], default=-1)
    negligible_s = MIN_SHARE_OF_OTHERS * total_s
    # A process was at work, or waited for a CPU, for as long as any of its threads at least.
    at_work_s = sum(
        max(thread.get("runnable_s", 0.0) for thread in threads) for threads in by_process.values()
    )
    return ObservedTeam(
        record.get("threads", 0),
        max(map(len, by_process.values()), default=0),
        _at_work(by_process.get(busiest, [])),
        sum(used > negligible_s for used in used_s.values()),
        at_work_s > MORE_THAN_ONE * record.get("elapsed_s", math.inf) > 0
        and total_s - used_s[busiest] > negligible_s,
    )


def _sum(threads: Iterable[Mapping[str, Any]], name: str) -> float:
    return math.fsum(thread.get(name, 0.0) for thread in threads)


def _at_work(threads: Iterable[Mapping[str, Any]]) -> int:
    """Return how many threads of a process used more than 5 % of its busiest thread's CPU time."""
    used_s = [thread.get("cpu_s", 0.0) for thread in threads]
    return sum(used >= MIN_SHARE_OF_OTHERS * max(used_s) for used in used_s)
