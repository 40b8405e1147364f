"""`pinstudy.load`: results as frames, as a notebook takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

import pinstudy
from pinstudy.base.errors import UserError
from tests.support.results import record, write

# Two mappings, six runs each, on two nodes of which the second is twice as slow.
TIMES = {1: (1.00, 1.01, 1.02, 1.00, 1.01, 1.02), 3: (0.90, 0.91, 0.92, 0.90, 0.91, 0.92)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "study"
    for node, factor in (("one", 1), ("two", 2)):
        runs = [
            record(number, repetition, node_id=node, elapsed_s=factor * seconds)
            for number, times in TIMES.items()
            for repetition, seconds in enumerate(times, 1)
        ]
        write(folder / node, runs)
    return folder


def test_runs_and_cases_of_all_nodes_below_a_folder_are_frames(folder: Path) -> None:
    results = pinstudy.load(folder)
    assert repr(results) == f"pinstudy.load({str(folder)!r})"
    assert results.runs.groupby(["node_id", "mapping"])["elapsed_s"].median().to_dict() == {
        ("one", "pcores-pin"): pytest.approx(0.91),
        ("one", "unpinned"): pytest.approx(1.01),
        ("two", "pcores-pin"): pytest.approx(1.82),
        ("two", "unpinned"): pytest.approx(2.02),
    }
    cases = results.cases.set_index(["results", "mapping"])
    assert cases["n"].to_dict() == dict.fromkeys(
        [
            (f"{folder}/{node}", name)
            for node in ("one", "two")
            for name in ("unpinned", "pcores-pin")
        ],
        6,
    )
    assert cases.loc[(f"{folder}/two", "unpinned"), "elapsed_mean_s"] == pytest.approx(2.02)


def test_a_row_of_a_comparison_has_its_outcome_ratio_and_interval(folder: Path) -> None:
    compared = pinstudy.load(folder).compare("time", margin=0.02)
    assert list(compared["mapping"]) == ["pcores-pin"] * 2
    assert list(compared["baseline"]) == ["unpinned"] * 2
    assert list(compared["outcome"]) == ["better"] * 2
    # By hand: the ratio of means, which are also the medians.
    assert list(compared["ratio"]) == [pytest.approx(0.91 / 1.01, rel=1e-3)] * 2
    assert (compared["ratio_low"] < compared["ratio"]).all()
    assert (compared["ratio"] < compared["ratio_high"]).all()
    other = pinstudy.load(folder).compare(baseline="pcores-pin")
    assert list(other["outcome"]) == ["worse"] * 2


def test_whole_runs_and_their_regions_have_rows_with_keys_of_their_own(tmp_path: Path) -> None:
    measured = {"executions": 2, "mark_s": 0.0001, "unavailable": {}}
    beside = {"wait_policy": "active", "ranks": 2, "co_runner": "stream"}
    runs = [
        record(number, repetition, elapsed_s=seconds, **beside)
        | {"regions": {"solve": measured | {"elapsed_s": seconds / 2}}}
        for number, times in TIMES.items()
        for repetition, seconds in enumerate(times, 1)
    ]
    write(tmp_path, runs)
    compared = pinstudy.load(tmp_path).compare()
    assert list(compared["region"].fillna("")) == ["", "solve"]
    for name, value in beside.items():
        assert list(compared[name]) == [value] * 2


def test_published_means_are_compared_too() -> None:
    results = pinstudy.load("published:galante-2025")
    row = results.compare().query("app == 'lulesh' and threads == 1 and mapping == 'pcores-set'")
    # Table 3 of the publication: 45.189 s and 45.073 s under performance.
    by_governor = row.set_index("governor")["ratio"]
    assert by_governor["performance"] == pytest.approx(45.189 / 45.073)
    with pytest.raises(UserError, match="has means, and no runs"):
        _ = results.runs


def test_what_cannot_be_loaded_or_compared_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results here"):
        pinstudy.load(tmp_path)
    with pytest.raises(UserError, match="published result 'galante' is not known"):
        pinstudy.load("published:galante")
    with pytest.raises(UserError, match="objective 'tiem' is not known; did you mean 'time'"):
        pinstudy.load("published:galante-2025").compare("tiem")
    for margin in (-0.01, 1.0, float("nan")):
        with pytest.raises(UserError, match="expected a share from 0 to below 1"):
            pinstudy.load("published:galante-2025").compare(margin=margin)


def test_where_nothing_is_compared_the_frame_has_its_columns(tmp_path: Path) -> None:
    write(tmp_path, [record(1, repetition) for repetition in range(1, 7)])
    compared = pinstudy.load(tmp_path).compare()
    assert compared[["mapping", "outcome", "ratio"]].empty
