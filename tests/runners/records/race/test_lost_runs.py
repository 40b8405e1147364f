"""What a race makes of runs that were not in their place or were disturbed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from configs.repetitions import Race as Rule
from runners.records.race.race import Race
from runners.records.race_state import RaceRun
from tests.runners.records.race.test_race import REFERENCE, Answer, out_of, run_race, steady

PLACED = steady(ref=1.0, good=0.5, other=0.9)


def placed(answer: Answer, **verdicts: dict[int, str]) -> Answer:
    """Return what answers with proved runs, but for some repetitions of some cases."""

    def with_verdicts(case_id: str, repetition: int) -> RaceRun:
        run = answer(case_id, repetition)
        assert run is not None
        verdict = verdicts.get(case_id, {}).get(repetition, "proved")
        value = None if verdict == "violated" else run.value
        return replace(run, value=value, placed=verdict)

    return with_verdicts


def every(verdict: str, *but: int) -> dict[int, str]:
    return {n: verdict for n in range(1, 2000) if n not in but}


@pytest.mark.parametrize("verdict", ["violated", "unproved"])
@pytest.mark.parametrize("fast", [True, False])
def test_a_case_that_is_seldom_in_its_place_is_never_recommended(verdict: str, fast: bool) -> None:
    # Only runs that were too short to be caught are left of it, as of a program that binds itself.
    usual = steady(ref=1.0, good=0.3 if fast else 0.9, other=0.95)
    answer = placed(usual, good=every(verdict, 1, 4, 7))
    standing, _ = run_race([REFERENCE, "good", "other"], answer, Rule(runs=200))
    assert out_of(standing)["good"].why == "not placed"
    assert out_of(standing)["good"].block <= 3
    assert out_of(standing)["good"].reason.startswith("placement proved in ")
    assert standing.best != "good"


@pytest.mark.parametrize("verdict", ["violated", "unproved"])
def test_a_single_lost_run_puts_a_gain_off_until_it_is_a_tenth(verdict: str) -> None:
    standing, blocks = run_race(
        [REFERENCE, "good"], placed(PLACED, good={2: verdict}), Rule(runs=200)
    )
    made = sum(case_id == "good" for block in blocks for case_id, _ in block)
    assert (standing.decision, standing.best) == ("gain", "good")
    assert made > 10


def test_without_runs_enough_a_lost_one_leaves_it_undecided() -> None:
    answer = placed(PLACED, good={2: "unproved"})
    standing, _ = run_race([REFERENCE, "good"], answer, Rule(runs=14))
    assert (standing.decision, standing.best) == ("undecided", "good")


@pytest.mark.parametrize("verdict", ["violated", "unproved"])
def test_a_reference_that_is_seldom_in_its_place_ends_the_race(verdict: str) -> None:
    standing, _ = run_race([REFERENCE, "good"], placed(PLACED, ref=every(verdict, 1)))
    assert standing.decision == "no reference"


def test_a_best_that_leaves_its_place_in_the_trial_is_out_and_the_other_is_tried() -> None:
    answer = placed(PLACED, good=every("unproved", 1, 2, 3))
    standing, _ = run_race([REFERENCE, "good", "other"], answer, Rule(runs=200))
    assert (standing.decision, standing.best) == ("gain", "other")
    assert out_of(standing)["good"].why == "not placed"


def test_one_warm_up_that_is_not_proved_is_looked_at_again_and_two_end_the_race() -> None:
    unproved = RaceRun(0.01, 0.01, placed="unproved")
    assert Race([REFERENCE, "good"], Rule(), [unproved]).next_block()
    again = Race([REFERENCE, "good"], Rule(), [unproved, replace(unproved, placed="proved")])
    assert again.next_block()
    twice = Race([REFERENCE, "good"], Rule(), [unproved, unproved])
    assert not twice.next_block()
    assert twice.state().decision == "no reference"


def test_a_case_whose_run_was_disturbed_makes_it_again_before_the_round_ends() -> None:
    def answer(case_id: str, repetition: int) -> RaceRun | None:
        lost = case_id == "good" and repetition == 1
        return RaceRun(None, 2.1) if lost else FORTY(case_id, repetition)

    standing, blocks = run_race([*FORTY_S], answer)
    assert blocks[1] == [("good", 2)]
    assert (standing.decision, standing.best) == ("gain", "good")


# So many cases have one run each in the first round.
FORTY_S = {"ref": 1.0, "good": 0.5} | {f"other{n}": 0.9 + n / 100 for n in range(38)}
FORTY = steady(**FORTY_S)
