"""What could mislead a reader is said: other attempts, modes, neighbours, unlike spreads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.card import write_card
from pinstudy.analysis.findings.glance import decision_overviews, not_comparable
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.overview.grid import labels_of_verdicts
from pinstudy.analysis.overview.terminal import overviews_of
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.statistics.decision import Look
from pinstudy.analysis.statistics.unlike import spread_times_of_means
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict.model import MeasureChange
from pinstudy.analysis.verdict_text.document import as_text, reading_notes
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.runners.plan.runs import plan_order
from pinstudy.runners.records.disturbances import SHARED, STOLEN
from tests.analysis.verdict.test_verdicts import imported
from tests.support.cli import pinstudy
from tests.support.in_memory import judged
from tests.support.results import (
    Record,
    Study,
    case_of,
    caveats,
    compared,
    decision,
    lacking,
    made_again,
    only_table,
    spoilt,
    timed,
    words,
    write,
)

FASTER = {"unpinned": 1.0, "pcores-set": 0.95, "pcores-pin": 0.9}
TWO_ALIKE = {"unpinned": 1.0, "pcores-pin": 1.0}
TWO_MAPPINGS = Study(TWO_ALIKE, seed=3)
ALIKE = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.0}
# Deviations of ten runs in units of their standard deviation.
AWAY = [1.2, -0.4, 0.9, -1.5, 0.3, 1.1, -1.3, -0.2, 0.8, -0.9]


def made_after_the_next_block_began(run: Record) -> Record:
    """In turn, but no block ended before the next one began."""
    return {"order": run["order"] + (0 if run["mapping"] == "unpinned" else 7)}


@pytest.mark.parametrize(
    ("change", "paired", "n", "across"),
    [
        (lambda _: {"attempt": None}, True, 10, False),
        # Killed within block 6.
        (lambda run: {"attempt": 1 if run["order"] <= 16 else 2}, True, 9, False),
        # In attempts of their own.
        (lambda run: {"attempt": run["order"]}, False, 10, True),
        (made_after_the_next_block_began, False, 10, False),
    ],
)
def test_runs_of_one_block_and_attempt_are_paired_and_no_others(
    change: Callable[[Record], Record], paired: bool, n: int, across: bool
) -> None:
    findings = judged([run | change(run) for run in Study(FASTER).records()])
    pinned = compared(findings)
    assert (pinned.difference.paired, pinned.difference.n) == (paired, n)
    assert pinned.across_attempts == across
    assert ("no attempt of both" in caveats(findings)) == across


def test_an_interval_without_1_that_is_undecided_says_why() -> None:
    mappings = {"unpinned": 1.0} | {f"m{at}": 1.0 for at in range(30)} | {"m7": 0.988}
    findings = judged(Study(mappings, noise=0.012, seed=4))
    comparison = compared(findings, "m7")
    assert comparison.outcome == "undecided"
    assert 1.0 not in comparison.difference.interval()
    found = caveats(findings, "m7")
    assert found["corrected"] == {"comparisons": 30, "p": comparison.p_different}
    assert comparison.more
    assert found["more repetitions"] == {
        "half": comparison.more.half, "most": comparison.more.most,
    }  # fmt: skip


def test_one_comparison_is_not_said_to_be_corrected_for_others() -> None:
    # Five log ratios of 2.04 % and -2 to 2 % away from it: t = 2.88, between the quantiles of four
    # degrees of freedom for 5 % (2.78) and for the first look's 4 % (3.00).
    def elapsed_s(run: Record) -> float:
        away = 0.02036 + 0.01 * (run["repetition"] - 3)
        return 40.0 * math.exp(away if run["mapping"] == "pcores-pin" else 0.0)

    findings = judged(timed(Study(TWO_ALIKE, repetitions=5), elapsed_s))
    assert caveats(findings)["corrected"]["comparisons"] == 1
    assert 0.04 < compared(findings).difference.p_different < 0.05 < compared(findings).p_different


def test_the_explanation_of_losses_is_of_the_least_one() -> None:
    beside = {"unpinned": {"migrations": 900}, "ecores-set": {"migrations": 0}}
    study = Study({"unpinned": 1.0, "ecores-pin": 1.4, "ecores-set": 1.2}, beside=beside)
    found = decision(judged(study))
    assert found.explained and found.explained.mapping == "ecores-set"
    assert MeasureChange("migrations", None, 900, 0) in found.goes_with


def test_what_is_undecided_itself_is_never_as_good_as_the_best() -> None:
    # The baseline's noise of 2 % hides 2.3 %, but not 3.3 %; both faster ones have next to none.
    # Its middle six runs are 0.17 % above 1, the winsorised standard error is 0.88 %: with four
    # degrees of freedom 3.3 % are needed at the level of 4 % for the first of two, 2.6 % then.
    study = Study({"unpinned": 1.0, "pcores-set": 0.9765, "pcores-pin": 0.9675}, noise=0.0002)
    findings = judged(timed(study, spread_baseline))
    assert words(findings) == {"pcores-set": "undecided", "pcores-pin": "better"}
    (rival,) = decision(findings).as_good
    assert (rival.case.mapping, rival.outcome) == ("pcores-set", "undecided")


def spread_baseline(run: Record) -> float:
    """Return a run's time, the baseline's spread by 2 %."""
    away = AWAY[run["repetition"] - 1] if run["mapping"] == "unpinned" else 0.0
    return float(run["elapsed_s"] * (1 + 0.02 * away))


def test_what_may_beat_the_recommended_is_named() -> None:
    # Three pairs with equal differences decide at once; the faster mapping has noise.
    def elapsed_s(run: Record) -> float:
        noisy = 0.93 + 0.04 * run["repetition"] if run["mapping"] == "pcores-pin" else 1.0
        return float(run["elapsed_s"] * noisy)

    records = timed(Study(FASTER, repetitions=3, noise=0.0002), elapsed_s)
    time = decision(judged(records))
    assert time.best is not None
    assert time.best.mapping == "pcores-set"
    assert [(rival.case.mapping, rival.outcome) for rival in time.as_good] == [
        ("pcores-pin", "undecided")
    ]


@pytest.mark.parametrize(
    ("objective", "baseline", "others", "expected"),
    [
        ("time", 3.3, 1.1, "1.1 s in each of 10 runs, 3.3 s in the baseline's"),
        ("time", 2e6, 2e6, "2000000 s in each of 10 runs, 2000000 s in the baseline's"),
        ("time", 2.5e-5, 2.5e-5, "0.000025 s in each of 10 runs, 0.000025 s in the baseline's"),
        ("energy", 3.0, 1.0, "1 J in each of 10 runs, 3 J in the baseline's"),
    ],
)
def test_equal_values_prove_nothing(
    objective: Objective, baseline: float, others: float, expected: str
) -> None:
    name = "elapsed_s" if objective == "time" else "energy_pkg_j"
    findings = judged(
        run | {name: baseline if run["mapping"] == "unpinned" else others}
        for run in Study(FASTER, FASTER).records()
    )
    assert set(words(findings, objective).values()) == {"undecided"}
    found = caveats(findings, "pcores-set", objective)
    equal = found["equal values"]
    assert (equal["value"], equal["n"]) == (pytest.approx(others), 10)
    assert (equal["baseline_value"], equal["baseline_n"]) == (pytest.approx(baseline), 10)
    # Nothing differs from run to run, so that nothing tells how many would do.
    assert "more repetitions" not in found
    tables = configuration_tables(only_table(findings), 0.01)
    rows = {table.caption.rpartition(" ")[2]: table.cells[1] for table in tables}
    assert (rows[objective][5], rows[objective][7]) == ("-", "undecided")
    assert any(f"no spread: {expected}" in text for table in tables for _, text in table.notes)
    data = as_data(findings)["tables"][0]["comparisons"][1]
    assert data[f"{objective}_ratio"] == pytest.approx(others / baseline)
    assert (data[f"{objective}_ratio_low"], data[f"{objective}_ratio_high"]) == (None, None)


def test_runs_without_pairs_and_without_spread_have_no_pairs_either() -> None:
    # A coarse clock, and two slow runs of each, which are trimmed.
    def elapsed_s(run: Record) -> float:
        times = (3.3, 4.0) if run["mapping"] == "unpinned" else (1.1, 1.6)
        return times[run["repetition"] in (4, 7)]

    runs = [run | made_after_the_next_block_began(run) for run in Study(FASTER).records()]
    findings = judged(timed(runs, elapsed_s))
    found = caveats(findings)
    assert "equal middles" in found
    assert "equal ratios" not in found


@pytest.mark.parametrize("wrong", [0.0, -5.0, 1e200])
def test_values_that_no_counter_gives_are_not_used(wrong: float) -> None:
    records = spoilt(Study(FASTER, FASTER), "pcores-set", {2}, energy_pkg_j=wrong)
    cases = only_table(judged(records)).cases
    assert [case.samples["energy"].n for case in cases] == [10, 9, 10]


def test_two_wild_runs_have_a_verdict_that_json_can_hold() -> None:
    records = spoilt(Study(FASTER, repetitions=2), "pcores-set", {1}, elapsed_s=4e5)
    findings = judged(records)
    json.dumps(as_data(findings), allow_nan=False)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    # Next to nothing is known of the ratio: no interval is shown.
    assert times.cells[1][5] == "-"
    assert "e+" not in as_text(findings)


def test_a_change_between_attempts_is_no_drift() -> None:
    findings = judged(
        run | {"attempt": 2, "elapsed_s": run["elapsed_s"] * 1.1,
               "started_at": run["started_at"].replace("03-01", "03-09")}
        if run["repetition"] > 5 else run
        for run in Study(TWO_ALIKE).records()
    )  # fmt: skip
    assert findings.drift and findings.drift.over_time and not findings.drift.over_time.found
    (step,) = findings.drift.steps
    assert (step.before, step.after) == (1, 2)
    assert step.trend.change == pytest.approx(0.1, abs=0.01)
    assert "from attempt 1 to attempt 2: +" in " ".join(as_text(findings).split())


def slowed(study: Study, *mappings: str, repetitions: set[int]) -> list[Record]:
    """Return the records, some runs of the mappings 10 % longer."""

    def elapsed_s(run: Record) -> float:
        slow = run["mapping"] in mappings and run["repetition"] in repetitions
        return float(run["elapsed_s"] * (1.1 if slow else 1.0))

    return timed(study, elapsed_s)


def test_where_mean_and_typical_time_disagree_both_are_shown() -> None:
    study = Study(TWO_ALIKE, repetitions=20, noise=0.002)
    findings = judged(slowed(study, "unpinned", repetitions={3, 9, 14}))
    # Three of twenty runs take 10 % longer: the baseline's mean 1.5 %, its typical time nothing.
    assert words(findings) == {"pcores-pin": "equivalent"}
    assert caveats(findings)["means disagree"]["mean_ratio"] == pytest.approx(0.985, abs=0.002)
    assert compared(findings).difference.ratio == pytest.approx(1, abs=0.002)
    assert "means disagree" not in caveats(judged(Study(FASTER)))


def test_slow_runs_are_a_finding_with_an_exact_test() -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9}, repetitions=20, noise=0.002)
    few = judged(slowed(study, "unpinned", repetitions={3}))
    slow = caveats(few, "unpinned")
    assert (slow["slow runs"]["runs"], slow["slow runs"]["n"]) == (1, 20)
    assert slow["slow runs"]["most"] == pytest.approx(0.1, abs=0.01)
    assert "many slow runs" not in slow
    assert not {"slow runs", "share of slow runs"} & caveats(few).keys()
    p_slow = compared(few).p_slow
    assert p_slow and p_slow > 0.5
    many = judged(slowed(study, "unpinned", repetitions={3, 6, 9, 12, 15, 18}))
    assert caveats(many, "unpinned")["slow runs"]["runs"] == 6
    assert "many slow runs" in caveats(many, "unpinned")
    assert caveats(many)["share of slow runs"]["p"] < 0.05


def test_of_many_cases_those_without_slow_runs_are_not_said_to_have_a_share() -> None:
    mappings = [f"m{at}" for at in range(9)]
    study = Study(dict.fromkeys(["unpinned", *mappings], 1.0), repetitions=60, noise=0.002)
    findings = judged(slowed(study, *mappings[:8], repetitions=set(range(3, 60, 7))))
    with_slow = [mapping for mapping in study.time if "slow runs" in caveats(findings, mapping)]
    assert with_slow == mappings[:8]
    assert "share of slow runs" in caveats(findings, "m0")
    assert "share of slow runs" not in caveats(findings, "m8")


def test_different_spreads_are_noted() -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9}, noise=0.002)
    findings = judged(timed(study, spread_baseline))
    # Deviations of 0.2 % against some 2 %. Typical values of runs are no less sure for it.
    assert caveats(findings)["unlike spread"]["times"] == pytest.approx(0.1, abs=0.05)
    assert decision(findings).unlike_means == 1


@pytest.mark.parametrize(
    ("row", "word", "unlike"),
    [
        ("lu,8,pcores-pin,10,9.0,0.4", "pin", True),
        ("lu,8,pcores-pin,10,9.0,0.002", "pin", True),
        ("lu,8,pcores-pin,10,11.0,0.4", "leave", True),
        ("lu,8,pcores-pin,400,10.0,0.4", "leave", True),
        ("lu,8,pcores-pin,10,9.0,0.05", "pin", False),
    ],
)
def test_the_answer_itself_doubts_means_of_unlike_deviations(
    tmp_path: Path, row: str, word: str, unlike: bool
) -> None:
    findings = imported(tmp_path, f"lu,8,unpinned,{row.split(',')[3]},10.0,0.04", row)
    time = decision(findings, governor="unknown")
    assert time.choice == word
    assert time.unlike_means > 9 if unlike else time.unlike_means == 1
    (times, *_) = configuration_tables(findings.tables[0], findings.margin)
    doubts = [text for _, text in times.notes if text.startswith("not sure: only means are known")]
    assert len(doubts) == unlike
    lines = [line for overview in overviews_of(findings) for line in overview.lines]
    (overview,) = decision_overviews(findings, labels_of_verdicts(lines))
    assert overview.unsure == unlike


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0.1, 10), (0.01, 10), 10.0),
        ((0.01, 10), (0.1, 10), 0.1),
        # Less than five times, and more among too few runs.
        ((0.049, 100), (0.01, 100), None),
        ((0.055, 3), (0.01, 3), None),
        ((0.055, 10), (0.01, 10), 5.5),
    ],
)
def test_spreads_behind_means_differ_by_an_f_test(
    a: tuple[float, int], b: tuple[float, int], expected: float | None
) -> None:
    found = spread_times_of_means(*a, *b)
    assert found == (None if expected is None else pytest.approx(expected))


PIN = Study({"unpinned": 1.0, "pcores-pin": 0.97}, repetitions=20)


def continued(study: Study, **fields: Any) -> list[Record]:  # noqa: ANN401
    """Return the records, those after the tenth repetition made by a second attempt."""
    later = {"attempt": 2} | fields
    return [run | later if run["repetition"] > 10 else run for run in study.records()]


@pytest.mark.parametrize(
    "divided",
    [(range(1, 11), range(11, 21)), (range(1, 21, 2), range(2, 21, 2))],
    ids=["repeated", "divided among workers"],
)
def test_attempts_that_count_their_orders_anew_have_their_pairs(divided: tuple[range, ...]) -> None:
    runs = {(run["mapping"], run["repetition"]): run for run in PIN.records()}
    difference = compared(
        judged(
            runs[planned.case_id, planned.repetition] | {"attempt": attempt, "order": planned.order}
            for attempt, blocks in enumerate(divided, 1)
            for planned in plan_order(list(PIN.time), 20, 1, "balanced", 5, blocks)
            if not planned.warmup
        )
    ).difference
    assert (difference.paired, difference.n) == (True, 20)


@pytest.mark.parametrize(
    ("fields", "units"),
    [({}, 1), ({"boot_id": "c"}, 2), ({"started_at": "2025-03-02T12:00:00Z"}, 2)],
    ids=["continued at once", "another boot", "another day"],
)
def test_each_boot_and_each_day_is_a_unit(fields: dict[str, str], units: int) -> None:
    runs = continued(PIN, **fields)
    assert compared(judged(runs)).difference.units == units
    # Without pairs what varies between boots is in the spread of runs, and is not known by itself.
    notes = reading_notes(judged(run | made_after_the_next_block_began(run) for run in runs))
    where = "in this boot" if units == 1 else "in these 2 boots or days"
    assert f"on this node, {where} and for" in " ".join(notes)


def test_the_variance_between_boots_is_in_the_interval_and_noted() -> None:
    # From the second boot on pinning gains less: no run within a boot shows that.
    def elapsed_s(run: Record) -> float:
        changed = run["attempt"] == 2 and run["mapping"] == "pcores-pin"
        return float(run["elapsed_s"] * (0.982 / 0.97 if changed else 1.0))

    records = timed(continued(PIN, boot_id="c"), elapsed_s)
    findings = judged(records)
    one_boot = compared(judged(run | {"boot_id": "b"} for run in records)).difference
    two_boots = compared(findings).difference
    assert two_boots.log_ratio == one_boot.log_ratio
    assert two_boots.standard_error > 2 * one_boot.standard_error
    assert two_boots.df < 2
    assert caveats(findings)["boots or days"] == {"count": 2}
    assert "over its boots or days" in " ".join(reading_notes(findings))


def test_a_study_that_went_on_after_all_its_repetitions_is_at_its_second_look() -> None:
    first, second = judged(PIN), judged(continued(PIN))
    assert (first.look, second.look) == (Look(1), Look(2))
    # The first look is at 0.8 of the level, the second at a tenth of it.
    assert compared(second).p_different == pytest.approx(8 * compared(first).p_different)
    assert as_data(second)["look"] == 2
    assert "interim analysis 2 of a study that was continued" in " ".join(reading_notes(second))
    killed_within_a_block = [
        run | {"attempt": 1 if run["order"] <= 21 else 2} for run in PIN.records()
    ]
    assert judged(killed_within_a_block).look == Look(1)


def test_each_time_that_all_cases_go_on_after_what_was_undecided_is_a_look(tmp_path: Path) -> None:
    # 4 repetitions; 8 more of what is undecided; then 14 of all, 16, and 18, by an attempt that was
    # killed in a block and another one.
    ends = {"pcores-set": (4, 4, 14, 16, 17, 18)}
    by_attempt: dict[int, list[Record]] = {attempt: [] for attempt in range(1, 7)}
    for run in Study(FASTER, repetitions=18).records():
        lasts = ends.get(run["mapping"], (4, 12, 14, 16, 17, 18))
        attempt = 1 + sum(last < run["repetition"] for last in lasts)
        if (run["mapping"], attempt) != ("pcores-pin", 5):
            by_attempt[attempt].append(run | {"attempt": attempt})
    by_attempt[2] = made_again(by_attempt[2], 2, repetition_rule={"undecided": {"look": 2}})
    looks = []
    for attempt, runs in by_attempt.items():
        write(tmp_path, runs, attempt)
        looks.append(analyze(open_results(str(tmp_path))).look.number)
    assert looks == [1, 2, 3, 4, 5, 5]


@pytest.mark.parametrize("workers", [2, 3, 4, 20])
def test_workers_that_divide_a_study_are_no_looks_at_it(workers: int) -> None:
    # As `submit` divides it: blocks in turn, and each worker's runs are an attempt of their own.
    def fields(repetition: int) -> Record:
        submission = 1 + (repetition > 20)
        attempt = (submission - 1) * workers + 1 + (repetition - 1) % workers
        return {"attempt": attempt, "submission": submission, "pool": "split-there"}

    records = [run | fields(run["repetition"]) for run in Study(PIN.time, repetitions=30).records()]
    assert judged(run for run in records if run["repetition"] <= 20).look == Look(1)
    twice = judged(records)
    assert twice.look == Look(2)
    # Thirty runs are enough to see a mode of one run in ten.
    assert "hold none of a mode" not in " ".join(reading_notes(twice))


def test_how_many_runs_show_slow_ones_is_said_of_times_alone() -> None:
    unmeasured = {"energy_pkg_j": None, "edp_js": None}
    nine_energies = judged(spoilt(Study(FASTER, FASTER), "pcores-pin", (1,), **unmeasured))
    said = " ".join(reading_notes(nine_energies))
    assert "10 runs of a case hold none of a mode of one run in ten in 35 of 100" in said


@pytest.mark.parametrize("pinned", [0.9, 1.0, 1.1])
@pytest.mark.parametrize(
    ("mechanism", "noted"),
    # All others have ended before the program starts.
    [("likwid-pin", True), ("omp-places", False), ("taskset", False), ("numactl", False)],
)
def test_a_different_start_is_noted_with_every_answer(
    pinned: float, mechanism: str, noted: bool
) -> None:
    beside = {"pcores-set": {"mechanism": "taskset"}, "pcores-pin": {"mechanism": mechanism}}
    findings = judged(Study(ALIKE | {"pcores-pin": pinned}, beside=beside))
    assert caveats(findings).get("loaded at start") == ({"tool": mechanism} if noted else None)
    assert "loaded at start" not in caveats(findings, "pcores-set")


SLOW_BLOCKS = {2, 3, 4, 5, 7, 8, 9, 10}


def in_modes(*mappings: str) -> Callable[[Record], float]:
    """Return times of which these mappings' are 42 s in eight of ten blocks, and 38 s in two."""

    def time(run: Record) -> float:
        if run["mapping"] not in mappings:
            return float(run["elapsed_s"])
        return 42.0 if run["repetition"] in SLOW_BLOCKS else 38.0

    return time


def test_two_modes_are_named_with_their_counts_and_have_no_outcome() -> None:
    findings = judged(timed(Study(ALIKE), in_modes("pcores-set", "pcores-pin")))
    assert decision(findings).choice == "not compared"
    assert words(findings) == {}
    assert lacking(findings) == ["no typical value"] * 2
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    (table,) = as_data(findings)["tables"]
    rows = {
        row["mapping"]: row["modes"] for row in table["statistics"] if row["objective"] == "time"
    }
    assert rows["unpinned"] == []
    for mapping, row in (("pcores-set", 1), ("pcores-pin", 2)):
        modes = caveats(findings, mapping)["modes"]
        assert modes["n"] == 10
        assert [mode["runs"] for mode in modes["modes"]] == [2, 8]
        assert [mode["runs"] for mode in rows[mapping]] == [2, 8]
        assert [mode["about"] for mode in modes["modes"]] == pytest.approx([38, 42])
        # A mean of 41.2 s against 40 s and the noise of ten runs.
        assert float(times.cells[row][4]) == pytest.approx(3, abs=0.5)
        assert table["comparisons"][row]["time_outcome"] == "several modes"
        assert "time_ratio" not in table["comparisons"][row]


@pytest.mark.parametrize(
    ("pinned", "mapping", "unclear"),
    [(0.9, "pcores-set", ["pcores-set"]), (0.7, "unpinned", ["pcores-set"])],
    ids=["another case", "the baseline, of which one mode is as long"],
)
def test_modes_leave_an_outcome_to_cases_that_they_cannot_change(
    pinned: float, mapping: str, unclear: list[str]
) -> None:
    findings = judged(timed(Study(ALIKE | {"pcores-pin": pinned}), in_modes(mapping)))
    assert words(findings) == {"pcores-pin": "better"}
    assert decision(findings).choice == "pin"
    assert "no typical value" in lacking(findings)
    assert [case.mapping for case in only_table(findings).cases if case.unclear] == unclear
    assert "modes" in caveats(findings, mapping)


def test_where_nothing_has_an_outcome_the_answer_says_why(tmp_path: Path) -> None:
    write(tmp_path, timed(Study(ALIKE), in_modes("pcores-set", "pcores-pin")))
    shown = " ".join(pinstudy(tmp_path, "verdict", ".", status=0).stdout.split())
    assert "Decision none: runs are in several modes, of which none is typical" in shown
    found = analyze(open_results(str(tmp_path)))
    assert not_comparable(found) == {"modes": ("pcores-set", "pcores-pin")}


def test_modes_of_pairs_alone_are_named_as_those() -> None:
    blocks = [1.0, 1.3, 0.8, 1.5, 0.7, 1.2, 0.9, 1.4, 1.1, 1.6]

    def time(run: Record) -> float:
        return in_modes("pcores-pin")(run) * blocks[int(run["repetition"]) - 1]

    findings = judged(timed(Study(TWO_ALIKE), time))
    assert not case_of(findings, "pcores-pin").modes
    modes = caveats(findings)["modes of pairs"]
    assert (modes["n"], [mode["pairs"] for mode in modes["modes"]]) == (10, [2, 8])
    # 38 s and 42 s against 40 s and its noise of 0.3 %.
    assert [mode["ratio"] for mode in modes["modes"]] == pytest.approx([0.95, 1.05], abs=0.005)


def test_no_advice_to_leave_threads_where_a_mapping_may_be_better() -> None:
    def time(run: Record) -> float:
        fast = run["mapping"] == "pcores-pin" and run["repetition"] not in (3, 7)
        return 36.0 if fast else float(run["elapsed_s"])

    findings = judged(timed(Study(ALIKE), time))
    assert decision(findings).choice == "undecided"
    fast, slow = caveats(findings)["modes"]["modes"]
    assert (fast["runs"], fast["about"], slow["runs"]) == (8, pytest.approx(36), 2)


def test_a_card_keeps_that_there_is_no_outcome_and_why(tmp_path: Path) -> None:
    write(tmp_path / "results", timed(Study(ALIKE), in_modes("pcores-pin")))
    path, _ = write_card(str(tmp_path / "results"), tmp_path / "card.json")
    findings = analyze(open_results(str(path)))
    found = caveats(findings)
    assert found["modes on the card"] == {"said": "2 of 10 about 38 s and 8 about 42 s"}
    assert "no typical value" in found
    assert "pcores-pin" not in words(findings)


UNDECIDED = Study({"unpinned": 1.0, "pcores-pin": 0.98}, repetitions=5, noise=0.04)
BUSY = {
    "foreign_cpu_s": 0.4,
    "foreign_tasks": [{"command": "python", "cpu_s": 0.21}, {"command": "sshd", "cpu_s": 0.05}],
}
QUIET = {"cpus": "0-1", "user_s": 1.0, "system_s": 0.0}
UNSEEN = "unseen tasks, of another container or short ones"


LITTLE = [{"command": "python", "cpu_s": 0.01}]


@pytest.mark.parametrize(
    ("fields", "disturbance", "named"),
    [
        (BUSY, SHARED, "python"),
        # Time that a hypervisor took is no neighbour's.
        ({"steal_s": 0.4}, STOLEN, None),
        ({"foreign_cpu_s": 0.5, "foreign_tasks": None}, SHARED, None),
        # In a container /proc has no tasks of others, but their time is on the CPUs: none that was
        # seen is blamed for it. Interrupts are no task.
        ({"foreign_cpu_s": 0.5, "foreign_tasks": []}, SHARED, UNSEEN),
        ({"foreign_cpu_s": 0.5, "foreign_tasks": LITTLE}, SHARED, UNSEEN),
        (BUSY | {"foreign_cpu_s": 0.6}, SHARED, UNSEEN),
        (BUSY | {"foreign_cpu_s": 0.6, "interrupts_s": 0.31}, SHARED, "python"),
    ],
)
def test_disturbed_runs_are_counted_and_their_neighbour_is_named(
    fields: Record, disturbance: str, named: str | None
) -> None:
    def made(run: Record, first: int) -> Record:
        hit = run["repetition"] >= first and run["mapping"] == "pcores-pin"
        return run | QUIET | (fields if hit else {})

    found = caveats(judged(made(run, 2) for run in UNDECIDED.records()))
    assert found["disturbed"] == {"disturbance": disturbance, "runs": 4, "n": 5}
    tasks = found["neighbours"]["tasks"] if named else []
    assert [task["command"] for task in tasks] == [named] * len(tasks)
    assert ("neighbours" in found) == bool(named)
    # One run alone without it has no spread to be compared with.
    assert "disturbed against others" not in found
    assert "disturbed" not in caveats(judged(made(run, 9) for run in UNDECIDED.records()))


def test_the_commonest_neighbours_come_before_the_one_of_the_worst_run() -> None:
    def made(run: Record) -> Record:
        name, cpu_s = ("chromium", 0.9) if run["repetition"] == 1 else ("make", 0.3)
        task = {"command": name, "cpu_s": cpu_s}
        return run | QUIET | {"foreign_cpu_s": cpu_s, "foreign_tasks": [task]}

    found = caveats(judged(made(run) for run in UNDECIDED.records()))
    assert found["neighbours"]["tasks"] == [
        {"command": "make", "runs": 4, "most_s": 0.3},
        {"command": "chromium", "runs": 1, "most_s": 0.9},
    ]


@pytest.mark.parametrize(("longer", "slower"), [(0.05, True), (0.0, False)])
def test_what_disturbed_runs_took_more_has_an_interval(longer: float, slower: bool) -> None:
    even = {"unpinned": 1.0, "pcores-pin": 1 / (1 + longer / 2)}

    def made(run: Record) -> Record:
        hit = run["mapping"] == "pcores-pin" and run["repetition"] % 2
        time_s = run["elapsed_s"] * (1 + longer if hit else 1)
        return run | QUIET | {"elapsed_s": time_s} | (BUSY if hit else {})

    runs = Study(even, repetitions=12, noise=0.02).records()
    found = caveats(judged(made(run) for run in runs))
    assert found["disturbed"]["runs"] == 6
    cost = found["disturbed against others"]
    assert cost["ratio_low"] < 1 + longer < cost["ratio_high"]
    assert (cost["ratio_low"] > 1) == slower


def test_a_name_of_another_process_cannot_make_lines() -> None:
    task = {"command": "evil\n\x1b[2Jname", "cpu_s": 0.3}
    busy = QUIET | {"foreign_cpu_s": 0.4, "foreign_tasks": [task]}
    found = judged(run | busy for run in UNDECIDED.records())
    (times, *_) = configuration_tables(only_table(found), 0.01)
    notes = [text for _, text in times.notes]
    assert any("evil" in text for text in notes)
    assert all(text.isprintable() for text in notes)


def inheriting(order: str, share: float) -> list[Record]:
    """Return a study of equal mappings in which runs after pcores-set take so much longer."""
    mappings = ["unpinned", "pcores-set", "pcores-pin", "ecores-pin"]
    runs = {
        (run["mapping"], run["repetition"]): run
        for run in Study(dict.fromkeys(mappings, 1.0), repetitions=24, noise=0.008).records()
    }
    planned = plan_order(mappings, 24, 0, order, 5)
    before = ["unpinned", *(run.case_id for run in planned)]
    return [
        runs[run.case_id, run.repetition]
        | {
            "order": run.order,
            "started_at": f"2025-03-01T{run.order // 60:02d}:{run.order % 60:02d}:00Z",
        }
        | {
            "elapsed_s": runs[run.case_id, run.repetition]["elapsed_s"]
            * (1 + share * (last == "pcores-set"))
        }
        for last, run in zip(before, planned, strict=False)
    ]


def test_times_that_depend_on_the_case_before_are_noted_with_what_that_moved() -> None:
    findings = judged(inheriting("randomised-blocks", 0.02))
    found = findings.case_before
    assert found is not None and found.found
    assert found.label == "pcores-set"
    said = caveats(findings)
    # Against runs after an average case: 3 of 4 of 2 %.
    assert said["case before"]["change"] == pytest.approx(0.015, abs=0.003)
    # pcores-set follows itself a quarter as often as the others follow it, so it looks faster.
    shift = caveats(findings, "pcores-set")["moved by the case before"]["shift"]
    assert shift == pytest.approx(-0.005, abs=0.003)
    text = as_text(findings)
    assert "times depend on the case before (up to +1." in text
    assert "use `order: balanced`" in text
    assert as_data(findings)["case_before"]["found"] is True


def test_a_balanced_order_moves_no_ratio_and_no_carry_over_is_not_noted() -> None:
    balanced = judged(inheriting("balanced", 0.02))
    assert "case before" in caveats(balanced)
    assert "moved by the case before" not in caveats(balanced, "pcores-set")
    none = judged(inheriting("randomised-blocks", 0.0))
    assert none.case_before is not None and not none.case_before.found
    assert "case before" not in caveats(none)


def test_boots_that_cost_least_are_said_of_an_undecided_comparison() -> None:
    # Three boots of 10 blocks, a minute a run, whose ratios are 1 % apart; a boot takes 5 min.
    records = []
    for attempt, shift in enumerate((0.0, 0.01, -0.01), 1):
        for run in TWO_MAPPINGS.records():
            minute = run["order"] + 25 * (attempt - 1)
            started = f"2025-03-01T{12 + minute // 60}:{minute % 60:02d}:00Z"
            records.append(
                run
                | {"attempt": attempt, "boot_id": f"boot{attempt}", "started_at": started}
                | {"repetition": run["repetition"] + 10 * (attempt - 1)}
                | {"order": run["order"] + 20 * (attempt - 1)}
                | {
                    "block": run["block"] + 10 * (attempt - 1),
                    "elapsed_s": run["elapsed_s"] * (1 + shift * (run["mapping"] == "pcores-pin")),
                }
            )
    findings = judged(records)
    plan = compared(findings).boots
    assert plan is not None
    said = caveats(findings)["boots that cost least"]
    # A block of two runs takes 2 min, a boot 5 min 20 s: sqrt(320 / 120) x 0.42 % / 1 %: one run.
    assert (said["runs"], said["margin"]) == (1, 0.01)
    # Means of a boot deviate by about 1.1 %: t 2.2 x 1.1 % / sqrt(n) is 1 % from 7 boots on.
    assert 6 <= said["boots"] <= 9
    assert f"{plan.boots} boots x 1 run cost least for ±1 %" in as_text(findings)
