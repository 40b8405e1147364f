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

What a site sets as its default comes from the results of several nodes, whose configurations are
taken together. Each has its own best mapping, also one that other nodes lack; only mappings that
are compared on every node may be the default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain, combinations
from statistics import fmean
from typing import Any, Literal

from pinstudy.analysis.findings.effects import TAIL, Cases, Effect, Why
from pinstudy.analysis.findings.levers import all_else
from pinstudy.analysis.objectives import OBJECTIVES, TIME, Objective
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.sample import Interval, named_ends

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


@dataclass(frozen=True)
class Compared:
    """A configuration in one objective: the effects of its mappings against each other.

    `missing` says of the other mappings of the results why they have none here.
    """

    example: Case
    effects: _Effects
    missing: Mapping[str, Absent]


def one_for_all(cases: Cases) -> tuple[OneForAll, ...]:
    """Return the mappings' losses by objective, on the node itself and then in guests.

    There are none of an objective in which no two mappings are compared.
    """
    found = (
        _one_for_all(cases, cases_where(cases, in_guests), objective, in_guests)
        for in_guests in (False, True)
        for objective in OBJECTIVES
    )
    return tuple(answer for answer in found if answer.defaults)


def _one_for_all(
    cases: Cases, mine: Sequence[Case], objective: Objective, in_guests: bool
) -> OneForAll:
    found = compared_configurations(cases, mine, objective)
    names = dict.fromkeys(case.key.full_mapping for case in mine)
    count = len(names)
    defaults = [default_of(name, found, count) for name in names if is_compared(name, found)]
    configurations = tuple(
        Configuration(
            configuration.example,
            {name: _loss([effects], count) for name, effects in configuration.effects.items()},
            configuration.missing,
        )
        for configuration in found
    )
    return OneForAll(objective, in_guests, configurations, tuple(sorted(defaults, key=order)))


def compared_configurations(
    cases: Cases, mine: Sequence[Case], objective: Objective
) -> list[Compared]:
    """Return the configurations of these cases, in one objective."""
    every = dict.fromkeys(case.key.full_mapping for case in mine)
    found = []
    for group in grouped(mine, lambda case: all_else(case, "mapping")):
        compared, absent = _compared(cases, group, objective)
        effects = _effects(cases, compared, objective)
        missing = {name: absent.get(name, "no case") for name in every if name not in effects}
        found.append(Compared(group[0], effects, missing))
    return found


def cases_where(cases: Cases, in_guests: bool) -> list[Case]:
    """Return the cases of guests, or those of the node itself."""
    return [case for case in cases.cases if (case.key.of_vcpus is not None) == in_guests]


def is_compared(name: str, configurations: Sequence[Compared]) -> bool:
    """Return whether a mapping is compared in any of these configurations."""
    return any(name in configuration.effects for configuration in configurations)


def order(default: Default) -> tuple[float, ...]:
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
        against = (cases.effect(case, other, objective) for other in compared if other is not case)
        effects = [effect for effect in against if isinstance(effect, Effect)]
        found.setdefault(case.key.full_mapping, []).extend(effects)
    return found


def default_of(name: str, configurations: Sequence[Compared], mappings: int) -> Default:
    """Return a mapping's losses, where it is one of so many that may be chosen."""
    where = [found for found in configurations if name in found.effects]
    mine = [found.effects[name] for found in where]
    return Default(
        name,
        worst=_loss(mine, mappings),
        mean=_mean_loss(mine, mappings),
        compared=len(mine),
        missing=Counter(
            found.missing.get(name, "no case")
            for found in configurations
            if name not in found.effects
        ),
        against_fewer=sum(
            any(why != "left out" for why in found.missing.values()) for found in where
        ),
    )


def _loss(of_configurations: Sequence[Sequence[Effect]], mappings: int) -> Loss:
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
    low = max(1.0, *(interval.low for interval in intervals))
    high = max(1.0, *(interval.high for interval in intervals))
    return Loss(ratio, Interval(low, high))


def _mean_loss(of_configurations: Sequence[Sequence[Effect]], mappings: int) -> Loss:
    """Return the mean loss over configurations, which share the level of its interval."""
    losses = [_loss([effects], mappings * len(of_configurations)) for effects in of_configurations]
    ratio = fmean(loss.ratio for loss in losses)
    intervals = [loss.interval for loss in losses if loss.interval is not None]
    if len(intervals) < len(losses):
        return Loss(ratio, None)
    low, high = (fmean(ends) for ends in zip(*map(astuple, intervals), strict=True))
    return Loss(ratio, Interval(low, high))


def one_for_all_data(answer: OneForAll) -> dict[str, Any]:
    """Return the mappings' losses as plain data, unrounded."""
    return {
        "objective": str(answer.objective),
        "in_guests": answer.in_guests,
        "defaults": [default_data(default) for default in answer.defaults],
        "configurations": [
            {
                "example": configuration.example.key.case_id,
                "losses": {name: _loss_data(loss) for name, loss in configuration.losses.items()},
                "missing": dict(configuration.missing),
            }
            for configuration in answer.configurations
        ],
    }


def default_data(default: Default) -> dict[str, Any]:
    """Return a mapping's losses as plain data, unrounded."""
    return {
        "mapping": default.mapping,
        "worst": _loss_data(default.worst),
        "mean": _loss_data(default.mean),
        "compared": default.compared,
        "missing": dict(default.missing),
        "against_fewer": default.against_fewer,
    }


def _loss_data(loss: Loss) -> dict[str, Any]:
    return {"ratio": loss.ratio, **named_ends("interval", loss.interval)}


@dataclass(frozen=True)
class AllNodes:
    """The mappings that are compared on every node, in one objective, the site's default first.

    They are in the order of `OneForAll`. `worst_on` names the node of each one's worst loss.
    `lacking` has the nodes on which another mapping is not compared. `in_guests`: the mappings are
    those of guests. `configurations` counts those of all nodes in which mappings are compared.
    """

    objective: Objective
    in_guests: bool
    nodes: tuple[str, ...]
    configurations: int
    defaults: tuple[Default, ...]
    worst_on: Mapping[str, str]
    lacking: Mapping[str, tuple[str, ...]]


def all_nodes(nodes: Mapping[str, Sequence[Cases]]) -> tuple[AllNodes, ...]:
    """Return the mappings' losses over all nodes by objective; a node may have several results.

    There are those of time on the nodes themselves, and others where a mapping is compared on
    every node; none of fewer than two nodes.
    """
    if len(nodes) < 2:
        return ()
    found = (
        _all_nodes(nodes, objective, in_guests)
        for in_guests in (False, True)
        for objective in OBJECTIVES
    )
    return tuple(
        answer
        for answer in found
        if answer.defaults or (answer.objective == TIME and not answer.in_guests)
    )


def _all_nodes(
    nodes: Mapping[str, Sequence[Cases]], objective: Objective, in_guests: bool
) -> AllNodes:
    by_node = {
        node: [
            configuration
            for cases in results
            for configuration in compared_configurations(
                cases, cases_where(cases, in_guests), objective
            )
            if configuration.effects
        ]
        for node, results in nodes.items()
    }
    every = list(chain.from_iterable(by_node.values()))
    names = dict.fromkeys(name for configuration in every for name in configuration.effects)
    lacking = {
        name: tuple(node for node, mine in by_node.items() if not is_compared(name, mine))
        for name in names
    }
    common = [name for name in names if not lacking[name]]
    return AllNodes(
        objective,
        in_guests,
        tuple(nodes),
        len(every),
        tuple(sorted((default_of(name, every, len(common)) for name in common), key=order)),
        {name: _worst_on(name, by_node) for name in common},
        {name: nodes for name, nodes in lacking.items() if nodes},
    )


def _worst_on(name: str, by_node: Mapping[str, Sequence[Compared]]) -> str:
    """Return the node of a mapping's worst loss; of equal ones the first."""
    return max(by_node, key=lambda node: default_of(name, by_node[node], 1).worst.ratio)


def all_nodes_data(found: Sequence[AllNodes]) -> list[dict[str, Any]]:
    """Return the findings as plain data, unrounded; `default` is None where no mapping is one."""
    return [
        {
            "objective": str(answer.objective),
            "in_guests": answer.in_guests,
            "nodes": list(answer.nodes),
            "configurations": answer.configurations,
            "default": answer.defaults[0].mapping if answer.defaults else None,
            "defaults": [
                default_data(default) | {"worst_on": answer.worst_on[default.mapping]}
                for default in answer.defaults
            ],
            "lacking": {name: list(nodes) for name, nodes in answer.lacking.items()},
        }
        for answer in found
    ]
