"""A race from its first block to its end: who is out when and why, and what may be spent."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinstudy.configs.repetitions import ANY
from pinstudy.configs.repetitions import Race as Rule
from pinstudy.runners.records.race.race import Race, most_runs
from pinstudy.runners.records.race_state import (
    DECISIONS,
    WHYS,
    Eliminated,
    Key,
    RaceRun,
    RaceState,
    race_fields,
    race_run,
)

REFERENCE = "ref"
FAILED, DISTURBED = RaceRun(None, 0.1, "exit status 3"), RaceRun(None, 1.0)
ENDLESS = 2000
Answer = Callable[[str, int], "RaceRun | None"]
# What a case's runs take: nearly so many seconds, always the same, or seconds but for some
# repetitions, which have another run or another verdict on their placement.
Course = float | RaceRun | tuple[float, Mapping[int, RaceRun | str | None]] | None
Courses = Mapping[str, Course]


def answer_of(courses: Courses) -> Answer:
    """Return what answers each run of these cases; all of them are proved to be in their place."""

    def answer(case_id: str, repetition: int) -> RaceRun | None:
        course = courses[case_id]
        if course is None or isinstance(course, RaceRun):
            return course
        seconds, changed = course if isinstance(course, tuple) else (course, {})
        # The same small wobble for all, and one of each case's own.
        wobble = 1 + 0.001 * math.sin(repetition) + 0.0005 * math.sin(repetition * len(case_id))
        run = RaceRun(seconds * wobble, seconds * wobble, placed="proved")
        change = changed.get(repetition, run)
        if not isinstance(change, str):
            return change
        return replace(run, value=None if change == "violated" else run.value, placed=change)

    return answer


def noisy(means: Mapping[str, float], deviation: float, took_s: float = 0.0) -> Answer:
    """Return what answers with a case's mean time and noise."""
    dice = random.Random(5)

    def answer(case_id: str, _: int) -> RaceRun:
        value = means[case_id] * math.exp(dice.gauss(0, deviation))
        return RaceRun(value, value, took_s=took_s)

    return answer


def from_on(first: int, change: RaceRun | str) -> dict[int, RaceRun | str | None]:
    return dict.fromkeys(range(first, ENDLESS), change)


def run_race(
    courses: Courses, rule: Rule | None = None, answer: Answer | None = None
) -> tuple[RaceState, list[list[Key]]]:
    """Let cases race; return how it ended and the blocks that it asked for."""
    answer = answer or answer_of(courses)
    runs: dict[Key, RaceRun] = {}
    race = Race([*courses], rule or Rule())
    blocks = []
    while block := race.next_block():
        blocks.append(block)
        found = {key: answer(*key) for key in block}
        runs |= {key: run for key, run in found.items() if run is not None}
        race.take(block, runs)
    return race.state(), blocks


def whys(standing: RaceState) -> dict[str, str]:
    return {case.case_id: case.why for case in standing.eliminated}


def equal(cases: int) -> dict[str, float]:
    return dict.fromkeys([REFERENCE, *(f"c{n}" for n in range(cases))], 1.0)


def test_after_each_round_the_slower_half_ends_and_the_last_is_tried() -> None:
    times = {"ref": 2.0, "slow": 4.0, "good": 1.0, "near": 1.05, "far": 3.0}
    standing, blocks = run_race(times)
    assert sorted(blocks[0]) == [(case_id, 1) for case_id in sorted(times)]
    # The reference shows that it works; the rounds are among the others.
    rounds = [set(dict(block)) for block in blocks[1:] if REFERENCE not in dict(block)]
    assert (rounds[0], rounds[-1]) == ({"slow", "good", "near", "far"}, {"good", "near"})
    assert whys(standing) == dict.fromkeys(("slow", "far", "near"), "slower")
    behind = [case.worse_by for case in standing.eliminated]
    assert behind == pytest.approx([3.0, 2.0, 0.05], abs=0.1)
    assert (standing.decision, standing.best) == ("gain", "good")
    assert standing.p is not None and standing.p < 0.001
    # The trial is about what was run after the best was chosen; the reference has run once before.
    raced = max(number for block in blocks for case_id, number in block if case_id == "near")
    pairs = len(standing.confirmation["good"])
    assert pairs >= 10
    assert min(standing.confirmation["good"]) == raced + 1
    assert list(standing.confirmation[REFERENCE]) == list(range(2, 2 + pairs))


@pytest.mark.parametrize(
    ("cases", "sizes"),
    [(1, [1]), (2, [2]), (3, [3, 2]), (9, [9, 5, 3, 2]), (33, [33, 17, 9, 5, 3, 2])],
)
def test_rounds_halve_the_cases_by_a_third_of_ten_runs_each(cases: int, sizes: list[int]) -> None:
    _, blocks = run_race(equal(cases), answer=noisy(equal(cases), 0.01))
    rounds = [len(block) for block in blocks[1:] if REFERENCE not in dict(block)]
    assert len(blocks[0]) == cases + 1
    assert sorted({cases, *rounds}, reverse=True) == sizes
    assert cases + 1 + sum(rounds) <= max(30, 10 * (cases + 1) / 3)
    # But for one run of each, which is the least, rounds have about the same number of runs.
    in_round = [size * rounds.count(size) for size in sizes[2:]]
    assert not in_round or max(in_round) <= 1.5 * min(in_round)


SEVERAL, LATE = Rule(runs=200), from_on(4, "unproved")
FEW, MORE, NOT_PLACED = Rule(runs=14), Rule(higher=True), from_on(2, "unproved")


class End(NamedTuple):
    """How a race of these cases ends, and why others are out by then."""

    courses: Courses
    decision: str
    best: str | None
    out: Mapping[str, str]
    rule: Rule


def end(
    courses: Courses, decision: str, best: str | None, rule: Rule | None = None, **out: str
) -> End:
    return End(courses, decision, best, out, rule or Rule())


ONCE: dict[int, RaceRun | str | None] = {1: DISTURBED}
ENDS = {
    "nothing better": end({"ref": 1.0, "a": 1.2, "b": 1.3}, "no gain", "a", b="slower"),
    "within the margin": end({"ref": 1.0, "a": 0.98}, "no gain", "a", Rule(margin=0.05)),
    "beyond the margin": end({"ref": 1.0, "a": 0.98}, "gain", "a", Rule(runs=1000)),
    "more is better": end({"ref": 1.0, "a": 0.8, "b": 1.3}, "gain", "b", MORE, a="slower"),
    "less is worse": end({"ref": 1.0, "a": 0.8, "b": 0.7}, "no gain", "a", MORE, b="slower"),
    # It is the last one, and not ruled out for good by few runs.
    "slow once": end({"ref": 1.0, "a": (0.8, {1: RaceRun(1.5, 1.5)})}, "gain", "a", Rule(runs=60)),
    "a failure": end({"ref": 1.0, "bad": FAILED, "a": 0.8}, "gain", "a", bad="failed"),
    "a failure in the trial": end(
        {"ref": 1.0, "a": (0.8, {3: FAILED})}, "no gain", None, a="failed"
    ),
    "all disturbed": end(
        {"ref": (1.0, ONCE), "a": (0.8, ONCE), "b": (0.85, ONCE)}, "gain", "a", b="slower"
    ),
    "no run": end({"ref": 1.0, "gone": None, "a": 0.8}, "gain", "a", gone="cannot run"),
    "no reference": end({"ref": None, "a": 1.0}, "no reference", None),
    "a reference that fails": end({"ref": FAILED, "a": 1.0}, "no reference", None),
    "a reference elsewhere": end({"ref": (1.0, NOT_PLACED), "a": 0.5}, "no reference", "a"),
    "elsewhere in the trial": end(
        {"ref": 1.0, "a": (0.5, LATE), "b": 0.9}, "gain", "b", SEVERAL, a="not placed"
    ),
    "lost among few": end({"ref": 1.0, "a": (0.5, {2: "unproved"})}, "undecided", "a", FEW),
}


@pytest.mark.parametrize("expected", ENDS.values(), ids=ENDS)
def test_a_race_ends_by_what_its_runs_were(expected: End) -> None:
    standing, _ = run_race(expected.courses, expected.rule)
    assert (standing.decision, standing.best) == (expected.decision, expected.best)
    assert whys(standing) == expected.out
    assert standing.decision != "no gain" or standing.runs < 60


def test_who_is_out_has_a_reason_or_by_how_much_it_is_behind() -> None:
    limited = RaceRun(None, 2.4, "ended after its limit of 2.4 s", cut=True)
    failed = RaceRun(None, 0.9, "exit status 3")
    standing, _ = run_race({"ref": 1.0, "long": limited, "bad": (9.0, {1: failed}), "good": 0.8})
    out = {case.case_id: case for case in standing.eliminated}
    assert out["bad"] == Eliminated("bad", 1, "failed", reason="exit status 3")
    assert out["long"].why == "cut"
    assert out["long"].worse_by == pytest.approx(2.0, rel=0.01)


def test_of_two_that_cannot_be_told_apart_the_steadier_one_is_tried() -> None:
    courses = {REFERENCE: (2.0, 0.001), "wild": (0.99, 0.3), "steady": (1.0, 0.001)}

    def answer(case_id: str, repetition: int) -> RaceRun:
        value, wobble = courses[case_id]
        return RaceRun(value * (1 + wobble * (-1) ** repetition), 1.0)

    assert run_race(dict.fromkeys(courses), answer=answer)[0].best == "steady"


def test_when_the_best_fails_in_its_trial_the_next_one_is_tried() -> None:
    courses: dict[str, Course] = {"ref": 2.0, "first": 1.0, "second": 1.02}
    sound, _ = run_race(courses)
    late = min(sound.confirmation["first"]) + 2
    standing, _ = run_race(courses | {"first": (1.0, from_on(late, FAILED))})
    assert (standing.decision, standing.best) == ("gain", "second")
    assert whys(standing) == {"first": "failed"}


def test_when_all_of_a_round_fail_the_last_that_ended_is_tried() -> None:
    courses: dict[str, Course] = {"ref": 2.0, "wrong": 1.0, "bad": 1.1, "good": 1.6, "slow": 2.5}
    _, blocks = run_race(courses)
    # The first run of both in the round that is theirs alone.
    first = next(dict(block)["wrong"] for block in blocks if "good" not in dict(block))
    failing: dict[str, Course] = {"wrong": (1.0, {first: FAILED}), "bad": (1.1, {first: FAILED})}
    standing, _ = run_race(courses | failing)
    assert (standing.decision, standing.best) == ("gain", "good")
    assert whys(standing) == {"wrong": "failed", "bad": "failed", "slow": "slower"}


def test_a_trial_that_a_failure_ended_leaves_no_p_value() -> None:
    def answer(case_id: str, repetition: int) -> RaceRun:
        if case_id == "good" and repetition == 25:
            return FAILED
        seconds = {REFERENCE: 1.0, "good": 0.97}[case_id] * (1 + 0.05 * (-1) ** repetition)
        return RaceRun(seconds, seconds)

    standing, _ = run_race({REFERENCE: None, "good": None}, answer=answer)
    assert (standing.decision, standing.best, standing.p) == ("no gain", None, None)
    assert standing.looks > 0


@given(
    st.lists(st.sampled_from([0.5, 0.8, 0.9, 1.0, 1.3, 4.0]), min_size=1, max_size=6),
    st.lists(st.integers(1, 12), min_size=6, max_size=6),
    st.integers(0, 5),
)
@settings(max_examples=30, deadline=None)
def test_no_gain_is_overlooked(seconds: list[float], first_failures: list[int], sound: int) -> None:
    courses: dict[str, Course] = {f"case{n}": value for n, value in enumerate(seconds)}
    times = list(zip([*courses], seconds, first_failures, strict=False))
    failing = {name: (value, from_on(first, FAILED)) for name, value, first in times[sound:]}
    standing, _ = run_race({REFERENCE: 1.0, **courses, **failing}, Rule(runs=500))
    better = {name for name, value, _ in times[:sound] if value < 1.0}
    if better:
        assert standing.decision == "gain"
        assert standing.best in better | {name for name, value, _ in times if value < 1.0}


@pytest.mark.parametrize("verdict", ["violated", "unproved"])
@pytest.mark.parametrize("seconds", [0.3, 0.9])
def test_a_case_that_is_seldom_in_its_place_is_never_recommended(
    verdict: str, seconds: float
) -> None:
    # Only runs that were too short to be caught are left of it, as of a program that binds itself.
    lost = {n: verdict for n in range(1, ENDLESS) if n not in (1, 4, 7)}
    standing, _ = run_race({"ref": 1.0, "good": (seconds, lost), "other": 0.95}, SEVERAL)
    (out,) = (case for case in standing.eliminated if case.case_id == "good")
    assert out.why == "not placed"
    assert standing.best != "good"
    assert out.block <= 3
    assert out.reason.startswith("placement proved in ")


@pytest.mark.parametrize("verdict", ["violated", "unproved"])
def test_a_single_lost_run_puts_a_gain_off_until_it_is_a_tenth(verdict: str) -> None:
    standing, blocks = run_race({"ref": 1.0, "good": (0.5, {2: verdict})}, SEVERAL)
    assert (standing.decision, standing.best) == ("gain", "good")
    assert sum("good" in dict(block) for block in blocks) > 10


def test_a_case_whose_run_was_disturbed_makes_it_again_before_the_round_ends() -> None:
    # So many cases have one run each in the first round.
    others: dict[str, Course] = {f"other{n}": 0.9 + n / 100 for n in range(38)}
    standing, blocks = run_race({"ref": 1.0, "good": (0.5, {1: DISTURBED}), **others})
    assert blocks[1] == [("good", 2)]
    assert (standing.decision, standing.best) == ("gain", "good")


def test_warm_up_runs_that_fail_or_are_twice_not_proved_end_the_race() -> None:
    unproved = RaceRun(0.01, 0.01, placed="unproved")
    proved = replace(unproved, placed="proved")
    for warmups, races in (
        ([RaceRun(None, 3.0, "exit status 1")], False),
        ([unproved], True),
        ([unproved, proved], True),
        ([unproved, unproved], False),
    ):
        race = Race([REFERENCE, "good"], Rule(), warmups)
        assert bool(race.next_block()) is races
        assert race.state().decision == ("unfinished" if races else "no reference")


def test_where_time_is_short_the_last_ones_do_not_begin() -> None:
    race = Race([*equal(20)], Rule(time_budget_s=35 * 60), [RaceRun(60.0, 60.0)])
    begun = {case_id for case_id, _ in race.next_block()}
    assert begun == {*equal(len(begun) - 1)}
    assert 5 < len(begun) < 15
    out = race.state().eliminated
    assert {case.why for case in out} == {"no time"}
    assert len(out) + len(begun) == 21


@pytest.mark.parametrize(("runs", "cases"), [(10, 3), (12, 200), (60, 200), (66, 60)])
def test_the_runs_given_are_kept_however_many_cases_there_are(runs: int, cases: int) -> None:
    standing, _ = run_race(equal(cases), Rule(runs=runs))
    assert standing.runs <= runs
    assert standing.confirmation
    left = [case.case_id for case in standing.eliminated if case.why == "no time"]
    assert left == [*equal(cases)][max(2, runs - 20) :]


def test_where_runs_are_short_there_are_more() -> None:
    assert most_runs(Rule(), 2, 0.03) == 333
    assert most_runs(Rule(time_budget_s=60.0, runs=ANY), 2, 0.03) is None


def test_where_time_alone_limits_a_race_goes_on_until_it_knows() -> None:
    # A difference of 3 %, of which 30 runs with a deviation of 10 % tell nothing.
    means = {REFERENCE: 1.03, "good": 1.0}
    assert run_race(means, answer=noisy(means, 0.1))[0].runs <= 130
    timed = Rule(time_budget_s=7200.0, runs=ANY)
    standing, _ = run_race(means, timed, noisy(means, 0.1))
    assert standing.most_runs is None
    assert (standing.decision, standing.best) == ("gain", "good")
    assert standing.runs > 100
    assert standing.spent_s < 7200
    # A clear gain ends it long before.
    clear = {REFERENCE: 1.2, "good": 1.0}
    standing, _ = run_race(clear, timed, noisy(clear, 0.01))
    assert standing.decision == "gain"
    assert standing.runs < 70


@pytest.mark.parametrize("took_s", [0.0, 0.5])
def test_time_that_limits_is_used_up_with_what_is_needed_around_runs(took_s: float) -> None:
    # Half the margin, and much noise: tens of thousands of runs would decide it.
    means = {REFERENCE: 0.01005, "near": 0.01, "far": 0.03}
    rule = Rule(time_budget_s=60.0, runs=ANY)
    standing, _ = run_race(means, rule, noisy(means, 0.2, took_s))
    assert 55 < standing.spent_s <= 60
    assert standing.runs * max(took_s, 0.03) == pytest.approx(60, rel=0.15)


@given(st.integers(0, 2**32), st.integers(2, 12), st.floats(0, 0.3))
@example(16347, 10, 0.0)  # runs of three quarters of a second: 95 of them fit into 90 s
@settings(max_examples=40, deadline=None)
def test_any_race_ends_and_never_runs_what_is_out(seed: int, cases: int, bad: float) -> None:
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
    names: dict[str, Course] = dict.fromkeys(map(str, range(cases)))
    standing, blocks = run_race(names, rule, answer)
    assert standing.decision in set(DECISIONS) - {"unfinished"}
    if standing.most_runs is None:
        assert standing.spent_s <= 90.0
    else:
        assert standing.runs <= max(standing.most_runs, cases)
    assert ("0", 1) in blocks[0]
    for number, block in enumerate(blocks, 1):
        gone = {case.case_id for case in standing.eliminated if case.block < number}
        assert gone.isdisjoint(case_id for case_id, _ in block)
    assert {case.why for case in standing.eliminated} <= set(WHYS)


# What is seen of a record without threads.
UNKNOWN = {"placement": None, "disturbed": False}
GOOD: dict[str, Any] = {
    **{"status": "ok", "repetition": 2, "warmup": False, "elapsed_s": 2.0, "energy_pkg_j": 30.0},
    "metrics": {"rate": 7.5, "wrong": -1.0, "huge": 1e300},
    "unavailable": {"metrics.other": "stdout has nothing that matches 'x'"},
}
# Marks take much of the run, as of every other one: that disturbs none of them.
MARKED = GOOD | {
    "regions": {"solve": {"elapsed_s": 0.5, "energy_pkg_j": 4.0, "unavailable": {}}},
    "region_marks": {"marks": 900, "cost_s": 1.4},
}
NO_ENERGY = {name: value for name, value in GOOD.items() if name != "energy_pkg_j"} | {
    "unavailable": {"energy_pkg_j": "no permission"}
}
UNMARKED = GOOD | {"unavailable": {"regions.solve": "the program did not mark it"}}
WITHOUT = GOOD | {"regions": {"solve": {"elapsed_s": 0.5, "unavailable": {"energy_pkg_j": "none"}}}}


@pytest.mark.parametrize(
    ("record", "rule", "value"),
    [
        (GOOD, Rule("time"), 2.0),
        (GOOD, Rule("energy"), 30.0),
        (GOOD, Rule("edp"), 60.0),
        (GOOD, Rule("rate"), 7.5),
        (MARKED, Rule("time", region="solve"), 0.5),
        (MARKED, Rule("energy", region="solve"), 4.0),
        (MARKED, Rule("edp", region="solve"), 2.0),
        # What is not known is the case's fault.
        (GOOD, Rule("other"), "stdout has nothing that matches 'x'"),
        (GOOD, Rule("wrong"), "-1 is no wrong to compare: more than 0 is needed"),
        (GOOD, Rule("huge"), "1e+300 is no huge to compare: at most 1e+30 is needed"),
        (NO_ENERGY, Rule("energy"), "no permission"),
        (NO_ENERGY, Rule("edp"), "no permission"),
        (UNMARKED, Rule("time", region="solve"), "region solve: the program did not mark it"),
        (WITHOUT, Rule("edp", region="solve"), "none"),
    ],
)
def test_runs_are_judged_by_the_aim(record: dict[str, Any], rule: Rule, value: float | str) -> None:
    fields = race_fields(record, rule)
    if isinstance(value, str):
        reasons = record["unavailable"] | {"race_value": value}
        assert fields == {"unavailable": reasons, "race_seen": UNKNOWN}
        assert race_run(record | fields, rule) == RaceRun(None, 2.0, value)
    else:
        assert fields == {"race_value": value, "race_seen": UNKNOWN}
        assert race_run(record | fields, rule) == RaceRun(value, 2.0)


FIRST = {"repetition": 1}
LIMITED = {"status": "timeout", "reason": "ended after its limit of 2 s"}
CUT = RaceRun(None, 2.0, "ended after its limit of 2 s", cut=True)
ELSEWHERE = {"status": "placement-violated", "reason": "bound"}
BLAMED, UNBLAMED = RaceRun(None, 2.0, "exit status 3"), RaceRun(None, 2.0)
BUSY = {"race_seen": {"disturbed": True}}


@pytest.mark.parametrize(
    ("fields", "rule", "seen"),
    [
        # A case is to blame for what it does, and not for what others do.
        ({"status": "failed", "reason": "exit status 3"}, Rule(), BLAMED),
        ({"status": "check-failed", "reason": "exit status 3", "warmup": True}, Rule(), BLAMED),
        *[({"status": status}, Rule(), UNBLAMED) for status in ("settings-changed", "suspended")],
        ({"status": "clock-drifted", "reason": "x"}, Rule(), UNBLAMED),
        # Elsewhere is its fault at first; of later runs, and on a busy node, the number counts.
        (ELSEWHERE | FIRST, Rule(), RaceRun(None, 2.0, "bound", placed="violated")),
        (ELSEWHERE, Rule(), RaceRun(None, 2.0, placed="violated")),
        (ELSEWHERE | FIRST | BUSY, Rule(), RaceRun(None, 2.0, placed="violated")),
        # A first run that takes long was cut where its time is raced for, if none disturbed it.
        (LIMITED | FIRST, Rule(), CUT),
        (LIMITED | FIRST | BUSY, Rule(), UNBLAMED),
        *[
            (LIMITED | fields, rule, replace(CUT, cut=False))
            for fields, rule in (
                ({}, Rule()),
                (FIRST, Rule("energy")),
                (FIRST, Rule("time", region="solve")),
            )
        ],
        ({}, Rule(), RaceRun(None, 2.0, "it has no time")),
    ],
)
def test_a_race_sees_whose_fault_it_is(fields: dict[str, Any], rule: Rule, seen: RaceRun) -> None:
    assert race_run(GOOD | fields, rule) == seen


def test_what_was_seen_of_a_run_is_in_its_record() -> None:
    team = [{"process": 0}, {"process": 0}, {"process": 1}]
    placement = {"verdict": "unproved", "threads": team}
    record = GOOD | {"schema": 6, "threads": 4, "placement": placement, "foreign_cpu_s": 5.0}
    record |= race_fields(record, Rule(), took_s=2.5)
    assert record["race_seen"] == {"placement": "unproved", "disturbed": True, "took_s": 2.5}
    assert race_run(record, Rule()) == RaceRun(2.0, 2.0, placed="unproved", took_s=2.5)
    assert race_fields(GOOD | {"status": "failed"}, Rule()) == {"race_seen": UNKNOWN}
