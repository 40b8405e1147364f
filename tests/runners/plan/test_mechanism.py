"""Which mechanism binds a case's threads, and in which words."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from configs.app import App, OwnPlacement
from configs.mapping import Mapping
from runners.node.topology import Topology
from runners.plan.mechanism import check_mechanism, choose_mechanism, hw_subset, named_places
from runners.plan.selection import CannotMapError
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
BY_NAME = Mapping("m", "pcpus", "pin", "omp-places-named", "cores:intel_core")

P_CORES_SET, FREE = Mapping("m", "pcores", "set"), Mapping("m", "all", "none")
BY_PLACES = Mapping("m", "pcores", "pin", "omp-places")


@pytest.mark.parametrize(
    ("mapping", "app", "runtime", "threads", "mechanism"),
    [
        (PIN, DEMO, "libgomp", 2, "omp-places"),
        (PIN, DEMO, "none", 1, "taskset"),
        (PIN, DEMO, "pthreads", 1, "taskset"),
        (PIN, PINS_ITSELF, "pthreads", 2, "program"),
        (PIN, DEMO, "other", 1, "taskset"),
        (P_CORES_SET, DEMO, "libomp", 2, "taskset"),
        (P_CORES_SET, DEMO, "other", 2, "taskset"),
        (FREE, DEMO, "libomp", 2, None),
    ],
)
def test_mechanisms_follow_binding_and_runtime(
    mapping: Mapping, app: App, runtime: str, threads: int, mechanism: str | None
) -> None:
    assert choose_mechanism(mapping, app, runtime, threads) == mechanism


def test_what_a_mechanism_cannot_express_is_a_reason() -> None:
    with pytest.raises(CannotMapError, match="does not read OMP_PLACES; use taskset"):
        choose_mechanism(BY_PLACES, DEMO, "none", 1)
    with pytest.raises(CannotMapError, match="does not read OMP_PLACES; use likwid-pin"):
        choose_mechanism(BY_PLACES, DEMO, "pthreads", 2)
    with pytest.raises(CannotMapError, match="does not read OMP_PLACES; use taskset"):
        choose_mechanism(Mapping("m", "pcores", "set", "omp-places"), DEMO, "pthreads", 2)
    itself = "demo cannot pin its threads itself; "
    with pytest.raises(CannotMapError, match=itself + "use likwid-pin"):
        choose_mechanism(Mapping("m", "pcores", "pin", "program"), DEMO, "libgomp", 2)
    # likwid-pin takes each CPU once.
    on_one_cpu = Mapping("m", "same-cpu", "pin", "program")
    with pytest.raises(CannotMapError, match=itself + "nothing else puts two of its threads"):
        choose_mechanism(on_one_cpu, DEMO, "pthreads", 2)
    with pytest.raises(CannotMapError, match=itself + "use omp-places"):
        choose_mechanism(on_one_cpu, DEMO, "libgomp", 2)
    with pytest.raises(CannotMapError, match="one mask for all threads"):
        check_mechanism("taskset", PIN, 2, I9, ["taskset"])
    with pytest.raises(CannotMapError, match="numactl is not installed"):
        check_mechanism("numactl", P_CORES_SET, 2, I9, ["taskset"])


def test_threads_of_an_unknown_runtime_are_pinned_by_a_named_mechanism_only() -> None:
    with pytest.raises(
        CannotMapError, match=r"need not read OMP_PLACES.* omp-places or likwid-pin"
    ):
        choose_mechanism(PIN, DEMO, "other", 2)
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


@pytest.mark.parametrize("mechanism", ["kmp-affinity", "kmp-hw-subset"])
def test_what_a_runtime_does_not_read_is_a_reason(mechanism: str) -> None:
    mapping = Mapping("m", "pcores", "pin", mechanism)
    variable = mechanism.upper().replace("-", "_")
    with pytest.raises(CannotMapError, match=f"libgomp does not read {variable}; use omp-places"):
        choose_mechanism(mapping, DEMO, "libgomp", 2)
    with pytest.raises(CannotMapError, match=f"without OpenMP does not read {variable}"):
        choose_mechanism(mapping, DEMO, "pthreads", 2)
    assert choose_mechanism(mapping, DEMO, "libomp", 2) == mechanism


def test_libgomp_knows_places_by_name_but_no_core_types() -> None:
    with pytest.raises(CannotMapError, match="libgomp has no places 'cores:intel_core'"):
        choose_mechanism(BY_NAME, DEMO, "libgomp", 2)
    cores = replace(BY_NAME, places="cores")
    assert choose_mechanism(cores, DEMO, "libgomp", 2) == "omp-places-named"


def test_a_runtime_that_chooses_the_cpus_needs_no_launcher() -> None:
    check_mechanism("omp-places-named", BY_NAME, 2, I9, [])
    check_mechanism("kmp-hw-subset", PIN, 2, I9, [])
    with pytest.raises(CannotMapError, match="taskset is not installed"):
        check_mechanism("omp-places-named", replace(BY_NAME, places="cores"), 2, I9, [])
    with pytest.raises(CannotMapError, match="kmp-hw-subset does not put two threads on one CPU"):
        check_mechanism("kmp-hw-subset", Mapping("m", "same-cpu", "pin"), 4, I9, [])


@pytest.mark.parametrize(
    ("node", "cpus", "words"),
    [
        (I9, range(4), "4c:intel_core"),
        (I9, range(8, 16), "8c:intel_atom"),
        (I9, (0, 1, 8, 9, 10), "2c:intel_core,3c:intel_atom"),
        (i9_14900k_without_smt("4-23"), (4, 5), "2c:intel_core"),
        # One of two SMT siblings, both, and a kind without siblings.
        (ULTRA, (0, 2), "2c:intel_core,1t"),
        (ULTRA, range(4), "2c:intel_core"),
        (ULTRA, (0, 1, 4), "1c:intel_core,1c:intel_atom"),
        (ULTRA, (0, 2, 4, 5), "2c:intel_core,2c:intel_atom,1t"),
        # Sockets are said where there are several, cores are counted in each of them.
        (SERVER, (0, 1), "1s,2c,1t"),
        (SERVER, (0, 4), "1s,1c"),
        (SERVER, (0, 2), "2s,1c,1t"),
        (SERVER, range(8), "2s,2c"),
        (topology([("0", "P", 0), ("1", "P", 0)]), (0, 1), "2c"),
    ],
)
def test_cpus_are_counted_as_libomp_counts_them(node: Topology, cpus: range, words: str) -> None:
    assert hw_subset(cpus, node) == words


@pytest.mark.parametrize(
    ("node", "cpus"),
    [
        (I9, (1, 2)),
        (I9, (0, 2)),
        (ULTRA, (1, 3)),
        (ULTRA, (0, 1, 2)),
        (SERVER, (2, 3)),
        (SERVER, (0, 1, 2)),
    ],
)
def test_cpus_that_cannot_be_counted_are_a_reason(node: Topology, cpus: tuple[int, ...]) -> None:
    with pytest.raises(CannotMapError, match=r"KMP_HW_SUBSET cannot say CPUs .*; use omp-places"):
        hw_subset(cpus, node)


@pytest.mark.parametrize("node", [I9, SERVER], ids=["of two kinds", "of one kind"])
def test_core_types_are_no_words_for_cpus_that_are_not_intels_hybrids(node: Topology) -> None:
    other = replace(node, core_types=())
    only = "libomp knows core types of Intel's hybrid CPUs only; use omp-places"
    with pytest.raises(CannotMapError, match=only):
        check_mechanism("omp-places-named", BY_NAME, 2, other, ["taskset"])
    # Plain cores, and the count of equal cores, are understood everywhere.
    check_mechanism("omp-places-named", replace(BY_NAME, places="cores"), 2, other, ["taskset"])
    if other.hybrid:
        with pytest.raises(CannotMapError, match=only):
            hw_subset((0, 1), other)


def test_libomp_has_no_word_for_low_power_cores() -> None:
    with pytest.raises(CannotMapError, match="no word for LP-E-cores"):
        hw_subset((12, 13), ULTRA)


@pytest.mark.parametrize(
    ("node", "name", "cpus", "places"),
    [
        (ULTRA, "threads", (0, 2, 4), [(0,), (2,), (4,)]),
        (ULTRA, "cores", range(6), [(0, 1), (2, 3), (4,), (5,)]),
        (ULTRA, "cores:intel_core", range(4), [(0, 1), (2, 3)]),
        # Only CPUs that the program may use are in a place.
        (ULTRA, "cores", (0, 2, 3), [(0,), (2, 3)]),
        # An LP-E-core's last cache is its L2, that of all others the L3.
        (ULTRA, "ll_caches", range(14), [tuple(range(12)), (12, 13)]),
        (SERVER, "ll_caches", range(8), [(0, 1, 4, 5), (2, 3, 6, 7)]),
        (SERVER, "sockets", (0, 1, 2), [(0, 1), (2,)]),
        (SERVER, "numa_domains", range(8), [tuple(range(8))]),
    ],
)
def test_names_of_places_mean_parts_of_the_node(
    node: Topology, name: str, cpus: range, places: list[tuple[int, ...]]
) -> None:
    assert named_places(name, cpus, node) == tuple(places)


def test_parts_that_the_nodes_files_lack_are_a_reason() -> None:
    bare = topology([("0", "P", 0), ("1", "P", 0)])
    with pytest.raises(CannotMapError, match=re.escape("files do not show its ll_caches")):
        named_places("ll_caches", (0, 1), bare)
