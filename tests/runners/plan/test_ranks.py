"""The CPUs of each rank: whole cores, divided by order, in turn, by core kind and by cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.mapping import Mapping
from runners.node.topology import Topology
from runners.plan.ranks import rank_cpus
from runners.plan.selection import CannotMapError
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)

EIGHT = topology([(str(cpu), "P" if cpu < 4 else "E", 0) for cpu in range(8)])
I9, ULTRA, SERVER = i9_14900k_without_smt(), core_ultra_7_164u(), two_packages_with_smt()

Cpus = tuple[int, ...]


def divided(
    selection: str,
    binding: str,
    by: str | None,
    node: Topology,
    ranks: int,
    threads: int,
    **more: bool,
) -> tuple[Cpus, ...]:
    mapping = Mapping("m", selection, binding, ranks_by=by)
    return rank_cpus(mapping, node, ranks, threads, **more)


@pytest.mark.parametrize(
    ("selection", "binding", "by", "node", "ranks", "threads", "expected"),
    [
        # The table of docs/ranks.md.
        ("cores", "pin", None, EIGHT, 2, 2, ((0, 1), (2, 3))),
        ("cores", "pin", "order", EIGHT, 2, 2, ((0, 1), (2, 3))),
        ("cores", "pin", "spread", EIGHT, 2, 2, ((0, 2), (1, 3))),
        ("cores", "pin", "kind", EIGHT, 2, 2, ((0, 1), (4, 5))),
        # The same CPUs as one team, whatever the number of ranks.
        ("cores", "pin", "order", EIGHT, 1, 4, ((0, 1, 2, 3),)),
        ("cores", "pin", "order", EIGHT, 4, 1, ((0,), (1,), (2,), (3,))),
        # Dealt, each rank gets P- and E-cores.
        ("cores", "pin", "spread", EIGHT, 4, 2, ((0, 4), (1, 5), (2, 6), (3, 7))),
        # A kind is dealt to until it has no more room.
        ("cores", "pin", "kind", EIGHT, 3, 2, ((0, 1), (4, 5), (2, 3))),
        ("cores", "pin", "kind", I9, 5, 4, ((0, 1, 2, 3), (8, 9, 10, 11), (4, 5, 6, 7),
                                            (12, 13, 14, 15), (16, 17, 18, 19))),
        ("cores", "pin", "cluster", I9, 3, 2, ((8, 9), (12, 13), (16, 17))),
        ("cores", "pin", "cluster", I9, 5, 2, ((8, 9), (12, 13), (16, 17), (20, 21), (10, 11))),
        # Shares of all CPUs.
        ("cores", "set", "order", EIGHT, 2, 1, ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("cores", "set", "order", EIGHT, 3, 1, ((0, 1, 2), (3, 4), (5, 6, 7))),
        ("pcores", "set", "spread", EIGHT, 2, 2, ((0, 2), (1, 3))),
        ("cores", "set", "kind", I9, 2, 4, (tuple(range(8)), tuple(range(8, 24)))),
        # Selections that only order CPUs give as many as there are threads, however divided.
        ("compact", "set", "order", EIGHT, 2, 2, ((0, 1), (2, 3))),
        ("compact", "set", "kind", EIGHT, 2, 2, ((0, 1), (4, 5))),
        ("spread", "set", "kind", EIGHT, 3, 1, ((0,), (4,), (1,))),
        ("compact", "set", "kind", ULTRA, 2, 2, ((0, 1), (4, 5))),
        ("compact", "set", "cluster", I9, 2, 2, ((8, 9), (12, 13))),
        ("same-cluster", "set", "cluster", I9, 2, 2, ((8, 9), (12, 13))),
        # Siblings stay together, the first CPUs of the cores before the second ones.
        ("pcpus", "pin", "order", SERVER, 2, 4, ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("pcpus", "pin", "order", SERVER, 2, 2, ((0, 1), (2, 3))),
        ("spread", "pin", "spread", SERVER, 2, 2, ((0, 1), (2, 3))),
        # A core of two CPUs counts twice: four of the twelve CPUs are on P-cores.
        ("cores", "set", "order", ULTRA, 2, 1, ((0, 2, 4, 5, 6, 7), (8, 9, 10, 11, 12, 13))),
        ("all", "none", None, EIGHT, 2, 2, (tuple(range(8)), tuple(range(8)))),
    ],
)  # fmt: skip
def test_each_rank_gets_cpus_of_its_own(
    selection: str,
    binding: str,
    by: str | None,
    node: Topology,
    ranks: int,
    threads: int,
    expected: tuple[Cpus, ...],
) -> None:
    assert divided(selection, binding, by, node, ranks, threads) == expected


@pytest.mark.parametrize(
    ("selection", "binding", "by", "node", "ranks", "threads", "reason"),
    [
        ("cores", "pin", "order", EIGHT, 3, 3, "9 threads need 9 CPUs; cores has 8 here (0-7)"),
        ("all", "none", None, EIGHT, 9, 1, "9 threads need 9 CPUs; all has 8 here (0-7)"),
        (
            *("cores", "pin", "kind", EIGHT, 3, 3),
            "by kind, there is room for 2 ranks of 3 CPUs here, not for 3",
        ),
        ("cores", "pin", "kind", SERVER, 2, 1, "the node has one core kind (P)"),
        ("cores", "pin", "cluster", EIGHT, 2, 1, "no cores share a cache that others do not"),
        # Four ranks on two cores of two CPUs each.
        (
            *("compact", "pin", "order", SERVER, 4, 1),
            "CPUs 0-1,4-5 cannot be divided among 4 ranks of 1 thread: ranks share no core, and so "
            "get whole cores",
        ),
    ],
)
def test_what_a_node_cannot_give_to_each_rank_is_left_out(
    selection: str,
    binding: str,
    by: str | None,
    node: Topology,
    ranks: int,
    threads: int,
    reason: str,
) -> None:
    with pytest.raises(CannotMapError) as raised:
        divided(selection, binding, by, node, ranks, threads)
    assert str(raised.value) == reason


def test_of_a_selection_that_only_orders_cpus_ranks_get_no_more_than_their_threads() -> None:
    few = divided("compact", "set", "kind", EIGHT, 2, 3, oversubscribe=True)
    assert few == ((0, 1, 2), (4, 5, 6))
    fewer = divided("compact", "set", "kind", EIGHT, 2, 5, oversubscribe=True)
    assert fewer == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_threads_of_a_rank_may_outnumber_its_cpus_where_that_is_meant() -> None:
    wide = divided("pcores", "set", "order", EIGHT, 2, 4, oversubscribe=True)
    assert wide == ((0, 1), (2, 3))
    with pytest.raises(CannotMapError):
        divided("pcores", "pin", "order", EIGHT, 2, 4, oversubscribe=True)


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
        parts = divided(selection, binding, by, node, ranks, threads)
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
