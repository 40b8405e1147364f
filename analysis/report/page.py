"""The report: results, findings and figures put together into one HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from analysis.affinity.experiments import affinity
from analysis.answer import Answer, find
from analysis.compare.side_by_side import compare_programs
from analysis.compare.tables import compare_tables, conclusions
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.drift import draw_drift
from analysis.figures.gallery import table_figures
from analysis.figures.rows import runs_by_case
from analysis.figures.style import in_style
from analysis.figures.words import number
from analysis.format.files import write_file
from analysis.objectives import NOUNS, UNITS
from analysis.report.advice import advice_section
from analysis.report.affinity import Experiment, experiments
from analysis.report.html_table import HtmlTable, html_table, plain_table
from analysis.report.left_aside import Places, excluded_runs, missing, places_of
from analysis.report.reproduction import Reproduction, reproduction
from analysis.report.words import extent, node_alt, question, tested_together
from analysis.results.node_files import NodeSheet, node_sheets
from analysis.results.sources import Results, open_results
from analysis.tables.means import tables_of_cases
from analysis.verdict.drift_words import drift_sentences
from analysis.verdict.model import Findings, TableFindings, Verdict
from analysis.verdict.tables import comparison_table, statistics_tables
from analysis.verdict.text import why_continue
from base.errors import UserError
from base.text import as_typed, printable

FILE = "report.html"
_HERE = Path(__file__).parent
# A table's take some 80 KB and half a second: one page of all that a thousand have serves nobody.
MAX_PICTURED = 50


@dataclass(frozen=True)
class Picture:
    """A figure of the page: what drawing it was, with its bytes as a data: URI."""

    title: str
    caption: str
    alt: str
    uri: str
    width: int
    height: int


@dataclass(frozen=True)
class TableSection:
    """A table with what belongs to it; `number` counts from 1.

    `beside` are the ratios to the baseline, and what the runs of each case say in each objective.
    Beyond MAX_PICTURED tables there are no `pictures`.
    """

    number: int
    findings: TableFindings
    table: HtmlTable
    notes: tuple[tuple[str, str], ...]
    beside: tuple[HtmlTable, ...]
    pictures: tuple[Picture | NotDrawn, ...]


@dataclass(frozen=True)
class ExperimentSection:
    """An affinity experiment with its figures as the page has them."""

    told: Experiment
    pictures: tuple[Picture | NotDrawn, ...]


def write_report(source: str, into: Path | None = None) -> Path:
    """Write the report of a source of results; return the file's path.

    It goes into the results' folder unless `into` says another one. Raises UserError when the
    source cannot be read, has no folder, or the folder cannot be written.
    """
    results = open_results(source)
    folder = into or results.folder
    if folder is None:
        raise UserError(f"{source}: has no folder of its own; name one with --into DIR")
    return write_file(folder / FILE, report_html(results, find(results)))


def report_html(results: Results, answer: Answer) -> str:
    """Return the report as HTML that needs nothing but itself."""
    with in_style():
        sections = _sections(results, answer)
        affinity_sections = _affinity(results, answer)
        drift = _picture(draw_drift(results, answer))
    places = places_of(answer)
    sheets = node_sheets(results)
    style, script = (_own_text(name) for name in ("report.css", "report.js"))
    return _template().render(
        title=_title(results),
        source=as_typed(results.name),
        published=results.is_published,
        question=question(answer),
        extent=extent(results, answer),
        headline=answer.headline,
        next_command=answer.next_command,
        why_continue=why_continue(answer),
        raced=answer.raced,
        advice=advice_section(answer.advice),
        margin=answer.margin,
        tested_together=tested_together(answer),
        remarks=answer.remarks,
        objective_names=NOUNS,
        sheets=sheets,
        node_alt=node_alt,
        data_uri=_data_uri,
        sections=sections,
        most_pictured=MAX_PICTURED,
        affinity_sections=affinity_sections,
        programs=_programs(results, answer),
        drift=drift,
        drift_sentences=drift_sentences(answer.drift),
        outliers=_outliers(answer),
        **_aside(results, answer, places, sheets),
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
        has_runs=results.runs is not None,
    )  # fmt: skip


@dataclass(frozen=True)
class ProgramsSection:
    """What the programs of one algorithm conclude, beside each other."""

    conclusions: list[str]
    tables: list[HtmlTable]


def _programs(results: Results, findings: Findings) -> ProgramsSection | None:
    both = compare_programs(results, findings)
    if both is None:
        return None
    return ProgramsSection(
        conclusions(both),
        [
            html_table(f"programs-{number}", table.caption, table)
            for number, table in enumerate(compare_tables(both))
        ],
    )


def _title(results: Results) -> str:
    """Return the study and the node, or the name of results without them."""
    if results.runs is None:
        return results.name
    frame = results.runs.frame
    names = [str(name) for name in frame["study"].dropna().unique()]
    nodes = [str(name) for name in frame["node_id"].dropna().unique()]
    return " on ".join(filter(None, (", ".join(names), ", ".join(nodes)))) or results.name


def _sections(results: Results, findings: Findings) -> list[TableSection]:
    """Return a section a table; `find` and `tables_of_cases` group the cases alike."""
    pictures: dict[int, list[Picture | NotDrawn]] = {}
    pictured = range(min(len(findings.tables), MAX_PICTURED))
    for at, drawn in table_figures(results, findings, pictured):
        pictures.setdefault(at, []).append(_picture(drawn))
    tables = tables_of_cases(results.cases, results.remarks)
    return [
        TableSection(
            number=at + 1,
            findings=of_table,
            table=html_table(f"table-{at + 1}", f"Table {at + 1}: means of the runs", table),
            notes=table.notes,
            beside=tuple(_beside(at + 1, of_table)),
            pictures=tuple(pictures.get(at, ())),
        )
        for at, (of_table, table) in enumerate(zip(findings.tables, tables, strict=True))
    ]


def _beside(number: int, findings: TableFindings) -> Iterator[HtmlTable]:
    compared = comparison_table(findings)
    if compared is not None:
        yield html_table(
            f"ratios-{number}",
            f"Table {number}: {compared.caption.rpartition(': ')[2]}",
            compared,
        )
    for at, table in enumerate(statistics_tables(findings), 1):
        of = table.caption.rpartition(": ")[2]
        yield html_table(f"statistics-{number}-{at}", f"Table {number}: {of}, by case", table)


def _affinity(results: Results, findings: Findings) -> list[ExperimentSection]:
    """Return a section an affinity experiment that the results hold."""
    found = affinity(results, findings)
    if found is None:
        return []
    runs = runs_by_case(results.runs.frame) if results.runs is not None else {}
    return [
        ExperimentSection(told, tuple(map(_picture, told.drawn)))
        for told in experiments(results, found, findings, runs)
    ]


def _picture(drawn: Drawing | NotDrawn) -> Picture | NotDrawn:
    if isinstance(drawn, NotDrawn):
        return drawn
    width, height = drawn.figure.get_size_inches() * 96
    uri = _data_uri(drawn.data("svg"))
    return Picture(drawn.title, drawn.caption, drawn.alt, uri, round(width), round(height))


def _data_uri(svg: bytes) -> str:
    """Return an SVG as an image's source: there its scripts never run, and it loads nothing."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


def _outliers(findings: Findings) -> HtmlTable:
    rows = [
        (
            str(at), case.label, NOUNS[outlier.objective], str(outlier.repetition),
            f"{number(outlier.value)} {UNITS[outlier.objective]}", number(outlier.score),
        )
        for at, table in enumerate(findings.tables, 1)
        for case in table.cases
        for outlier in case.outliers
    ]  # fmt: skip
    titles = ("table", "row", "of", "repetition", "value", "deviations away")
    return plain_table("outliers", "Outliers; all of them are in the means", titles, rows, 1)


def _aside(
    results: Results, findings: Findings, places: Places, sheets: Sequence[NodeSheet]
) -> dict[str, Any]:
    """Return what the page says of what is not in its tables."""
    excluded = excluded_runs(results, places)
    lost = missing(results, findings, sheets)
    again = reproduction(results, places, sheets)
    return {
        "excluded": excluded,
        "excluded_table": plain_table(
            "excluded",
            "Excluded runs and their reasons",
            ("table", "row", "repetition", "status", "reason"),
            [(str(r.table), r.row, r.repetition, r.status, r.reason) for r in excluded.runs],
            1,
        ),
        "missing_table": plain_table(
            "missing",
            "What could not be measured, and why",
            ("what", "where", "why"),
            [(m.what, m.where, m.reason) for m in lost],
        ),
        "again": again,
        "versions_table": _versions(again),
        "commands_table": plain_table(
            "commands",
            "What was started in each case",
            ("table", "row", "command line"),
            [(str(c.table), c.row, c.line) for c in (again.cases if again else ())],
            1,
        ),
    }


def _versions(again: Reproduction | None) -> HtmlTable:
    rows = [
        (what, version)
        for what, versions in (again.versions.items() if again else ())
        for version in versions
    ]
    return plain_table("versions", "What took part, by the records", ("what", "version"), rows)


@cache
def _template() -> Template:
    """Return the page with everything escaped; `finalize` sees each value before it is.

    It is compiled once for all reports of a process.
    """
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    environment.filters["by_governor"] = _by_governor
    return environment.get_template("report.html.jinja")


def _by_governor(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Return the verdicts of each governor, in the order of the table."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.governor, []).append(verdict)
    return list(found.items())


def _visible(value: object) -> object:
    """Return a text with its control characters made visible, bidirectional ones too."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value, kept="\n")


def _unbroken(sentence: str) -> Markup:
    """Return a sentence whose numbers stay on one line with what follows them, escaped."""
    text = escape(_visible(sentence))
    return Markup(
        re.sub(
            r"(?<=[0-9]) (?=(?:%|[GM]Hz\b|[mn]s\b|million\b|to [0-9]))", "\N{NO-BREAK SPACE}", text
        )
    )


def _own_text(name: str) -> Markup:
    """Return a file of ours that stands in the page as it is."""
    return Markup((_HERE / name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
