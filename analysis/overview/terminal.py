"""What a study shows at its end: the question, the grid, the answer, and each reason once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from analysis.findings.answers import Answers
from analysis.format.lines import Line, Piece, labelled, lines_of
from analysis.format.table import wrapped
from analysis.objectives import ENERGY, TIME, Objective
from analysis.overview.grid import Overview
from analysis.overview.remarks import ANSWER, remarks_by_label
from analysis.overview.settings import overviews_of
from analysis.overview.text import grid_with_energy, legend
from analysis.results.node_files import node_sheets
from analysis.results.sources import Results
from analysis.statistics.decision import MIN_TO_FORECAST
from analysis.verdict.model import Findings
from analysis.words import QUESTION
from base.text import one_line, plural
from base.units import duration

# The margin of the labels below the grid.
MARGIN = 11


def overview_lines(
    results: Results, findings: Findings, answers: Answers, width: int
) -> list[Line]:
    """Return the overview of results for a terminal of that many columns."""
    overviews = overviews_of(findings)
    lines = [*_title(results, width), (Piece(""),)]
    for overview in overviews:
        if not overview.columns:
            continue
        for objective in overview.leading:
            grid, has_energy = grid_with_energy(overview, objective, width)
            caption = grid_caption(findings, overview, objective, ENERGY.noun if has_energy else "")
            lines += lines_of("\n".join(wrapped([caption], width, "")), "faint")
            lines += [*grid, (Piece(""),)]
    if marks := legend(overviews, findings.margin):
        lines += [*lines_of("\n".join(wrapped([marks], width, "")), "faint"), (Piece(""),)]
    for label, texts in remarks_by_label(results, findings, answers, overviews):
        # An answer is one paragraph; reasons have a line each.
        parts = [" ".join(texts)] if label == ANSWER else texts
        for at, text in enumerate(parts):
            if text.startswith("`"):
                # No terminal's width cuts a command line in two.
                lines.append((Piece(" " * MARGIN), Piece(text.strip("`"))))
                continue
            lines += labelled("" if at else label, text, width, MARGIN)
    return [*lines, *_decide(findings, width)]


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
    """Return what the numbers of a grid are, and of how many runs; `also` stands in brackets."""
    baselines = dict.fromkeys(
        column
        for setting in overview.settings
        for column, cell in setting.cells_of(objective).items()
        if cell.word == "baseline"
    )
    against = ""
    if overview.is_compared(objective):
        against = f" against {' or '.join(baselines)} in %, 95 % intervals"
    typical = any("typical" in table.estimands for table in findings.tables)
    estimand = "typical" if against and typical else "mean"
    under = f"governor {overview.governor}" if overview.governor else ""
    brackets = f" ({also})" if also else ""
    direction = "more is better" if against and objective.higher else ""
    parts = (
        f"{estimand} {objective.noun}{against}{brackets}", direction, _runs(findings), under
    )  # fmt: skip
    return one_line("; ".join(filter(None, parts)))


def _runs(findings: Findings) -> str:
    counts = {
        case.summary.n
        for case in findings.cases
        if case.summary.has_runs and case.summary.n is not None
    }
    if not counts:
        return ""
    least, most = min(counts), max(counts)
    return f"{plural(most, 'run') if least == most else f'{least} to {most} runs'} a case"


def _decide(findings: Findings, width: int) -> Sequence[Line]:
    """Return the command that would decide what is undecided, and how long it takes."""
    if not findings.next_command:
        return ()
    text = what_is_undecided(findings)
    # The command is on a line of its own, which no terminal's width cuts in two.
    command = (Piece("Decide".ljust(MARGIN), "strong"), Piece(findings.next_command))
    return [command, *labelled("", text, width, MARGIN)]


def what_is_undecided(findings: Findings) -> str:
    """Return how many comparisons are undecided, and how long the next command takes."""
    outcomes = [comparison.outcome for comparison in findings.compared]
    undecided = outcomes.count("undecided")
    verb = "is" if undecided == 1 else "are"
    text = f"{undecided} of {plural(len(outcomes), 'comparison')} {verb} undecided"
    if not math.isnan(findings.next_s):
        text += f"; about {duration(findings.next_s)}"
    if any(comparison.more for comparison in findings.compared):
        return text
    return f"{text}; from {MIN_TO_FORECAST} repetitions on pinstudy says how many more would decide"
