"""Clusters: cores of a kind that share a cache, and half of them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.mapping import Mapping
from runners.node.discovery import read_topology
from runners.node.topology import Topology
from runners.plan.selection import CannotMapError, resolve_cpus
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)
from tests.support.trees import build_tree

SHARED_BY_ALL = "no cores share a cache that others do not"
ONE_EACH = "no core kind has two clusters, of which one could be left out"


def half(node: Topology, threads: int = 1, binding: str = "set") -> tuple[int, ...]:
    return resolve_cpus(Mapping("m", "half-clusters", binding), node, threads)


def refusal(node: Topology, threads: int = 1) -> str:
    with pytest.raises(CannotMapError) as refused:
        half(node, threads, "pin")
    return str(refused.value)


@pytest.mark.parametrize(
    ("machine", "cpus"),
    [
        # P-cores have an L2 each and keep all, of four modules of E-cores two are left.
        ("i9-14900k", (*range(0, 16, 2), *range(16, 24))),
        ("adl0", (0, 2, 4, 6, 8, 9, 10, 11)),
        # The L3, which LP-E-cores have no part in, makes one cluster of the P-cores.
        ("mtl-m-2", (0, 2, 4, 5, 6, 7, 12, 13)),
        ("arl-h", (*range(8), 12, 13)),
        # Ten cores of two kinds have one L3, and as many another.
        ("gb10", (*range(5, 10), *range(5))),
        # Of three modules of small cores, the last with one core online, two.
        ("synthetic-forest", tuple(range(8))),
        ("synthetic-x3d", tuple(range(8))),
        ("synthetic-server", (0, 1, 2, 3)),
    ],
)
def test_half_of_each_kinds_clusters_is_kept_best_kind_first(
    machine: str, cpus: tuple[int, ...], tmp_path: Path
) -> None:
    assert half(read_topology(build_tree(tmp_path, machine))) == cpus


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        ("kvm-guest", SHARED_BY_ALL),
        ("synthetic-favoured", SHARED_BY_ALL),
        # One cluster of each kind.
        ("lnl0", ONE_EACH),
        ("hx370", ONE_EACH),
    ],
)
def test_a_node_without_two_clusters_of_a_kind_says_so(
    machine: str, reason: str, tmp_path: Path
) -> None:
    assert refusal(read_topology(build_tree(tmp_path, machine))) == reason


def test_pinned_threads_take_the_best_kind_first_and_must_fit() -> None:
    node = i9_14900k_without_smt()

    assert half(node, 10, "pin") == tuple(range(10))
    assert "17 threads need 17 CPUs; half-clusters has 16 here (0-15)" in refusal(node, 17)


def test_clusters_of_the_first_package_come_first_however_cpus_are_numbered() -> None:
    interleaved = topology(
        [(str(cpu), "P", cpu % 2) for cpu in range(8)],
        [(3, "0,2"), (3, "4,6"), (3, "1,3"), (3, "5,7")],
    )

    assert half(interleaved) == (0, 2, 4, 6)


def test_it_is_half_of_the_clusters_that_may_be_used() -> None:
    assert half(i9_14900k_without_smt("14-23")) == (14, 15, 16, 17, 18, 19)
    assert refusal(i9_14900k_without_smt("16-19")) == ONE_EACH
    # A core of each module: no two of them share anything that others do not.
    assert refusal(i9_14900k_without_smt("8,12,16,20")) == SHARED_BY_ALL


def test_one_cpu_of_each_core_of_every_kind() -> None:
    def cores(node: Topology, threads: int, binding: str = "pin") -> tuple[int, ...]:
        return resolve_cpus(Mapping("m", "cores", binding), node, threads)

    ultra = core_ultra_7_164u()
    assert cores(ultra, 1, "set") == (0, 2, *range(4, 14))
    assert cores(ultra, 3) == (0, 2, 4)
    assert cores(two_packages_with_smt(), 4) == (0, 1, 2, 3)
    # E-cores that have the lower numbers come second all the same, and a core of no kind last.
    mixed = topology([("0", "E", 0), ("1", "", 0), ("2-3", "P", 0)])
    assert cores(mixed, 3) == (2, 0, 1)
    with pytest.raises(CannotMapError, match="13 threads need 13 CPUs; cores has 12 here"):
        cores(ultra, 13)


@given(
    cores=st.lists(
        st.tuples(st.sampled_from(["P", "E", "LP-E", ""]), st.integers(0, 1)),
        min_size=1,
        max_size=16,
    ),
    l2=st.integers(1, 5),
    l3=st.integers(1, 16),
    data=st.data(),
)
def test_some_cores_of_each_kind_remain_and_what_shares_a_cache_stays_together(
    cores: list[tuple[str, int]], l2: int, l3: int, data: st.DataObject
) -> None:
    count = len(cores)
    caches = [
        (level, f"{first}-{min(first + size, count) - 1}")
        for level, size in ((2, l2), (3, l3))
        for first in range(0, count, size)
    ]
    some = data.draw(st.sets(st.sampled_from(range(count)), min_size=1))
    allowed = ",".join(map(str, sorted(some)))
    node = topology([(str(cpu), *core) for cpu, core in enumerate(cores)], caches, allowed)
    try:
        kept = half(node)
    except CannotMapError as reason:
        assert str(reason) in (SHARED_BY_ALL, ONE_EACH)
        return
    assert set(kept) < some
    assert len(set(kept)) == len(kept)
    assert {cores[cpu][0] for cpu in kept} == {cores[cpu][0] for cpu in some}
    if l2 < count:
        for one, other in combinations(sorted(some), 2):
            if cores[one][0] == cores[other][0] and one // l2 == other // l2:
                assert (one in kept) is (other in kept)
