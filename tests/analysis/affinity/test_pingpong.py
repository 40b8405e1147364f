"""What handing a cache line over takes, by placement: made-up results whose times are known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis.affinity.pingpong import Exchanges, exchanges, tell_pingpong
from tests.analysis.affinity.made_results import LATENCIES, Affinity
from tests.analysis.affinity.opened import opened, opened_records


def only(folder: Path, **study: float) -> Exchanges:
    (found,) = exchanges(*opened(folder, Affinity(apps=("pingpong",), **study)))  # type: ignore[arg-type]
    return found


def test_rates_are_one_way_transfers_a_second(tmp_path: Path) -> None:
    found = only(tmp_path, noise=0.0)

    rates = {row.measured.case.mapping: row.rate.mean for row in found if row.rate}
    # 50 ns are 20 million a second.
    assert rates["scheduler"] == pytest.approx(20e6)
    assert rates == pytest.approx({name: 1e9 / ns for name, ns in LATENCIES.items()})


def test_the_fastest_and_the_slowest_placement_are_told_beside_the_scheduler_s(
    tmp_path: Path,
) -> None:
    free, fastest, slowest, published = tell_pingpong(only(tmp_path)).sentences

    assert re.match(
        r"Two threads left to the scheduler hand a cache line over in (49.9|50.0)", free
    )
    assert "The shortest mean: two threads on the SMT siblings of a core" in fastest
    assert "as fast as left to the scheduler" in fastest
    assert "The longest mean: two threads on one CPU" in slowest
    assert "the time that they take left to the scheduler" in slowest
    assert "16.6 million transfers a second with neighbours chosen well, 15.5 without" in published
    assert "the original was not seen" in published


def test_a_placement_that_is_not_sure_to_be_faster_is_not_said_to_be(tmp_path: Path) -> None:
    _, shortest, *_ = tell_pingpong(only(tmp_path, noise=0.9, repetitions=4)).sentences

    assert shortest.endswith("not proved to differ from left to the scheduler.")


def test_placements_of_another_attempt_are_said_to_be(tmp_path: Path) -> None:
    records = [
        r | {"attempt": 1 if r["mapping"] == "scheduler" else 2}
        for r in Affinity(apps=("pingpong",)).records()
    ]
    (found,) = exchanges(*opened_records(tmp_path, records))

    _, fastest, slowest, _ = tell_pingpong(found).sentences

    for sentence in (fastest, slowest):
        assert "no attempt at the study made runs of both" in sentence


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    told = tell_pingpong(only(tmp_path, repetitions=1))

    assert "in 50" in told.sentences[0]
    assert "(" not in told.sentences[0].partition(" (#1")[0]
