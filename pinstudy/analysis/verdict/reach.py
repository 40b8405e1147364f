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
from collections.abc import Mapping, Sequence
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
from pinstudy.analysis.statistics.sample import Interval, named_ends, typical
from pinstudy.analysis.verdict.values import Values, in_common_blocks, published_of

Array = NDArray[np.float64]
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


@dataclass(frozen=True)
class _Runs:
    """The log times of a team and of what tells the speeds of its kinds.

    Arrays have one length where the values at each position are of one block: `units` numbers its
    boot or day, and is None without common blocks.
    """

    team: Array
    kinds: Mapping[str, Array]
    units: NDArray[np.intp] | None


def _reach(bound: Bound, values: Mapping[str, Values]) -> Reach | NoReach:
    team = values.get(bound.case.key.case_id)
    found = {kind: values.get(case.key.case_id) for kind, case in bound.references.items()}
    speeds = {kind: own for kind, own in found.items() if own is not None}
    if team is None or len(speeds) < len(found):
        return _by_means(bound)
    if away := tuple(kind for kind, own in speeds.items() if not are_in_turn(own.made, team.made)):
        return NoReach("out of turn", away)
    runs = _runs(team, speeds)
    if runs is None:
        return NoReach("modes")
    core_s = bound.core_s({kind: typical(own.measured(TIME)) for kind, own in speeds.items()})
    return _shares(bound, core_s, typical(team.measured(TIME)), runs)


def _runs(team: Values, speeds: Mapping[str, Values]) -> _Runs | None:
    """Return the runs, in common blocks if there are any; None where modes hide what is typical."""
    together = in_common_blocks([team, *speeds.values()], TIME)
    if together is not None:
        (log_team, *log_speeds), units = together
        ratios = [within_units(log_team - logs, units) for logs in log_speeds]
        kinds = dict(zip(speeds, log_speeds, strict=True))
        return None if any(map(modes_of, ratios)) else _Runs(log_team, kinds, units)
    every = [own.logs(TIME) for own in (team, *speeds.values())]
    if any(modes_of(within_units(*own)) for own in every):
        return None
    return _Runs(every[0][0], {kind: own.logs(TIME)[0] for kind, own in speeds.items()}, None)


def _shares(bound: Bound, core_s: Mapping[str, float], team_s: float, runs: _Runs) -> Reach:
    """Return what was reached; `core_s` and `team_s` are typical times, in seconds."""
    perfect, slowest = perfect_s(bound.threads, core_s), bound.slowest
    equal_s = core_s[slowest] / bound.count if slowest else math.nan
    if min(len(logs) for logs in (runs.team, *runs.kinds.values())) < 2:
        cap = Share(perfect / equal_s) if slowest else None
        return Reach(bound, perfect, Share(perfect / team_s), cap)
    if runs.units is None:
        weights = _weights(bound, core_s)
        kinds = [(weights[kind], logs) for kind, logs in runs.kinds.items()]
        reached = Difference.of_weighted(math.log(perfect / team_s), [*kinds, (-1.0, runs.team)])
        cap_found = None
        if slowest:
            of_cap = [(weights[k] - (k == slowest), logs) for k, logs in runs.kinds.items()]
            cap_found = Difference.of_weighted(math.log(perfect / equal_s), of_cap)
    else:
        blocks_s = bound.core_s({kind: np.exp(logs) for kind, logs in runs.kinds.items()})
        log_perfect = np.log(perfect_s(bound.threads, blocks_s))
        reached = Difference.of_pairs(log_perfect, runs.team, runs.units)
        cap_found = None
        if slowest:
            log_equal = np.log(blocks_s[slowest] / bound.count)
            cap_found = Difference.of_pairs(log_perfect, log_equal, runs.units)
    return Reach(bound, perfect, _share(reached), _share(cap_found) if cap_found else None)


def _share(difference: Difference) -> Share:
    return Share(difference.ratio, difference)


def _weights(bound: Bound, core_s: Mapping[str, float]) -> dict[str, float]:
    """Return the share of the team's speed that each kind has."""
    perfect = perfect_s(bound.threads, core_s)
    return {kind: count / core_s[kind] * perfect for kind, count in bound.threads.items()}


def _by_means(bound: Bound) -> Reach | NoReach:
    """Return what was reached by means and deviations, as of a publication or a card."""
    cases = [bound.case, *bound.references.values()]
    if any(case.circumstances.out_of_turn for case in cases):
        return NoReach("out of turn")
    if any(TIME in case.circumstances.unclear for case in cases):
        return NoReach("modes")
    own = published_of(bound.case.time)
    kinds = {kind: published_of(case.time) for kind, case in bound.references.items()}
    weights, cap = _weights(bound, bound.mean_core_s), bound.equal_shares
    terms = [(weights[kind], known) for kind, known in kinds.items() if known]
    if own is None or len(terms) < len(kinds):
        equal = None if cap is None else Share(cap)
        return Reach(bound, bound.perfect_s, Share(bound.reached), equal)
    reached = Difference.of_weighted_summaries(math.log(bound.reached), [*terms, (-1.0, own)])
    equal = None
    if cap is not None:
        of_cap = [(weights[k] - (k == bound.slowest), known) for k, known in kinds.items() if known]
        equal = _share(Difference.of_weighted_summaries(math.log(cap), of_cap))
    return Reach(bound, bound.perfect_s, _share(reached), equal)


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
