"""Effects: how many times the value of another case a case's value is, or why nobody can say.

Any two cases of the same results can be compared here, not only a case with its baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pinstudy.analysis.objectives import EDP, ENERGY, OBJECTIVES, TIME, Objective, by_identity
from pinstudy.analysis.results.baselines import are_in_turn
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import LEVEL, Interval
from pinstudy.analysis.verdict.comparisons import difference_between
from pinstudy.analysis.verdict.model import Findings, TableFindings
from pinstudy.analysis.verdict.values import Values, sample_of_summary, values_by_case

# Why two cases are not compared. `energy of both`: something else ran beside one of them.
Why = Literal[
    "left out",
    "no runs",
    "lost",
    "not measured",
    "too few runs",
    "out of turn",
    "modes",
    "energy of both",
]
TAIL = (1 - LEVEL) / 2


@dataclass(frozen=True)
class Effect:
    """A ratio of two cases' values, as its logarithm.

    `difference` has its error; None where only means are known, and no deviations.
    """

    log_ratio: float
    difference: Difference | None = None

    @property
    def ratio(self) -> float:
        """How many times the other value it is."""
        return math.exp(self.log_ratio)

    @property
    def inverse(self) -> Effect:
        """The effect of the other way round."""
        if self.difference is None:
            return Effect(-self.log_ratio)
        return Effect(-self.log_ratio, replace(self.difference, log_ratio=-self.log_ratio))

    def between(self, above: float = TAIL, below: float = TAIL) -> Interval | None:
        """Return the interval whose ends are that often above and below the true ratio.

        None without deviations, and without any spread, which tells nothing of it.
        """
        if self.difference is None or not self.difference.standard_error > 0:
            return None
        return self.difference.between(above, below)


@dataclass(frozen=True)
class Cases:
    """The cases of whole runs whose time is their own to choose, and their values where runs are.

    `baselines` are the case_ids of those that others are compared with by default. `objectives`
    are those of every program; where no case has a time, what programs print as well.
    """

    cases: Sequence[Case]
    values: Mapping[str, Values]
    baselines: frozenset[str]
    objectives: tuple[Objective, ...] = OBJECTIVES
    _known: dict[tuple[str, str, str], Effect | Why] = field(
        default_factory=dict, repr=False, compare=False
    )

    def mean(self, case: Case, objective: Objective) -> float:
        """Return a mean without runs; NaN where it is not known."""
        sample = sample_of_summary(case, objective)
        return sample.mean if sample else math.nan

    def why_not(self, case: Case, objective: Objective) -> Why | None:
        """Return why a case cannot be compared with any other; None where it can be."""
        if case.was_skipped:
            return "left out"
        if not case.has_runs:
            return "no runs"
        if not case.lost.usable:
            return "lost"
        values = self.values.get(case.key.case_id)
        measured = len(values.measured(objective)) if values else self.mean(case, objective) > 0
        return None if measured else "not measured"

    def effect(self, case: Case, other: Case, objective: Objective) -> Effect | Why:
        """Return how many times the other's value a case's value is, or why nobody can say."""
        key = case.key.case_id, other.key.case_id, str(objective)
        if key not in self._known:
            found = self._effect(case, other, objective)
            self._known[key] = found
            back = found.inverse if isinstance(found, Effect) else found
            self._known[key[1], key[0], key[2]] = back
        return self._known[key]

    def _effect(self, case: Case, other: Case, objective: Objective) -> Effect | Why:
        why = self.why_not(case, objective) or self.why_not(other, objective)
        if why is not None:
            return why
        if objective in (ENERGY, EDP) and case.key.co_runner != other.key.co_runner:
            return "energy of both"
        stated = other.circumstances.stated.get(objective)
        # A card states how a case differs from its baseline, and not the other way round.
        if stated and stated.against == case.key.case_id:
            found = difference_between(other, case, self.values, objective)
            return "not measured" if found is None else Effect(found.log_ratio, found).inverse
        difference = difference_between(case, other, self.values, objective)
        if difference is not None:
            return Effect(difference.log_ratio, difference)
        return self._without_difference(case, other, objective)

    def _without_difference(self, case: Case, other: Case, objective: Objective) -> Effect | Why:
        mine, theirs = (self.values.get(either.key.case_id) for either in (case, other))
        if mine is not None and theirs is not None:
            if not are_in_turn(mine.made, theirs.made):
                return "out of turn"
            few = min(len(values.measured(objective)) for values in (mine, theirs)) < 2
            return "too few runs" if few else "modes"
        happened = case.circumstances, other.circumstances
        if any(circumstances.out_of_turn for circumstances in happened):
            return "out of turn"
        if any(objective in circumstances.unclear for circumstances in happened):
            return "modes"
        return Effect(math.log(self.mean(case, objective) / self.mean(other, objective)))


def cases_of(results: Results, findings: Findings) -> Cases:
    """Return the cases that levers and defaults are sought among.

    There are none of a race, which ends cases by their times. Regions are parts of the same runs;
    programs that run as long as they are told have no time to compare; co-runners alone and speeds
    of cores are there for others to be compared with, and emulated guests are not the node.
    """
    tables = [] if findings.raced else _asked(findings)
    found = [case for table in tables for case in table.cases]
    ids = {case.case_id for case in found}
    printed = (
        objective
        for table in tables
        for objective in table.compared_by
        if not any(TIME in case.samples for case in found)
    )
    values: Mapping[str, Values] = {}
    if results.runs is not None and ids:
        frame = results.runs.frame
        values = values_by_case(frame[frame["case_id"].isin(ids)], OBJECTIVES)
    return Cases(
        [case.summary for case in found],
        values,
        frozenset(case.case_id for case in found if case.is_baseline),
        tuple(by_identity((*OBJECTIVES, *printed))),
    )


def _asked(findings: Findings) -> list[TableFindings]:
    return [
        table
        for table in findings.tables
        if table.answered and not (table.key.region or table.fixed_time or table.key.is_emulated)
    ]
