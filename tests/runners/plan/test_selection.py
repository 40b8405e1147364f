"""Mappings become CPU numbers, of one team or of each rank, or a reason why not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.configs.mapping import SELECTIONS, Mapping
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.ranks import rank_cpus
from pinstudy.runners.plan.selection import CannotMapError, describe, resolve_cpus
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)
from tests.support.trees import build_tree

Cpus = tuple[int, ...]
I9, ULTRA, SERVER = i9_14900k_without_smt(), core_ultra_7_164u(), two_packages_with_smt()
# As NVIDIA's GB10: each L3 is shared by five P-cores and five E-cores, no L2 by any.
TWO_L3S = topology(
    [(str(cpu), "P" if cpu % 10 > 4 else "E", 0) for cpu in range(20)], [(3, "0-9"), (3, "10-19")]
)
INTERLEAVED = topology(
    [(str(cpu), "P", cpu % 2) for cpu in range(8)], [(3, "0,2"), (3, "4,6"), (3, "1,3"), (3, "5,7")]
)
MIXED_UP = topology([("0", "E", 0), ("1", "", 0), ("2-3", "P", 0)])


def cpus(selection: str, binding: str, threads: int, node: Topology = I9) -> Cpus:
    return resolve_cpus(Mapping("m", selection, binding), node, threads)


def test_mappings_tell_that_threads_do_not_move_over_isolated_cpus() -> None:
    node = replace(I9, isolated=(0, 1))
    told = {binding: describe(Mapping("m", "pcores", binding), node) for binding in ("set", "pin")}
    assert told["pin"] == ("0-7", "")
    assert told["set"][1].startswith("CPUs 0-1 of 0-7 are isolated")


@pytest.mark.parametrize(
    ("node", "selection", "binding", "threads", "expected"),
    [
        # The published mappings on the published node.
        (I9, "all", "none", 8, range(24)),
        (I9, "pcores", "pin", 8, range(8)),
        (I9, "pcores", "pin", 2, (0, 1)),
        (I9, "ecores", "set", 2, range(8, 24)),
        (I9, "ecores", "pin", 8, range(8, 16)),
        # Threads are split evenly over the kinds.
        (I9, "mixed", "pin", 8, (0, 1, 2, 3, 8, 9, 10, 11)),
        (ULTRA, "mixed", "pin", 8, (0, 2, 4, 5, 6, 7, 8, 9)),
        (I9, "mixed", "pin", 20, (*range(8), *range(8, 20))),
        # Siblings first, or packages, or modules of E-cores, in turn.
        (SERVER, "compact", "pin", 4, (0, 4, 1, 5)),
        (SERVER, "spread", "pin", 8, (0, 2, 1, 3, 4, 6, 5, 7)),
        (I9, "spread", "pin", 13, (*range(8), 8, 12, 16, 20, 9)),
        # Pairs on one CPU, in one cluster, across kinds or packages.
        (I9, "same-cpu", "pin", 4, (0, 0, 1, 1)),
        (ULTRA, "same-cpu", "pin", 4, (0, 0, 2, 2)),
        (ULTRA, "siblings", "pin", 4, (0, 1, 2, 3)),
        (I9, "same-cluster", "pin", 6, (8, 9, 10, 11, 12, 13)),
        # LP-E-cores are a cluster too, and come after the E-cores.
        (ULTRA, "same-cluster", "pin", 10, (*range(4, 12), 12, 13)),
        # No cores of the server share an L2, and each package's share an L3.
        (SERVER, "same-cluster", "pin", 4, (0, 1, 2, 3)),
        # Both cores of a pair are of one kind, and P-cores come first.
        (TWO_L3S, "same-cluster", "pin", 12, (5, 6, 7, 8, 15, 16, 17, 18, 0, 1, 2, 3)),
        (ULTRA, "across-kinds", "pin", 4, (0, 4, 2, 5)),
        (I9, "across-kinds", "set", 2, (0, 8)),
        (SERVER, "across-packages", "pin", 4, (0, 2, 1, 3)),
        # One CPU of each core of every kind.
        (ULTRA, "cores", "set", 1, (0, 2, *range(4, 14))),
        (ULTRA, "cores", "pin", 3, (0, 2, 4)),
        (SERVER, "cores", "pin", 4, (0, 1, 2, 3)),
        # E-cores that have the lower numbers come second all the same, and a core of no kind last.
        (MIXED_UP, "cores", "pin", 3, (2, 0, 1)),
        # The best kind first, and clusters of the first package, however CPUs are numbered.
        (I9, "half-clusters", "pin", 10, range(10)),
        (INTERLEAVED, "half-clusters", "set", 1, (0, 2, 4, 6)),
        # Half of the clusters that may be used.
        (i9_14900k_without_smt("14-23"), "half-clusters", "set", 1, range(14, 20)),
    ],
)
def test_a_selection_is_these_cpus_in_this_order(
    node: Topology, selection: str, binding: str, threads: int, expected: Iterable[int]
) -> None:
    assert cpus(selection, binding, threads, node) == tuple(expected)


@pytest.mark.parametrize(
    ("machine", "kept"),
    [
        # P-cores have an L2 each and keep all, of four modules of E-cores two are left.
        ("i9-14900k", (*range(0, 16, 2), *range(16, 24))),
        # The L3, which LP-E-cores have no part in, makes one cluster of the P-cores.
        ("mtl-m-2", (0, 2, 4, 5, 6, 7, 12, 13)),
        # Ten cores of two kinds have one L3, and as many another.
        ("gb10", (*range(5, 10), *range(5))),
        # Of three modules of small cores, the last with one core online, two.
        ("synthetic-forest", range(8)),
        ("synthetic-server", (0, 1, 2, 3)),
    ],
)
def test_half_of_each_kinds_clusters_is_kept_best_kind_first(
    machine: str, kept: Iterable[int], tmp_path: Path
) -> None:
    node = read_topology(build_tree(tmp_path, machine))
    assert cpus("half-clusters", "set", 1, node) == tuple(kept)


def test_cores_take_one_cpu_each_and_cpus_take_siblings_last() -> None:
    assert cpus("pcores", "set", 1, ULTRA) == (0, 2)
    assert cpus("pcpus", "set", 1, ULTRA) == (0, 2, 1, 3)
    assert cpus("pcpus", "pin", 3, ULTRA) == (0, 2, 1)
    assert cpus("siblings", "pin", 2, ULTRA) == (0, 1)


def test_lp_e_cores_are_no_e_cores() -> None:
    assert cpus("ecores", "set", 1, ULTRA) == tuple(range(4, 12))
    assert cpus("lpecores", "set", 1, ULTRA) == (12, 13)
    assert set(cpus("mixed", "set", 1, ULTRA)) == {0, 2, *range(4, 12)}


def test_more_threads_than_cpus_must_be_meant_and_are_not_pinned() -> None:
    two = topology([("0", "P", 0), ("1", "P", 0)])
    free, pinned = Mapping("m", "all", "none"), Mapping("m", "pcores", "pin")
    assert resolve_cpus(free, two, 4, oversubscribe=True) == (0, 1)
    for mapping, oversubscribe in ((free, False), (pinned, True)):
        with pytest.raises(CannotMapError, match="4 threads need 4 CPUs"):
            resolve_cpus(mapping, two, 4, oversubscribe=oversubscribe)


ONE_CPU = topology([("0", "P", 0)], [(3, "0")])
ALIKE = topology([("0", "P", 0), ("1", "P", 0)], [(2, "0"), (2, "1"), (3, "0-1")])
NO_E = topology([("0", "P", 0), ("1", "LP-E", 0)])
SHARED_BY_ALL = "no cores share a cache that others do not"
ONE_EACH = "no core kind has two clusters, of which one could be left out"


@pytest.mark.parametrize(
    ("node", "selection", "threads", "reason"),
    [
        (I9, "pcores", 9, "9 threads need 9 CPUs; pcores has 8 here"),
        (ULTRA, "cores", 13, "13 threads need 13 CPUs; cores has 12 here"),
        (I9, "half-clusters", 17, "17 threads need 17 CPUs; half-clusters has 16 here (0-15)"),
        (I9, "lpecores", 1, "the node has no LP-E-cores"),
        (SERVER, "ecores", 1, "the node has no E-cores"),
        (I9, "lpecpus", 1, "the node has no LP-E-cores"),
        (topology([("0", "E", 0)]), "pcpus", 1, "the node has no P-cores"),
        (NO_E, "mixed", 2, "the node has no E-cores"),
        (SERVER, "mixed", 1, "the node has one core kind (P)"),
        (i9_14900k_without_smt("2-5"), "mixed", 2, "its E-cores (CPUs 8-23) are outside"),
        (i9_14900k_without_smt("8-23"), "mixed", 2, "its P-cores (CPUs 0-7) are outside"),
        (I9, "siblings", 2, "SMT"),
        (ONE_CPU, "same-cpu", 4, "same-cpu has room for 1 pair here"),
        (ALIKE, "same-cluster", 2, "share a cache that others do not"),
        (ALIKE, "across-kinds", 2, "the node has one core kind (P)"),
        (I9, "across-packages", 2, "the node has one package"),
        (i9_14900k_without_smt("8-23"), "across-kinds", 2, "across-kinds has room for 0 pairs"),
        (
            *(i9_14900k_without_smt("0-7,9,11,12"), "same-cluster", 4),
            "4 threads need 2 pairs; same-cluster has room for 1 pair here",
        ),
        (topology([("0", "P", 0)], allowed=""), "all", 1, "no CPU may be used"),
        # One cluster of each kind; a core of each module, which share nothing that others do not.
        (i9_14900k_without_smt("16-19"), "half-clusters", 1, ONE_EACH),
        (i9_14900k_without_smt("8,12,16,20"), "half-clusters", 1, SHARED_BY_ALL),
    ],
)
def test_what_a_node_has_no_room_for_is_a_reason(
    node: Topology, selection: str, threads: int, reason: str
) -> None:
    with pytest.raises(CannotMapError, match=re.escape(reason)):
        cpus(selection, "none" if selection == "all" else "pin", threads, node)


def test_a_cpu_set_restricts_the_selection_and_says_so_when_nothing_is_left() -> None:
    batch_job = i9_14900k_without_smt(allowed="2-5")
    assert cpus("pcores", "pin", 2, batch_job) == (2, 3)
    with pytest.raises(CannotMapError, match=r"E-cores \(CPUs 8-23\) are outside .* \(2-5\)"):
        cpus("ecores", "set", 1, batch_job)


@given(
    selection=st.sampled_from(sorted(SELECTIONS)),
    binding=st.sampled_from(["set", "pin"]),
    threads=st.integers(1, 30),
    kinds=st.lists(st.sampled_from(["P", "E", "LP-E"]), min_size=1, max_size=12),
    smt=st.booleans(),
    data=st.data(),
)
def test_every_mapping_gives_enough_allowed_distinct_cpus_or_a_reason(
    selection: str, binding: str, threads: int, kinds: list[str], smt: bool, data: st.DataObject
) -> None:
    width = 2 if smt else 1
    cores = [(f"{width * i}-{width * i + width - 1}", kind, i % 2) for i, kind in enumerate(kinds)]
    online = range(width * len(kinds))
    some = data.draw(st.sets(st.sampled_from(list(online)), min_size=1))
    node = topology(cores, [(3, f"0-{len(online) - 1}")], ",".join(map(str, some)))
    try:
        found = resolve_cpus(Mapping("m", selection, binding), node, threads)
    except CannotMapError as reason:
        assert str(reason)
        return
    threads_a_cpu = 2 if selection == "same-cpu" else 1
    assert set(Counter(found).values()) == {threads_a_cpu} or (threads % 2 and threads_a_cpu == 2)
    assert len(found) >= threads
    assert set(found) <= set(node.allowed)
    if binding == "pin":
        assert len(found) == threads


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
        kept = cpus("half-clusters", "set", 1, node)
    except CannotMapError as reason:
        assert str(reason) in (SHARED_BY_ALL, ONE_EACH)
        return
    assert set(kept) < some
    assert len(set(kept)) == len(kept)
    assert {cores[cpu][0] for cpu in kept} == {cores[cpu][0] for cpu in some}
    if l2 < count:
        for cpu, second in combinations(sorted(some), 2):
            if cores[cpu][0] == cores[second][0] and cpu // l2 == second // l2:
                assert (cpu in kept) is (second in kept)


EIGHT = topology([(str(cpu), "P" if cpu < 4 else "E", 0) for cpu in range(8)])


def divided(words: str, node: Topology, ranks: int, threads: int, **more: bool) -> tuple[Cpus, ...]:
    """Divide CPUs among ranks, as `selection binding [by]` says."""
    selection, binding, *by = words.split()
    mapping = Mapping("m", selection, binding, ranks_by=by[0] if by else None)
    return rank_cpus(mapping, node, ranks, threads, **more)


@pytest.mark.parametrize(
    ("words", "node", "ranks", "threads", "expected"),
    [
        # The table of docs/ranks.md.
        ("cores pin", EIGHT, 2, 2, ((0, 1), (2, 3))),
        ("cores pin spread", EIGHT, 2, 2, ((0, 2), (1, 3))),
        ("cores pin kind", EIGHT, 2, 2, ((0, 1), (4, 5))),
        # The same CPUs as one team, whatever the number of ranks.
        ("cores pin order", EIGHT, 1, 4, ((0, 1, 2, 3),)),
        ("cores pin order", EIGHT, 4, 1, ((0,), (1,), (2,), (3,))),
        # Dealt, each rank gets P- and E-cores.
        ("cores pin spread", EIGHT, 4, 2, ((0, 4), (1, 5), (2, 6), (3, 7))),
        # A kind is dealt to until it has no more room.
        ("cores pin kind", EIGHT, 3, 2, ((0, 1), (4, 5), (2, 3))),
        ("cores pin kind", I9, 5, 2, ((0, 1), (8, 9), (2, 3), (10, 11), (4, 5))),
        ("cores pin cluster", I9, 5, 2, ((8, 9), (12, 13), (16, 17), (20, 21), (10, 11))),
        # Shares of all CPUs.
        ("cores set order", EIGHT, 2, 1, ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("cores set order", EIGHT, 3, 1, ((0, 1, 2), (3, 4), (5, 6, 7))),
        ("cores set kind", I9, 2, 4, (tuple(range(8)), tuple(range(8, 24)))),
        # Selections that only order CPUs give as many as there are threads, however divided.
        ("compact set kind", EIGHT, 2, 2, ((0, 1), (4, 5))),
        ("spread set kind", EIGHT, 3, 1, ((0,), (4,), (1,))),
        ("compact set kind", ULTRA, 2, 2, ((0, 1), (4, 5))),
        ("compact set cluster", I9, 2, 2, ((8, 9), (12, 13))),
        # Siblings stay together, the first CPUs of the cores before the second ones.
        ("pcpus pin order", SERVER, 2, 4, ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("pcpus pin order", SERVER, 2, 2, ((0, 1), (2, 3))),
        ("spread pin spread", SERVER, 2, 2, ((0, 1), (2, 3))),
        # A core of two CPUs counts twice: four of the twelve CPUs are on P-cores.
        ("cores set order", ULTRA, 2, 1, ((0, 2, 4, 5, 6, 7), tuple(range(8, 14)))),
        ("all none", EIGHT, 2, 2, (tuple(range(8)), tuple(range(8)))),
    ],
)
def test_each_rank_gets_cpus_of_its_own(
    words: str, node: Topology, ranks: int, threads: int, expected: tuple[Cpus, ...]
) -> None:
    assert divided(words, node, ranks, threads) == expected


BY_KIND = "by kind, there is room for 2 ranks of 3 CPUs here, not for 3"
# Four ranks on two cores of two CPUs each.
NO_CORE = (
    "CPUs 0-1,4-5 cannot be divided among 4 ranks of 1 thread: ranks share no core, and so get "
    "whole cores"
)


@pytest.mark.parametrize(
    ("words", "node", "ranks", "threads", "reason"),
    [
        ("cores pin order", EIGHT, 3, 3, "9 threads need 9 CPUs; cores has 8 here (0-7)"),
        ("all none", EIGHT, 9, 1, "9 threads need 9 CPUs; all has 8 here (0-7)"),
        ("cores pin kind", EIGHT, 3, 3, BY_KIND),
        ("cores pin kind", SERVER, 2, 1, "the node has one core kind (P)"),
        ("cores pin cluster", EIGHT, 2, 1, "no cores share a cache that others do not"),
        ("compact pin order", SERVER, 4, 1, NO_CORE),
    ],
)
def test_what_a_node_cannot_give_to_each_rank_is_left_out(
    words: str, node: Topology, ranks: int, threads: int, reason: str
) -> None:
    with pytest.raises(CannotMapError, match=f"^{re.escape(reason)}$"):
        divided(words, node, ranks, threads)


def test_threads_of_a_rank_may_outnumber_its_cpus_where_that_is_meant() -> None:
    wide = divided("pcores set order", EIGHT, 2, 4, oversubscribe=True)
    assert wide == ((0, 1), (2, 3))
    for words, threads in (("pcores pin order", 4), ("cores pin kind", 5)):
        with pytest.raises(CannotMapError):
            divided(words, EIGHT, 2, threads, oversubscribe=True)
    # Of a selection that only orders CPUs, ranks get no more than their threads.
    few, fewer = (
        divided("compact set kind", EIGHT, 2, threads, oversubscribe=True) for threads in (3, 5)
    )
    assert few == ((0, 1, 2), (4, 5, 6))
    assert fewer == ((0, 1, 2, 3), (4, 5, 6, 7))


@given(
    node=st.sampled_from([EIGHT, I9, ULTRA, SERVER]),
    selection=st.sampled_from(["all", "cores", "pcpus", "compact", "spread", "mixed"]),
    binding=st.sampled_from(["set", "pin"]),
    by=st.sampled_from(["order", "spread", "kind", "cluster"]),
    ranks=st.integers(1, 12),
    threads=st.integers(1, 6),
)
def test_ranks_share_no_core_and_have_cpus_enough(
    node: Topology, selection: str, binding: str, by: str, ranks: int, threads: int
) -> None:
    try:
        parts = divided(f"{selection} {binding} {by}", node, ranks, threads)
    except CannotMapError:
        return
    assert len(parts) == ranks
    core_of = {cpu: core.cpus for core in node.cores for cpu in core.cpus}
    cores = [{core_of[cpu] for cpu in part} for part in parts]
    assert sum(map(len, cores)) == len(set().union(*cores))
    for part in parts:
        assert len(part) == len(set(part)) >= threads
        assert binding == "set" or len(part) == threads
        if by == "kind":
            assert len({node.kind_of(cpu) for cpu in part}) == 1
