"""Carry-over from run to run is told when it is there, with its size, and in 5 of 100 when not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.noise import orders
from benchmarks.noise.orders import Node
from benchmarks.noise.shapes import LOGNORMAL, NORMAL1, QUIET, SLOW10, Noise
from pinstudy.analysis.statistics.carry_over import CarryOver, RunOrder, carry_over
from tests.support.doses import Dose, doses

KINDS = ["randomised-blocks", "balanced"]


def exact(kind: str, effects: list[float], blocks: int = 20, noise: float = 1e-4) -> CarryOver:
    """Return what is found where runs inherit these logarithms, and little else differs."""
    rng = np.random.default_rng(5)
    order = orders.order_of(kind, len(effects), blocks, 3)
    before = np.concatenate([order[:1], order[:-1]])
    drift = np.repeat(rng.normal(0, 0.05, blocks), len(effects))
    logs = 0.2 * order + np.array(effects)[before] + drift + rng.normal(0, noise, len(order))
    block = np.repeat(np.arange(blocks, dtype=float), len(effects))
    found = carry_over(RunOrder(order, np.zeros_like(order), block, logs))
    assert found is not None
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_effect_after_each_case_is_estimated_apart_from_cases_and_blocks(kind: str) -> None:
    found = exact(kind, [0.02, -0.01, 0.0, -0.01])
    assert found.found
    assert found.most == 0
    assert found.effects == pytest.approx(np.expm1([0.02, -0.01, 0.0, -0.01]), abs=4e-4)
    # 80 runs, of which all but the first follow one.
    assert found.n.sum() == 79


def test_balanced_runs_inherit_the_same_and_shuffled_ones_do_not() -> None:
    effects = [0.02, -0.01, 0.0, -0.01]
    # Of five cycles of 8 blocks the first run alone follows none.
    assert np.ptp(exact("balanced", effects, 40).carried) < 0.002
    # A case follows itself a quarter as often: its runs lack about a quarter of its own effect.
    shuffled = exact("randomised-blocks", effects, 400).carried
    assert shuffled[0] - shuffled[1] == pytest.approx(-0.03 / 4, abs=0.002)


def test_runs_without_a_time_are_followed_and_attempts_are_apart() -> None:
    order = orders.order_of("balanced", 4, 16, 1)
    attempt = np.repeat([0, 1], 32)
    rng = np.random.default_rng(2)
    before = np.concatenate([order[:1], order[:-1]])
    logs = rng.normal(0, 1e-3, 64) + np.where(before == 2, 0.03, 0.0)
    logs[::9] = np.nan
    block = np.repeat(np.arange(16.0), 4)
    found = carry_over(RunOrder(order, attempt, block, logs))
    assert found is not None
    assert (found.found, found.most) == (True, 2)
    # 8 runs have no time, and of the two that begin an attempt the first is one of these.
    assert found.n.sum() == 64 - 8 - 1


def test_cases_one_after_the_other_and_few_runs_tell_nothing() -> None:
    order = orders.order_of("sequential", 3, 10, 1)
    block = np.tile(np.arange(10.0), 3)
    logs = np.random.default_rng(1).normal(0, 0.01, 30)
    sequential = carry_over(RunOrder(order, np.zeros_like(order), block, logs))
    assert sequential is None or not sequential.found
    few = orders.order_of("balanced", 3, 3, 1)
    of_few = RunOrder(few, np.zeros_like(few), np.repeat(np.arange(3.0), 3), logs[:9])
    assert carry_over(of_few) is None
    nothing = np.array([], dtype=np.intp)
    assert carry_over(RunOrder(nothing, nothing, np.array([]), np.array([]))) is None


def test_a_case_that_nothing_follows_has_no_effect() -> None:
    order = np.concatenate([orders.order_of("balanced", 4, 16, 1), [4]])
    block = np.concatenate([np.repeat(np.arange(16.0), 4), [16.0]])
    logs = np.random.default_rng(2).normal(0, 1e-3, 65) + 0.03 * (np.roll(order, 1) == 1)
    found = carry_over(RunOrder(order, np.zeros_like(order), block, logs))
    assert found is not None
    assert (found.most, found.n[4]) == (1, 0)
    assert np.isnan(found.effects[4])


def test_where_nothing_is_told_the_case_of_the_least_p_is_named() -> None:
    found = exact("balanced", [0.0] * 4)
    found = replace(found, p=np.array([0.9, 0.3, 0.2, 0.8]))
    assert (found.found, found.most) == (False, 2)


def test_equal_times_have_no_carry_over() -> None:
    assert not exact("balanced", [0.0] * 4, noise=0.0).found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noises", [(NORMAL1,), (LOGNORMAL, QUIET), (SLOW10,)])
@doses(few=60, full=400)
def test_carry_over_is_told_in_five_of_a_hundred_studies_without(
    kind: str, noises: tuple[Noise, ...], dose: Dose
) -> None:
    told = orders.told(Node(noises), kind, 5, 10, dose.draws, seed=61)
    assert told <= dose.at_most(0.075)


@pytest.mark.parametrize("kind", KINDS)
@doses(few=40, full=400)
def test_one_per_cent_is_told_of_normal_noise(kind: str, dose: Dose) -> None:
    told = orders.told(Node((NORMAL1,), inherited=0.01), kind, 5, 10, dose.draws, seed=62)
    assert told >= dose.at_least(0.85)


@pytest.mark.parametrize("cases", [2, 5])
@doses(few=60, full=400)
def test_balanced_orders_give_no_false_outcome_where_runs_inherit_one_per_cent(
    cases: int, dose: Dose
) -> None:
    node = Node((QUIET,), inherited=0.01)
    wrong = orders.wrong_outcomes(node, "balanced", cases, 20, dose.draws, seed=63)
    assert wrong.share <= dose.at_most(0.05)
    assert abs(wrong.ratio) < 0.001
    # The order that was the only one: the ratio is off by 2 % / cases, for any number of blocks.
    shuffled = orders.wrong_outcomes(node, "randomised-blocks", cases, 20, dose.draws, seed=63)
    assert shuffled.ratio == pytest.approx(-0.02 / cases, abs=0.0015)
    if cases == 2:
        assert shuffled.share > 0.4
