"""The report: results, findings and figures put together into one HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from urllib.parse import quote_from_bytes

from jinja2 import Template
from markupsafe import Markup, escape

from pinstudy.analysis.affinity.experiments import affinity
from pinstudy.analysis.answer import Answer, analyze
from pinstudy.analysis.compare.side_by_side import compare_programs
from pinstudy.analysis.compare.tables import compare_tables
from pinstudy.analysis.figures.drawing import Drawing
from pinstudy.analysis.figures.drift import draw_drift
from pinstudy.analysis.figures.gallery import affinity_figures, table_figures
from pinstudy.analysis.figures.overview import draw_overview_plane
from pinstudy.analysis.findings.answers import Answers, answers_of
from pinstudy.analysis.format.numbers import three_digits
from pinstudy.analysis.format.table import Column, Table, shared_notes
from pinstudy.analysis.overview.terminal import overviews_of
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.report import sentences
from pinstudy.analysis.report.affinity import experiments
from pinstudy.analysis.report.exclusions import excluded_runs, missing, places_of
from pinstudy.analysis.report.first_screen import first_screen, sections_of
from pinstudy.analysis.report.html import (
    Picture,
    csp_digest,
    explained_once,
    page_environment,
    picture_of,
    picture_or_reason,
    pictures_by_place,
    style_of,
    text_of,
    visible,
)
from pinstudy.analysis.report.reproduction import citations, reproduction
from pinstudy.analysis.results.caveats import instrument_tables, proof_sentence
from pinstudy.analysis.results.node_files import node_sheets
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.tables.means import Choice, node_of, tables_of_nodes
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.verdict_text.document import drift_notes, outcome_notes, tables_of
from pinstudy.analysis.words import advice as recommendation
from pinstudy.analysis.words.verdict import program_notes
from pinstudy.base.errors import UserError
from pinstudy.base.text import as_typed
from pinstudy.configs.results_folder import REPORT_FILE

# A table's take some 150 KB and a quarter of a second. With so many, the report of 100 000 runs of
# 1000 cases is made within ten seconds and has less than three megabytes (`make bench`).
MAX_PICTURED = 9
# What stands for itself in a data URI, and in an attribute of HTML.
_KEPT = " !$()*+,/:;=?@[]|"
_UNBROKEN = re.compile(r"(?<=[0-9]) (?=(?:%|[GM]Hz\b|[mn]s\b|million\b|to [0-9]))")
# A hyphen before a number that nothing stands before: dates, ranges and names have others.
_MINUS = re.compile(r"(?<![\w.-])-(?=[0-9])")
_CODE = re.compile("`([^`]+)`")


def write_report(source: str, into: Path | None = None) -> Path:
    """Write the report of a source of results; return the file's path.

    It goes into the results' folder unless `into` says another one. Raises UserError when the
    source cannot be read, has no folder, or the folder cannot be written.
    """
    results = open_results(source)
    folder = into or results.folder
    if folder is None:
        raise UserError(f"{source}: has no folder of its own; name one with --output DIR")
    answer = analyze(results)
    page = report_html(results, answer, answers_of(results, answer))
    return write_file(folder / REPORT_FILE, page)


def report_html(
    results: Results, answer: Answer, answers: Answers, pictured: int = MAX_PICTURED
) -> str:
    """Return the report as HTML that needs nothing but itself.

    `answers` are those beyond one configuration. It has the figures of the first `pictured` tables.
    """
    measured = affinity(results, answer)
    drawn = table_figures(results, answer, pictured)
    of_experiments = affinity_figures(results, measured) if measured else ()
    places = places_of(answer)
    sheets = node_sheets(results)
    overviews = overviews_of(answer)
    means = tables_of_nodes([node_of(results)], Choice("full"), share_notes=True)
    tables = list(map(measured_columns, means))
    names = sections_of(overviews)
    return _template().render(
        results=results,
        answer=answer,
        title=_title(results),
        days=" to ".join(dict.fromkeys(results.days or ())),
        question=results.title,
        sheets=sheets,
        first=first_screen(results, answer, answers, overviews),
        legend=sentences.legend(overviews, answer),
        plane=_plane(results, answer),
        # `analyze` and `tables_of_nodes` group the cases alike.
        tables=[(at + 1, answer.tables[at], tables[at]) for at in _in_order(names, len(tables))],
        names=names,
        shared=list(shared_notes(tables)),
        of_tables=explained_once(pictures_by_place(drawn, "t")),
        most_pictured=pictured,
        experiments=experiments(results, measured, answer) if measured else [],
        of_experiments=pictures_by_place(of_experiments, "e"),
        programs=compare_programs(results, answer),
        drift=picture_or_reason(draw_drift(results, answer), "d"),
        outliers=_outliers(answer),
        excluded=excluded_runs(results, places),
        missing=missing(results, places, sheets),
        instruments=list(
            zip(results.proofs.values(), instrument_tables(results.proofs), strict=True)
        ),
        again=reproduction(results, places, sheets),
        citations=citations(results),
    )


def _in_order(names: Iterable[int], count: int) -> list[int]:
    """Return the places of the tables in the order of the grid; those not in it stand last."""
    return list(dict.fromkeys([*names, *range(count)]))


def _plane(results: Results, answer: Answer) -> Picture | None:
    """Return the picture of all cases; None where there is one, which has a picture of its own.

    Where energy was not measured, the remarks say why.
    """
    if len(answer.tables) < 2:
        return None
    guests = all(case.summary.key.in_guest for case in answer.cases)
    drawn = draw_overview_plane(results, answer, guests=guests)
    return picture_of(drawn, "p") if isinstance(drawn, Drawing) else None


def _data_uri(svg: bytes) -> str:
    """Return an SVG as an image's source: there its scripts never run, and it loads nothing.

    As text without its indentation it is a fifth shorter than in Base64.
    """
    return f"data:image/svg+xml,{quote_from_bytes(b' '.join(svg.split()), safe=_KEPT)}"


def _title(results: Results) -> str:
    if results.runs is None:
        return results.name
    frame = results.runs.frame
    columns = ("study", "node_id")
    names = (", ".join(map(str, frame[column].dropna().unique())) for column in columns)
    return " on ".join(filter(None, names)) or results.name


def _outliers(findings: Findings) -> Table:
    cells = [
        (
            str(at), case.label, outlier.objective.noun, str(outlier.repetition),
            f"{three_digits(outlier.value)} {outlier.objective.unit}",
            three_digits(outlier.score),
        )
        for at, table in enumerate(findings.tables, 1)
        for case in table.cases
        for outlier in case.outliers
    ]  # fmt: skip
    columns = (
        Column("table"),
        Column("row", right=False),
        Column("measure", right=False),
        Column("repetition"),
        Column("value"),
        Column("deviations away"),
    )
    return Table("Outliers; all of them are in the means", columns, tuple(cells))


@cache
def _template() -> Template:
    """Return the page with everything escaped; `finalize` sees each value before it is.

    It is compiled once for all reports of a process.
    """
    environment = page_environment()
    environment.filters |= {
        "as_typed": as_typed,
        "data_uri": _data_uri,
        "minus": _with_minus,
        "prose": _prose,
    }
    style, script = style_of("report.css"), text_of("report.js")
    environment.globals |= {
        "style": style,
        "style_digest": csp_digest(style),
        "script": script,
        "script_digest": csp_digest(script),
        # Templates build the sentences and tables of an answer themselves.
        "sentences": sentences,
        "recommendation": recommendation,
        "proof_sentence": proof_sentence,
        "tables_of": tables_of,
        "program_notes": program_notes,
        "drift_notes": drift_notes,
        "outcome_notes": outcome_notes,
        "compare_tables": compare_tables,
    }
    return environment.get_template("report.html.jinja")


def _with_minus(text: str) -> str:
    return _MINUS.sub("\N{MINUS SIGN}", text)


def _prose(sentence: str) -> Markup:
    """Return a sentence, escaped, with what stands between backticks as code.

    Outside of code, numbers have minus signs, and stay on one line with what follows them.
    """
    parts = _CODE.split(escape(visible(sentence)))
    parts[::2] = [_UNBROKEN.sub("\N{NO-BREAK SPACE}", _with_minus(part)) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return Markup("".join(parts))


# A cell without a number; a note's marker may follow.
_ABSENT = re.compile(r"(n/a|-)( \(\w+\))?$")


def measured_columns(means: Table) -> Table:
    """Return a table of means without the columns in which nothing was measured, and their notes.

    The page says once why that is.
    """
    shown = [
        at
        for at in range(len(means.columns))
        if any(not _ABSENT.match(row[at]) for row in means.cells)
    ]
    cells = tuple(tuple(row[at] for at in shown) for row in means.cells)
    kept = tuple(means.columns[at] for at in shown)
    ends = {text.rpartition(" ")[2] for text in (*(column.name for column in kept), *chain(*cells))}
    notes = tuple(note for note in means.notes if not note[0] or f"({note[0]})" in ends)
    return replace(means, columns=kept, cells=cells, notes=notes)
