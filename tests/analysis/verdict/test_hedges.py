"""What could mislead a reader is said: lost runs, other attempts, other nodes, what is open."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.verdict.tables import comparison_table
from analysis.verdict.text import as_data, as_text, notes, verdict_lines
from tests.support.results import Study, found, left_out, only_table, verdict, words

FASTER = {"scheduler": 1.0, "pcores-set": 0.95, "pcores-pin": 0.9}
Records = list[dict[str, Any]]


def in_attempt(records: Records, attempt: int, mapping: str) -> Records:
    return [run | ({"attempt": attempt} if run["mapping"] == mapping else {}) for run in records]


def test_runs_of_different_attempts_are_no_pairs(tmp_path: Path) -> None:
    # The pinned case could only be run later: its blocks' numbers are those of the first attempt.
    records = in_attempt(Study(FASTER).records(), 2, "pcores-pin")
    cases = only_table(found(tmp_path, records)).cases
    pinned = next(case for case in cases if case.mapping == "pcores-pin").comparisons["time"]
    set_ = next(case for case in cases if case.mapping == "pcores-set").comparisons["time"]
    assert (set_.difference.paired, set_.apart) == (True, False)
    assert (pinned.difference.paired, pinned.apart) == (False, True)


def test_a_comparison_across_attempts_is_hedged(tmp_path: Path) -> None:
    records = in_attempt(Study(FASTER).records(), 2, "pcores-pin")
    said = verdict(found(tmp_path, records)).sentences
    assert said[-1] == (
        "No attempt at the study made runs of #1 scheduler together with #3 pcores-pin: a change "
        "of the node between attempts would look like a difference."
    )


def test_a_study_that_was_killed_and_continued_keeps_all_pairs_but_the_cut_one(
    tmp_path: Path,
) -> None:
    records = Study(FASTER).records()
    for run in records:
        # The first attempt ended within block 6, after one of its three cases.
        run["attempt"] = 1 if run["order"] <= 16 else 2
    by_mapping = {case.mapping: case for case in only_table(found(tmp_path, records)).cases}
    difference = by_mapping["pcores-pin"].comparisons["time"].difference
    assert (difference.paired, difference.n) == (True, 9)
    assert "9 pairs of runs" in verdict(found(tmp_path, records)).sentences[0]


def test_blocks_of_unknown_attempts_are_taken_for_one_attempt(tmp_path: Path) -> None:
    records = [
        {name: value for name, value in run.items() if name != "attempt"}
        for run in Study(FASTER).records()
    ]
    (case, _) = (c for c in only_table(found(tmp_path, records)).cases if not c.is_baseline)
    assert (case.comparisons["time"].difference.n, case.comparisons["time"].apart) == (10, False)
    assert case.comparisons["time"].difference.paired


def test_few_pairs_among_many_runs_are_not_all_that_is_compared(tmp_path: Path) -> None:
    # Of ten blocks the case lost the first six to failures, its baseline two of the others.
    records = Study({"scheduler": 1.0, "pcores-pin": 0.9}).records()
    for run in records:
        first = run["repetition"] <= 6
        if (run["mapping"] == "pcores-pin") == first and run["repetition"] <= 8:
            run["status"] = "failed"
    (case,) = (c for c in only_table(found(tmp_path, records)).cases if not c.is_baseline)
    assert not case.comparisons["time"].difference.paired
    assert "4 runs against 8" in verdict(found(tmp_path, records)).sentences[0]


def test_lost_runs_of_those_compared_are_counted(tmp_path: Path) -> None:
    records = Study(FASTER).records()
    for run in records:
        if run["mapping"] == "pcores-pin" and run["repetition"] in (3, 7):
            run.update(status="timeout", reason="too long")
    assert verdict(found(tmp_path, records)).sentences[-1] == (
        "Not in these numbers, which may flatter a case: 2 of 10 runs of #3 pcores-pin (2 timeout)."
    )


def test_lost_runs_of_the_baseline_are_counted_too(tmp_path: Path) -> None:
    records = Study(FASTER).records()
    records[0].update(status="failed", reason="exit status 1")
    assert (
        verdict(found(tmp_path, records))
        .sentences[-1]
        .endswith(": 1 of 10 runs of #1 scheduler (1 failed).")
    )


def test_cases_that_could_not_be_compared_are_named(tmp_path: Path) -> None:
    missing = left_out(4, "no E-cores") | {"threads": 8, "variant": "libgomp"}
    said = verdict(found(tmp_path, [*Study(FASTER).records(), missing])).sentences
    assert said[-1] == "Not compared with #1 scheduler in time: #4 ecores-set."


def test_a_baseline_that_failed_is_not_called_missing(tmp_path: Path) -> None:
    records = Study(FASTER).records()
    for run in records:
        if run["mapping"] == "scheduler":
            run["status"] = "failed"
    assert verdict(found(tmp_path, records)).sentences == (
        "Not compared: no run of #1 scheduler could be used (10 failed).",
    )


def test_an_interval_without_1_that_is_undecided_says_why(tmp_path: Path) -> None:
    mappings = {"scheduler": 1.0} | {f"m{at}": 1.0 for at in range(30)} | {"m7": 0.988}
    findings = found(tmp_path, Study(mappings, noise=0.012, seed=4))
    case = next(case for case in only_table(findings).cases if case.mapping == "m7")
    comparison = case.comparisons["time"]
    assert comparison.word == "undecided"
    assert 1.0 not in comparison.difference.interval()
    said = verdict(findings).sentences[0]
    assert re.search(
        r"#9 m7 [\d.]+ % less typical time \([\d.]+ to [\d.]+ %, not enough among 30 compar", said
    )
    assert said.endswith("; 24 others in the table.")
    # Those nearest to a decision are named.
    needs = [int(more) for more in re.findall(r"to (\d+) more repetition", said)]
    assert len(needs) == 6
    assert needs == sorted(needs)


def test_one_comparison_is_not_said_to_be_corrected_for_others(tmp_path: Path) -> None:
    # Five log ratios of 2.04 % and -2 to 2 % away from it: t = 2.88, between the quantiles of four
    # degrees of freedom for 5 % (2.78) and for the first look's 4 % (3.00).
    records = Study({"scheduler": 1.0, "pcores-pin": 1.0}, repetitions=5).records()
    for run in records:
        away = 0.02036 + 0.01 * (run["repetition"] - 3) if run["mapping"] == "pcores-pin" else 0.0
        run["elapsed_s"] = 40.0 * math.exp(away)
    said = verdict(found(tmp_path, records)).sentences[0]
    assert ", not enough at the 4 % of a first look)" in said
    assert "Holm" not in said


def test_the_gain_of_the_best_of_several_has_a_wider_interval(tmp_path: Path) -> None:
    time = verdict(found(tmp_path, Study(FASTER | {"ecores-pin": 1.4})))
    assert time.best is not None
    interval = time.best.comparisons["time"].difference.interval(1 - 0.05 / 3)
    low, high = ((1 - end) * 100 for end in (interval.high, interval.low))
    assert f"(95 % interval {low:.2f} to {high:.2f} %, widened for the cho" in time.sentences[0]


def test_what_is_told_of_losses_is_of_the_least_of_them(tmp_path: Path) -> None:
    beside = {"scheduler": {"migrations": 900}, "ecores-set": {"migrations": 0}}
    study = Study({"scheduler": 1.0, "ecores-pin": 1.4, "ecores-set": 1.2}, beside=beside)
    said = verdict(found(tmp_path, study)).sentences
    assert said[1].startswith("What goes with #3 ecores-set, not proved")
    assert "threads were moved 900 times a run under #1 and 0 times under #3" in said[1]


def test_what_is_undecided_itself_is_never_as_good_as_the_best(tmp_path: Path) -> None:
    # The baseline's noise of 2 % hides 2.3 %, but not 3.3 %; both faster ones have next to none.
    # Its middle six runs are 0.17 % above 1, the winsorised standard error is 0.88 %: with four
    # degrees of freedom 3.3 % are needed at the level of 4 % for the first of two, 2.6 % then.
    away = [1.2, -0.4, 0.9, -1.5, 0.3, 1.1, -1.3, -0.2, 0.8, -0.9]
    records = Study({"scheduler": 1.0, "pcores-set": 0.9765, "pcores-pin": 0.9675}, noise=0.0002)
    made = records.records()
    for run in made:
        if run["mapping"] == "scheduler":
            run["elapsed_s"] *= 1 + 0.02 * away[run["repetition"] - 1]
    findings = found(tmp_path, made)
    assert words(findings) == {"pcores-set": "undecided", "pcores-pin": "better"}
    assert "#2 pcores-set cannot be told from #3 pcores-pin." in verdict(findings).sentences


def test_what_may_beat_the_recommended_is_named(tmp_path: Path) -> None:
    # Three pairs with equal differences decide at once; the faster mapping has noise.
    records = Study(FASTER, repetitions=3, noise=0.0002).records()
    for run in records:
        if run["mapping"] == "pcores-pin":
            run["elapsed_s"] *= 0.93 + 0.04 * run["repetition"]
    time = verdict(found(tmp_path, records))
    assert time.best is not None
    assert time.best.mapping == "pcores-set"
    assert [case.mapping for case in time.also] == ["pcores-pin"]
    assert time.sentences[1] == "#3 pcores-pin cannot be told from #2 pcores-set."


def test_equal_times_are_no_proof(tmp_path: Path) -> None:
    records = Study(FASTER).records()
    for run in records:
        run["elapsed_s"] = 3.3 if run["mapping"] == "scheduler" else 1.1
    findings = found(tmp_path, records)
    assert set(words(findings).values()) == {"undecided"}
    assert (
        "1.1 s in each of 10 runs against 3.3 s in each of 10: equal times have no spread to test "
        "by, and a coarse clock makes them"
    ) in verdict(findings).sentences[0]
    # Nothing differs from run to run, so that nothing tells how many would do.
    assert "repetition" not in verdict(findings).sentences[0]


def test_runs_without_pairs_and_without_spread_have_no_pairs_either(tmp_path: Path) -> None:
    # A coarse clock, and two slow runs of each, which are trimmed.
    records = Study(FASTER, sequential=True).records()
    for run in records:
        times = (3.3, 4.0) if run["mapping"] == "scheduler" else (1.1, 1.6)
        run["elapsed_s"] = times[run["repetition"] in (4, 7)]
    said = verdict(found(tmp_path, records)).sentences[0]
    assert "(no interval: most runs of each have the very same value)" in said
    assert "pairs" not in said


def test_energy_that_is_equal_in_every_run_is_not_said_to_be_a_time(tmp_path: Path) -> None:
    records = Study(FASTER, FASTER).records()
    for run in records:
        run["energy_pkg_j"] = 3.0 if run["mapping"] == "scheduler" else 1.0
    said = verdict(found(tmp_path, records), "energy").sentences[0]
    assert "1 J in each of 10 runs against 3 J in each of 10: equal values have no spread" in said
    assert "time" not in said
    assert "clock" not in said


@pytest.mark.parametrize(("time_s", "said"), [(2e6, "2000000 s"), (2.5e-5, "0.000025 s")])
def test_values_that_are_equal_have_no_exponent(tmp_path: Path, time_s: float, said: str) -> None:
    records = Study(FASTER).records()
    for run in records:
        run["elapsed_s"] = time_s
    assert f"({said} in each of 10 and of 10 runs" in verdict(found(tmp_path, records)).sentences[0]


def test_the_same_time_in_every_run_of_both_is_said_as_what_it_is(tmp_path: Path) -> None:
    records = Study(FASTER).records()
    for run in records:
        run["elapsed_s"] = 2.5
    said = verdict(found(tmp_path, records)).sentences[0]
    assert "2.5 s in each of 10 and of 10 runs: equal, as far as the clock tells them" in said


@pytest.mark.parametrize("wrong", [0.0, -5.0, 1e200])
def test_values_that_no_counter_gives_are_not_used(tmp_path: Path, wrong: float) -> None:
    records = Study(FASTER, FASTER).records()
    records[4]["energy_pkg_j"] = wrong
    findings = found(tmp_path, records)
    assert [case.samples["energy"].n for case in only_table(findings).cases] == [10, 9, 10]


def test_two_wild_runs_have_a_verdict_that_json_can_hold(tmp_path: Path) -> None:
    records = Study(FASTER, repetitions=2).records()
    records[1]["elapsed_s"] *= 1e4
    findings = found(tmp_path, records)
    json.dumps(as_data(findings), allow_nan=False)
    assert "wider than a factor of 1000" in " ".join(verdict(findings).sentences)
    assert "e+" not in as_text(findings)


def test_an_interval_without_an_upper_end_is_no_number(tmp_path: Path) -> None:
    same = {"scheduler": 1.0, "pcores-pin": 1.0}
    records = Study(same, same, repetitions=2).records()
    for run, energy_j in zip(records, (1e-29, 1e12, 1e12, 1e-29), strict=True):
        run["energy_pkg_j"] = energy_j
    data = as_data(found(tmp_path, records))
    json.dumps(data, allow_nan=False)
    assert data["tables"][0]["comparisons"][1]["energy_ratio_high"] is None


def test_no_interval_stands_in_the_table_where_no_spread_was_seen(tmp_path: Path) -> None:
    records = Study(FASTER).records()
    for run in records:
        run["elapsed_s"] = 3.0 if run["mapping"] == "scheduler" else 6.0
    table = comparison_table(only_table(found(tmp_path, records)))
    assert table is not None
    assert table.cells[1][3:6] == ("2.000", "-", "undecided")


def test_the_governor_that_was_in_force_is_named(tmp_path: Path) -> None:
    records = [
        run | {"governor": "current", "governor_read": "schedutil"}
        for run in Study(FASTER).records()
    ]
    assert "governor current (schedutil)" in found(tmp_path, records).headline[1]


def test_names_of_governors_and_apps_cannot_reach_a_terminal_raw(tmp_path: Path) -> None:
    records = [
        run | {"governor": run["governor"] + "\x1b[31m", "app": "a\x1b]0;x"}
        for run in Study(FASTER, FASTER, governors=("a", "b")).records()
    ]
    assert "\x1b" not in as_text(found(tmp_path, records))


def test_no_line_begins_with_a_percent_sign(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER, FASTER))
    for width in range(60, 120):
        assert not [
            line for line in as_text(findings, width).splitlines() if line.split()[:1] == ["%"]
        ]


def test_a_change_between_attempts_is_no_drift(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 1.0}).records()
    for run in records:
        if run["repetition"] > 5:
            run.update(attempt=2, elapsed_s=run["elapsed_s"] * 1.1)
            run["started_at"] = run["started_at"].replace("03-01", "03-09")
    text = " ".join(as_text(found(tmp_path, records)).split())
    assert "No drift over time was found" in text
    assert re.search(r"From attempt 1 to attempt 2 runs became slower by (9\.\d|10|11) %", text)


def test_what_all_governors_share_is_said_once(tmp_path: Path) -> None:
    study = Study(FASTER, governors=("performance", "powersave"))
    lines = verdict_lines(only_table(found(tmp_path, study)))
    starts = [line.partition(":")[0] for line in lines]
    assert starts == [
        "Time, governor performance", "Time, governor powersave", "Package energy",
        "Energy-delay product",
    ]  # fmt: skip


def slowed(records: Records, mapping: str, repetitions: set[int]) -> Records:
    """Return the records, some runs of a mapping 10 % longer."""
    return [
        run
        | (
            {"elapsed_s": run["elapsed_s"] * 1.1}
            if run["mapping"] == mapping and run["repetition"] in repetitions
            else {}
        )
        for run in records
    ]


def test_where_mean_and_typical_time_disagree_both_are_said(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 1.0}, repetitions=20, noise=0.002).records()
    findings = found(tmp_path, slowed(records, "scheduler", {3, 9, 14}))
    time = verdict(findings)
    # Three of twenty runs take 10 % longer: the baseline's mean 1.5 %, its typical time nothing.
    assert words(findings) == {"pcores-pin": "equivalent"}
    assert re.search(
        r"Mean and typical time disagree.*#2 pcores-pin 1\.[345] % less by the mean, "
        r"(0\.[01] % (less|more)|about the same) typically\.",
        " ".join(time.sentences),
    )
    assert findings.headline[0].endswith("; the means say otherwise in 1 setting.")


def test_means_that_agree_are_not_mentioned(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER))
    assert "disagree" not in " ".join(verdict(findings).sentences)
    assert "means say otherwise" not in findings.headline[0]


def test_slow_runs_are_a_finding_with_an_exact_test(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 0.9}, repetitions=20, noise=0.002).records()
    few = " ".join(verdict(found(tmp_path / "a", slowed(records, "scheduler", {3}))).sentences)
    assert re.search(
        r"Slow runs: 1 of 20 of #1 scheduler \((9\.\d+|10\.?\d*) % beyond its median\) and none of "
        r"#2 pcores-pin; that their shares differ is not shown \(exact test, p = 0\.",
        few,
    )
    many = slowed(records, "scheduler", {3, 6, 9, 12, 15, 18})
    said = " ".join(verdict(found(tmp_path / "b", many)).sentences)
    assert "6 of 20 of #1 scheduler" in said
    assert "what is typical is uncertain" in said
    assert "what is typical is uncertain" not in few
    assert "by an exact test the share is another than that of #1 scheduler under #2" in said


def test_of_many_cases_with_slow_runs_none_is_counted_with_those_that_have_none(
    tmp_path: Path,
) -> None:
    mappings = {"scheduler": 1.0} | {f"m{at}": 1.0 for at in range(9)}
    records = Study(mappings, repetitions=20, noise=0.002).records()
    for at in range(8):
        records = slowed(records, f"m{at}", {2, 4, 6, 8, 12, 14, 16, 18})
    said = " ".join(verdict(found(tmp_path, records)).sentences)
    assert "2 others in the table and none of #1 scheduler and #10 m8; by an exact test" in said
    assert "is another than that of #1 scheduler under #2 m0" in said
    assert re.search(r"#7 m5 \(p = [\de.-]+\) and 2 others in the table", said)


def test_spreads_that_differ_are_said(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 0.9}, noise=0.002).records()
    away = [2.1, -1.9, 0.3, 1.2, -2.2, 0.9, -0.4, 1.6, -1.1, -0.5]
    for run in records:
        if run["mapping"] == "scheduler":
            run["elapsed_s"] *= 1 + 0.02 * away[run["repetition"] - 1]
    said = " ".join(verdict(found(tmp_path, records)).sentences)
    assert re.search(r"Runs spread otherwise than those of #1 scheduler: #2 pcores-pin 1/\d+", said)


def test_few_runs_are_said_to_miss_a_mode_of_one_in_ten(tmp_path: Path) -> None:
    ten = " ".join(notes(found(tmp_path / "a", Study(FASTER))))
    assert "10 runs of a case hold none of a mode of one run in ten in 35 of 100 studies" in ten
    thirty = " ".join(notes(found(tmp_path / "b", Study(FASTER, repetitions=30))))
    assert "hold none" not in thirty


def test_the_estimand_is_named_in_sentences_notes_tables_and_data(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER))
    assert "less typical time than" in verdict(findings).sentences[0]
    assert "less typical time than" in findings.headline[1]
    assert notes(findings)[0].startswith("typical: the mean of the middle 60 % of the log ratios")
    table = comparison_table(only_table(findings))
    assert table is not None
    assert table.caption.endswith(": ratios of typical values to the baseline")
    told = as_data(findings)["tables"][0]["comparisons"][1]
    assert (told["time_estimand"], told["time_cut_from_each_end"]) == ("typical", 2)


def test_each_question_is_corrected_by_itself(tmp_path: Path) -> None:
    one = found(tmp_path / "a", Study(FASTER))
    two = found(tmp_path / "b", Study(FASTER, governors=("performance", "powersave")))
    assert (one.questions, two.questions) == (1, 2)
    others = [case.comparisons["time"] for case in only_table(one).cases[1:]]
    # Two comparisons, at the first look's four fifths of the level: the smaller p-value is doubled.
    p_values = [comparison.difference.p_different for comparison in others]
    assert max(of.p_different for of in others) == pytest.approx(
        max(2 * min(p_values), *p_values) / 0.8
    )
