"""A request is checked, and its search is found on any node without running anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.errors import ConfigError, StudyError, UserError
from pinstudy.configs.library import load_study
from pinstudy.runners.advise.request import make_request
from pinstudy.runners.advise.search import (
    GovernorChoice,
    Search,
    choose_governors,
    make_search,
    write_search,
)
from pinstudy.runners.doctor.report import probe
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.study.machine import Machine, open_machine
from tests.runners.advise.programs import request
from tests.support.programs import built
from tests.support.studies import write_program
from tests.support.tools import need_tool
from tests.support.trees import CPU, build_tree, write


def test_what_is_not_said_is_what_most_want() -> None:
    made = request()
    assert (made.of, made.higher, made.margin) == ("time", False, 0.01)
    assert (made.threads, made.schedules, made.governors) == (None, None, None)
    assert (made.limit_s, made.directory) == (3600, str(Path.cwd()))


@pytest.mark.parametrize(
    ("options", "time_budget_s", "runs"),
    [
        ({}, 1800, None),
        # A time that is given limits alone unless runs are given, too.
        ({"time_budget": "5 min"}, 300, "any"),
        ({"runs": "40"}, 1800, 40),
        ({"time_budget": "5 min", "runs": "40"}, 300, 40),
    ],
)
def test_a_search_ends_by_time_or_by_runs(
    options: dict[str, str], time_budget_s: float, runs: int | str | None
) -> None:
    made = request(**options)
    assert (made.time_budget_s, made.runs) == (time_budget_s, runs)


def test_every_option_is_taken() -> None:
    made = request(
        **{"metric": r"GFLOP/s: (\S+)", "better": "higher", "margin": "2%", "timeout": "90 s"},
        **{"threads": "8, 2", "schedules": "static, dynamic,4", "check": "residual < 1e-9"},
        governors="current,performance",
    )
    assert (made.of, made.pattern, made.higher) == ("metric", r"GFLOP/s: (\S+)", True)
    assert (made.margin, made.limit_s) == (0.02, 90)
    assert (made.threads, made.schedules) == ((8, 2), ("static", "dynamic,4"))
    assert made.governors == ("current", "performance")
    assert (made.check_pattern, made.check_command) == ("residual < 1e-9", ())
    # No schedules are something else than none said.
    assert request(schedules="none").schedules == ()


def test_variables_for_every_run_are_taken_and_the_later_of_a_name_counts() -> None:
    made = request(variables=("OMP_STACKSIZE=64M", "MODE=a=b", "OMP_STACKSIZE=1G", "EMPTY="))
    assert dict(made.variables) == {"OMP_STACKSIZE": "1G", "MODE": "a=b", "EMPTY": ""}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"objective": "time", "metric": "(x)"}, "--objective and --metric are two questions"),
        ({"better": "higher"}, "--better says what is better of --metric"),
        ({"metric": "x"}, "--metric: 'x' has no group"),
        ({"metric": "("}, "--metric: '(' is not a regular expression"),
        ({"check": "("}, "--check: '(' is not a regular expression"),
        ({"threads": "2,0"}, "--threads: '0' is not a thread count"),
        ({"threads": "4097"}, "from 1 to 4096"),
        ({"threads": "2,2"}, "'2' is repeated"),
        ({"threads": ""}, "--threads: '' is not a thread count"),
        ({"time_budget": "30"}, "--time-budget: '30' has no unit"),
        ({"time_budget": ""}, "--time-budget"),
        ({"timeout": "0 s"}, "--timeout: '0 s' is not longer than nothing"),
        ({"margin": "1"}, "--margin: '1' is not a percentage, such as 1%"),
        ({"margin": "0%"}, "--margin: '0%' is not more than 0%"),
        ({"runs": "9"}, "--runs: '9' is not a number of runs"),
        ({"helpers": "0"}, "--helpers: '0' is not a number of processes"),
        ({"threads_by": "openblas"}, "--threads-by: 'openblas' is not a variable such as"),
        ({"threads_by": "A,OMP_PLACES"}, "--threads-by: OMP_PLACES is set by pinstudy"),
        ({"threads_by": "arguments"}, "--threads-by arguments: no argument of the program has"),
        ({"schedules": "dynamc"}, "did you mean 'dynamic'?"),
        ({"governors": "powersafe"}, "did you mean 'powersave'?"),
        ({"variables": ("OMP_STACKSIZE",)}, "expected a name and a value"),
        ({"variables": ("",)}, "''"),
        *(({"variables": (text,)}, "no name of a variable") for text in ("=64M", "9X=1")),
        ({"variables": ("A=two\nlines",)}, "one line"),
        ({"variables": ("OMP_PLACES=cores",)}, "OMP_PLACES is set by pinstudy"),
        (
            {"variables": ("MKL_NUM_THREADS=2",), "threads_by": "MKL_NUM_THREADS"},
            "it has the thread count",
        ),
    ],
)
def test_a_mistake_in_an_option_is_told_with_its_name(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        request(**options)
    assert told in str(error.value)
    assert ("--set" in str(error.value)) is ("variables" in options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        *((command, "no program") for command in ((), ("",))),
        (("no-such-program-here",), "no such program on the PATH"),
        (("./none",), "no such program; expected the path"),
        (("./data",), "may not be executed; `chmod \\+x`"),
        (("own",), "there is ./own here: write it so"),
        *((("./own", text), "expected UTF-8 text without NUL") for text in ("a\0b", "\udcff")),
        (("./own", *["x"] * 1001), "at most 1000 arguments"),
        (("./odd\nname",), "a path that a study can name"),
    ],
)
def test_a_command_that_cannot_be_studied_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("own", "data", "odd\nname"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o644 if name == "data" else 0o755)
    with pytest.raises(UserError, match=told):
        make_request(command)


def test_a_program_is_found_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The build has a program of this name, which is not meant.
    for folder in ("here", "path"):
        (tmp_path / folder).mkdir()
        write_program(tmp_path / folder / "lu-serial", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert request("lu-serial").program == tmp_path / "path/lu-serial"
    assert request("./lu-serial", "-n").program == tmp_path / "here/lu-serial"


def test_a_check_that_names_a_program_by_a_path_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verify = tmp_path / "verify.sh"
    verify.write_text("#!/bin/sh\n")
    for path, told in (("./verify.sh", "may not be executed"), ("../none -q", "no such program")):
        with pytest.raises(UserError, match=told):
            request(check=path)
    assert request(check="GFLOP/s: 1").check_pattern == "GFLOP/s: 1"
    verify.chmod(0o755)
    assert request(check="./verify.sh 'a b'").check_command == (str(verify), "a b")
    # Without a slash it is a pattern, even where there is such a program.
    assert request(check="sort of").check_pattern == "sort of"
    assert request(check="it's done").check_pattern == "it's done"


ENVIRONMENT = dict(os.environ)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return open_machine(build_tree(tmp_path_factory.mktemp("node"), "i9-14900k-noht"), None)


def search(node: Machine, *command: str, **options: Any) -> Search:  # noqa: ANN401
    return make_search(node, request(*command, **options), ENVIRONMENT)


def test_no_option_sets_what_tells_a_library_the_thread_count(
    tmp_path: Path, node: Machine
) -> None:
    (tmp_path / "f.c").write_text(
        "#include <pthread.h>\nint f(void) { pthread_t t; return pthread_create(&t, 0, 0, 0); }\n"
    )
    (tmp_path / "main.c").write_text("int f(void);\nint main(void) { return f(); }\n")
    gcc, library = need_tool("gcc"), "libopenblas.so.0"
    for command in (
        ("-shared", "-fPIC", "-o", library, "f.c"),
        ("-o", "main", "main.c", library, f"-Wl,-rpath,{tmp_path}"),
    ):
        subprocess.run([gcc, *command], cwd=tmp_path, check=True)
    with pytest.raises(UserError, match=r"^--set OPENBLAS_NUM_THREADS: it has the thread count"):
        search(node, str(tmp_path / "main"), variables=("OPENBLAS_NUM_THREADS=4",))


def test_the_plan_of_the_study_is_the_candidates_that_are_shown(node: Machine) -> None:
    # The user's environment is no recorded node's.
    made = make_search(node, request(), ENVIRONMENT | {"OMP_NUM_THREADS": "2"})
    assert made.reference.threads == 24
    plan = node.plan(made.study)
    assert not plan.skipped
    planned = [
        (case.threads, case.schedule, case.mapping.name, case.governor) for case in plan.cases
    ]
    assert planned == [
        (group.threads, group.schedule, placed.mapping.name, governor)
        for group, placed, governor in made.candidates()
    ]
    assert len(made.rows()) == made.size == len(plan.cases)
    assert made.rows()[0][-1] == "CPUs 0-23: the reference"
    assert [row[-1] for row in made.rows()].count("CPUs 0-7") > 1
    data = made.as_json()
    assert len(data["candidates"]) == made.size
    assert (data["objective"], data["better"], data["helpers"]) == ("time", "lower", 0)
    assert [c["reference"] for c in data["candidates"]].count(True) == 1


THREADS = ("/bin/sh", "-t{threads}")
BY = "OPENBLAS_NUM_THREADS,RAYON_NUM_THREADS"


@pytest.mark.parametrize(
    ("command", "options", "name", "line"),
    [
        (THREADS, {"check": "do(ne)?"}, "check", "stdout has a match of 'do(ne)?'"),
        (
            THREADS,
            {"metric": "x=(.)"},
            "objective",
            "what 'x=(.)' picks of stdout, lower is better",
        ),
        ((), {"threads_by": BY}, "threads", BY.replace(",", " and ")),
        (THREADS, {"threads_by": "arguments"}, "threads", "told by its arguments alone"),
        ((), {"governors": "powersave"}, "governors", "current (the reference)"),
        ((), {}, "loops", "no schedules race"),
        (
            *((), {"schedules": "dynamic,guided"}, "loops"),
            "schedules static, dynamic, guided: what --schedules says",
        ),
        (
            *((), {"wait_policies": "active"}, "waiting"),
            "threads that wait: runtime-default, active race: what --wait-policies says",
        ),
    ],
)
def test_what_was_found_is_told_in_lines(
    node: Machine, command: tuple[str, ...], options: dict[str, str], name: str, line: str
) -> None:
    told = dict(search(node, *command, **options).facts())
    assert line in told[name]
    assert "not known" in told["program"]
    assert ("arguments" in told) is (command == THREADS)
    assert ("governors" in told, "threads" in told) == (name == "governors", name == "threads")


def test_schedules_that_are_the_same_do_not_race_twice(node: Machine) -> None:
    made = search(node, schedules="static,dynamic")
    assert {group.schedule for group in made.field.groups} == {"static", "dynamic"}
    here = open_machine(Path("/"), None)
    mine = ENVIRONMENT | {"OMP_SCHEDULE": "dynamic,1"}
    first = make_search(here, request(schedules="static,dynamic"), mine)
    assert {group.schedule for group in first.field.groups} == {"static", "dynamic,1"}


def test_waiting_races_where_the_runtime_reads_the_wait_policy() -> None:
    here = open_machine(Path("/"), None)

    def policies(program: str, mine: str = "", **options: str) -> list[str]:
        environment = ENVIRONMENT | ({"OMP_WAIT_POLICY": mine} if mine else {})
        made = make_search(here, request(program, **options), environment)
        return list(dict.fromkeys(group.wait_policy for group in made.field.groups))

    openmp = str(built("mandelbrot-libgomp"))
    assert policies(openmp, threads="2") == ["runtime-default", "active", "passive"]
    assert policies(openmp, "passive", threads="2") == ["passive", "active", "runtime-default"]
    assert policies(openmp, threads="2", wait_policies="none") == ["runtime-default"]
    assert policies(openmp, threads="2", wait_policies="passive") == ["runtime-default", "passive"]
    # A shell is no OpenMP program, and a single thread waits for nobody.
    assert policies("/bin/sh") == ["runtime-default"]
    assert policies(openmp, "passive", threads="1") == ["passive"]


def test_the_governors_are_what_is_in_force_and_what_may_be_set(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    cpus = tuple(range(24))

    def chosen(asked: list[str] | None, reason: str | None = None) -> GovernorChoice:
        return choose_governors(asked, read_cpufreq(root), cpus, lambda *_: reason)

    assert chosen(None).governors == ("current", "performance")
    assert chosen(["powersave", "performance"]).governors == ("current", "performance")
    refused = chosen(None, "the governor performance is gone")
    assert refused.governors == ("current",)
    assert "governor performance: is gone" in refused.left_out
    assert "governor powersave: in force already, and so current" in refused.left_out
    for cpu in cpus:
        offered = "conservative ondemand performance powersave schedutil"
        write(root, f"{CPU}/cpufreq/policy{cpu}/scaling_available_governors", offered)
    assert chosen(None).governors == ("current", "performance", "schedutil")
    guest = search(open_machine(build_tree(tmp_path, "kvm-guest"), None))
    assert guest.governors.governors == ("current",)
    assert any("no frequency scaling here" in line for line in guest.left_out())


def test_the_study_is_written_once_and_kept_with_another_time(
    node: Machine, tmp_path: Path
) -> None:
    study, told = write_search(search(node, time_budget="5 min"), tmp_path / "r", fresh=False)
    path = Path(study.path)
    assert not told
    assert path.parent.name == path.stem
    before = path.stat().st_ino
    write_search(search(node, time_budget="5 min"), tmp_path / "r", fresh=False)
    assert path.stat().st_ino == before
    again, told = write_search(search(node, time_budget="10 min"), tmp_path / "r", fresh=False)
    assert (again.path, again.digest, told) == (study.path, study.digest, [])
    assert again.race and again.race.time_budget_s == 600
    # The file is a study like any other: nothing races in it.
    assert load_study(path).race is None
    path.write_text(path.read_text().replace("warmup: 1", "warmup: some"))
    with pytest.raises(ConfigError, match="'some' is not how many runs"):
        write_search(search(node, time_budget="5 min"), tmp_path / "r", fresh=False)


def test_other_candidates_are_continued_as_they_were(node: Machine, tmp_path: Path) -> None:
    made = search(node)
    path = Path(write_search(made, tmp_path / "r", fresh=False)[0].path)
    mine = path.read_text().replace(" half-clusters-set,", "")
    assert mine != path.read_text()
    path.write_text(mine)
    kept, told = write_search(search(node, runs="20"), tmp_path / "r", fresh=False)
    assert "is continued with its own: --fresh chooses anew" in told[0]
    assert path.read_text() == mine
    assert kept.race and kept.race.runs == 20
    assert kept.digest != made.study.digest
    anew, _ = write_search(made, tmp_path / "r", fresh=True)
    assert anew.digest == made.study.digest


def test_a_search_that_cannot_be_written_or_has_one_candidate_ends(
    node: Machine, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="nothing races here"):
        write_search(search(node, threads="999", governors="current"), tmp_path / "r", fresh=False)
    assert not (tmp_path / "r").exists()
    (tmp_path / "r").write_text("")
    with pytest.raises(StudyError, match=r"cannot be written .* expected a folder"):
        write_search(search(node), tmp_path / "r", fresh=False)


def test_energy_is_not_searched_for_where_it_cannot_be_measured() -> None:
    here = open_machine(Path("/"), None)
    (found,) = probe(here.node, live=True, names=("energy",))
    if found.state == "ok":
        assert make_search(here, request(objective="edp"), ENVIRONMENT).study.race
        return
    with pytest.raises(UserError, match=r"energy cannot be measured here: .*pinstudy doctor"):
        make_search(here, request(objective="edp"), ENVIRONMENT)


def test_a_search_has_no_isolated_cpus_in_its_reference(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    write(root, f"{CPU}/isolated", "0-7")
    made = search(open_machine(root, None))
    assert made.reference.threads == 16
    assert {cpu for _, placed, _ in made.candidates() for cpu in placed.cpus} == set(range(8, 24))
    write(root, f"{CPU}/isolated", "0-23")
    with pytest.raises(UserError, match=r"CPUs 0-23 are isolated.*end the isolation"):
        search(open_machine(root, None))
