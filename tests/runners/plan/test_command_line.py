"""Launch lines and environments are built from the case, and what a program may need besides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from configs.app import OwnPlacement
from configs.mapping import Mapping
from configs.variables import SetVariable
from runners.plan.command_line import build_launch, program_arguments
from tests.runners.cases import DEMO, ECORES_SET, LIBGOMP, PCORES_PIN, PCORES_SET, UNPINNED, case

TOOLS = {name: f"/usr/bin/{name}" for name in ("taskset", "numactl", "likwid-pin")}
PROGRAM = Path("/opt/demo-libgomp")


def test_inherited_openmp_variables_are_removed_and_named() -> None:
    inherited = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "OMP_PLACES": "cores",
        "KMP_AFFINITY": "compact",
        "GOMP_CPU_AFFINITY": "0",
        "LIKWID_PIN": "1",
        "OMP_WAIT_POLICY": "passive",
    }
    launch = build_launch(case(mapping=UNPINNED, mechanism=None), PROGRAM, inherited, TOOLS)
    assert launch.removed_variables == (
        "GOMP_CPU_AFFINITY",
        "KMP_AFFINITY",
        "LIKWID_PIN",
        "OMP_PLACES",
        "OMP_WAIT_POLICY",
    )
    assert launch.environment == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LC_ALL": "C",
        "OMP_NUM_THREADS": "2",
        "OMP_DYNAMIC": "false",
        "OMP_SCHEDULE": "static",
        "OMP_WAIT_POLICY": "active",
    }
    assert launch.command == ("/opt/demo-libgomp", "-q", "-s", "10")


# What says nothing of placement, count, schedule or waiting.
PASSED_ON = {
    "OMP_STACKSIZE": "64M",
    "OMP_MAX_ACTIVE_LEVELS": "2",
    "OMP_NESTED": "true",
    "OMP_CANCELLATION": "true",
    "OMP_TARGET_OFFLOAD": "disabled",
    "OMP_MAX_TASK_PRIORITY": "3",
    "OMP_NUM_THREADS_DEV_0": "8",
    "OMP_STACKSIZE_ALL": "32M",
    "KMP_STACKSIZE": "64M",
    "KMP_FORCE_REDUCTION": "tree",
    "KMP_DUPLICATE_LIB_OK": "1",
    "GOMP_STACKSIZE": "65536",
    "GOMP_NOT_KNOWN_YET": "1",
}
PLACES_OR_COUNTS = [
    *("OMP_PLACES", "OMP_PROC_BIND", "OMP_PROC_BIND_ALL", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"),
    *("KMP_HW_SUBSET", "KMP_PLACE_THREADS", "KMP_TOPOLOGY_METHOD", "LIKWID_PIN", "KMP_WARNINGS"),
    *("OMP_THREAD_LIMIT", "OMP_THREAD_LIMIT_ALL", "KMP_ALL_THREADS", "OMP_NUM_THREADS_ALL"),
    *("OMP_SCHEDULE_ALL", "OMP_WAIT_POLICY_ALL"),
]
OF_WAITING = {"KMP_BLOCKTIME": "infinite", "GOMP_SPINCOUNT": "99", "KMP_LIBRARY": "turnaround"}


def test_variables_that_place_no_thread_are_passed_on_and_recorded() -> None:
    launch = build_launch(case(), PROGRAM, PASSED_ON, TOOLS)
    assert launch.removed_variables == ()
    assert launch.recorded_variables == PASSED_ON
    assert launch.environment.items() >= PASSED_ON.items()


@pytest.mark.parametrize("name", PLACES_OR_COUNTS)
def test_variables_that_place_or_count_threads_are_not_passed_on(name: str) -> None:
    free = case(mapping=UNPINNED, mechanism=None, wait_policy="runtime-default")
    launch = build_launch(free, PROGRAM, {name: "1"}, TOOLS)
    assert launch.removed_variables == (name,)
    assert name not in launch.environment and name not in launch.recorded_variables


def test_a_runtimes_own_waiting_is_kept_where_the_study_asks_for_no_other() -> None:
    kept = build_launch(case(wait_policy="runtime-default"), PROGRAM, OF_WAITING, TOOLS)
    assert kept.recorded_variables == OF_WAITING and not kept.removed_variables
    asked = build_launch(case(wait_policy="passive"), PROGRAM, OF_WAITING, TOOLS)
    assert asked.removed_variables == tuple(sorted(OF_WAITING))
    assert not OF_WAITING.keys() & asked.environment.keys()


@pytest.mark.parametrize(
    ("inherited", "told"),
    [("4", "2"), ("4,3", "2,3"), (" 8 , 3,1 ", "2,3,1"), ("4,0", "2"), ("4,", "2"), ("many", "2")],
)
def test_counts_of_nested_regions_stay_behind_the_number_of_threads(
    inherited: str, told: str
) -> None:
    launch = build_launch(case(), PROGRAM, {"OMP_NUM_THREADS": inherited}, TOOLS)
    assert launch.environment["OMP_NUM_THREADS"] == launch.set_variables["OMP_NUM_THREADS"] == told


def test_inherited_variables_that_change_libraries_stay_and_are_told() -> None:
    inherited = {
        "HOME": "/home/me",
        "MKL_NUM_THREADS": "4",
        "LD_PRELOAD": "/usr/lib/libjemalloc.so",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1" + "x" * 1000,
    }
    launch = build_launch(case(), PROGRAM, inherited, TOOLS)
    assert launch.environment["LD_PRELOAD"] == "/usr/lib/libjemalloc.so"
    assert launch.recorded_variables == {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1" + "x" * 478,
        "LD_PRELOAD": "/usr/lib/libjemalloc.so",
        "MKL_NUM_THREADS": "4",
    }


def test_pinning_by_places_names_one_cpu_each_in_thread_order() -> None:
    launch = build_launch(case(), PROGRAM, {}, TOOLS)
    assert launch.environment["OMP_PLACES"] == "{4},{2}"
    assert launch.environment["OMP_PROC_BIND"] == "close"
    assert launch.launcher == ("/usr/bin/taskset", "-c", "2,4")
    as_a_set = case(mapping=ECORES_SET, mechanism="omp-places", cpus=(8, 9, 10))
    launch = build_launch(as_a_set, PROGRAM, {}, TOOLS)
    assert launch.environment["OMP_PLACES"] == "{8,9,10}"


@pytest.mark.parametrize(
    ("mechanism", "mapping", "cpus", "launcher"),
    [
        ("taskset", ECORES_SET, range(8, 24), "/usr/bin/taskset -c 8-23"),
        ("numactl", ECORES_SET, (8, 9), "/usr/bin/numactl --physcpubind=8-9 --"),
        (
            *("likwid-pin", PCORES_PIN, (4, 2)),
            "/usr/bin/likwid-pin -q -s 0x0 -c 4,2 /usr/bin/taskset -c 2,4",
        ),
        # A program that pins its threads itself is started on their CPUs.
        ("program", PCORES_PIN, (3, 3, 5, 5), "/usr/bin/taskset -c 3,5"),
    ],
)
def test_launchers_get_physical_cpu_numbers_and_leave_openmp_alone(
    mechanism: str, mapping: Mapping, cpus: Iterable[int], launcher: str
) -> None:
    wanted = case(mapping=mapping, mechanism=mechanism, cpus=tuple(cpus))
    launch = build_launch(wanted, PROGRAM, {}, TOOLS)
    assert " ".join(launch.launcher) == launcher
    assert not {"OMP_PLACES", "OMP_PROC_BIND"} & set(launch.environment)


@pytest.mark.parametrize(
    ("mechanism", "binding", "variables", "launcher"),
    [
        (
            *("kmp-affinity", "pin"),
            {"KMP_AFFINITY": "granularity=fine,explicit,proclist=[4,2]"},
            "/usr/bin/taskset -c 2,4",
        ),
        (
            *("kmp-affinity", "set"),
            {"KMP_AFFINITY": "granularity=fine,explicit,proclist=[{2,4}]"},
            "/usr/bin/taskset -c 2,4",
        ),
        # Under taskset one would not see that the runtime ignored what it was asked.
        (
            *("kmp-hw-subset", "pin"),
            {"KMP_HW_SUBSET": "2c,1t", "KMP_AFFINITY": "granularity=fine,compact"},
            "",
        ),
        ("kmp-hw-subset", "set", {"KMP_HW_SUBSET": "2c,1t"}, ""),
    ],
)
def test_libomp_is_asked_in_its_own_words(
    mechanism: str, binding: str, variables: dict[str, str], launcher: str
) -> None:
    mapping = Mapping("m", "pcores", binding, mechanism)
    wanted = case(mapping=mapping, mechanism=mechanism, resources="2c,1t")
    launch = build_launch(wanted, PROGRAM, {}, TOOLS)
    binds = {
        name: value
        for name, value in launch.environment.items()
        if name.startswith(("KMP_", "OMP_PLACES", "OMP_PROC_BIND"))
    }
    assert binds == variables
    assert " ".join(launch.launcher) == launcher


@pytest.mark.parametrize(
    ("places", "launcher"), [("cores", "/usr/bin/taskset -c 2,4"), ("cores:intel_core", "")]
)
def test_places_by_name_start_within_their_cpus_unless_the_name_chooses_them(
    places: str, launcher: str
) -> None:
    mapping = Mapping("m", "pcpus", "pin", "omp-places-named", places)
    launch = build_launch(case(mapping=mapping, mechanism=mapping.mechanism), PROGRAM, {}, TOOLS)
    assert launch.environment["OMP_PLACES"] == places
    assert launch.environment["OMP_PROC_BIND"] == "close"
    assert " ".join(launch.launcher) == launcher


def test_a_program_expects_no_cpus_that_its_runtime_is_to_find() -> None:
    app = replace(DEMO, placement=OwnPlacement(expect=("--expect", "{cpus}")))
    for mechanism, expects in (
        ("omp-places", True),
        ("kmp-affinity", True),
        ("kmp-hw-subset", False),
        ("omp-places-named", False),
    ):
        mapping = Mapping("m", "pcores", "pin", mechanism, "cores")
        arguments = program_arguments(case(app=app, mapping=mapping, mechanism=mechanism))
        assert (arguments[-2:] == ["--expect", "4,2"]) is expects


@pytest.mark.parametrize(
    ("schedule", "of_libomp"),
    [
        ("static", "static"),
        ("static,1", "static,1"),
        ("auto", "auto"),
        ("dynamic", "monotonic:dynamic"),
        ("guided,4", "monotonic:guided,4"),
        ("monotonic:dynamic", "monotonic:dynamic"),
        ("nonmonotonic:dynamic,2", "nonmonotonic:dynamic,2"),
    ],
)
def test_libomp_divides_loops_in_turns_unless_the_study_asks_for_more(
    schedule: str, of_libomp: str
) -> None:
    libomp = replace(LIBGOMP, name="libomp", runtime="libomp")
    for build, expected in ((libomp, of_libomp), (LIBGOMP, schedule)):
        launch = build_launch(case(build=build, schedule=schedule), PROGRAM, {}, TOOLS)
        assert launch.environment["OMP_SCHEDULE"] == expected


def test_a_program_is_told_its_thread_count_in_its_own_way() -> None:
    ways = {
        ("OPENBLAS_NUM_THREADS",): {"OPENBLAS_NUM_THREADS": "2"},
        ("arguments",): {},
        ("arguments", "OMP_NUM_THREADS"): {"OMP_NUM_THREADS": "2"},
    }
    for by, expected in ways.items():
        app = replace(DEMO, threads_by=by, arguments=("{size}", "-t{threads}"))
        launch = build_launch(case(app=app), PROGRAM, {"OMP_NUM_THREADS": "7"}, TOOLS)
        told = {name: v for name, v in launch.environment.items() if name.endswith("_THREADS")}
        assert told == expected
        assert launch.program[1:] == ("-s", "10", "-t2")
    # A build may be told in another way than others.
    other = replace(LIBGOMP, threads_by=("MKL_NUM_THREADS",))
    wanted = case(app=replace(DEMO, threads_by=("RAYON_NUM_THREADS",)), build=other)
    assert build_launch(wanted, PROGRAM, {}, TOOLS).set_variables["MKL_NUM_THREADS"] == "2"
    assert wanted.threads_by == ("MKL_NUM_THREADS",)


@pytest.mark.parametrize(
    ("mapping", "named", "places"),
    [
        (PCORES_PIN, (), "{4},{2}"),
        (PCORES_SET, (), "{2,4}"),
        (UNPINNED, (), "{2,4}"),
        # Places that the mapping names are those of the node.
        (PCORES_PIN, ((2, 3), (4, 5)), "{2,3},{4,5}"),
    ],
)
def test_variables_of_files_name_the_threads_and_cpus_of_the_case(
    mapping: Mapping, named: tuple[tuple[int, ...], ...], places: str
) -> None:
    variables = (
        SetVariable("KMP_AFFINITY", "proclist=[{cpus}],explicit", "mapping m"),
        SetVariable("TEAM", "{threads} at {places}, {0}", "app demo"),
    )
    wanted = case(mapping=mapping, mechanism="taskset", variables=variables, places=named)
    launch = build_launch(wanted, PROGRAM, {"KMP_AFFINITY": "compact", "TEAM": "none"}, TOOLS)
    assert launch.set_variables["KMP_AFFINITY"] == "proclist=[4,2],explicit"
    assert launch.environment["TEAM"] == f"2 at {places}, {{0}}"


def test_the_runtime_s_own_wait_policy_is_left_unset() -> None:
    launch = build_launch(case(wait_policy="runtime-default"), PROGRAM, {}, TOOLS)
    assert "OMP_WAIT_POLICY" not in launch.environment


def test_the_shell_line_does_the_same_by_hand() -> None:
    launch = build_launch(case(), Path("/my dir/demo"), {"KMP_AFFINITY": "x"}, TOOLS)
    assert launch.shell_line == (
        "env -u KMP_AFFINITY LC_ALL=C OMP_NUM_THREADS=2 OMP_DYNAMIC=false OMP_SCHEDULE=static "
        "OMP_WAIT_POLICY=active 'OMP_PLACES={4},{2}' OMP_PROC_BIND=close "
        "/usr/bin/taskset -c 2,4 '/my dir/demo' -q -s 10"
    )


def test_a_program_is_told_where_its_threads_are_to_be_only_when_they_are_pinned() -> None:
    placement = OwnPlacement(pin=("--pin={cpus}",), expect=("--expect", "{cpus}"))
    app = replace(DEMO, placement=placement)

    def arguments(**changes: object) -> list[str]:
        return program_arguments(case(app=app, cpus=(0, 0, 1, 1), **changes))

    assert arguments(mechanism="omp-places")[-2:] == ["--expect", "0,0,1,1"]
    assert arguments(mechanism="likwid-pin")[-2:] == ["--expect", "0,0,1,1"]
    assert arguments(mechanism="program")[-1] == "--pin=0,0,1,1"
    assert arguments(mechanism="taskset", mapping=PCORES_SET) == ["-q", "-s", "10"]
    assert program_arguments(case()) == ["-q", "-s", "10"]
