"""One mapping for all: how far each mapping is behind the best one of every configuration.

What an administrator sets as a site's default serves every program, so that what counts is the
worst loss, and then the mean one.

Which mapping is best is not known either: the best one by its runs was lucky, too. The true loss
of mapping i is the greatest of its true ratios to all mappings, itself included, and intervals of
all these ratios give one of the greatest (Hsu, "Constrained Simultaneous Confidence Intervals for
Multiple Comparisons with the Best", Annals of Statistics 12, 1984). Its upper end is the
greatest of their upper ends, at the level of one: the true best mapping is one that chance does
not choose. Its lower end is the greatest of their lower ends, which chance does choose, so that
these share their level (Bonferroni). This holds whatever the ratios share, such as a case or a
boot. All levels are shared among the mappings, so that one may be chosen by what stands here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from analysis.findings.effects import TAIL, Cases, Effect, Why
from analysis.findings.levers import all_else
from analysis.objectives import OBJECTIVES, Objective
from analysis.results.case import Case, grouped
from analysis.statistics.sample import Interval

# Why a mapping has no loss in a configuration: `no case` of it there, or `alone` of all mappings.
Absent = Why | Literal["no case", "alone"]


@dataclass(frozen=True)
class Loss:
    """How many times the best value a mapping has, 1 where it is the best, and its interval.

    `interval` is one of 95 % for all mappings together; None where a deviation is not known.
    """

    ratio: float
    interval: Interval | None


@dataclass(frozen=True)
class Configuration:
    """The cases that differ in their mapping alone, compared in one objective.

    `example` is one of them. `losses` are by mapping, of those that are all compared with each
    other; `missing` says of the others why not.
    """

    example: Case
    losses: Mapping[str, Loss]
    missing: Mapping[str, Absent]


@dataclass(frozen=True)
class Default:
    """A mapping as the one for all: its worst and its mean loss over the configurations.

    They are over the `compared` configurations alone; `missing` counts the others, by why. In
    `against_fewer` of those compared another mapping is missing, which may be the best one there;
    one that the node cannot run is not.
    The mean is that of the ratios.
    """

    mapping: str
    worst: Loss
    mean: Loss
    compared: int
    missing: Mapping[Absent, int]
    against_fewer: int


@dataclass(frozen=True)
class OneForAll:
    """All mappings as the one for all, in one objective, in the order in which to take them.

    Those that are missing in fewer configurations come first, then those of less worst loss.
    `in_guests`: the mappings are those of guests.
    """

    objective: Objective
    in_guests: bool
    configurations: tuple[Configuration, ...]
    defaults: tuple[Default, ...]


# The effects of a case on all cases that are compared with it, itself left out.
_Effects = Mapping[str, Sequence[Effect]]


def one_for_all(cases: Cases) -> tuple[OneForAll, ...]:
    """Return the mappings' losses by objective, on the node itself and then in guests.

    There are none of an objective in which no two mappings are compared.
    """
    found = (
        _one_for_all(cases, mine, objective, in_guests)
        for in_guests in (False, True)
        for mine in ([of for of in cases.cases if (of.key.of_vcpus is not None) == in_guests],)
        for objective in OBJECTIVES
    )
    return tuple(of for of in found if of.defaults)


def _one_for_all(
    cases: Cases, mine: Sequence[Case], objective: Objective, in_guests: bool
) -> OneForAll:
    every = tuple(dict.fromkeys(case.key.full_mapping for case in mine))
    groups = grouped(mine, lambda case: all_else(case, "mapping"))
    effects: list[_Effects] = []
    missing: list[dict[str, Absent]] = []
    for group in groups:
        compared, absent = _compared(cases, group, objective)
        effects.append(_effects(cases, compared, objective))
        missing.append({name: absent.get(name, "no case") for name in every})
    known = [of for of in effects if of]
    defaults = [_default(name, every, effects, missing) for name in every if _any(name, known)]
    configurations = tuple(
        Configuration(
            group[0],
            {name: _loss([rows[name]], len(every)) for name in rows},
            {name: why for name, why in absent.items() if name not in rows},
        )
        for group, rows, absent in zip(groups, effects, missing, strict=True)
    )
    return OneForAll(objective, in_guests, configurations, tuple(sorted(defaults, key=_order)))


def _any(name: str, effects: Sequence[_Effects]) -> bool:
    return any(name in of for of in effects)


def _order(default: Default) -> tuple[float, ...]:
    """Sort by what may be lost at most, where it is known: what is uncertain is no default."""
    worst = default.worst
    at_most = worst.interval.high if worst.interval else worst.ratio
    return -default.compared, at_most, default.mean.ratio


def _compared(
    cases: Cases, group: Sequence[Case], objective: Objective
) -> tuple[list[Case], dict[str, Absent]]:
    """Return the cases of which each is compared with each, and why the others are not.

    Where two cannot be compared, the one that fails oftener is left out; else the later one.
    """
    absent: dict[str, Absent] = {}
    left = list(group)
    for case in group:
        if (why := cases.why_not(case, objective)) is not None:
            absent[case.key.full_mapping] = why
            left.remove(case)
    while True:
        failing = [
            (at, other, found)
            for (at, a), (other, b) in combinations(enumerate(left), 2)
            if not isinstance(found := cases.effect(a, b, objective), Effect)
        ]
        if not failing:
            break
        counts = Counter(at for a, b, _ in failing for at in (a, b))
        worst = max(counts, key=lambda at: (counts[at], at))
        absent[left[worst].key.full_mapping] = next(why for a, b, why in failing if worst in (a, b))
        del left[worst]
    if len(left) == 1:
        absent[left[0].key.full_mapping] = "alone"
        left = []
    return left, absent


def _effects(cases: Cases, compared: Sequence[Case], objective: Objective) -> _Effects:
    """Return each mapping's effects against all other cases; those of all its cases together.

    So a mapping that was run on two sets of CPUs has the loss of the worse.
    """
    found: dict[str, list[Effect]] = {}
    for case in compared:
        against = (cases.effect(case, of, objective) for of in compared if of is not case)
        effects = [effect for effect in against if isinstance(effect, Effect)]
        found.setdefault(case.key.full_mapping, []).extend(effects)
    return found


def _default(
    name: str,
    every: Sequence[str],
    effects: Sequence[_Effects],
    missing: Sequence[Mapping[str, Absent]],
) -> Default:
    mine = [rows[name] for rows in effects if name in rows]
    return Default(
        name,
        worst=_loss(mine, len(every)),
        mean=_mean_loss(mine, len(every)),
        compared=len(mine),
        missing=Counter(
            absent[name] for rows, absent in zip(effects, missing, strict=True) if name not in rows
        ),
        against_fewer=sum(
            name in rows and any(of not in rows and absent[of] != "left out" for of in every)
            for rows, absent in zip(effects, missing, strict=True)
        ),
    )


def _loss(of_configurations: Sequence[Sequence[Effect]], mappings: int) -> Loss:
    """Return the greatest loss of a mapping, of so many, over configurations."""
    effects = [effect for effects in of_configurations for effect in effects]
    ratio = max(1.0, *(effect.ratio for effect in effects))
    tail = TAIL / mappings
    intervals = [
        interval
        for effect in effects
        if (interval := effect.between(above=tail / len(effects), below=tail)) is not None
    ]
    if len(intervals) < len(effects):
        return Loss(ratio, None)
    low = max(1.0, *(of.low for of in intervals))
    high = max(1.0, *(of.high for of in intervals))
    return Loss(ratio, Interval(low, high))


def _mean_loss(of_configurations: Sequence[Sequence[Effect]], mappings: int) -> Loss:
    """Return the mean loss over configurations, which share the level of its interval."""
    losses = [_loss([of], mappings * len(of_configurations)) for of in of_configurations]
    ratio = _mean([loss.ratio for loss in losses])
    intervals = [loss.interval for loss in losses if loss.interval is not None]
    if len(intervals) < len(losses):
        return Loss(ratio, None)
    return Loss(
        ratio, Interval(_mean([of.low for of in intervals]), _mean([of.high for of in intervals]))
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
