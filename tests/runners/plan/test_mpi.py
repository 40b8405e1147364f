"""The command lines that start ranks, and what each rank is told."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import UserError
from configs.app import Build
from configs.mapping import Mapping
from configs.study import AppChoice
from runners.plan.case import Case, case_fields
from runners.plan.command_line import build_launch
from runners.plan.launch import Launch
from runners.plan.mpi import multiple_programs, root_problem, started_ranks
from runners.plan.plan import Plan, make_plan
from tests.runners.cases import DEMO, SMALL, UNPINNED, study
from tests.runners.topologies import topology

NODE = topology([(str(cpu), "P" if cpu < 4 else "E", 0) for cpu in range(8)])
TOOLS = {
    **{name: f"/usr/bin/{name}" for name in ("taskset", "numactl", "likwid-pin", "srun")},
    "openmpi": "/usr/bin/mpirun",
    "mpich": "/usr/bin/mpiexec",
}
COMMON = (
    "LC_ALL=C OMP_NUM_THREADS=2 OMP_DYNAMIC=false OMP_SCHEDULE=static HWLOC_COMPONENTS=-x86 "
    "OMP_WAIT_POLICY=active"
)


def planned(
    mapping: Mapping, mpi: str, ranks: tuple[int, ...] | None = (2,), **app: object
) -> Plan:
    build = Build("libgomp", "demo-mpi", "libgomp", mpi=mpi)
    demo = replace(DEMO, builds={"v": build}, arguments=("{size}",), **app)  # type: ignore[arg-type]
    choice = AppChoice(demo, (build,), (SMALL,), (2,), ranks=ranks)
    asked = study(apps=(choice,), mappings=(mapping,))
    return make_plan(asked, NODE, Path, TOOLS, lambda *_: None)


def launched(mapping: Mapping, mpi: str, ranks: int = 2, **app: object) -> tuple[Case, Launch]:
    (case,) = planned(mapping, mpi, (ranks,), **app).cases
    return case, build_launch(case, Path("/bin/demo-mpi"), {}, TOOLS)


@pytest.mark.parametrize(
    ("mapping", "mpi", "expected"),
    [
        (
            Mapping("m", "cores", "pin"),
            "openmpi",
            f"env {COMMON} OMP_PROC_BIND=close /usr/bin/mpirun --bind-to none --map-by "
            "slot:OVERSUBSCRIBE -n 1 env 'OMP_PLACES={0},{1}' /usr/bin/taskset -c 0-1 "
            "/bin/demo-mpi -s 10 : -n 1 env 'OMP_PLACES={2},{3}' /usr/bin/taskset -c 2-3 "
            "/bin/demo-mpi -s 10",
        ),
        (
            Mapping("m", "cores", "set", ranks_by="kind"),
            "mpich",
            f"env {COMMON} /usr/bin/mpiexec -bind-to none -launcher fork -n 1 /usr/bin/taskset -c "
            "0-3 /bin/demo-mpi -s 10 : -n 1 /usr/bin/taskset -c 4-7 /bin/demo-mpi -s 10",
        ),
        # Ranks with the same words are counted.
        (
            UNPINNED,
            "openmpi",
            f"env {COMMON} /usr/bin/mpirun --bind-to none --map-by slot:OVERSUBSCRIBE -n 2 "
            "/bin/demo-mpi -s 10",
        ),
        (
            UNPINNED,
            "srun",
            f"env {COMMON} /usr/bin/srun --cpu-bind=none --overlap -n 2 /bin/demo-mpi -s 10",
        ),
        (
            Mapping("m", "cores", "set"),
            "srun",
            f"env {COMMON} /usr/bin/srun --cpu-bind=none --overlap -n 2 sh -c 'case $SLURM_PROCID "
            "in 0) exec /usr/bin/taskset -c 0-3 /bin/demo-mpi -s 10;; 1) exec /usr/bin/taskset -c "
            "4-7 /bin/demo-mpi -s 10;; esac'",
        ),
    ],
)
def test_each_rank_has_words_of_its_own(mapping: Mapping, mpi: str, expected: str) -> None:
    _, launch = launched(mapping, mpi)
    assert launch.shell_line == expected


def test_one_rank_is_told_its_places_as_a_program_is() -> None:
    case, launch = launched(Mapping("m", "cores", "pin"), "openmpi", ranks=1)
    assert launch.set_variables["OMP_PLACES"] == "{0},{1}"
    assert (
        launch.command[-6:]
        == ("1", "/usr/bin/taskset", "-c", "0-1", "/bin/demo-mpi", "-s", "10")[-6:]
    )
    assert case_fields(case)["ranks"] == {"number": 1, "mpi": "openmpi", "cpus": ["0-1"]}


def test_places_and_variables_are_those_of_the_rank() -> None:
    mapping = Mapping("m", "cores", "pin", "omp-places-named", "cores")
    case, launch = launched(mapping, "openmpi", variables=(("HERE", "{cpus}/{places}"),))
    words = [shlex.join(rank.launcher) for rank in launch.ranks]
    assert words == [
        "env 'HERE=0,1,2,3/{0},{1},{2},{3}' /usr/bin/taskset -c 0-3",
        "env 'HERE=4,5,6,7/{4},{5},{6},{7}' /usr/bin/taskset -c 4-7",
    ]
    assert launch.set_variables["OMP_PLACES"] == "cores"
    assert case.teams[1].places == ((4,), (5,), (6,), (7,))


def test_ranks_make_cases_of_their_own() -> None:
    fields = case_fields(launched(Mapping("m", "cores", "pin", ranks_by="kind"), "mpich")[0])
    assert (fields["threads"], fields["cpus"]) == (2, "0-1,4-5")
    assert fields["ranks"] == {
        "number": 2,
        "mpi": "mpich",
        "by": "kind",
        "cpus": ["0-1", "4-5"],
    }
    cases = [
        *planned(Mapping("m", "cores", "pin"), "mpich", (1, 2, 4)).cases,
        *planned(Mapping("m", "cores", "pin"), "mpich", None).cases,
        *planned(Mapping("m", "cores", "pin", ranks_by="spread"), "mpich", (2,)).cases,
    ]
    assert len({case.case_id for case in cases}) == 5
    assert [case.label for case in cases[:2]] == [
        "demo-libgomp small 1x2 m current",
        "demo-libgomp small 2x2 m current",
    ]
    assert cases[1].all_threads == 4
    # Without ranks nothing tells such a case from one that knows of none.
    assert "ranks" not in case_fields(cases[3])


@pytest.mark.parametrize(
    ("mapping", "ranks", "reason"),
    [
        (
            Mapping("m", "cores", "pin", "likwid-pin"),
            1,
            "likwid-pin counts the threads that MPI starts in a rank, too; use omp-places",
        ),
        (
            Mapping("m", "pcpus", "pin", "omp-places-named", "cores:intel_core"),
            2,
            "libgomp has no places 'cores:intel_core'; use omp-places",
        ),
        (Mapping("m", "cores", "pin"), 5, "10 threads need 10 CPUs; cores has 8 here (0-7)"),
    ],
)
def test_what_cannot_be_done_with_ranks_is_left_out(
    mapping: Mapping, ranks: int, reason: str
) -> None:
    (skipped,) = planned(mapping, "openmpi", (ranks,)).skipped
    assert skipped.reason == reason


def test_cores_that_every_rank_would_take_are_left_out() -> None:
    build = Build("libomp", "demo-mpi", "libomp", mpi="openmpi")
    demo = replace(DEMO, builds={"v": build})
    choice = AppChoice(demo, (build,), (SMALL,), (2,), ranks=(2,))
    named = Mapping("named", "pcpus", "set", "kmp-hw-subset")
    asked = study(apps=(choice,), mappings=(named,))
    (skipped,) = make_plan(asked, NODE, Path, TOOLS, lambda *_: None).skipped
    assert skipped.reason == (
        "kmp-hw-subset would take the same cores in every rank; use omp-places"
    )


def test_a_launcher_that_is_not_there_is_named() -> None:
    build = Build("libgomp", "demo-mpi", "libgomp", mpi="mpich")
    choice = AppChoice(replace(DEMO, builds={"v": build}), (build,), (SMALL,), (2,), (2,))
    asked = study(apps=(choice,), mappings=(UNPINNED,))
    (skipped,) = make_plan(asked, NODE, Path, {}, lambda *_: None).skipped
    assert skipped.reason == (
        "mpiexec of MPICH (Hydra) was not found; load its module, or install this system's package "
        "of it"
    )


@pytest.mark.parametrize(
    ("word", "what"),
    [
        *(
            ("a\tb", r"'\t'"),
            ("a\nb", r"'\n'"),
            ('A="b"', "'\"'"),
            ("it's", '"\'"'),
            ("a\\b", r"'\\'"),
        ),
        *(("a#b", "'#'"), ("out.%t", "'%t'"), ("%o", "'%o'")),
    ],
)
def test_a_word_that_srun_would_change_is_refused(word: str, what: str) -> None:
    with pytest.raises(UserError) as refused:
        multiple_programs([("env", "A=1", "x"), ("env", word, "x")])
    assert str(refused.value).startswith(f"{word!r}: srun would change {what} in the file")


def test_the_file_and_the_script_for_srun_start_the_same_ranks() -> None:
    ranks = [("env", "A=a b", "echo", "one"), ("printf", "%s|", "two", "")]
    assert multiple_programs(ranks) == '0 env "A=a b" echo one\n1 printf %s| two ""\n'
    file = started_ranks("srun", ("srun",), ranks, "/tmp/programs")
    assert file == ("srun", "-n", "2", "--multi-prog", "/tmp/programs")
    *_, script = started_ranks("srun", ("srun",), ranks)
    printed = [
        subprocess.run(
            ["sh", "-c", script],
            env={"SLURM_PROCID": str(rank)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for rank in (0, 1)
    ]
    assert printed == ["one\n", "two||"]


def test_root_is_told_what_open_mpi_wants_of_it() -> None:
    assert root_problem("openmpi", {"OMPI_ALLOW_RUN_AS_ROOT": "1"}) == (
        "Open MPI starts no ranks as root; start as a user, or allow it with "
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    )
    both = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert root_problem("openmpi", both) == ""
    assert root_problem("mpich", {}) == ""
