"""How many processes work is given to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.processes import MAX_WORKERS, how_many
from tests.support.tools import ROOT


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


# Work that never ends, and Ctrl-C.
STOPPED = """
import os, signal
from analysis.processes import pool

if __name__ == "__main__":
    with pool(1) as processes:
        work = processes.submit(signal.pause)
        os.kill(os.getpid(), signal.SIGINT)
        work.result()
"""


def test_who_stops_for_a_signal_does_not_wait_for_work(tmp_path: Path) -> None:
    script = tmp_path / "stopped.py"
    script.write_text(STOPPED)
    done = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "KeyboardInterrupt" in done.stderr
