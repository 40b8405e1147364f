"""When a case has lost too many runs to placement to be compared, whatever the runs took."""

from __future__ import annotations

from typing import Any

import pytest

from runners.records.placed_runs import ObservedTeam, PlacedRuns, observed_team, verdict_of


@pytest.mark.parametrize(
    ("placed", "usable"),
    [
        (PlacedRuns(), True),
        (PlacedRuns(proved=9, unproved=1), True),
        (PlacedRuns(proved=8, unproved=1), False),
        (PlacedRuns(proved=90, violated=10), True),
        (PlacedRuns(proved=89, violated=10), False),
        # Those that were caught, and those that were too short to be: together they are too many.
        (PlacedRuns(proved=18, unproved=1, violated=1), True),
        (PlacedRuns(proved=17, unproved=1, violated=1), False),
        (PlacedRuns(unproved=1), False),
        (PlacedRuns(violated=1), False),
        (PlacedRuns(unseen=30), True),
    ],
)
def test_more_than_a_tenth_is_too_much(placed: PlacedRuns, usable: bool) -> None:
    assert placed.usable is usable


@pytest.mark.parametrize(
    ("placed", "summary"),
    [
        (PlacedRuns(88, 2), "placement proved in 88 of 90 runs, 2 not provable"),
        (PlacedRuns(5, 0, 28), "placement proved in 5 of 33 runs, violated in 28"),
        (PlacedRuns(1, 2, 3), "placement proved in 1 of 6 runs, 2 not provable, violated in 3"),
        (PlacedRuns(unseen=1), "placement not looked at in 1 run"),
    ],
)
def test_the_counts_are_told(placed: PlacedRuns, summary: str) -> None:
    assert placed.summary == summary


def test_of_an_imported_log_nobody_looked() -> None:
    record = {"placement": {"verdict": "unproved"}}
    assert verdict_of(record) == "unproved"
    assert verdict_of(record | {"imported": {}}) == "unseen"
    assert verdict_of({}) is None


def record(*threads: tuple[int, float, float], requested: object = 2) -> dict[str, Any]:
    """Return the record of a run of a second: threads are a process, runnable and CPU time."""
    names = ("process", "runnable_s", "cpu_s")
    named = [dict(zip(names, thread, strict=True)) for thread in threads]
    return {"threads": requested, "elapsed_s": 1.0, "placement": {"threads": named}}


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (record((0, 1.0, 1.0), (0, 1.0, 1.0)), ObservedTeam(2, 2, 2, 1, several=False)),
        # A script that waits for its program of two threads.
        (
            record((0, 0.1, 0.0), (1, 1.0, 1.0), (1, 1.0, 1.0)),
            ObservedTeam(2, 2, 2, 1, several=False),
        ),
        (
            record((0, 0.0, 0.0), (1, 1.0, 0.7), (2, 0.9, 0.6)),
            ObservedTeam(2, 1, 1, 2, several=True),
        ),
        # A pool: the parent's threads wait for two workers, and are no team.
        (
            record(*[(0, 0.1, 0.1), *[(0, 0.0, 0.0)] * 3], (1, 0.6, 0.5), (2, 0.6, 0.4)),
            ObservedTeam(2, 4, 1, 3, several=True),
        ),
        # The two threads of a program beside the other end of its pipe.
        (
            record((0, 0.4, 0.4), (1, 0.9, 0.8), (1, 0.8, 0.8)),
            ObservedTeam(2, 2, 2, 2, several=True),
        ),
        # One after the other.
        (
            record((0, 0.0, 0.0), (1, 0.5, 0.5), (2, 0.5, 0.5)),
            ObservedTeam(2, 1, 1, 2, several=False),
        ),
        # A script that waits for a CPU, on a busy node, before it can wait for its child.
        (record((0, 0.9, 0.0), (1, 0.9, 0.4)), ObservedTeam(2, 1, 1, 1, several=False)),
        (record(), ObservedTeam(2, 0, 0, 0, several=False)),
    ],
)
def test_threads_and_processes_are_counted(made: dict[str, Any], seen: ObservedTeam) -> None:
    assert observed_team(made) == seen


def test_the_team_of_several_processes_is_that_of_the_busiest() -> None:
    pool = record(*[(0, 0.1, 0.1), *[(0, 0.0, 0.0)] * 3], (1, 0.6, 0.5), (2, 0.6, 0.4))
    assert observed_team(pool).started == 1
    idle = record((0, 1.0, 1.0), (0, 0.0, 0.0), requested=2)
    assert observed_team(idle).started == 2
