"""Verdicts by what programs print about themselves: directions, words, and what is not compared."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.compare.matching import Unlike
from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.format.styles import render
from analysis.objectives import EDP, TIME, of_printed
from analysis.results.sources import open_results
from analysis.tables.means import make_tables
from analysis.verdict.data import as_data
from analysis.verdict_text.configurations import configuration_tables
from analysis.verdict_text.document import as_text
from analysis.words.verdict import decision_lines
from tests.analysis.report.pages import html_of
from tests.support.cli import pinstudy
from tests.support.results import (
    Record,
    Study,
    case_of,
    caveats,
    decision,
    findings_of,
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
EQUAL = Study(dict.fromkeys(RATES, 1.0))


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


def test_more_of_a_metric_is_better_where_the_app_says_so(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, printing(RATES))

    assert words(findings, "metric_rate") == {"pcores-pin": "better", "ecores-pin": "worse"}
    assert words(findings) == {"pcores-pin": "equivalent", "ecores-pin": "equivalent"}
    found = decision(findings, "metric_rate")
    assert (found.choice, found.best and found.best.mapping) == ("pin", "pcores-pin")
    comparison = case_of(findings, "pcores-pin").comparisons["metric_rate"]
    assert comparison.difference.ratio == pytest.approx(1.58, rel=2e-3)
    assert found.gain and found.gain.ratio == pytest.approx(1.58, rel=2e-3)
    assert (
        "Decision, Gflop/s (rate): pin each thread on the P-cores (pcores-pin)"
        in decision_lines(findings)
    )


def test_a_unit_keeps_its_letters(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, printing(RATES, "lat", "ms/step", "lower"))

    assert "typical ms/step (lat)" in " ".join(as_text(findings).split())
    assert "Ms/step" not in as_text(findings)


def test_what_some_runs_printed_as_0_was_measured_and_is_not_compared(tmp_path: Path) -> None:
    times = dict(zip(RATES, (1.0, 0.8, 1.2), strict=True))
    fields = ("metrics", "metric_units", "metric_better")
    runs = [
        run | {name: of[name] for name in fields}
        for run, of in zip(Study(times).records(), printing(RATES), strict=True)
    ]
    runs = spoilt(runs, "pcores-pin", [3], metrics={"rate": -1.0})

    findings = findings_of(tmp_path, runs)

    assert "zero or less" in caveats(findings, "pcores-pin", "metric_rate")


def test_a_change_without_an_interval_has_a_reason_in_its_place(tmp_path: Path) -> None:
    times = dict(zip(RATES, (1.0, 0.8, 1.2), strict=True))
    more = {"metrics": {"rate": 5.0}, "metric_units": {"rate": "GB/s"},
            "metric_better": {"rate": "higher"}}  # fmt: skip

    findings = findings_of(tmp_path, [run | more for run in Study(times).records()])

    assert decision(findings, "metric_rate").choice == "undecided"
    equal = caveats(findings, "pcores-pin", "metric_rate")["equal values"]
    assert (equal["value"], equal["baseline_value"]) == (5.0, 5.0)


def test_cases_without_a_good_run_print_nothing_and_stand_beside_those_that_do(
    tmp_path: Path,
) -> None:
    runs = [
        run | {"status": "failed", "reason": "exit status 1", "metrics": {}, "metric_units": {}}
        if run["mapping"] == "ecores-pin"
        else run
        for run in printing(RATES)
    ]
    gone = left_out(4, "no such CPUs") | {"app": runs[0]["app"], "mapping": "ecores-set"}
    gone |= {key: runs[0][key] for key in ("build", "size", "threads", "schedule")}
    write(tmp_path, [*runs, gone])

    for command in ("card", "compare", "figures", "report", "tables", "verdict"):
        sources = ["."] * (1 + (command == "compare"))
        assert pinstudy(tmp_path, command, *sources).returncode == 0
    said = pinstudy(tmp_path, "verdict", "card.json", "--no-files")

    assert words(analyze(open_results(str(tmp_path))), "metric_rate") == {"pcores-pin": "better"}
    assert said.returncode == 0
    assert "Decision, Gflop/s (rate): pin each thread on the P-cores" in said.stdout


def test_less_of_a_metric_is_better_where_the_app_says_that(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, printing(RATES, "latency", "ns", "lower"))

    assert words(findings, "metric_latency") == {"pcores-pin": "worse", "ecores-pin": "better"}
    found = decision(findings, "metric_latency")
    assert (found.choice, found.best and found.best.mapping) == ("pin", "ecores-pin")


def test_numbers_of_nanoseconds_keep_their_digits_in_seconds(tmp_path: Path) -> None:
    seconds = {mapping: rate * 1e-9 for mapping, rate in RATES.items()}
    runs = printing(seconds, "latency", "s", "lower", regions={"solve": {"elapsed_s": 4.321e-5}})
    findings = findings_of(tmp_path, runs)

    whole, region = findings.tables
    *_, latencies = configuration_tables(whole, 0.01)
    shown = [float(row[3]) for row in latencies.cells]
    assert shown == pytest.approx(list(seconds.values()), rel=1e-3)
    (times, *_) = configuration_tables(region, 0.01)
    assert {row[3] for row in times.cells} == {"0.0000432"}
    same = open_results(str(tmp_path))
    decimals = len(latencies.cells[0][3].partition(".")[2])
    mean = f"{whole.cases[0].samples['metric_latency'].mean:.{decimals}f}"
    assert mean in render(list(compare_tables(compare(same, same))), "text")


def test_the_largest_gain_of_a_rate_is_the_largest_ratio(tmp_path: Path) -> None:
    rates = {"unpinned": 100.0, "pcores-set": 120.0, "pcores-pin": 150.0}
    findings = findings_of(tmp_path, printing(rates))

    largest = next(of for of in findings.largest_gains if of.objective == "metric_rate")
    assert largest.case.mapping == "pcores-pin"
    assert largest.gain.ratio == pytest.approx(1.5, rel=2e-3)
    best = decision(findings, "metric_rate").best
    assert best and best.mapping == "pcores-pin"


def test_the_comparisons_of_a_metric_are_a_question_of_their_own(tmp_path: Path) -> None:
    alone = findings_of(tmp_path / "alone", EQUAL)
    printed = findings_of(tmp_path / "printed", printing(RATES))

    assert (alone.questions, printed.questions) == (1, 2)
    assert printed.comparisons == 2 * alone.comparisons
    p_values = [
        case_of(findings, "pcores-pin").comparisons["time"].p_different
        for findings in (alone, printed)
    ]
    assert p_values[0] == p_values[1]


def test_a_metric_without_a_direction_is_a_column_only(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, printing(RATES, better=None))

    assert {verdict.objective for verdict in only_table(findings).decisions} == {
        "time", "energy", "edp",
    }  # fmt: skip
    assert "rate" not in as_text(findings)


def test_a_direction_that_the_app_was_given_later_is_meant_for_all_runs(tmp_path: Path) -> None:
    runs = printing(RATES)
    for run in runs[: len(runs) // 2]:
        del run["metric_better"]

    assert words(findings_of(tmp_path, runs), "metric_rate")["pcores-pin"] == "better"


def test_a_program_with_a_fixed_time_is_compared_by_its_metric(tmp_path: Path) -> None:
    findings = findings_of(tmp_path / "asked", printing(RATES, fixed_time=True))

    assert decision(findings, "metric_rate").choice == "pin"
    for objective in ("time", "energy", "edp"):
        assert decision(findings, objective).choice == "not compared"
        (why,) = decision(findings, objective).lacking
        assert (why.code, why.facts) == ("fixed time", {"compared_by": ("Gflop/s (rate)",)})
    assert findings.comparisons == 2
    column = findings_of(tmp_path / "column", printing(RATES, fixed_time=True, better=None))
    assert decision(column).lacking[0].facts == {"compared_by": ()}
    assert "compared where the app says `better:`" in " ".join(as_text(column).split())
    assert column.comparisons == 0


def test_rows_that_printed_nothing_are_named(tmp_path: Path) -> None:
    some = findings_of(tmp_path / "some", printing(RATES | {"ecores-pin": None}))
    none = findings_of(tmp_path / "none", printing(dict.fromkeys(RATES)))

    (row,) = decision(some, "metric_rate").lacking
    assert (row.code, row.cases) == ("not measured", (case_of(some, "ecores-pin").case_id,))
    (whole,) = decision(none, "metric_rate").lacking
    assert whole.code == "not measured"
    assert whole.facts == {"reasons": ("it was not printed",)}


@pytest.mark.parametrize("value", [0.0, -5.0])
def test_a_case_that_printed_0_in_some_run_is_in_no_ratio(tmp_path: Path, value: float) -> None:
    runs = printing(RATES)
    (one,) = (r for r in runs if (r["mapping"], r["repetition"]) == ("pcores-pin", 3))
    one["metrics"] = {"rate": value}
    findings = findings_of(tmp_path / "one", runs)

    assert words(findings, "metric_rate") == {"ecores-pin": "worse"}
    for run in runs:
        run["metrics"] = {"rate": value}
    assert lacking(findings_of(tmp_path / "all", runs), "metric_rate") == ["zero or less"]


def test_rows_in_several_units_are_not_compared(tmp_path: Path) -> None:
    runs = printing(RATES)
    for run in runs:
        if run["mapping"] == "pcores-pin":
            run["metric_units"] = {"rate": "Mflop/s"}
    findings = findings_of(tmp_path, runs)

    assert "metric_rate" not in {v.objective for v in only_table(findings).decisions}
    (table,) = make_tables(tmp_path)
    assert "rows have rate in Gflop/s and in Mflop/s: they are not compared by it" in notes_of(
        table
    )


def test_programs_that_print_other_numbers_by_one_name_are_told_apart(tmp_path: Path) -> None:
    lower = printing(RATES, "rate", "ms", "lower")
    findings = findings_of(tmp_path, [*printing(RATES), *in_table(2, lower, app="npb")])

    first, second = findings.tables
    assert [str(of.noun) for table in (first, second) for of in table.objectives[3:]] == [
        "Gflop/s (rate)", "rate",
    ]  # fmt: skip
    lines = " ".join(decision_lines(findings))
    assert "Decision, Gflop/s (rate): pin each thread on the P-cores" in lines
    assert "Decision, rate: pin each thread on the E-cores" in lines
    # Each was chosen among the two of its own program.
    assert [of.gain.among for of in findings.largest_gains] == [2, 2]


def test_data_has_the_unit_and_the_direction(tmp_path: Path) -> None:
    data = json.loads(json.dumps(as_data(findings_of(tmp_path, printing(RATES)))))

    (table,) = data["tables"]
    by_objective = {found["objective"]: found for found in table["decisions"]}
    assert [(by_objective[of]["unit"], by_objective[of]["better"]) for of in by_objective] == [
        ("s", "lower"), ("J", "lower"), ("J s", "lower"), ("Gflop/s", "higher"),
    ]  # fmt: skip
    row = next(row for row in table["comparisons"] if row["mapping"] == "pcores-pin")
    assert row["metric_rate_outcome"] == "better"
    assert row["metric_rate_ratio"] == pytest.approx(1.58, rel=2e-3)
    means = {
        of["mapping"]: of["mean"]
        for of in table["statistics"]
        if (of["objective"], of["unit"]) == ("metric_rate", "Gflop/s")
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


def test_two_results_are_put_side_by_side_by_what_both_print(tmp_path: Path) -> None:
    slower = {mapping: rate / 2 for mapping, rate in RATES.items()}
    write(tmp_path / "a", printing(RATES))
    write(tmp_path / "b", printing(slower))
    both = compare(open_results(str(tmp_path / "a")), open_results(str(tmp_path / "b")))

    (pair,) = (pair for pair in both.pairs if pair.objective == "metric_rate")
    rows = {row.case.mapping: row for row in pair.rows}
    assert {name: row.agreement for name, row in rows.items()} == {
        "unpinned": "baseline", "pcores-pin": "agree", "ecores-pin": "agree",
    }  # fmt: skip
    direct = rows["pcores-pin"].direct
    assert direct and direct.value == pytest.approx(0.5, rel=2e-3)
    raw = [row for table in compare_tables(both) for row in table.raw_values]
    assert {(row["objective"], row["unit"], row["better"]) for row in raw} == {
        ("time", "s", "lower"), ("metric_rate", "Gflop/s", "higher"),
    }  # fmt: skip
    captions = [table.caption for table in compare_tables(both)]
    assert captions[-1].endswith(": Gflop/s (rate), side by side")


def test_numbers_of_unlike_units_are_not_put_side_by_side(tmp_path: Path) -> None:
    write(tmp_path / "a", printing(RATES))
    write(tmp_path / "b", printing(RATES, unit="Mflop/s"))
    both = compare(open_results(str(tmp_path / "a")), open_results(str(tmp_path / "b")))

    assert [pair.objective for pair in both.pairs] == ["time"]
    units = (f"higher is better, in {unit}" for unit in ("Gflop/s", "Mflop/s"))
    assert both.pairs[0].differences == (Unlike("rate", *units),)


def test_times_that_are_given_have_no_ratio_side_by_side(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / name, printing(RATES, fixed_time=True))
    both = compare(open_results(str(tmp_path / "a")), open_results(str(tmp_path / "b")))

    ratios = {
        (str(pair.objective), row.case.mapping): row.a and row.a.ratio and row.a.ratio.value
        for pair in both.pairs
        for row in pair.rows
    }
    assert ratios["time", "pcores-pin"] is None
    assert ratios["metric_rate", "pcores-pin"] == pytest.approx(1.58, rel=2e-3)


def test_imported_means_have_a_verdict_by_their_metric(tmp_path: Path) -> None:
    rows = [
        "app,threads,mapping,governor,n,metric_rate_mean,metric_rate_sd,metric_rate_unit,"
        "metric_rate_better",
        "lu,8,unpinned,performance,10,100,0.5,Gflop/s,higher",
        "lu,8,pcores-pin,performance,10,158,0.5,Gflop/s,higher",
    ]
    (tmp_path / "summaries.csv").write_text("\n".join([*rows, ""]))
    findings = analyze(open_results(str(tmp_path)))

    assert words(findings, "metric_rate") == {"pcores-pin": "better"}
    gain = decision(findings, "metric_rate").gain
    assert gain and gain.ratio == pytest.approx(1.58)


def test_equal_numbers_say_that_the_output_tells_no_more(tmp_path: Path) -> None:
    runs = printing(dict.fromkeys(RATES, 100.0))
    for run in runs:
        run["metrics"] = {"rate": 100.0}

    findings = findings_of(tmp_path, runs)
    assert "equal values" in caveats(findings, "pcores-pin", "metric_rate")


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
