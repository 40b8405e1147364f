"""What could mislead a reader is said: lost runs, other attempts, other nodes, what is open."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.objectives import Objective
from analysis.results.sources import open_results
from analysis.statistics.decision import Look
from analysis.verdict.data import as_data
from analysis.verdict.model import MeasureChange
from analysis.verdict_text.configurations import configuration_tables
from analysis.verdict_text.document import as_text
from analysis.verdict_text.legend import reading_notes
from analysis.words.verdict import decision_lines
from tests.support.results import (
    Record,
    Study,
    caveats,
    compared,
    decision,
    findings_of,
    in_table,
    left_out,
    only_table,
    spoilt,
    timed,
    words,
)

FASTER = {"unpinned": 1.0, "pcores-set": 0.95, "pcores-pin": 0.9}
ALIKE = {"unpinned": 1.0, "pcores-pin": 1.0}
# Deviations of ten runs in units of their standard deviation.
AWAY = [1.2, -0.4, 0.9, -1.5, 0.3, 1.1, -1.3, -0.2, 0.8, -0.9]


def of_unknown_attempts(_: Record) -> Record:
    return {"attempt": None}


def killed_within_block_6(run: Record) -> Record:
    return {"attempt": 1 if run["order"] <= 16 else 2}


def made_after_the_next_block_began(run: Record) -> Record:
    """In turn, but no block ended before the next one began."""
    return {"order": run["order"] + (0 if run["mapping"] == "unpinned" else 7)}


def in_attempts_of_their_own(run: Record) -> Record:
    return {"attempt": run["order"]}


@pytest.mark.parametrize(
    ("change", "paired", "n"),
    [
        (of_unknown_attempts, True, 10),
        (killed_within_block_6, True, 9),
        (in_attempts_of_their_own, False, 10),
        (made_after_the_next_block_began, False, 10),
    ],
)
def test_runs_of_one_block_and_attempt_are_paired_and_no_others(
    tmp_path: Path, change: Callable[[Record], Record], paired: bool, n: int
) -> None:
    findings = findings_of(tmp_path, [run | change(run) for run in Study(FASTER).records()])
    pinned = compared(findings)
    assert (pinned.difference.paired, pinned.difference.n) == (paired, n)
    assert pinned.across_attempts == (change is in_attempts_of_their_own)
    assert ("no attempt of both" in caveats(findings)) == pinned.across_attempts


@pytest.mark.parametrize(("mapping", "status"), [("pcores-pin", "timeout"), ("unpinned", "failed")])
def test_lost_runs_of_those_compared_are_counted(tmp_path: Path, mapping: str, status: str) -> None:
    records = spoilt(Study(FASTER), mapping, (3,), status=status, reason="too long")
    findings = findings_of(tmp_path, records)
    assert caveats(findings, mapping)["lost runs"] == {"by_cause": {status: 1}}
    assert decision(findings).choice == "pin"


def test_a_baseline_without_a_usable_run_says_how_they_ended(tmp_path: Path) -> None:
    records = spoilt(Study(FASTER), "unpinned", status="failed", reason="too long")
    (why,) = decision(findings_of(tmp_path, records)).lacking
    assert (why.code, why.facts) == ("no usable run", {"excluded": {"failed": 10}})


def test_cases_that_could_not_be_compared_are_named(tmp_path: Path) -> None:
    study = Study(FASTER | {"ecores-set": 1.2})
    failed = spoilt(study, "ecores-set", range(1, 11), status="failed", reason="too long")
    # What was left out has its own row.
    missing = left_out(5, "no E-cores") | {"threads": 8, "build": "libgomp"}
    lost, *others = decision(findings_of(tmp_path, [*failed, missing])).lacking
    assert not others
    assert lost.code == "lost too many"
    assert lost.facts == {"lost": 10, "runs": 10, "by_cause": {"failed": 10}}


def test_an_interval_without_1_that_is_undecided_says_why(tmp_path: Path) -> None:
    mappings = {"unpinned": 1.0} | {f"m{at}": 1.0 for at in range(30)} | {"m7": 0.988}
    findings = findings_of(tmp_path, Study(mappings, noise=0.012, seed=4))
    comparison = compared(findings, "m7")
    assert comparison.outcome == "undecided"
    assert 1.0 not in comparison.difference.interval()
    found = caveats(findings, "m7")
    assert found["corrected"] == {"comparisons": 30, "p": comparison.p_different}
    assert comparison.more
    assert found["more repetitions"] == {
        "half": comparison.more.half, "most": comparison.more.most,
    }  # fmt: skip


def test_one_comparison_is_not_said_to_be_corrected_for_others(tmp_path: Path) -> None:
    # Five log ratios of 2.04 % and -2 to 2 % away from it: t = 2.88, between the quantiles of four
    # degrees of freedom for 5 % (2.78) and for the first look's 4 % (3.00).
    def elapsed_s(run: Record) -> float:
        away = 0.02036 + 0.01 * (run["repetition"] - 3)
        return 40.0 * math.exp(away if run["mapping"] == "pcores-pin" else 0.0)

    findings = findings_of(tmp_path, timed(Study(ALIKE, repetitions=5), elapsed_s))
    assert caveats(findings)["corrected"]["comparisons"] == 1
    assert 0.04 < compared(findings).difference.p_different < 0.05
    assert compared(findings).p_different > 0.05


def test_the_explanation_of_losses_is_of_the_least_one(tmp_path: Path) -> None:
    beside = {"unpinned": {"migrations": 900}, "ecores-set": {"migrations": 0}}
    study = Study({"unpinned": 1.0, "ecores-pin": 1.4, "ecores-set": 1.2}, beside=beside)
    found = decision(findings_of(tmp_path, study))
    assert found.explained and found.explained.mapping == "ecores-set"
    assert MeasureChange("migrations", None, 900, 0) in found.goes_with


def test_what_is_undecided_itself_is_never_as_good_as_the_best(tmp_path: Path) -> None:
    # The baseline's noise of 2 % hides 2.3 %, but not 3.3 %; both faster ones have next to none.
    # Its middle six runs are 0.17 % above 1, the winsorised standard error is 0.88 %: with four
    # degrees of freedom 3.3 % are needed at the level of 4 % for the first of two, 2.6 % then.
    study = Study({"unpinned": 1.0, "pcores-set": 0.9765, "pcores-pin": 0.9675}, noise=0.0002)
    findings = findings_of(tmp_path, timed(study, spread_baseline))
    assert words(findings) == {"pcores-set": "undecided", "pcores-pin": "better"}
    (rival,) = decision(findings).as_good
    assert (rival.case.mapping, rival.outcome) == ("pcores-set", "undecided")


def spread_baseline(run: Record) -> float:
    """Return a run's time, the baseline's spread by 2 %."""
    away = AWAY[run["repetition"] - 1] if run["mapping"] == "unpinned" else 0.0
    return float(run["elapsed_s"] * (1 + 0.02 * away))


def test_what_may_beat_the_recommended_is_named(tmp_path: Path) -> None:
    # Three pairs with equal differences decide at once; the faster mapping has noise.
    def elapsed_s(run: Record) -> float:
        noisy = 0.93 + 0.04 * run["repetition"] if run["mapping"] == "pcores-pin" else 1.0
        return float(run["elapsed_s"] * noisy)

    records = timed(Study(FASTER, repetitions=3, noise=0.0002), elapsed_s)
    time = decision(findings_of(tmp_path, records))
    assert time.best is not None
    assert time.best.mapping == "pcores-set"
    assert [(of.case.mapping, of.outcome) for of in time.as_good] == [("pcores-pin", "undecided")]


@pytest.mark.parametrize(
    ("objective", "baseline", "others", "expected"),
    [
        ("time", 3.3, 1.1, "1.1 s in each of 10 runs, 3.3 s in the baseline's"),
        ("time", 2.5, 2.5, "2.5 s in each of 10 runs, 2.5 s in the baseline's"),
        ("time", 2e6, 2e6, "2000000 s in each of 10 runs, 2000000 s in the baseline's"),
        ("time", 2.5e-5, 2.5e-5, "0.000025 s in each of 10 runs, 0.000025 s in the baseline's"),
        ("energy", 3.0, 1.0, "1 J in each of 10 runs, 3 J in the baseline's"),
    ],
)
def test_equal_values_are_no_proof(
    tmp_path: Path, objective: Objective, baseline: float, others: float, expected: str
) -> None:
    name = "elapsed_s" if objective == "time" else "energy_pkg_j"
    records = [
        run | {name: baseline if run["mapping"] == "unpinned" else others}
        for run in Study(FASTER, FASTER).records()
    ]
    findings = findings_of(tmp_path, records)
    assert set(words(findings, objective).values()) == {"undecided"}
    found = caveats(findings, "pcores-set", objective)
    equal = found["equal values"]
    assert (equal["value"], equal["n"]) == (pytest.approx(others), 10)
    assert (equal["baseline_value"], equal["baseline_n"]) == (pytest.approx(baseline), 10)
    # Nothing differs from run to run, so that nothing tells how many would do.
    assert "more repetitions" not in found
    tables = configuration_tables(only_table(findings), 0.01)
    rows = {table.caption.rpartition(" ")[2]: table.cells[1] for table in tables}
    assert rows[objective][5] == "-"
    assert rows[objective][7] == "undecided"
    assert any(f"no spread: {expected}" in text for table in tables for _, text in table.notes)
    data = as_data(findings)["tables"][0]["comparisons"][1]
    assert data[f"{objective}_ratio"] == pytest.approx(others / baseline)
    assert (data[f"{objective}_ratio_low"], data[f"{objective}_ratio_high"]) == (None, None)


def test_runs_without_pairs_and_without_spread_have_no_pairs_either(tmp_path: Path) -> None:
    # A coarse clock, and two slow runs of each, which are trimmed.
    def elapsed_s(run: Record) -> float:
        times = (3.3, 4.0) if run["mapping"] == "unpinned" else (1.1, 1.6)
        return times[run["repetition"] in (4, 7)]

    runs = [run | made_after_the_next_block_began(run) for run in Study(FASTER).records()]
    findings = findings_of(tmp_path, timed(runs, elapsed_s))
    found = caveats(findings)
    assert "equal middles" in found
    assert "equal ratios" not in found


@pytest.mark.parametrize("wrong", [0.0, -5.0, 1e200])
def test_values_that_no_counter_gives_are_not_used(tmp_path: Path, wrong: float) -> None:
    records = spoilt(Study(FASTER, FASTER), "pcores-set", {2}, energy_pkg_j=wrong)
    cases = only_table(findings_of(tmp_path, records)).cases
    assert [case.samples["energy"].n for case in cases] == [10, 9, 10]


def test_two_wild_runs_have_a_verdict_that_json_can_hold(tmp_path: Path) -> None:
    records = spoilt(Study(FASTER, repetitions=2), "pcores-set", {1}, elapsed_s=4e5)
    findings = findings_of(tmp_path, records)
    json.dumps(as_data(findings), allow_nan=False)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    # Next to nothing is known of the ratio: no interval is shown.
    assert times.cells[1][5] == "-"
    assert "e+" not in as_text(findings)


def test_the_governor_that_was_in_force_is_named(tmp_path: Path) -> None:
    in_force = {"governor": "current", "governor_read": "schedutil"}
    runs = [run | in_force for run in Study(FASTER).records()]
    records = [*runs, *in_table(2, runs, app="lu")]
    assert "current (schedutil)" in decision_lines(findings_of(tmp_path, records))[-1]


def test_no_line_begins_with_a_percent_sign(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, Study(FASTER, FASTER))
    for width in range(60, 120, 3):
        lines = as_text(findings, width).splitlines()
        assert not [line for line in lines if line.split()[:1] == ["%"]]


def test_a_change_between_attempts_is_no_drift(tmp_path: Path) -> None:
    records = [
        run | {"attempt": 2, "elapsed_s": run["elapsed_s"] * 1.1,
               "started_at": run["started_at"].replace("03-01", "03-09")}
        if run["repetition"] > 5 else run
        for run in Study(ALIKE).records()
    ]  # fmt: skip
    findings = findings_of(tmp_path, records)
    assert findings.drift and findings.drift.over_time and not findings.drift.over_time.found
    (step,) = findings.drift.steps
    assert (step.before, step.after) == (1, 2)
    assert step.trend.change == pytest.approx(0.1, abs=0.01)
    text = " ".join(as_text(findings).split())
    assert "drift over time: none found" in text
    assert re.search(r"from attempt 1 to attempt 2: \+(9\.\d|10|11) % \(95 %: ", text)


def slowed(study: Study, *mappings: str, repetitions: set[int]) -> list[Record]:
    """Return the records, some runs of the mappings 10 % longer."""

    def elapsed_s(run: Record) -> float:
        slow = run["mapping"] in mappings and run["repetition"] in repetitions
        return float(run["elapsed_s"] * (1.1 if slow else 1.0))

    return timed(study, elapsed_s)


def test_where_mean_and_typical_time_disagree_both_are_shown(tmp_path: Path) -> None:
    study = Study(ALIKE, repetitions=20, noise=0.002)
    findings = findings_of(tmp_path / "a", slowed(study, "unpinned", repetitions={3, 9, 14}))
    # Three of twenty runs take 10 % longer: the baseline's mean 1.5 %, its typical time nothing.
    assert words(findings) == {"pcores-pin": "equivalent"}
    assert caveats(findings)["means disagree"]["mean_ratio"] == pytest.approx(0.985, abs=0.002)
    assert compared(findings).difference.ratio == pytest.approx(1, abs=0.002)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    assert any(re.match(r"-1\.[345]\d % by the means", text) for _, text in times.notes)
    assert "means disagree" not in caveats(findings_of(tmp_path / "b", Study(FASTER)))


def test_slow_runs_are_a_finding_with_an_exact_test(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9}, repetitions=20, noise=0.002)
    few = findings_of(tmp_path / "a", slowed(study, "unpinned", repetitions={3}))
    slow = caveats(few, "unpinned")
    assert (slow["slow runs"]["runs"], slow["slow runs"]["n"]) == (1, 20)
    assert slow["slow runs"]["most"] == pytest.approx(0.1, abs=0.01)
    assert "many slow runs" not in slow
    assert not {"slow runs", "share of slow runs"} & caveats(few).keys()
    p_slow = compared(few).p_slow
    assert p_slow and p_slow > 0.5
    six = {3, 6, 9, 12, 15, 18}
    many = findings_of(tmp_path / "b", slowed(study, "unpinned", repetitions=six))
    assert caveats(many, "unpinned")["slow runs"]["runs"] == 6
    assert "many slow runs" in caveats(many, "unpinned")
    assert caveats(many)["share of slow runs"]["p"] < 0.05


def test_of_many_cases_with_slow_runs_none_is_counted_with_those_that_have_none(
    tmp_path: Path,
) -> None:
    mappings = [f"m{at}" for at in range(9)]
    study = Study(dict.fromkeys(["unpinned", *mappings], 1.0), repetitions=60, noise=0.002)
    records = slowed(study, *mappings[:8], repetitions=set(range(3, 60, 7)))
    findings = findings_of(tmp_path, records)
    with_slow = [mapping for mapping in study.time if "slow runs" in caveats(findings, mapping)]
    assert with_slow == mappings[:8]
    assert "share of slow runs" in caveats(findings, "m0")
    assert "share of slow runs" not in caveats(findings, "m8")


def test_different_spreads_are_noted(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9}, noise=0.002)
    findings = findings_of(tmp_path, timed(study, spread_baseline))
    # Deviations of 0.2 % against some 2 %.
    assert caveats(findings)["unlike spread"]["times"] == pytest.approx(0.1, abs=0.05)


PIN = Study({"unpinned": 1.0, "pcores-pin": 0.97}, repetitions=20)


def continued(study: Study, **fields: Any) -> list[Record]:  # noqa: ANN401
    """Return the records, those after the tenth repetition made by a second attempt."""
    later = {"attempt": 2} | fields
    return [run | later if run["repetition"] > 10 else run for run in study.records()]


@pytest.mark.parametrize(
    ("fields", "units"),
    [({}, 1), ({"boot_id": "c"}, 2), ({"started_at": "2025-03-02T12:00:00Z"}, 2)],
    ids=["continued at once", "another boot", "another day"],
)
def test_each_boot_and_each_day_is_a_unit(
    tmp_path: Path, fields: dict[str, str], units: int
) -> None:
    assert compared(findings_of(tmp_path, continued(PIN, **fields))).difference.units == units


def test_the_variance_between_boots_is_in_the_interval_and_noted(tmp_path: Path) -> None:
    # From the second boot on pinning gains less: no run within a boot shows that.
    def elapsed_s(run: Record) -> float:
        changed = run["attempt"] == 2 and run["mapping"] == "pcores-pin"
        return float(run["elapsed_s"] * (0.982 / 0.97 if changed else 1.0))

    records = timed(continued(PIN, boot_id="c"), elapsed_s)
    findings = findings_of(tmp_path / "b", records)
    one_boot = compared(
        findings_of(tmp_path / "a", [run | {"boot_id": "b"} for run in records])
    ).difference
    two_boots = compared(findings).difference
    assert two_boots.log_ratio == one_boot.log_ratio
    assert two_boots.standard_error > 2 * one_boot.standard_error
    assert two_boots.df < 2
    assert caveats(findings)["boots or days"] == {"count": 2}
    assert "over its boots or days" in " ".join(reading_notes(findings))


def test_the_boots_of_intervals_are_noted(tmp_path: Path) -> None:
    study = Study(PIN.time, repetitions=20)
    one, two = (
        [run | made_after_the_next_block_began(run) for run in runs]
        for runs in (study.records(), continued(study, boot_id="c"))
    )
    two_boots = findings_of(tmp_path / "two", two)
    assert "on this node, in these 2 boots or days and for" in " ".join(reading_notes(two_boots))
    assert "in this boot and for" in " ".join(reading_notes(findings_of(tmp_path / "one", one)))
    text = " ".join(reading_notes(analyze(open_results("published:galante-2025"))))
    assert "95 % interval: of that comparison alone, on this node and for these builds" in text


def test_a_study_that_went_on_after_all_its_repetitions_is_at_its_second_look(
    tmp_path: Path,
) -> None:
    first, second = findings_of(tmp_path / "a", PIN), findings_of(tmp_path / "b", continued(PIN))
    assert (first.look, second.look) == (Look(1), Look(2))
    # The first look is at 0.8 of the level, the second at a tenth of it.
    assert compared(second).p_different == pytest.approx(8 * compared(first).p_different)
    assert as_data(second)["look"] == 2
    assert "interim analysis 2 of a study that was continued" in " ".join(reading_notes(second))
    killed = [run | {"attempt": 1 if run["order"] <= 21 else 2} for run in PIN.records()]
    assert findings_of(tmp_path / "killed within a block", killed).look == Look(1)


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_workers_that_divide_a_study_are_no_looks_at_it(tmp_path: Path, workers: int) -> None:
    # As `submit` divides it: blocks in turn, and each worker's runs are an attempt of their own.
    def attempt(repetition: int) -> int:
        return 1 + repetition % workers + (workers if repetition > 20 else 0)

    records = [
        run | {"attempt": attempt(run["repetition"]), "pool": "split-there"}
        for run in Study(PIN.time, repetitions=30).records()
    ]
    once = [run for run in records if run["repetition"] <= 20]
    assert findings_of(tmp_path / "once", once).look == Look(1)
    twice = findings_of(tmp_path / "twice", records)
    assert twice.look == Look(2)
    # Thirty runs are enough to see a mode of one run in ten.
    assert "hold none of a mode" not in " ".join(reading_notes(twice))


def test_how_many_runs_show_slow_ones_is_said_of_times_alone(tmp_path: Path) -> None:
    unmeasured = {"energy_pkg_j": None, "edp_js": None}
    nine_energies = spoilt(Study(FASTER, FASTER), "pcores-pin", (1,), **unmeasured)
    said = " ".join(reading_notes(findings_of(tmp_path, nine_energies)))
    assert "10 runs of a case hold none of a mode of one run in ten in 35 of 100" in said


def started(pinned: float, mechanism: str = "likwid-pin") -> Study:
    times = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": pinned}
    beside = {"pcores-set": {"mechanism": "taskset"}, "pcores-pin": {"mechanism": mechanism}}
    return Study(times, beside=beside)


@pytest.mark.parametrize("pinned", [0.9, 1.0, 1.1])
def test_a_different_start_is_noted_with_every_answer(tmp_path: Path, pinned: float) -> None:
    findings = findings_of(tmp_path, started(pinned))
    assert caveats(findings)["loaded at start"] == {"tool": "likwid-pin"}
    assert "loaded at start" not in caveats(findings, "pcores-set")
    assert "likwid-pin is loaded into one of both" in as_text(findings, 10_000)


@pytest.mark.parametrize("mechanism", ["omp-places", "taskset", "numactl", "program"])
def test_what_has_ended_before_the_program_starts_is_no_difference(
    tmp_path: Path, mechanism: str
) -> None:
    findings = findings_of(tmp_path, started(0.9, mechanism))
    assert "is loaded into" not in as_text(findings)
