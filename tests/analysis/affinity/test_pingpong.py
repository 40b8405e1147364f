"""What handing a cache line over takes, by placement: made-up results whose times are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.affinity.pingpong import Exchanges, exchanges, pingpong_section
from tests.analysis.affinity.made_results import LATENCIES, Affinity
from tests.analysis.affinity.opened import opened, opened_records


def only(folder: Path, **study: float) -> Exchanges:
    (found,) = exchanges(*opened(folder, Affinity(apps=("pingpong",), **study)))  # type: ignore[arg-type]
    return found


def test_rates_are_one_way_transfers_a_second(tmp_path: Path) -> None:
    found = only(tmp_path, noise=0.0)

    rates = {row.measured.case.mapping: row.rate.mean for row in found if row.rate}
    # 50 ns are 20 million a second.
    assert rates["unpinned"] == pytest.approx(20e6)
    assert rates == pytest.approx({name: 1e9 / ns for name, ns in LATENCIES.items()})


def test_placements_of_another_attempt_are_noted(tmp_path: Path) -> None:
    records = [
        r | {"attempt": 1 if r["mapping"] == "unpinned" else 2, "order": None}
        for r in Affinity(apps=("pingpong",)).records()
    ]
    (found,) = exchanges(*opened_records(tmp_path, records))

    (note,) = [text for _, text in pingpong_section(found).table.notes if "no attempt" in text]

    assert "#2 " in note


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    table = pingpong_section(only(tmp_path, repetitions=1)).table

    at = [column.name for column in table.columns].index("its 95 % interval")
    assert {row[at] for row in table.cells} == {"-"}
