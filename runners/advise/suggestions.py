"""Which thread counts a topology suggests, and on which mappings each is worth trying. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from configs.model import Mapping
from runners.mappings import resolve_cpus
from runners.topology import Topology
from runners.unmappable import CannotMapError

SCHEDULER = "scheduler"
# Nodes with at most so many CPUs try one thread as well; elsewhere it is seldom worth its time.
FEW_CPUS = 8

# What any thread count can be tried on, where it fits.
_OF_KINDS = (
    *("pcores-set", "pcores-pin", "cores-set", "cores-pin", "pcpus-set", "pcpus-pin"),
    *("ecores-set", "ecores-pin", "mixed-pin", "half-clusters-set", "half-clusters-pin"),
    "compact-pin",
)
_OF_EQUALS = (
    *("cores-set", "cores-pin", "half-clusters-set", "half-clusters-pin"),
    *("spread-pin", "compact-pin"),
)


@dataclass(frozen=True)
class Suggestion:
    """A thread count, why it is worth trying, and the names of its mappings.

    With `wide` its threads fill the node, so that loop schedules matter most.
    """

    threads: int
    why: str
    mappings: tuple[str, ...]
    wide: bool = False


def suggestions(topology: Topology) -> list[Suggestion]:
    """Return the thread counts that a topology suggests, each once, the most promising first."""
    found: dict[int, Suggestion] = {}
    for one in (_of_kinds if topology.hybrid else _of_equals)(topology):
        before = found.get(one.threads)
        if before is None:
            found[one.threads] = one
            continue
        names = tuple(dict.fromkeys((*before.mappings, *one.mappings)))
        why = f"{before.why}; {one.why}"
        found[one.threads] = Suggestion(one.threads, why, names, before.wide or one.wide)
    return [one for threads, one in found.items() if threads > 0]


def any_threads(topology: Topology, threads: int, why: str) -> Suggestion:
    """Return what this thread count can be tried on; not all of it fits every count."""
    names = _OF_KINDS if topology.hybrid else _OF_EQUALS
    return Suggestion(threads, why, (SCHEDULER, *names), wide=True)


def _of_kinds(topology: Topology) -> Iterator[Suggestion]:
    """Yield those of a node with several core kinds."""

    def suggest(threads: int, why: str, *names: str, wide: bool = False) -> Suggestion:
        return Suggestion(threads, why, (SCHEDULER, *names), wide)

    cores, both = _count("cores", topology), _count("mixed", topology)
    p_cores, e_cores = _count("pcores", topology), _count("ecores", topology)
    yield suggest(len(topology.allowed), "all CPUs", "cores-pin", "compact-pin", wide=True)
    yield suggest(cores, "one a core", "cores-set", "cores-pin", wide=True)
    yield suggest(both, "one a P- or E-core", "mixed-set", "mixed-pin", wide=True)
    yield suggest(p_cores, "one a P-core", "pcores-set", "pcores-pin", "mixed-pin")
    yield suggest(
        _count("pcpus", topology),
        "all CPUs of the P-cores",
        *("pcpus-set", "pcpus-pin", "siblings-pin"),
    )
    yield suggest(
        _count("half-clusters", topology),
        "one a core in half of the clusters",
        *("half-clusters-set", "half-clusters-pin"),
    )
    yield suggest(e_cores, "one an E-core", "ecores-set", "ecores-pin", "cores-pin")
    yield suggest(cores // 2, "half as many as cores", "cores-pin", "mixed-pin")
    yield suggest(cores // 4, "a quarter as many as cores", "pcores-set", "cores-pin")
    yield from _one_thread(topology, "pcores-set", "pcores-pin", "ecores-set")


def _of_equals(topology: Topology) -> Iterator[Suggestion]:
    """Yield those of a node whose cores are all of one kind."""

    def suggest(threads: int, why: str, *names: str, wide: bool = False) -> Suggestion:
        return Suggestion(threads, why, (SCHEDULER, *names), wide)

    cores = _count("cores", topology)
    everything = len(topology.allowed)
    yield suggest(everything, "all CPUs", "cores-pin", "compact-pin", "spread-pin", wide=True)
    yield suggest(cores, "one a core", "cores-set", "cores-pin", "spread-pin", wide=True)
    yield suggest(
        _count("half-clusters", topology),
        "one a core in half of the clusters",
        *("half-clusters-set", "half-clusters-pin"),
    )
    yield suggest(
        cores // 2, "half as many as cores", "cores-set", "cores-pin", "spread-pin", "compact-pin"
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
