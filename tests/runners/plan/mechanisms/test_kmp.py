"""libomp's own variables: who reads them, and which CPUs KMP_HW_SUBSET can say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from base.cpulist import parse_cpulist
from configs.app import Build
from configs.mapping import Mapping
from runners.node.topology import CoreKind, Topology
from runners.plan.mechanism import check_mechanism, choose_mechanism
from runners.plan.mechanisms import mechanism_of
from runners.plan.selection import CannotMapError
from tests.runners.cases import case
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)

I9 = i9_14900k_without_smt()
ULTRA = core_ultra_7_164u()
SERVER = two_packages_with_smt()
# E-cores without L3 are LP-E-cores: those of a Core Ultra 5 226V are all of its Atoms.
LUNAR_LAKE = topology(
    [(str(cpu), "P" if cpu < 4 else "LP-E", 0) for cpu in range(8)],
    [(3, "0-3"), (2, "4-7")],
    core_types=True,
)
NO_WORDS = r"KMP_HW_SUBSET cannot say CPUs .*; use omp-places"


def subset(cpus: range | tuple[int, ...], node: Topology, name: str = "kmp-hw-subset") -> str:
    return mechanism_of(name).resources(node, case(cpus=tuple(cpus), mechanism=name))


@pytest.mark.parametrize("mechanism", ["kmp-affinity", "kmp-hw-subset", "kmp-hw-subset-eff"])
def test_what_a_runtime_does_not_read_is_a_reason(mechanism: str) -> None:
    mapping = Mapping("m", "pcores", "pin", mechanism)
    variable = mechanism.upper().removesuffix("-EFF").replace("-", "_")
    builds = {name: Build(name, "demo", name) for name in ("libgomp", "pthreads", "libomp")}
    with pytest.raises(CannotMapError, match=f"libgomp does not read {variable}; use omp-places"):
        choose_mechanism(case(mapping=mapping, build=builds["libgomp"]))
    with pytest.raises(CannotMapError, match=f"without OpenMP does not read {variable}"):
        choose_mechanism(case(mapping=mapping, build=builds["pthreads"]))
    assert choose_mechanism(case(mapping=mapping, build=builds["libomp"])) == mechanism


@pytest.mark.parametrize("mechanism", ["kmp-hw-subset", "kmp-hw-subset-eff"])
def test_a_runtime_that_counts_cores_needs_no_launcher(mechanism: str) -> None:
    check_mechanism(case(mechanism=mechanism), I9, [])
    on_one_cpu = Mapping("m", "same-cpu", "pin")
    with pytest.raises(CannotMapError, match=f"{mechanism} does not put two threads on one CPU"):
        check_mechanism(case(mechanism=mechanism, mapping=on_one_cpu), I9, [])


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
        # LP-E-cores are Atoms, too: they are counted after the E-cores.
        (ULTRA, range(4, 14), "10c:intel_atom"),
        (LUNAR_LAKE, range(4, 8), "4c:intel_atom"),
        # Sockets are said where there are several, cores are counted in each of them.
        (SERVER, (0, 1), "1s,2c,1t"),
        (SERVER, (0, 4), "1s,1c"),
        (SERVER, (0, 2), "2s,1c,1t"),
        (SERVER, range(8), "2s,2c"),
        (topology([("0", "P", 0), ("1", "P", 0)]), (0, 1), "2c"),
    ],
)
def test_cpus_are_counted_as_libomp_counts_them(node: Topology, cpus: range, words: str) -> None:
    assert subset(cpus, node) == words


@pytest.mark.parametrize(
    ("node", "cpus", "words"),
    [
        (I9, (0, 1, 8, 9, 10), "2c:eff1,3c:eff0"),
        (ULTRA, (0, 2), "2c:eff1,1t"),
        (LUNAR_LAKE, range(4, 8), "4c:eff0"),
        # Where all cores are alike there is no efficiency to say.
        (SERVER, (0, 1), "1s,2c,1t"),
    ],
)
def test_the_faster_type_has_the_greater_efficiency(
    node: Topology, cpus: range, words: str
) -> None:
    assert subset(cpus, node, "kmp-hw-subset-eff") == words


@pytest.mark.parametrize(
    ("node", "cpus"),
    [
        (I9, (1, 2)),
        (I9, (0, 2)),
        (ULTRA, (1, 3)),
        (ULTRA, (0, 1, 2)),
        # The E-cores would be taken first.
        (ULTRA, (12, 13)),
        (SERVER, (2, 3)),
        (SERVER, (0, 1, 2)),
    ],
)
def test_cpus_that_cannot_be_counted_are_a_reason(node: Topology, cpus: tuple[int, ...]) -> None:
    with pytest.raises(CannotMapError, match=NO_WORDS):
        subset(cpus, node)


def test_kinds_that_were_declared_change_no_core_type() -> None:
    """Of an i9's eight Cores a user calls four P-cores, and all other CPUs E-cores."""
    kinds = {"P": parse_cpulist("0-3"), "E": parse_cpulist("4-23")}
    declared = replace(
        I9,
        kinds=tuple(CoreKind(name, cpus, "declared", True) for name, cpus in kinds.items()),
        cores=tuple(
            replace(core, kind="P" if core.cpus[0] in kinds["P"] else "E") for core in I9.cores
        ),
    )
    assert subset(kinds["P"], declared) == "4c:intel_core"
    assert subset(kinds["E"][4:], declared) == "16c:intel_atom"
    assert subset(range(24), declared) == "8c:intel_core,16c:intel_atom"
    with pytest.raises(CannotMapError, match=NO_WORDS):
        subset(kinds["E"], declared)
    assert subset(range(8), replace(I9, kinds=I9.kinds[:1])) == "8c:intel_core"


def test_kinds_that_are_no_intels_cannot_be_told_apart() -> None:
    amd = replace(I9, core_types=())
    only = "libomp knows core types of Intel's hybrid CPUs only; use omp-places"
    with pytest.raises(CannotMapError, match=only):
        subset((0, 1), amd)
