"""What a study comes to once its runs are made: tables, answer and report, shown and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.findings import Findings
from analysis.sources import open_results
from analysis.table import Table
from analysis.tables import make_tables, render, tables_of_cases, write_tables
from analysis.written import again, write_file
from base.text import as_typed

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

    Where cases raced their advice is written too, and is what to show. `width` is the terminal's.
    Raises UserError when there are no readable results, or when the folder cannot be written.
    """
    from analysis.advice.text import advice_text
    from analysis.verdict.text import headline_text

    written = write_findings(folder)
    advice = written.findings.advice
    if advice is not None:
        return Outcome(advice_text(advice, width), written.files)
    text = f"{render(written.tables, 'text')}\n{headline_text(written.findings, width)}"
    return Outcome(text, written.files)


@dataclass(frozen=True)
class Written:
    """Results of which everything was written, and the files."""

    findings: Findings
    tables: Sequence[Table]
    files: tuple[Path, ...]


def write_findings(folder: Path) -> Written:
    """Write all that is known of a results folder; raises as `write_outcome` does."""
    from analysis.advice.text import FILE as ADVICE_FILE
    from analysis.advice.text import advice_markdown
    from analysis.find import find
    from analysis.report.page import FILE, report_html
    from analysis.verdict.text import as_markdown

    results = open_results(str(folder))
    tables = tables_of_cases(results.cases, results.remarks)
    findings = find(results)
    advice = again(f"pinstudy report {as_typed(folder)}")
    files = [
        *write_tables(tables, folder),
        write_file(folder / VERDICT_FILE, as_markdown(findings), advice),
        write_file(folder / FILE, report_html(results, findings), advice),
    ]
    if findings.advice is not None:
        text = advice_markdown(findings.advice, results.remarks)
        files.insert(0, write_file(folder / ADVICE_FILE, text, again(findings.advice.again)))
    return Written(findings, tables, tuple(files))
