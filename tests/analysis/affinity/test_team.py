"""Who ran where: what the kernel's looks at a team's threads say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.affinity.team import MAX_CELLS, Team, binding_found, team_section, teams
from tests.analysis.affinity.made_results import Affinity
from tests.analysis.affinity.opened import opened, opened_records
from tests.analysis.report.made_results import DIGEST
from tests.support.results import cells_by_title, record

Thread = tuple[str, dict[str, int]]


def a_run(threads: Any, repetition: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    placement = {"verdict": "proved", "looks": 10, "threads": threads}
    return record(1, repetition, app="threadmap", node_digest=DIGEST, placement=placement, **fields)


def as_recorded(*threads: Thread) -> list[dict[str, Any]]:
    return [{"process": 0, "allowed": allowed, "seen": seen} for allowed, seen in threads]


def team_of(folder: Path, *runs: Sequence[Thread]) -> Team:
    records = [a_run(as_recorded(*threads), at) for at, threads in enumerate(runs, 1)]
    (found,) = teams(*opened_records(folder, records))
    return found


@pytest.mark.parametrize(
    ("threads", "binding", "single", "masks", "allowed", "kinds"),
    [
        ([("0", {"0": 9}), ("0-15", {"4": 9})], "free", "1", "2", "0-15", "-"),
        ([("0-3", {"0": 9}), ("0-3", {"1": 9})], "bound", "0", "1", "0-3", "-"),
        ([("3", {"3": 9})], "bound", "1", "1", "3", "-"),
        ([("0", {"0": 9}), ("12", {"12": 9})], "split across kinds", "2", "2", "0,12", "P 1, E 1"),
        (
            [("0-3", {"0": 9}), ("12-15", {"12": 9})],
            *("split across kinds", "0", "2", "0-3,12-15", "P 1, E 1"),
        ),
        ([("0-13", {"0": 9}), ("12-15", {"12": 9})], "bound", "0", "2", "0-15", "-"),
        ([("0-1", {"0": 9})] * 3, "oversubscribed", "0", "1", "0-1", "-"),
        # Three CPUs for three threads, of which two have only one of these between them.
        ([("0", {}), ("0", {}), ("1-2", {})], "oversubscribed", "2", "2", "0-2", "-"),
        # The same where no thread has one CPU only.
        ([("0-1", {})] * 3 + [("2-5", {})], "oversubscribed", "0", "2", "0-5", "-"),
    ],
)
def test_each_way_of_binding_has_its_row(
    tmp_path: Path,
    threads: list[Thread],
    binding: str,
    single: str,
    masks: str,
    allowed: str,
    kinds: str,
) -> None:
    found = team_of(tmp_path, threads)

    assert binding_found(found) == binding
    row = cells_by_title(team_section([found]).table)
    assert row["binding"] == binding
    assert row["threads"] == str(len(threads))
    assert row["with one CPU (threads)"] == single
    assert row["sets of CPUs"] == masks
    assert row["CPUs allowed"] == allowed
    assert row["threads by kind"] == kinds


def test_free_means_the_cpus_that_the_study_s_process_had(tmp_path: Path) -> None:
    results, findings = opened_records(tmp_path, [a_run(as_recorded(("0-3", {"0": 9})))])
    path = tmp_path / "nodes" / f"{DIGEST}.json"
    path.write_text(path.read_text().replace('"allowed": "0-15"', '"allowed": "0-3"'))

    (found,) = teams(results, findings)

    assert binding_found(found) == "free"


def test_a_record_with_more_masks_than_any_node_has_takes_no_time(tmp_path: Path) -> None:
    masks = [(f"0-{65000 + thread % 500}", {"0": 1}) for thread in range(200)]

    found = team_of(tmp_path, masks)

    assert sum(len(mask) for mask in found.masks) < 2 * MAX_CELLS
    assert team_section([found]).table.cells


def test_looks_of_all_runs_are_added_up_thread_by_thread(tmp_path: Path) -> None:
    found = team_of(
        tmp_path,
        [("0-15", {"0": 5}), ("0-15", {"1": 5})],
        [("0-15", {"0": 3, "2": 2}), ("0-15", {"1": 5})],
    )

    assert found.runs == 2
    assert [dict(thread.seen) for thread in found.threads] == [{0: 8, 2: 2}, {1: 10}]


def test_runs_with_an_unusual_number_of_threads_are_excluded(tmp_path: Path) -> None:
    two = [("0-15", {"0": 5}), ("0-15", {"1": 5})]
    found = team_of(tmp_path, two, [("0-15", {"7": 5})], two)

    assert found.runs == 2
    assert 7 not in found.seen


def test_runs_that_are_not_averaged_make_no_team(tmp_path: Path) -> None:
    threads = as_recorded(("0-15", {"0": 5}))
    good = a_run(threads, 1)
    others = [
        a_run(as_recorded(("0-15", {"9": 5})), 2, status="placement-violated", reason="no"),
        a_run(as_recorded(("0-15", {"9": 5})), 3, warmup=True),
    ]

    (found,) = teams(*opened_records(tmp_path, [good, *others]))

    assert dict(found.seen) == {0: 5}


@pytest.mark.parametrize(
    "threads",
    [
        None,
        "0-15",
        [],
        [3, None, "thread"],
        [{"process": 1, "allowed": "0", "seen": {"0": 5}}],
    ],
)
def test_a_record_without_threads_makes_no_team(tmp_path: Path, threads: object) -> None:
    assert teams(*opened_records(tmp_path, [a_run(threads)])) == []


@pytest.mark.parametrize(
    ("allowed", "seen"),
    [
        ("0-99999999", {"0": 5}),
        ("0;", {"0": 5, "-1": 5, "99999999999": 5, "\u0663": 5, "x": 5}),
        ("<script>", {"0": 5}),
        (None, {"0": 5}),
    ],
)
def test_what_cannot_be_is_not_believed(tmp_path: Path, allowed: object, seen: object) -> None:
    run = a_run([{"process": 0, "allowed": allowed, "seen": seen}])

    (found,) = teams(*opened_records(tmp_path, [run]))

    assert found.allowed == ()
    assert dict(found.seen) == {0: 5}
    assert team_section([found]).table.cells


def test_without_kinds_there_are_no_shares(tmp_path: Path) -> None:
    results, findings = opened(tmp_path, Affinity(apps=("threadmap",)))
    path = tmp_path / "nodes" / f"{DIGEST}.json"
    path.write_text(json.dumps({"topology": {"kinds": [{"name": 3}, "P"], "cores": "none"}}))

    rows = team_section(teams(results, findings)).table

    for at in range(len(rows.cells)):
        row = cells_by_title(rows, at)
        assert (row["threads by kind"], row["looks by kind"]) == ("-", "-")
