"""Made records have the fields of a real study's, with their types, and what holds between them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from pinstudy.analysis.records.frame import unix_seconds
from pinstudy.runners.records.line import line_of
from pinstudy.runners.records.record import names_by_group
from tests.support.cli import pinstudy
from tests.support.results import Record, Study, left_out, made_again, write
from tests.support.studies import two_kinds, write_app, write_study

# What a record says of its run before it began, without what makers leave to single tests.
_GROUPS = names_by_group()
SAID = {*_GROUPS["identity"], *_GROUPS["case"]} - {
    *("seed", "study_file", "program_digest", "environment_digest", "priority", "program_uid"),
    *("kinds_declared", "mechanism", "no_schedule"),
}
# Three repetitions; two more of what is undecided; then a sixth of all.
LOOK = {"undecided": {"look": 2}}


def lines(folder: Path) -> list[list[Record]]:
    """Return the records of each attempt as they were written."""
    shards = sorted(folder.glob("records/*.jsonl"))
    return [[json.loads(line) for line in shard.read_bytes().splitlines()] for shard in shards]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[list[Record]]:
    folder = tmp_path_factory.mktemp("real")
    write_app(folder, "nothing", "/bin/true", {"one": {"arguments": []}})
    mappings = ["unpinned", "pcores-pin", "lpecores-pin"]
    write_study(folder, "study", "nothing", "one", mappings=mappings, repetitions=3)
    command = ("run", "study.yaml", *two_kinds(), "--no-report")
    pinstudy(folder, *command, status=0)
    # The program is too short for a proof, and its times would leave to chance what is undecided.
    (results,) = folder.glob("results/study/*")
    (shard,) = results.glob("records/*.jsonl")
    (runs,) = lines(results)
    for run in runs:
        del run["crc32"]
        if "warmup" in run:
            place = run["repetition"] + (run["mapping"] == "unpinned")
            run |= {"elapsed_s": 1 + place % 3 / 10, "placement": {"verdict": "proved"}}
    shard.write_bytes(b"".join(map(line_of, runs)))
    pinstudy(folder, *command, "--undecided", "--repetitions", "5", status=0)
    pinstudy(folder, *command, "--repetitions", "6", status=0)
    return lines(results)


@pytest.fixture
def made(tmp_path: Path) -> list[list[Record]]:
    runs = Study({"unpinned": 1.0, "pcores-pin": 0.9}, repetitions=6).records()
    first, again, last = (
        [run for run in runs if run["repetition"] in repetitions]
        for repetitions in ((1, 2, 3), (4, 5), (6,))
    )
    write(tmp_path, [left_out(3, "the node has no LP-E-cores"), *first])
    write(tmp_path, made_again(again, 2, repetition_rule=LOOK), 2)
    write(tmp_path, [run | {"attempt": 3} for run in last], 3)
    return lines(tmp_path)


def types(shards: Iterable[list[Record]], *, skipped: bool) -> dict[str, set[str]]:
    """Return the types of each field's values, of cases that were left out or of measured runs."""
    found: dict[str, set[str]] = {}
    for run in (run for shard in shards for run in shard):
        if skipped is (run["status"] == "skipped") and not run.get("warmup"):
            for name, value in run.items():
                found.setdefault(name, set()).add(type(value).__name__)
    return found


@pytest.mark.parametrize("skipped", [False, True], ids=["runs", "left out"])
def test_made_records_have_the_fields_and_types_of_real_ones(
    real: list[list[Record]], made: list[list[Record]], skipped: bool
) -> None:
    true, ours = types(real, skipped=skipped), types(made, skipped=skipped)
    # Of a case that is left out, orders say nothing.
    said = SAID - ({"order"} if skipped else set())
    assert said & ours.keys() == said & true.keys()
    both = ours.keys() & true.keys()
    assert {name: ours[name] for name in both} == {name: true[name] for name in both}


@pytest.mark.parametrize("whose", ["real", "made"])
def test_attempts_orders_blocks_names_and_times_of_records_belong_together(
    whose: str, request: pytest.FixtureRequest
) -> None:
    shards: list[list[Record]] = request.getfixturevalue(whose)
    everyone = [run for shard in shards for run in shard if run["status"] != "skipped"]
    assert [{run["attempt"] for run in shard} for shard in shards] == [{1}, {2}, {3}]
    for run in everyone:
        assert run["run_id"].startswith(f"{run['case_id']}-")
        assert run["block"] == (0 if run["warmup"] else run["repetition"])
    # Orders go on where all cases are run more often, and count anew where some are repeated.
    (first, again, last) = [[run for run in everyone if run["attempt"] == at] for at in (1, 2, 3)]
    for runs in (first + last, again):
        assert all(a["order"] < b["order"] for a, b in pairwise(runs))
    assert again[0]["order"] < first[-1]["order"]
    assert [run.get("repetition_rule") for run in everyone] == [
        LOOK if run["attempt"] == 2 else None for run in everyone
    ]
    times = [unix_seconds(run["started_at"]) for run in everyone]
    assert times == sorted(times)
    keys = {(run["case_id"], run["warmup"], run["repetition"]) for run in everyone}
    assert len(keys) == len({run["run_id"] for run in everyone}) == len(everyone)
    rows = {(run["case_id"], run["table_number"], run["case_number"]) for run in everyone}
    (left,) = (run for shard in shards for run in shard if run["status"] == "skipped")
    assert len(rows) == 2 and left["case_id"] not in {case for case, *_ in rows}
    for name in ("no_schedule", "fixed_time", "algorithm"):
        assert left.get(name) == everyone[0].get(name)
    assert left["cpus"] == "" and not left.keys() & {"repetition", "block", "run_id", "warmup"}
