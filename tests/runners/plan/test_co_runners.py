"""Co-runners in a plan: a factor like governors, each of them a case of its own as well."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from configs.study import AppChoice, CoRunner, Exclusion, Study
from runners.plan.case import case_fields
from runners.plan.plan import Plan, make_plan
from tests.runners.cases import (
    DEMO,
    ECORES_PIN,
    LIBGOMP,
    PCORES_PIN,
    PUBLISHED,
    SMALL,
    UNPINNED,
    study,
)
from tests.runners.topologies import i9_14900k_without_smt, two_packages_with_smt

OTHER = replace(DEMO, name="other", arguments=("-o", "{size}"))
GOVERNORS = ("performance", "powersave")

co_runners = st.builds(
    CoRunner,
    st.sampled_from([DEMO, OTHER]),
    st.just(LIBGOMP),
    st.just(SMALL),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(PUBLISHED),
)
# As the loader leaves them: none twice.
besides = st.lists(
    st.none() | co_runners,
    min_size=1,
    max_size=4,
    unique_by=lambda of: of and (of.app.name, of.threads, of.mapping.name),
).map(tuple)


def plan(of: Study, hybrid: bool = True) -> Plan:
    node = i9_14900k_without_smt() if hybrid else two_packages_with_smt()
    return make_plan(of, node, lambda name: Path("/opt") / name, ("taskset",), lambda *_: None)


def with_co_runners(*runners: CoRunner | None, **changes: object) -> Study:
    return study(co_runners=runners, **changes)


def pinned(threads: int = 1, mapping: object = ECORES_PIN) -> CoRunner:
    return CoRunner(OTHER, LIBGOMP, SMALL, threads, mapping)  # type: ignore[arg-type]


@given(besides, st.sampled_from([GOVERNORS, GOVERNORS[:1]]))
def test_every_mapping_stands_beside_every_co_runner_and_each_of_these_alone_once(
    runners: tuple[CoRunner | None, ...], governors: tuple[str, ...]
) -> None:
    made = plan(with_co_runners(*runners, governors=governors))
    own = [case for case in made.cases if case.table == 1]
    # The node has CPUs for all of them.
    assert [case.number for case in own] == list(range(1, len(own) + 1))
    assert len(own) == len(governors) * len(runners) * len(PUBLISHED)
    assert not made.skipped
    ids = Counter(case.case_id for case in made.cases)
    assert max(ids.values()) == 1
    for case in own:
        if case.co_runner:
            assert case.co_runner.case_id in ids
            assert case.co_runner.governor == case.governor
            assert case_fields(case)["co_runner_alone"] == case.co_runner.case_id
        else:
            assert not {"co_runner", "co_runner_cpus", "co_runner_alone"} & set(case_fields(case))
    # Nothing else was added.
    alone = {case.co_runner.case_id for case in own if case.co_runner}
    assert {case.case_id for case in made.cases} == alone | {case.case_id for case in own}


@given(besides)
def test_co_runners_take_part_in_each_block(runners: tuple[CoRunner | None, ...]) -> None:
    made = plan(with_co_runners(*runners))
    for block in range(1, made.study.repetitions + 1):
        of_block = [run.case_id for run in made.runs if run.block == block]
        assert sorted(of_block) == sorted(case.case_id for case in made.cases)


def test_cases_with_nothing_beside_them_keep_their_ids() -> None:
    without = plan(study())
    beside_others = plan(with_co_runners(None, pinned()))
    ids = {case.case_id for case in without.cases}
    assert ids < {case.case_id for case in beside_others.cases}


def test_a_co_runner_that_the_study_has_as_a_case_is_no_case_twice() -> None:
    choice = AppChoice(OTHER, (LIBGOMP,), (SMALL,), (1,))
    made = plan(with_co_runners(None, pinned(), apps=(choice,)))
    assert {case.table for case in made.cases} == {1}
    (alone,) = {case.co_runner.case_id for case in made.cases if case.co_runner}
    (same,) = (case for case in made.cases if case.case_id == alone)
    assert (same.mapping.name, same.co_runner) == ("ecores-pin", None)


def test_co_runners_of_one_build_and_team_share_a_table() -> None:
    made = plan(with_co_runners(None, pinned(), pinned(mapping=UNPINNED), pinned(threads=2)))
    added = [(c.table, c.number, c.mapping.name) for c in made.cases if c.table > 1]
    assert added == [(2, 1, "ecores-pin"), (2, 2, "unpinned"), (3, 1, "ecores-pin")]


def test_cpus_that_both_use_are_known_and_allowed() -> None:
    made = plan(with_co_runners(pinned(mapping=PCORES_PIN)))
    shared = {case.mapping.name: case.shared_cpus for case in made.cases if case.co_runner}
    assert shared["pcores-pin"] == (0,)
    assert shared["ecores-pin"] == ()
    (case,) = (case for case in made.cases if case.mapping.name == "ecores-pin" and case.co_runner)
    assert case.all_cpus == (*case.cpus, 0)


def test_a_case_whose_co_runner_cannot_run_is_left_out_with_the_reason() -> None:
    made = plan(with_co_runners(None, pinned()), hybrid=False)
    reasons = Counter(item.reason for item in made.skipped if item.case.co_runner)
    assert reasons["its co-runner: the node has no E-cores"] == 3
    (alone,) = (item for item in made.skipped if item.case.app.name == "other")
    assert alone.reason == "the node has no E-cores"
    assert all(case.co_runner is None for case in made.cases)


def test_a_co_runner_runs_alone_only_where_it_stands_beside_a_case() -> None:
    out = (Exclusion(governors=("powersave",)),)
    made = plan(with_co_runners(None, pinned(), governors=GOVERNORS, exclude=out))
    assert {case.governor for case in made.cases} == {"performance"}
    assert [case.app.name for case in made.cases if case.table == 2] == ["other"]


def test_where_every_case_is_left_out_no_co_runner_runs_alone() -> None:
    made = plan(with_co_runners(pinned(), exclude=(Exclusion(apps=("demo",)),)))
    assert not made.cases
    assert not made.skipped
