"""The error rates that a race states, on simulated fields and trials; and known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.difference import Difference
from configs.repetitions import Race
from runners.race.confirmation import analyse, shares
from runners.race.elimination import ALPHA, SampleMatrix, may_be_taken, worse_cases
from tests.runners.race.simulated_nodes import node_of, search

MARGIN = math.log1p(0.01)


def test_variances_of_a_field_are_those_of_the_differences_between_cases() -> None:
    rng = np.random.default_rng(1)
    blocks = rng.normal(0, 5, 2000)
    values = {str(n): (blocks + rng.normal(0, 0.3, 2000)).tolist() for n in range(5)}
    # What is common to a block, here much the most, is in none of them.
    for variance in SampleMatrix(values).variances().values():
        assert variance == pytest.approx(0.09, rel=0.1)


def test_of_two_cases_the_test_is_the_paired_t_test_corrected_for_cases_and_looks() -> None:
    a = [0.0, 0.01, -0.01, 0.02]
    b = [0.05, 0.07, 0.03, 0.09]
    field = SampleMatrix({"a": a, "b": b})
    assert field.df == 3
    p = float(stats.ttest_rel(b, a, alternative="greater").pvalue)
    found = worse_cases(field, cases=2, analysis=1)
    assert p < ALPHA / 2
    assert [one.case_id for one in found] == ["b"]
    assert found[0].p == pytest.approx(p, rel=1e-9)
    assert found[0].behind == pytest.approx(0.055)
    # So many cases and looks would hide it.
    assert worse_cases(field, cases=1 + math.ceil(ALPHA / 2 / p), analysis=1) == []


@pytest.mark.parametrize("noise", [0.002, 0.05])
@pytest.mark.parametrize("cases", [3, 12])
def test_the_best_is_ruled_out_by_chance_in_no_more_races_than_stated(
    noise: float, cases: int
) -> None:
    rng = np.random.default_rng(cases)
    lost = 0
    races = 600
    for _ in range(races):
        values = rng.normal(0, noise, (cases, 6)) + rng.normal(0, 0.01, 6)
        out = set()
        for look in range(1, 6):
            field = SampleMatrix({str(n): values[n, : look + 1].tolist() for n in range(cases)})
            out |= {one.case_id for one in worse_cases(field, cases, look)}
        # All are equal: any of them may be called the best, so take one.
        lost += "0" in out
    assert lost / races <= 0.02 + 3 * math.sqrt(0.02 * 0.98 / races)


def test_what_may_be_taken_is_within_the_margin_of_the_best_one() -> None:
    rng = np.random.default_rng(7)
    taken = wrong = 0
    for _ in range(600):
        values = rng.normal(0, 0.006, (4, 4))
        values[1:] += 0.0151
        field = SampleMatrix({str(n): values[n].tolist() for n in range(4)})
        if may_be_taken(field, MARGIN):
            taken += 1
            wrong += field.best != "0"
    assert taken > 100
    assert wrong / 600 <= 0.02


@pytest.mark.parametrize(("p", "taken"), [(0.019, True), (0.021, False), (0.3, False)])
def test_one_of_two_is_taken_when_it_is_within_the_margin_with_98_percent(
    p: float, taken: bool
) -> None:
    away = np.array([0.001, -0.001, 0.002, -0.002])
    field = SampleMatrix({"a": away.tolist(), "b": [0.0] * 4})
    assert field.df == 3
    # The means are equal: the margin alone stands against the error of their difference.
    margin = float(stats.t.isf(p, 3) * stats.sem(away))
    assert may_be_taken(field, margin) is taken


@pytest.mark.parametrize(
    ("p", "last", "decision"),
    [
        (0.009, False, "no gain"),
        (0.011, False, ""),
        (0.049, True, "no gain"),
        (0.051, True, "undecided"),
    ],
)
def test_a_gain_of_more_than_the_margin_is_excluded_at_1_percent_early_and_5_at_the_end(
    p: float, last: bool, decision: str
) -> None:
    away = np.array([0.001, -0.001, 0.002, -0.002])
    error = float(stats.sem(away)) * math.sqrt(2)
    # By so much the best one is ahead that more than the margin has the probability p.
    gain = MARGIN - float(stats.t.isf(p, 6)) * error
    look = analyse((away - gain).tolist(), away.tolist(), MARGIN, 0, last=last)
    assert look.decision == decision


def test_the_first_looks_of_a_trial_end_it_only_by_an_overwhelming_difference() -> None:
    reference = [0.100, 0.130, 0.115, 0.125]
    best = [0.05, 0.03, 0.06, 0.04]
    p = float(stats.ttest_ind(best, reference, equal_var=False, alternative="less").pvalue)
    assert p < 0.001
    look = analyse(best, reference, MARGIN, 0, last=False)
    assert look.decision == "gain"
    assert look.p == pytest.approx(p, rel=1e-9)
    weaker = [value + 0.04 for value in best]
    p = float(stats.ttest_ind(weaker, reference, equal_var=False, alternative="less").pvalue)
    assert 0.001 < p < 0.04
    assert analyse(weaker, reference, MARGIN, 0, last=False).decision == ""
    assert analyse(weaker, reference, MARGIN, 0, last=True).decision == "gain"


def test_two_runs_are_no_trial_and_equal_values_no_gain() -> None:
    assert analyse([0.0, 0.1], [1.0, 1.1, 1.2], MARGIN, 0, last=True).decision == "undecided"
    for reference in ([0.5] * 3, [0.9] * 3):  # without spread, as a coarse clock makes them
        assert analyse([0.5] * 3, reference, MARGIN, 0, last=False).decision == ""
        assert analyse([0.5] * 3, reference, MARGIN, 0, last=True).decision == "undecided"


def test_the_noisier_side_makes_more_runs_only_where_it_surely_is() -> None:
    steady, noisy = [0.0, 0.01, -0.01, 0.0], [0.0, 0.2, -0.2, 0.1]
    assert shares(steady, noisy) == (1, 5)
    assert shares(noisy, steady) == (5, 1)
    assert shares(steady, [2 * value for value in steady]) == (1, 1)
    assert shares([0.0], noisy) == (1, 1)


@pytest.mark.searches
@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
@pytest.mark.parametrize("gain", [0.05, 0.2])
def test_the_interval_of_a_gain_holds_the_true_one_as_often_as_stated(
    noise: float, gain: float
) -> None:
    node = node_of("", [1 + gain, 1.0, 1.0, 1.01, 1.02, 1.1], noise)
    held = told = 0
    for seed in range(1000):
        found = search(node, Race(), seed)
        trial = found.standing.confirmation
        best, reference = found.standing.best, found.standing.reference
        if best is None or min(map(len, trial.values())) < 3:
            continue
        logs = [
            np.array([math.log(found.runs[case, n].value or 1) for n in trial[case]])
            for case in (best, reference)
        ]
        difference = Difference.welch(*logs)
        interval = difference.interval()
        told += 1
        held += interval.low <= node.true_mean(best) / node.means[0] <= interval.high
    assert told > 900
    assert held / told >= 0.93
