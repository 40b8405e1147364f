"""Means and deviations of cases, and what stays out of them."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from analysis.frame import read_runs
from analysis.summary import mean_by_kind, summarise
from tests.analysis.records import left_out, record, without, write


def summary_of(tmp_path: Path, *records: dict[str, object]) -> pd.DataFrame:
    write(tmp_path, records)
    return summarise(read_runs(tmp_path).frame)


def test_the_deviation_is_that_of_a_sample(tmp_path: Path) -> None:
    # 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squared deviations 32, so sd = sqrt(32 / 7).
    times = [2, 4, 4, 4, 5, 5, 7, 9]
    case = summary_of(
        tmp_path, *(record(1, r, elapsed_s=float(t)) for r, t in enumerate(times, 1))
    ).iloc[0]

    assert case["n"] == 8
    assert case["elapsed_s_mean"] == pytest.approx(5.0)
    assert case["elapsed_s_sd"] == pytest.approx(math.sqrt(32 / 7))


def test_one_run_has_no_deviation(tmp_path: Path) -> None:
    case = summary_of(tmp_path, record(1, 1)).iloc[0]

    assert math.isnan(case["elapsed_s_sd"])


def test_warm_ups_and_runs_that_went_wrong_are_not_averaged(tmp_path: Path) -> None:
    case = summary_of(
        tmp_path,
        record(1, 1, warmup=True, elapsed_s=1000.0),
        record(1, 1, elapsed_s=10.0),
        record(1, 2, elapsed_s=12.0),
        record(1, 3, status="placement-violated", reason="CPU 5 seen", elapsed_s=99.0),
        record(1, 4, status="timeout", reason="limit", elapsed_s=600.0),
        record(1, 5, status="timeout", reason="limit", elapsed_s=600.0),
    ).iloc[0]

    assert (case["n"], case["elapsed_s_mean"]) == (2, 11.0)
    assert case["excluded"] == {"placement-violated": 1, "timeout": 2}
    assert case["reasons"]["timeout"] == ["limit"]


def test_a_measure_is_averaged_over_the_runs_that_have_it(tmp_path: Path) -> None:
    case = summary_of(
        tmp_path,
        record(1, 1, energy_pkg_j=10.0),
        without(["energy_pkg_j"], "counter wrapped", number=1, repetition=2),
    ).iloc[0]

    assert (case["n"], case["energy_pkg_j_n"], case["energy_pkg_j_mean"]) == (2, 1, 10.0)
    assert case["reasons"]["energy_pkg_j"] == ["counter wrapped"]


def test_rows_are_in_the_order_of_their_numbers_and_tables_by_thread_count(tmp_path: Path) -> None:
    table = summary_of(
        tmp_path,
        record(10, 1),
        record(2, 1),
        record(1, 1, threads=8, case_id="eight"),
        record(1, 1, threads=2, case_id="two"),
        left_out(9, "no E-cores"),
    )

    assert list(zip(table["threads"], table["case_number"], strict=True)) == [
        (1, 2), (1, 9), (1, 10), (2, 1), (8, 1),
    ]  # fmt: skip


def test_tables_are_in_the_order_of_the_study(tmp_path: Path) -> None:
    table = summary_of(
        tmp_path,
        record(1, 1, app="a", table_number=2, case_id="second"),
        record(1, 1, app="z", table_number=1, case_id="first"),
    )

    assert list(table["app"]) == ["z", "a"]


def test_residency_is_averaged_by_kind() -> None:
    runs: list[dict[str, object]] = [
        {"P": 0.5, "E": 0.5},
        {"P": 1.0},
        {"P": None, "E": True, "X": 10**400},
        {},
    ]

    assert mean_by_kind(runs) == {"P": 0.75, "E": 0.5}
    assert mean_by_kind([]) == {}
