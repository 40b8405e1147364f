"""Tables for LaTeX that stay within a column of the page: booktabs, numbers by siunitx.

A table that is wider than the line is made smaller. Notes follow one another under the last rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pinstudy.analysis.format.table import Column, Table

# A number as it is written here, and what may stand in its place in a column of numbers.
_NUMBER = re.compile(r"([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?)(\d+))?\Z")
_STANDS_FOR = ("n/a", "-", "left out")
_MARKED = re.compile(r"(.*) \(([a-z]+)\)\Z", re.DOTALL)
# Longer words may be broken, so that none sticks out of a column.
_LONG_WORD = 20
_BREAKS = re.compile(rf"[^/_.,:;=-]{{1,{_LONG_WORD}}}[/_.,:;=-]?|[/_.,:;=-]")

_HEAD = "% Needs \\usepackage{booktabs,graphicx,siunitx} in the preamble.\n"
_TABLE = r"""\begin{table}
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
_NOTES = "\n\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\raggedright\n%s\n\\end{minipage}"


def latex(tables: Sequence[Table]) -> str:
    """Return the tables as LaTeX."""
    return _HEAD + "\n".join(map(_table, tables))


def _table(table: Table) -> str:
    markers = {marker for marker, _ in table.notes}
    columns = [_marked(column.short or column.title, markers) for column in table.columns]
    cells = [[_marked(cell, markers) for cell in row] for row in table.cells]
    formats = [
        _format(column, [row[at][0] for row in cells]) for at, column in enumerate(table.columns)
    ]
    notes = [text_of(table.facts)] if table.facts else []
    notes += [f"{_superscript(marker)}{text_of(text)}" for marker, text in table.notes]
    return _TABLE % {
        # LaTeX numbers tables itself.
        "caption": text_of(table.caption.removeprefix(f"Table {table.number}: ")),
        "label": rf"\label{{{table.label}}}" if table.label else "",
        "columns": "".join(formats),
        "heading": _heading(columns),
        "rows": "\n".join(_row(row, formats) for row in cells),
        "notes": _NOTES % "; ".join(notes) if notes else "",
    }


def _marked(text: str, markers: Collection[str]) -> tuple[str, str]:
    """Return a text and the marker of its note; an empty one where it has none."""
    found = _MARKED.match(text)
    return (found[1], found[2]) if found and found[2] in markers else (text, "")


def _superscript(marker: str) -> str:
    return rf"\textsuperscript{{{marker}}}" if marker else ""


def _format(column: Column, cells: Sequence[str]) -> str:
    """Return a column's format, with the places of its numbers where it has numbers alone."""
    found = [number for cell in cells if (number := _NUMBER.match(cell))]
    words = [cell for cell in cells if not _NUMBER.match(cell)]
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


def _heading(columns: Sequence[tuple[str, str]]) -> str:
    """Return one row of headings, or two where any has two words."""
    rows: list[list[str]] = [[], []]
    for name, marker in columns:
        first, _, rest = name.partition(" ")
        last = _superscript(marker)
        rows[0].append(f"{{{_escaped(first)}{'' if rest else last}}}")
        rows[1].append(f"{{{_escaped(rest)}{last}}}" if rest else "")
    return "\n".join(" & ".join(row) + r" \\" for row in rows if any(row))


def _row(cells: Sequence[tuple[str, str]], formats: Sequence[str]) -> str:
    written = [
        _cell(text, _superscript(marker), numbers=form.startswith("S"))
        for (text, marker), form in zip(cells, formats, strict=True)
    ]
    return " & ".join(written) + r" \\"


def _cell(text: str, marker: str, *, numbers: bool) -> str:
    if not numbers:
        return f"{_escaped(text)}{marker}"
    found = _NUMBER.match(text)
    if not found:
        return f"{{{_escaped(text)}{marker}}}"
    mantissa, _, power = text.partition("e")
    exponent = f"e{int(power)}" if power else ""
    return f"{mantissa}{exponent}{{{marker}}}" if marker else f"{mantissa}{exponent}"


def text_of(text: str) -> str:
    """Return a text for LaTeX whose long words may be broken."""
    return " ".join(
        r"\allowbreak{}".join(map(_escaped, _BREAKS.findall(word)))
        if len(word) > _LONG_WORD
        else _escaped(word)
        for word in text.split(" ")
    )


def _escaped(text: str) -> str:
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
