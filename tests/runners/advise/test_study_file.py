"""What a search tries, and its study file: each candidate once, any command, a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.errors import UserError
from pinstudy.configs.library import list_mappings, load_study
from pinstudy.configs.study import RUNTIME_DEFAULT, WAIT_POLICIES, Study
from pinstudy.configs.values import is_name
from pinstudy.runners.advise.candidates import MAX_CANDIDATES, Field, NodeContext, make_field
from pinstudy.runners.advise.program import Program
from pinstudy.runners.advise.reference import Reference
from pinstudy.runners.advise.request import Request
from pinstudy.runners.advise.study_file import StudyFile, app_name, make_study_file
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.command_line import program_arguments
from pinstudy.runners.plan.plan import make_plan
from tests.runners.advise.programs import LIBGOMP, OTHER, SERIAL, WITH_LOOPS, request
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)
from tests.support.trees import build_tree

KNOWN = {mapping.name: mapping for mapping in list_mappings()}
NODE = i9_14900k_without_smt()
# Only the reference's wait policy.
DEFAULT = ("runtime-default",)
SCHEDULES = ("dynamic", "guided", "static")


def context(
    node: Topology, runtime: str = "libgomp", tools: tuple[str, ...] = ("taskset",)
) -> NodeContext:
    return NodeContext(node, tools, KNOWN, runtime)


def field(
    node: Topology,
    schedules: tuple[str, ...] = ("static",),
    asked: Sequence[int] | None = None,
    policies: tuple[str, ...] = DEFAULT,
    threads: int = 0,
) -> Field:
    """Return what is tried on a node: a reference of so many threads, as many as CPUs for 0."""
    return make_field(context(node), threads or len(node.allowed), asked, schedules, policies)


def names(made: Field, threads: int, schedule: str = "static") -> list[str]:
    groups = [g for g in made.groups if (g.threads, g.schedule) == (threads, schedule)]
    return [placed.mapping.name for group in groups for placed in group.placed]


def placements(made: Field) -> list[tuple[object, ...]]:
    return [
        (group.threads, group.schedule, placed.mapping.binding, placed.cpus)
        for group in made.groups
        for placed in group.placed
    ]


def test_a_hybrid_of_24_cores_gets_what_its_kinds_suggest() -> None:
    made = field(NODE)
    assert [group.threads for group in made.groups] == [24, 8, 16, 12, 6]
    assert names(made, 24) == ["unpinned", "cores-pin"]
    assert {"unpinned", "pcores-set", "pcores-pin"} <= set(names(made, 8))
    assert {"unpinned", "ecores-set", "ecores-pin", "half-clusters-set"} <= set(names(made, 16))
    assert {"cores-pin", "mixed-pin"} <= set(names(made, 12))
    assert 10 <= made.size <= 40


def test_low_power_cores_are_tried_alone_where_there_are_no_others_beside_p_cores(
    tmp_path: Path,
) -> None:
    made = field(core_ultra_7_164u())
    assert names(made, 10)[:3] == ["unpinned", "mixed-pin", "mixed-set"]
    assert not [p for p in placements(made) if set(p[3]) <= {12, 13}]  # type: ignore[call-overload]
    assert any("LP-E-cores alone (CPUs 12-13)" in line for line in made.left_out)
    node = read_topology(build_tree(tmp_path, "lnl0"))
    made = field(node)
    lpecores = {"pcores-set", "lpecores-set", "lpecores-pin"}
    assert lpecores <= set(names(made, 4)) and "lpecores-set" in names(made, 1)
    assert not any("LP-E-cores alone" in line for line in made.left_out)
    assert lpecores <= set(names(field(node, asked=[3], threads=8), 3))


def test_a_node_of_equal_cores_gets_no_kinds() -> None:
    made = field(two_packages_with_smt())
    assert [group.threads for group in made.groups] == [8, 4, 2, 1]
    assert "spread-pin" in names(made, 4)
    assert not any("ecores" in name or "pcores" in name for name in names(made, 8))
    assert any("one core kind" in line for line in made.left_out)


def test_two_cpus_have_few_ways_to_be_used() -> None:
    made = field(topology([("0", "P", 0), ("1", "P", 0)]))
    assert placements(made) == [
        (2, "static", "none", (0, 1)),
        (2, "static", "pin", (0, 1)),
        (1, "static", "none", (0, 1)),
        (1, "static", "pin", (0,)),
    ]


def test_schedules_race_where_threads_are_on_unlike_cpus_or_on_all() -> None:
    made = field(NODE, SCHEDULES)
    assert names(made, 24, "guided") == names(made, 24, "static") == ["unpinned", "cores-pin"]
    assert {group.threads for group in made.groups if group.schedule != "dynamic"} == {24}
    # Of the thread counts asked for the widest races schedules.
    made = field(NODE, ("static", "dynamic"), (4, 8))
    assert names(made, 8, "dynamic") == ["unpinned", "mixed-pin"]
    # Four threads on both kinds have unlike CPUs, too.
    assert names(made, 4, "dynamic") == ["mixed-pin"]
    assert not names(made, 24, "dynamic")


def test_waiting_races_on_the_same_placements_under_the_reference_s_schedule() -> None:
    policies = ("passive", "active")
    made = field(NODE, ("dynamic", "static"), policies=policies)
    (group,) = [group for group in made.groups if group.wait_policy == "active"]
    assert (group.threads, group.schedule) == (24, "dynamic")
    assert [placed.mapping.name for placed in group.placed] == ["unpinned", "cores-pin"]
    # One thread waits for no other.
    alone = field(NODE, asked=(1,), policies=policies, threads=1)
    assert {group.wait_policy for group in alone.groups} == {"passive"}


@pytest.mark.parametrize(
    ("threads", "asked"), [(24, None), (4, None), (24, (2, 8)), (100, None), (100, (2,))]
)
def test_the_reference_comes_first_whatever_is_asked_for(
    threads: int, asked: tuple[int, ...] | None
) -> None:
    made = field(NODE, asked=asked, threads=threads)
    first = made.groups[0]
    assert (first.threads, first.placed[0].mapping.name) == (threads, "unpinned")
    assert first.placed[0].cpus == NODE.allowed
    assert first.oversubscribe is (threads > 24)
    assert asked is None or [group.threads for group in made.groups] == [threads, *asked]


def test_what_is_not_tried_is_told() -> None:
    many = field(NODE, asked=(8, 32))
    assert [group.threads for group in many.groups] == [24, 8]
    assert "32 threads: more than the 24 CPUs" in many.left_out
    serial = make_field(context(NODE, "none"), 1, (4,), ("static",), DEFAULT)
    assert {group.threads for group in serial.groups} == {1}
    assert {"unpinned", "pcores-pin", "ecores-pin", "pcores-set"} <= set(names(serial, 1))
    assert "other thread counts: the program has one thread" in serial.left_out
    bare = make_field(context(NODE, tools=()), 24, None, ("static",), DEFAULT)
    tried = {placed.mapping.name for group in bare.groups for placed in group.placed}
    assert tried == {"unpinned"}
    assert any("taskset is not installed" in line for line in bare.left_out)


def test_a_program_that_counts_its_cpus_races_where_they_are_as_many_as_its_threads() -> None:
    counts = replace(context(NODE, "other"), threads_by=("affinity",))
    made = make_field(counts, 24, None, ("static",), DEFAULT)
    assert [(group.threads, len(group.placed)) for group in made.groups][:2] == [(24, 1), (8, 1)]
    for group in made.groups:
        assert {len(set(placed.cpus)) for placed in group.placed} == {group.threads}
    assert names(made, 8) == ["pcores-set"]
    assert names(made, 16) == ["half-clusters-set", "ecores-set"]


def test_of_what_is_too_much_each_thread_count_keeps_what_promises_most() -> None:
    every = field(NODE)
    some = make_field(context(NODE), 24, None, ("static",), DEFAULT, 10)
    assert some.size == 10
    counts = (24, 8, 16, 12, 6)
    assert [group.threads for group in some.groups] == list(counts)
    kept = [names(some, threads) for threads in counts]
    assert kept == [names(every, threads)[:2] for threads in counts]
    assert any(line.startswith(f"{every.size - 10} placements") for line in some.left_out)


def test_a_hybrid_with_schedules_and_two_governors_still_tries_every_kind() -> None:
    most = MAX_CANDIDATES // 2
    made = make_field(context(core_ultra_7_164u()), 14, None, SCHEDULES, DEFAULT, most)
    tried = {placed.mapping.name for group in made.groups for placed in group.placed}
    assert {"pcores-pin", "pcpus-pin", "ecores-pin", "half-clusters-pin", "cores-pin"} <= tried


KINDS = st.lists(
    st.tuples(st.sampled_from(["P", "E", "LP-E"]), st.integers(1, 2), st.integers(0, 1)),
    min_size=1,
    max_size=12,
)


@given(KINDS, st.data())
def test_any_node_gets_candidates_that_it_can_run_each_once(
    cores: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    made, cpu = [], 0
    for kind, smt, package in cores:
        made.append((",".join(str(cpu + i) for i in range(smt)), kind, package))
        cpu += smt
    allowed = data.draw(st.sets(st.integers(0, cpu - 1), min_size=1))
    node = topology(made, allowed=",".join(map(str, allowed)))
    threads = data.draw(st.integers(1, 40))
    asked = data.draw(st.none() | st.lists(st.integers(1, 40), unique=True, min_size=1))
    check_field(node, field(node, ("static", "dynamic"), asked, threads=threads))


def check_field(node: Topology, made: Field) -> None:
    found = placements(made)
    assert len(found) == len(set(found)) == made.size <= MAX_CANDIDATES
    assert found[0][2] == "none"
    for group in made.groups:
        for placed in group.placed:
            assert set(placed.cpus) <= set(node.allowed)
            if placed.mapping.binding == "pin":
                assert len(placed.cpus) == group.threads
            assert placed.mapping.binding == "none" or len(placed.cpus) >= group.threads
            if placed.mapping.binding == "set":
                assert set(placed.cpus) != set(node.allowed)


def field_of(program: Program, threads: int = 24, wait: str = RUNTIME_DEFAULT) -> Field:
    schedules = SCHEDULES if program.loops == "yes" else ("static",)
    policies = (wait, *(other for other in WAIT_POLICIES if other != wait))
    return make_field(context(NODE, program.runtime), threads, None, schedules, policies)


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
    tmp_path_factory: pytest.TempPathFactory, arguments: list[str], program: Program, check: bool
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
        **{"metric": r"rate: (\S+)", "better": "higher", "check": "done", "timeout": "1.5 min"},
        **{"time_budget": "90 s", "runs": "40", "margin": "0.5%", "helpers": "2"},
        variables=("OMP_STACKSIZE=64M", "COUNT=1"),
    )
    file = file_of(asked, WITH_LOOPS, wait="active")
    race, study = file.rule, loaded(tmp_path, file)
    assert (race.of, race.higher, race.margin) == ("metric", True, 0.005)
    assert (race.time_budget_s, race.runs) == (90, 40)
    app = study.apps[0].app
    assert (app.metrics[0].name, app.metrics[0].pattern) == ("metric", r"rate: (\S+)")
    assert (app.check.pattern, app.limit_s) == ("done", 90)
    assert app.schedules == SCHEDULES
    assert app.helper_processes == 2
    assert app.variables == (("COUNT", "1"), ("OMP_STACKSIZE", "64M"))
    assert (study.warmup, study.wait_policies) == (1, ("active",))
    assert study.collect == ("perf", "energy")
    assert (study.governors, study.order) == (("current", "performance"), "randomised-blocks")
    # A time that is given limits alone; more threads than CPUs are meant where the user has them.
    alone = file_of(request(time_budget="5 min"), threads=100)
    assert (alone.rule.time_budget_s, alone.rule.runs, alone.rule.timed) == (300, "any", True)
    first = loaded(tmp_path, alone).apps[0]
    assert (first.threads, first.oversubscribe) == ((100,), True)


@pytest.mark.parametrize(
    ("asked", "program", "told_by"),
    [
        ("", OTHER, None),
        ("", replace(OTHER, threads_by="OPENBLAS_NUM_THREADS"), ("OPENBLAS_NUM_THREADS",)),
        (*("RAYON_NUM_THREADS,OMP_NUM_THREADS", OTHER), ("RAYON_NUM_THREADS", "OMP_NUM_THREADS")),
    ],
)
def test_the_app_is_told_its_thread_count_as_asked_or_as_its_library_takes_it(
    tmp_path: Path, asked: str, program: Program, told_by: tuple[str, ...] | None
) -> None:
    file = file_of(request(**({"threads_by": asked} if asked else {})), program)
    assert loaded(tmp_path, file).apps[0].app.threads_by == told_by


def test_the_name_is_of_the_question_and_not_of_how_long_it_may_take() -> None:
    name = file_of(request()).name
    assert name.startswith("advise-sh-") and is_name(name)
    assert name == file_of(request(time_budget="1 min", runs="12")).name
    options: list[dict[str, Any]] = [
        *({"objective": "energy"}, {"metric": "(x)"}, {"metric": "(x)", "better": "higher"}),
        *({"margin": "2%"}, {"check": "done"}, {"timeout": "1 min"}, {"threads": "2,4"}),
        *({"schedules": "none"}, {"wait_policies": "active"}, {"governors": "current"}),
        *({"variables": ("COUNT=1",)}, {"threads_by": "MY_THREADS"}),
    ]
    other_files = [
        *(file_of(request(**option)) for option in options),
        *(file_of(request("/bin/sh", "-c", "exit 1")), file_of(request("/bin/ls"))),
        *(file_of(request(), threads=8), file_of(request(), wait="active")),
        file_of(request(), OTHER),
    ]
    assert len({name, *(file.name for file in other_files)}) == len(other_files) + 1


@given(st.text(min_size=1).filter(lambda text: "\0" not in text and "/" not in text))
def test_any_file_name_makes_the_name_of_a_study(text: str) -> None:
    assert is_name(app_name(text))
    assert is_name(f"advise-{app_name(text)}-01234567")


def test_the_folder_of_a_command_belongs_to_the_question_and_cannot_break_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = file_of(request())
    monkeypatch.chdir(tmp_path)
    there = file_of(request())
    assert here.name != there.name
    assert str(tmp_path).encode() in there.data.splitlines()[0]
    odd = tmp_path / "a\nb: c\u2028\x1b[31m\x85"
    odd.mkdir()
    monkeypatch.chdir(odd)
    assert loaded(tmp_path, file_of(request())).apps


def test_arguments_that_no_study_can_hold_are_refused() -> None:
    with pytest.raises(UserError, match="longer than the 1024 KiB"):
        _ = file_of(request("/bin/sh", "x" * (1 << 20))).data
