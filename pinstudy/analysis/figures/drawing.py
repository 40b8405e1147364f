"""A figure with its title, caption and alt text, and the files it is written to."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from pinstudy.analysis.figures.style import DPI
from pinstudy.analysis.format.numbers import NO_REASON, three_digits
from pinstudy.analysis.format.table import joined, latex_text, markdown_text
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import CaseFinding
from pinstudy.base.text import one_line, plural

# Metadata that changes from run to run is left out, so that files can be compared.
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
FORMATS = tuple(_METADATA)
# Each format's name for the alt text.
_DESCRIPTION = {"svg": "Description", "pdf": "Subject", "png": "Description"}
_MAX_REASONS = 3
# Why there is no figure of the time of programs that run for a given time.
FIXED_TIME = "the program runs as long as it is told, so that its time compares nothing"

# What marks say when they are pointed at, by their gid.
Tooltips = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Drawing:
    """A figure.

    `name` is the file's name without its ending, `title` the subject, `caption` how to read it,
    and `alt` describes it for people who do not see it. `tooltips` are by the gid of a mark; of
    marks that are drawn as one there is a list of them, in the order in which they are drawn.
    """

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure
    tooltips: Tooltips = field(default_factory=dict)

    def data(self, style: str, dpi: float | None = None) -> bytes:
        """Return the figure as `svg`, `pdf` or `png`; the same figure gives the same bytes.

        `dpi` is that of bitmaps, by default the one of paper.
        """
        stream = io.BytesIO()
        described = {"Title": self.title, _DESCRIPTION[style]: self.alt}
        metadata = _METADATA[style] | described
        self.figure.savefig(stream, format=style, dpi=dpi or DPI, metadata=metadata)
        return stream.getvalue()


@dataclass(frozen=True)
class NotDrawn:
    """A figure whose numbers were not measured, and why."""

    name: str
    title: str
    reason: str


def write_drawing(drawing: Drawing, folder: Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write the figure into a folder, which is made, once a format; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    return [
        write_file(folder / f"{drawing.name}.{style}", drawing.data(style)) for style in formats
    ]


def slug(name: str, otherwise: str) -> str:
    """Return a name as part of a file's name; `otherwise` where no letter of it can be."""
    letters = "".join(c if c.isalnum() and c.isascii() else "-" for c in name.lower())
    return "-".join(filter(None, letters.split("-"))) or otherwise


def sentences(*parts: str) -> str:
    """Return the parts that are not empty as one paragraph."""
    return " ".join(part for part in parts if part)


def extremes(
    what: str, unit: str, values: Mapping[int, float], cases: Sequence[CaseFinding]
) -> str:
    """Return a sentence with the least and the greatest value; `values` are by row."""
    if not values:
        return ""

    def value_of(row: int) -> str:
        return " ".join(filter(None, (three_digits(values[row]), unit, "for", cases[row].label)))

    low, high = min(values, key=lambda row: values[row]), max(values, key=lambda row: values[row])
    if len(values) == 1:
        return f"{what} is {value_of(low)}."
    least, most = (" ".join(filter(None, (three_digits(values[at]), unit))) for at in (low, high))
    if least == most:
        return f"{what} is {least} for all {len(values)} cases."
    return f"{what} of {len(values)} cases goes from {value_of(low)} to {value_of(high)}."


def not_drawn(count: int, what: str, of: str = "") -> str:
    """Return how many things are not in a figure; empty when all are."""
    return f"{plural(count, what)}{of} {'is' if count == 1 else 'are'} not drawn." if count else ""


def why_not_measured(results: Results, cases: Sequence[CaseFinding], fields: Sequence[str]) -> str:
    """Return why none of the cases has these fields (of a record)."""
    if not any(case.summary.has_runs for case in cases):
        skip_reasons = [
            case.summary.circumstances.skip_reason
            for case in cases
            if case.summary.circumstances.skip_reason
        ]
        return _distinct_reasons(skip_reasons) or "no run that could be averaged"
    summaries = [case.summary for case in cases]
    return _distinct_reasons(results.why_absent(summaries, fields)) or NO_REASON


def _distinct_reasons(reasons: Sequence[object]) -> str:
    texts = list(dict.fromkeys(one_line(str(reason)) for reason in reasons))
    # What follows from another reason repeats it.
    distinct = [text for text in texts if not any(text in more for more in texts if more != text)]
    more = len(distinct) - _MAX_REASONS
    return joined([*distinct[:_MAX_REASONS], *([f"and {more} more reasons"] if more > 0 else [])])


MARKDOWN, LATEX = "captions.md", "captions.tex"
# The formats that LaTeX reads.
_FOR_LATEX = (".pdf", ".png")
_LATEX_HEAD = """% Figures of {source}, at the size in which they are printed: do not scale them.
% In the preamble: \\usepackage{{graphicx}}, \\graphicspath{{{{PATH/TO/THIS/FOLDER/}}}}
"""
_ENVIRONMENT = r"""
\begin{figure}
  \centering
  \includegraphics{%(name)s}
  \caption{%(caption)s}
  \label{fig:%(label)s}
\end{figure}
"""


@dataclass(frozen=True)
class WrittenFigure:
    """A figure that was written: its title and caption, and its files."""

    name: str
    title: str
    caption: str
    files: tuple[Path, ...]


def write_captions(
    source: str, figures: Sequence[WrittenFigure | NotDrawn], folder: Path
) -> list[Path]:
    """Write the captions of what was written; return the files' paths, none without a figure.

    Raises UserError when the folder cannot be written.
    """
    written = [figure for figure in figures if isinstance(figure, WrittenFigure)]
    if not written:
        return []
    missing = [figure for figure in figures if isinstance(figure, NotDrawn)]
    files = [write_file(folder / MARKDOWN, _markdown(source, written, missing))]
    if any(path.suffix in _FOR_LATEX for figure in written for path in figure.files):
        files.append(write_file(folder / LATEX, _latex(source, written)))
    return files


def _markdown(source: str, written: Sequence[WrittenFigure], missing: Sequence[NotDrawn]) -> str:
    parts = [f"# Figures of {markdown_text(one_line(source))}"]
    parts += [
        f"## {figure.name}\n\n{markdown_text(figure.title)}. {markdown_text(figure.caption)}"
        for figure in written
    ]
    if missing:
        lines = (f"- {figure.name}: {markdown_text(one_line(figure.reason))}" for figure in missing)
        parts.append("## Not drawn\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _latex(source: str, written: Sequence[WrittenFigure]) -> str:
    return _LATEX_HEAD.format(source=one_line(source)) + "".join(
        _ENVIRONMENT
        % {
            "name": figure.name,
            "caption": latex_text(f"{figure.title}. {figure.caption}"),
            "label": figure.name.replace("/", "-"),
        }
        for figure in written
    )
