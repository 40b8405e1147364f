"""Threads on fast cores that waited for those on slow ones are named, with what might help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.results.sources import open_results
from analysis.tables.means import make_tables, render
from analysis.verdict.text import as_markdown
from analysis.verdict.waiting import waiting_sentences
from tests.analysis.report.pages import html_of
from tests.support.results import Study, findings_of, only_table, record, write

DIVIDED: dict[str, Any] = {
    "imbalance": 0.195,
    "waited": {"P": 0.38, "E": 0.01},
    "cpu_share": {"P": 0.385, "E": 0.615},
    "team_cpu_s": [{"P": 12.4, "E": 0.0}, {"P": 0.0, "E": 20.0}],
    "course": [{"P": 3.1, "E": 5.0}] * 4,
}
HELP = (
    "A dynamic schedule would let them work meanwhile, if the program's loops take one "
    "(schedules: [static, dynamic] in the study)."
)


def said(folder: Path, waited: dict[str, Any], **fields: Any) -> list[str]:  # noqa: ANN401
    """Return what is said of two cases, of which the second one waited."""
    runs = [record(case, n, **fields) for case in (1, 2) for n in (1, 2, 3, 4)]
    for number, run in enumerate(runs[4:]):
        run["waited"] = {kind: of[number] for kind, of in waited.items()}
    write(folder, runs)
    return list(waiting_sentences(only_table(analyze(open_results(str(folder))))))


def test_kinds_of_which_one_waited_for_the_other_are_named(tmp_path: Path) -> None:
    sentences = said(tmp_path, {"P": (0.38, 0.36, 0.38, 0.40), "E": (0.0, 0.0, 0.02, 0.02)})

    # The mean of 36, 38, 38 and 40 is 38, their sd 1.6.
    assert sentences == [
        "Threads on P-cores waited for those on E-cores: of the busiest thread's CPU time they had "
        "no work for 38 % under #2 pcores-set (E-cores 1 %; sd 1.6, 4 runs).",
        HELP,
    ]


def test_of_three_kinds_the_one_that_waited_most_is_told_from_the_one_that_waited_least(
    tmp_path: Path,
) -> None:
    sentences = said(tmp_path, {"P": (0.6,) * 4, "E": (0.3,) * 4, "LP-E": (0.0,) * 4})

    assert sentences[0].startswith("Threads on P-cores waited for those on LP-E-cores: ")


@pytest.mark.parametrize(
    "waited",
    [
        # Less than a tenth of the time, and no more than runs differ by chance.
        {"P": (0.09,) * 4, "E": (0.0,) * 4},
        {"P": (0.1, 0.6, 0.1, 0.6), "E": (0.0,) * 4},
        {"P": (0.5,) * 4},
        {},
    ],
)
def test_a_small_or_uncertain_difference_is_not_mentioned(
    waited: dict[str, Any], tmp_path: Path
) -> None:
    assert said(tmp_path, waited) == []


def test_a_dynamic_schedule_is_not_recommended_to_who_has_it(tmp_path: Path) -> None:
    waited = {"P": (0.5,) * 4, "E": (0.0,) * 4}

    assert HELP not in said(tmp_path, waited, schedule="dynamic")


def test_verdict_report_and_tables_have_the_division(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": 1.2}, beside={"pcores-pin": DIVIDED})
    findings = findings_of(tmp_path, study)
    results = open_results(str(tmp_path))

    assert "no work for 38 % under #2 pcores-pin" in as_markdown(findings)
    page = html_of(results)
    assert "no work for" in page
    assert "how the work was divided" in page
    for cell in ("19.5", "38.0", "1.0", "38.5", "61.5"):
        assert f">{cell}</td>" in page, cell
    header, _, measured, *_ = render(make_tables(tmp_path), "csv").splitlines()
    row = dict(zip(header.split(","), measured.split(","), strict=True))
    assert [row[name] for name in ("imbalance_mean", "waited_P", "cpu_share_E")] == [
        "0.195", "0.38", "0.615",
    ]  # fmt: skip
