"""What a study comes to once its runs are made: tables, answer and report, shown and written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.sources import open_results
from analysis.tables import make_tables, render, tables_of_cases, write_tables
from analysis.written import again, write_file
from configs.typed import as_typed

VERDICT_FILE = "verdict.md"


@dataclass(frozen=True)
class Outcome:
    """What to show at the end of a study, and the files that say more."""

    text: str
    files: tuple[Path, ...]


def write_tables_only(folder: Path) -> Outcome:
    """Write the tables of a results folder beside its records; raises as `write_outcome` does."""
    tables = make_tables(folder)
    return Outcome(render(tables, "text"), tuple(write_tables(tables, folder)))


def write_outcome(folder: Path, width: int) -> Outcome:
    """Write tables, verdict and report of a results folder beside its records.

    `width` is the terminal's. Raises UserError when there are no readable results, or when the
    folder cannot be written.
    """
    from analysis.find import find
    from analysis.report.page import FILE, report_html
    from analysis.verdict.text import as_markdown, headline_text

    results = open_results(str(folder))
    tables = tables_of_cases(results.cases, results.remarks)
    findings = find(results)
    advice = again(f"pinstudy report {as_typed(folder)}")
    files = [
        *write_tables(tables, folder),
        write_file(folder / VERDICT_FILE, as_markdown(findings), advice),
        write_file(folder / FILE, report_html(results, findings), advice),
    ]
    return Outcome(f"{render(tables, 'text')}\n{headline_text(findings, width)}", tuple(files))
