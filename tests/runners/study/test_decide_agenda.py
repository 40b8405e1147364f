"""A study that goes on until its comparisons are decided: which runs it makes, also when cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.repetitions import Decide, looks_of
from runners.plan.plan import Plan
from runners.plan.runs import PlannedRun
from runners.records.race_state import OVERHEAD_S
from runners.study.agenda import Listener, agenda_of
from tests.runners.cases import PUBLISHED, case, study
from tests.runners.study.attempts import World, minimum

CASES = 3
RUN_S = 1.0
WARM_UPS = 1


@dataclass(frozen=True)
class Steady(World):
    """Runs of one second each, and comparisons that are decided after so many repetitions."""

    decided_after: int = 10_000
    looks: list[int] = field(default_factory=list, compare=False)
    timed_out: list[int] = field(default_factory=list, compare=False)

    def measured(self, planned: PlannedRun) -> dict[str, Any]:  # noqa: ARG002
        return {"elapsed_s": RUN_S}

    def look(self, repetitions: int) -> bool:
        self.looks.append(repetitions)
        return repetitions >= self.decided_after

    def ran(
        self, records: list[dict[str, Any]], at_most: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the records after an attempt that makes at most so many runs."""
        listener = Listener(decided=self.look, out_of_time=self.timed_out.append)
        return self.made(records, at_most, listener=listener)


def world(decided_after: int = 10_000, **rule: Any) -> Steady:  # noqa: ANN401
    decide = Decide(**{"first": 5, "most": 40, "time_budget_s": None} | rule)
    cases = tuple(
        case(table=1, number=number, mapping=mapping)
        for number, mapping in enumerate(PUBLISHED[:CASES], 1)
    )
    asked = study(repetitions=decide.most, decide=decide, warmup=WARM_UPS)
    return Steady(Plan(asked, cases, (), {}), 1, decided_after)


def repetitions(records: list[dict[str, Any]]) -> int:
    """Return how often each case was run; fails unless that is the same number for all."""
    counts = Counter(record["case_id"] for record in records if not record["warmup"])
    (number,) = set(counts.values())
    assert len(counts) == CASES
    return number


@pytest.mark.parametrize(
    ("first", "most", "looks"),
    [(5, 80, [5, 10, 20, 40, 80]), (5, 50, [5, 10, 20, 40, 50]), (3, 3, [3]), (4, 7, [4, 7])],
)
def test_results_are_looked_at_whenever_their_number_has_doubled(
    first: int, most: int, looks: list[int]
) -> None:
    assert looks_of(first, most) == looks


@pytest.mark.parametrize(
    ("decided_after", "made", "looks"),
    [(1, 5, [5]), (6, 10, [5, 10]), (20, 20, [5, 10, 20]), (10_000, 40, [5, 10, 20])],
)
def test_it_ends_with_the_look_that_decides(
    decided_after: int, made: int, looks: list[int]
) -> None:
    steady = world(decided_after)
    assert repetitions(steady.ran([])) == made
    # After the last repetition nothing is left to decide about.
    assert steady.looks == looks


@pytest.mark.parametrize("time_budget_s", [1.0, 40.0, 60.0, 10_000.0])
def test_no_block_is_begun_that_the_time_is_too_short_for(time_budget_s: float) -> None:
    steady = world(time_budget_s=time_budget_s)
    made = steady.ran([])
    took_s = len(made) * (RUN_S + OVERHEAD_S)
    block_s = CASES * (RUN_S + OVERHEAD_S)
    number = repetitions(made)
    assert number >= 5
    assert number == 5 or took_s <= time_budget_s
    assert number == 40 or took_s + block_s > time_budget_s
    # Whoever waits is told why there are no more.
    assert steady.timed_out == ([] if number == 40 else [number])


def test_what_is_left_follows_what_runs_take_and_not_what_was_guessed() -> None:
    run_s = RUN_S + OVERHEAD_S
    steady = world(time_budget_s=60.5 * run_s)
    known = steady.history([])
    left: list[int] = []
    listener = Listener(decided=steady.look, expected=lambda runs: left.append(len(runs)))
    for planned in agenda_of(steady.plan, known).pending(listener):
        known.add(steady.record(planned))
    # Of 60 runs that fit 18 were made before the first look; each block takes 3.
    assert left == list(range(42, 0, -3))


@given(st.integers(0, 130), st.integers(1, 45))
def test_a_study_that_was_cut_ends_as_one_that_was_not(cut: int, decided_after: int) -> None:
    whole = world(decided_after).ran([])
    steady = world(decided_after)
    before = steady.ran([], at_most=cut)
    assert [
        (record["case_id"], record["warmup"], record["repetition"]) for record in steady.ran(before)
    ] == [(record["case_id"], record["warmup"], record["repetition"]) for record in whole]


def test_the_time_that_is_left_has_all_first_runs_in_it() -> None:
    steady = world(time_budget_s=12.0)
    records = steady.ran([], at_most=CASES * (WARM_UPS + 4))
    agenda = agenda_of(steady.plan, steady.history(records))
    left = list(agenda.pending())
    # The 15 runs took more than 12 s already.
    assert agenda.at_most_s(agenda.forecast(left)) == pytest.approx(CASES * (RUN_S + OVERHEAD_S))


def test_a_plan_has_the_first_looks_runs_at_least_and_what_fits_at_most() -> None:
    steady = world(time_budget_s=60.0)
    agenda = agenda_of(steady.plan, steady.history([]))
    assert len(minimum(agenda)) == CASES * (WARM_UPS + 5)
    # The demo app's hint, by which a plan estimates, is not that of these runs.
    assert CASES * (WARM_UPS + 5) <= len(list(agenda.pending())) <= CASES * (WARM_UPS + 40)
