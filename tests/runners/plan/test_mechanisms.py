"""Which mechanism binds a case's threads, what it says, and whether the node can."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.configs.app import App, Build, OwnPlacement
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.mechanisms import KNOWN
from pinstudy.runners.node.topology import CoreKind, Topology
from pinstudy.runners.plan.command_line import check_mechanism, choose_mechanism
from pinstudy.runners.plan.mechanisms import MECHANISMS, mechanism_of
from pinstudy.runners.plan.selection import CannotMapError
from tests.runners.cases import DEMO, case
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
PINS_ITSELF = replace(DEMO, placement=OwnPlacement(pin=("--pin", "{cpus}")))
NAMED = "omp-places-named"
P_CORES = f"pcpus pin {NAMED} cores:intel_core"
SUBSETS = ("kmp-hw-subset", "kmp-hw-subset-eff")


def mapping(words: str) -> Mapping:
    """Return a mapping of `selection binding [mechanism [places]]`."""
    return Mapping("m", *words.split())  # type: ignore[arg-type]


def chosen(words: str, runtime: str, threads: int = 2, app: App = DEMO) -> str | None:
    """Choose for a build of the app with this OpenMP runtime."""
    build = Build(runtime, "program", runtime)
    return choose_mechanism(case(mapping=mapping(words), app=app, build=build, threads=threads))


def check(words: str, node: Topology, tools: str, threads: int = 2, cpus: str = "4,2") -> None:
    """Check what the words name, for threads of the demo app."""
    wanted = mapping(words)
    listed = parse_cpulist(cpus)
    check_mechanism(
        case(mapping=wanted, mechanism=wanted.mechanism, threads=threads, cpus=listed),
        node,
        tools.split(),
    )


def test_no_mechanism_binds_by_variables_that_a_program_may_inherit() -> None:
    bound = case(places=((0,), (1,)), resources="2c")
    # Each that a mapping may name is in the table.
    for mechanism, known in zip(MECHANISMS, KNOWN, strict=True):
        assert mechanism.name == known.name
        for binding in known.bindings:
            by_name = Mapping("m", "pcores", binding, known.name, "cores")
            variables = mechanism.variables(replace(bound, mapping=by_name))
            assert set(variables) <= set(known.variables)


@pytest.mark.parametrize(
    ("words", "app", "runtime", "threads", "mechanism"),
    [
        ("pcores pin", DEMO, "libgomp", 2, "omp-places"),
        ("pcores pin", DEMO, "none", 1, "taskset"),
        ("pcores pin", DEMO, "pthreads", 1, "taskset"),
        ("pcores pin", PINS_ITSELF, "pthreads", 2, "program"),
        ("pcores pin", DEMO, "other", 1, "taskset"),
        ("pcores set", DEMO, "libomp", 2, "taskset"),
        ("pcores set", DEMO, "other", 2, "taskset"),
        ("all none", DEMO, "libomp", 2, None),
        ("pcores pin kmp-affinity", DEMO, "libomp", 2, "kmp-affinity"),
        *((f"pcores pin {name}", DEMO, "libomp", 2, name) for name in SUBSETS),
        # libgomp knows places by name, but no core types.
        (f"all pin {NAMED} cores", DEMO, "libgomp", 2, NAMED),
        (P_CORES, DEMO, "libomp", 2, NAMED),
        # Of an unknown runtime only by a name.
        ("pcores pin omp-places", DEMO, "other", 2, "omp-places"),
        ("pcores pin likwid-pin", DEMO, "other", 2, "likwid-pin"),
    ],
)
def test_mechanisms_follow_binding_and_runtime(
    words: str, app: App, runtime: str, threads: int, mechanism: str | None
) -> None:
    assert chosen(words, runtime, threads, app) == mechanism


UNREAD = "libgomp does not read {}; use omp-places"
ITSELF = "demo cannot pin its threads itself; "


@pytest.mark.parametrize(
    ("words", "runtime", "reason"),
    [
        ("pcores pin omp-places", "none", "does not read OMP_PLACES; use taskset"),
        ("pcores pin omp-places", "pthreads", "does not read OMP_PLACES; use likwid-pin"),
        ("pcores set omp-places", "pthreads", "does not read OMP_PLACES; use taskset"),
        ("pcores pin program", "libgomp", ITSELF + "use likwid-pin"),
        # likwid-pin takes each CPU once.
        ("same-cpu pin program", "pthreads", ITSELF + "nothing else puts two of its threads"),
        ("same-cpu pin program", "libgomp", ITSELF + "use omp-places"),
        ("pcores pin kmp-affinity", "libgomp", UNREAD.format("KMP_AFFINITY")),
        ("pcores pin kmp-affinity", "pthreads", "without OpenMP does not read KMP_AFFINITY"),
        *((f"pcores pin {name}", "libgomp", UNREAD.format("KMP_HW_SUBSET")) for name in SUBSETS),
        (P_CORES, "libgomp", "libgomp has no places 'cores:intel_core'"),
        ("pcores pin", "other", r"need not read OMP_PLACES.* omp-places or likwid-pin"),
    ],
)
def test_what_a_runtime_does_not_read_is_a_reason(words: str, runtime: str, reason: str) -> None:
    with pytest.raises(CannotMapError, match=reason):
        chosen(words, runtime, threads=1 if runtime == "none" else 2)


ONLY = "libomp knows core types of Intel's hybrid CPUs only; use omp-places"


@pytest.mark.parametrize(
    ("words", "node", "tools", "reason"),
    [
        ("pcores pin taskset", I9, "taskset", "one mask for all threads"),
        ("pcores set numactl", I9, "taskset", "numactl is not installed"),
        # It puts all four threads on CPU 0 when it is given -c 0,0,1,1 (5.2).
        ("same-cpu pin likwid-pin", I9, "likwid-pin", "two threads on one CPU"),
        *((f"same-cpu pin {name}", I9, "", f"{name} does not put two") for name in SUBSETS),
        (f"all pin {NAMED} cores", I9, "", "taskset is not installed"),
        *((P_CORES, replace(node, core_types=()), "taskset", ONLY) for node in (I9, SERVER)),
    ],
)
def test_what_a_node_cannot_do_is_a_reason(
    words: str, node: Topology, tools: str, reason: str
) -> None:
    with pytest.raises(CannotMapError, match=reason):
        check(words, node, tools, threads=4)


def test_a_runtime_that_chooses_the_cpus_needs_no_launcher() -> None:
    for name in SUBSETS:
        check(f"pcores pin {name}", I9, "")
    check(P_CORES, I9, "", cpus="0-7")
    # Plain cores are understood everywhere.
    check(f"all pin {NAMED} cores", replace(I9, core_types=()), "taskset")


def test_likwid_pin_is_refused_inside_a_restricted_cpu_set() -> None:
    with pytest.raises(CannotMapError, match="logical"):
        check("pcores pin likwid-pin", i9_14900k_without_smt("0-3"), "likwid-pin")
    check("pcores pin likwid-pin", I9, "likwid-pin")


def test_a_core_type_that_takes_other_cpus_than_the_selection_is_refused() -> None:
    atoms = f"ecpus pin {NAMED} cores:intel_atom"
    check(atoms, I9, "", cpus="8-23")
    # On this node the LP-E-cores are Atoms, too.
    told = "cores:intel_atom takes CPUs 4-13 here, and the selection ecpus has 4-11; use omp-places"
    with pytest.raises(CannotMapError, match=told):
        check(atoms, ULTRA, "", cpus="4-11")


def subset(cpus: Iterable[int], node: Topology, name: str = "kmp-hw-subset") -> str:
    return mechanism_of(name).resources(node, case(cpus=tuple(cpus), mechanism=name))


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


NO_WORDS = r"KMP_HW_SUBSET cannot say CPUs .*; use omp-places"


@pytest.mark.parametrize(
    ("node", "cpus", "reason"),
    [
        (I9, (1, 2), NO_WORDS),
        (I9, (0, 2), NO_WORDS),
        (ULTRA, (1, 3), NO_WORDS),
        (ULTRA, (0, 1, 2), NO_WORDS),
        # The E-cores would be taken first.
        (ULTRA, (12, 13), NO_WORDS),
        (SERVER, (2, 3), NO_WORDS),
        (SERVER, (0, 1, 2), NO_WORDS),
        (replace(I9, core_types=()), (0, 1), ONLY),
    ],
)
def test_cpus_that_cannot_be_counted_are_a_reason(
    node: Topology, cpus: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(CannotMapError, match=reason):
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


def named_places(name: str, cpus: Iterable[int], node: Topology) -> tuple[tuple[int, ...], ...]:
    by_name = Mapping("m", "all", "pin", NAMED, name)
    return mechanism_of(NAMED).places(node, case(mapping=by_name, cpus=tuple(cpus)))


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
