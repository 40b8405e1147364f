"""A race from its first block to its end: who is out when and why, and what may be spent."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from configs.repetitions import ANY
from configs.repetitions import Race as Rule
from runners.records.race.race import Race, most_runs, replay
from runners.records.race_state import (
    DECISIONS,
    WHYS,
    Eliminated,
    Key,
    RaceRun,
    RaceState,
)
from tests.runners.records.race.simulated_nodes import node_of, search

REFERENCE = "ref"
Answer = Callable[[str, int], "RaceRun | None"]


def steady(**seconds: float) -> Answer:
    """Return what answers each run with nearly the case's time."""

    def answer(case_id: str, repetition: int) -> RaceRun:
        # The same small wobble for all, and one of each case's own.
        wobble = 1 + 0.001 * math.sin(repetition) + 0.0005 * math.sin(repetition * len(case_id))
        return RaceRun(seconds[case_id] * wobble, seconds[case_id] * wobble)

    return answer


def but(usual: Answer, **others: Callable[[int], RaceRun | None]) -> Answer:
    """Return what answers as usual, but for these cases by their repetition."""

    def answer(case_id: str, repetition: int) -> RaceRun | None:
        return others[case_id](repetition) if case_id in others else usual(case_id, repetition)

    return answer


def run_race(
    cases: list[str], answer: Answer, rule: Rule | None = None
) -> tuple[RaceState, list[list[Key]]]:
    """Let cases race; return how it ended and the blocks that it asked for."""
    runs: dict[Key, RaceRun] = {}
    race = Race(cases, rule or Rule())
    blocks = []
    while block := race.next_block():
        blocks.append(block)
        found = {key: answer(*key) for key in block}
        runs |= {key: run for key, run in found.items() if run is not None}
        race.take(block, runs)
    return race.state(), blocks


def out_of(standing: RaceState) -> dict[str, Eliminated]:
    return {one.case_id: one for one in standing.eliminated}


def test_after_each_round_the_slower_half_ends_and_the_last_is_tried_against_the_reference() -> (
    None
):
    times = {"ref": 2.0, "slow": 4.0, "good": 1.0, "near": 1.05, "far": 3.0}
    standing, blocks = run_race([*times], steady(**times))
    assert sorted(blocks[0]) == [(case_id, 1) for case_id in sorted(times)]
    # The reference shows that it works; the rounds are among the others.
    rounds = [set(dict(block)) for block in blocks[1:] if REFERENCE not in dict(block)]
    assert rounds[0] == {"slow", "good", "near", "far"}
    assert rounds[-1] == {"good", "near"}
    assert [(one.case_id, one.why) for one in standing.eliminated] == [
        ("slow", "slower"), ("far", "slower"), ("near", "slower"),
    ]  # fmt: skip
    assert [one.worse_by for one in standing.eliminated] == pytest.approx([3.0, 2.0, 0.05], abs=0.1)
    assert (standing.decision, standing.best) == ("gain", "good")
    assert standing.p is not None
    assert standing.p < 0.001


@pytest.mark.parametrize(
    ("cases", "sizes"),
    [
        (1, [1]),
        (2, [2]),
        (3, [3, 2]),
        (9, [9, 5, 3, 2]),
        (33, [33, 17, 9, 5, 3, 2]),
    ],
)
def test_rounds_halve_the_cases_by_a_third_of_ten_runs_of_each(
    cases: int, sizes: list[int]
) -> None:
    names = [REFERENCE, *(f"c{n}" for n in range(cases))]
    _, blocks = run_race(names, noisy(dict.fromkeys(names, 1.0), 0.01))
    rounds = [len(block) for block in blocks[1:] if REFERENCE not in dict(block)]
    assert len(blocks[0]) == cases + 1
    assert sorted({cases, *rounds}, reverse=True) == sizes
    assert cases + 1 + sum(rounds) <= max(30, 10 * (cases + 1) / 3)
    # But for one run of each, which is the least, rounds have about the same number of runs.
    in_round = [size * rounds.count(size) for size in sizes[2:]]
    assert not in_round or max(in_round) <= 1.5 * min(in_round)


def test_of_two_that_cannot_be_told_apart_the_steadier_one_is_tried() -> None:
    def answer(case_id: str, repetition: int) -> RaceRun:
        wobble = {REFERENCE: 0.001, "wild": 0.3, "steady": 0.001}[case_id]
        value = {REFERENCE: 2.0, "wild": 0.99, "steady": 1.0}[case_id]
        return RaceRun(value * (1 + wobble * (-1) ** repetition), 1.0)

    standing, _ = run_race([REFERENCE, "wild", "steady"], answer)
    assert standing.best == "steady"


def test_the_trial_is_about_what_was_run_after_the_best_was_chosen() -> None:
    answer = steady(ref=2.0, good=1.0, near=1.05)
    standing, blocks = run_race([REFERENCE, "good", "near"], answer)
    raced = max(number for block in blocks for case_id, number in block if case_id == "near")
    assert min(standing.confirmation["good"]) == raced + 1
    # The reference has made one run before.
    assert list(standing.confirmation[REFERENCE]) == list(
        range(2, 2 + len(standing.confirmation["good"]))
    )
    assert len(standing.confirmation["good"]) >= 10


def test_nothing_better_than_the_reference_is_no_gain() -> None:
    standing, _ = run_race([REFERENCE, "a", "b"], steady(ref=1.0, a=1.2, b=1.3))
    assert (standing.decision, standing.best) == ("no gain", "a")
    assert standing.runs < 60


def test_no_case_is_ruled_out_for_good_by_few_runs_where_it_is_the_last_one() -> None:
    usual = steady(ref=1.0, good=0.8)
    slow = RaceRun(1.5, 1.5)
    answer = but(usual, good=lambda number: slow if number == 1 else usual("good", number))
    standing, _ = run_race([REFERENCE, "good"], answer, Rule(runs=60))
    assert (standing.decision, standing.best) == ("gain", "good")


def test_a_gain_within_the_margin_is_none() -> None:
    answer = steady(ref=1.0, a=0.98)
    assert run_race([REFERENCE, "a"], answer, Rule(margin=0.05))[0].decision == "no gain"
    assert run_race([REFERENCE, "a"], answer, Rule(runs=1000))[0].decision == "gain"


@given(st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_more_is_better_mirrors_less_is_better(seed: int) -> None:
    dice = random.Random(seed)
    values = {
        (f"c{n}", r): math.exp(dice.gauss(0.1 * n, 0.02)) for n in range(6) for r in range(99)
    }

    def lower(case_id: str, repetition: int) -> RaceRun:
        return RaceRun(values[case_id, repetition], 1.0)

    def higher(case_id: str, repetition: int) -> RaceRun:
        return RaceRun(1 / values[case_id, repetition], 1.0)

    cases = [f"c{n}" for n in (3, 0, 1, 2, 4, 5)]
    one, blocks = run_race(cases, lower)
    other, same = run_race(cases, higher, Rule(higher=True))
    assert (one.decision, one.best) == (other.decision, other.best)
    # One slow run among few says less of a mean of rates: the trial may end earlier.
    assert all(block == of_other for block, of_other in zip(blocks, same, strict=False))


def test_a_case_that_fails_is_out_with_its_reason() -> None:
    failed = RaceRun(None, 0.1, "exit status 3")
    answer = but(steady(ref=1.0, good=0.8), bad=lambda _: failed)
    standing, _ = run_race([REFERENCE, "bad", "good"], answer)
    assert out_of(standing)["bad"] == Eliminated("bad", 1, "failed", reason="exit status 3")
    assert standing.best == "good"


def test_a_best_that_fails_in_its_trial_is_not_recommended() -> None:
    usual, failed = steady(ref=1.0, good=0.8), RaceRun(None, 0.1, "ended by signal 11")
    answer = but(usual, good=lambda number: failed if number == 3 else usual("good", number))
    standing, _ = run_race([REFERENCE, "good"], answer)
    assert standing.decision == "no gain"
    assert standing.best is None
    assert out_of(standing)["good"].why == "failed"


def failing_from(case_id: str, first: int, **seconds: float) -> Answer:
    """Return what answers with nearly the cases' times, one of which fails from a run on."""
    usual, failed = steady(**seconds), RaceRun(None, 0.1, "check-failed: wrong sum")
    return but(usual, **{case_id: lambda n: usual(case_id, n) if n < first else failed})


def test_when_the_best_fails_in_its_trial_the_next_one_is_tried() -> None:
    seconds = {"ref": 2.0, "one": 1.0, "two": 1.02}
    sound, _ = run_race([*seconds], steady(**seconds))
    first = min(sound.confirmation["one"])
    standing, _ = run_race([*seconds], failing_from("one", first + 2, **seconds))
    assert (standing.decision, standing.best) == ("gain", "two")
    assert {case_id: one.why for case_id, one in out_of(standing).items()} == {"one": "failed"}


def test_a_trial_that_a_failure_ended_leaves_no_p_value() -> None:
    def answer(case_id: str, repetition: int) -> RaceRun:
        if case_id == "good" and repetition == 25:
            return RaceRun(None, 0.1, "exit status 1")
        seconds = {REFERENCE: 1.0, "good": 0.97}[case_id] * (1 + 0.05 * (-1) ** repetition)
        return RaceRun(seconds, seconds)

    standing, _ = run_race([REFERENCE, "good"], answer)
    assert (standing.decision, standing.best, standing.p) == ("no gain", None, None)
    assert standing.looks > 0


def test_when_all_of_a_round_fail_the_last_that_ended_is_tried() -> None:
    seconds = {"ref": 2.0, "wrong": 1.0, "bad": 1.1, "good": 1.6, "slow": 2.5}
    usual, failed = steady(**seconds), RaceRun(None, 0.1, "exit status 1")
    _, blocks = run_race([*seconds], usual)
    # The first run of both in the round that is theirs alone.
    first = next(dict(block)["wrong"] for block in blocks if "good" not in dict(block))

    def answer(case_id: str, repetition: int) -> RaceRun | None:
        fails = case_id in ("wrong", "bad") and repetition == first
        return failed if fails else usual(case_id, repetition)

    standing, _ = run_race([*seconds], answer)
    assert (standing.decision, standing.best) == ("gain", "good")
    assert {case_id: out.why for case_id, out in out_of(standing).items()} == {
        "wrong": "failed",
        "bad": "failed",
        "slow": "slower",
    }


@given(
    st.lists(st.sampled_from([0.5, 0.8, 0.9, 1.0, 1.3, 4.0]), min_size=1, max_size=6),
    st.lists(st.integers(1, 12), min_size=6, max_size=6),
    st.integers(0, 5),
)
@settings(deadline=None)
def test_no_gain_is_said_only_if_no_sound_case_has_one(
    seconds: list[float], first_failures: list[int], sound: int
) -> None:
    times = {REFERENCE: 1.0} | {f"case{number}": of for number, of in enumerate(seconds)}
    failing = dict(list(zip([*times][1:], first_failures, strict=False))[sound:])
    usual, failed = steady(**times), RaceRun(None, 0.1, "exit status 1")

    def answer(case_id: str, repetition: int) -> RaceRun | None:
        fails = repetition >= failing.get(case_id, 1000)
        return failed if fails else usual(case_id, repetition)

    standing, _ = run_race([*times], answer, Rule(runs=500))
    if any(of < 1.0 for case_id, of in times.items() if case_id not in failing):
        assert standing.decision == "gain"
        assert standing.best is not None
        assert times[standing.best] < 1.0


def test_a_disturbed_run_is_nobodys_fault() -> None:
    usual = steady(ref=1.0, good=0.8, other=0.85)

    def answer(case_id: str, repetition: int) -> RaceRun | None:
        return RaceRun(None, 1.0) if repetition == 1 else usual(case_id, repetition)

    standing, _ = run_race([REFERENCE, "good", "other"], answer)
    assert (standing.decision, standing.best) == ("gain", "good")


def test_what_cannot_be_run_now_is_out_and_the_others_go_on() -> None:
    answer = but(steady(ref=1.0, good=0.8), gone=lambda _: None)
    standing, _ = run_race([REFERENCE, "gone", "good"], answer)
    assert out_of(standing)["gone"].why == "cannot run"
    assert (standing.decision, standing.best) == ("gain", "good")


@pytest.mark.parametrize("run", [None, RaceRun(None, 1.0, "exit status 1")])
def test_without_a_good_reference_there_is_no_race(run: RaceRun | None) -> None:
    standing, blocks = run_race([REFERENCE, "good"], but(steady(good=1.0), ref=lambda _: run))
    assert standing.decision == "no reference"
    assert len(blocks) == 1


def test_a_warm_up_run_that_fails_ends_all_before_anything_is_compared() -> None:
    race = Race([REFERENCE, "good"], Rule(), [RaceRun(None, 3.0, "exit status 1")])
    assert race.next_block() == []
    assert race.state().decision == "no reference"


def test_a_run_that_was_cut_tells_how_far_behind_it_is_at_least() -> None:
    limited = RaceRun(None, 2.4, "ended after its limit of 2.4 s", cut=True)
    answer = but(steady(ref=1.0, good=0.8), long=lambda _: limited)
    out = out_of(run_race([REFERENCE, "long", "good"], answer)[0])["long"]
    assert out.why == "cut"
    assert out.worse_by == pytest.approx(2.0, rel=0.01)


def test_where_time_is_short_the_last_ones_do_not_begin() -> None:
    cases = [REFERENCE, *(f"c{n}" for n in range(20))]
    race = Race(cases, Rule(time_budget_s=35 * 60), [RaceRun(60.0, 60.0)])
    begun = {case_id for case_id, _ in race.next_block()}
    assert begun == {REFERENCE, *(f"c{n}" for n in range(len(begun) - 1))}
    assert 5 < len(begun) < 15
    out = race.state().eliminated
    assert {one.why for one in out} == {"no time"}
    assert len(out) + len(begun) == 21


@pytest.mark.parametrize(("runs", "cases"), [(10, 3), (12, 200), (60, 200), (66, 60)])
def test_the_runs_given_are_kept_however_many_cases_there_are(runs: int, cases: int) -> None:
    names = [REFERENCE, *(f"c{n}" for n in range(cases))]
    standing, _ = run_race(names, steady(**dict.fromkeys(names, 1.0)), Rule(runs=runs))
    assert standing.runs <= runs
    assert standing.confirmation
    left = [one.case_id for one in standing.eliminated if one.why == "no time"]
    assert left == names[max(2, runs - 20) :]


@pytest.mark.parametrize("one_s", [0.01, 1.0, 60.0, 300.0])
def test_the_time_given_is_kept(one_s: float) -> None:
    dice = random.Random(4)
    runs: dict[Key, RaceRun] = {}
    cases = [REFERENCE, *(f"c{n}" for n in range(15))]
    warmup = RaceRun(one_s, one_s)
    race = Race(cases, Rule(time_budget_s=1800.0, runs=1000), [warmup])
    while block := race.next_block():
        for key in block:
            value = one_s * math.exp(dice.gauss(0, 0.05))
            runs[key] = RaceRun(value, value)
        race.take(block, runs)
    assert race.state().spent_s <= 1800 + 2 * one_s
    assert race.state().decision != "unfinished"


def test_where_runs_are_short_there_are_more_and_one_of_each_decides_nothing() -> None:
    unlucky = {("good", 1): 0.02}

    def answer(case_id: str, repetition: int) -> RaceRun:
        value = unlucky.get((case_id, repetition), 0.01 if case_id == REFERENCE else 0.008)
        value *= 1 + 0.01 * math.sin(repetition * len(case_id))
        return RaceRun(value, value)

    runs: dict[Key, RaceRun] = {}
    race = Race([REFERENCE, "good"], Rule(), [RaceRun(0.01, 0.01)])
    while block := race.next_block():
        runs |= {key: answer(*key) for key in block}
        race.take(block, runs)
    assert most_runs(Rule(), 2, 0.03) == 333
    assert (race.state().decision, race.state().best) == ("gain", "good")


def noisy(means: Mapping[str, float], deviation: float, took_s: float = 0.0) -> Answer:
    """Return what answers with a case's mean time and noise."""
    dice = random.Random(5)

    def answer(case_id: str, _: int) -> RaceRun:
        value = means[case_id] * math.exp(dice.gauss(0, deviation))
        return RaceRun(value, value, took_s=took_s)

    return answer


def test_where_time_alone_limits_a_race_goes_on_until_it_knows() -> None:
    # A difference of 3 %, of which 30 runs with a deviation of 10 % tell nothing.
    answer = noisy({REFERENCE: 1.03, "good": 1.0}, 0.1)
    assert run_race([REFERENCE, "good"], answer)[0].runs <= 130
    standing, _ = run_race([REFERENCE, "good"], answer, Rule(time_budget_s=7200.0, runs=ANY))
    assert standing.most_runs is None
    assert (standing.decision, standing.best) == ("gain", "good")
    assert standing.runs > 100
    assert standing.spent_s < 7200


@pytest.mark.parametrize("took_s", [0.0, 0.5])
def test_the_time_that_limits_is_used_up_with_what_pinstudy_needs_around_runs(
    took_s: float,
) -> None:
    # Half the margin, and much noise: tens of thousands of runs would decide it.
    answer = noisy({REFERENCE: 0.01005, "near": 0.01, "far": 0.03}, 0.2, took_s)
    rule = Rule(time_budget_s=60.0, runs=ANY)
    standing, _ = run_race([REFERENCE, "near", "far"], answer, rule)
    assert 55 < standing.spent_s <= 60
    assert standing.runs * max(took_s, 0.03) == pytest.approx(60, rel=0.15)


def test_a_clear_gain_ends_a_race_long_before_its_time() -> None:
    rule = Rule(time_budget_s=3600.0, runs=ANY)
    standing, _ = run_race([REFERENCE, "good"], noisy({REFERENCE: 1.2, "good": 1.0}, 0.01), rule)
    assert standing.decision == "gain"
    assert standing.runs < 70


@given(st.integers(0, 2**32), st.integers(2, 12), st.floats(0, 0.3))
@example(16347, 10, 0.0)  # runs of three quarters of a second: 95 of them fit into 90 s
@settings(max_examples=60, deadline=None)
def test_whatever_happens_it_ends_within_its_runs_and_never_runs_what_is_out(
    seed: int, cases: int, bad: float
) -> None:
    dice = random.Random(seed)
    means = [math.exp(dice.gauss(0, 0.2)) for _ in range(cases)]

    def answer(case_id: str, _: int) -> RaceRun | None:
        draw = dice.random()
        if draw < bad / 3:
            return None
        if draw < bad:
            return RaceRun(None, 1.0, dice.choice(["", "failed"]), cut=dice.random() < 0.2)
        value = means[int(case_id)] * math.exp(dice.gauss(0, 0.03))
        return RaceRun(value, value)

    rule = dice.choice([Rule(), Rule(runs=10), Rule(runs=50), Rule(time_budget_s=90.0, runs=ANY)])
    standing, blocks = run_race([str(n) for n in range(cases)], answer, rule)
    assert standing.decision in set(DECISIONS) - {"unfinished"}
    if standing.most_runs is None:
        assert standing.spent_s <= 90.0
    else:
        assert standing.runs <= max(standing.most_runs, cases)
    assert ("0", 1) in blocks[0]
    for number, block in enumerate(blocks, 1):
        gone = {one.case_id for one in standing.eliminated if one.block < number}
        assert gone.isdisjoint(case_id for case_id, _ in block)
    assert {one.why for one in standing.eliminated} <= set(WHYS)


@given(st.integers(0, 10_000), st.data())
@settings(max_examples=30, deadline=None)
def test_who_knows_a_part_of_the_runs_stands_where_the_race_stood_then(
    seed: int, data: st.DataObject
) -> None:
    node = node_of("", [1.3, 1.0, 1.02, 1.1, 1.5, 2.0], 0.01)
    found = search(node, Rule(), seed)
    assert replay(node.case_ids, Rule(), found.runs) == found.standing
    known = data.draw(st.integers(0, len(found.runs)))
    part: Mapping[Key, RaceRun] = dict(list(found.runs.items())[:known])
    standing = replay(node.case_ids, Rule(), part)
    assert standing.eliminated == found.standing.eliminated[: len(standing.eliminated)]
    if known < len(found.runs):
        assert standing.decision == "unfinished"
