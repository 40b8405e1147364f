"""What teams could do, by speeds that are known: times by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pinstudy.analysis.measures import Stats
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.bounds import Bound, NoBound, NodeCores, bounds_of
from pinstudy.analysis.results.case import Case
from tests.support.results import TABLE, summary

# Two P-cores with SMT siblings, and two E-cores.
NODE = NodeCores({0: (0, "P"), 1: (0, "P"), 2: (1, "P"), 3: (1, "P"), 4: (2, "E"), 5: (3, "E")})
# The whole work takes a P-core 6 s, an E-core 12 s.
P_S, E_S = 6.0, 12.0
LU = TABLE._replace(build="libgomp")


def case(
    number: int,
    mapping: str,
    cpus: str | None,
    seconds: float,
    threads: int = 1,
    **facts: Any,  # noqa: ANN401
) -> Case:
    """Return a case; the mapping's name says selection and binding."""
    selection, _, binding = mapping.partition("-")
    facts = {"table": LU._replace(number=threads, threads=threads)} | facts
    facts |= {"mapping": mapping, "selection": selection, "binding": binding, "cpus": cpus}
    return summary(number, elapsed_s=Stats(10, seconds, 0.1), **facts)


ONE_P, ONE_E = case(1, "pcores-pin", "0", P_S), case(2, "ecores-pin", "4", E_S)


def bounds(*cases: Case, node: NodeCores = NODE) -> tuple[Bound | NoBound, ...]:
    """Return the bounds of the first case, beside others."""
    return bounds_of(cases, node).by_case.get(cases[0].key.case_id, ())


def only(*cases: Case, node: NodeCores = NODE) -> Bound:
    (found,) = bounds(*cases, node=node)
    assert isinstance(found, Bound)
    return found


def test_a_mixed_team_is_bound_by_the_sum_of_speeds_and_equal_shares_by_the_slowest() -> None:
    team = case(3, "mixed-pin", "0,2,4-5", 3.2, threads=4)

    bound = only(team, ONE_P, ONE_E)

    # A P-core has twice the speed of an E-core: 2 x 2 + 2 x 1 E-cores do 12 s of work in 2 s; a
    # quarter of it takes an E-core 3 s, so that equal shares reach 2 of 3.
    assert bound.threads == {"P": 2, "E": 2}
    assert bound.perfect_s == pytest.approx(E_S / 6)
    assert bound.equal_shares == pytest.approx(2 / 3)
    assert bound.reached == pytest.approx(2 / 3.2)


def test_a_team_on_one_kind_has_no_slower_one_to_wait_for() -> None:
    bound = only(case(3, "pcores-set", "0,2", 4.0, threads=2), ONE_P, ONE_E)

    assert (bound.threads, bound.stays, bound.equal_shares) == ({"P": 2}, True, None)
    assert bound.reached == pytest.approx(3 / 4)


def test_threads_that_may_move_are_bound_by_the_fastest_cores_each_counted_once() -> None:
    bound = only(case(3, "all-none", "0-5", 4.0, threads=3), ONE_P, ONE_E)

    # Two P-cores, whatever their siblings, and one E-core.
    assert (bound.threads, bound.stays, bound.equal_shares) == ({"P": 2, "E": 1}, False, None)
    assert bound.perfect_s == pytest.approx(1 / (2 / P_S + 1 / E_S))


@pytest.mark.parametrize(
    ("mapping", "cpus", "threads"),
    [
        ("pcpus-pin", "0-3", 4),
        ("siblings-pin", "0-1", 2),
        ("same-cpu-pin", "0", 2),
        ("all-none", "0-5", 5),
    ],
)
def test_a_sibling_is_no_core(mapping: str, cpus: str, threads: int) -> None:
    team = case(3, mapping, cpus, 4.0, threads=threads)

    assert bounds(team, ONE_P, ONE_E) == (NoBound("more threads than cores"),)


def test_faster_than_the_bound_is_told_as_it_is() -> None:
    assert only(case(3, "pcores-pin", "0,2", 2.5, threads=2), ONE_P).reached == pytest.approx(1.2)


def test_a_kind_without_a_case_of_one_thread_leaves_the_bound_unknown() -> None:
    team = case(3, "mixed-pin", "0,2,4-5", 3.2, threads=4)

    assert bounds(team, ONE_P) == (NoBound("no speed", ("E",)),)
    assert bounds(team) == ()


def test_cores_that_nobody_knows_leave_the_bound_unknown() -> None:
    team = case(3, "mixed-pin", "0,2,4-5", 3.2, threads=4)

    assert bounds(team, ONE_P, ONE_E, node=NodeCores()) == (NoBound("cores unknown"),)
    # One CPU of each P-core is what the selection says by itself.
    on_p = case(3, "pcores-pin", "0,2", 4.0, threads=2)
    assert only(on_p, ONE_P, node=NodeCores()).threads == {"P": 2}


def test_speeds_are_those_of_the_same_program_under_the_same_settings() -> None:
    team = case(3, "pcores-pin", "0,2", 4.0, threads=2)
    others = [
        case(4, "pcores-pin", "0", P_S, governor="powersave"),
        case(5, "pcores-pin", "0", P_S, table=LU._replace(size="small")),
        case(6, "pcores-pin", "0", P_S, table=LU._replace(schedule="dynamic")),
        case(7, "pcores-pin", "0", P_S, table=LU._replace(build="libomp")),
        case(8, "pcores-pin", "0", P_S, co_runner="pingpong"),
    ]

    assert bounds(team, *others) == ()


def test_the_build_without_threads_tells_speeds_that_a_build_does_not() -> None:
    serial = TABLE._replace(schedule="none", wait_policy="active")
    of_serial = case(4, "pcores-pin", "0", 5.0, table=serial)
    team = case(3, "pcores-pin", "0,2", 4.0, threads=2)

    alone = only(team, of_serial)
    assert alone.of_serial
    assert alone.perfect_s == pytest.approx(2.5)
    both = only(team, of_serial, ONE_P)
    assert not both.of_serial
    assert both.perfect_s == pytest.approx(3.0)


def test_a_pinned_thread_tells_the_speed_rather_than_a_confined_one() -> None:
    team = case(3, "pcores-pin", "0,2", 4.0, threads=2)
    confined = case(0, "pcores-set", "0,2", 7.0)

    assert only(team, confined).perfect_s == pytest.approx(3.5)
    assert only(team, confined, ONE_P).perfect_s == pytest.approx(3.0)


def test_teams_on_all_cores_of_each_kind_tell_speeds_under_load() -> None:
    team = case(3, "mixed-pin", "0,2,4-5", 3.2, threads=4)
    # Two cores take 4 s and 7 s: 8 and 14 s a core, slower than alone.
    on_p = case(4, "pcores-pin", "0,2", 4.0, threads=2)
    on_e = case(5, "ecores-pin", "4-5", 7.0, threads=2)

    alone, loaded = bounds(team, ONE_P, ONE_E, on_p, on_e)

    assert isinstance(alone, Bound)
    assert isinstance(loaded, Bound)
    assert (alone.speeds, loaded.speeds) == ("one thread", "all cores")
    assert loaded.perfect_s == pytest.approx(1 / (2 / 8 + 2 / 14))
    assert loaded.equal_shares == pytest.approx(1 / (2 / 8 + 2 / 14) / (14 / 4))
    # Without cases of one thread it is the only one.
    assert only(team, on_p, on_e).speeds == "all cores"


def test_kinds_of_one_core_have_one_bound_because_one_thread_is_a_team_on_all_cores() -> None:
    node = NodeCores({0: (0, "P"), 4: (2, "E")})

    bound = only(case(3, "mixed-pin", "0,4", 5.0, threads=2), ONE_P, ONE_E, node=node)

    assert bound.speeds == "one thread"
    assert bound.perfect_s == pytest.approx(4)


def test_lost_runs_leave_the_bound_unknown() -> None:
    team = case(3, "pcores-pin", "0,2", 4.0, threads=2)
    lost = case(1, "pcores-pin", "0", P_S, excluded={"timeout": 5})

    assert bounds(team, lost) == (NoBound("lost", ("P",)),)
    assert bounds(replace(team, circumstances=lost.circumstances), ONE_P) == (NoBound("lost"),)


@pytest.mark.parametrize(
    "changed",
    [
        {"table": TableKey(1, "lu", "libgomp", "paper", 2, 2, "static", "passive")},
        {"vcpu_mapping": "pcores-pin", "engine": "vm"},
        {"co_runner": "pingpong"},
    ],
)
def test_ranks_guests_and_programs_beside_others_have_none(changed: dict[str, object]) -> None:
    assert bounds(case(3, "pcores-pin", "0,2", 4.0, threads=2, **changed), ONE_P) == ()


def test_a_table_that_only_tells_speeds_lacks_mappings_of_the_teams_table() -> None:
    team = case(3, "mixed-pin", "0,2,4-5", 3.2, threads=4)
    found = bounds_of([team, ONE_P, ONE_E], NODE)

    assert found.only_tell([ONE_P, ONE_E], {})
    assert not found.only_tell([ONE_P, ONE_E], {ONE_P.key.case_id})
    # A study that has the same mappings at both counts asks about both.
    both = [case(3, "pcores-pin", "0,2", 4.0, threads=2), ONE_P]
    assert not bounds_of(both, NODE).only_tell([ONE_P], {})
