"""The output of `pinstudy demo`: lines for the terminal, JSON, pictures, and a page for slides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.analysis.affinity.demo import DemoRow, demo_findings
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.figures.demo import draw_demo
from pinstudy.analysis.figures.drawing import NotDrawn, write_drawing
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.report.html import (
    Picture,
    csp_digest,
    page_environment,
    picture_of,
    style_of,
)
from pinstudy.analysis.results.node_files import node_sheets
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.words import demo as words
from pinstudy.analysis.words.overview import disturbed_texts

PAGE = "demo.html"
NUMBERS = "demo.json"
FORMATS = ("svg", "png")


@dataclass(frozen=True)
class Shown:
    """A row as it is shown, with the names of its picture's files; none where it is not drawn."""

    number: int
    row: DemoRow
    picture: Picture | None
    files: tuple[Path, ...]

    @property
    def title(self) -> str:
        """What the effect is called."""
        return words.TITLES[self.row.effect]

    @property
    def cells(self) -> list[str]:
        """Its numbers, or why there are none."""
        return words.cells(self.row.effect, self.row.values, self.row.why_not)

    @property
    def sentence(self) -> str:
        """Its number in a sentence."""
        return words.sentence(self.row.effect, self.row.values, self.row.why_not)

    @property
    def data(self) -> dict[str, Any]:
        """The row for programs."""
        return {
            "effect": self.row.effect,
            **self.row.values,
            "sentence": self.sentence,
            "why_not": self.row.why_not or None,
            "pictures": [file.name for file in self.files],
        }


@dataclass(frozen=True)
class DemoOutput:
    """The rows, what disturbed the runs, and the files that were written: the page first."""

    rows: tuple[Shown, ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def data(self) -> dict[str, Any]:
        """The rows and files for programs."""
        return {
            "rows": [shown.data for shown in self.rows],
            "notes": list(self.notes),
            "files": [str(file) for file in self.files],
        }


def write_demo(folder: Path) -> DemoOutput:
    """Write page, numbers and pictures of a demo's results beside its records.

    Raises UserError when there are no readable results, or when the folder cannot be written.
    """
    results = open_results(str(folder))
    findings = analyze(results)
    demo = demo_findings(results, findings)
    rows = []
    for number, (row, drawn) in enumerate(draw_demo(demo), 1):
        files = [] if isinstance(drawn, NotDrawn) else write_drawing(drawn, folder, FORMATS)
        picture = None if isinstance(drawn, NotDrawn) else picture_of(drawn, f"p{number}-")
        rows.append(Shown(number, row, picture, tuple(files)))
    sheets = node_sheets(results)
    notes = tuple(words.CALMER.format(how=how) for how in disturbed_texts(demo.disturbed)[:1])
    page = demo_html(rows, notes, sheets[0].in_short if sheets else results.name)
    output = DemoOutput(
        tuple(rows),
        notes,
        (folder / PAGE, folder / NUMBERS, *(file for shown in rows for file in shown.files)),
    )
    write_file(folder / PAGE, page)
    write_file(folder / NUMBERS, json.dumps(output.data, indent=1, ensure_ascii=False) + "\n")
    return output


def demo_html(rows: Sequence[Shown], notes: Sequence[str], node: str) -> str:
    """Return the page, which needs nothing but itself; everything in it is escaped."""
    style = style_of("demo.css")
    return (
        page_environment()
        .get_template("demo.html.jinja")
        .render(
            rows=rows,
            notes=notes,
            node=node,
            words=words,
            style=style,
            style_digest=csp_digest(style),
        )
    )
