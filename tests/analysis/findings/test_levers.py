"""What each factor changes where all else is equal, pair by pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.findings.effects import Cases, cases_of
from analysis.findings.levers import Lever, levers_of, range_of
from analysis.objectives import EDP, ENERGY, TIME
from analysis.results.sources import open_results
from analysis.statistics.difference import Difference
from configs.settings import NAMES, settings_of
from tests.analysis.findings.studies import Grid, changed
from tests.support.results import TABLE, summary

TWO = {"performance": 1.0, "powersave": 1.4}


def levers(cases: Cases, factor: str) -> list[Lever]:
    return [lever for lever in levers_of(cases) if lever.factor == factor]


def published() -> Cases:
    results = open_results("published:galante-2025")
    return cases_of(results, analyze(results))


def test_powersave_in_the_publication_costs_what_its_table_says() -> None:
    # Table 3, Lulesh, Linux scheduler: 45.073 s and 2215.08 J, 65.419 s and 760.07 J; the
    # deviations of ten times are 0.026 s both.
    lever = next(of for of in levers(published(), "governor") if of.is_default)
    assert (lever.level, lever.reference) == ("powersave", "performance")
    pair = next(
        pair for pair in lever.pairs
        if (pair.case.key.table.app, pair.case.key.table.build) == ("lulesh", "serial")
    )  # fmt: skip
    assert pair.effects[TIME].ratio == pytest.approx(65.419 / 45.073)
    assert pair.effects[ENERGY].ratio == pytest.approx(760.07 / 2215.08)
    assert pair.effects[EDP].ratio == pytest.approx(65.419 * 760.07 / (45.073 * 2215.08))
    by_hand = Difference.from_summary(65.419, 0.026, 10, 45.073, 0.026, 10).interval()
    assert pair.effects[TIME].between() == by_hand
    # It gives no deviation of energies.
    assert pair.effects[ENERGY].between() is None


def test_a_serial_build_is_no_level_of_the_threads_of_a_parallel_one() -> None:
    found = levers(published(), "threads")
    assert {(lever.level, lever.reference) for lever in found} == {(8, 2)}
    assert not levers(published(), "build")


def test_each_pair_differs_in_its_factor_alone() -> None:
    for lever in levers_of(published()):
        for pair in lever.pairs:
            mine, theirs = pair.case.key, pair.reference.key
            differ = {
                name
                for name in ("full_mapping", "governor")
                if getattr(mine, name) != getattr(theirs, name)
            } | {
                name
                for name in TABLE._fields[1:]
                if getattr(mine.table, name) != getattr(theirs.table, name)
            }
            assert differ == {"full_mapping" if lever.factor == "mapping" else lever.factor}


def test_pairs_under_the_default_mapping_stand_apart_from_those_under_others() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.9, "confined": 0.8}, TWO)
    default, other = levers(grid.cases(1), "governor")
    assert (default.is_default, len(default.pairs)) == (True, 1)
    assert (other.is_default, len(other.pairs)) == (False, 2)


def test_all_true_effects_are_between_the_ends_of_the_pairs_intervals() -> None:
    grid = Grid({"unpinned": 1.0}, TWO, {"lu": 40.0, "ft": 3.0, "cg": 8.0})
    (lever,) = levers(grid.cases(2), "governor")
    found = lever.range_of(TIME)
    intervals = [pair.effects[TIME].between() for pair in lever.pairs]
    assert found is not None
    assert found.interval is not None
    assert found.interval.low == min(of.low for of in intervals if of)
    assert found.interval.high == max(of.high for of in intervals if of)
    assert found.interval.low < found.low < 1.4 < found.high < found.interval.high


def test_a_range_with_a_pair_without_an_interval_has_none() -> None:
    cases = Grid({"unpinned": 1.0}, TWO, {"lu": 40.0, "ft": 3.0}, as_means=True).cases(3)
    rows = [
        replace(case, stats={**case.stats, "elapsed_s": replace(case.time, sd=float("nan"))})
        if case.key.table.app == "ft" else case
        for case in cases.cases
    ]  # fmt: skip
    (lever,) = levers(replace(cases, cases=rows), "governor")
    found = lever.range_of(TIME)
    assert found is not None
    assert (found.pairs, found.interval) == (2, None)


def test_pairs_of_a_lost_case_are_counted_and_in_no_range() -> None:
    cases = changed(
        Grid({"unpinned": 1.0, "pinned": 5.0}).cases(4), "pinned", excluded={"timeout": 5}
    )
    (lever,) = levers(cases, "mapping")
    assert lever.range_of(TIME) is None
    assert lever.missing(TIME) == {"lost": 1}


def test_what_was_never_measured_says_so() -> None:
    (lever,) = levers(Grid({"unpinned": 1.0}, TWO).cases(5), "governor")
    assert lever.range_of(ENERGY) is None
    assert lever.missing(ENERGY) == {"not measured": 1}


def test_energy_beside_a_co_runner_is_not_that_of_the_program_alone() -> None:
    energy: dict[str, Any] = {"energy_pkg_j": 100.0}
    cases = Cases(
        [
            summary(1, elapsed_s=1.0, **energy),
            summary(2, elapsed_s=2.0, mapping="m1", co_runner="lu", **energy),
        ],
        {},
        frozenset({"case1"}),
    )
    (lever,) = levers_of(cases)
    assert (lever.factor, lever.level, lever.reference) == ("co_runner", "lu", None)
    assert lever.pairs[0].effects[TIME].ratio == pytest.approx(2.0)
    assert lever.missing(ENERGY) == {"energy of both": 1}


@pytest.mark.parametrize(
    ("factor", "facts"),
    [
        ("schedule", {"table": TABLE._replace(schedule="dynamic")}),
        ("wait_policy", {"table": TABLE._replace(wait_policy="active")}),
        ("build", {"table": TABLE._replace(build="libomp")}),
        ("threads", {"table": TABLE._replace(threads=8)}),
        *((name, {"settings": settings_of(**{name: "other"})}) for name in NAMES),
    ],
)
def test_every_factor_of_a_study_is_a_lever(factor: str, facts: dict[str, Any]) -> None:
    cases = Cases(
        [summary(1, elapsed_s=2.0), summary(2, elapsed_s=1.0, mapping="m1", **facts)],
        {},
        frozenset({"case1"}),
    )
    (lever,) = levers_of(cases)
    assert lever.factor == factor
    found = range_of(lever.pairs, TIME)
    assert found is not None
    assert found.low == pytest.approx(0.5)


def test_two_changes_at_once_are_no_lever() -> None:
    both: dict[str, Any] = {"table": TABLE._replace(threads=8), "governor": "powersave"}
    cases = [summary(1, elapsed_s=2.0), summary(2, elapsed_s=1.0, mapping="m1", **both)]
    assert levers_of(Cases(cases, {}, frozenset({"case1"}))) == ()
