"""How much of their cores' speed teams reached, and how much equal shares of the work allow.

Both are ratios of times, taken as logarithms. Runs of one block make one perfect time and one
ratio, so that what slows a whole block cancels out, for the shares of the speeds add up to 1: then
the trimmed mean of the blocks' log ratios is the typical one, and its error Yuen's
(analysis.statistics.difference). Without common blocks the errors of the cases add up: the log of
the perfect time changes by w_k = (n_k / t_k) / sum(n_j / t_j) with the log time of kind k (delta
method), and degrees of freedom are Welch's and Satterthwaite's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.results.baselines import are_in_turn
from pinstudy.analysis.results.bounds import Bound, NoBound, perfect_s
from pinstudy.analysis.results.bounds import Why as WhyNoBound
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.modes import modes_of, within_units
from pinstudy.analysis.statistics.sample import Array, Interval, named_ends, typical
from pinstudy.analysis.verdict.values import Values, in_common_blocks, published_of

# Why a team has no number: it has no bound, or its runs and those of the speeds do not compare.
Why = WhyNoBound | Literal["out of turn", "modes"]


@dataclass(frozen=True)
class Share:
    """A share of the cores' speed, and its error; None where no deviation is known."""

    value: float
    difference: Difference | None = None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval; None without any spread."""
        return self.difference.known_interval() if self.difference else None


class Cap(Share):
    """The share that equal shares of the work allow: none is above 1."""

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval, as far as it is at most 1; None without any spread."""
        found = super().interval
        return found and Interval(min(found.low, 1.0), min(found.high, 1.0))


@dataclass(frozen=True)
class Reach:
    """What a team reached of its bound.

    `perfect_s` is the time under perfect balance, by typical times (means without runs), in
    seconds. `equal_shares` is the most that equal shares of the work allow; None where threads may
    move, and of one kind.
    """

    bound: Bound
    perfect_s: float
    reached: Share
    equal_shares: Share | None


@dataclass(frozen=True)
class NoReach:
    """Why a team has none, and the core kinds that this is of."""

    why: Why
    kinds: tuple[str, ...] = ()


def reaches_of(
    bounds: Mapping[str, Sequence[Bound | NoBound]], values: Mapping[str, Values]
) -> dict[str, tuple[Reach | NoReach, ...]]:
    """Return what each team reached, by case_id; `values` are those of the runs, if there are."""
    return {
        case_id: tuple(
            NoReach(bound.why, bound.kinds) if isinstance(bound, NoBound) else _reach(bound, values)
            for bound in of_case
        )
        for case_id, of_case in bounds.items()
    }


# The difference of a log ratio that changes so much with the log time of each kind, and of TEAM;
# None where no deviation is known.
_Combine = Callable[[float, Mapping[str, float]], Difference | None]
_TEAM = ""


def _reach(bound: Bound, values: Mapping[str, Values]) -> Reach | NoReach:
    team = values.get(bound.case.key.case_id)
    found = {kind: values.get(case.key.case_id) for kind, case in bound.references.items()}
    speeds = {kind: own for kind, own in found.items() if own is not None}
    if team is None or len(speeds) < len(found):
        return _by_means(bound)
    if away := tuple(kind for kind, own in speeds.items() if not are_in_turn(own.made, team.made)):
        return NoReach("out of turn", away)
    typical_s = {kind: typical(own.measured(TIME)) for kind, own in speeds.items()}
    core_s = bound.core_s(typical_s)
    together = in_common_blocks([team, *speeds.values()], TIME)
    if together is not None:
        (log_team, *logs), units = together
        if any(modes_of(within_units(log_team - log_s, units)) for log_s in logs):
            return NoReach("modes")
        return _in_blocks(bound, core_s, log_team, dict(zip(speeds, logs, strict=True)), units)
    every = {_TEAM: team, **speeds}
    if any(modes_of(within_units(*own.logs(TIME))) for own in every.values()):
        return NoReach("modes")
    samples = {name: own.logs(TIME)[0] for name, own in every.items()}
    few = min(map(len, samples.values())) < 2

    def combined(log_ratio: float, weights: Mapping[str, float]) -> Difference | None:
        terms = [(weight, samples[name]) for name, weight in weights.items()]
        return None if few else Difference.of_weighted(log_ratio, terms)

    return _added_up(bound, core_s, typical(team.measured(TIME)), combined)


def _in_blocks(
    bound: Bound,
    core_s: Mapping[str, float],
    log_team: Array,
    log_kinds: Mapping[str, Array],
    units: NDArray[np.intp],
) -> Reach:
    """Return what was reached by runs whose log times at each position are of one block.

    `core_s` are typical times; `units` numbers each block's boot or day.
    """
    blocks_s = bound.core_s({kind: np.exp(log_s) for kind, log_s in log_kinds.items()})
    log_perfect = np.log(perfect_s(bound.threads, blocks_s))
    reached = Difference.of_pairs(log_perfect, log_team, units)
    cap = None
    if slowest := bound.slowest(core_s):
        log_equal = np.log(blocks_s[slowest] / bound.count)
        found = Difference.of_pairs(log_perfect, log_equal, units)
        cap = Cap(min(found.ratio, 1.0), found)
    return Reach(bound, perfect_s(bound.threads, core_s), Share(reached.ratio, reached), cap)


def _added_up(bound: Bound, core_s: Mapping[str, float], team_s: float, combine: _Combine) -> Reach:
    """Return what was reached where the errors of the cases add up; times are in seconds."""
    perfect = perfect_s(bound.threads, core_s)
    # Of the team's speed each kind has such a share.
    weights = {kind: count / core_s[kind] * perfect for kind, count in bound.threads.items()}
    reached = perfect / team_s
    found = Share(reached, combine(math.log(reached), {**weights, _TEAM: -1.0}))
    slowest = bound.slowest(core_s)
    if slowest is None:
        return Reach(bound, perfect, found, None)
    cap = perfect * bound.count / core_s[slowest]
    of_cap = weights | {slowest: weights[slowest] - 1}
    return Reach(bound, perfect, found, Cap(cap, combine(math.log(cap), of_cap)))


def _by_means(bound: Bound) -> Reach | NoReach:
    """Return what was reached by means and deviations, as of a publication or a card."""
    every = {_TEAM: bound.case, **bound.references}
    if any(case.circumstances.out_of_turn for case in every.values()):
        return NoReach("out of turn")
    if any(TIME in case.circumstances.unclear for case in every.values()):
        return NoReach("modes")
    found = {name: published_of(case.time) for name, case in every.items()}
    known = {name: numbers for name, numbers in found.items() if numbers}

    def combined(log_ratio: float, weights: Mapping[str, float]) -> Difference | None:
        if len(known) < len(found):
            return None
        terms = [(weight, known[name]) for name, weight in weights.items()]
        return Difference.of_weighted_summaries(log_ratio, terms)

    return _added_up(bound, bound.mean_core_s, bound.case.time.mean, combined)


def raw_reach(reach: Reach | NoReach) -> dict[str, Any]:
    """Return what a team reached as plain data, unrounded; docs/verdict-json.md has the fields."""
    if isinstance(reach, NoReach):
        return {"missing": reach.why, "kinds": list(reach.kinds)}
    bound, difference, cap = reach.bound, reach.reached.difference, reach.equal_shares
    return {
        "speeds": bound.speeds,
        "references": {kind: case.key.case_id for kind, case in bound.references.items()},
        "threads_by_kind": dict(bound.threads),
        "perfect_s": reach.perfect_s,
        "reached": reach.reached.value,
        **named_ends("reached", reach.reached.interval),
        "equal_shares": cap.value if cap else None,
        **named_ends("equal_shares", cap.interval if cap else None),
        "estimand": difference.estimand if difference else None,
        "n": difference.n if difference else None,
        "paired": difference.paired if difference else None,
    }
