"""Levers: what a factor of the study changes where everything else is equal.

A lever is one level of a factor against a reference level: 8 threads against 2, powersave against
performance. Its pairs are cases that differ in this factor alone. They are not averaged: a
governor that slows one program and not another has no mean effect that anybody would meet.

Two cases of a lever share no case with another of its pairs, but pairs may share a boot, and those
of several levers a reference. What is said of all pairs of a lever holds whatever they share: the
smallest true effect is that of one pair, which chance does not choose, and the least lower end of
all 95 % intervals exceeds it no more often than this pair's own lower end does. So does the
greatest one's. Ends are 2.5 % each, and no correction for the number of pairs is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from pinstudy.analysis.findings.effects import Cases, Effect, Why
from pinstudy.analysis.objectives import OBJECTIVES, Objective
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.configs.settings import NAMES

Factor: TypeAlias = str
Level = str | int | None


def _level_of_setting(name: str) -> Callable[[Case], Level]:
    return lambda case: case.key.settings.asked.get(name)


# A level is None where a case does not ask for one, as without a co-runner.
_LEVELS: Mapping[Factor, Callable[[Case], Level]] = {
    "threads": lambda case: case.key.table.threads,
    "governor": lambda case: case.key.governor,
    "schedule": lambda case: None if case.key.no_schedule else case.key.table.schedule,
    "wait_policy": lambda case: case.key.table.wait_policy,
    "build": lambda case: case.key.table.build,
    "co_runner": lambda case: case.key.co_runner,
    **{name: _level_of_setting(name) for name in NAMES},
    "mapping": lambda case: case.key.full_mapping,
}
FACTORS: tuple[Factor, ...] = tuple(_LEVELS)


def level_of(case: Case, factor: Factor) -> Level:
    """Return the level of a factor that a case has."""
    return _LEVELS[factor](case)


def program_of(case: Case) -> tuple[object, ...]:
    """Return what no lever changes: the program, its size and ranks, and where it ran."""
    key, table = case.key, case.key.table
    return key.study, key.node_id, table.app, table.size, *key.where


@dataclass(frozen=True)
class LeverPair:
    """Two cases that differ in one factor: the case with the lever's level, and the reference.

    `effects` are the case's values over the reference's, by objective; `missing` says of which
    objectives nobody can say, and why.
    """

    case: Case
    reference: Case
    effects: Mapping[Objective, Effect]
    missing: Mapping[Objective, Why]


@dataclass(frozen=True)
class EffectRange:
    """The effects of several pairs, as ratios: the smallest and the greatest that was found.

    `interval` holds all true effects with a confidence of 95 %; None where one pair has none.
    """

    low: float
    high: float
    interval: Interval | None
    pairs: int


@dataclass(frozen=True)
class Lever:
    """A level of a factor against the reference level, pair by pair.

    `is_default`: the pairs' threads are mapped as by default, by the baselines' mapping. A lever
    of the mapping is always against it.
    """

    factor: Factor
    level: Level
    reference: Level
    is_default: bool
    pairs: tuple[LeverPair, ...]

    def range_of(self, objective: Objective) -> EffectRange | None:
        """Return the range of an objective's effects; None without any."""
        return range_of(self.pairs, objective)

    def missing(self, objective: Objective) -> Mapping[Why, int]:
        """Return how many pairs are not compared, by why."""
        return Counter(pair.missing[objective] for pair in self.pairs if objective in pair.missing)


def objectives_of(pairs: Iterable[LeverPair]) -> tuple[Objective, ...]:
    """Return by what pairs are compared, or could not be: OBJECTIVES, then what programs print."""
    printed = (name for pair in pairs for name in (*pair.effects, *pair.missing))
    return tuple(dict.fromkeys((*OBJECTIVES, *printed)))


def range_of(pairs: Sequence[LeverPair], objective: Objective) -> EffectRange | None:
    """Return the range of the effects of pairs, of one lever or of several; None without any."""
    effects = [pair.effects[objective] for pair in pairs if objective in pair.effects]
    if not effects:
        return None
    intervals = [interval for effect in effects if (interval := effect.between()) is not None]
    reach = None
    if len(intervals) == len(effects):
        reach = Interval(
            min(interval.low for interval in intervals),
            max(interval.high for interval in intervals),
        )
    ratios = [effect.ratio for effect in effects]
    return EffectRange(min(ratios), max(ratios), reach, len(effects))


def levers_of(cases: Cases) -> tuple[Lever, ...]:
    """Return the levers of the factors that vary, in the order of FACTORS."""
    return tuple(lever for factor in FACTORS for lever in _levers(cases, factor))


def _levers(cases: Cases, factor: Factor) -> Iterator[Lever]:
    defaults = {
        case.key.full_mapping for case in cases.cases if case.key.case_id in cases.baselines
    }
    by_lever: dict[tuple[Level, Level, bool], list[LeverPair]] = {}
    for case, reference in _pairs(cases.cases, factor, defaults):
        is_default = reference.key.full_mapping in defaults
        key = level_of(case, factor), level_of(reference, factor), is_default
        by_lever.setdefault(key, []).append(_pair(cases, case, reference))
    # A stable sort: levels stay in the order of the study.
    for key in sorted(by_lever, key=lambda key: not key[2]):
        yield Lever(factor, *key, tuple(by_lever[key]))


def _pair(cases: Cases, case: Case, reference: Case) -> LeverPair:
    found = {objective: cases.effect(case, reference, objective) for objective in cases.objectives}
    return LeverPair(
        case,
        reference,
        {objective: effect for objective, effect in found.items() if isinstance(effect, Effect)},
        {objective: why for objective, why in found.items() if not isinstance(why, Effect)},
    )


def _pairs(
    cases: Sequence[Case], factor: Factor, defaults: set[str]
) -> Iterator[tuple[Case, Case]]:
    """Yield each case with the one that has the reference level and is equal in all else."""
    levels = list(dict.fromkeys(level_of(case, factor) for case in cases))
    if len(levels) < 2:
        return

    def order(level: Level) -> tuple[bool, int]:
        """Sort the reference first: the default mapping, fewest threads, nothing asked for."""
        if factor == "mapping":
            return level not in defaults, levels.index(level)
        if isinstance(level, int):
            return True, level
        return level is not None, levels.index(level)

    for equal in grouped(cases, lambda case: all_else(case, factor)):
        by_level = grouped(equal, lambda case: level_of(case, factor))
        references, *others = sorted(by_level, key=lambda alike: order(level_of(alike[0], factor)))
        if factor == "mapping" and level_of(references[0], factor) not in defaults:
            continue
        # Where a mapping was run on several sets of CPUs, the reference is on the same ones.
        on_cpus = {case.key.cpus: case for case in reversed(references)}
        for case in chain.from_iterable(others):
            yield case, on_cpus.get(case.key.cpus, references[0])


def all_else(case: Case, factor: Factor) -> Hashable:
    """Return all that a case shares with the others of its lever."""
    return program_of(case), *(level_of(case, other) for other in FACTORS if other != factor)
