"""The error rates that a race states, on simulated fields and trials; and known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.difference import Difference
from benchmarks.noise import races
from configs.repetitions import Race
from runners.records.race.confirmation import (
    ALPHA,
    EARLY_ALPHA,
    Means,
    analyse,
    is_analysed,
    p_of_mean,
    typical_gain,
)

MARGIN = math.log1p(0.01)


def test_a_typical_gain_is_the_verdicts_difference_of_pairs() -> None:
    rng = np.random.default_rng(3)
    for n in (10, 14, 41):
        best, reference = rng.normal(0, 0.01, (2, n))
        typical, verdict = typical_gain(best.tolist(), reference.tolist()), Difference.of_pairs(
            best, reference
        )  # fmt: skip
        assert typical.mean == pytest.approx(-verdict.log_ratio)
        assert typical.error == pytest.approx(verdict.standard_error)
        assert typical.df == verdict.df
        low, high = typical.bounds(0.05)
        ratio = verdict.interval()
        assert (-high, -low) == pytest.approx((math.log(ratio.low), math.log(ratio.high)))


@pytest.mark.parametrize("pairs", [10, 30, 100])
@pytest.mark.parametrize("slow", [0, 1, 3])
def test_of_losses_of_two_sizes_the_mean_has_the_exact_p_value(pairs: int, slow: int) -> None:
    # A mean of 0 has so many large ones among all.
    share = 0.026 / (0.3 + 0.026)
    exact = float(stats.binom.cdf(slow, pairs, share))
    losses = [0.3] * slow + [-0.026] * (pairs - slow)
    assert p_of_mean(losses, 0.3) == pytest.approx(exact, rel=0.05)


def test_the_p_value_of_a_mean_is_that_of_evenly_drawn_weights() -> None:
    rng = np.random.default_rng(5)
    for n, mean in ((10, -0.3), (40, -0.3), (40, 0.1)):
        losses = rng.normal(mean, 1, n)
        terms = np.array([*losses, 4.0])
        weighted = rng.dirichlet(np.ones(n + 1), 200_000) @ terms
        assert p_of_mean(losses.tolist(), 4.0) == pytest.approx(np.mean(weighted >= 0), rel=0.05)


def test_a_mean_without_any_loss_has_no_doubt_and_one_without_a_gain_has_all() -> None:
    assert p_of_mean([-1.0, -2.0], -0.5) == 0
    assert p_of_mean([0.0, 0.0], 0.0) == 1
    assert p_of_mean([1.0, 2.0], 3.0) == 1


def test_what_rare_slow_runs_may_hide_shrinks_with_the_number_of_pairs() -> None:
    def least(pairs: int) -> float:
        wobble = [0.001 * (-1) ** n for n in range(pairs)]
        return Means([number - 0.05 for number in wobble], wobble).least_gain(0.05)

    assert least(10) < 0 < least(60) < 0.05
    # With none of n slow, one in so many can still be: the exact bound of a share.
    share = 1 - 0.05 ** (1 / 60)
    slow, fast = math.exp(-0.05) * 1.3, math.exp(-0.05)
    assert least(60) == pytest.approx(-math.log(share * slow + (1 - share) * fast), rel=0.02)


def test_means_of_rates_gain_as_the_means_of_times_do() -> None:
    rng = np.random.default_rng(6)
    best, reference = rng.normal([[-0.1], [0.0]], 0.02, (2, 40)).tolist()
    times, rates = Means(best, reference), Means(best, reference, higher=True)
    assert times.gain == pytest.approx(rates.gain, abs=0.001)
    assert times.gain == pytest.approx(math.log(np.mean(np.exp(reference)) / np.mean(np.exp(best))))
    for means in (times, rates):
        assert means.p(means.least_gain(0.05)) == pytest.approx(0.05, rel=0.01)
        assert 0 < means.least_gain(0.05) < means.gain


def pairs_of(gain: float, pairs: int, slow: int = 0) -> tuple[list[float], list[float]]:
    """Return pairs with a little spread, and slow runs of the best."""
    reference = [0.002 * math.sin(3 * n) for n in range(pairs)]
    best = [0.002 * math.sin(5 * n) - gain for n in range(pairs)]
    return [of + math.log(1.3) * (n < slow) for n, of in enumerate(best)], reference


def test_nothing_is_decided_before_ten_pairs() -> None:
    for last, decision in ((False, ""), (True, "undecided")):
        found = analyse(*pairs_of(0.5, 9), MARGIN, 0, last=last)
        assert (found.decision, found.level, found.p) == (decision, None, None)
    assert analyse(*pairs_of(0.7, 10), MARGIN, 0, last=False).decision == "gain"
    first = [next(n for n in range(1, 200) if is_analysed(n, earlier)) for earlier in range(4)]
    assert first == [10, 29, 58, 116]
    assert not is_analysed(10**6, 10)


@pytest.mark.parametrize(
    ("pairs", "last", "decision"),
    [(28, True, "split"), (29, True, "gain"), (29, False, ""), (58, False, "gain")],
)
def test_a_gain_is_told_when_rare_slow_runs_cannot_undo_it(
    pairs: int, last: bool, decision: str
) -> None:
    assert analyse(*pairs_of(0.05, pairs), MARGIN, 0, last=last).decision == decision


def test_what_holds_typically_or_by_the_mean_alone_is_split() -> None:
    assert analyse(*pairs_of(0.026, 60, slow=6), MARGIN, 3, last=False).decision == ""
    assert analyse(*pairs_of(0.026, 60, slow=6), MARGIN, 3, last=True).decision == "split"
    # The reverse: the reference has the slow runs.
    reference, best = pairs_of(0.0, 120, slow=24)
    assert analyse(best, reference, MARGIN, 3, last=False).decision == ""
    assert analyse(best, reference, MARGIN, 3, last=True).decision == "split"


def test_a_gain_of_more_than_the_margin_is_excluded_early_by_overwhelming_evidence_alone() -> None:
    reference = [0.003 * math.sin(3 * n) for n in range(20)]
    best = [0.003 * math.sin(5 * n) for n in range(20)]
    typical = typical_gain(best, reference)
    for level, last in ((EARLY_ALPHA, False), (ALPHA, True)):
        _, most = typical.bounds(level)
        assert analyse(best, reference, most + 1e-6, 0, last=last).decision == "no gain"
        assert analyse(best, reference, most - 1e-6, 0, last=last).decision != "no gain"


def test_pairs_without_spread_decide_nothing() -> None:
    for reference in ([0.5] * 12, [0.9] * 12):  # as a coarse clock makes them
        found = analyse([0.5] * 12, reference, MARGIN, 0, last=False)
        assert (found.decision, found.p) == ("", 1.0)
        assert analyse([0.5] * 12, reference, MARGIN, 0, last=True).decision == "undecided"


NODES = {node.name: node for node in races.nodes()}


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
@pytest.mark.parametrize("limit", races.LIMITS.values(), ids=races.LIMITS)
def test_a_few_searches_tell_no_more_false_gains_than_stated(node: races.Node, limit: Race) -> None:
    # Of 40 searches more than 6 are wrong in 4 of 1000 such tests, if 5 of 100 searches are.
    assert races.searches(node, 3, limit, 0.0, 40, 1).gains <= 6 / 40


@pytest.mark.searches
@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
@pytest.mark.parametrize("cases", races.CASES)
@pytest.mark.parametrize("limit", races.LIMITS.values(), ids=races.LIMITS)
def test_gains_are_false_and_sizes_wrong_no_more_often_than_stated(
    node: races.Node, cases: int, limit: Race
) -> None:
    # With three deviations of a count of 400.
    assert races.searches(node, cases, limit, 0.0, 400, 1).gains <= 0.05 + 0.033
    told = races.searches(node, cases, limit, 0.05, 400, 2)
    assert math.isnan(told.sizes) or told.sizes >= 0.93 - 0.038
