"""What a study shows at its end: the question, the grid, the decision, and each reason once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import isnan
from typing import NamedTuple

from pinstudy.analysis.findings.answers import Answers
from pinstudy.analysis.findings.glance import (
    decision_overviews,
    disturbed_of,
    left_out,
    lost_of,
    not_comparable,
    not_measured,
    seconds_of,
    undecided_of,
    why_no_decision,
)
from pinstudy.analysis.format.lines import Line, Piece, labelled, length, lines_of
from pinstudy.analysis.format.table import wrapped
from pinstudy.analysis.objectives import ENERGY, TIME, Objective, named_in
from pinstudy.analysis.overview.grid import (
    Cell,
    CellOutcome,
    ConfigurationLine,
    Overview,
    by_program,
    columns_of,
    labels_of_verdicts,
    unique_names,
)
from pinstudy.analysis.overview.text import grid_with_energy, legend
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.node_files import node_sheets
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.analysis.verdict.model import CaseFinding, Findings, TableFindings
from pinstudy.analysis.words.overview import (
    DECISION,
    DISTURBED,
    FASTEST,
    LEAST_ENERGY,
    LEVERS,
    LOST,
    MISSING,
    NEXT,
    NOT_COMPARED,
    NOTE,
    ONE_FOR_ALL,
    TO_TRY,
    best_texts,
    decision_texts,
    disturbed_texts,
    lever_texts,
    lost_texts,
    missing_texts,
    not_compared_texts,
    note_texts,
    one_for_all_texts,
    open_texts,
)
from pinstudy.analysis.words.programs import program_names
from pinstudy.analysis.words.reach import BOUND, bound_texts
from pinstudy.analysis.words.verdict import QUESTION
from pinstudy.base import PINSTUDY
from pinstudy.base.text import one_line, plural
from pinstudy.configs.study import CURRENT_GOVERNOR, RUNTIME_DEFAULT

# The margin of the labels below the grid.
MARGIN = 11
# An entry below the grid takes so many lines where leaving parts out brings that about. A decision
# that is not the usual one is what a reader looks for.
_MOST_LINES = 2
_MOST_LINES_OF = {DECISION: 3}
_GAP = "   "

# More programs that differ from the others are not named.
_MAX_OTHERS = 2

_SHARED_FIELDS: tuple[Callable[[TableFindings], str], ...] = (
    lambda table: table.key.build,
    lambda table: f"size {table.key.size}" if table.key.size else "",
    lambda table: table.key.schedule if _takes_schedule(table) else "",
    lambda table: "" if table.key.wait_policy == RUNTIME_DEFAULT else table.key.wait_policy,
)

# The place of a table, and those of its cases that stand on one line.
_Line = tuple[int, Sequence[CaseFinding]]


def overview_lines(
    results: Results, findings: Findings, answers: Answers, width: int
) -> list[Line]:
    """Return the overview of results for a terminal of that many columns."""
    overviews = overviews_of(findings)
    lines = list(_title(results, width))
    for at, overview in enumerate(overview for overview in overviews if overview.columns):
        for objective in overview.leading:
            lines += [(Piece(""),)] * bool(at or objective != overview.leading[0])
            grid, has_energy = grid_with_energy(overview, objective, width)
            energy = named_in(ENERGY, overview.objectives).noun if has_energy else ""
            caption = grid_caption(findings, overview, objective, energy)
            lines += _faint(caption, width)
            lines += [(Piece(""),), *grid]
    if marks := legend(overviews, findings.margin):
        lines += _faint(marks, width)
    lines.append((Piece(""),))
    above = ""
    for entry in entries(results, findings, answers, overviews):
        lines += _entry_lines(
            entry._replace(label="" if entry.label == above else entry.label), width
        )
        above = entry.label
    return [*lines, *_entry_lines(next_entry(results, findings), width)]


def _entry_lines(entry: OverviewEntry, width: int) -> list[Line]:
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
    days = ", ".join(results.days_proved)
    proved = one_line(f"proved {days}") if days else "instruments not tested"
    nodes = [f"{sheet.name}: {sheet.in_short}" for sheet in sheets]
    named = "; ".join([*nodes, proved]) if nodes else results.name
    room = width - len(QUESTION) - 3
    if len(named) <= room:
        yield Piece(QUESTION, "strong"), Piece(f"   {named.rjust(room)}", "faint")
        return
    yield (Piece(QUESTION, "strong"),)
    yield from _faint(named, width)


def _faint(text: str, width: int) -> list[Line]:
    return lines_of("\n".join(wrapped([text], width, "")), "faint")


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


def shared_words(findings: Findings, overview: Overview) -> str:
    """Return what the cases share: `libgomp, size quick, static (lu: static,1)`."""
    tables = [findings.tables[at] for at in dict.fromkeys(line.table for line in overview.lines)]
    named = {word for line in overview.lines for word in line.label.split()}
    words = [_field(tables, value, named) for value in _SHARED_FIELDS]
    if overview.governor not in (CURRENT_GOVERNOR, UNKNOWN):
        words.append(overview.governor)
    return one_line(", ".join(filter(None, words)))


def _takes_schedule(table: TableFindings) -> bool:
    return not all(case.summary.key.no_schedule for case in table.cases)


def _field(
    tables: Sequence[TableFindings], value: Callable[[TableFindings], str], named: set[str]
) -> str:
    """Return a value that all programs have, or most; else two; nothing that the lines name."""
    by_app: Mapping[str, list[str]] = {
        alike[0].key.app: [
            name for name in dict.fromkeys(map(value, alike)) if name not in ("", UNKNOWN)
        ]
        for alike in grouped(tables, lambda table: table.key.app)
    }
    every = list(dict.fromkeys(name for values in by_app.values() for name in values))
    if any(set(name.removeprefix("size ").split()) <= named for name in every):
        return ""
    if any(len(values) > 1 for values in by_app.values()):
        return " and ".join(every) if len(every) <= _MAX_OTHERS else ""
    usual = Counter(values[0] for values in by_app.values() if values).most_common(1)
    if not usual:
        return ""
    name = usual[0][0]
    others = [f"{app}: {known[0]}" for app, known in by_app.items() if known and known[0] != name]
    if len(others) > _MAX_OTHERS:
        return ""
    return f"{name} ({', '.join(others)})" if others else name


class OverviewEntry(NamedTuple):
    """A label with what it says, in parts, of which the `kept` last ones stand in any case.

    A part between backticks is a command line.
    """

    label: str
    parts: Sequence[str]
    kept: int = 0

    def shortened(self, most: int) -> str:
        """Return it on one line, with at most so many of the parts that may be left out."""
        first = len(self.parts) - self.kept
        more = [f"{first - most} more"] if first > most else []
        return "; ".join([*self.parts[: min(first, most)], *more, *self.parts[first:]])

    @property
    def text(self) -> str:
        """All of it on one line."""
        return self.shortened(len(self.parts))


def entries(
    results: Results, findings: Findings, answers: Answers, overviews: Sequence[Overview]
) -> list[OverviewEntry]:
    """Return the entries below an overview, those that say nothing left out."""
    return [entry for entry in _entries(results, findings, answers, overviews) if entry.parts]


def _entries(
    results: Results, findings: Findings, answers: Answers, overviews: Sequence[Overview]
) -> Iterator[OverviewEntry]:
    disturbed = disturbed_of(findings)
    if disturbed.is_node_disturbed:
        yield OverviewEntry(DISTURBED, disturbed_texts(disturbed))
    labels = labels_of_verdicts([line for overview in overviews for line in overview.lines])
    decisions = decision_overviews(findings, labels)
    if findings.raced:
        yield OverviewEntry(DECISION, findings.decision_lines)
    else:
        for parts, kept in decision_texts(decisions, why_no_decision(findings)):
            yield OverviewEntry(DECISION, parts, kept)
    for text in lever_texts(answers.levers):
        yield OverviewEntry(LEVERS, [text])
    for text in one_for_all_texts(answers.one_for_all):
        yield OverviewEntry(ONE_FOR_ALL, [text])
    for label, objective in ((FASTEST, TIME), (LEAST_ENERGY, ENERGY)):
        yield OverviewEntry(label, best_texts(answers, results.cases, objective, findings.margin))
    yield OverviewEntry(BOUND, bound_texts(findings, labels))
    yield OverviewEntry(LOST, lost_texts(lost_of(findings)))
    # Where nothing is compared the decision says why.
    if decisions:
        yield OverviewEntry(NOT_COMPARED, not_compared_texts(not_comparable(findings)))
    is_elsewhere = not results.made_here
    lacks = left_out(findings), not_measured(findings)
    missing, kept = missing_texts(*lacks, is_elsewhere=is_elsewhere)
    yield OverviewEntry(MISSING, missing, kept)
    if not disturbed.is_node_disturbed:
        yield OverviewEntry(DISTURBED, disturbed_texts(disturbed))
    yield OverviewEntry(NOTE, note_texts(results.footnotes, decisions))


def next_entry(results: Results, findings: Findings) -> OverviewEntry:
    """Return what to do next: the command between backticks, and what it decides."""
    disturbed, undecided = disturbed_of(findings), undecided_of(findings)
    if findings.raced or not results.made_here:
        return OverviewEntry(NEXT, [])
    if findings.next_command and lost_of(findings).is_all:
        return OverviewEntry(NEXT, [f"`{findings.next_command}`", TO_TRY])
    if not findings.next_command:
        undecided = replace(undecided, by_repetitions=0)
    parts = open_texts(undecided, disturbed, seconds_of(results, undecided.more))
    if parts and disturbed.is_node_disturbed:
        return OverviewEntry(NEXT, [f"`{PINSTUDY} tune`", *parts])
    command = [f"`{findings.next_command}`"] if undecided.by_repetitions else []
    return OverviewEntry(NEXT, [*command, *parts])


def overviews_of(findings: Findings) -> list[Overview]:
    """Return the overview of all tables of results, and one of those whose programs ran in guests.

    The columns of guests are pairs of mappings, which other tables do not have.
    """
    lines: list[_Line] = [
        (at, cases)
        for at, table in enumerate(findings.tables)
        for cases in grouped(table.cases, _shared)
    ]
    name_of = program_names([table.key for table in findings.tables])
    return [
        _overview(alike, findings.tables, name_of)
        for alike in grouped(lines, lambda line: line[1][0].summary.key.of_vcpus is not None)
    ]


def _shared(case: CaseFinding) -> tuple[object, ...]:
    key = case.summary.key
    return key.mpi, case.governor, key.setting_words, key.co_runner


def _overview(
    lines: Sequence[_Line], tables: Sequence[TableFindings], name_of: Callable[[TableKey], str]
) -> Overview:
    governors = {cases[0].governor for _, cases in lines}
    configurations = by_program(
        ConfigurationLine(
            name_of(tables[at].key),
            tables[at].key.threads_label,
            _under(cases[0], has_governor=len(governors) > 1),
            at,
            cases[0].governor,
            cases[0].summary.key.co_runner,
            _cells_of(cases, tables[at]),
            tables[at].compared_by,
            tables[at].key.all_threads,
        )
        for at, cases in lines
    )
    return Overview(
        columns_of(configurations), configurations, governors.pop() if len(governors) == 1 else ""
    )


def _under(case: CaseFinding, *, has_governor: bool) -> str:
    """Return what a configuration is under, as far as others are under something else."""
    key = case.summary.key
    parts = (
        case.governor if has_governor else "",
        key.setting_words,
        f"beside {key.co_runner}" if key.co_runner else "",
    )
    return one_line(", ".join(filter(None, parts)))


def _cells_of(
    cases: Sequence[CaseFinding], table: TableFindings
) -> dict[Objective, dict[str, Cell]]:
    cells: dict[Objective, dict[str, Cell]] = {}
    recommended = {
        (decision.best.case_id, decision.objective) for decision in table.decisions if decision.best
    }
    columns = unique_names(case.full_mapping for case in cases)
    known = {objective for case in cases for objective in case.samples}
    for objective in table.objectives:
        # Failed runs are seen among the times, but some sources give other numbers alone.
        if objective not in known and (objective != TIME or known):
            continue
        compared = any(objective in case.comparisons for case in cases)
        alone: CellOutcome = "not compared" if compared else "alone"
        cells[objective] = {
            column: _cell_of(case, objective, alone, (case.case_id, objective) in recommended)
            for column, case in zip(columns, cases, strict=True)
        }
    return cells


def _cell_of(case: CaseFinding, objective: Objective, alone: CellOutcome, is_best: bool) -> Cell:
    """Return the cell of a case; `alone` is its outcome where it is compared with no baseline."""
    sample, comparison = case.samples.get(objective), case.comparisons.get(objective)
    if sample is None:
        return Cell("left out" if case.summary.was_skipped else "absent", case.number)
    if comparison is None:
        return Cell("baseline" if case.is_baseline else alone, case.number, sample.centre)
    difference = comparison.difference
    interval = difference.known_interval()
    return Cell(
        comparison.outcome,
        case.number,
        sample.centre,
        difference.ratio,
        interval.low if interval else math.nan,
        interval.high if interval else math.nan,
        is_best,
    )
