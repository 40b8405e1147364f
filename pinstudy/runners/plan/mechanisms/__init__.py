"""By what threads are bound: all mechanisms in one table.

A new one is a class beside its like or in a file of its own, its line here, and its entry in
pinstudy/configs/mechanisms.py, by which a mapping may name it.
"""

from __future__ import annotations

from pinstudy.runners.plan.mechanisms.base import Mechanism
from pinstudy.runners.plan.mechanisms.kmp import KmpAffinity, KmpHwSubset, KmpHwSubsetByEfficiency
from pinstudy.runners.plan.mechanisms.omp_places import NamedPlaces, OmpPlaces
from pinstudy.runners.plan.mechanisms.tools import LikwidPin, Numactl, Program, Taskset

MECHANISMS: tuple[Mechanism, ...] = (
    Taskset(),
    Numactl(),
    OmpPlaces(),
    NamedPlaces(),
    LikwidPin(),
    KmpAffinity(),
    KmpHwSubset(),
    KmpHwSubsetByEfficiency(),
    Program(),
)
_UNBOUND = Mechanism()
_BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}


def mechanism_of(name: str | None) -> Mechanism:
    """Return a mechanism by the name that cases and records have; None is the one that binds none.

    Raises KeyError for an unknown name.
    """
    return _UNBOUND if name is None else _BY_NAME[name]
