"""What a mapping is: which CPUs (selection) x how tightly (binding) x by what (mechanism)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pinstudy.base.text import unknown_word
from pinstudy.configs.decoding import AtKey, Mistake, written
from pinstudy.configs.mechanisms import KNOWN, MECHANISMS, NAMED, NONE, PIN, SET, able_to
from pinstudy.configs.values import label, text, word
from pinstudy.configs.variables import Variables

UNPINNED = "unpinned"
# The old name of UNPINNED, which readers of older texts still type.
_OLD_NAME = "scheduler"


def renamed(name: str) -> str | None:
    """Return the message for an old name of a mapping; None for any other name."""
    return f"the mapping `{_OLD_NAME}` is `{UNPINNED}` now" if name == _OLD_NAME else None


def unknown_mapping(name: str, known: Iterable[str], where: str = "") -> str:
    """Return the message for a mapping that is none of `known`."""
    return renamed(name) or unknown_word("mapping", name, known, where)


def places_of(binding: str, cpus: Iterable[int]) -> str:
    """Return OMP_PLACES: one place a CPU under `pin`, else one place of all CPUs.

    Names such as `cores` give different maps in libgomp and libomp on hybrid nodes.
    """
    places = [(cpu,) for cpu in cpus] if binding == "pin" else [sorted(set(cpus))]
    return listed_places(places)


def listed_places(places: Iterable[Iterable[int]]) -> str:
    """Return places as OMP_PLACES takes them; empty for none."""
    return ",".join("{" + ",".join(map(str, place)) + "}" for place in places)


# A selection names CPUs of the node. `{kind}cores` is one CPU a core, `{kind}cpus` all of them:
# "8 threads on P" could otherwise mean 8 cores, or 4 cores twice (SMT).
SELECTIONS = {
    "all": "every CPU the process may use: the OS scheduler's choice",
    "pcores": "one CPU of each P-core",
    "ecores": "one CPU of each E-core",
    "lpecores": "one CPU of each LP-E-core",
    "pcpus": "every CPU of the P-cores, SMT siblings too",
    "ecpus": "every CPU of the E-cores",
    "lpecpus": "every CPU of the LP-E-cores",
    "mixed": "one CPU of each P-core and E-core, the threads split evenly over the kinds",
    "cores": "one CPU of each core: P-cores, then E-cores, then LP-E-cores",
    "half-clusters": "one CPU of each core in half of each kind's clusters, which share a cache",
    "compact": "CPUs close together: SMT siblings, then shared caches, then packages",
    "spread": "CPUs far apart: packages in turn, then caches, SMT siblings last",
    "siblings": "both SMT siblings of a core, core by core",
    "same-cpu": "each CPU twice, one of each core: two threads take turns on it",
    "same-cluster": "neighbouring cores that share a cache which not all cores share",
    "across-kinds": "a P-core and an E-core in turn, or the first two kinds that the node has",
    "across-packages": "a core of one package and a core of the next in turn",
}
# Selections of one CPU of each core of a kind.
KIND_OF_SELECTION = {"pcores": "P", "ecores": "E", "lpecores": "LP-E"}
# Selections in which threads 2i and 2i + 1 are neighbours.
PAIRS = ("siblings", "same-cpu", "same-cluster", "across-kinds", "across-packages")
# The mechanisms that can express each binding, the usual one first: `none` leaves threads to the OS
# scheduler; with `set` every thread may use every CPU of the selection, with `pin` one CPU of it.
BINDINGS = {binding: able_to(binding) for binding in (NONE, SET, PIN)}
# What OMP_PLACES may be called (OpenMP 5.2, section 21.1.6). libomp alone knows core types, by what
# the CPUID instruction says of Intel's hybrid CPUs. Such a name chooses CPUs itself, those of the
# selection beside it.
PLACE_NAMES = {
    "threads": None,
    "cores": None,
    "sockets": None,
    "ll_caches": None,
    "numa_domains": None,
    "cores:intel_core": "pcpus",
    "cores:intel_atom": "ecpus",
}
PINS_ONE_THREAD = tuple(known.name for known in KNOWN if known.one_mask)
# How the CPUs of a selection are divided among the ranks of an MPI program, which share none.
RANKS_BY = {
    "order": "the first CPUs to rank 0, the next to rank 1",
    "spread": "one CPU to each rank in turn, as cards are dealt",
    "kind": "each rank on one core kind, the kinds in turn",
    "cluster": "each rank on cores that share a cache which not all cores share, in turn",
}
BY_ORDER = "order"
WITHIN_THE_RUN = tuple(known.name for known in KNOWN if known.within_the_run)


@dataclass(frozen=True)
class Mapping:
    """Which CPUs x how tightly x by what; `mechanism` is None for the default one."""

    expected: ClassVar[str] = "a mapping with the keys selection and binding"

    name: Annotated[str, label("a mapping's name")]
    """its name in tables"""
    selection: Annotated[str, word("selection", SELECTIONS)]
    """which CPUs"""
    binding: Annotated[str, word("binding", BINDINGS)]
    """how tightly threads are bound"""
    mechanism: Annotated[str, word("mechanism", MECHANISMS)] | None = None
    """by what; without it by the usual one"""
    places: Annotated[str, word("place name", PLACE_NAMES)] | None = None
    """how the runtime is to make the places, with mechanism `omp-places-named`"""
    ranks_by: Annotated[str, word("way to divide CPUs among ranks", RANKS_BY)] | None = None
    """for MPI programs, how the CPUs are divided among ranks ([how](ranks.md)).
    Without it: `order`"""
    summary: Annotated[str, text("a summary")] = ""
    """one line for people"""
    variables: Variables | None = None
    """environment variables under this mapping ([how](apps.md#variables)). Without it: none"""

    @property
    def names_core_type(self) -> bool:
        """Whether its name of places chooses CPUs itself, by their core type."""
        return self.places is not None and PLACE_NAMES[self.places] is not None

    @staticmethod
    def contradictions(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse what no mechanism can express."""
        selection, binding = values.get("selection"), values.get("binding")
        mechanism = values.get("mechanism")
        if selection is None or binding is None:
            return
        able = BINDINGS[binding]
        if binding == "none" and selection != "all":
            yield (
                ("selection",),
                f"binding 'none' leaves threads on all CPUs, which selection {selection!r} is "
                "not; use selection 'all', or binding 'set' or 'pin'",
            )
        elif selection == "same-cpu" and binding != "pin":
            yield (
                ("binding",),
                f"{binding!r} cannot put two threads on one CPU, as selection 'same-cpu' says; "
                "use 'pin'",
            )
        elif binding == "none" and values.get("ranks_by") is not None:
            yield (
                ("ranks_by",),
                AtKey("binding 'none' leaves all CPUs to every rank; use 'set' or 'pin'"),
            )
        elif mechanism is not None and not able:
            message = f"binding {binding!r} needs no mechanism; leave {mechanism!r} out"
            yield ("mechanism",), message
        elif mechanism is not None and mechanism not in able:
            message = f"{mechanism!r} cannot express {binding!r}; use one of: {', '.join(able)}"
            yield ("mechanism",), message
        if "places" in values or "places" not in present:
            yield from _places_mistakes(mechanism, selection, values.get("places"))


def _places_mistakes(
    mechanism: str | None, selection: str, places: str | None
) -> Iterator[Mistake]:
    if places is None:
        if mechanism == NAMED:
            named = ", ".join(PLACE_NAMES)
            yield ("mechanism",), f"{NAMED!r} needs the key 'places' with one of: {named}"
        return
    if mechanism != NAMED:
        yield ("places",), AtKey(f"'places' belongs to mechanism {NAMED!r}; name it, too")
    wanted = PLACE_NAMES[places]
    if wanted is not None and selection != wanted:
        yield (
            ("selection",),
            f"{places!r} takes all CPUs of these cores, which selection {selection!r} are not; "
            f"use selection {wanted!r}",
        )


# A mapping, or the name of a known one.
MappingOrName = Annotated[
    Mapping,
    written(
        text("the name of a mapping"),
        Mapping,
        expected="the name of a mapping, or a mapping with name, selection, binding",
    ),
]


@dataclass(frozen=True)
class MappingsFile:
    """A file of mappings."""

    mappings: dict[str, Mapping]
    """mappings by name"""


def never_pins_problem(mapping: Mapping, threads: tuple[int, ...]) -> str | None:
    """Return why a mapping can pin at none of the thread counts, or None."""
    by_mask = mapping.binding == "pin" and mapping.mechanism in PINS_ONE_THREAD
    if not by_mask or not threads or 1 in threads:
        return None
    return (
        f"{mapping.mechanism} sets one mask for all threads and so pins one thread only; "
        f"mapping {mapping.name!r} needs 1 among the threads, or another mechanism"
    )
