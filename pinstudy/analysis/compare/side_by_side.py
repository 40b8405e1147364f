"""Two results side by side: each row against its own baseline, and whether both conclude the same.

Ratios within each of the results can be compared across machines, times cannot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Literal

from pinstudy.analysis.answer import MARGIN, analyze
from pinstudy.analysis.compare.matching import (
    Matched,
    Unlike,
    differences_in_kind,
    differences_of_programs,
    differences_of_results,
    differences_of_settings,
    first_common_baseline,
    matched_programs,
    matched_rows,
    matched_tables,
    unknown_governors,
    unlike_meters,
    unlike_metrics,
)
from pinstudy.analysis.objectives import EDP, ENERGY, OBJECTIVES, TIME, Objective, by_identity
from pinstudy.analysis.results.baselines import are_in_turn
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.decision import Outcome
from pinstudy.analysis.statistics.difference import Difference, Estimand
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.comparisons import compare_all, difference_between
from pinstudy.analysis.verdict.model import (
    CaseFinding,
    Findings,
    TableFindings,
    objectives_in,
    unusable,
)
from pinstudy.analysis.verdict.values import (
    Logs,
    Values,
    difference_in,
    difference_of_summaries,
    values_by_case,
)

# `open`: one of the two is undecided. `not compared`: one of the two has no outcome for the row.
Agreement = Literal[
    "agree", "disagree", "open", "not compared", "baseline", "only in A", "only in B"
]

# What is always put side by side; the energy-delay product follows from both.
COMPARED = (TIME, ENERGY)


@dataclass(frozen=True)
class Ratio:
    """How many times another value a value is, with its 95 % interval where it can be had.

    `estimand` says whether it is of typical values or of means, None of a value to itself;
    `difference` is what both are of.
    """

    value: float
    interval: Interval | None = None
    estimand: Estimand | None = "mean"
    difference: Difference | None = None

    @classmethod
    def of(cls, difference: Difference) -> Ratio:
        """The ratio of a difference."""
        return cls(difference.ratio, difference.known_interval(), difference.estimand, difference)


@dataclass(frozen=True)
class Side:
    """A row in one of the results: its mean, its ratio to the common baseline row, its outcome."""

    case: CaseFinding
    mean: float | None
    ratio: Ratio | None
    outcome: Outcome | None

    @property
    def number(self) -> int:
        """The row's number in these results."""
        return self.case.number


@dataclass(frozen=True)
class PairRow:
    """A row of both results, or of one of them. `direct` is B / A, `outcome` that of B against A.

    All rows of a pair are tested together.
    """

    a: Side | None
    b: Side | None
    direct: Ratio | None
    agreement: Agreement
    outcome: Outcome | None = None

    @property
    def case(self) -> CaseFinding:
        """The row's case, in A where it is there."""
        side = self.a or self.b
        assert side is not None
        return side.case


@dataclass(frozen=True)
class Pair:
    """A table of A and the one of B that it is compared with, in one objective.

    `reference` is the baseline row that ratios are to, in A and in B; None when no baseline is in
    both. `unknown_governors` has the letters of results whose rows do not tell theirs.
    """

    objective: Objective
    a: TableFindings
    b: TableFindings
    reference: tuple[CaseFinding, CaseFinding] | None
    rows: tuple[PairRow, ...]
    differences: tuple[Unlike, ...] = ()
    unknown_governors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Agreements:
    """In how many rows of an objective both results conclude the same, and those in which not."""

    objective: Objective
    counts: Mapping[Agreement, int]
    disagree: Sequence[tuple[Pair, PairRow]]

    @property
    def decided(self) -> int:
        """How many rows both results decide."""
        return self.counts["agree"] + self.counts["disagree"]


@dataclass(frozen=True)
class SideBySide:
    """Two results: their names, what both have, and the titles of tables that only one has.

    `differences` are those of their nodes, as those of a pair are of its tables and programs.
    """

    name_a: str
    name_b: str
    pairs: tuple[Pair, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    footnotes: tuple[str, ...]
    differences: tuple[Unlike, ...] = ()

    @property
    def all_differences(self) -> dict[Unlike, list[str]]:
        """The differences, each with the apps that have it; none where it is of the nodes."""
        found: dict[Unlike, dict[str, None]] = {difference: {} for difference in self.differences}
        for pair in self.pairs:
            for difference in pair.differences:
                found.setdefault(difference, {})[pair.a.key.app] = None
        return {difference: list(apps) for difference, apps in found.items()}

    @property
    def agreements(self) -> list[Agreements]:
        """What both results conclude, by objective."""
        return [self._agreements(objective) for objective in self.objectives]

    def _agreements(self, objective: Objective) -> Agreements:
        rows = [
            (pair, row)
            for pair in self.pairs
            if pair.objective.identity == objective.identity
            for row in pair.rows
        ]
        disagree = [(pair, row) for pair, row in rows if row.agreement == "disagree"]
        return Agreements(objective, Counter(row.agreement for _, row in rows), disagree)

    @property
    def objectives(self) -> list[Objective]:
        """What tables are put side by side by."""
        return by_identity((*COMPARED, *(pair.objective for pair in self.pairs)))


@dataclass(frozen=True)
class _Opened:
    """Results with what was found in them, and their runs' values by case."""

    results: Results
    findings: Findings
    values: Mapping[str, Values]

    @classmethod
    def of(cls, results: Results, findings: Findings) -> _Opened:
        objectives = dict.fromkeys((*OBJECTIVES, *objectives_in(findings.tables)))
        values = values_by_case(results.runs.frame, list(objectives)) if results.runs else {}
        return cls(results, findings, values)

    @property
    def raced(self) -> bool:
        """Whether outcomes decided how many runs a case has: no interval holds its share then."""
        return self.results.runs is not None and self.results.runs.raced


def compare(
    a: Results,
    b: Results,
    margin: float = MARGIN,
    as_governor: str | None = None,
    *,
    with_edp: bool = False,
) -> SideBySide:
    """Put two results side by side.

    `margin` is the equivalence margin; `as_governor` is assumed for rows without a governor. The
    energy-delay product follows from time and energy, and is left out unless `with_edp`.
    """
    first, second = (_Opened.of(results, analyze(results, margin)) for results in (a, b))
    matched = list(matched_tables(first.findings.tables, second.findings.tables))
    pairs = tuple(
        pair
        for table_a, table_b in matched
        for pair in _pairs(first, second, table_a, table_b, as_governor, margin, with_edp=with_edp)
    )
    return SideBySide(
        a.name,
        b.name,
        pairs,
        _others(first.findings.tables, [table for table, _ in matched]),
        _others(second.findings.tables, [table for _, table in matched]),
        _footnotes(a, b, as_governor),
        tuple(differences_of_results(a, b)),
    )


def compare_programs(results: Results, findings: Findings) -> SideBySide | None:
    """Put the programs of one algorithm that are in the same results side by side; None without.

    A are the programs that have another name than their algorithm, such as the originals.
    """
    matched = list(matched_programs(findings.tables))
    if not matched:
        return None
    opened = _Opened.of(results, findings)
    pairs = tuple(
        pair for a, b in matched for pair in _pairs(opened, opened, a, b, None, findings.margin)
    )
    name_a, name_b = (
        ", ".join(dict.fromkeys(pair[side].key.app for pair in matched)) for side in (0, 1)
    )
    return SideBySide(name_a, name_b, pairs, (), (), results.footnotes)


def _others(tables: Sequence[TableFindings], matched: Sequence[TableFindings]) -> tuple[str, ...]:
    return tuple(t.title for t in tables if all(t is not table for table in matched))


def _footnotes(a: Results, b: Results, as_governor: str | None) -> tuple[str, ...]:
    assumed = f"rows that do not tell their governor are taken for {as_governor}"
    return (
        *((assumed,) if as_governor else ()),
        *(f"A: {footnote}" for footnote in a.footnotes),
        *(f"B: {footnote}" for footnote in b.footnotes),
    )


def _pairs(
    first: _Opened,
    second: _Opened,
    a: TableFindings,
    b: TableFindings,
    as_governor: str | None,
    margin: float,
    *,
    with_edp: bool = False,
) -> Iterator[Pair]:
    matched = matched_rows(a.cases, b.cases, as_governor)
    reference = first_common_baseline(matched)
    published = first.results.is_published or second.results.is_published
    is_same_work = (a.key.size, a.key.build) == (b.key.size, b.key.build)
    is_direct = is_same_work and not published
    unknown = tuple(unknown_governors(matched))
    differences = (
        *differences_in_kind(a, b),
        *unlike_metrics(a, b),
        *differences_of_programs(first.results, second.results, a, b),
        *differences_of_settings(first.results, second.results, matched),
    )
    theirs = {objective.identity: objective.noun for objective in b.objectives}
    unlike = unlike_meters(first.results, second.results)
    for objective in a.objectives:
        # Of what is printed, that of one unit.
        if objective.identity not in theirs or (objective == EDP and not with_edp):
            continue
        if not all(any(objective in case.samples for case in table.cases) for table in (a, b)):
            continue
        is_compared = objective in a.compared_by and objective in b.compared_by
        own = reference if is_compared else None
        # Two meters differ in what they take in, and in how wrong they are.
        two_meters = unlike or objective.noun != theirs[objective.identity]
        direct = is_direct and not (two_meters and objective in (ENERGY, EDP))
        rows = tuple(_row(first, second, pair, own, objective, direct) for pair in matched)
        rows = _with_outcomes(rows, objective, margin)
        yield Pair(objective, a, b, own, rows, differences, unknown)


def _with_outcomes(
    rows: Sequence[PairRow], objective: Objective, margin: float
) -> tuple[PairRow, ...]:
    differences = {
        (str(at), objective): row.direct.difference
        for at, row in enumerate(rows)
        if row.direct and row.direct.difference
    }
    found = compare_all(differences, margin, lambda key: key[1])
    outcomes = {int(at): comparison.outcome for (at, _), comparison in found.items()}
    return tuple(replace(row, outcome=outcomes.get(at)) for at, row in enumerate(rows))


def _row(
    first: _Opened,
    second: _Opened,
    pair: Matched,
    reference: tuple[CaseFinding, CaseFinding] | None,
    objective: Objective,
    is_direct: bool,
) -> PairRow:
    a = _side(first, pair[0], reference[0] if reference else None, objective)
    b = _side(second, pair[1], reference[1] if reference else None, objective)
    direct = _direct(first, second, a, b, objective) if is_direct and a and b else None
    return PairRow(a, b, direct, _agreement(a, b))


def _side(
    opened: _Opened, case: CaseFinding | None, reference: CaseFinding | None, objective: Objective
) -> Side | None:
    if case is None:
        return None
    sample = case.samples.get(objective)
    comparison = case.comparisons.get(objective)
    return Side(
        case,
        sample.mean if sample else None,
        _to_reference(opened, case, reference, objective),
        comparison.outcome if comparison else None,
    )


def _to_reference(
    opened: _Opened, case: CaseFinding, reference: CaseFinding | None, objective: Objective
) -> Ratio | None:
    if reference is None or objective not in reference.samples or objective not in case.samples:
        return None
    if case is reference:
        return Ratio(1.0, estimand=None)
    if opened.raced:
        return _of_means(case, reference, objective)
    difference = difference_between(case.summary, reference.summary, opened.values, objective)
    if difference is not None:
        return Ratio.of(difference)
    return _of_means(case, reference, objective)


def _of_means(a: CaseFinding, b: CaseFinding, objective: Objective) -> Ratio | None:
    """Return a ratio of means, where no spread is known and so no interval."""
    ratio = a.mean_ratio(b, objective)
    return None if isnan(ratio) else Ratio(ratio)


def _direct(
    first: _Opened, second: _Opened, a: Side, b: Side, objective: Objective
) -> Ratio | None:
    """Return B / A: runs of two studies share no blocks, whatever their numbers are.

    Programs of one study are compared in words only where their runs were made in turn. A side in
    several modes has no outcome, be it known by its runs or by what its card says of it.
    """
    if a.mean is None or b.mean is None or unusable((a.case, b.case), objective):
        return None
    mine, theirs = first.values.get(a.case.case_id), second.values.get(b.case.case_id)
    difference = None
    is_one_study = first.results is second.results
    out_of_turn = mine and theirs and is_one_study and not are_in_turn(mine.made, theirs.made)
    if first.raced or second.raced or out_of_turn:
        return _of_means(b.case, a.case, objective)
    if mine and theirs:
        (logs_b, units_b), (logs_a, units_a) = theirs.logs(objective), mine.logs(objective)
        difference = difference_in(Logs(logs_b, logs_a, units_b, units_a, paired=False))
    elif not any(
        _is_unclear(side.case.summary, values, objective, in_turn=not is_one_study)
        for side, values in ((a, mine), (b, theirs))
    ):
        difference = difference_of_summaries(b.case.summary, a.case.summary, objective)
    return Ratio.of(difference) if difference else _of_means(b.case, a.case, objective)


def _is_unclear(case: Case, values: Values | None, objective: Objective, *, in_turn: bool) -> bool:
    """Return whether modes, or the order of runs, leave a side without an outcome, by its means."""
    if values is None:
        happened = case.circumstances
        return objective in happened.unclear or (happened.out_of_turn and not in_turn)
    logs, units = values.logs(objective)
    return Logs(logs, logs, units, units, paired=False).hide_what_is_typical


def _agreement(a: Side | None, b: Side | None) -> Agreement:
    if a is None:
        return "only in B"
    if b is None:
        return "only in A"
    if a.case.is_baseline and b.case.is_baseline:
        return "baseline"
    if a.outcome is None or b.outcome is None:
        return "not compared"
    if "undecided" in (a.outcome, b.outcome):
        return "open"
    return "agree" if a.outcome == b.outcome else "disagree"
