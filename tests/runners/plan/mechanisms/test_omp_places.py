"""OMP_PLACES by a name: which places it means here, and which CPUs a core type takes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from configs.app import Build
from configs.mapping import Mapping
from runners.node.topology import Topology
from runners.plan.mechanism import check_mechanism, choose_mechanism
from runners.plan.mechanisms import mechanism_of
from runners.plan.selection import CannotMapError
from tests.runners.cases import LIBGOMP, case
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)

I9 = i9_14900k_without_smt()
ULTRA = core_ultra_7_164u()
SERVER = two_packages_with_smt()
LIBOMP = Build("libomp", "demo-libomp", "libomp")
NAMED = "omp-places-named"
CORES = case(
    mapping=Mapping("m", "all", "pin", NAMED, "cores"), mechanism=NAMED, cpus=tuple(range(8))
)
P_CORES = replace(CORES, mapping=Mapping("m", "pcpus", "pin", NAMED, "cores:intel_core"))
E_CORES = replace(CORES, mapping=Mapping("m", "ecpus", "pin", NAMED, "cores:intel_atom"))


def test_libgomp_knows_places_by_name_but_no_core_types() -> None:
    with pytest.raises(CannotMapError, match="libgomp has no places 'cores:intel_core'"):
        choose_mechanism(replace(P_CORES, build=LIBGOMP))
    assert choose_mechanism(replace(P_CORES, build=LIBOMP)) == NAMED
    assert choose_mechanism(replace(CORES, build=LIBGOMP)) == NAMED


def test_a_name_that_chooses_the_cpus_needs_no_launcher() -> None:
    check_mechanism(P_CORES, I9, [])
    with pytest.raises(CannotMapError, match="taskset is not installed"):
        check_mechanism(CORES, I9, [])


@pytest.mark.parametrize("node", [I9, SERVER], ids=["of two kinds", "of one kind"])
def test_core_types_are_no_words_for_cpus_that_are_not_intels_hybrids(node: Topology) -> None:
    other = replace(node, core_types=())
    only = "libomp knows core types of Intel's hybrid CPUs only; use omp-places"
    with pytest.raises(CannotMapError, match=only):
        check_mechanism(P_CORES, other, ["taskset"])
    # Plain cores are understood everywhere.
    check_mechanism(CORES, other, ["taskset"])


def test_a_core_type_that_takes_other_cpus_than_the_selection_is_refused() -> None:
    check_mechanism(replace(E_CORES, cpus=tuple(range(8, 24))), I9, [])
    # On this node the LP-E-cores are Atoms, too.
    told = "cores:intel_atom takes CPUs 4-13 here, and the selection ecpus has 4-11; use omp-places"
    with pytest.raises(CannotMapError, match=told):
        check_mechanism(replace(E_CORES, cpus=tuple(range(4, 12))), ULTRA, [])


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


def named_places(
    name: str, cpus: range | tuple[int, ...], node: Topology
) -> tuple[tuple[int, ...], ...]:
    mapping = Mapping("m", "all", "pin", NAMED, name)
    return mechanism_of(NAMED).places(node, case(mapping=mapping, cpus=tuple(cpus)))
