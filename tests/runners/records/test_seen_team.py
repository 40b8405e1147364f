"""What a program was seen to start, beside what it was told."""

from __future__ import annotations

from typing import Any

import pytest

from runners.records.placed_runs import SeenTeam, seen_team


def record(*processes: int, cpu_s: float = 1.0, told: object = 2) -> dict[str, Any]:
    """Return the record of a run of a second whose threads were in these processes."""
    return {
        "threads": told,
        "elapsed_s": 1.0,
        "user_s": cpu_s,
        "system_s": 0.0,
        "placement": {"threads": [{"process": process} for process in processes]},
    }


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (record(0, 0), SeenTeam(2, 2, 1, several=False)),
        # A script that waits for its program of two threads.
        (record(0, 1, 1, cpu_s=2.0), SeenTeam(2, 2, 2, several=False)),
        (record(0, 1, 2, cpu_s=1.9), SeenTeam(2, 1, 3, several=True)),
        # One after the other.
        (record(0, 1, 2, cpu_s=1.0), SeenTeam(2, 1, 3, several=False)),
        # A team of which half was not seen is no second process.
        (record(0, cpu_s=1.9), SeenTeam(2, 1, 1, several=False)),
        (record(), SeenTeam(2, 0, 0, several=False)),
    ],
)
def test_threads_and_processes_are_counted(made: dict[str, Any], seen: SeenTeam) -> None:
    assert seen_team(made) == seen


@pytest.mark.parametrize("placement", [None, 7, {"threads": 7}, {"threads": [7, {"process": "x"}]}])
def test_hostile_records_tell_nothing(placement: object) -> None:
    hostile = record(told=True) | {"placement": placement, "user_s": "much"}
    assert seen_team(hostile) == SeenTeam(0, 0, 0, several=False)
