"""A study that repeats until a precision is reached, as a user meets it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import started
from tests.support.held import WAIT_AT_GATE, Gate
from tests.support.studies import records, write_app, write_program, write_study

# Every other run of the size `wild` takes 40 times as long as the one before.
PROGRAM = f"""\
#!/bin/sh
{WAIT_AT_GATE}case $1 in
  steady) exec sleep 0.8;;
  bad) exit 1;;
esac
runs=$(cat "$0.runs" 2>/dev/null || echo 0)
echo $((runs + 1)) > "$0.runs"
[ $((runs % 2)) = 0 ] && exec sleep 0.8
exec sleep 0.02
"""
SIZES = {
    "steady": {"arguments": "steady", "estimate": "0.8 s"},
    "wild": {"arguments": "wild", "estimate": "0.4 s"},
    "bad": {"arguments": "bad", "estimate": "1 ms"},
}
# Three naps of 0.8 s reach 40 % also on a busy node; naps that vary by a factor of 40 do not.
UNTIL = {"min": 3, "max": 7, "until": {"ci_half_width": "40%"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = write_program(tmp_path / "nap.sh", PROGRAM)
    write_app(tmp_path, "nap", program, SIZES)
    write_study(tmp_path, "naps", "nap", list(SIZES), repetitions=UNTIL, warmup=1)
    return tmp_path


def pinstudy(folder: Path, *arguments: str) -> str:
    return cli.pinstudy(folder, *arguments, status=0).stdout


def repetitions(folder: Path) -> Counter[str]:
    return Counter(record["size"] for record in records(folder) if not record["warmup"])


def test_a_killed_study_ends_each_case_where_it_is_precise_and_every_record_says_how_precise(
    folder: Path,
) -> None:
    assert "12 to 24 runs; expected time:" in pinstudy(folder, "plan", "naps.yaml")
    gate = Gate(folder / "nap.sh")
    # After the block at which the steady case ends, and within a later one.
    runs = 3 + 3 * 3 + 1
    gate.close(after=runs)
    with started(folder, "run", "naps.yaml") as runner:
        gate.wait_for_run(runner)
    gate.open()
    assert len(records(folder)) == runs
    cut = repetitions(folder)
    out = pinstudy(folder, "run", "naps.yaml")
    assert sum(cut.values()) < sum(repetitions(folder).values())
    assert repetitions(folder) == {"steady": 3, "wild": 7, "bad": 7}
    assert "1 of 3 cases reached ±40 % of the mean time (95 % confidence), after 3" in out
    assert "precision not reached after 7: nap-plain wild x1 unpinned current: time ±" in out
    assert "precision not reached after 7: nap-plain bad x1 unpinned current: 0 good runs" in out
    assert {record["attempt"] for record in records(folder)} == {1, 2}
    before = records(folder)
    pinstudy(folder, "run", "naps.yaml")
    assert records(folder) == before
    for record in records(folder):
        assert record["repetition_rule"] == {
            "min": 3,
            "max": 7,
            "ci_half_width": 0.4,
            "of": ["time"],
        }
        has_interval = not record["warmup"] and record["repetition"] > 1 and record["size"] != "bad"
        assert ("ci_half_width" in record) is has_interval
    last = {r["size"]: r["ci_half_width"]["time"] for r in records(folder) if "ci_half_width" in r}
    assert last["steady"] <= 0.4 < last["wild"]
