"""Means of runs that spread unlike each other make no sure answer, and it says so itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.answer import analyze
from analysis.findings.glance import decision_overviews
from analysis.overview.configurations import overviews_of
from analysis.overview.grid import labels_of_verdicts
from analysis.results.sources import open_results
from analysis.statistics.unlike import spread_times_of_means
from analysis.verdict.model import Findings
from analysis.verdict_text.configurations import configuration_tables
from tests.support.cli import pinstudy
from tests.support.results import Study, caveats, decision, findings_of

HEADER = "app,threads,mapping,n,elapsed_mean_s,elapsed_sd_s"
DOUBT = "means alone, of runs that spread "


def imported(folder: Path, *rows: str) -> Findings:
    folder.mkdir(exist_ok=True)
    (folder / "summaries.csv").write_text("\n".join([HEADER, *rows, ""]))
    return analyze(open_results(str(folder)))


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("lu,8,pcores-pin,10,9.0,0.4", "pin"),
        ("lu,8,pcores-pin,10,9.0,0.002", "pin"),
        ("lu,8,pcores-pin,10,11.0,0.4", "leave"),
        ("lu,8,pcores-pin,400,10.0,0.4", "leave"),
    ],
)
def test_the_answer_itself_doubts_means_of_unlike_deviations(
    tmp_path: Path, row: str, word: str
) -> None:
    n = row.split(",")[3]
    findings = imported(tmp_path, f"lu,8,unpinned,{n},10.0,0.04", row)
    time = decision(findings, governor="unknown")
    assert time.choice == word
    assert time.unlike_means > 9
    (times, *_) = configuration_tables(findings.tables[0], findings.margin)
    assert any(text.startswith("not sure: only means are known") for _, text in times.notes)
    lines = [line for of in overviews_of(findings) for line in of.lines]
    (overview,) = decision_overviews(findings, labels_of_verdicts(lines))
    assert overview.unsure == 1


def test_like_deviations_are_not_doubted(tmp_path: Path) -> None:
    rows = ("lu,8,unpinned,10,10.0,0.04", "lu,8,pcores-pin,10,9.0,0.05")
    findings = imported(tmp_path, *rows)
    assert decision(findings, governor="unknown").unlike_means == 1


def test_typical_values_of_runs_need_no_such_doubt(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9})
    wild = [
        run | {"elapsed_s": run["elapsed_s"] * (1 + 0.02 * (run["repetition"] % 5))}
        if run["mapping"] == "unpinned"
        else run
        for run in study.records()
    ]
    findings = findings_of(tmp_path, wild)
    assert "unlike spread" in caveats(findings)
    assert decision(findings).unlike_means == 1


def test_compare_doubts_the_words_of_such_results(tmp_path: Path) -> None:
    rows = ("lu,8,unpinned,10,10.0,0.04", "lu,8,pcores-pin,10,9.0,0.4")
    for name in ("a", "b", "c"):
        imported(tmp_path / name, *rows)
    two = " ".join(pinstudy(tmp_path, "compare", "a", "b", status=0).stdout.split())
    assert f"A: {DOUBT}" in two and f"B: {DOUBT}" in two
    three = " ".join(pinstudy(tmp_path, "compare", "a", "b", "c", status=0).stdout.split())
    assert f"C: {DOUBT}" in three


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
