"""`pinstudy advise` as a user meets it: a program, and a line to put in front of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinstudy.runners.records.reader import read_records
from tests.support.cli import argv, pinstudy, pinstudy_without
from tests.support.held import (
    WAIT_AT_GATE,
    WORK_UNTIL_LOOKED_AT,
    Gate,
    argv_counting_looks,
    looks_counted,
)
from tests.support.processes import ended, errors_of
from tests.support.studies import records, two_cpus, write_program
from tests.support.tools import ROOT, need_tool
from tests.support.trees import build_tree

# Fast on one CPU and slow on others, so that the answer is known; works all the time, because idle
# threads prove nothing, until there were enough looks.
PROGRAM = f"""\
#!/bin/sh
while read -r name cpus; do [ "$name" = Cpus_allowed_list: ] && break; done </proc/self/status
[ "$1" = broken ] && {{ echo 'no such mesh' >&2; exit 3; }}
takes=0.4
[ "$cpus" = "$2" ] && takes=0.15
# Equal values would have no spread to test by.
echo "takes: ${{takes}}00$$ s"
{WAIT_AT_GATE}{WORK_UNTIL_LOOKED_AT.replace("LOOKS", "looks")}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    write_program(tmp_path / "busy.sh", PROGRAM)
    with looks_counted(tmp_path / "looks"):
        yield tmp_path


def good_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the good runs of the number of threads that the program starts."""
    return [r for r in records(folder) if (r["status"], r["threads"]) == ("ok", 1)]


def test_the_best_launch_line_is_found_and_kept(folder: Path) -> None:
    cpus = two_cpus()
    fast = str(cpus[1])
    kinds = f"P={cpus[0]},E={fast}"
    metric = ("--metric", r"takes: (\S+)")
    arguments = ("--threads", "1", "--runs", "60", *metric, "--", "./busy.sh", "well", fast)
    done = pinstudy(folder, "advise", "--json", "--kinds", kinds, *arguments, status=0)
    advice = json.loads(done.stdout)
    assert advice["decision"] == "gain"
    assert advice["recommended"]["mapping"].startswith("ecores-")
    runs = records(folder)
    assert all(record["race_value"] > 0 for record in runs if record["status"] == "ok")
    ruled_out = [line for line in done.stderr.splitlines() if line.startswith("ruled out: ")]
    # The next one of the ranking, tried where a better one failed, was reported as well.
    assert sum(len(line.split("; ")) for line in ruled_out) >= len(advice["eliminated"])
    assert "governor" not in "".join(ruled_out)
    (study,) = folder.glob("results/advise-busy.sh-*/advise-busy.sh-*.yaml")
    assert "## Other launchers" in next(study.parent.glob("*/advice.md")).read_text()
    assert next(study.parent.glob("*/tables.md")).stat().st_size
    shown = pinstudy(folder, "advise", "--lines", "--why", "--kinds", kinds, *arguments, status=0)
    first, second, *rest = shown.stdout.splitlines()
    assert first == advice["command"]
    assert re.search(
        r"% lower metric than as you start it now \(95 %: [\d.]+ to [\d.]+ %\); ", second
    )
    assert "srun (--cpus-per-task" in shown.stdout
    assert re.search(r"Ruled out: metric against 1 thread, ecores-", shown.stdout)
    assert rest[-1].startswith("report: results/advise-busy.sh-")
    # The study's file has no race: its runs cannot be mixed with those of the search.
    plan = pinstudy(folder, "plan", str(study), "--kinds", kinds, status=2)
    assert "advise`, whose command continues them" in plan.stderr


def test_a_stopped_search_goes_on_where_it_was(folder: Path) -> None:
    # Without --threads the first run shows that it has one thread.
    arguments = ("--no-report", "--runs", "10", "--metric", r"takes: (\S+)", "./busy.sh")
    gate = Gate(folder / "busy.sh")
    gate.close(after=4)
    runner = subprocess.Popen(
        argv_counting_looks(folder / "looks", "advise", *arguments),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ended(runner):
        gate.wait_for_run(runner)
        runner.send_signal(signal.SIGINT)
        errors = errors_of(runner, 130)
    assert "the same command continues" in errors
    assert "Traceback" not in errors
    gate.open()
    done = pinstudy(folder, "advise", "--time-budget", "1 min", *arguments, status=0)
    good = good_runs(folder)
    # The search before, for two threads, may have had runs of one thread, too.
    keys = {(r["study_digest"], r["case_id"], r["warmup"], r["repetition"]) for r in good}
    assert len(keys) == len(good)
    assert {(record["attempt"], record["threads"]) for record in good} == {(1, 1), (2, 1)}
    assert "it starts 1 thread whatever it is told (" in done.stderr
    assert {round(record["race_value"], 2) for record in good} == {0.4}


def test_input_that_does_not_reach_the_program_is_told(folder: Path) -> None:
    def told(stdin: str) -> str:
        arguments = argv("advise", "--plan", "--", "./busy.sh")
        with Path(stdin).open() as stream:
            return subprocess.run(
                arguments, cwd=folder, stdin=stream, capture_output=True, text=True, check=True
            ).stderr

    assert "the program's stdin is empty in each run" in told(str(folder / "busy.sh"))
    assert told("/dev/null") == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json", "./busy.sh", "broken"), "exit status 3 (it said: no such mesh)"),
        (("--threads=1", "--metric", r"speed: (\d+)", "./busy.sh"), "mend --metric"),
        (("--threads=1", "--check", "never", "./busy.sh"), "mend --check"),
    ],
)
def test_a_program_that_does_not_work_ends_the_search_at_once(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = pinstudy(folder, "advise", *arguments, status=1)
    assert message in done.stderr.splitlines()[-1]
    if "--json" in arguments:
        assert json.loads(done.stdout)["decision"] == "no reference"
    assert len(records(folder)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--runs", "10", "./busy.sh"), "no advice: no pandas here; where numpy, pandas"),
        (("./busy.sh", "broken"), "exit status 3 (it said: no such mesh)"),
    ],
)
def test_json_that_cannot_be_made_is_a_failure(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    options = ("--json", "--threads", "1", "--metric", r"takes: (\S+)", *arguments)
    done = pinstudy_without("pandas", folder, "advise", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr.splitlines()[-1]
    assert records(folder)


def test_a_plan_runs_and_writes_nothing(folder: Path) -> None:
    root = build_tree(folder, "i9-14900k-noht")
    before = set(folder.iterdir())
    arguments = ("--plan", "--sysroot", str(root), "--threads", "8", "--", "./busy.sh")
    plan = pinstudy(folder, "advise", *arguments).stdout
    assert re.search(r"#1 +8 threads +unpinned +current +CPUs 0-23: the reference\n", plan)
    assert re.search(r"at most \d+ runs, .* of \d+ candidates, within", plan)
    data = json.loads(pinstudy(folder, "advise", "--json", *arguments).stdout)
    assert data["candidates"][0]["mapping"] == "unpinned"
    assert {"threads": 8, "cpus": "0-7"}.items() <= data["candidates"][1].items()
    assert set(folder.iterdir()) == before


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
# A parent that waits for four working processes, each in its own session.
PROCESSES = """\
#include "work.h"
int main(void) {
  for (int i = 0; i < 4; i++)
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


def build(folder: Path, source: str) -> None:
    (folder / "program.c").write_text(source)
    folders = f"-I{ROOT / 'tests/runners/execution/placed'}"
    command = [need_tool("gcc"), "-O1", "-fopenmp", folders, "-o", "program", "program.c"]
    subprocess.run(command, cwd=folder, check=True)


def search(
    folder: Path, source: str, *arguments: str, status: int = 0, **variables: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Search the best launch line of a program; return what was said, and its JSON if any."""
    build(folder, source)
    with looks_counted(folder / "looks") as looks:
        variables |= {"LOOKS": str(looks)}
        done = pinstudy(folder, "advise", *arguments, "./program", status=status, **variables)
    return done, json.loads(done.stdout) if "--json" in arguments and done.stdout else {}


RACE = ("--runs", "10", "--threads", "1,2", "--wait-policies", "none")


def test_a_thread_count_that_the_program_ignores_does_not_race(tmp_path: Path) -> None:
    two_cpus()
    done, _ = search(tmp_path, TWO_THREADS, *RACE, "--no-report", OMP_NUM_THREADS="5")
    # stdout is the answer alone, also after two searches of a command.
    command, *rest = done.stdout.splitlines()
    assert command.endswith(str(tmp_path / "program"))
    assert not [line for line in rest if line.startswith("What ")]
    assert re.search(r"why, and what was ruled out: --why +report: results/advise-", rest[-1])
    assert done.stderr.count("--plan shows what races") == 2
    ignored = "it starts 2 threads whatever it is told (5 here); write {threads}"
    assert done.stderr.count(ignored) == 1
    (answered,) = tmp_path.glob("results/*/*/advice.md")
    runs = list(read_records(answered.parent / "records"))
    assert {record["threads"] for record in runs} == {2}
    # The same command shows the same answer.
    _, advice = search(tmp_path, TWO_THREADS, *RACE, "--json", OMP_NUM_THREADS="5")
    assert advice["reference"]["threads"] == 2


def test_several_processes_are_refused_after_one_run_and_again(tmp_path: Path) -> None:
    two_cpus()
    for _ in range(2):
        done, _ = search(tmp_path, PROCESSES, "--json", "--threads", "1", status=1)
        assert re.search(
            r"program: \d+ of its processes are at work, and the threads of one are placed; "
            r"--helpers \d+ lets the others work beside it$",
            done.stderr.rstrip(),
        )
        assert len(records(tmp_path)) == 1
    helpers = ("--threads", "1", "--runs", "10", "--helpers", "4")
    _, advice = search(tmp_path, PROCESSES, "--json", *helpers)
    assert advice["reference"]["threads"] == 1
    assert advice["command"].endswith(str(tmp_path / "program"))


def test_a_run_too_short_to_be_proved_is_refused_with_what_helps(tmp_path: Path) -> None:
    done, advice = search(tmp_path, NOTHING, "--json", status=1)
    assert "where its threads ran could not be proved: " in done.stderr
    assert "give it a larger size: a run of 1 s or more can be proved" in done.stderr
    assert advice["decision"] == "no reference"
    runs = sorted(records(tmp_path), key=lambda run: run["started_at"])
    assert all(run["warmup"] for run in runs)
    # On a busy node its one thread may be seen at first: the search begins anew with one thread.
    assert [run["case_id"] for run in runs].count(runs[-1]["case_id"]) == 2
