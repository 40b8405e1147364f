"""Mappings become CPU numbers, or a reason why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.model import SELECTIONS, Mapping
from runners.mappings import CannotMapError, check_mechanism, choose_mechanism, resolve_cpus
from runners.topology import Topology
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)

I9 = i9_14900k_without_smt()
ULTRA = core_ultra_7_164u()
SERVER = two_packages_with_smt()


def cpus(selection: str, tightness: str, threads: int, node: Topology = I9) -> tuple[int, ...]:
    return resolve_cpus(Mapping("m", selection, tightness), node, threads)


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


def test_a_kind_the_node_lacks_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="no LP-E-cores"):
        cpus("lpecores", "set", 1)
    with pytest.raises(CannotMapError, match="no E-cores"):
        cpus("ecores", "set", 1, SERVER)
    with pytest.raises(CannotMapError, match="one core kind"):
        cpus("mixed", "set", 1, SERVER)
    with pytest.raises(CannotMapError, match="SMT"):
        cpus("siblings", "pin", 2)


def test_a_cpu_set_restricts_the_selection_and_says_so_when_nothing_is_left() -> None:
    batch_job = i9_14900k_without_smt(allowed="2-5")
    assert cpus("pcores", "pin", 2, batch_job) == (2, 3)
    with pytest.raises(CannotMapError, match=r"E-cores \(CPUs 8-23\) are outside .* \(2-5\)"):
        cpus("ecores", "set", 1, batch_job)


def test_mechanisms_follow_tightness_and_runtime() -> None:
    pin = Mapping("m", "pcores", "pin")
    assert choose_mechanism(pin, "libgomp", 2) == "omp-places"
    assert choose_mechanism(pin, "none", 1) == "taskset"
    assert choose_mechanism(Mapping("m", "pcores", "set"), "libomp", 2) == "taskset"
    assert choose_mechanism(Mapping("m", "all", "none"), "libomp", 2) is None


def test_what_a_mechanism_cannot_express_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="likwid-pin cannot express set"):
        choose_mechanism(Mapping("m", "pcores", "set", "likwid-pin"), "libgomp", 2)
    with pytest.raises(CannotMapError, match="does not read OMP_PLACES"):
        choose_mechanism(Mapping("m", "pcores", "pin", "omp-places"), "none", 1)
    with pytest.raises(CannotMapError, match="one mask for all threads"):
        check_mechanism("taskset", "pin", 2, I9, ["taskset"])


def test_likwid_pin_is_refused_inside_a_restricted_cpu_set() -> None:
    with pytest.raises(CannotMapError, match="logical"):
        check_mechanism("likwid-pin", "pin", 2, i9_14900k_without_smt("0-3"), ["likwid-pin"])
    check_mechanism("likwid-pin", "pin", 2, I9, ["likwid-pin"])


def test_a_missing_tool_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="numactl is not installed"):
        check_mechanism("numactl", "set", 2, I9, ["taskset"])


@given(
    selection=st.sampled_from(sorted(SELECTIONS)),
    tightness=st.sampled_from(["set", "pin"]),
    threads=st.integers(1, 30),
    kinds=st.lists(st.sampled_from(["P", "E", "LP-E"]), min_size=1, max_size=12),
    smt=st.booleans(),
    data=st.data(),
)
def test_every_mapping_gives_enough_allowed_distinct_cpus_or_a_reason(
    selection: str, tightness: str, threads: int, kinds: list[str], smt: bool, data: st.DataObject
) -> None:
    width = 2 if smt else 1
    cores = [(f"{width * i}-{width * i + width - 1}", kind, i % 2) for i, kind in enumerate(kinds)]
    online = range(width * len(kinds))
    some = data.draw(st.sets(st.sampled_from(list(online)), min_size=1))
    node = topology(cores, [(3, f"0-{len(online) - 1}")], ",".join(map(str, some)))
    try:
        found = resolve_cpus(Mapping("m", selection, tightness), node, threads)
    except CannotMapError as reason:
        assert str(reason)
        return
    assert len(found) == len(set(found)) >= threads
    assert set(found) <= set(node.allowed)
    if tightness == "pin":
        assert len(found) == threads
