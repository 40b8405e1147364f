"""The study file of a search says exactly what was found: any command, each candidate, its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from configs.library import list_mappings, load_study
from configs.study import RUNTIME_DEFAULT, WAIT_POLICIES, Study
from configs.values import is_name
from runners.advise.candidates import Field, NodeContext, make_field
from runners.advise.program import Program
from runners.advise.reference import Reference
from runners.advise.request import Request, make_request
from runners.advise.study_file import StudyFile, app_name, make_study_file
from runners.plan.command_line import program_arguments
from runners.plan.plan import make_plan
from tests.runners.advise.requests import LIBGOMP, OTHER, SERIAL, WITH_LOOPS, request
from tests.runners.topologies import i9_14900k_without_smt

KNOWN = {mapping.name: mapping for mapping in list_mappings()}
NODE = i9_14900k_without_smt()
SCHEDULES = ("dynamic", "guided", "static")


def field_of(program: Program, threads: int = 24, wait: str = RUNTIME_DEFAULT) -> Field:
    schedules = SCHEDULES if program.loops == "yes" else ("static",)
    policies = (wait, *(other for other in WAIT_POLICIES if other != wait))
    return make_field(
        NodeContext(NODE, ("taskset",), KNOWN, program.runtime), threads, None, schedules, policies
    )


def file_of(
    asked: Request, program: Program = LIBGOMP, threads: int = 24, wait: str = "runtime-default"
) -> StudyFile:
    field = field_of(program, threads, wait)
    reference = Reference(threads, field.groups[0].schedule, wait, ())
    program = replace(program, path=asked.program)
    return make_study_file(asked, program, reference, field, ("current", "performance"), NODE)


def loaded(folder: Path, file: StudyFile) -> Study:
    path = folder / f"{file.name}.yaml"
    path.write_bytes(file.data)
    return load_study(path)


# What a command line can have: no NUL, and as YAML has it, no half of a character.
ARGUMENTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
        st.sampled_from(
            [
                *("{size}", "{threads}", "-t{threads}", "{cpus}", "{", "null", "~", "", "- a"),
                *("!tag x", "&a", "*a", "'", '"', "\n", "a: b", "# no", "0x1", "1:30", "yes"),
                *("\x85", "\ufeff"),
            ]
        ),
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(ARGUMENTS, st.sampled_from([LIBGOMP, WITH_LOOPS, OTHER, SERIAL]), st.booleans())
def test_any_command_line_comes_back_as_it_was_with_the_thread_count_put_in(
    tmp_path_factory: pytest.TempPathFactory,
    arguments: list[str],
    program: Program,
    check: bool,
) -> None:
    folder = tmp_path_factory.mktemp("study")
    asked = request("/bin/sh", *arguments, **({"check": "/bin/sh 'x y'"} if check else {}))
    threads = 1 if program.runtime == "none" else 24
    try:
        file = file_of(asked, program, threads)
    except UserError as error:
        assert "put the command into a script" in str(error)
        return
    study = loaded(folder, file)
    plan = make_plan(study, NODE, Path, ("taskset",), lambda *_: None)
    assert not plan.skipped
    for case in plan.cases:
        wanted = [argument.replace("{threads}", str(case.threads)) for argument in arguments]
        assert program_arguments(case) == wanted
        assert case.build.program == "/bin/sh"
        assert case.app.check.command == (("/bin/sh", "x y") if check else ())
    found = [(c.threads, c.schedule, c.mapping, c.cpus, c.governor) for c in plan.cases]
    assert found == [
        (group.threads, group.schedule, placed.mapping, placed.cpus, governor)
        for group in field_of(program, threads).groups
        for governor in ("current", "performance")
        for placed in group.placed
    ]


@pytest.mark.parametrize("characters", [480, 490, 500, 1000])
def test_a_long_command_line_has_a_title_that_a_study_may_have(
    tmp_path: Path, characters: int
) -> None:
    (choice, *_) = loaded(tmp_path, file_of(request("/bin/sh", "x" * characters))).apps
    assert choice.app.title.startswith("/bin/sh xxx")
    assert choice.app.arguments == ("{size}",)


def test_a_study_asks_for_a_race_and_what_goes_with_it(tmp_path: Path) -> None:
    asked = request(
        metric=r"rate: (\S+)",
        better="higher",
        time_budget="90 s",
        runs="40",
        margin="0.5%",
        check="done",
        timeout="1.5 min",
    )
    study = loaded(tmp_path, file_of(asked, WITH_LOOPS, wait="active"))
    race = file_of(asked, WITH_LOOPS, wait="active").rule
    assert (race.of, race.higher, race.margin, race.time_budget_s, race.runs) == (
        *("metric", True, 0.005),
        *(90, 40),
    )
    app = study.apps[0].app
    assert (app.metrics[0].name, app.metrics[0].pattern) == ("metric", r"rate: (\S+)")
    assert (app.check.pattern, app.limit_s) == ("done", 90)
    assert app.schedules == SCHEDULES
    assert (study.warmup, study.wait_policies, study.collect) == (
        *(1, ("active",)),
        ("perf", "energy"),
    )
    assert (study.governors, study.order) == (("current", "performance"), "randomised-blocks")


def test_the_given_time_limits_alone() -> None:
    race = file_of(request(time_budget="5 min")).rule
    assert (race.time_budget_s, race.runs, race.timed) == (300, "any", True)


def test_helpers_are_the_apps(tmp_path: Path) -> None:
    made = file_of(request(helpers="2"))
    assert loaded(tmp_path, made).apps[0].app.helper_processes == 2


def test_variables_that_are_set_are_the_apps(tmp_path: Path) -> None:
    made = file_of(request(variables=("OMP_STACKSIZE=64M", "COUNT=1")))
    app = loaded(tmp_path, made).apps[0].app
    assert app.variables == (("COUNT", "1"), ("OMP_STACKSIZE", "64M"))
    assert made.name != file_of(request()).name


def test_more_threads_than_cpus_are_meant_when_the_user_has_them(tmp_path: Path) -> None:
    first = loaded(tmp_path, file_of(request(), threads=100)).apps[0]
    assert (first.threads, first.oversubscribe) == ((100,), True)


def test_the_name_is_of_the_question_and_not_of_how_long_it_may_take() -> None:
    name = file_of(request()).name
    assert name.startswith("advise-sh-")
    assert is_name(name)
    assert name == file_of(request(time_budget="1 min", runs="12")).name
    others = [
        file_of(request("/bin/sh", "-c", "exit 1")),
        file_of(request("/bin/ls")),
        file_of(request(objective="energy")),
        file_of(request(metric="(x)")),
        file_of(request(metric="(x)", better="higher")),
        file_of(request(margin="2%")),
        file_of(request(check="done")),
        file_of(request(timeout="1 min")),
        file_of(request(threads="2,4")),
        file_of(request(schedules="none")),
        file_of(request(wait_policies="active")),
        file_of(request(governors="current")),
        file_of(request(), threads=8),
        file_of(request(), wait="active"),
        file_of(request(), OTHER),
    ]
    assert len({name, *(other.name for other in others)}) == len(others) + 1


def test_where_a_command_is_typed_belongs_to_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = file_of(request())
    monkeypatch.chdir(tmp_path)
    there = file_of(request())
    assert here.name != there.name
    assert str(tmp_path).encode() in there.data.splitlines()[0]


@given(st.text(min_size=1).filter(lambda text: "\0" not in text and "/" not in text))
def test_any_file_name_makes_the_name_of_a_study(text: str) -> None:
    assert is_name(app_name(text))
    assert is_name(f"advise-{app_name(text)}-01234567")


def test_the_folder_of_a_command_cannot_break_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a\nb: c\u2028\x1b[31m\x85"
    odd.mkdir()
    monkeypatch.chdir(odd)
    file = make_request(["/bin/sh"])
    assert loaded(tmp_path, file_of(file)).apps


def test_arguments_that_no_study_can_hold_are_refused() -> None:
    with pytest.raises(UserError, match="longer than the 1024 KiB"):
        _ = file_of(request("/bin/sh", "x" * (1 << 20))).data


def test_the_app_is_told_its_thread_count_as_asked_or_as_its_library_takes_it(
    tmp_path: Path,
) -> None:
    openblas = replace(OTHER, threads_by="OPENBLAS_NUM_THREADS")
    asked = request(threads_by="RAYON_NUM_THREADS,OMP_NUM_THREADS")
    files = [file_of(request(), OTHER), file_of(request(), openblas), file_of(asked, openblas)]
    assert [loaded(tmp_path, file).apps[0].app.threads_by for file in files] == [
        None,
        ("OPENBLAS_NUM_THREADS",),
        ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"),
    ]
    assert len({file.name for file in files}) == 3
