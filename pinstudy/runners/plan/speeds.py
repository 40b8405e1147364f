"""The cases that tell the speeds of core kinds, which a study's key `bound` adds. Pure.

What a team could do follows from them (pinstudy/analysis/results/bounds.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pinstudy.configs.mapping import KIND_OF_SELECTION, PINS_ONE_THREAD, Mapping
from pinstudy.configs.study import LOADED, Study
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import ON_NODE, Case
from pinstudy.runners.plan.selection import CannotMapError, candidates


def cases_of_speeds(
    study: Study, topology: Topology, planned: Sequence[Case], skipped: Iterable[Case]
) -> Iterator[Case]:
    """Yield the cases to add, without their CPUs: one for each kind that a configuration may use.

    Each is pinned, of one thread, or of as many as its kind has cores. There is none of a kind that
    `planned` cases tell already. Rows go on behind those of their table, tables behind the last.
    """
    if study.bound is None or study.race is not None:
        return
    numbers: dict[tuple[object, ...], tuple[int, int]] = {}
    last = 0
    for case in (*planned, *skipped):
        table, row = numbers.get(_table(case), (case.table, 0))
        numbers[_table(case)] = table, max(row, case.number)
        last = max(last, case.table)
    told = {
        (_configuration(case), kind) for case in planned for kind in _tells(case, study, topology)
    }
    for team in filter(_is_team, planned):
        kinds = {topology.kind_of(cpu) for cpu in team.cpus}
        for kind in (kind.name for kind in topology.kinds if kind.name in kinds):
            key = _configuration(team), kind
            mapping = _pinned_to(kind, study, team)
            if key in told or mapping is None:
                continue
            told.add(key)
            case = _of_kind(team, mapping, _threads(mapping, study, topology))
            if _table(case) not in numbers:
                last += 1
            table, row = numbers.get(_table(case), (last, 0))
            numbers[_table(case)] = table, row + 1
            yield replace(case, table=table, number=row + 1)


def _is_team(case: Case) -> bool:
    return case.threads > 1 and case.engine == ON_NODE and case.co_runner is None


def _of_kind(team: Case, mapping: Mapping, threads: int) -> Case:
    return replace(
        team,
        threads=threads,
        mapping=mapping,
        mechanism=mapping.mechanism,
        cpus=(),
        places=(),
        resources="",
    )


def _threads(mapping: Mapping, study: Study, topology: Topology) -> int:
    if study.bound != LOADED:
        return 1
    try:
        return len(candidates(mapping, topology, 1))
    except CannotMapError:
        return 1


def _tells(case: Case, study: Study, topology: Topology) -> set[str]:
    """Return the kind whose speed a case tells, if any."""
    kinds = {topology.kind_of(cpu) for cpu in case.cpus}
    if len(kinds) > 1 or case.engine != ON_NODE or case.co_runner is not None:
        return set()
    known = {kind for kind in kinds if kind}
    if study.bound != LOADED:
        return known if case.threads == 1 else set()
    cores = [
        core
        for core in topology.cores
        if core.kind in known and topology.usable.intersection(core.cpus)
    ]
    used = [core for core in cores if set(core.cpus).intersection(case.cpus)]
    is_full = case.mapping.binding == "pin" and case.threads == len(used) == len(cores)
    return known if is_full else set()


def _pinned_to(kind: str, study: Study, case: Case) -> Mapping | None:
    """Return the mapping that pins threads to a kind's cores: the study's own if it has one."""
    selection = next((name for name, own in KIND_OF_SELECTION.items() if own == kind), None)
    if selection is None:
        return None
    choice = next(choice for choice in study.apps if choice.app == case.app)
    named = study.mappings if choice.mappings is None else choice.mappings
    own = (
        item
        for item in named
        if (item.selection, item.binding) == (selection, "pin")
        and item.mechanism not in PINS_ONE_THREAD
    )
    return next(own, Mapping(f"{selection}-pin", selection, "pin"))


def _table(case: Case) -> tuple[object, ...]:
    return (*_program(case), case.threads, case.engine)


def _configuration(case: Case) -> tuple[object, ...]:
    return (*_program(case), case.governor, case.settings)


def _program(case: Case) -> tuple[object, ...]:
    names = case.app.name, case.build.name, case.size.name
    return *names, case.schedule, case.wait_policy, case.regions
