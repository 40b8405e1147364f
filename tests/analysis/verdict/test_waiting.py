"""Threads on fast cores that waited for those on slow ones are named, with what might help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.format.table import Table
from analysis.results.sources import open_results
from analysis.tables.means import make_tables, render
from analysis.verdict.data import as_data
from analysis.verdict.division import waiting
from analysis.verdict.model import CaseFinding
from analysis.verdict_text.costs import WITH_ANOTHER_SCHEDULE, division_table
from analysis.verdict_text.document import as_markdown
from tests.analysis.report.pages import html_of
from tests.support.results import Study, findings_of, only_table, record, write

DIVIDED: dict[str, Any] = {
    "imbalance": 0.195,
    "waited": {"P": 0.38, "E": 0.01},
    "cpu_share": {"P": 0.385, "E": 0.615},
    "team_cpu_s": [{"P": 12.4, "E": 0.0}, {"P": 0.0, "E": 20.0}],
    "course": [{"P": 3.1, "E": 5.0}] * 4,
}


def division(folder: Path, waited: dict[str, Any], **fields: Any) -> tuple[CaseFinding, Table]:  # noqa: ANN401
    """Return the second of two cases, which waited, and the table of both."""
    runs = [record(case, n, **fields) for case in (1, 2) for n in (1, 2, 3, 4)]
    for number, run in enumerate(runs[4:]):
        run["waited"] = {kind: of[number] for kind, of in waited.items()}
    write(folder, runs)
    found = only_table(analyze(open_results(str(folder))))
    table = division_table(found) or Table("", (), ())
    return found.cases[1], table


def test_kinds_of_which_one_waited_for_the_other_are_named(tmp_path: Path) -> None:
    case, table = division(tmp_path, {"P": (0.38, 0.36, 0.38, 0.40), "E": (0.0, 0.0, 0.02, 0.02)})

    found = waiting(case)
    assert found and (found.fast, found.slow, found.n) == ("P", "E", 4)
    # The mean of 36, 38, 38 and 40 is 38, their sd 1.6.
    assert [found.share, found.slow_share] == pytest.approx([0.38, 0.01])
    assert found.sd == pytest.approx(0.0163, abs=1e-4)
    assert [text for _, text in table.notes] == [
        "#2: P-cores waited for E-cores: no work for 38 % of the time (sd 1.6, 4 runs), "
        "E-cores 1 %",
        WITH_ANOTHER_SCHEDULE,
    ]


def test_of_three_kinds_the_one_that_waited_most_is_told_from_the_one_that_waited_least(
    tmp_path: Path,
) -> None:
    case, _ = division(tmp_path, {"P": (0.6,) * 4, "E": (0.3,) * 4, "LP-E": (0.0,) * 4})

    found = waiting(case)
    assert found and (found.fast, found.slow) == ("P", "LP-E")


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
    case, table = division(tmp_path, waited)

    assert waiting(case) is None
    assert table.notes == ()


def test_a_dynamic_schedule_is_not_recommended_to_who_has_it(tmp_path: Path) -> None:
    waited = {"P": (0.5,) * 4, "E": (0.0,) * 4}

    case, table = division(tmp_path, waited, schedule="dynamic")

    assert waiting(case)
    assert WITH_ANOTHER_SCHEDULE not in [text for _, text in table.notes]


def test_verdict_report_and_tables_have_the_division(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 1.2}, beside={"pcores-pin": DIVIDED})
    findings = findings_of(tmp_path, study)
    results = open_results(str(tmp_path))

    assert "P-cores waited for E-cores: no work for 38 %" in as_markdown(findings)
    (row,) = as_data(findings)["tables"][0]["divided_work"]
    assert (row["imbalance"], row["waited_P"], row["cpu_share_E"]) == (0.195, 0.38, 0.615)
    assert (row["waiting"]["fast"], row["waiting"]["slow"]) == ("P", "E")
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
