"""Orders of CPUs in which neighbours are near."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.latency.partners import near_pairs, short_chain, total
from tests.analysis.latency.made_latency import Array


def matrix(n: int, seed: int) -> Array:
    half = np.triu(np.random.default_rng(seed).uniform(1, 10, (n, n)), 1)
    return np.asarray(half + half.T)


sizes = st.integers(2, 9)
seeds = st.integers(0, 2**32 - 1)


@given(sizes, seeds, st.data())
def test_a_chain_has_each_cpu_once_and_is_never_longer_than_numerical_order(
    n: int, seed: int, data: st.DataObject
) -> None:
    cost, length = matrix(n, seed), data.draw(st.integers(2, n))

    chain = short_chain(cost, length)

    assert len(chain) == len(set(chain)) == length
    assert total(cost, np.array(chain)) <= total(cost, np.arange(length)) + 1e-9


def test_chains_are_within_5_percent_of_the_shortest_on_average() -> None:
    excess = []
    for seed in range(30):
        cost = matrix(7, seed)
        shortest = min(total(cost, np.array(order)) for order in permutations(range(7)))
        excess.append(total(cost, np.array(short_chain(cost, 7))) / shortest)
    assert np.mean(excess) < 1.05


# Of many CPUs the shortest way is not sure to be found.
@pytest.mark.parametrize(("cpus", "most"), [(12, 11), (128, 255)])
def test_a_scrambled_line_is_put_in_order(cpus: int, most: int) -> None:
    places = np.random.default_rng(1).permutation(cpus)
    cost = np.abs(np.subtract.outer(places, places)).astype(float)

    chain = np.array(short_chain(cost, cpus))

    assert total(cost, chain) <= most


@given(sizes, seeds)
def test_pairs_have_each_cpu_once(n: int, seed: int) -> None:
    found = near_pairs(matrix(n, seed))

    assert len(found) == len(set(found)) == n // 2 * 2


def test_the_nearest_pair_does_not_cost_the_others_more_than_it_gains() -> None:
    # Taking 1-2 first would leave 0-3, which is far.
    cost = np.array([[0, 2, 9, 50], [2, 0, 1, 9], [9, 1, 0, 2], [50, 9, 2, 0]], dtype=float)

    pairs = near_pairs(cost)

    assert {frozenset(pairs[:2]), frozenset(pairs[2:])} == {frozenset({0, 1}), frozenset({2, 3})}
