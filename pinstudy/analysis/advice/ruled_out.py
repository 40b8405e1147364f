"""The cases that a race ruled out, each against the best one, by the runs of the race itself. Pure.

The best is chosen by these runs, so that the others look a little worse than they are. All
intervals hold together (Bonferroni): with many cases, an interval of 95 % by itself would often say
by chance that one of them is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf, isfinite, log, sqrt

from scipy import special

from pinstudy.analysis.advice.model import NOT_COMPARED, Candidate, Elimination, Outcome
from pinstudy.analysis.records.race_records import RaceRecords
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.runners.records.race_state import WHYS, Eliminated, Key, RaceState

LEVEL = 0.05
# The weight of all cases' variance beside a case's own, in degrees of freedom.
SHARED_DF = 4
# Case, then block of the race, with a value's logarithm.
Values = Mapping[str, Mapping[float, float]]


def eliminations_of(
    race: RaceRecords,
    state: RaceState,
    candidates: Mapping[str, Candidate],
    blocks: Mapping[Key, float],
) -> tuple[Elimination, ...]:
    """Return the cases that were ruled out, the nearest to the best first.

    They are compared with the best, or with the reference where none is left; `blocks` has the
    block of each run.
    """
    against = state.best or state.reference
    values = _values(race, blocks)
    known = [case for case in state.eliminated if case.case_id in candidates]
    compared = [case for case in known if case.why not in NOT_COMPARED]
    found = [
        _compared(candidates[case.case_id], case, values, against, state.noise, race, len(compared))
        if case in compared
        else Elimination(candidates[case.case_id], case, "not compared")
        for case in known
    ]
    return tuple(sorted(found, key=lambda case: _distance(case, race.rule.higher)))


def _values(race: RaceRecords, blocks: Mapping[Key, float]) -> Values:
    values: dict[str, dict[float, float]] = {}
    for (case_id, repetition), run in race.runs.items():
        if run.value is not None and repetition > 0:
            block = blocks.get((case_id, repetition), float(repetition))
            values.setdefault(case_id, {})[block] = log(run.value)
    return values


def _compared(
    candidate: Candidate,
    case: Eliminated,
    values: Values,
    against: str,
    noise: float | None,
    race: RaceRecords,
    among: int,
) -> Elimination:
    mine, other = values.get(case.case_id, {}), values.get(against, {})
    differences = [mine[block] - other[block] for block in sorted(mine.keys() & other.keys())]
    if not differences:
        # Its run was ended because it took so much longer than the shortest one.
        cut = case.why == "cut" and case.worse_by is not None
        ratio = 1 + case.worse_by if cut and case.worse_by is not None else None
        outcome: Outcome = "worse" if cut else "undecided"
        return Elimination(candidate, case, outcome, ratio=ratio, at_least=cut)
    mean = sum(differences) / len(differences)
    if noise is None:
        return Elimination(candidate, case, "undecided", len(differences), exp(mean))
    reach = _reach(differences, noise, among)
    low, high = mean - reach, mean + reach
    worse = high < 0 if race.rule.higher else low > 0
    return Elimination(
        candidate,
        case,
        "worse" if worse else "undecided",
        len(differences),
        exp(mean),
        Interval(exp(low), exp(min(high, 700.0))),
    )


def _reach(differences: Sequence[float], noise: float, among: int) -> float:
    """Return half the width of the interval of a mean difference.

    A few differences hardly give a variance, so that of all cases stands beside it (Smyth, "Linear
    models and empirical Bayes methods", 2004).
    """
    count = len(differences)
    mean = sum(differences) / count
    own = sum((difference - mean) ** 2 for difference in differences)
    df = SHARED_DF + count - 1
    variance = (SHARED_DF * 2 * noise**2 + own) / df
    return float(special.stdtrit(df, 1 - LEVEL / among / 2)) * sqrt(variance / count)


def _distance(case: Elimination, higher: bool) -> tuple[int, float]:
    behind = inf
    if case.ratio is not None and isfinite(case.ratio) and case.ratio > 0:
        behind = log(case.ratio) * (-1 if higher else 1)
    return list(WHYS).index(case.eliminated.why), behind
