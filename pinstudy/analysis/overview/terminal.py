"""What a study shows at its end: the question, the grid, the decision, and each reason once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import isnan

from pinstudy.analysis.findings.answers import Answers
from pinstudy.analysis.format.lines import Line, Piece, labelled, length, lines_of
from pinstudy.analysis.format.table import wrapped
from pinstudy.analysis.objectives import ENERGY, TIME, Objective
from pinstudy.analysis.overview.configurations import overviews_of
from pinstudy.analysis.overview.grid import Overview
from pinstudy.analysis.overview.lines import Entry, entries, next_entry
from pinstudy.analysis.overview.shared import shared_words
from pinstudy.analysis.overview.text import grid_with_energy, legend
from pinstudy.analysis.results.node_files import node_sheets
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words.overview import DECISION
from pinstudy.analysis.words.verdict import QUESTION
from pinstudy.base.text import one_line, plural

# The margin of the labels below the grid.
MARGIN = 11
# An entry below the grid takes so many lines where leaving parts out brings that about. A decision
# that is not the usual one is what a reader looks for.
_MOST_LINES = 2
_MOST_LINES_OF = {DECISION: 3}
_GAP = "   "


def overview_lines(
    results: Results, findings: Findings, answers: Answers, width: int
) -> list[Line]:
    """Return the overview of results for a terminal of that many columns."""
    overviews = overviews_of(findings)
    lines = list(_title(results, width))
    shown = [of for of in overviews if of.columns]
    for at, overview in enumerate(shown):
        for objective in overview.leading:
            lines += [(Piece(""),)] * bool(at or objective != overview.leading[0])
            grid, has_energy = grid_with_energy(overview, objective, width)
            caption = grid_caption(findings, overview, objective, ENERGY.noun if has_energy else "")
            lines += lines_of("\n".join(wrapped([caption], width, "")), "faint")
            lines += [(Piece(""),), *grid]
    if marks := legend(overviews, findings.margin):
        lines += lines_of("\n".join(wrapped([marks], width, "")), "faint")
    lines.append((Piece(""),))
    above = ""
    for entry in entries(results, findings, answers, overviews):
        lines += _entry_lines(
            entry._replace(label="" if entry.label == above else entry.label), width
        )
        above = entry.label
    return [*lines, *_entry_lines(next_entry(results, findings), width)]


def _entry_lines(entry: Entry, width: int) -> list[Line]:
    """Return an entry with as many of its parts as fit; no width cuts a command line in two."""
    command = next((part.strip("`") for part in entry.parts if part.startswith("`")), "")
    said = entry._replace(parts=[part for part in entry.parts if not part.startswith("`")])
    if command and entry.parts[0].startswith("`"):
        head = (Piece(entry.label.ljust(MARGIN), "strong"), Piece(command))
        behind = (*head, Piece(f"{_GAP}{said.text}"))
        if length(behind) <= width:
            return [behind]
        return [head, *labelled("", said.text, width, MARGIN)]
    lines: list[Line] = []
    for most in range(len(said.parts), 0, -1):
        lines = labelled(entry.label, said.shortened(most), width, MARGIN)
        if len(lines) <= _MOST_LINES_OF.get(entry.label, _MOST_LINES):
            break
    return [*lines, (Piece(" " * MARGIN), Piece(command))] if command else lines


def _title(results: Results, width: int) -> Iterator[Line]:
    """Yield the question and of which node it is, on one line where that fits."""
    sheets = node_sheets(results)
    of = "; ".join(f"{sheet.name}: {sheet.in_short}" for sheet in sheets) or results.name
    of = f"{of}; {_proved(results)}" if sheets else of
    room = width - len(QUESTION) - 3
    if len(of) <= room:
        yield Piece(QUESTION, "strong"), Piece(f"   {of.rjust(room)}", "faint")
        return
    yield (Piece(QUESTION, "strong"),)
    yield from lines_of("\n".join(wrapped([of], width, "")), "faint")


def _proved(results: Results) -> str:
    """Return when the instruments were tested."""
    days = results.days_proved
    return one_line(f"proved {', '.join(days)}") if days else "instruments not tested"


def grid_caption(
    findings: Findings, overview: Overview, objective: Objective = TIME, also: str = ""
) -> str:
    """Return what all cases of a grid share, how many runs there are, and what its numbers are.

    `also` stands in brackets.
    """
    parts = (
        shared_words(findings, overview),
        runs_a_case(findings),
        change_words(findings, overview, objective, also),
    )
    return one_line("; ".join(filter(None, parts)))


def change_words(
    findings: Findings,
    overview: Overview,
    objective: Objective,
    also: str = "",
    *,
    level: bool = True,
) -> str:
    """Return what a grid's numbers are: `change of typical time in %, 95 % intervals`.

    `also` stands in brackets; the confidence level is left out where `level` says so.
    """
    samples = (case.samples.get(objective) for case in findings.cases)
    typical = any(sample and not isnan(sample.typical) for sample in samples)
    estimand = "typical" if typical else "mean"
    brackets = f" ({also})" if also else ""
    if overview.is_compared(objective):
        unit = f"in %{_against(overview, objective)}{', 95 % intervals' if level else ''}"
        numbers = f"change of {estimand} {objective.noun}{brackets} {unit}"
    else:
        numbers = f"{estimand} {objective.noun}{brackets}"
    return f"{numbers}; more is better" if objective.higher else numbers


def _against(overview: Overview, objective: Objective) -> str:
    """Return the baselines' columns where a line has none of its own; each line shows its own."""
    cells = [line.cells_of(objective) for line in overview.lines]
    baselines = [
        [column for column, cell in of_line.items() if cell.outcome == "baseline"]
        for of_line in cells
    ]
    compared = [any(cell.is_compared for cell in of_line.values()) for of_line in cells]
    if all(own or not is_compared for own, is_compared in zip(baselines, compared, strict=True)):
        return ""
    return f" against {' or '.join(dict.fromkeys(chain.from_iterable(baselines)))}"


def runs_a_case(findings: Findings) -> str:
    """Return how many runs a case has: `10 runs a case`; empty where nobody knows."""
    counts = {
        case.summary.n
        for case in findings.cases
        if case.summary.has_runs and case.summary.n is not None
    }
    if not counts:
        return ""
    least, most = min(counts), max(counts)
    return f"{plural(most, 'run') if least == most else f'{least} to {most} runs'} a case"
