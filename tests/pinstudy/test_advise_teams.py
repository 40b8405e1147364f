"""`pinstudy advise` for programs that do not start the threads that OMP_NUM_THREADS names."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runners.records.reader import read_records
from tests.pinstudy.test_advise import cpus
from tests.support.cli import pinstudy
from tests.support.held import looks_counted
from tests.support.studies import records
from tests.support.tools import ROOT, need_tool

__all__ = ["cpus"]

# Works with two threads whatever OMP_NUM_THREADS is, until it was looked at eight times.
TWO_THREADS = """\
#include <omp.h>
#include "work.h"
int main(void) {
  const long enough = looks_so_far() + 8;
#pragma omp parallel num_threads(2)
  work_until(0.1, enough);
}
"""
# A parent that waits for twelve working processes, each in its own session.
PROCESSES = """\
#include "work.h"
int main(void) {
  for (int i = 0; i < 12; i++)
    if (!fork()) {
      setsid();
      for (int k = 0; k < 4; k++) work(0.02);
      _exit(0);
    }
  while (wait(0) > 0) {}
}
"""
# Ends before its threads can be sampled.
NOTHING = """\
#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }
"""
RACE = ("--runs", "10", "--threads", "1,2", "--wait-policies", "none")


def build(folder: Path, source: str) -> None:
    (folder / "program.c").write_text(source)
    folders = f"-I{ROOT / 'tests/runners/execution/placed'}"
    command = [need_tool("gcc"), "-O1", "-fopenmp", folders, "-o", "program", "program.c"]
    subprocess.run(command, cwd=folder, check=True)


def search(
    folder: Path, *arguments: str, status: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Search the best launch line of the program; count the looks at it."""
    with looks_counted(folder / "looks") as looks:
        variables |= {"LOOKS": str(looks)}
        return pinstudy(folder, "advise", *arguments, "./program", status=status, **variables)


def advise(
    folder: Path, *arguments: str, status: int = 0, **variables: str
) -> tuple[str, dict[str, Any]]:
    """Return a search's stderr and its advice, which is empty if there is none."""
    done = search(folder, "--json", *arguments, status=status, **variables)
    assert "Traceback" not in done.stderr
    return done.stderr, json.loads(done.stdout) if done.stdout else {}


@pytest.mark.usefixtures("cpus")
def test_stdout_is_the_answer_alone_also_after_two_searches_of_a_command(tmp_path: Path) -> None:
    build(tmp_path, TWO_THREADS)
    done = search(tmp_path, *RACE, "--no-report", OMP_NUM_THREADS="5")
    command, *others = done.stdout.splitlines()
    assert command.endswith(str(tmp_path / "program"))
    assert not [line for line in others if line.startswith("What ")]
    assert re.search(r"why, and what was ruled out: --why +report: results/advise-", others[-1])
    assert done.stderr.count("--plan shows what races") == 2


@pytest.mark.usefixtures("cpus")
def test_a_thread_count_that_the_program_ignores_does_not_race(tmp_path: Path) -> None:
    build(tmp_path, TWO_THREADS)
    err, advice = advise(tmp_path, *RACE, OMP_NUM_THREADS="5")
    ignored = "it starts 2 threads whatever it is told (5 here); write {threads}"
    assert err.count(ignored) == 1
    assert advice["reference"]["threads"] == 2
    (answered,) = tmp_path.glob("results/*/*/advice.md")
    runs = list(read_records(answered.parent / "records"))
    assert {record["threads"] for record in runs} == {2}


@pytest.mark.usefixtures("cpus")
def test_several_processes_are_refused_after_one_run_and_again(tmp_path: Path) -> None:
    build(tmp_path, PROCESSES)
    for _ in range(2):
        err, _ = advise(tmp_path, "--threads", "1", status=1)
        assert re.search(
            r"program: \d+ of its processes are at work, and the threads of one are placed; "
            r"--helpers \d+ lets the others work beside it$",
            err.rstrip(),
        )
        assert len(records(tmp_path)) == 1


@pytest.mark.usefixtures("cpus")
def test_helpers_that_are_said_may_work(tmp_path: Path) -> None:
    build(tmp_path, PROCESSES)
    _, advice = advise(tmp_path, "--threads", "1", "--runs", "10", "--helpers", "12")
    assert advice["reference"]["threads"] == 1
    assert advice["command"].endswith(str(tmp_path / "program"))


def test_a_run_too_short_to_be_proved_is_refused_with_what_helps(tmp_path: Path) -> None:
    build(tmp_path, NOTHING)
    err, advice = advise(tmp_path, status=1)
    assert "where its threads ran could not be proved: " in err
    assert "give it a larger size: a run of 1 s or more can be proved" in err
    assert advice["decision"] == "no reference"
    runs = sorted(records(tmp_path), key=lambda run: run["started_at"])
    assert all(run["warmup"] for run in runs)
    # On a busy node its one thread may be seen at first: the search begins anew with one thread.
    assert [run["case_id"] for run in runs].count(runs[-1]["case_id"]) == 2
