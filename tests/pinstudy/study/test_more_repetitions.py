"""The number of repetitions does not identify a study: more of them continue it."""

from __future__ import annotations

import random
import shlex
from collections import Counter
from operator import itemgetter
from pathlib import Path

import pytest

from runners.records.line import line_of
from runners.records.reader import read_records
from tests.support.cli import pinstudy
from tests.support.studies import write_app, write_study


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_app(tmp_path, "nothing", "/bin/true", {"only": {"arguments": []}})
    write_nothings(tmp_path, 3)
    return tmp_path


def write_nothings(folder: Path, repetitions: object, **keys: object) -> None:
    mappings = ["unpinned", {"name": "other", "selection": "all", "binding": "set"}]
    study = {"mappings": mappings, "repetitions": repetitions, "warmup": 1, **keys}
    write_study(folder, "nothings", "nothing", "only", **study)


def runs_by_mapping(folder: Path) -> Counter[str]:
    """Return how many repetitions of each mapping were made."""
    (records,) = folder.glob("results/nothings/*/records")
    return Counter(r["mapping"] for r in read_records(records) if not r["warmup"])


def test_more_repetitions_in_the_file_continue_the_study(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", status=0)
    write_nothings(folder, 5)
    pinstudy(folder, "run", "nothings.yaml", status=0)
    assert runs_by_mapping(folder) == {"unpinned": 5, "other": 5}


def test_more_repetitions_on_the_command_line_continue_the_study(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", status=0)
    done = pinstudy(folder, "run", "nothings.yaml", "--repetitions", "5", status=0)
    assert "12 runs, 8 of them done already" in done.stdout
    assert runs_by_mapping(folder) == {"unpinned": 5, "other": 5}
    (copy,) = folder.glob("results/nothings/*/study.yaml")
    study = (folder / "nothings.yaml").read_text()
    assert copy.read_text() == f"# Run with --repetitions 5.\n{study}"
    pinstudy(folder, "report", str(copy.parent), status=0)
    html = copy.with_name("report.html").read_text()
    assert "bin/pinstudy run nothings.yaml --repetitions 5" in html


def test_fewer_repetitions_than_were_made_take_none_away(folder: Path) -> None:
    pinstudy(folder, "run", "nothings.yaml", status=0)
    pinstudy(folder, "run", "nothings.yaml", "--repetitions", "2", status=0)
    assert runs_by_mapping(folder) == {"unpinned": 3, "other": 3}


@pytest.mark.parametrize(
    ("repetitions", "option", "message"),
    [
        (3, "0", "--repetitions 0: expected a number from 1 to 10000"),
        (3, "10001", "--repetitions 10001: expected a number from 1 to 10000"),
        (3, "many", "'many' is not a valid integer"),
    ],
)
def test_a_number_of_repetitions_that_cannot_be_is_a_mistake(
    folder: Path, repetitions: object, option: str, message: str
) -> None:
    write_nothings(folder, repetitions)
    done = pinstudy(folder, "run", "nothings.yaml", "--repetitions", option, status=2)
    assert message in done.stderr
    assert not (folder / "results").exists()


def noisy(shard: Path) -> None:
    """Give the runs of a shard times that differ too little for a verdict."""
    chance = random.Random(2)
    lines = []
    # Whatever the order in which the runs were made.
    for record in sorted(read_records(shard.parent), key=itemgetter("repetition", "mapping")):
        slower = 1.02 if record["mapping"] == "other" else 1.0
        # The program is too short for a proof of its placement.
        elapsed_s = slower * chance.gauss(1.0, 0.015)
        proved = {"elapsed_s": elapsed_s, "placement": {"verdict": "proved"}}
        lines.append(line_of(record | proved))
    shard.write_bytes(b"".join(lines))


def test_the_command_that_ends_a_verdict_continues_the_study(folder: Path) -> None:
    write_nothings(folder, 12)
    pinstudy(folder, "run", "nothings.yaml", "--results", "a b", status=0)
    (shard,) = folder.glob("a b/nothings/*/records/*.jsonl")
    noisy(shard)

    verdict = pinstudy(folder, "verdict", str(shard.parents[1])).stdout
    *_, before, command = verdict.rstrip().splitlines()

    assert before == "To decide what is undecided, continue the study:"
    words = shlex.split(command)
    assert words == ["pinstudy", "run", "nothings.yaml", "--undecided", "--results", "a b"]
    pinstudy(folder, *words[1:], status=0)
    counts = Counter(r["mapping"] for r in read_records(shard.parent) if not r["warmup"])
    assert counts["unpinned"] == counts["other"]
    assert 12 < counts["other"] < 100
