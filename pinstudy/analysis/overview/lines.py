"""What stands below an overview's grid: for each label its entries, each of some parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from pinstudy.analysis.objectives import ENERGY, TIME
from pinstudy.analysis.overview.grid import Overview, labels_of_verdicts
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
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
from pinstudy.base import PINSTUDY


class Entry(NamedTuple):
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
) -> list[Entry]:
    """Return the entries below an overview, those that say nothing left out."""
    return [entry for entry in _entries(results, findings, answers, overviews) if entry.parts]


def _entries(
    results: Results, findings: Findings, answers: Answers, overviews: Sequence[Overview]
) -> Iterator[Entry]:
    disturbed = disturbed_of(findings)
    if disturbed.is_node_disturbed:
        yield Entry(DISTURBED, disturbed_texts(disturbed))
    labels = labels_of_verdicts([of for overview in overviews for of in overview.lines])
    decisions = decision_overviews(findings, labels)
    if findings.raced:
        yield Entry(DECISION, findings.decision_lines)
    else:
        for parts, kept in decision_texts(decisions, why_no_decision(findings)):
            yield Entry(DECISION, parts, kept)
    for text in lever_texts(answers.levers):
        yield Entry(LEVERS, [text])
    for text in one_for_all_texts(answers.one_for_all):
        yield Entry(ONE_FOR_ALL, [text])
    for label, objective in ((FASTEST, TIME), (LEAST_ENERGY, ENERGY)):
        yield Entry(label, best_texts(answers, results.cases, objective, findings.margin))
    yield Entry(LOST, lost_texts(lost_of(findings)))
    # Where nothing is compared the decision says why.
    if decisions:
        yield Entry(NOT_COMPARED, not_compared_texts(not_comparable(findings)))
    is_elsewhere = not results.made_here
    lacks = left_out(findings), not_measured(findings)
    missing, kept = missing_texts(*lacks, is_elsewhere=is_elsewhere)
    yield Entry(MISSING, missing, kept)
    if not disturbed.is_node_disturbed:
        yield Entry(DISTURBED, disturbed_texts(disturbed))
    yield Entry(NOTE, note_texts(results.footnotes, decisions))


def next_entry(results: Results, findings: Findings) -> Entry:
    """Return what to do next: the command between backticks, and what it decides."""
    disturbed, undecided = disturbed_of(findings), undecided_of(findings)
    if findings.raced or not results.made_here:
        return Entry(NEXT, [])
    if not findings.next_command:
        undecided = replace(undecided, by_repetitions=0)
    parts = open_texts(undecided, disturbed, seconds_of(results, undecided.more))
    if parts and disturbed.is_node_disturbed:
        return Entry(NEXT, [f"`{PINSTUDY} tune`", *parts])
    command = [f"`{findings.next_command}`"] if undecided.by_repetitions else []
    return Entry(NEXT, [*command, *parts])
