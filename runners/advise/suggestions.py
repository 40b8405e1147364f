"""Which thread counts a topology suggests, and on which mappings each is worth trying. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from configs.model import Mapping
from runners.node.topology import Topology
from runners.plan.selection import CannotMapError, resolve_cpus

SCHEDULER = "scheduler"
# Nodes with at most so many CPUs try one thread as well; elsewhere it is seldom worth its time.
FEW_CPUS = 8
# Loop schedules race on these, where they have threads on unlike CPUs.
_WITH_SCHEDULES = (SCHEDULER, "cores-pin", "mixed-pin", "compact-pin")

# What any thread count can be tried on, where it fits.
_OF_KINDS = (
    *("pcores-pin", "cores-pin", "ecores-pin", "pcores-set", "ecores-set", "mixed-pin"),
    *("cores-set", "pcpus-pin", "pcpus-set", "half-clusters-pin", "half-clusters-set"),
    "compact-pin",
)
_SMALL = {"ecores-set": "lpecores-set", "ecores-pin": "lpecores-pin"}
_OF_EQUALS = (
    *("cores-pin", "cores-set", "half-clusters-pin", "half-clusters-set"),
    *("spread-pin", "compact-pin"),
)


@dataclass(frozen=True)
class Suggestion:
    """A thread count, why it is worth trying, and the names of its mappings.

    Loop schedules race on those of `with_schedules`, where threads are on unlike CPUs.
    """

    threads: int
    why: str
    mappings: tuple[str, ...]
    with_schedules: tuple[str, ...] = ()


def suggestions(topology: Topology) -> list[Suggestion]:
    """Return the thread counts that a topology suggests, each once, the most promising first."""
    found: dict[int, list[Suggestion]] = {}
    for one in (_of_kinds if topology.hybrid else _of_equals)(topology):
        found.setdefault(one.threads, []).append(one)
    return [_merged(same) for threads, same in found.items() if threads > 0]


def _merged(same: list[Suggestion]) -> Suggestion:
    """Return one suggestion of several for a thread count; the first mappings of each go first."""
    in_turn = zip_longest(*(one.mappings for one in same))
    names = dict.fromkeys(name for names in in_turn for name in names if name is not None)
    scheduled = dict.fromkeys(name for one in same for name in one.with_schedules)
    why = "; ".join(one.why for one in same)
    return Suggestion(same[0].threads, why, tuple(names), tuple(scheduled))


def any_threads(topology: Topology, threads: int, why: str, widest: bool = True) -> Suggestion:
    """Return what this thread count can be tried on; not all of it fits every count.

    Schedules race under the OS scheduler for the `widest` one only.
    """
    names: tuple[str, ...] = _OF_KINDS if topology.hybrid else _OF_EQUALS
    if topology.hybrid and not has_e_cores(topology):
        names = tuple(_SMALL.get(name, name) for name in names)
    scheduled = tuple(name for name in _WITH_SCHEDULES if widest or name != SCHEDULER)
    return Suggestion(threads, why, (SCHEDULER, *names), scheduled)


def has_e_cores(topology: Topology) -> bool:
    """Return whether there are E-cores; where not, LP-E-cores stand for them, as in Lunar Lake."""
    return any(kind.name == "E" for kind in topology.kinds)


def _of_kinds(topology: Topology) -> Iterator[Suggestion]:
    """Yield those of a node with several core kinds."""

    def suggest(threads: int, why: str, *names: str, on: tuple[str, ...] = ()) -> Suggestion:
        return Suggestion(threads, why, (SCHEDULER, *names), on)

    cores, both = _count("cores", topology), _count("mixed", topology)
    small, name = ("ecores", "E-core") if has_e_cores(topology) else ("lpecores", "LP-E-core")
    p_cores, e_cores = _count("pcores", topology), _count(small, topology)
    yield suggest(len(topology.allowed), "all CPUs", "cores-pin", "compact-pin", on=_WITH_SCHEDULES)
    yield suggest(cores, "one a core", "cores-pin", "cores-set", on=("cores-pin",))
    yield suggest(both, "one a P- or E-core", "mixed-pin", "mixed-set")
    yield suggest(p_cores, "one a P-core", "pcores-pin", "pcores-set", "mixed-pin")
    yield suggest(
        _count("pcpus", topology),
        "all CPUs of the P-cores",
        *("pcpus-pin", "pcpus-set", "siblings-pin"),
    )
    yield suggest(
        _count("half-clusters", topology),
        "one a core in half of the clusters",
        *("half-clusters-pin", "half-clusters-set"),
    )
    yield suggest(e_cores, f"one an {name}", f"{small}-pin", f"{small}-set", "cores-pin")
    yield suggest(cores // 2, "half as many as cores", "cores-pin", "mixed-pin")
    yield suggest(cores // 4, "a quarter as many as cores", "cores-pin", "pcores-set")
    yield from _one_thread(topology, "pcores-pin", f"{small}-set")


def _of_equals(topology: Topology) -> Iterator[Suggestion]:
    """Yield those of a node whose cores are all of one kind."""

    def suggest(threads: int, why: str, *names: str, on: tuple[str, ...] = ()) -> Suggestion:
        return Suggestion(threads, why, (SCHEDULER, *names), on)

    cores = _count("cores", topology)
    everything = len(topology.allowed)
    yield suggest(
        everything, "all CPUs", "cores-pin", "compact-pin", "spread-pin", on=_WITH_SCHEDULES
    )
    yield suggest(cores, "one a core", "cores-pin", "cores-set", "spread-pin", on=(SCHEDULER,))
    yield suggest(
        _count("half-clusters", topology),
        "one a core in half of the clusters",
        *("half-clusters-pin", "half-clusters-set"),
    )
    yield suggest(
        cores // 2, "half as many as cores", "cores-pin", "cores-set", "spread-pin", "compact-pin"
    )
    yield suggest(cores // 4, "a quarter as many as cores", "cores-pin", "spread-pin")
    yield from _one_thread(topology, "cores-pin")


def _one_thread(topology: Topology, *names: str) -> Iterator[Suggestion]:
    if len(topology.allowed) <= FEW_CPUS:
        yield Suggestion(1, "one thread", (SCHEDULER, *names))


def _count(selection: str, topology: Topology) -> int:
    """Return how many CPUs a selection has here, 0 where the node cannot do it."""
    try:
        return len(resolve_cpus(Mapping(selection, selection, "set"), topology, 1))
    except CannotMapError:
        return 0
