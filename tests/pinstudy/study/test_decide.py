"""A study that goes on until its comparisons are decided, as a user meets it."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support import cli
from tests.support.held import WORK_UNTIL_LOOKED_AT, looks_counted
from tests.support.studies import records, write_app, write_program, write_study

# A rate that does not depend on how busy the node is: a quarter of it on a single CPU. All work is
# the shell's own, until it was looked at: a run that is not proved makes its case unusable.
PROGRAM = f"""\
#!/bin/sh
while read -r name value; do
  case $name$value in
    Cpus_allowed_list:*[-,]*) rate=400;;
    Cpus_allowed_list:*) rate=100;;
  esac
done </proc/self/status
echo >>runs
runs=0
while read -r _; do runs=$((runs + 1)); done <runs
echo "rate $rate.$((runs % 7))"
{WORK_UNTIL_LOOKED_AT.replace("LOOKS", "looks")}
"""
RATE = {"rate": {"pattern": r"rate ([\d.]+)", "unit": "Mzones/s", "better": "higher"}}
MAPPINGS = ["unpinned", "pcores-pin"]

Done = subprocess.CompletedProcess[str]


def made(folder: Path, status: int = 0, **decide: Any) -> tuple[Done, Counter[str]]:  # noqa: ANN401
    program = write_program(folder / "nap.sh", PROGRAM)
    sizes = {"short": {"arguments": "", "estimate": "0.3 s"}}
    write_app(folder, "nap", program, sizes, fixed_time=True, metrics=RATE)
    rule = {"decide": {"first": 4, "max": 40} | decide}
    write_study(folder, "naps", "nap", ["short"], mappings=MAPPINGS, repetitions=rule, warmup=0)
    done = run(folder, status=status)
    return done, Counter(record["mapping"] for record in records(folder))


def run(folder: Path, *options: str, status: int = 0) -> Done:
    with looks_counted(folder / "looks"):
        return cli.pinstudy(folder, "run", "naps.yaml", *options, status=status)


def test_it_ends_at_the_first_look_where_a_difference_is_plain(tmp_path: Path) -> None:
    done, counts = made(tmp_path)
    assert counts == dict.fromkeys(MAPPINGS, 4), done.stderr
    assert "after 4 repetitions: every comparison is decided" in done.stderr
    (results,) = tmp_path.glob("results/*/*")
    verdict = cli.pinstudy(tmp_path, "verdict", str(results), "--format", "markdown")
    assert "up to 5 interim analyses" in verdict.stdout
    before = records(tmp_path)
    run(tmp_path)
    assert records(tmp_path) == before
    run(tmp_path, "--repetitions", "6")
    assert Counter(record["mapping"] for record in records(tmp_path)) == dict.fromkeys(MAPPINGS, 6)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"first": 50}, "'50' is more than max, '40'"),
        ({"first": 2}, "first"),
        ({"time_budget": "soon"}, "'soon' is not a duration"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, line: dict[str, Any], problem: str) -> None:
    done, counts = made(tmp_path, status=2, **line)
    assert not counts
    assert problem in done.stderr
