"""What a study that raced comes to: the advice shown and written, beside tables and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.advice.data import as_data
from analysis.advice.make import advice_of
from analysis.advice.model import Advice
from analysis.advice.text import FILE, advice_markdown, advice_text
from analysis.outcome import Outcome, write_findings
from analysis.sources import open_results
from analysis.tables import tables_of_cases, write_tables
from analysis.written import again, write_file
from base.errors import UserError


def write_advice(folder: Path, width: int) -> Outcome:
    """Write the advice of a results folder beside its records, and all that other studies have.

    `width` is the terminal's. Raises UserError when the folder has no readable results of cases
    that raced, or cannot be written.
    """
    written = write_findings(folder)
    return Outcome(advice_text(_known(written.findings.advice, folder), width), written.files)


def write_advice_only(folder: Path, width: int) -> Outcome:
    """Write the advice of a results folder, and its tables; raises as `write_advice` does."""
    results = open_results(str(folder))
    advice = _known(advice_of(results), folder)
    text = advice_markdown(advice, results.remarks)
    files = (
        write_file(folder / FILE, text, again(advice.again)),
        *write_tables(tables_of_cases(results.cases, results.remarks), folder),
    )
    return Outcome(advice_text(advice, width), files)


def advice_data(folder: Path) -> dict[str, Any]:
    """Return the advice of a results folder by names, unrounded.

    Raises UserError when the folder has no readable results of cases that raced.
    """
    return as_data(_known(advice_of(open_results(str(folder))), folder))


def _known(advice: Advice | None, folder: Path) -> Advice:
    if advice is None:
        raise UserError(
            f"{folder}: no race is recorded here; `pinstudy advise -- ./my_app` makes one, and "
            "`pinstudy verdict` says what other results mean"
        )
    return advice
