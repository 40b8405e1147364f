"""What results mean, as data: samples, comparisons and verdicts, table by table.

`find` makes them of results; figures, report, compare and the verdict's words only read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from analysis.statistics.decision import Word
from analysis.statistics.difference import Difference
from analysis.statistics.drift import Drift
from analysis.statistics.sample import Sample
from analysis.table import one_line
from runners.placed_runs import PlacedRuns

if TYPE_CHECKING:
    from analysis.advice.model import Advice

Objective = Literal["time", "energy", "edp"]

# What is compared, and the measure of a record that holds it. Less is better of each.
OBJECTIVES: Mapping[Objective, str] = {
    "time": "elapsed_s",
    "energy": "energy_pkg_j",
    "edp": "edp_js",
}


@dataclass(frozen=True)
class Comparison:
    """A case against its baseline in one objective.

    `difference` is of logarithms, case - baseline. `p_different` and `p_outside` (the margin) are
    Holm-corrected over all comparisons of the results. `word` is the outcome; `more` says about how
    many more repetitions would decide when it is undecided, None when no sensible number would.
    `apart`: no attempt made runs of both, so that the node may have changed between them.
    """

    objective: Objective
    difference: Difference
    p_different: float
    p_outside: float
    word: Word
    more: int | None = None
    apart: bool = False


@dataclass(frozen=True)
class Outlier:
    """A run that is far from the others of its case, and is kept.

    `repetition` is 0 where the record does not tell it; `score` is in deviations.
    """

    objective: Objective
    repetition: int
    value: float
    score: float


@dataclass(frozen=True)
class CaseFinding:
    """One row of a table.

    `facts` is its row of `analysis.summary.summarise`. `samples` has the objectives that were
    measured, `comparisons` those that can be compared with the baseline's; a baseline has none.
    """

    case_id: str
    number: int
    mapping: str
    governor: str
    is_baseline: bool
    facts: Mapping[str, Any]
    samples: Mapping[Objective, Sample]
    comparisons: Mapping[Objective, Comparison]
    outliers: tuple[Outlier, ...] = ()
    on_front: bool = False

    @property
    def label(self) -> str:
        """The row as people name it: `#3 pcores-pin (performance)`."""
        vcpus = self.facts.get("vcpu_mapping")
        where = f"vCPUs {vcpus}, " if vcpus else ""
        return one_line(f"#{self.number} {where}{self.mapping} ({self.governor})")

    @property
    def placed(self) -> PlacedRuns:
        """In how many of its runs threads were where they belong, and whether it is compared."""
        placed: PlacedRuns = self.facts["placed"]
        return placed


@dataclass(frozen=True)
class Verdict:
    """To pin or not to pin, for one table, governor and objective.

    `answer` is `pin`, `confine` (a set of CPUs, threads not bound one by one), `leave` (to the OS
    scheduler), `no difference`, `undecided` or `not compared`. `best` is the case that is
    recommended, None when none is. `sentences` say it in words, the answer first. `also` has the
    cases that do as well as the best, cannot be told from it, or may be better.
    """

    objective: Objective
    governor: str
    answer: str
    best: CaseFinding | None
    sentences: tuple[str, ...]
    also: tuple[CaseFinding, ...] = ()


@dataclass(frozen=True)
class TableFindings:
    """One table: an app, variant, size, thread count, schedule and wait policy.

    `title` names it on one line; `verdicts` are by governor and objective.
    """

    title: str
    keys: Mapping[str, Any]
    cases: tuple[CaseFinding, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Findings:
    """What results mean.

    `margin` is the equivalence margin as a share (0.01 is 1 %); `comparisons` is how many the
    Holm correction took together; `headline` answers the question in one or two sentences. Cases
    that `raced` have no verdicts: `advice` is their answer, None when the records give none.
    `next_command` is what brings an answer that is still open; empty where nothing is known to.
    """

    margin: float
    tables: tuple[TableFindings, ...]
    drift: Drift | None
    headline: tuple[str, ...]
    comparisons: int = 0
    remarks: tuple[str, ...] = field(default=())
    raced: bool = False
    advice: Advice | None = None
    next_command: str = ""
