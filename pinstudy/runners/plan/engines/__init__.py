"""Where programs run: one file an engine, all of them in one table.

A new one is its file, its line here, and the code that makes its runs: on the node
pinstudy/runners/execution, in guests pinstudy/runners/vm.
"""

from __future__ import annotations

from pinstudy.configs.study import AppChoice, Study
from pinstudy.runners.plan.case import Engine
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.plan.engines.ranks import Ranks

# The node itself comes last: it runs what asks for nothing else.
ENGINES: tuple[type[Engine], ...] = (Vcpus, Ranks, Engine)


def tables_of(study: Study, choice: AppChoice, *, emulated: bool) -> list[tuple[Engine, ...]]:
    """Return the engines of an app's tables, each with the engines of its rows."""
    asked = (engine.tables(study, choice, emulated=emulated) for engine in ENGINES)
    return next(tables for tables in asked if tables)


def outlook(study: Study, boots: int, *, live: bool, without_kvm: str) -> list[str]:
    """Return in lines what a study's runs need before they can be made."""
    return [
        line
        for engine in ENGINES
        for line in engine.outlook(study, boots, live=live, without_kvm=without_kvm)
    ]


def by_mpi(study: Study) -> bool:
    """Whether launchers of MPI start programs of the study."""
    return any(
        engine.by_mpi
        for choice in study.apps
        for row in tables_of(study, choice, emulated=False)
        for engine in row
    )
