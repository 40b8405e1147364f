"""Clusters from matrices of latencies: planted ones are found, and none where there are none."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from analysis.latency.clusters import ENOUGH, completed, find_clusters
from tests.analysis.latency.made_latency import PLANTED, Array, Planted, noisy
from tests.support.doses import Dose, doses

STRUCTURES = ("smt", "modules", "complexes", "packages", "hybrid", "hybrid-denied")


def found_in(matrix: Array) -> set[tuple[int, ...]]:
    return {cluster.rows for cluster in find_clusters(matrix).found}


@pytest.mark.parametrize(
    ("name", "noise", "disturbed", "missing"),
    [
        *((name, 0.05, 0, 0.0) for name in STRUCTURES),
        *((name, 0.01, 0, 0.0) for name in STRUCTURES),
        *((name, 0.05, 3, 0.1) for name in STRUCTURES),
        # Clusters far apart
        *((name, 0.1, 3, 0.1) for name in ("smt", "complexes", "packages")),
        # Equal CPUs, which show none
        *((cpus, 0.05, 0, 0.0) for cpus in (3, 4, 8, 24)),
        *((24, noise, 0, 0.0) for noise in (0.01, 0.1)),
    ],
)
@doses(few=30, full=200)
def test_planted_clusters_and_no_others_are_found_in_95_of_100_noisy_matrices(
    dose: Dose, name: str | int, noise: float, disturbed: int, missing: float
) -> None:
    planted = PLANTED[name] if isinstance(name, str) else Planted(name, 60.0)
    rng = np.random.default_rng(6)
    matrices = (noisy(planted, rng, noise, disturbed, missing) for _ in range(dose.draws))
    share = sum(found_in(matrix) == planted.clusters for matrix in matrices) / dose.draws
    assert share >= dose.at_least(0.95)


def test_a_server_of_256_cpus_shows_siblings_complexes_and_packages() -> None:
    matrix = noisy(PLANTED["server"], np.random.default_rng(2), 0.05, disturbed=5, missing=0.1)

    clusters = find_clusters(matrix)

    assert {cluster.rows for cluster in clusters.found} == PLANTED["server"].clusters
    levels = Counter(cluster.level for cluster in clusters.found)
    assert levels == {1: 128, 2: 16, 3: 2}


def test_cores_along_a_ring_are_no_clusters() -> None:
    n = 24
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    ring = 40.0 + 4.0 * np.minimum(steps, n - steps)
    rng = np.random.default_rng(1)
    called = 0
    for noise in (0.001, 0.01, 0.03):
        for _ in range(20):
            away = np.triu(rng.normal(0, noise, (n, n)), 1)
            called += bool(found_in(ring * np.exp(away + away.T)))
    assert called <= 0.1 * 60


def test_a_cluster_has_the_latency_within_it_and_to_the_others() -> None:
    (first, second) = find_clusters(PLANTED["complexes"].ns()).found

    assert (first.rows, second.rows) == (tuple(range(8)), tuple(range(8, 16)))
    assert first.within_ns == pytest.approx(25.0)
    assert first.outside_ns == pytest.approx(80.0)
    # What is inside a cluster does not count as its own latency.
    outer = find_clusters(PLANTED["packages"].ns()).found[0]
    assert outer.level == 2
    assert outer.within_ns == pytest.approx(50.0)


def test_the_scatter_is_that_of_the_pairs_about_their_level() -> None:
    matrix = noisy(PLANTED["complexes"], np.random.default_rng(4), 0.05)

    assert find_clusters(matrix).scatter == pytest.approx(0.05, rel=0.25)


def test_a_disturbed_pair_is_named_and_another_package_is_only_far() -> None:
    matrix = PLANTED["complexes"].ns()
    matrix[3, 12] = matrix[12, 3] = 4000.0

    assert find_clusters(matrix).disturbed == ((3, 12),)
    assert find_clusters(PLANTED["server"].ns()).disturbed == ()


def test_few_pairs_have_no_clusters() -> None:
    matrix = PLANTED["complexes"].ns()
    upper = np.transpose(np.triu_indices(len(matrix), 1))
    lacking = np.random.default_rng(1).permutation(upper)[: round(len(upper) * (1.05 - ENOUGH))]
    for a, b in lacking:
        matrix[a, b] = matrix[b, a] = np.nan

    assert not find_clusters(matrix).found


def test_an_unmeasured_pair_takes_the_way_over_others_or_is_taken_as_far() -> None:
    chain = np.full((6, 6), np.nan)
    for a, b, ns in ((0, 1, 1.0), (1, 2, 3.0), (2, 3, 2.0), (4, 5, 1.0)):
        chain[a, b] = chain[b, a] = ns

    full = completed(chain)

    assert full[0, 2] == full[0, 3] == full[1, 3] == 3.0
    assert full[0, 1] == 1.0
    assert full[0, 4] > 3.0
