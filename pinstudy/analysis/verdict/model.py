"""The findings on results as data: samples, comparisons and decisions, table by table.

`pinstudy.analysis.answer.analyze` makes them; words, tables, figures and the report only read them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pinstudy.analysis.objectives import ENERGY, OBJECTIVES, TIME, Objective, by_identity
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.boots import BootPlan
from pinstudy.analysis.statistics.decision import (
    MIN_TO_FORECAST,
    ONLY_LOOK,
    Look,
    Outcome,
    RepetitionForecast,
)
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.drift import Drift
from pinstudy.analysis.statistics.modes import Modes
from pinstudy.analysis.statistics.sample import Interval, Sample
from pinstudy.analysis.statistics.unlike import SlowRuns
from pinstudy.analysis.verdict.reach import NoReach, Reach
from pinstudy.base.text import one_line
from pinstudy.runners.records.lost_runs import LostRuns
from pinstudy.runners.records.placed_runs import PlacedRuns

# What to do with threads. `use`: take a mapping of which it is not known what it does.
Choice = Literal["leave", "confine", "pin", "use", "undecided", "not compared"]


@dataclass(frozen=True)
class Comparison:
    """A case against its baseline in one objective.

    `difference` is of logarithms, case - baseline. `p_different` and `p_outside` (the margin) are
    corrected: by Holm over the comparisons of the question (one baseline and objective), and for
    the look. `more` says how many more repetitions would decide an undecided comparison, None when
    that is not known. `across_attempts`: no attempt made runs of both, so that the node may have
    changed between them. `mean_ratio` is that of the means in the tables, None where a mean is not
    known. `spread_times` is the case's spread over the baseline's, None where no difference is
    shown; `p_slow` is the p-value of equal shares of slow runs, None where neither case has one.
    `boots` are those that cost least, None where their variance is not known or does not matter.
    """

    objective: Objective
    difference: Difference
    p_different: float
    p_outside: float
    outcome: Outcome
    more: RepetitionForecast | None = None
    across_attempts: bool = False
    mean_ratio: float | None = None
    spread_times: float | None = None
    p_slow: float | None = None
    boots: BootPlan | None = None

    @property
    def loss(self) -> float:
        """The log ratio with the sign by which less is better."""
        return self.objective.loss(self.difference.log_ratio)

    @property
    def useful_repetitions(self) -> int:
        """How many more repetitions help: those that would decide, or those a forecast needs.

        0 where it is decided, and where more repetitions of one boot do not help.
        """
        if self.more:
            return self.more.most
        if self.outcome != "undecided" or self.difference.units > 1:
            return 0
        return max(0, MIN_TO_FORECAST - self.difference.n)

    @property
    def unlike_means(self) -> float:
        """How many times one deviation is the other where means are compared; 1 for like ones.

        Words on means need noise that is alike; those on typical values do not.
        """
        if self.difference.estimand != "mean" or self.spread_times is None:
            return 1.0
        return max(self.spread_times, 1 / self.spread_times)

    def means_disagree(self, margin: float) -> bool:
        """Whether mean and typical value disagree: by more than the margin and by chance's reach.

        The ratio of the means is then outside the 95 % interval of the typical ratio.
        """
        if self.mean_ratio is None or self.difference.estimand == "mean":
            return False
        away = abs(math.log(self.mean_ratio) - self.difference.log_ratio)
        return away > math.log1p(margin) and self.mean_ratio not in self.difference.interval()


@dataclass(frozen=True)
class Outlier:
    """A run that is far from the others of its case, and is kept.

    `repetition` is 0 where the record lacks it; `score` is in deviations.
    """

    objective: Objective
    repetition: int
    value: float
    score: float


@dataclass(frozen=True)
class Slowdown:
    """How a case beside its co-runner, and that, do against running alone: differences of times.

    `alone` is the number of the same case with nothing beside it, None where the study has none.
    The differences are None where one is not known. `co_runner_alone_s` is the co-runner's mean
    time alone, NaN where not known.
    """

    alone: int | None
    of_program: Difference | None
    of_co_runner: Difference | None
    co_runner_alone_s: float = math.nan


@dataclass(frozen=True)
class CaseBefore:
    """How times depend on the case before a run, as shares of the time; `found` if that is told.

    `effects` has by case_id how much longer runs after that case took than after an average one,
    `inherited` how much longer the runs of a case took for those before them. After the case
    `after`, named `label`, of which there are `n` runs, the effect is largest; `p` is corrected
    for all cases.
    """

    after: str
    label: str
    effects: Mapping[str, float]
    inherited: Mapping[str, float]
    p: float
    n: int
    found: bool

    def shift(self, case_id: str, baseline_id: str) -> float | None:
        """Return by how much a ratio is off for the cases before; None where that is not known."""
        both = self.inherited.get(case_id), self.inherited.get(baseline_id)
        return None if None in both else (1 + both[0]) / (1 + both[1]) - 1  # type: ignore[operator]


@dataclass(frozen=True)
class CaseFinding:
    """A case with the findings on its runs.

    `samples` has the objectives that were measured, `comparisons` those that can be compared with
    the baseline's; a baseline has none. `slow` counts its slow runs, None where too few runs tell.
    `modes` has the objectives in which its runs are in several modes. `unclear` has those in which
    modes leave it to chance what is typical against the baseline, with the modes of the pairs'
    ratios, None where these have one. `slowdown` is None where nothing runs beside it.
    `out_of_turn`: its runs were not made in turn with its baseline's. `disturbed_against_others`
    has, by disturbance, how the times of its runs with it differ from those of its others, where
    both kinds have a spread. `reaches` say how much of its cores' speed it reached, or why nobody
    knows; none where nothing tells the speeds. `case_before` is what its runs inherit, if any do.
    """

    summary: Case
    is_baseline: bool = False
    samples: Mapping[str, Sample] = field(default_factory=dict)
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    outliers: tuple[Outlier, ...] = ()
    slow: SlowRuns | None = None
    modes: Mapping[str, Modes] = field(default_factory=dict)
    unclear: Mapping[str, Modes | None] = field(default_factory=dict)
    on_front: bool = False
    slowdown: Slowdown | None = None
    out_of_turn: bool = False
    disturbed_against_others: Mapping[str, Difference] = field(default_factory=dict)
    reaches: tuple[Reach | NoReach, ...] = ()
    case_before: CaseBefore | None = None

    @property
    def case_id(self) -> str:
        """The case's digest."""
        return self.summary.key.case_id

    @property
    def number(self) -> int:
        """Its row's number."""
        return self.summary.key.number

    @property
    def mapping(self) -> str:
        """The mapping of its threads."""
        return self.summary.key.mapping

    @property
    def governor(self) -> str:
        """The governor that it was run under, as the study names it."""
        return self.summary.key.governor

    @property
    def label(self) -> str:
        """The row as people name it: `#3 pcores-pin (performance)`."""
        co_runner = f" beside {self.summary.key.co_runner}" if self.summary.key.co_runner else ""
        under = ", ".join(filter(None, (self.summary.key.setting_words, self.governor)))
        return one_line(f"#{self.number} {self.summary.key.label}{co_runner} ({under})")

    @property
    def full_mapping(self) -> str:
        """The mapping, behind that of virtual CPUs where there are such: `pcores-pin/unpinned`."""
        return self.summary.key.full_mapping

    def mean_ratio(self, other: CaseFinding, objective: Objective) -> float:
        """Return the ratio of its mean to another case's; NaN where one tells nothing."""
        means = [
            case.samples[objective].mean for case in (self, other) if case.has_usable(objective)
        ]
        return means[0] / means[1] if len(means) == 2 and means[1] > 0 else math.nan

    @property
    def placed(self) -> PlacedRuns:
        """In how many of its runs threads were where they belong."""
        return self.summary.circumstances.placed

    @property
    def lost(self) -> LostRuns:
        """Its lost runs, and whether it may be compared."""
        return self.summary.lost

    def lost_of(self, objective: Objective) -> LostRuns:
        """Return its lost runs, those that lack this objective's value among them."""
        return self.summary.lost_of(objective.field)

    def has_usable(self, objective: Objective) -> bool:
        """Return whether it was measured, and not too often lost, in an objective."""
        return objective in self.samples and self.lost_of(objective).usable

    @property
    def has_time_and_energy(self) -> bool:
        """Whether it may be on the Pareto front; beside a co-runner, energy is that of both."""
        is_measured = TIME in self.samples and self.has_usable(ENERGY)
        return is_measured and self.is_comparable and not self.summary.key.co_runner

    @property
    def is_comparable(self) -> bool:
        """Whether its runs are a sample of it, and made in turn with its baseline's."""
        return self.lost.usable and not self.out_of_turn


@dataclass(frozen=True)
class Caveat:
    """What limits numbers, or why there are none: a code, the cases (case_ids), and its facts.

    Codes and facts are those of `pinstudy.analysis.words.verdict.TEMPLATES`. Facts are unrounded
    numbers, names and reasons from records. Without cases it is of the whole configuration.
    """

    code: str
    cases: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Gain:
    """How a case compares with its baseline, told because it is the best of `among` cases.

    The interval of the ratio is widened for that choice; None for values without spread.
    """

    ratio: float
    interval: Interval | None
    among: int


@dataclass(frozen=True)
class AsGood:
    """A case that may do as well as the best, with its outcome against the best.

    That is `equivalent`, `undecided`, or `better` where it is undecided against the baseline.
    """

    case: CaseFinding
    outcome: Outcome


@dataclass(frozen=True)
class MeasureChange:
    """A measure that differs as well: its means of a case and of the baseline, without a test."""

    measure: str
    kind: str | None
    baseline: float
    mean: float


@dataclass(frozen=True)
class Decision:
    """To pin or not to pin, for one configuration and objective.

    A configuration is a table's cases under one governor, beside one co-runner (None: none).
    `best` is the case to take, the baseline where none is better; None where nothing is decided.
    `gain` is that of the best over the baseline, None for the baseline. `as_good` are those that
    may do as well. `lacking` says why the configuration, or cases of it, are not compared.
    `goes_with` are the other measures of `explained`, the best case or the one that loses least.
    `unlike_means` is, of the cases that the choice rests on, how many times a deviation is another
    (`Comparison.unlike_means`).
    """

    objective: Objective
    governor: str
    co_runner: str | None
    choice: Choice
    best: CaseFinding | None = None
    gain: Gain | None = None
    as_good: tuple[AsGood, ...] = ()
    lacking: tuple[Caveat, ...] = ()
    explained: CaseFinding | None = None
    goes_with: tuple[MeasureChange, ...] = ()
    unlike_means: float = 1.0


@dataclass(frozen=True)
class LargestGain:
    """The largest gain in an objective, with its interval widened for all cases of the results."""

    objective: Objective
    table: TableFindings
    case: CaseFinding
    gain: Gain


@dataclass(frozen=True)
class TableFindings:
    """One table: an app, build, size, number of ranks and threads, schedule and wait policy.

    `title` names it on one line; `decisions` are by configuration and objective. `objectives` are
    what its cases are compared by: those of every program, then what this one prints. `fixed_time`:
    it runs as long as it is told, and is compared by the latter alone. A table that is not
    `answered` is there for others to be compared with: co-runners alone, and speeds of cores.
    """

    title: str
    key: TableKey
    cases: tuple[CaseFinding, ...]
    decisions: tuple[Decision, ...]
    objectives: tuple[Objective, ...] = OBJECTIVES
    fixed_time: bool = False
    answered: bool = True

    @property
    def compared_by(self) -> tuple[Objective, ...]:
        """The objectives by which a mapping can be better than another."""
        if not self.fixed_time:
            return self.objectives
        return tuple(objective for objective in self.objectives if objective not in OBJECTIVES)

    @property
    def configurations(self) -> list[list[CaseFinding]]:
        """Its cases by configuration: those of one differ in their mapping alone."""
        return grouped(self.cases, lambda case: case.summary.key.configuration)

    def baseline_of(self, case: CaseFinding) -> CaseFinding:
        """Return the baseline of a case that has comparisons."""
        configuration = case.summary.key.configuration
        baselines = (other for other in self.cases if other.is_baseline)
        return next(base for base in baselines if base.summary.key.configuration == configuration)


def objectives_in(tables: Iterable[TableFindings]) -> list[Objective]:
    """Return what the cases of tables are compared by, what is of one name and unit once."""
    return by_identity(name for table in tables for name in table.objectives)


def baseline_in(cases: Iterable[CaseFinding]) -> CaseFinding | None:
    """Return the baseline among the cases of a configuration; None without any."""
    return next((case for case in cases if case.is_baseline), None)


@dataclass(frozen=True)
class Findings:
    """What results mean.

    `margin` is the equivalence margin as a share (0.01 is 1 %); `comparisons` is how many there
    are, in so many `questions`, each of which has a Holm correction of its own; `look` is
    this interim analysis. Cases that `raced` have no decisions, but an advice, which
    `decision_lines` has in short.
    `next_command` is what brings an answer that is still open; empty where nothing is known to.
    `units` is of how many boots or days the runs are, 0 where there are no runs. `case_before` is
    how times depend on the case before, None where that cannot be told.
    """

    margin: float
    tables: tuple[TableFindings, ...]
    drift: Drift | None
    decision_lines: tuple[str, ...] = ()
    largest_gains: tuple[LargestGain, ...] = ()
    comparisons: int = 0
    questions: int = 0
    look: Look = ONLY_LOOK
    footnotes: tuple[str, ...] = ()
    raced: bool = False
    next_command: str = ""
    units: int = 0
    case_before: CaseBefore | None = None

    @property
    def cases(self) -> list[CaseFinding]:
        """The cases of all tables."""
        return [case for table in self.tables for case in table.cases]

    @property
    def compared(self) -> list[Comparison]:
        """The comparisons of all cases."""
        return [comparison for case in self.cases for comparison in case.comparisons.values()]


def unusable(cases: Iterable[CaseFinding], objective: Objective | None = None) -> list[CaseFinding]:
    """Return the cases that lost too many of their runs, or of an objective's values.

    Such a case is not compared. The rule is runners.records.lost_runs.LostRuns.usable.
    """
    return [
        case for case in cases if not (case.lost_of(objective) if objective else case.lost).usable
    ]
