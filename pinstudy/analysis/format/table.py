"""A table before it is written: cells as text, notes, raw values; then in every format."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from textwrap import TextWrapper
from typing import TypeVar

from tabulate import tabulate

from pinstudy.base.text import one_line

Row = TypeVar("Row")
# A marker, empty for what concerns the whole table, and a text.
Note = tuple[str, str]


@dataclass(frozen=True)
class Column:
    """A column: what it holds and its unit, in words that may be broken over two lines.

    `field` is that of records whose means it holds; empty for other columns. `key` is what people
    type to choose the column, `short` its heading with the unit where there is little space.
    """

    name: str
    unit: str = ""
    right: bool = True
    field: str = ""
    key: str = ""
    short: str = ""

    @property
    def title(self) -> str:
        """The heading on one line: `time mean (s)`."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """One table: the rows of a (app, build, size, ranks, threads, schedule, wait policy).

    `cells` are formatted and in the order of `columns`; `notes` are (marker, text), the marker
    empty for what concerns the whole table. `raw_values` are the rows' unrounded values by name
    with unit: None where nothing was measured. `number` is what the source calls it, `facts` is
    what its rows share beyond the caption, `label` that of LaTeX.
    """

    caption: str
    columns: tuple[Column, ...]
    cells: tuple[tuple[str, ...], ...]
    notes: tuple[tuple[str, str], ...] = ()
    raw_values: tuple[Mapping[str, object], ...] = ()
    number: int | None = None
    facts: str = ""
    label: str = ""


# A column, and what writes its cell of a row.
Written = tuple[Column, Callable[[Row], str]]


def table_of(
    caption: str, columns: Sequence[Written[Row]], rows: Iterable[Row], notes: Iterable[str] = ()
) -> Table:
    """Return a table without raw values, from its columns and the objects of its rows."""
    cells = tuple(tuple(write(row) for _, write in columns) for row in rows)
    of_all = tuple(("", note) for note in notes)
    return Table(caption, tuple(column for column, _ in columns), cells, of_all)


@dataclass
class Notes:
    """Collects a table's footnotes: the same text gets the same marker, a, b, … z, aa and so on.

    Tables that stand together may share the markers; each has those that it `used`.
    """

    markers: dict[str, str] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def marker(self, text: str) -> str:
        """Return the marker of a note, a new one when the text is new."""
        text = one_line(text)
        if text not in self.markers:
            self.markers[text] = _letters(len(self.markers))
        self.used[text] = None
        return self.markers[text]

    def listed(self) -> tuple[tuple[str, str], ...]:
        """Return (marker, text) of the table's notes, in the order of their first use."""
        return tuple((self.markers[text], text) for text in self.used)


def _letters(index: int) -> str:
    text = ""
    while index >= 0:
        text = chr(ord("a") + index % 26) + text
        index = index // 26 - 1
    return text


def joined(parts: Iterable[str]) -> str:
    """Return the parts as one text, `; ` between them."""
    return "; ".join(part for part in parts if part)


def text(tables: Sequence[Table]) -> str:
    """Return the tables with their notes; those of all of them stand once, at the end."""
    shared = shared_notes(tables)
    parts = [_text_table(table, shared) for table in tables]
    if shared:
        parts.append("\n".join(["Of these tables", *text_notes(shared), ""]))
    return "\n".join(parts)


def shared_notes(tables: Sequence[Table]) -> dict[Note, None]:
    """Return the notes that stand once for several tables.

    These are what is said of every table, and notes with a marker where the tables share those.
    """
    if len(tables) < 2:
        return {}
    everything = dict.fromkeys(note for table in tables for note in table.notes)
    markers = [marker for marker, _ in everything if marker]
    share_markers = len(set(markers)) == len(markers)
    return {
        note: None
        for note in everything
        if (share_markers if note[0] else all(note in table.notes for table in tables))
    }


def text_notes(notes: Iterable[Note]) -> list[str]:
    """Return notes as lines, those with a marker behind it."""
    return [f"  ({marker}) {text}" if marker else f"  {text}" for marker, text in notes]


def _text_table(table: Table, elsewhere: Collection[Note]) -> str:
    headers = [_two_lines(column) for column in table.columns]
    body = tabulate(
        table.cells, headers, tablefmt="simple", disable_numparse=True, colalign=_alignment(table)
    )
    notes = text_notes(note for note in table.notes if note not in elsewhere)
    facts = [table.facts] if table.facts else []
    return "\n".join([table.caption, *facts, "", body, *notes, ""])


def _two_lines(column: Column) -> str:
    unit = f"({column.unit})" if column.unit else ""
    first, _, rest = column.name.replace(" %", "\u00a0%").partition(" ")
    lines = f"{first}\n{' '.join(filter(None, (rest, unit)))}".rstrip()
    return lines.replace("\u00a0", " ")


def _alignment(table: Table) -> list[str]:
    return ["right" if column.right else "left" for column in table.columns]


def wrapped(lines: Sequence[str], width: int, indent: str = "  ") -> list[str]:
    """Return sentences in lines of that many columns, further indented from the second line on."""
    wrap = TextWrapper(width, indent, f"{indent}  ", break_long_words=False, break_on_hyphens=False)
    # A number and its percent sign stay on one line.
    return [wrap.fill(line.replace(" %", "\u00a0%")).replace("\u00a0", " ") for line in lines]


def markdown(tables: Sequence[Table]) -> str:
    """Return the tables as Markdown."""
    return "\n".join(_markdown_table(table) for table in tables)


def _markdown_table(table: Table) -> str:
    body = tabulate(
        [[markdown_text(cell) for cell in row] for row in table.cells],
        [markdown_text(column.title) for column in table.columns],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=_alignment(table),
    )
    texts = ((marker, markdown_text(text)) for marker, text in table.notes)
    notes = [f"- ({marker}) {text}" if marker else f"- {text}" for marker, text in texts]
    facts = [markdown_text(table.facts), ""] if table.facts else []
    parts = [f"## {markdown_text(table.caption)}", "", *facts, body, ""]
    return "\n".join([*parts, *notes, ""] if notes else parts)


def markdown_text(text: str) -> str:
    """Escape what Markdown would take for a cell's end, emphasis, code, a link or HTML."""
    return text.translate(_MARKDOWN)


def markdown_items(lines: Iterable[str]) -> list[str]:
    """Return texts as the items of a Markdown list."""
    return [f"- {markdown_text(line)}" for line in lines]


def csv_text(tables: Sequence[Table]) -> str:
    """Return the tables as one of CSV."""
    rows = [row for table in tables for row in table.raw_values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_value(row.get(name, "")) for name in names] for row in rows)
    return stream.getvalue()


def csv_value(value: object) -> object:
    """Clean a text, since CSV is printed on terminals too, and mark as text what looks a formula.

    A spreadsheet would execute a formula; an apostrophe before it prevents that.
    """
    if not isinstance(value, str):
        return value
    text = one_line(value, None)
    return f"'{text}" if text.startswith(_FORMULA) else text


# With these a formula begins, in one spreadsheet or another.
_FORMULA = ("=", "+", "-", "@")
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*_[]<>&~"})


# A number as it is written here, and what may stand in its place in a column of numbers.
_LATEX_NUMBER = re.compile(r"([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?)(\d+))?\Z")
_STANDS_FOR = ("n/a", "-", "left out")
_MARKED = re.compile(r"(.*) \(([a-z]+)\)\Z", re.DOTALL)
# Longer words may be broken, so that none sticks out of a column.
_LONG_WORD = 20
_BREAKS = re.compile(rf"[^/_.,:;=-]{{1,{_LONG_WORD}}}[/_.,:;=-]?|[/_.,:;=-]")

_LATEX_HEAD = "% Needs \\usepackage{booktabs,graphicx,siunitx} in the preamble.\n"
_LATEX_TABLE = r"""\begin{table}
\centering\sloppy
\caption{%(caption)s}%(label)s
\vspace{2pt}\scriptsize\setlength{\tabcolsep}{2.5pt}
\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%%
\begin{tabular}{@{}%(columns)s@{}}
\toprule
%(heading)s
\midrule
%(rows)s
\bottomrule
\end{tabular}}%(notes)s
\end{table}
"""
_LATEX_NOTES = (
    "\n\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\raggedright\n%s\n\\end{minipage}"
)


def latex(tables: Sequence[Table]) -> str:
    """Return the tables as LaTeX that stays within a column of the page: booktabs, siunitx.

    A table that is wider than the line is made smaller. Notes follow one another under the last
    rule.
    """
    return _LATEX_HEAD + "\n".join(map(_latex_table, tables))


def _latex_table(table: Table) -> str:
    markers = {marker for marker, _ in table.notes}
    columns = [_with_marker(column.short or column.title, markers) for column in table.columns]
    cells = [[_with_marker(cell, markers) for cell in row] for row in table.cells]
    formats = [
        _latex_format(column, [row[at][0] for row in cells])
        for at, column in enumerate(table.columns)
    ]
    notes = [latex_text(table.facts)] if table.facts else []
    notes += [f"{_superscript(marker)}{latex_text(text)}" for marker, text in table.notes]
    return _LATEX_TABLE % {
        # LaTeX numbers tables itself.
        "caption": latex_text(table.caption.removeprefix(f"Table {table.number}: ")),
        "label": rf"\label{{{table.label}}}" if table.label else "",
        "columns": "".join(formats),
        "heading": _latex_heading(columns),
        "rows": "\n".join(_latex_row(row, formats) for row in cells),
        "notes": _LATEX_NOTES % "; ".join(notes) if notes else "",
    }


def _with_marker(text: str, markers: Collection[str]) -> tuple[str, str]:
    found = _MARKED.match(text)
    return (found[1], found[2]) if found and found[2] in markers else (text, "")


def _superscript(marker: str) -> str:
    return rf"\textsuperscript{{{marker}}}" if marker else ""


def _latex_format(column: Column, cells: Sequence[str]) -> str:
    """Return a column's format, with the places of its numbers where it has numbers alone."""
    found = [number for cell in cells if (number := _LATEX_NUMBER.match(cell))]
    words = [cell for cell in cells if not _LATEX_NUMBER.match(cell)]
    # What stands in place of a whole row's numbers tells nothing of its column.
    if not column.right or not found or any(not word.startswith(_STANDS_FOR) for word in words):
        return "r" if column.right else "l"
    sign = "-" if any(number[1] for number in found) else ""
    whole = max(len(number[2]) for number in found)
    places = max(len(number[3] or "") for number in found)
    power = max(len(str(int(number[5]))) if number[5] else 0 for number in found)
    negative = "-" if any(number[4] == "-" for number in found) else ""
    exponent = f"e{negative}{power}" if power else ""
    decimals = f".{places}" if places else ""
    return f"S[table-format={sign}{whole}{decimals}{exponent}]"


def _latex_heading(columns: Sequence[tuple[str, str]]) -> str:
    rows: list[list[str]] = [[], []]
    for name, marker in columns:
        first, _, rest = name.partition(" ")
        last = _superscript(marker)
        rows[0].append(f"{{{_latex_escaped(first)}{'' if rest else last}}}")
        rows[1].append(f"{{{_latex_escaped(rest)}{last}}}" if rest else "")
    return "\n".join(" & ".join(row) + r" \\" for row in rows if any(row))


def _latex_row(cells: Sequence[tuple[str, str]], formats: Sequence[str]) -> str:
    written = [
        _latex_cell(text, _superscript(marker), numbers=form.startswith("S"))
        for (text, marker), form in zip(cells, formats, strict=True)
    ]
    return " & ".join(written) + r" \\"


def _latex_cell(text: str, marker: str, *, numbers: bool) -> str:
    if not numbers:
        return f"{_latex_escaped(text)}{marker}"
    found = _LATEX_NUMBER.match(text)
    if not found:
        return f"{{{_latex_escaped(text)}{marker}}}"
    mantissa, _, power = text.partition("e")
    exponent = f"e{int(power)}" if power else ""
    return f"{mantissa}{exponent}{{{marker}}}" if marker else f"{mantissa}{exponent}"


def latex_text(text: str) -> str:
    """Return a text for LaTeX whose long words may be broken."""
    return " ".join(
        r"\allowbreak{}".join(map(_latex_escaped, _BREAKS.findall(word)))
        if len(word) > _LONG_WORD
        else _latex_escaped(word)
        for word in text.split(" ")
    )


def _latex_escaped(text: str) -> str:
    """Escape LaTeX's special characters, and replace those its fonts may lack."""
    return "".join(c if c.isascii() or c in _LATIN else "?" for c in text.translate(_LATEX))


# LaTeX composes them in any font, and takes UTF-8 since 2018.
_LATIN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        "`": r"\textasciigrave{}",
        "…": r"\ldots{}",
        "\N{EN DASH}": "--",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "→": r"$\to$",
        "²": r"$^2$",
        "µ": r"$\mu$",
        "±": r"$\pm$",
        "°": r"$^\circ$",
        "\N{MINUS SIGN}": r"$-$",
        # Behind a row's end they would be arguments of that.
        "[": "{[}",
        "*": "{*}",
    }
    | {c: f"\\{c}" for c in "&%$#_{}"}
)


_BETWEEN = "  "


def column_width(column: Column, cells: Iterable[str]) -> int:
    """Return how many characters a column takes, with what stands between it and the next."""
    return max(map(len, chain([_short_heading(column)], cells))) + len(_BETWEEN)


def terminal_text(tables: Sequence[Table], width: int) -> str:
    """Return the tables; notes of all of them stand once, at the end.

    Notes are wrapped at the width. Tables are as wide as they are.
    """
    shared = shared_notes(tables)
    parts = ["\n".join(_terminal_lines(table, shared, width)) for table in tables]
    if shared:
        parts.append("\n".join(["Of these tables", *_terminal_notes(shared, width)]))
    return "\n\n".join(parts)


def _short_heading(column: Column) -> str:
    return column.short or column.title


def _terminal_lines(table: Table, elsewhere: Collection[Note], width: int) -> list[str]:
    columns = [
        [_short_heading(column), *(row[at] for row in table.cells)]
        for at, column in enumerate(table.columns)
    ]
    widths = [max(map(len, texts)) for texts in columns]
    rows = [
        _BETWEEN.join(
            text.rjust(places) if column.right else text.ljust(places)
            for text, column, places in zip(row, table.columns, widths, strict=True)
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]
    notes = (note for note in table.notes if note not in elsewhere)
    return [
        *_terminal_title(table, max(map(len, rows)), width),
        *rows,
        *_terminal_notes(notes, width),
    ]


def _terminal_title(table: Table, of_rows: int, width: int) -> list[str]:
    blanks = max(of_rows - len(table.caption) - len(table.facts), len(_BETWEEN))
    if table.facts and len(table.caption) + blanks + len(table.facts) <= width:
        return [table.caption + " " * blanks + table.facts]
    return wrapped([table.caption, *filter(None, [table.facts])], width, "")


def _terminal_notes(notes: Iterable[Note], width: int) -> list[str]:
    return wrapped([line.strip() for line in text_notes(notes)], width, "")


_STYLES: dict[str, Callable[[Sequence[Table]], str]] = {
    "text": text,
    "markdown": markdown,
    "csv": csv_text,
    "latex": latex,
}


def render(tables: Sequence[Table], style: str) -> str:
    """Return the tables in one of the styles `text`, `markdown`, `csv`, `latex`.

    CSV is one table with a header line: numbers unrounded, units in the header's names, cells empty
    where nothing was measured.
    """
    return _STYLES[style](tables)
