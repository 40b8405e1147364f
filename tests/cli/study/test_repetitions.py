"""How often cases are repeated: more repetitions, until comparisons are decided, `--undecided`."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from collections import Counter
from operator import itemgetter
from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.findings.glance import Undecided
from pinstudy.analysis.results.sources import open_results
from pinstudy.cli.undecided import Limits, more_runs
from pinstudy.runners.records.line import line_of
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.study.machine import MoreRuns
from tests.support.cli import pinstudy
from tests.support.held import RATE, RATE_PROGRAM, looks_counted
from tests.support.studies import records, write_app, write_program, write_study

DECIDE = {"first": 4, "max": 40}
MADE = 12
SPEEDS = {"unpinned": 1.0, "close": 1.012, "fast": 0.5}


def write(folder: Path, repetitions: object, **keys: object) -> None:
    # Sets of all CPUs are told apart by their variables.
    sets = [
        {"name": name, "selection": "all", "binding": "set", "variables": {"NAME": name}}
        for name in ("close", "fast")
    ]
    write_app(folder, "nothing", "/bin/true", {"one": {"arguments": []}, "two": {"arguments": "x"}})
    study = {"mappings": ["unpinned", *sets], "repetitions": repetitions, **keys}
    write_study(folder, "nothings", "nothing", ["one"], **study)


def counts(folder: Path) -> Counter[str]:
    """Return how many repetitions of each mapping were made."""
    return Counter(run["mapping"] for run in records(folder) if not run["warmup"])


def timed(shard: Path, speeds: dict[str, float], noise: float = 0.015) -> None:
    """Give the runs of a shard times by mapping, and proofs of their placement."""
    chance = random.Random(2)
    lines = []
    # Whatever the order in which the runs were made.
    for run in sorted(read_records(shard.parent), key=itemgetter("repetition", "mapping")):
        if run["attempt"] == 1:
            elapsed_s = speeds[run["mapping"]] * chance.gauss(1.0, noise)
            # The program is too short for a proof of its placement.
            proved = {"elapsed_s": elapsed_s, "placement": {"verdict": "proved"}}
            lines.append(line_of(run | proved))
    shard.write_bytes(b"".join(lines))


def shard_of(folder: Path, results: str = "results") -> Path:
    (shard,) = folder.glob(f"{results}/nothings/*/records/*-0001.jsonl")
    return shard


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the first of these tests makes, while it is alone on the node."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Return a folder with a study, of whose two comparisons one is decided."""
    if not (made / "results").exists():
        write(made, MADE)
        pinstudy(made, "run", "nothings.yaml", status=0)
        timed(shard_of(made), SPEEDS)
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


def test_more_repetitions_continue_a_study_and_fewer_take_none_away(tmp_path: Path) -> None:
    write(tmp_path, 1, warmup=1)
    pinstudy(tmp_path, "run", "nothings.yaml", status=0)
    write(tmp_path, 2, warmup=1)
    pinstudy(tmp_path, "run", "nothings.yaml", status=0)
    assert counts(tmp_path) == dict.fromkeys(SPEEDS, 2)
    done = pinstudy(tmp_path, "run", "nothings.yaml", "--repetitions", "3", status=0)
    assert "12 runs, 9 of them done already" in done.stdout
    (copy,) = tmp_path.glob("results/nothings/*/study.yaml")
    study = (tmp_path / "nothings.yaml").read_text()
    assert copy.read_text() == f"# Run with --repetitions 3.\n{study}"
    pinstudy(tmp_path, "report", str(copy.parent), status=0)
    html = copy.with_name("report.html").read_text()
    assert "bin/pinstudy run nothings.yaml --repetitions 3" in html
    pinstudy(tmp_path, "run", "nothings.yaml", "--repetitions", "1", status=0)
    assert counts(tmp_path) == dict.fromkeys(SPEEDS, 3)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--results", "a b"], ["--undecided", "--results", "a b"]),
        (["--only", "unpinned,close"], ["--only", "unpinned,close", "--undecided"]),
    ],
)
def test_the_command_that_ends_a_verdict_continues_the_study(
    tmp_path: Path, options: list[str], kept: list[str]
) -> None:
    write(tmp_path, MADE)
    pinstudy(tmp_path, "run", "nothings.yaml", *options, status=0)
    shard = shard_of(tmp_path, "a b" if "a b" in options else "results")
    timed(shard, SPEEDS)

    verdict = pinstudy(tmp_path, "verdict", str(shard.parents[1])).stdout
    *_, before, command = verdict.rstrip().splitlines()

    assert before == "To decide what is undecided, continue the study:"
    words = shlex.split(command)
    assert words == ["pinstudy", "run", "nothings.yaml", *kept]
    pinstudy(tmp_path, *words[1:], status=0)
    made = Counter(run["mapping"] for run in read_records(shard.parent))
    assert made["unpinned"] == made["close"]
    assert MADE < made["close"] < 100


def test_a_study_ends_at_the_first_look_where_a_difference_is_plain(tmp_path: Path) -> None:
    program = write_program(tmp_path / "nap.sh", RATE_PROGRAM)
    sizes = {"short": {"arguments": "", "estimate": "0.3 s"}}
    write_app(tmp_path, "nap", program, sizes, fixed_time=True, metrics=RATE)
    keys = {"mappings": ["unpinned", "pcores-pin"], "repetitions": {"decide": DECIDE}}
    write_study(tmp_path, "naps", "nap", ["short"], **keys)
    with looks_counted(tmp_path / "looks"):
        done = pinstudy(tmp_path, "run", "naps.yaml", status=0)
        assert counts(tmp_path) == {"unpinned": 4, "pcores-pin": 4}, done.stderr
        assert "after 4 repetitions: every comparison is decided" in done.stderr
        verdict = pinstudy(tmp_path, "verdict", "results/naps", "--format", "markdown")
        assert "up to 5 interim analyses" in verdict.stdout
        before = records(tmp_path)
        pinstudy(tmp_path, "run", "naps.yaml", status=0)
        assert records(tmp_path) == before
        pinstudy(tmp_path, "run", "naps.yaml", "--repetitions", "6", status=0)
    assert counts(tmp_path) == {"unpinned": 6, "pcores-pin": 6}


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
    timed(shard_of(folder), SPEEDS | {"close": 0.8})
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
