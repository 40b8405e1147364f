"""How far each mapping is behind the best of every configuration."""

from __future__ import annotations

import pytest

from analysis.answer import analyze
from analysis.findings.effects import Cases, cases_of
from analysis.findings.one_for_all import OneForAll, one_for_all
from analysis.objectives import ENERGY, TIME
from analysis.results.sources import open_results
from tests.analysis.findings.studies import Grid, changed

TWO = {"performance": 1.0, "powersave": 1.4}


def by_time(cases: Cases) -> OneForAll:
    return next(of for of in one_for_all(cases) if of.objective == TIME)


def test_the_publications_scheduler_loses_13_percent_at_most() -> None:
    # Table 8, Lulesh with 8 threads under powersave: 26.013 s, and 22.948 s confined to P-cores.
    results = open_results("published:galante-2025")
    found = one_for_all(cases_of(results, analyze(results)))
    time = next(of for of in found if of.objective == TIME and not of.in_guests)
    assert [of.mapping for of in time.defaults][:2] == ["unpinned", "pcores-set"]
    first = time.defaults[0]
    assert first.worst.ratio == pytest.approx(26.014 / 22.949, rel=1e-4)
    assert first.compared == 14
    energy = next(of for of in found if of.objective == ENERGY)
    assert all(of.worst.interval is None for of in energy.defaults)


def test_losses_are_to_the_best_of_each_configuration() -> None:
    grid = Grid(
        {"unpinned": 1.0, "pinned": 0.9},
        TWO,
        true={("lu", "powersave", "pinned"): 40 * 1.4 * 1.3},
        n=30,
        shared=0.0,
    )
    found = by_time(grid.cases(1))
    unpinned, pinned = found.defaults
    # Under performance unpinned is 1 / 0.9 behind; under powersave pinned is 1.3 behind.
    assert (unpinned.mapping, pinned.mapping) == ("unpinned", "pinned")
    assert unpinned.worst.ratio == pytest.approx(1 / 0.9, rel=0.02)
    assert unpinned.mean.ratio == pytest.approx((1 / 0.9 + 1) / 2, rel=0.02)
    assert pinned.worst.ratio == pytest.approx(1.3, rel=0.02)
    best = found.configurations[0].losses["pinned"]
    assert best.interval is not None
    assert (best.ratio, best.interval.low) == (1.0, 1.0)


def test_a_lost_mapping_is_told_and_not_averaged_over() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.9, "confined": 0.8}, TWO).cases(2)
    cases = changed(whole, "confined", excluded={"timeout": 5})
    found = by_time(cases)
    assert [of.mapping for of in found.defaults] == ["pinned", "unpinned"]
    assert all(of.against_fewer == 2 for of in found.defaults)
    assert all(of.missing == {"confined": "lost"} for of in found.configurations)


def test_a_mapping_that_a_configuration_lacks_comes_behind_those_of_all() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.9, "confined": 0.8}, TWO).cases(3)
    rows = [
        case for case in whole.cases
        if (case.key.governor, case.key.mapping) != ("powersave", "confined")
    ]  # fmt: skip
    found = by_time(Cases(rows, whole.values, whole.baselines))
    assert [of.mapping for of in found.defaults] == ["pinned", "unpinned", "confined"]
    last = found.defaults[-1]
    assert (last.compared, last.missing) == (1, {"no case": 1})


def test_a_mapping_that_no_other_can_be_compared_with_has_no_loss() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.9}).cases(4)
    assert one_for_all(changed(whole, "pinned", excluded={"failed": 9})) == ()


def test_a_mapping_that_the_node_cannot_run_leaves_no_doubt_about_the_others() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.9, "confined": 0.8}, TWO).cases(5)
    found = by_time(changed(whole, "confined", skip_reason="4 threads need 4 CPUs"))
    assert all(of.against_fewer == 0 for of in found.defaults)
    assert all(of.missing == {"confined": "left out"} for of in found.configurations)
