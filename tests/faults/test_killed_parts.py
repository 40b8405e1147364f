"""A study goes on when its program, witness, launcher or perf is killed at a random moment.

A test cannot know which part it killed: a process may have just ended, or become another program.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from runners.records.reader import read_records
from tests.faults.trial import Trial
from tests.support.processes import descendants, name_of
from tests.support.tools import need_tool

RUNS = 150
# As the kernel has them, cut to 15 characters; the program is a script that becomes a sleep.
PARTS = ("taskset", "pinstudy-witnes", "perf", "nap", "sleep")
REASONS = (
    r"ended by SIGKILL",
    r"\S*(taskset|pinstudy-witness) was ended by SIGKILL: no message",
    r"\S*(taskset|pinstudy-witness) ended with status \d+: no message",
    # taskset or the witness itself had no time to start the program.
    r"could not be started: .*",
)


def strike(runner: subprocess.Popen[str], chance: random.Random) -> None:
    """Kill one of the runner's current processes, or its process group."""
    # Not a command that it runs between runs: if one fails twice, the study ends in a line.
    victims = [pid for pid in descendants(runner.pid) if name_of(pid) in PARTS]
    if victims:
        victim = chance.choice(victims)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if chance.random() < 0.2 and os.getpgid(victim) == victim:
                os.killpg(victim, signal.SIGKILL)
            else:
                os.kill(victim, signal.SIGKILL)


@pytest.mark.faults
def test_a_killed_part_is_recorded_and_no_number_is_wrong(tmp_path: Path) -> None:
    need_tool("perf")
    trial = Trial(tmp_path, RUNS, nap_s=0.15)
    study = tmp_path / "trial.yaml"
    study.write_text(study.read_text().replace("[unpinned]", "[pcores-pin]"))
    chance = random.Random(11)
    runner = trial.start("run", "trial.yaml", "--kinds", f"P={min(os.sched_getaffinity(0))}")
    trial.wait_for_start_after(0)
    while runner.poll() is None:
        time.sleep(chance.uniform(0, 0.4))
        if trial.starts() < RUNS:
            strike(runner, chance)
    status, err = trial.wait_for(runner)
    assert status == 0, err
    assert "Traceback" not in err
    trial.assert_no_process_left()
    runs = [r for r in read_records(trial.records_folder) if r["status"] != "skipped"]
    assert len({(r["warmup"], r["repetition"]) for r in runs}) == len(runs) == trial.runs
    statuses = Counter(record["status"] for record in runs)
    assert set(statuses) <= {"ok", "failed", "placement-violated"}
    assert statuses["ok"] > RUNS // 10
    assert statuses["failed"] > RUNS // 10
    hit = 0
    for record in runs:
        if record["status"] == "failed":
            reason = record["reason"]
            assert any(re.fullmatch(pattern, reason) for pattern in REASONS), reason
        if record["status"] == "ok":
            assert record["elapsed_s"] >= 0.15
            why = record["unavailable"].get("context_switches")
            assert (why is None) is ("context_switches" in record)
            if why:
                hit += 1
                assert re.search(r"perf (was ended by SIGKILL|could not attach)", why), why
                assert "task_clock_s" not in record
                assert "migrations" not in record
            else:
                assert 0 < record["task_clock_s"] < record["elapsed_s"]
                assert record["context_switches"] >= 1
    assert hit, "perf was never hit"
