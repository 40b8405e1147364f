"""What stands under an overview's grid, as data: decisions, lost runs, what lacks, what is open."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pinstudy.analysis.measures import SHOWN
from pinstudy.analysis.objectives import (
    EDP,
    ENERGY,
    OBJECTIVES,
    TIME,
    Objective,
    by_identity,
    named_in,
)
from pinstudy.analysis.records.runs import whole_runs
from pinstudy.analysis.results.case import energy_measure, grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.decisions import choice_of
from pinstudy.analysis.verdict.model import (
    CaseFinding,
    Choice,
    Decision,
    Findings,
    TableFindings,
    objectives_in,
)
from pinstudy.runners.records.disturbances import (
    BY_QUOTA,
    CLIPPED,
    DISTURBANCES,
    SHARED,
    STOLEN,
    THROTTLED,
)
from pinstudy.runners.records.energy import PACKAGE
from pinstudy.runners.records.lost_runs import NOT_PROVABLE, is_sample

# Why there is no decision at all.
NoDecision = Literal["out of turn", "modes", "not compared"]
# The place of a table, the governor and the co-runner of a verdict.
ConfigurationKey = tuple[int, str, str | None]

# A change that is smaller for any of the configurations is not told.
_LEAST_CHANGE = 0.01
# By these a node's other work, or its limits, decide how long a run takes.
_OF_THE_NODE = (SHARED, STOLEN, BY_QUOTA, THROTTLED, CLIPPED)
_NAMES = {
    measure.field: measure.objective or measure.noun
    for measure in SHOWN
    if measure.noun and not measure.by_kind
}
# A reason begins with the event or source that it is of.
_OF_EVENT = re.compile(r"[A-Za-z][\w.-]*: ")


@dataclass(frozen=True)
class ChangeRange:
    """Between which ratios cases are to their baselines, all of them below 1 or all above.

    `of_means`: by the means, without a comparison. Both are NaN where any of them is undecided.
    """

    low: float
    high: float
    of_means: bool = False

    @property
    def is_known(self) -> bool:
        """Whether no case is undecided."""
        return not math.isnan(self.low)


@dataclass(frozen=True)
class Instruction:
    """What to do in some configurations, by their labels, and what that changes by objective."""

    act: Choice
    mapping: str
    configurations: tuple[str, ...]
    changes: Mapping[Objective, ChangeRange]


@dataclass(frozen=True)
class DecisionOverview:
    """The decisions of all configurations that compare anything in an objective.

    `instructions` are as few as a greedy choice finds, the most frequent first; `undecided` of the
    `total` configurations have none. `unsure` rest on means whose deviations are unlike.
    """

    objective: Objective
    instructions: tuple[Instruction, ...]
    undecided: int
    total: int
    unsure: int


def decision_overviews(
    findings: Findings, labels: Mapping[ConfigurationKey, str]
) -> list[DecisionOverview]:
    """Return the decisions by objective: time, energy, then what programs print.

    `labels` are the configurations'.
    """
    compared_by = (name for table in findings.tables for name in table.compared_by)
    printed = (name for name in compared_by if name not in OBJECTIVES)
    energy = named_in(ENERGY, objectives_in(findings.tables))
    asked = by_identity((TIME, energy, *printed))
    found = (decision_overview(findings, labels, objective) for objective in asked)
    return [decision for decision in found if decision.total]


def why_no_decision(findings: Findings) -> NoDecision:
    """Return why no configuration compares anything."""
    if any(case.out_of_turn for case in findings.cases):
        return "out of turn"
    if any(TIME in case.unclear for case in findings.cases):
        return "modes"
    return "not compared"


class _Advised(NamedTuple):
    """A configuration with the cases that are as good as any there, by what is done and where."""

    label: str
    table: TableFindings
    options: Mapping[tuple[Choice, str], CaseFinding]


def decision_overview(
    findings: Findings, labels: Mapping[ConfigurationKey, str], objective: Objective
) -> DecisionOverview:
    """Return the decisions of all configurations that compare anything in an objective.

    A configuration without a label has none.
    """
    found = [
        (table, decision, labels.get((at, decision.governor, decision.co_runner), ""))
        for at, table in enumerate(findings.tables)
        for decision in table.decisions
        if decision.objective.identity == objective.identity and decision.choice != "not compared"
    ]
    advised = [
        _Advised(label, table, _options(decision, decision.best))
        for table, decision, label in found
        if decision.best is not None
    ]
    return DecisionOverview(
        objective,
        tuple(_instructions(advised, objective)),
        undecided=len(found) - len(advised),
        total=len(found),
        unsure=sum(decision.unlike_means > 1 for _, decision, _ in found),
    )


def _options(decision: Decision, best: CaseFinding) -> dict[tuple[Choice, str], CaseFinding]:
    """Return the best case, then those that are better too and not shown to be worse than it."""
    better = [
        rival.case
        for rival in decision.as_good
        if not rival.case.is_baseline
        and rival.case.comparisons[decision.objective].outcome == "better"
    ]
    options: dict[tuple[Choice, str], CaseFinding] = {}
    for case in (best, *better):
        settings = case.summary.key.setting_words
        where = f"{case.full_mapping} under {settings}" if settings else case.full_mapping
        options.setdefault((choice_of(case), where), case)
    return options


def _instructions(advised: Sequence[_Advised], objective: Objective) -> Iterator[Instruction]:
    left = list(advised)
    while left:
        by_option: dict[tuple[Choice, str], list[_Advised]] = {}
        for configuration in left:
            for option in configuration.options:
                by_option.setdefault(option, []).append(configuration)
        option = max(by_option, key=lambda name: len(by_option[name]))
        group = by_option[option]
        changes = _changes([(case.options[option], case.table) for case in group], objective)
        yield Instruction(*option, tuple(case.label for case in group), changes)
        left = [case for case in left if option not in case.options]


def _changes(
    cases: Sequence[tuple[CaseFinding, TableFindings]], objective: Objective
) -> dict[Objective, ChangeRange]:
    """Return what cases change against their baselines, in an objective, time and energy."""
    if any(case.is_baseline for case, _ in cases):
        return {}
    asked = dict.fromkeys((objective, TIME, ENERGY))
    found = {name: _change(cases, name) for name in asked}
    return {name: change for name, change in found.items() if change is not None}


def _change(
    cases: Sequence[tuple[CaseFinding, TableFindings]], objective: Objective
) -> ChangeRange | None:
    """Return the change of all cases; None where they go both ways, or hardly change anything."""
    known = [case.comparisons[objective] for case, _ in cases if objective in case.comparisons]
    if any(comparison.outcome == "undecided" for comparison in known):
        return ChangeRange(math.nan, math.nan)
    ratios = [
        case.comparisons[objective].difference.ratio
        if objective in case.comparisons
        else case.mean_ratio(table.baseline_of(case), objective)
        for case, table in cases
    ]
    low, high = min(ratios), max(ratios)
    # NaN, of a case without a mean, is neither.
    if all(ratio <= 1 - _LEAST_CHANGE for ratio in ratios) or all(
        ratio >= 1 + _LEAST_CHANGE for ratio in ratios
    ):
        return ChangeRange(low, high, of_means=len(known) < len(cases))
    return None


# Why a case that lost few runs is not compared in time.
NotComparable = Literal["out of turn", "modes"]


def not_comparable(findings: Findings) -> dict[NotComparable, tuple[str, ...]]:
    """Return the mappings of the cases that are not compared in time, by the reason."""
    found: dict[NotComparable, dict[str, None]] = {}
    for case in findings.cases:
        if case.out_of_turn and case.lost.usable:
            found.setdefault("out of turn", {})[case.full_mapping] = None
        elif TIME in case.unclear:
            found.setdefault("modes", {})[case.full_mapping] = None
    return {reason: tuple(mappings) for reason, mappings in found.items()}


@dataclass(frozen=True)
class LostBy:
    """Runs that were lost by one cause: how many, of which mappings, with the records' reasons."""

    cause: str
    count: int
    mappings: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Lost:
    """The lost runs of whole programs, of all that were `made`, None where nobody knows.

    `not_compared` cases lost too many.
    """

    made: int | None
    by_cause: tuple[LostBy, ...]
    not_compared: int

    @property
    def count(self) -> int:
        """How many were lost."""
        return sum(lost.count for lost in self.by_cause)

    @property
    def is_all(self) -> bool:
        """Whether no run was good."""
        return 0 < self.count == self.made


def lost_of(findings: Findings) -> Lost:
    """Return the runs that were lost, by cause."""
    cases = _whole(findings)
    made = [case.lost.made for case in cases]
    counts: Counter[str] = Counter()
    for case in cases:
        counts.update(case.lost.by_cause)
    return Lost(
        None if None in made else sum(number or 0 for number in made),
        tuple(LostBy(cause, count, *_of_cause(cases, cause)) for cause, count in counts.items()),
        # Races cut runs of cases that are far behind, and have their own rule.
        0 if findings.raced else sum(not case.lost.usable for case in cases),
    )


def _of_cause(cases: Sequence[CaseFinding], cause: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the mappings of the cases that lost runs by a cause, and the reasons, each once."""
    field = "placement" if cause == NOT_PROVABLE else cause
    lost = [case for case in cases if cause in case.lost.by_cause]
    reasons = (
        reason for case in lost for reason in case.summary.circumstances.reasons.get(field, ())
    )
    mappings = tuple(dict.fromkeys(case.full_mapping for case in lost))
    return mappings, tuple(dict.fromkeys(reasons))


def _whole(findings: Findings) -> list[CaseFinding]:
    """Return the cases of whole programs: regions are parts of the same runs."""
    return [case for table in findings.tables if table.key.region is None for case in table.cases]


@dataclass(frozen=True)
class Disturbed:
    """How many of the averaged `runs` were disturbed, by DISTURBANCES, and by which other tasks.

    `neighbours` count the runs in which a task took most CPU time of all others.
    """

    runs: int
    counts: Mapping[str, int]
    neighbours: Mapping[str, int]

    @property
    def by_node(self) -> int:
        """How many were at least disturbed by the node: other tasks, a hypervisor, heat, limits."""
        return max((self.counts.get(name, 0) for name in _OF_THE_NODE), default=0)

    @property
    def is_node_disturbed(self) -> bool:
        """Whether that is more than a tenth of them: more runs would be disturbed as well."""
        return not is_sample(self.by_node, self.runs)


def disturbed_of(findings: Findings) -> Disturbed:
    """Return how many runs were disturbed."""
    happened = [case.summary.circumstances for case in _whole(findings)]
    found: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    for circumstances in happened:
        found.update(circumstances.disturbed)
        tasks.update({name: task.runs for name, task in circumstances.neighbours.items()})
    counts = {name: found[name] for name in DISTURBANCES if found[name]}
    runs = sum(case.summary.n or 0 for case in _whole(findings))
    return Disturbed(runs, counts, dict(tasks.most_common()))


@dataclass(frozen=True)
class Lack:
    """What was not run, or not measured, for one reason: mappings, or measures.

    `count` of the `total` cases lack it, in all of their runs or in some.
    """

    names: tuple[str, ...]
    reason: str
    count: int
    total: int
    in_some_runs: bool = False


def left_out(findings: Findings) -> list[Lack]:
    """Return the mappings of the cases that were not run, each reason once.

    `total` is how many cases these mappings have.
    """
    cases = findings.cases
    by_reason = grouped(
        (case for case in cases if case.summary.was_skipped),
        lambda case: case.summary.circumstances.skip_reason,
    )
    lacks = []
    for skipped in by_reason:
        names = tuple(dict.fromkeys(case.full_mapping for case in skipped))
        reason = str(skipped[0].summary.circumstances.skip_reason).removeprefix("left out: ")
        total = sum(case.full_mapping in names for case in cases)
        lacks.append(Lack(names, reason, len(skipped), total))
    return lacks


def not_measured(findings: Findings) -> list[Lack]:
    """Return the measures that runs lack, each reason once."""
    measured = [case.summary for case in findings.cases if case.summary.has_runs]
    by_reason: dict[str, Counter[tuple[str, bool]]] = {}
    for summary in measured:
        # Who has a wider energy, or asked for it, does not miss that of packages.
        has_wider = energy_measure([summary]).field != PACKAGE
        for measure, name in _NAMES.items():
            if measure == PACKAGE and has_wider:
                continue
            lack = name, summary.stats[measure].is_known
            for reason in summary.circumstances.reasons.get(measure, ()):
                by_reason.setdefault(reason, Counter())[lack] += 1
    return [
        Lack(tuple(name for (name, _), _ in alike), reason, count, len(measured), in_some)
        for reason, lacks in _together(by_reason).items()
        for alike in grouped(lacks.items(), lambda item: (item[0][1], item[1]))
        for (_, in_some), count in alike[:1]
    ]


def _together(
    by_reason: Mapping[str, Counter[tuple[str, bool]]],
) -> dict[str, Counter[tuple[str, bool]]]:
    """Return the reasons, those together that differ only by the event that they begin with."""
    together: dict[str, Counter[tuple[str, bool]]] = {}
    bare = [_OF_EVENT.sub("", reason, count=1) for reason in by_reason]
    for reason, short in zip(by_reason, bare, strict=True):
        key = short if bare.count(short) > 1 else reason
        together.setdefault(key, Counter()).update(by_reason[reason])
    return together


@dataclass(frozen=True)
class Undecided:
    """The comparisons that are undecided, of all `comparisons` in time, energy and rates.

    `more` has how many more runs to make of each case, baselines among them, by case_id: those
    that decide `by_repetitions` of them in four of five studies, or that a forecast needs. Of the
    others `by_boots` need other boots or days, and `hardly` any would take over a thousand
    repetitions. `look` is the number of the look at the results with these runs.
    """

    comparisons: int
    by_repetitions: int
    by_boots: int
    hardly: int
    more: Mapping[str, int]
    look: int

    @property
    def count(self) -> int:
        """How many are undecided."""
        return self.by_repetitions + self.by_boots + self.hardly


def undecided_of(findings: Findings) -> Undecided:
    """Return what is undecided, and which repetitions may decide it."""
    more: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for table, case, objective in _asked(findings):
        comparison = case.comparisons[objective]
        counts["all"] += 1
        if comparison.outcome != "undecided":
            continue
        repetitions = comparison.useful_repetitions
        if not repetitions:
            counts["boots" if comparison.difference.units > 1 else "hardly"] += 1
            continue
        counts["repetitions"] += 1
        for case_id in (case.case_id, table.baseline_of(case).case_id):
            more[case_id] = max(more[case_id], repetitions)
    return Undecided(
        counts["all"],
        counts["repetitions"],
        counts["boots"],
        counts["hardly"],
        dict(more),
        findings.look.after.number,
    )


def _asked(findings: Findings) -> Iterator[tuple[TableFindings, CaseFinding, Objective]]:
    """Yield what was compared; a product of two is decided by them, and a region by its run."""
    for table in findings.tables:
        if table.key.region is not None:
            continue
        for case in table.cases:
            for objective in table.compared_by:
                if objective in case.comparisons and objective != EDP:
                    yield table, case, objective


def seconds_of(results: Results, more: Mapping[str, int]) -> float:
    """Return about how many seconds so many more runs of cases take, NaN without runs.

    Failed runs count: they are made again in each repetition, and a timeout takes longest of all.
    """
    if results.runs is None:
        return math.nan
    runs = whole_runs(results.runs.frame)
    runs = runs[~runs["warmup"]]
    means_s = runs.groupby("case_id", observed=True)["elapsed_s"].mean()
    return math.fsum(number * float(means_s[case_id]) for case_id, number in more.items())
