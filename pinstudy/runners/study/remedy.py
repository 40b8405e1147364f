"""Which options give a study cases that can run here, where it has none: each was tried."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import plural
from pinstudy.configs.library import is_installed, list_mappings, load_study
from pinstudy.configs.overrides import AS_WRITTEN, Overrides
from pinstudy.configs.study import CURRENT_GOVERNOR, Study
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.plan.selection import describe
from pinstudy.runners.study.agenda import entrants_of

if TYPE_CHECKING:
    from pinstudy.runners.study.machine import Machine

# Shipped studies that change no governor, without guests and with them.
_WITH_ANY_NODE, _WITH_ANY_GUEST = "quick", "vm"
# The mappings of the publication come first in their file.
_USUAL_MAPPINGS = 5


def remedy(machine: Machine, study: Study, more: tuple[str, ...] = ()) -> str:
    """Return what to add to the command so that cases can run here; empty where nothing helps.

    The fewest options that do it are named, after them those of `more`. Of a shipped study that no
    option helps, another one is named.
    """
    if study.spread:
        return ""
    for added in _candidates(study, machine.node.topology):
        if count := _startable(machine, study.path, _with(study.overrides, added)):
            options = shlex.join([*added.of_cases, *more])
            return f"add {options}: {plural(count, 'case')} can run then"
    other = _WITH_ANY_GUEST if study.vm else _WITH_ANY_NODE
    count = 0
    if is_installed(study) and study.name != other:
        count = _startable(machine, other, AS_WRITTEN)
    return f"`{PINSTUDY} run {other}` has {plural(count, 'case')} that can run" if count else ""


# Where a plan has no cases, and none that cannot run either.
LEFT_OUT = "`exclude` leaves out every case"


def with_remedy(
    reason: str, machine: Machine, study: Study, more: tuple[str, ...] = ()
) -> StudyError:
    """Return the error of a study of which nothing can run, with what helps."""
    return StudyError("; ".join(filter(None, [reason, remedy(machine, study, more)])))


def _startable(machine: Machine, study: str, overrides: Overrides) -> int:
    """Return how many cases of a study can start here; 0 where it cannot have these options."""
    try:
        # By its name an installed study is found in any folder.
        plan = machine.plan(load_study(study, overrides))
    except UserError:
        return 0
    return len(machine.startable(plan))


def no_race(plan: Plan) -> str:
    """Return why the cases of a plan cannot race; empty where they can."""
    try:
        entrants_of(plan)
    except StudyError as error:
        return str(error)
    return ""


def _with(overrides: Overrides, added: Overrides) -> Overrides:
    """Return the options as they are when others stand beside them."""
    return replace(
        overrides,
        governors=(*overrides.governors, *added.governors),
        threads=(*overrides.threads, *added.threads),
        mappings=(*overrides.mappings, *added.mappings),
    )


def _candidates(study: Study, topology: Topology) -> Iterator[Overrides]:
    """Yield what may help: one key replaced, then two, then three; more threads before fewer."""
    fitting = list(_powers_of_two(len(topology.allowed)))
    choices: list[tuple[str, list[tuple[str, ...]]]] = [
        ("governors", [(CURRENT_GOVERNOR,)]),
        ("mappings", [_usual_mappings(study, topology)]),
        ("threads", [(str(count),) for count in reversed(fitting)]),
    ]
    for number in range(1, len(choices) + 1):
        for some in combinations(choices, number):
            names = [name for name, _ in some]
            for values in product(*(values for _, values in some)):
                yield replace(AS_WRITTEN, **dict(zip(names, values, strict=True)))  # type: ignore[arg-type]


def _powers_of_two(most: int) -> Iterator[int]:
    count = 1
    while count <= most:
        yield count
        count *= 2


def _usual_mappings(study: Study, topology: Topology) -> tuple[str, ...]:
    """Return the usual mappings and those of the study, of those that this node has CPUs for."""
    own = (choice.mappings or () for choice in study.apps)
    every = (*list_mappings()[:_USUAL_MAPPINGS], *study.mappings, *chain.from_iterable(own))
    able = [mapping.name for mapping in every if not describe(mapping, topology)[1]]
    return tuple(dict.fromkeys(able))
