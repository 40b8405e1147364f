"""How many processes work is given to."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.processes import MAX_WORKERS, how_many


@pytest.mark.parametrize(("cpus", "jobs", "workers"), [(2, 9, 2), (64, 9, MAX_WORKERS), (4, 3, 3)])
def test_there_are_no_more_than_cpus_or_jobs(
    monkeypatch: pytest.MonkeyPatch, cpus: int, jobs: int, workers: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cpus)))
    assert how_many(jobs) == workers


def test_without_shared_memory_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("analysis.processes.SHARED_MEMORY", str(tmp_path / "none"))
    assert how_many(9) == 1
