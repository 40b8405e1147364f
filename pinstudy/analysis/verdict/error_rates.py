"""How often outcomes are false where nothing differs, and what so many runs cannot show, as data.

Both numbers of a rate are for as many comparisons as a question has, and for the fewest runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.statistics.difference import Estimand
from pinstudy.analysis.statistics.modes import share_of_unseen_modes
from pinstudy.analysis.statistics.unlike import least_to_see, share_of_unseen_slow_runs, unseen
from pinstudy.analysis.verdict.model import Findings

# The share of questions with a false difference: by the level, and, by the simulations of
# docs/error-rates.md, what lognormal noise on one side alone makes of it for typical values.
ALIKE, LOGNORMAL = 0.05, 0.09


@dataclass(frozen=True)
class FalseRate:
    """The share of questions in which a difference is told where there is none.

    `share_unlike`: where slow runs are on one side alone, one in four for typical values, one in
    ten for means.
    """

    estimand: Estimand
    comparisons: int
    n: int
    share_unlike: float


def false_rates(findings: Findings) -> Iterator[FalseRate]:
    """Yield the rates of typical values and of means, of those that are compared."""
    of_question = Counter(
        (at, table.baseline_of(case).case_id, objective)
        for at, table in enumerate(findings.tables)
        for case in table.cases
        for objective in case.comparisons
    )
    count = max(of_question.values(), default=0)
    rates = {"typical": share_of_unseen_modes, "mean": share_of_unseen_slow_runs}
    for estimand in ("typical", "mean"):
        runs = [of.difference.n for of in findings.compared if of.difference.estimand == estimand]
        if runs:
            n = min(runs)
            yield FalseRate(estimand, count, n, rates[estimand](n, count))


@dataclass(frozen=True)
class UnseenSlowRuns:
    """In which share of studies `n` runs hold none of a mode of one run in ten.

    `enough` runs do so in a twentieth.
    """

    n: int
    share: float
    enough: int


def unseen_slow_runs(findings: Findings) -> UnseenSlowRuns | None:
    """Return what the fewest runs of a comparison of typical times may hide; None without any."""
    # Slow runs are those of time; energy may be known of fewer.
    runs = [
        comparison.difference.n
        for comparison in findings.compared
        if comparison.objective == TIME and comparison.difference.estimand == "typical"
    ]
    return UnseenSlowRuns(min(runs), unseen(min(runs)), least_to_see()) if runs else None
