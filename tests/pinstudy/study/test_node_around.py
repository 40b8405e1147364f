"""The conditions around the runs: in records, in a warning, while waiting."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from base import VERSION
from base.cpulist import parse_cpulist
from tests.support.cli import argv, pinstudy
from tests.support.studies import records, two_kinds, write_app, write_study
from tests.support.tools import need_tool

SHORT = {"short": {"arguments": "0.02", "estimate": "20 ms"}}


def nap(folder: Path, **keys: object) -> Path:
    """Write a study of short naps into a folder, and return the folder."""
    write_app(folder, "nap", "/bin/sleep", SHORT)
    study = {"mappings": ["unpinned", "pcores-pin", "ecores-pin"], "repetitions": 3}
    write_study(folder, "short", "nap", "short", **study | keys)
    return folder


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[None]:
    """A process with the name of a daemon that interferes."""
    program = tmp_path / "auto-cpufreq"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "60"]) as process:
        yield
        process.kill()


@pytest.mark.parametrize("batch", [False, True])
def test_the_priority_that_programs_inherit_is_recorded(tmp_path: Path, batch: bool) -> None:
    def be_nice() -> None:
        os.nice(3)
        if batch:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

    folder = nap(tmp_path, mappings=["unpinned"], repetitions=1)
    done = subprocess.run(
        argv("run", "short.yaml"),
        cwd=folder, preexec_fn=be_nice, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    nice = f"nice {min(19, os.getpriority(os.PRIO_PROCESS, 0) + 3)}"
    expected = f"SCHED_BATCH, {nice}" if batch else nice
    assert {run["priority"] for run in records(folder)} == {expected}
    assert ("start it without chrt(1)" in done.stderr) == batch
    assert f"programs ran with {expected}, inherited from pinstudy" in done.stdout


def test_every_record_has_counts_foreign_tasks_and_the_harness_cpus(
    tmp_path: Path,
) -> None:
    need_tool("perf")
    folder = nap(tmp_path)
    pinstudy(folder, "run", "short.yaml", *two_kinds(), status=0)
    runs = records(folder)
    for record in runs:
        for name in ("task_clock_s", "migrations", "context_switches", "cycles", "energy_pkg_j"):
            assert (name in record) != (name in record["unavailable"]), name
        assert record["versions"]["pinstudy"] == VERSION
        accounted_for = record.keys() | {name.partition(".")[0] for name in record["unavailable"]}
        assert accounted_for >= {
            "temperature_before_c",
            "temperature_after_c",
            "throttle",
            "load_1min",
            "foreign_cpu_s",
            "interrupts_s",
            "steal_s",
            "foreign_tasks",
            "harness",
        }
        assert "gate_reached" not in accounted_for
        assert record["harness"]["context_switches"] >= 1
        assert record.get("foreign_cpu_s", 0.0) >= 0.0
        assert len(record["foreign_tasks"]) <= 5
        own, used = (
            set(parse_cpulist(text)) for text in (record["harness"]["cpus"], record["cpus"])
        )
        if record["mapping"] == "unpinned":
            assert own == used
        else:
            assert own and own.isdisjoint(used)
    assert median(record["harness"]["cpu_s"] for record in runs) < 0.1
    # The nap has one thread that sleeps once; nothing of the harness may be counted.
    counted = [record["task_clock_s"] for record in runs if "task_clock_s" in record]
    assert all(clock_s > 0 for clock_s in counted)
    assert not counted or median(counted) < 0.02


@pytest.mark.usefixtures("daemon")
def test_a_daemon_that_interferes_is_warned_about_once_and_recorded(tmp_path: Path) -> None:
    folder = nap(tmp_path)
    done = pinstudy(folder, "run", "short.yaml")
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "auto-cpufreq" in warnings[0]
    assert "sudo systemctl stop" in warnings[0] and warnings[0].split()[-1] == "auto-cpufreq"
    assert done.stderr.index(warnings[0]) < done.stderr.index("[1/")
    assert all("auto-cpufreq" in r["daemons"] for r in records(folder) if r["status"] == "ok")


def test_a_gate_waits_or_says_why_it_cannot(tmp_path: Path) -> None:
    folder = nap(tmp_path, temperature_gate={"within": "40 K", "limit": "1 s"})
    pinstudy(folder, "run", "short.yaml", status=0)
    runs = [record for record in records(folder) if record["status"] == "ok"]
    assert runs
    for record in runs:
        if "gate_reached" in record["unavailable"]:
            assert "x86_pkg_temp" in record["unavailable"]["gate_reached"]
            assert "gate_wait_s" not in record
        else:
            assert 0 <= record["gate_wait_s"] < 2
            assert record["temperature_reference_c"] == runs[0]["temperature_reference_c"]


def test_a_wrong_gate_is_one_line_with_its_place(tmp_path: Path) -> None:
    folder = nap(tmp_path, temperature_gate={"within": 5, "limit": "1 s"})
    done = pinstudy(folder, "plan", "short.yaml", status=2)
    assert "short.yaml:7:28: '5' is not a difference of temperatures" in done.stderr
