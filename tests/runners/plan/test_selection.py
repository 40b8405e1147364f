"""Mappings become CPU numbers, or a reason why not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.app import OwnPlacement
from configs.mapping import SELECTIONS, Mapping
from runners.node.topology import Topology
from runners.plan.command_line import check_mechanism, choose_mechanism
from runners.plan.selection import CannotMapError, resolve_cpus
from tests.runners.cases import DEMO
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)

I9 = i9_14900k_without_smt()
ULTRA = core_ultra_7_164u()
SERVER = two_packages_with_smt()
PIN = Mapping("m", "pcores", "pin")
PINS_ITSELF = replace(DEMO, placement=OwnPlacement(pin=("--pin", "{cpus}")))


def cpus(selection: str, binding: str, threads: int, node: Topology = I9) -> tuple[int, ...]:
    return resolve_cpus(Mapping("m", selection, binding), node, threads)


def test_the_published_mappings_on_the_published_node() -> None:
    assert cpus("all", "none", 8) == tuple(range(24))
    assert cpus("pcores", "set", 8) == tuple(range(8))
    assert cpus("pcores", "pin", 8) == tuple(range(8))
    assert cpus("pcores", "pin", 2) == (0, 1)
    assert cpus("ecores", "set", 2) == tuple(range(8, 24))
    assert cpus("ecores", "pin", 8) == tuple(range(8, 16))


def test_cores_take_one_cpu_each_and_cpus_take_siblings_last() -> None:
    assert cpus("pcores", "set", 1, ULTRA) == (0, 2)
    assert cpus("pcpus", "set", 1, ULTRA) == (0, 2, 1, 3)
    assert cpus("pcpus", "pin", 3, ULTRA) == (0, 2, 1)
    assert cpus("siblings", "pin", 2, ULTRA) == (0, 1)


def test_lp_e_cores_are_no_e_cores() -> None:
    assert cpus("ecores", "set", 1, ULTRA) == tuple(range(4, 12))
    assert cpus("lpecores", "set", 1, ULTRA) == (12, 13)
    assert set(cpus("mixed", "set", 1, ULTRA)) == {0, 2, *range(4, 12)}


def test_mixed_splits_threads_evenly_over_the_kinds() -> None:
    assert cpus("mixed", "pin", 8) == (0, 1, 2, 3, 8, 9, 10, 11)
    assert cpus("mixed", "pin", 3) == (0, 1, 8)
    assert cpus("mixed", "pin", 8, ULTRA) == (0, 2, 4, 5, 6, 7, 8, 9)
    assert cpus("mixed", "pin", 20) == (*range(8), *range(8, 20))


def test_compact_fills_siblings_first_and_spread_takes_packages_in_turn() -> None:
    assert cpus("compact", "pin", 4, SERVER) == (0, 4, 1, 5)
    assert cpus("spread", "pin", 4, SERVER) == (0, 2, 1, 3)
    assert cpus("spread", "pin", 8, SERVER) == (0, 2, 1, 3, 4, 6, 5, 7)


def test_spread_takes_e_core_modules_in_turn() -> None:
    assert cpus("spread", "pin", 13) == (*range(8), 8, 12, 16, 20, 9)


def test_too_few_cpus_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="9 threads need 9 CPUs; pcores has 8 here"):
        cpus("pcores", "pin", 9)


def test_more_threads_than_cpus_must_be_meant_and_are_not_pinned() -> None:
    two = topology([("0", "P", 0), ("1", "P", 0)])
    free, pinned = Mapping("m", "all", "none"), Mapping("m", "pcores", "pin")

    with pytest.raises(CannotMapError, match="4 threads need 4 CPUs"):
        resolve_cpus(free, two, 4)
    assert resolve_cpus(free, two, 4, oversubscribe=True) == (0, 1)
    with pytest.raises(CannotMapError, match="4 threads need 4 CPUs"):
        resolve_cpus(pinned, two, 4, oversubscribe=True)


def test_a_kind_the_node_lacks_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="no LP-E-cores"):
        cpus("lpecores", "set", 1)
    with pytest.raises(CannotMapError, match="no E-cores"):
        cpus("ecores", "set", 1, SERVER)
    with pytest.raises(CannotMapError, match="one core kind"):
        cpus("mixed", "set", 1, SERVER)
    with pytest.raises(CannotMapError, match="SMT"):
        cpus("siblings", "pin", 2)


def test_mixed_names_the_kind_without_a_usable_cpu() -> None:
    only_p = i9_14900k_without_smt(allowed="2-5")
    with pytest.raises(CannotMapError, match=r"its E-cores \(CPUs 8-23\) are outside .* \(2-5\)"):
        cpus("mixed", "pin", 2, only_p)
    only_e = i9_14900k_without_smt(allowed="8-23")
    with pytest.raises(CannotMapError, match=r"its P-cores \(CPUs 0-7\) are outside .* \(8-23\)"):
        cpus("mixed", "pin", 2, only_e)
    with pytest.raises(CannotMapError, match="the node has no E-cores"):
        cpus("mixed", "pin", 2, topology([("0", "P", 0), ("1", "LP-E", 0)]))


def test_pairs_are_on_one_cpu_in_one_cluster_across_kinds_or_packages() -> None:
    assert cpus("same-cpu", "pin", 4) == (0, 0, 1, 1)
    assert cpus("same-cpu", "pin", 4, ULTRA) == (0, 0, 2, 2)
    assert cpus("siblings", "pin", 4, ULTRA) == (0, 1, 2, 3)
    assert cpus("same-cluster", "pin", 6) == (8, 9, 10, 11, 12, 13)
    # LP-E-cores are a cluster too, and come after the E-cores.
    assert cpus("same-cluster", "pin", 10, ULTRA) == (*range(4, 12), 12, 13)
    assert cpus("across-kinds", "pin", 4) == (0, 8, 1, 9)
    assert cpus("across-kinds", "pin", 4, ULTRA) == (0, 4, 2, 5)
    assert cpus("across-packages", "pin", 4, SERVER) == (0, 2, 1, 3)
    # No cores of the server share an L2, and each package's share an L3.
    assert cpus("same-cluster", "pin", 4, SERVER) == (0, 1, 2, 3)
    assert cpus("across-kinds", "set", 2) == (0, 8)


def test_pairs_that_a_node_has_no_room_for_are_a_reason() -> None:
    def refusal(selection: str, threads: int, node: Topology) -> str:
        with pytest.raises(CannotMapError) as refused:
            cpus(selection, "pin", threads, node)
        return str(refused.value)

    alone = topology([("0", "P", 0)], [(3, "0")])
    all_alike = topology([("0", "P", 0), ("1", "P", 0)], [(2, "0"), (2, "1"), (3, "0-1")])
    assert "same-cpu has room for 1 pair here" in refusal("same-cpu", 4, alone)
    assert "share a cache that others do not" in refusal("same-cluster", 2, all_alike)
    assert refusal("across-kinds", 2, all_alike) == "the node has one core kind (P)"
    assert refusal("across-packages", 2, I9) == "the node has one package"
    only_e = i9_14900k_without_smt(allowed="8-23")
    assert "across-kinds has room for 0 pairs here" in refusal("across-kinds", 2, only_e)
    assert (
        refusal("same-cluster", 4, i9_14900k_without_smt(allowed="0-7,9,11,12"))
        == "4 threads are 2 pairs; same-cluster has room for 1 pair here"
    )


def test_a_cpu_set_restricts_the_selection_and_says_so_when_nothing_is_left() -> None:
    batch_job = i9_14900k_without_smt(allowed="2-5")
    assert cpus("pcores", "pin", 2, batch_job) == (2, 3)
    with pytest.raises(CannotMapError, match=r"E-cores \(CPUs 8-23\) are outside .* \(2-5\)"):
        cpus("ecores", "set", 1, batch_job)


def test_mechanisms_follow_binding_and_runtime() -> None:
    pin = Mapping("m", "pcores", "pin")
    assert choose_mechanism(pin, DEMO, "libgomp", 2) == "omp-places"
    assert choose_mechanism(pin, DEMO, "none", 1) == "taskset"
    assert choose_mechanism(pin, DEMO, "pthreads", 1) == "taskset"
    assert choose_mechanism(pin, PINS_ITSELF, "pthreads", 2) == "program"
    assert choose_mechanism(Mapping("m", "pcores", "set"), DEMO, "libomp", 2) == "taskset"
    assert choose_mechanism(pin, DEMO, "other", 1) == "taskset"
    assert choose_mechanism(Mapping("m", "pcores", "set"), DEMO, "other", 2) == "taskset"
    assert choose_mechanism(Mapping("m", "all", "none"), DEMO, "libomp", 2) is None


def test_what_a_mechanism_cannot_express_is_a_reason() -> None:
    by_places = Mapping("m", "pcores", "pin", "omp-places")
    with pytest.raises(CannotMapError, match="does not read OMP_PLACES; use taskset"):
        choose_mechanism(by_places, DEMO, "none", 1)
    with pytest.raises(CannotMapError, match="does not read OMP_PLACES; use likwid-pin"):
        choose_mechanism(by_places, DEMO, "pthreads", 2)
    with pytest.raises(CannotMapError, match="demo cannot pin its threads itself"):
        choose_mechanism(Mapping("m", "pcores", "pin", "program"), DEMO, "libgomp", 2)
    with pytest.raises(CannotMapError, match="one mask for all threads"):
        check_mechanism("taskset", PIN, 2, I9, ["taskset"])


def test_threads_of_an_unknown_runtime_are_pinned_by_a_named_mechanism_only() -> None:
    with pytest.raises(
        CannotMapError, match=r"need not read OMP_PLACES.* omp-places or likwid-pin"
    ):
        choose_mechanism(Mapping("m", "pcores", "pin"), DEMO, "other", 2)
    for named in ("omp-places", "likwid-pin"):
        assert choose_mechanism(Mapping("m", "pcores", "pin", named), DEMO, "other", 2) == named


def test_likwid_pin_is_refused_where_two_threads_share_a_cpu() -> None:
    # It puts all four threads on CPU 0 when it is given -c 0,0,1,1 (5.2).
    with pytest.raises(CannotMapError, match="two threads on one CPU"):
        check_mechanism("likwid-pin", Mapping("m", "same-cpu", "pin"), 4, I9, ["likwid-pin"])


def test_likwid_pin_is_refused_inside_a_restricted_cpu_set() -> None:
    with pytest.raises(CannotMapError, match="logical"):
        check_mechanism("likwid-pin", PIN, 2, i9_14900k_without_smt("0-3"), ["likwid-pin"])
    check_mechanism("likwid-pin", PIN, 2, I9, ["likwid-pin"])


def test_a_missing_tool_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="numactl is not installed"):
        check_mechanism("numactl", Mapping("m", "pcores", "set"), 2, I9, ["taskset"])


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
    each = 2 if selection == "same-cpu" else 1
    assert set(Counter(found).values()) == {each} or (threads % 2 and each == 2)
    assert len(found) >= threads
    assert set(found) <= set(node.allowed)
    if binding == "pin":
        assert len(found) == threads
