"""The report: results, findings and figures put together into one HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote_from_bytes

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from analysis import recommendation
from analysis.affinity.experiments import affinity
from analysis.answer import Answer, analyze
from analysis.compare.side_by_side import compare_programs
from analysis.compare.tables import compare_tables
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.drift import draw_drift
from analysis.figures.gallery import affinity_figures, table_figures
from analysis.figures.overview import draw_overview_plane
from analysis.findings.answers import Answers, answers_of
from analysis.format.numbers import three_digits
from analysis.format.table import Column, Table, shared_notes
from analysis.objectives import Objective
from analysis.overview.configurations import overviews_of
from analysis.overview.grid import Overview
from analysis.overview.lines import Entry, entries, next_entry
from analysis.overview.terminal import grid_caption
from analysis.overview.text import cell_text
from analysis.records.files import write_file
from analysis.report import sentences
from analysis.report.affinity import experiments
from analysis.report.cases import cell_class, measured_columns
from analysis.report.exclusions import excluded_runs, missing, places_of
from analysis.report.reproduction import reproduction
from analysis.results.case import grouped
from analysis.results.instruments import instrument_tables, proof_sentence
from analysis.results.node_files import node_sheets
from analysis.results.sources import Results, open_results
from analysis.tables.means import tables_of_cases
from analysis.verdict.model import Findings
from analysis.verdict_text.document import tables_of
from analysis.verdict_text.legend import drift_notes, outcome_notes
from analysis.words.overview import DECISION
from analysis.words.verdict import program_notes
from base.errors import UserError
from base.text import as_typed, printable

FILE = "report.html"
_HERE = Path(__file__).parent
# A table's take some 150 KB and a quarter of a second. With so many, the report of 100 000 runs of
# 1000 cases is made within ten seconds and has less than three megabytes (`make bench`).
MAX_PICTURED = 9
# The style sheet switches between so many grids.
MAX_SWITCHED = 8
# What stands for itself in a data URI, and in an attribute of HTML.
_KEPT = " !$()*+,/:;=?@[]|"
_UNBROKEN = re.compile(r"(?<=[0-9]) (?=(?:%|[GM]Hz\b|[mn]s\b|million\b|to [0-9]))")
_SENTENCES = re.compile(r"\S.*?[.](?= |$)")
_CODE = re.compile("`([^`]+)`")

Of = TypeVar("Of")


@dataclass(frozen=True)
class Picture:
    """A figure of the page: what drawing it was, with its bytes as a data: URI."""

    title: str
    caption: str
    alt: str
    uri: str
    width: int
    height: int


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
    return write_file(folder / FILE, page)


def report_html(
    results: Results, answer: Answer, answers: Answers, pictured: int = MAX_PICTURED
) -> str:
    """Return the report as HTML that needs nothing but itself.

    `answers` are those beyond one configuration. It has the figures of the first `pictured` tables.
    """
    measured = affinity(results, answer)
    of_tables = _pictures(table_figures(results, answer, range(len(answer.tables))[:pictured]))
    of_experiments = _pictures(affinity_figures(results, measured)) if measured else {}
    drift = _picture(draw_drift(results, answer))
    places = places_of(answer)
    sheets = node_sheets(results)
    overviews = overviews_of(answer)
    means = tables_of_cases(results.cases, results.footnotes, off=results.off, share_notes=True)
    tables = list(map(measured_columns, means))
    again = reproduction(results, places, sheets)
    said, *others = _by_label(entries(results, answer, answers, overviews))
    return _template().render(
        results=results,
        answer=answer,
        title=_title(results),
        days=" to ".join(dict.fromkeys(results.days or ())),
        question=results.title,
        sheets=sheets,
        overviews=overviews,
        objectives=_objectives(overviews),
        legend=sentences.legend(overviews, answer),
        said=said[1],
        remarks=others,
        undecided=next_entry(results, answer).parts[1:],
        plane=_plane(results, answer),
        # `analyze` and `tables_of_cases` group the cases alike.
        tables=list(zip(answer.tables, tables, strict=True)),
        shared=list(shared_notes(tables)),
        of_tables=_explained_once(of_tables),
        most_pictured=pictured,
        experiments=experiments(results, measured, answer) if measured else [],
        of_experiments=of_experiments,
        programs=compare_programs(results, answer),
        drift=drift,
        outliers=_outliers(answer),
        excluded=excluded_runs(results, places),
        missing=missing(results, places, sheets),
        instruments=list(
            zip(results.proofs.values(), instrument_tables(results.proofs), strict=True)
        ),
        again=again,
    )


def _by_label(said: Iterable[Entry]) -> list[tuple[str, list[str]]]:
    """Return the texts of entries by label, the decision's first."""
    labels = grouped(said, lambda entry: entry.label)
    labels.sort(key=lambda alike: alike[0].label != DECISION)
    return [(alike[0].label, [entry.text for entry in alike]) for alike in labels]


def _pictures(
    drawn: Iterable[tuple[Of, Drawing | NotDrawn]],
) -> dict[Of, list[Picture | NotDrawn]]:
    """Return the figures of each table or experiment; of each its bytes are kept, no more."""
    pictures: dict[Of, list[Picture | NotDrawn]] = {}
    for of, each in drawn:
        pictures.setdefault(of, []).append(_picture(each))
    return pictures


def _objectives(overviews: Sequence[Overview]) -> list[Objective]:
    """Return the objectives that a reader can choose from; the tables have all means."""
    found = {of.identity: of for overview in overviews for of in overview.shown}
    return list(found.values())[:MAX_SWITCHED]


def _plane(results: Results, answer: Answer) -> Picture | None:
    """Return the picture of all cases; None where there is one, which has a picture of its own.

    Where energy was not measured, the remarks say why.
    """
    drawn = draw_overview_plane(results, answer) if len(answer.tables) > 1 else None
    picture = _picture(drawn) if isinstance(drawn, Drawing) else None
    return picture if isinstance(picture, Picture) else None


def _explained_once(
    of_tables: Mapping[int, Sequence[Picture | NotDrawn]],
) -> dict[int, list[Picture | NotDrawn]]:
    """Return the pictures; a sentence on how they are read stands below the first of them only.

    So does the reason why one is not drawn.
    """
    said: set[tuple[str, str]] = set()
    pictures: dict[int, list[Picture | NotDrawn]] = {}
    for at, of_table in of_tables.items():
        pictures[at] = []
        for each in of_table:
            if isinstance(each, Picture):
                pictures[at].append(_with_news(each, said))
            elif (each.title, each.reason) not in said:
                said.add((each.title, each.reason))
                pictures[at].append(each)
    return pictures


def _with_news(picture: Picture, said: set[tuple[str, str]]) -> Picture:
    """Return a picture with the sentences of its caption that are not in `said`; add them there."""
    of = [(picture.title, text) for text in _SENTENCES.findall(picture.caption)]
    caption = " ".join(text for title, text in of if (title, text) not in said)
    said.update(of)
    return replace(picture, caption=caption)


def _picture(drawn: Drawing | NotDrawn) -> Picture | NotDrawn:
    if isinstance(drawn, NotDrawn):
        return drawn
    width, height = drawn.figure.get_size_inches() * 96
    uri = _data_uri(drawn.data("svg"))
    return Picture(drawn.title, drawn.caption, drawn.alt, uri, round(width), round(height))


def _data_uri(svg: bytes) -> str:
    """Return an SVG as an image's source: there its scripts never run, and it loads nothing.

    As text without its indentation it is a fifth shorter than in Base64.
    """
    return f"data:image/svg+xml,{quote_from_bytes(b' '.join(svg.split()), safe=_KEPT)}"


def _title(results: Results) -> str:
    """Return the study and the node, or the name of results without them."""
    if results.runs is None:
        return results.name
    frame = results.runs.frame
    names = (", ".join(map(str, frame[of].dropna().unique())) for of in ("study", "node_id"))
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
        Column("of", right=False),
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
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "as_typed": as_typed,
        "data_uri": _data_uri,
        "prose": _prose,
    }
    style, script = (
        Markup((_HERE / name).read_text(encoding="utf-8")) for name in ("report.css", "report.js")
    )
    environment.globals |= {
        "style": style,
        "style_digest": _digest(style),
        "script": script,
        "script_digest": _digest(script),
        "cell_class": cell_class,
        "cell_text": cell_text,
        "grid_caption": grid_caption,
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


def _visible(value: object) -> object:
    """Return a text with its control characters made visible, bidirectional ones too."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value, allowed="\n")


def _prose(sentence: str) -> Markup:
    """Return a sentence, escaped, with what stands between backticks as code.

    Outside of code, numbers stay on one line with what follows them.
    """
    parts = _CODE.split(escape(_visible(sentence)))
    parts[::2] = [_UNBROKEN.sub("\N{NO-BREAK SPACE}", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return Markup("".join(parts))


def _digest(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
