"""The templates of findings: what a reader sees of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.answer import analyze
from analysis.findings.answers import Answers, answers_of
from analysis.findings.best_cases import best_cases
from analysis.findings.effects import Cases
from analysis.findings.glance import Disturbed, Undecided
from analysis.findings.levers import levers_of
from analysis.findings.one_for_all import one_for_all
from analysis.format.styles import render
from analysis.objectives import TIME
from analysis.results.sources import Results, open_results
from analysis.verdict.model import Caveat
from analysis.verdict_text.legend import reading_notes
from analysis.verdict_text.levers import best_tables, levers_tables
from analysis.words.overview import best_texts, lever_texts, one_for_all_texts, open_texts
from analysis.words.verdict import TEMPLATES, note
from base import ROOT
from runners.records.disturbances import MORE_THREADS, SHARED
from tests.analysis.findings.studies import Grid, changed
from tests.support.results import Study, findings_of

TWO = {"performance": 1.0, "powersave": 1.4}


def lines(cases: Cases) -> dict[str, list[str]]:
    none = Results("none", None, None, (), ())
    answers = Answers(levers_of(cases), one_for_all(cases), best_cases(none, cases))
    return {
        "Levers": list(lever_texts(answers.levers)),
        "One for all": list(one_for_all_texts(answers.one_for_all)),
        "Fastest": best_texts(answers, cases.cases, TIME, margin=0.01),
    }


def test_powersave_takes_45_percent_more_time_and_66_less_energy_for_serial_lulesh() -> None:
    results = open_results("published:galante-2025")
    tables = levers_tables(answers_of(results, analyze(results)).levers)
    text = render(tables, "text")
    _, governor = text.split("governor: powersave against performance")
    (row,) = [line for line in governor.splitlines() if line.startswith("lulesh serial, 1 thread")]
    assert row.split("unpinned")[1].split() == ["+45", "+45.1", "to", "+45.2", "-66", "-50"]


def test_what_a_lever_does_is_one_line_with_the_range_and_the_number_of_pairs() -> None:
    quiet = Grid({"unpinned": 1.0}, TWO, {"lu": 40.0, "ft": 3.0}, n=200).cases(1)
    assert lines(quiet)["Levers"] == [
        "governor powersave against performance: time +40 to +41 %; 2 pairs"
    ]


def test_the_levels_of_a_factor_are_one_line() -> None:
    governors = {"performance": 1.0, "powersave": 1.5, "ondemand": 1.2, "schedutil": 1.3}
    quiet = Grid({"unpinned": 1.0}, governors, {"lu": 40.0}, n=200).cases(1)
    (line,) = lines(quiet)["Levers"]
    assert line.startswith("governor powersave, ondemand, schedutil against performance: time +")
    assert line.endswith("; 3 pairs")


def test_pairs_that_are_not_compared_are_counted() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.5, "confined": 0.5}, n=200)
    found = lines(changed(grid.cases(2), "pinned", excluded={"timeout": 50}))["Levers"]
    assert found == ["mapping against unpinned: time -50 %; 1 of 2 pairs compared"]


def test_the_default_of_a_site_is_a_line_with_its_worst_and_its_mean_loss() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.5}, TWO, n=200)
    assert lines(grid.cases(3))["One for all"] == [
        "pinned: up to 0 % behind the best mapping (95 %: 0), 0 % on average"
    ]


def test_a_mapping_that_some_configurations_lack_says_in_how_many_it_was_compared() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.5}, {**TWO, "ondemand": 1.2}, n=200).cases(4)
    rows = [
        case for case in whole.cases
        if (case.key.governor, case.key.mapping) != ("ondemand", "unpinned")
    ]  # fmt: skip
    (line,) = lines(Cases(rows, whole.values, whole.baselines))["One for all"]
    assert line.endswith("0 % on average; compared in 2 of 3 (alone 1)")


def test_a_gain_within_the_margin_is_none() -> None:
    assert lines(Grid({"unpinned": 1.0, "pinned": 0.995}, TWO, n=200).cases(5))["Fastest"] == []


def test_the_best_case_of_each_program_is_named_with_its_value() -> None:
    grid = Grid(
        {"unpinned": 1.0, "pinned": 0.5}, {"performance": 1.0}, {"lu": 40.0, "ft": 3.0}, n=200
    )
    assert lines(grid.cases(6))["Fastest"] == [
        "lu, 1 thread, pinned: 20 s",
        "ft, 1 thread, pinned: 1.5 s",
    ]


def test_the_best_case_says_what_cannot_be_told_from_it() -> None:
    grid = Grid({"unpinned": 1.0, "pinned": 0.5, "confined": 0.5}, n=50)
    (line,) = lines(grid.cases(6))["Fastest"]
    assert line.startswith("1 thread, ")
    assert line.endswith("against 1 thread, unpinned; not shown to be worse: 1 case")


# Facts of every kind, for whichever template needs them.
FACTS = {
    "reason": "the node has no E-cores", "reasons": ("no RAPL here",), "by_cause": {"timeout": 12},
    "excluded": {"failed": 10}, "disturbance": SHARED, "tool": "likwid-pin", "unit": "s",
    "tasks": [{"command": "python3", "runs": 41, "most_s": 1.9}] * 3, "said": "2 of 10 about 38 s",
    "supplies": ["battery"], "baseline_supplies": ["mains"],
    "modes": [{"runs": 2, "pairs": 2, "about": 38.0, "ratio": 0.95},
              {"runs": 8, "pairs": 8, "about": 42.0, "ratio": 1.05}],
    "names": ("paper/node1", "paper/node2"), "compared_by": ("Gflop/s (rate)",),
    "mapping": "pcores-set", "measure": "package energy", "runs": 18, "n": 10, "lost": 12,
    "least": 0.05, "most": 0.31, "half": 14, "repetitions": (3, 6, 9), "value": 3.3,
    "baseline_value": 1.1,
    "ratio": 1.05, "ratio_low": 1.01, "ratio_high": 1.09, "mean_ratio": 0.985, "times": 5.5,
    "p": 0.03, "count": 2, "comparisons": 30,
}  # fmt: skip


@pytest.mark.parametrize("code", sorted(TEMPLATES))
def test_a_template_is_one_short_clause_and_its_code_is_documented(code: str) -> None:
    text = note(Caveat(code, (), FACTS))
    assert len(text.split()) <= 25
    assert "{" not in text
    assert f"`{code}`" in (ROOT / "docs" / "verdict-json.md").read_text()


def test_how_to_read_a_verdict_has_no_line_of_more_than_25_words(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.98}, noise=0.04)
    for found in (findings_of(tmp_path, study), analyze(open_results("published:galante-2025"))):
        own = [line for line in reading_notes(found) if line not in found.footnotes]
        assert max(len(line.split()) for line in own) <= 25


def test_what_no_other_case_betters_has_no_row_among_the_best_cases() -> None:
    cases = Grid({"unpinned": 0.5, "pinned": 1.0}, n=50).cases(7)
    none = Results("none", None, None, (), ())
    assert best_tables(Answers((), (), best_cases(none, cases)), cases.cases, 0.01) == []


QUIET = Disturbed(378, {SHARED: 12, MORE_THREADS: 300}, {})
BUSY = Disturbed(378, {SHARED: 110}, {"python3": 41})
OPEN = Undecided(40, by_repetitions=2, by_boots=3, hardly=2, more={"a": 5}, look=2)


def test_the_next_command_counts_only_what_repetitions_decide() -> None:
    assert open_texts(OPEN, QUIET, 360.0) == [
        "2 of 40 comparisons",
        "about 6 min 00 s",
        "3 undecided without other boots or days",
        "2 undecided even by 1000 repetitions",
    ]


def test_on_a_disturbed_node_nothing_can_be_decided() -> None:
    assert open_texts(OPEN, BUSY, 360.0) == ["7 cannot be decided here: 110 of 378 runs disturbed"]
