"""Verdicts by what programs print about themselves: directions, words, and what is not compared."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.card import write_card
from pinstudy.analysis.compare.matching import Unlike
from pinstudy.analysis.compare.side_by_side import compare
from pinstudy.analysis.compare.tables import compare_tables
from pinstudy.analysis.format.table import render
from pinstudy.analysis.objectives import EDP, TIME, of_printed
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.tables.means import make_tables, tables_of_cases
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict_text.document import as_text
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.analysis.words.verdict import decision_lines
from tests.analysis.report.pages import html_of
from tests.support.in_memory import judged, results_of
from tests.support.results import (
    Record,
    Study,
    case_of,
    decision,
    in_table,
    lacking,
    left_out,
    notes_of,
    only_table,
    spoilt,
    words,
    write,
)

RATES = {"unpinned": 100.0, "pcores-pin": 158.0, "ecores-pin": 60.0}
RATE = "metric_rate"


def printing(
    values: Mapping[str, float | None],
    name: str = "rate",
    unit: str = "Gflop/s",
    better: str | None = "higher",
    **fields: Any,  # noqa: ANN401
) -> list[Record]:
    """Return runs of equal time whose program prints these means, give or take a thousandth."""
    runs = []
    for run in Study(dict.fromkeys(values, 1.0)).records():
        mean = values[run["mapping"]]
        noise = 1 + 0.0001 * (run["order"] * 7919 % 13 - 6)
        of_run: Record = {"metric_units": {name: unit}, "metrics": {}}
        if better:
            of_run["metric_better"] = {name: better}
        if mean is None:
            absent = {f"metrics.{name}": "it was not printed"}
            of_run["unavailable"] = run["unavailable"] | absent
        else:
            of_run["metrics"] = {name: mean * noise}
        runs.append(run | of_run | fields)
    return runs


@pytest.mark.parametrize(
    ("better", "outcomes", "best", "ratio"),
    [
        ("higher", ("better", "worse"), "pcores-pin", 1.58),
        ("lower", ("worse", "better"), "ecores-pin", 0.6),
    ],
)
def test_more_or_less_of_a_metric_is_better_as_the_app_says(
    better: str, outcomes: tuple[str, str], best: str, ratio: float
) -> None:
    findings = judged(printing(RATES, better=better))

    assert words(findings, RATE) == dict(zip(("pcores-pin", "ecores-pin"), outcomes, strict=True))
    assert words(findings) == {"pcores-pin": "equivalent", "ecores-pin": "equivalent"}
    found = decision(findings, RATE)
    assert (found.choice, found.best and found.best.mapping) == ("pin", best)
    assert found.gain and found.gain.ratio == pytest.approx(ratio, rel=2e-3)
    largest = next(gain for gain in findings.largest_gains if gain.objective == RATE)
    assert (largest.case.mapping, largest.gain.ratio) == (best, found.gain.ratio)


def test_of_several_rates_that_gain_the_largest_is_best() -> None:
    findings = judged(printing({"unpinned": 100.0, "pcores-set": 120.0, "pcores-pin": 150.0}))
    best = decision(findings, RATE).best
    assert best and best.mapping == "pcores-pin"


def test_cases_without_a_good_run_stand_beside_those_that_print(tmp_path: Path) -> None:
    failed = {"status": "failed", "reason": "exit status 1", "metrics": {}, "metric_units": {}}
    runs = spoilt(printing(RATES), "ecores-pin", **failed)
    gone = left_out(4, "no such CPUs") | {"app": runs[0]["app"], "mapping": "ecores-set"}
    gone |= {key: runs[0][key] for key in ("build", "size", "threads", "schedule")}
    write(tmp_path, [*runs, gone])
    results = open_results(str(tmp_path))
    card, _ = write_card(str(tmp_path), tmp_path / "card.json")

    for found in (analyze(results), analyze(open_results(str(card)))):
        assert words(found, RATE) == {"pcores-pin": "better"}
    assert render(tables_of_cases(results.cases), "text") and html_of(results)


def test_numbers_of_nanoseconds_keep_their_digits_in_seconds() -> None:
    seconds = {mapping: rate * 1e-9 for mapping, rate in RATES.items()}
    runs = printing(seconds, "latency", "s", "lower", regions={"solve": {"elapsed_s": 4.321e-5}})
    results = results_of(runs)

    whole, region = analyze(results).tables
    *_, latencies = configuration_tables(whole, 0.01)
    shown = [float(row[3]) for row in latencies.cells]
    assert shown == pytest.approx(list(seconds.values()), rel=1e-3)
    (times, *_) = configuration_tables(region, 0.01)
    assert {row[3] for row in times.cells} == {"0.0000432"}
    decimals = len(latencies.cells[0][3].partition(".")[2])
    mean = f"{whole.cases[0].samples['metric_latency'].mean:.{decimals}f}"
    assert mean in render(list(compare_tables(compare(results, results))), "text")


def test_the_comparisons_of_a_metric_are_a_question_of_their_own() -> None:
    alone, printed = judged(Study(dict.fromkeys(RATES, 1.0))), judged(printing(RATES))

    assert (alone.questions, printed.questions) == (1, 2)
    assert printed.comparisons == 2 * alone.comparisons
    p_values = [
        case_of(findings, "pcores-pin").comparisons["time"].p_different
        for findings in (alone, printed)
    ]
    assert p_values[0] == p_values[1]


def test_a_metric_without_a_direction_is_a_column_only() -> None:
    findings = judged(printing(RATES, better=None))
    objectives = {found.objective for found in only_table(findings).decisions}
    assert objectives == {"time", "energy", "edp"}
    assert "rate" not in as_text(findings)


def test_a_direction_that_the_app_was_given_later_is_meant_for_all_runs() -> None:
    runs = printing(RATES)
    for run in runs[: len(runs) // 2]:
        del run["metric_better"]
    assert words(judged(runs), RATE)["pcores-pin"] == "better"


def test_a_program_with_a_fixed_time_is_compared_by_its_metric() -> None:
    # Its two comparisons are not corrected for those of another program's times.
    other = in_table(2, Study(dict.fromkeys(RATES, 1.0)), app="lu")
    findings = judged([*printing(RATES, fixed_time=True), *other])
    fixed, alike = findings.tables
    chosen = {str(found.objective): found for found in fixed.decisions}
    assert chosen.pop(RATE).choice == "pin"
    for found in chosen.values():
        (why,) = found.lacking
        assert (found.choice, why.code) == ("not compared", "fixed time")
        assert why.facts == {"compared_by": ("Gflop/s (rate)",)}
    assert "a spread needs two good runs" not in as_text(findings)
    assert alike.decisions[0].choice == "leave"
    assert findings.comparisons == 4
    assert not any(case.on_front for case in fixed.cases)

    column = judged(printing(RATES, fixed_time=True, better=None))
    assert decision(column).lacking[0].facts == {"compared_by": ()}
    assert column.comparisons == 0


def test_rows_that_printed_nothing_are_named() -> None:
    some = judged(printing(RATES | {"ecores-pin": None}))
    (row,) = decision(some, RATE).lacking
    assert (row.code, row.cases) == ("not measured", (case_of(some, "ecores-pin").case_id,))
    (whole,) = decision(judged(printing(dict.fromkeys(RATES))), RATE).lacking
    assert (whole.code, whole.facts) == ("not measured", {"reasons": ("it was not printed",)})


@pytest.mark.parametrize("value", [0.0, -5.0])
def test_a_case_that_printed_0_or_less_in_some_run_is_in_no_ratio(value: float) -> None:
    nothing = {"metrics": {"rate": value}}
    findings = judged(spoilt(printing(RATES), "pcores-pin", [3], **nothing))
    assert words(findings, RATE) == {"ecores-pin": "worse"}
    assert lacking(judged(run | nothing for run in printing(RATES)), RATE) == ["zero or less"]


def test_rows_in_several_units_are_not_compared(tmp_path: Path) -> None:
    write(tmp_path, spoilt(printing(RATES), "pcores-pin", metric_units={"rate": "Mflop/s"}))
    (table,) = make_tables(tmp_path)
    note = "rows have rate in Gflop/s and in Mflop/s: they are not compared by it"
    assert note in notes_of(table)
    findings = only_table(analyze(open_results(str(tmp_path))))
    assert RATE not in {found.objective for found in findings.decisions}


def test_programs_that_print_other_numbers_by_one_name_are_told_apart() -> None:
    lower = printing(RATES, "rate", "ms", "lower")
    findings = judged([*printing(RATES), *in_table(2, lower, app="npb")])

    nouns = [str(table.objectives[3].noun) for table in findings.tables]
    assert nouns == ["Gflop/s (rate)", "rate"]
    lines = " ".join(decision_lines(findings))
    assert "Decision, Gflop/s (rate): pin each thread on the P-cores" in lines
    assert "Decision, rate: pin each thread on the E-cores" in lines
    # Each was chosen among the two of its own program.
    assert [largest.gain.among for largest in findings.largest_gains] == [2, 2]


def test_data_has_the_unit_and_the_direction() -> None:
    (table,) = as_data(judged(printing(RATES)))["tables"]
    assert [(found["unit"], found["better"]) for found in table["decisions"]] == [
        ("s", "lower"), ("J", "lower"), ("J s", "lower"), ("Gflop/s", "higher"),
    ]  # fmt: skip
    row = next(row for row in table["comparisons"] if row["mapping"] == "pcores-pin")
    assert row["metric_rate_outcome"] == "better"
    assert row["metric_rate_ratio"] == pytest.approx(1.58, rel=2e-3)
    means = {
        row["mapping"]: row["mean"]
        for row in table["statistics"]
        if (row["objective"], row["unit"]) == (RATE, "Gflop/s")
    }
    assert means == pytest.approx(RATES, rel=1e-3)


HOSTILE = "</dd><script>alert(1)</script> | `x`"


def test_a_hostile_name_and_unit_are_shown_and_do_nothing(tmp_path: Path) -> None:
    write(tmp_path, printing(RATES, HOSTILE, "<img src=x onerror=y>/s"))
    results = open_results(str(tmp_path))
    answer = analyze(results)

    html = html_of(results)

    assert "<script>alert(1)" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert HOSTILE in as_text(answer, 10_000)


def test_two_results_are_put_side_by_side_by_what_both_print() -> None:
    slower = {mapping: rate / 2 for mapping, rate in RATES.items()}
    both = compare(
        results_of(printing(RATES, fixed_time=True)), results_of(printing(slower, fixed_time=True))
    )
    rows = {str(pair.objective): pair.rows for pair in both.pairs}
    assert [row.agreement for row in rows[RATE]] == ["baseline", "agree", "agree"]
    direct = rows[RATE][1].direct
    assert direct and direct.value == pytest.approx(0.5, rel=2e-3)
    # Times that are given have no ratio.
    timed = rows["time"][1].a
    assert timed and timed.ratio is None
    raw = [row for table in compare_tables(both) for row in table.raw_values]
    assert {(row["objective"], row["unit"], row["better"]) for row in raw} == {
        ("time", "s", "lower"), (RATE, "Gflop/s", "higher"),
    }  # fmt: skip


def test_numbers_of_unlike_units_are_not_put_side_by_side() -> None:
    both = compare(results_of(printing(RATES)), results_of(printing(RATES, unit="Mflop/s")))
    assert [pair.objective for pair in both.pairs] == ["time"]
    units = (f"higher is better, in {unit}" for unit in ("Gflop/s", "Mflop/s"))
    assert both.pairs[0].differences == (Unlike("rate", *units),)


def test_imported_means_have_a_verdict_by_their_metric(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,n,metric_rate_mean,metric_rate_sd,metric_rate_unit,metric_rate_better\n"
        "lu,8,unpinned,10,100,0.5,Gflop/s,higher\nlu,8,pcores-pin,10,158,0.5,Gflop/s,higher\n"
    )
    findings = analyze(open_results(str(tmp_path)))
    assert words(findings, RATE) == {"pcores-pin": "better"}


@pytest.mark.parametrize(
    ("unit", "noun"),
    [
        ("Gflop/s", "Gflop/s (x)"),
        ("token/s", "token/s (x)"),
        ("1/s", "x"),
        ("s", "x"),
        ("", "x"),
        ("/s", "x"),
        ("a b/s", "x"),
    ],
)
def test_rates_are_counted_by_their_unit_and_others_by_their_name(unit: str, noun: str) -> None:
    objective = of_printed("x", "metric_x", unit, higher=True)

    assert (objective.noun, objective.counted) == (noun, noun != "x")


def test_an_objective_goes_to_another_process_as_it_is() -> None:
    for objective in (TIME, EDP, of_printed("x", "metric_x", "MB/s", higher=True)):
        for other in (pickle.loads(pickle.dumps(objective)), copy.deepcopy(objective)):
            assert (other, vars(other)) == (objective, vars(objective))
