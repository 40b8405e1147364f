"""`run --undecided` repeats what is undecided, and nothing else."""

from __future__ import annotations

import json
import random
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.findings.glance import Undecided
from analysis.results.sources import open_results
from pinstudy.undecided import Limits, more_runs
from runners.records.line import line_of
from runners.records.reader import read_records
from runners.study.machine import MoreRuns
from tests.support.cli import pinstudy
from tests.support.studies import write_app, write_study

MADE = 12
SPEEDS = {"unpinned": 1.0, "close": 1.012, "fast": 0.5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a study, of whose two comparisons one is decided."""
    write_app(tmp_path, "nothing", "/bin/true", {"only": {"arguments": []}})
    write(tmp_path, MADE)
    pinstudy(tmp_path, "run", "nothings.yaml", "--no-report", status=0)
    timed(tmp_path, SPEEDS)
    return tmp_path


def write(folder: Path, repetitions: object) -> None:
    # Sets of all CPUs are told apart by their variables.
    others = [
        {"name": name, "selection": "all", "binding": "set", "variables": {"NAME": name}}
        for name in ("close", "fast")
    ]
    mappings = ["unpinned", *others]
    study: dict[str, Any] = {"mappings": mappings, "repetitions": repetitions, "warmup": 0}
    write_study(folder, "nothings", "nothing", "only", **study)


def timed(folder: Path, speeds: dict[str, float], noise: float = 0.015) -> None:
    """Give the runs of the first shard times by mapping, and proofs of their placement."""
    (shard,) = folder.glob("results/nothings/*/records/*-0001.jsonl")
    chance = random.Random(2)
    lines = []
    # Whatever the order in which the runs were made.
    for record in sorted(read_records(shard.parent), key=itemgetter("repetition", "mapping")):
        if record["attempt"] == 1:
            elapsed_s = speeds[record["mapping"]] * chance.gauss(1.0, noise)
            proved = {"elapsed_s": elapsed_s, "placement": {"verdict": "proved"}}
            lines.append(line_of(record | proved))
    shard.write_bytes(b"".join(lines))


def records(folder: Path) -> list[dict[str, Any]]:
    (place,) = folder.glob("results/nothings/*/records")
    return list(read_records(place))


def counts(folder: Path) -> Counter[str]:
    return Counter(record["mapping"] for record in records(folder))


def test_undecided_cases_and_their_baseline_alone_are_repeated(folder: Path) -> None:
    before = records(folder)
    planned = json.loads(
        pinstudy(folder, "plan", "nothings.yaml", "--undecided", "--json", status=0).stdout
    )
    (table,) = planned["tables"]
    assert [row["mapping"] for row in table["rows"]] == ["unpinned", "close"]

    pinstudy(folder, "run", "nothings.yaml", "--undecided", status=0)

    after = records(folder)
    assert after[: len(before)] == before
    made = counts(folder)
    assert made["fast"] == MADE
    assert made["unpinned"] == made["close"] > MADE
    assert len(after) - len(before) == planned["runs_left"] == 2 * (made["close"] - MADE)
    new = after[len(before) :]
    assert {run["repetition_rule"]["undecided"]["look"] for run in new} == {2}
    assert min(run["repetition"] for run in new) == MADE + 1
    (place,) = folder.glob("results/nothings/*")
    assert analyze(open_results(str(place))).look.number == 2


def test_where_nothing_is_undecided_nothing_runs_and_it_says_so(folder: Path) -> None:
    timed(folder, {"unpinned": 1.0, "close": 0.8, "fast": 0.5})
    before = records(folder)
    for command in ("run", "plan"):
        done = pinstudy(folder, command, "nothings.yaml", "--undecided", status=0)
        assert done.stdout == "nothing is undecided: 2 comparisons decided\n"
    assert records(folder) == before


def test_a_limit_of_repetitions_is_kept(folder: Path) -> None:
    options = ("run", "nothings.yaml", "--undecided", "--repetitions")
    done = pinstudy(folder, *options, str(MADE), status=0)
    assert (
        done.stdout
        == "1 of 2 comparisons undecided: the limit of repetitions or of time is reached\n"
    )
    assert counts(folder) == dict.fromkeys(SPEEDS, MADE)
    pinstudy(folder, *options, str(MADE + 2), status=0)
    assert counts(folder) == {"unpinned": MADE + 2, "close": MADE + 2, "fast": MADE}


def test_a_study_that_decides_makes_no_more_of_what_was_decided(folder: Path) -> None:
    rule = {"decide": {"first": 3, "max": MADE + 2}}
    write(folder, rule)
    pinstudy(folder, "run", "nothings.yaml", "--undecided", status=0)
    made = counts(folder)
    assert made == {"unpinned": MADE + 2, "close": MADE + 2, "fast": MADE}
    pinstudy(folder, "run", "nothings.yaml", status=0)
    assert counts(folder) == made


@pytest.mark.parametrize(
    ("rule", "options", "problem"),
    [
        (MADE, ("--fresh",), "--undecided: continues results, and --fresh would begin others"),
        (MADE, ("--results", "elsewhere"), "no results here"),
    ],
)
def test_what_cannot_be_repeated_is_one_line(
    folder: Path, rule: object, options: tuple[str, ...], problem: str
) -> None:
    write(folder, rule)
    done = pinstudy(folder, "run", "nothings.yaml", "--undecided", *options, status=2)
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


FOUND = Undecided(4, 2, 0, 1, {"base": 30, "a": 30, "b": 8}, look=3)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), {"base": 30, "a": 30, "b": 8}),
        (Limits(repetitions=20), {"base": 10, "a": 10, "b": 8}),
        (Limits(repetitions=10), {}),
        # A second a run: half of the time is there.
        (Limits(time_budget_s=34.0), {"base": 15, "a": 15, "b": 4}),
        (Limits(time_budget_s=1.0), {}),
        (Limits(time_budget_s=100.0), {"base": 30, "a": 30, "b": 8}),
    ],
)
def test_more_runs_are_within_repetitions_and_time(
    limits: Limits, expected: dict[str, int]
) -> None:
    def seconds_of(more: MoreRuns) -> float:
        return float(sum(more.of_case.values()))

    assert more_runs(FOUND, 10, limits, seconds_of) == MoreRuns(expected, look=3)
