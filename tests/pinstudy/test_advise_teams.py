"""`pinstudy advise` for programs that start something else than they are told."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runners.records.reader import read_records
from tests.pinstudy.test_advise import cpus, records
from tests.support.cli import pinstudy
from tests.support.held import looks_counted
from tests.support.tools import ROOT, need_tool

__all__ = ["cpus"]

# Works with two threads, whatever it is told, and until it was looked at eight times.
TWO_THREADS = """\
#include <omp.h>
#include "work.h"
int main(void) {
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 4; i++) work(0.05);
}
"""
# Processes at work at the same time, each in a session of its own, beside one that waits for them.
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
# Ends before anybody can see what it starts.
NOTHING = """\
#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }
"""


def build(folder: Path, source: str) -> None:
    (folder / "program.c").write_text(source)
    folders = f"-I{ROOT / 'tests/runners/execution/placed'}"
    command = [need_tool("gcc"), "-O1", "-fopenmp", folders, "-o", "program", "program.c"]
    subprocess.run(command, cwd=folder, check=True)


def searched(folder: Path, *asked: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Search the best launch line of the program that was built; its looks are counted."""
    with looks_counted(folder / "looks") as looks:
        variables |= {"LOOKS": str(looks)}
        return pinstudy(folder, "advise", *asked, "./program", **variables)


def told(
    folder: Path, *asked: str, status: int = 0, **variables: str
) -> tuple[str, dict[str, Any]]:
    """Return what a search said on stderr, and its advice; none where it ended without."""
    done = searched(folder, "--json", *asked, **variables)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr, json.loads(done.stdout) if done.stdout else {}


@pytest.mark.usefixtures("cpus")
@pytest.mark.parametrize("count", ["5", "1"])
def test_a_thread_count_that_is_told_in_vain_does_not_race(tmp_path: Path, count: str) -> None:
    build(tmp_path, TWO_THREADS)
    said, advice = told(tmp_path, "--runs", "10", "--threads", "1,2", OMP_NUM_THREADS=count)
    in_vain = f"it starts 2 threads whatever OMP_NUM_THREADS says ({count} here); write {{threads}}"
    assert said.count(in_vain) == 1
    assert advice["reference"]["threads"] == 2
    (answered,) = tmp_path.glob("results/*/*/advice.md")
    kept = list(read_records(answered.parent / "records"))
    assert {record["threads"] for record in kept} == {2}


@pytest.mark.usefixtures("cpus")
def test_threads_that_are_the_same_whatever_was_told_race_once(tmp_path: Path) -> None:
    build(tmp_path, TWO_THREADS)
    asked = ("--runs", "10", "--threads", "1,2")
    _, advice = told(tmp_path, *asked, OMP_NUM_THREADS="2")
    same = [out for out in advice["eliminated"] if out["why"] == "same threads"]
    assert {out["threads"] for out in same} == {1}
    shown = searched(tmp_path, *asked, OMP_NUM_THREADS="2").stdout
    in_vain = "It starts 2 threads whatever OMP_NUM_THREADS says; write {threads} where it takes"
    assert " ".join(shown.split()).count(in_vain) == 1


@pytest.mark.usefixtures("cpus")
def test_several_processes_are_refused_after_one_run_and_again(tmp_path: Path) -> None:
    build(tmp_path, PROCESSES)
    for _ in range(2):
        said, _ = told(tmp_path, "--threads", "1", status=1)
        assert "program has several processes at work at a time (" in said
        assert len(records(tmp_path)) == 1


def test_a_run_too_short_to_be_proved_is_refused_with_what_helps(tmp_path: Path) -> None:
    build(tmp_path, NOTHING)
    said, advice = told(tmp_path, status=1)
    assert "where its threads ran could not be proved: " in said
    assert "give it a larger size: a run of 1 s or more can be proved" in said
    assert advice["decision"] == "no reference"
    assert [record["warmup"] for record in records(tmp_path)] == [True, True]
