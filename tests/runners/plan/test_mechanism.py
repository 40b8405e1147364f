"""Which mechanism binds a case's threads, and whether the node can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from configs.app import App, Build, OwnPlacement
from configs.mapping import Mapping
from configs.mechanisms import KNOWN
from runners.node.topology import Topology
from runners.plan import mechanism as choice
from runners.plan.mechanisms import MECHANISMS
from runners.plan.selection import CannotMapError
from tests.runners.cases import DEMO, case
from tests.runners.topologies import i9_14900k_without_smt

I9 = i9_14900k_without_smt()
PIN = Mapping("m", "pcores", "pin")
PINS_ITSELF = replace(DEMO, placement=OwnPlacement(pin=("--pin", "{cpus}")))

P_CORES_SET, FREE = Mapping("m", "pcores", "set"), Mapping("m", "all", "none")
BY_PLACES = Mapping("m", "pcores", "pin", "omp-places")


def choose_mechanism(mapping: Mapping, app: App, runtime: str, threads: int) -> str | None:
    """Choose for a build of the app with this OpenMP runtime."""
    build = Build(runtime, "program", runtime)
    return choice.choose_mechanism(case(mapping=mapping, app=app, build=build, threads=threads))


def check_mechanism(
    mechanism: str, mapping: Mapping, threads: int, node: Topology, tools: list[str]
) -> None:
    """Check it for the first threads of the demo app."""
    bound = case(mapping=mapping, mechanism=mechanism, threads=threads)
    choice.check_mechanism(bound, node, tools)


def test_each_mechanism_that_a_mapping_may_name_is_in_the_table() -> None:
    assert [mechanism.name for mechanism in MECHANISMS] == [known.name for known in KNOWN]


def test_no_mechanism_binds_by_variables_that_a_program_may_inherit() -> None:
    places = ((0,), (1,))
    bound = case(places=places, resources="2c")
    for mechanism, known in zip(MECHANISMS, KNOWN, strict=True):
        for binding in known.bindings:
            mapping = Mapping("m", "pcores", binding, known.name, "cores")
            variables = mechanism.variables(replace(bound, mapping=mapping))
            assert set(variables) <= set(known.variables)


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
