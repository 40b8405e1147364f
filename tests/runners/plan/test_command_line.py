"""Launch lines and environments are built from the case, for one program or for ranks."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.base.errors import UserError
from pinstudy.configs.app import Build, OwnPlacement
from pinstudy.configs.mapping import Mapping
from pinstudy.configs.study import AppChoice
from pinstudy.configs.variables import SetVariable
from pinstudy.runners.plan.case import Case, case_fields
from pinstudy.runners.plan.command_line import build_launch, program_arguments
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.mpi import multiple_programs, root_problem, started_ranks
from pinstudy.runners.plan.openmp_variables import free_agents
from pinstudy.runners.plan.plan import Plan, make_plan
from tests.runners.cases import DEMO, LIBGOMP, PCORES_PIN, PCORES_SET, SMALL, UNPINNED, case, study
from tests.runners.topologies import topology

TOOLS = {
    **{name: f"/usr/bin/{name}" for name in ("taskset", "numactl", "likwid-pin", "srun")},
    "openmpi": "/usr/bin/mpirun",
    "mpich": "/usr/bin/mpiexec",
}
PROGRAM = Path("/opt/demo-libgomp")


def launched(wanted: Case | None = None, /, **inherited: str) -> Launch:
    return build_launch(wanted or case(), PROGRAM, inherited, TOOLS)


def test_inherited_openmp_variables_are_removed_and_named() -> None:
    removed = ("GOMP_CPU_AFFINITY", "KMP_AFFINITY", "LIKWID_PIN", "OMP_PLACES", "OMP_WAIT_POLICY")
    inherited = {"PATH": "/bin", "HOME": "/home/me", **dict.fromkeys(removed, "1")}
    launch = launched(case(mapping=UNPINNED, mechanism=None), **inherited)
    assert launch.removed_variables == removed
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


# What says nothing of placement, count, schedule or waiting, and what does.
PASSED_ON = [
    *("OMP_STACKSIZE", "OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED", "OMP_CANCELLATION"),
    *("OMP_TARGET_OFFLOAD", "OMP_MAX_TASK_PRIORITY", "OMP_NUM_THREADS_DEV_0"),
    *("OMP_STACKSIZE_ALL", "KMP_STACKSIZE", "KMP_FORCE_REDUCTION", "KMP_DUPLICATE_LIB_OK"),
    *("GOMP_STACKSIZE", "GOMP_NOT_KNOWN_YET", "OMP_AVAILABLE_DEVICES"),
    *("LIBOMP_USE_HIDDEN_HELPER_TASK", "LIBOMP_NUM_HIDDEN_HELPER_THREADS", "TCM_ENABLE"),
]
PLACES_OR_COUNTS = [
    *("OMP_PLACES", "OMP_PROC_BIND", "OMP_PROC_BIND_ALL", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"),
    *("KMP_HW_SUBSET", "KMP_PLACE_THREADS", "KMP_TOPOLOGY_METHOD", "LIKWID_PIN"),
    *("KMP_WARNINGS", "OMP_THREAD_LIMIT", "OMP_THREAD_LIMIT_ALL", "KMP_ALL_THREADS"),
    *("OMP_NUM_THREADS_ALL", "OMP_SCHEDULE_ALL", "OMP_WAIT_POLICY_ALL"),
    # Of OpenMP 6.0, LLVM 20 to 23 and intel-openmp 2026.2.
    *("OMP_THREADS_RESERVE", "OMP_THREADS_RESERVE_ALL", "OMP_NUM_TEAMS", "OMP_TEAMS_THREAD_LIMIT"),
    *("KMP_TEAMS_THREAD_LIMIT", "KMP_INITIAL_THREAD_BIND", "KMP_SCHEDULE"),
    "KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE",
]
OF_WAITING = {"KMP_BLOCKTIME": "infinite", "GOMP_SPINCOUNT": "99", "KMP_MWAIT_HINTS": "1"}


def test_only_variables_that_place_or_count_no_thread_are_passed_on_and_recorded() -> None:
    free = case(mapping=UNPINNED, mechanism=None, wait_policy="runtime-default")
    launch = launched(free, **dict.fromkeys(PASSED_ON + PLACES_OR_COUNTS, "1"))
    assert launch.removed_variables == tuple(sorted(PLACES_OR_COUNTS))
    assert launch.recorded_variables == dict.fromkeys(PASSED_ON, "1")
    assert launch.environment.items() >= launch.recorded_variables.items()
    assert not {*launch.environment} & {*PLACES_OR_COUNTS}


def test_a_runtimes_own_waiting_is_kept_where_the_study_asks_for_no_other() -> None:
    kept = launched(case(wait_policy="runtime-default"), **OF_WAITING)
    assert kept.recorded_variables == OF_WAITING and not kept.removed_variables
    assert "OMP_WAIT_POLICY" not in kept.environment
    asked = launched(case(wait_policy="passive"), **OF_WAITING)
    assert asked.removed_variables == tuple(sorted(OF_WAITING))
    assert not OF_WAITING.keys() & asked.environment.keys()


@pytest.mark.parametrize(
    ("value", "agents"),
    [
        # Beside a team of two. intel-openmp 2026.2 takes the rest of `structured` for agents, too.
        *(("", 0), ("1", 0), ("2", 0), ("4", 2), ("structured(4)", 2), ("free_agent(2)", 2)),
        *(("structured(2),free_agent(3)", 3), ("FREE_AGENT(1), structured(3)", 2)),
        # All that are left; and what runtimes ignore.
        *(("structured", 999_998), ("free_agent", 1_000_000)),
        *(("free_agents(2)", 0), ("-1", 0), ("structured(2) free_agent(2)", 0), ("2,2", 0)),
    ],
)
def test_free_agents_are_as_many_as_are_reserved_beside_the_team(value: str, agents: int) -> None:
    for name in ("OMP_THREADS_RESERVE", "OMP_THREADS_RESERVE_ALL"):
        assert free_agents({name: value}, 2) == agents
    assert free_agents({}, 2) == 0


@pytest.mark.parametrize(
    ("inherited", "told"),
    [("4", "2"), ("4,3", "2,3"), (" 8 , 3,1 ", "2,3,1"), ("4,0", "2"), ("4,", "2"), ("many", "2")],
)
def test_counts_of_nested_regions_stay_behind_the_number_of_threads(
    inherited: str, told: str
) -> None:
    launch = launched(OMP_NUM_THREADS=inherited)
    assert launch.environment["OMP_NUM_THREADS"] == launch.set_variables["OMP_NUM_THREADS"] == told


def test_inherited_variables_that_change_libraries_stay_and_are_told() -> None:
    told = {"MKL_NUM_THREADS": "4", "LD_PRELOAD": "/usr/lib/libjemalloc.so"}
    launch = launched(HOME="/home/me", GLIBC_TUNABLES="glibc.malloc=1" + "x" * 1000, **told)
    assert launch.environment["LD_PRELOAD"] == told["LD_PRELOAD"]
    cut = {"GLIBC_TUNABLES": "glibc.malloc=1" + "x" * 486}
    assert launch.recorded_variables == told | cut


CLOSE = " OMP_PROC_BIND=close"
EXPLICIT = "KMP_AFFINITY=granularity=fine,explicit,proclist="
ATOMS = "cores:intel_atom"
TASKSET = "taskset -c 2,4"


@pytest.mark.parametrize(
    ("mechanism", "binding", "cpus", "variables", "launcher"),
    [
        ("omp-places", "pin", (4, 2), "OMP_PLACES={4},{2}" + CLOSE, TASKSET),
        ("omp-places", "set", (4, 2), "OMP_PLACES={2,4}" + CLOSE, TASKSET),
        ("taskset", "set", range(8, 24), "", "taskset -c 8-23"),
        ("numactl", "set", (8, 9), "", "numactl --physcpubind=8-9 --"),
        ("likwid-pin", "pin", (4, 2), "", f"likwid-pin -q -s 0x0 -c 4,2 /usr/bin/{TASKSET}"),
        # A program that pins its threads itself is started on their CPUs.
        ("program", "pin", (3, 3, 5, 5), "", "taskset -c 3,5"),
        ("kmp-affinity", "pin", (4, 2), EXPLICIT + "[4,2]", TASKSET),
        ("kmp-affinity", "set", (4, 2), EXPLICIT + "[{2,4}]", TASKSET),
        # Under taskset one would not see that the runtime ignored what it was asked.
        (
            *("kmp-hw-subset", "pin", (4, 2)),
            *("KMP_HW_SUBSET=2c,1t KMP_AFFINITY=granularity=fine,compact", ""),
        ),
        ("kmp-hw-subset", "set", (4, 2), "KMP_HW_SUBSET=2c,1t", ""),
        # Places by name start within their CPUs unless the name chooses them.
        ("omp-places-named cores", "pin", (4, 2), "OMP_PLACES=cores" + CLOSE, TASKSET),
        (f"omp-places-named {ATOMS}", "pin", (4, 2), f"OMP_PLACES={ATOMS}{CLOSE}", ""),
    ],
)
def test_launchers_get_physical_cpu_numbers_and_runtimes_their_own_words(
    mechanism: str, binding: str, cpus: Iterable[int], variables: str, launcher: str
) -> None:
    name, _, places = mechanism.partition(" ")
    mapping = Mapping("m", "pcores", binding, name, places or None)
    launch = launched(case(mapping=mapping, mechanism=name, cpus=tuple(cpus), resources="2c,1t"))
    set_to = [f"{variable}={value}" for variable, value in launch.environment.items()]
    binds = [words for words in set_to if words.startswith(("KMP_", "OMP_P"))]
    assert sorted(binds) == sorted(variables.split())
    assert " ".join(launch.launcher).removeprefix("/usr/bin/") == launcher


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
        launch = launched(case(app=app), OMP_NUM_THREADS="7")
        told = {name: v for name, v in launch.environment.items() if name.endswith("_THREADS")}
        assert told == expected
        assert launch.program[1:] == ("-s", "10", "-t2")
    # A build may be told in another way than others.
    other = replace(LIBGOMP, threads_by=("MKL_NUM_THREADS",))
    wanted = case(app=replace(DEMO, threads_by=("RAYON_NUM_THREADS",)), build=other)
    assert launched(wanted).set_variables["MKL_NUM_THREADS"] == "2"
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
    launch = launched(wanted, KMP_AFFINITY="compact", TEAM="none")
    assert launch.set_variables["KMP_AFFINITY"] == "proclist=[4,2],explicit"
    assert launch.environment["TEAM"] == f"2 at {places}, {{0}}"


def test_the_shell_line_does_the_same_by_hand() -> None:
    launch = build_launch(case(), Path("/my dir/demo"), {"KMP_AFFINITY": "x"}, TOOLS)
    assert launch.shell_line == (
        "env -u KMP_AFFINITY LC_ALL=C OMP_NUM_THREADS=2 OMP_DYNAMIC=false OMP_SCHEDULE=static "
        "OMP_WAIT_POLICY=active 'OMP_PLACES={4},{2}' OMP_PROC_BIND=close "
        "/usr/bin/taskset -c 2,4 '/my dir/demo' -q -s 10"
    )


@pytest.mark.parametrize(
    ("mechanism", "mapping", "told"),
    [
        ("omp-places", PCORES_PIN, ["--expect", "0,0,1,1"]),
        ("likwid-pin", PCORES_PIN, ["--expect", "0,0,1,1"]),
        ("kmp-affinity", PCORES_PIN, ["--expect", "0,0,1,1"]),
        ("program", PCORES_PIN, ["--pin=0,0,1,1"]),
        # Not where its threads move, nor where its runtime is to find the CPUs.
        ("taskset", PCORES_SET, []),
        ("kmp-hw-subset", PCORES_PIN, []),
        ("omp-places-named", replace(PCORES_PIN, places="cores"), []),
    ],
)
def test_a_program_is_told_where_its_threads_are_to_be_only_when_they_are_pinned(
    mechanism: str, mapping: Mapping, told: list[str]
) -> None:
    placement = OwnPlacement(pin=("--pin={cpus}",), expect=("--expect", "{cpus}"))
    app = replace(DEMO, placement=placement)
    mapping = replace(mapping, mechanism=mechanism)
    wanted = case(app=app, mapping=mapping, mechanism=mechanism, cpus=(0, 0, 1, 1))
    assert program_arguments(wanted) == ["-q", "-s", "10", *told]
    assert program_arguments(replace(wanted, app=DEMO)) == ["-q", "-s", "10"]


NODE = topology([(str(cpu), "P" if cpu < 4 else "E", 0) for cpu in range(8)])
COMMON = (
    "LC_ALL=C OMP_NUM_THREADS=2 OMP_DYNAMIC=false OMP_SCHEDULE=static HWLOC_COMPONENTS=-x86 "
    "OMP_WAIT_POLICY=active"
)
CORES = Mapping("m", "cores", "pin")
NAMED = "omp-places-named"


def planned(
    mapping: Mapping,
    mpi: str,
    ranks: tuple[int, ...] | None = (2,),
    runtime: str = "libgomp",
    tools: dict[str, str] = TOOLS,
    **app: object,
) -> Plan:
    build = Build(runtime, "demo-mpi", runtime, mpi=mpi)
    demo = replace(DEMO, builds={"v": build}, arguments=("{size}",), **app)  # type: ignore[arg-type]
    choice = AppChoice(demo, (build,), (SMALL,), (2,), ranks=ranks)
    asked = study(apps=(choice,), mappings=(mapping,))
    return make_plan(asked, NODE, Path, tools, lambda *_: None)


def started(
    mapping: Mapping, mpi: str, ranks: int = 2, inherited: Sequence[str] = (), **app: object
) -> tuple[Case, Launch]:
    (case,) = planned(mapping, mpi, (ranks,), **app).cases  # type: ignore[arg-type]
    variables = dict.fromkeys(inherited, "0")
    return case, build_launch(case, Path("/bin/demo-mpi"), variables, TOOLS)


MPIRUN = "/usr/bin/mpirun --bind-to none --map-by slot:OVERSUBSCRIBE"
SRUN = "/usr/bin/srun --cpu-bind=none --overlap --export=ALL -n 2"
HERE, FIRST, SECOND = "/bin/demo-mpi -s 10", "/usr/bin/taskset -c 0-3", "/usr/bin/taskset -c 4-7"


@pytest.mark.parametrize(
    ("mapping", "mpi", "expected"),
    [
        (
            *(CORES, "openmpi"),
            f"OMP_PROC_BIND=close {MPIRUN} -n 1 env 'OMP_PLACES={{0}},{{1}}' /usr/bin/taskset -c "
            f"0-1 {HERE} : -n 1 env 'OMP_PLACES={{2}},{{3}}' /usr/bin/taskset -c 2-3 {HERE}",
        ),
        (
            *(Mapping("m", "cores", "set", ranks_by="kind"), "mpich"),
            "/usr/bin/mpiexec -bind-to none -launcher fork "
            f"-n 1 {FIRST} {HERE} : -n 1 {SECOND} {HERE}",
        ),
        # Ranks with the same words are counted.
        (UNPINNED, "openmpi", f"{MPIRUN} -n 2 {HERE}"),
        (UNPINNED, "srun", f"{SRUN} {HERE}"),
        (
            *(Mapping("m", "cores", "set"), "srun"),
            f"{SRUN} sh -c 'case $SLURM_PROCID in 0) exec {FIRST} {HERE};; 1) exec {SECOND} "
            f"{HERE};; esac'",
        ),
    ],
)
def test_each_rank_has_words_of_its_own(mapping: Mapping, mpi: str, expected: str) -> None:
    _, launch = started(mapping, mpi)
    assert launch.shell_line == f"env {COMMON} {expected}"


@pytest.mark.parametrize(("mpi", "removed"), [("openmpi", 4), ("mpich", 4), ("srun", 7)])
def test_numbers_of_an_outer_step_are_not_the_ranks(mpi: str, removed: int) -> None:
    outer = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
    of_job = ("SLURM_CPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SRUN_CPUS_PER_TASK")
    _, launch = started(UNPINNED, mpi, inherited=(*outer, *of_job, "SLURM_JOB_ID"))
    assert launch.removed_variables == tuple(sorted((*outer, *of_job)[:removed]))
    assert launch.environment["SLURM_JOB_ID"] == "0"
    assert not launched(**dict.fromkeys(outer, "0")).removed_variables


def test_places_and_variables_are_those_of_the_rank() -> None:
    mapping = replace(CORES, mechanism=NAMED, places="cores")
    case, launch = started(mapping, "openmpi", variables=(("HERE", "{cpus}/{places}"),))
    words = [shlex.join(rank.launcher) for rank in launch.ranks]
    assert words == [
        "env 'HERE=0,1,2,3/{0},{1},{2},{3}' /usr/bin/taskset -c 0-3",
        "env 'HERE=4,5,6,7/{4},{5},{6},{7}' /usr/bin/taskset -c 4-7",
    ]
    assert launch.set_variables["OMP_PLACES"] == "cores"
    assert case.teams[1].places == ((4,), (5,), (6,), (7,))
    # One rank is told its places as a program is.
    _, alone = started(CORES, "openmpi", ranks=1)
    assert alone.set_variables["OMP_PLACES"] == "{0},{1}"
    assert shlex.join(alone.command).endswith(" 1 /usr/bin/taskset -c 0-1 /bin/demo-mpi -s 10")


def test_ranks_make_cases_of_their_own() -> None:
    fields = case_fields(started(replace(CORES, ranks_by="kind"), "mpich")[0])
    assert (fields["threads"], fields["cpus"]) == (2, "0-1,4-5")
    ranks = {"number": 2, "mpi": "mpich", "by": "kind", "cpus": ["0-1", "4-5"]}
    assert fields["ranks"] == ranks
    cases = [
        *planned(CORES, "mpich", (1, 2, 4)).cases,
        *planned(CORES, "mpich", None).cases,
        *planned(replace(CORES, ranks_by="spread"), "mpich", (2,)).cases,
    ]
    assert len({case.case_id for case in cases}) == 5
    assert [case.label for case in cases[:2]] == [
        f"demo-libgomp small {number}x2 m current" for number in (1, 2)
    ]
    assert cases[1].all_threads == 4
    # Without ranks nothing tells such a case from one that knows of none.
    assert "ranks" not in case_fields(cases[3])


SUBSET = Mapping("named", "pcpus", "set", "kmp-hw-subset")
LIKWID = "likwid-pin counts the threads that MPI starts in a rank, too; use omp-places"


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (planned(replace(CORES, mechanism="likwid-pin"), "openmpi", (1,)), LIKWID),
        (
            planned(Mapping("m", "pcpus", "pin", NAMED, "cores:intel_core"), "openmpi"),
            "libgomp has no places 'cores:intel_core'; use omp-places",
        ),
        (planned(CORES, "openmpi", (5,)), "10 threads need 10 CPUs; cores has 8 here (0-7)"),
        (
            planned(SUBSET, "openmpi", runtime="libomp"),
            "kmp-hw-subset would take the same cores in every rank; use omp-places",
        ),
        (
            planned(UNPINNED, "mpich", tools={}),
            "mpiexec of MPICH (Hydra) was not found; load its module, or install this system's "
            "package of it",
        ),
    ],
)
def test_what_cannot_be_done_with_ranks_is_left_out(plan: Plan, reason: str) -> None:
    (skipped,) = plan.skipped
    assert skipped.reason == reason


@pytest.mark.parametrize(
    ("word", "changed"),
    [
        *(("a\tb", r"'\t'"), ("a\nb", r"'\n'"), ('A="b"', "'\"'"), ("it's", '"\'"')),
        *(("a\\b", r"'\\'"), ("a#b", "'#'"), ("out.%t", "'%t'"), ("%o", "'%o'")),
    ],
)
def test_a_word_that_srun_would_change_is_refused(word: str, changed: str) -> None:
    with pytest.raises(UserError) as refused:
        multiple_programs([("env", "A=1", "x"), ("env", word, "x")])
    assert str(refused.value).startswith(f"{word!r}: srun would change {changed} in the file")


def test_the_file_and_the_script_for_srun_start_the_same_ranks() -> None:
    ranks = [("env", "A=a b", "echo", "one"), ("printf", "%s|", "two", "")]
    assert multiple_programs(ranks) == '0 env "A=a b" echo one\n1 printf %s| two ""\n'
    file = started_ranks("srun", ("srun",), ranks, "/tmp/programs")
    assert file == ("srun", "-n", "2", "--multi-prog", "/tmp/programs")
    *_, script = started_ranks("srun", ("srun",), ranks)
    for rank, printed in enumerate((b"one\n", b"two||")):
        environment = {"SLURM_PROCID": str(rank)}
        assert subprocess.check_output(["sh", "-c", script], env=environment) == printed


def test_root_is_told_what_open_mpi_wants_of_it() -> None:
    assert root_problem("openmpi", {"OMPI_ALLOW_RUN_AS_ROOT": "1"}) == (
        "Open MPI starts no ranks as root; start as a user, or allow it with "
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    )
    both = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert root_problem("openmpi", both) == ""
    assert root_problem("mpich", {}) == ""
