"""The mechanisms that a mapping may name: what each can express, and the variables that it sets.

Which mechanism can express which binding depends on the tools, not on a node. An affinity mask
(taskset, numactl) is one set of CPUs that all threads of a program inherit, so it pins only where
there is one thread. likwid-pin gives each thread one CPU. An OpenMP place can be one CPU or a whole
set, `{0,1,2}` (OpenMP 5.2, section 21.1.6, OMP_PLACES). By a name such as `cores` the runtime makes
the places. A program that pins its threads itself gives each one CPU.

How each of them binds stands in its file of pinstudy/runners/plan/mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass

NONE, SET, PIN = "none", "set", "pin"
NAMED = "omp-places-named"


@dataclass(frozen=True)
class KnownMechanism:
    """A mechanism by its name: the bindings that it can express, and the variables that it sets.

    `one_mask` is whether all threads get the same CPUs, so that it pins one thread only.
    `within_the_run` is whether it takes time of the program's own: likwid-pin preloads a library
    that pins each thread when the program creates it. Others end before the program's time begins,
    or are the program's own work.
    """

    name: str
    summary: str
    bindings: tuple[str, ...]
    variables: tuple[str, ...] = ()
    one_mask: bool = False
    within_the_run: bool = False


KNOWN = (
    KnownMechanism(
        "taskset", "taskset: one CPU mask for the whole program", (SET, PIN), one_mask=True
    ),
    KnownMechanism(
        "numactl",
        "numactl --physcpubind: one CPU mask for the whole program",
        (SET, PIN),
        one_mask=True,
    ),
    KnownMechanism(
        "omp-places",
        "OMP_PLACES with explicit single-CPU places and OMP_PROC_BIND",
        (SET, PIN),
        ("OMP_PLACES", "OMP_PROC_BIND"),
    ),
    KnownMechanism(
        NAMED,
        "OMP_PLACES with the name that the mapping's key `places` has",
        (PIN,),
        ("OMP_PLACES", "OMP_PROC_BIND"),
    ),
    KnownMechanism(
        "likwid-pin", "likwid-pin with physical CPU numbers", (PIN,), within_the_run=True
    ),
    KnownMechanism(
        "kmp-affinity",
        "libomp's KMP_AFFINITY with the CPUs in a list",
        (SET, PIN),
        ("KMP_AFFINITY",),
    ),
    KnownMechanism(
        "kmp-hw-subset",
        "libomp's KMP_HW_SUBSET, such as 4c:intel_core, and no other tool",
        (SET, PIN),
        ("KMP_HW_SUBSET", "KMP_AFFINITY"),
    ),
    KnownMechanism(
        "kmp-hw-subset-eff",
        "libomp's KMP_HW_SUBSET, such as 4c:eff1, and no other tool",
        (SET, PIN),
        ("KMP_HW_SUBSET", "KMP_AFFINITY"),
    ),
    KnownMechanism("program", "the program pins its threads itself, as its option asks", (PIN,)),
)
# What is taken where a mapping names none.
_USUAL = {SET: "taskset", PIN: "omp-places"}

MECHANISMS = {mechanism.name: mechanism.summary for mechanism in KNOWN}


def able_to(binding: str) -> tuple[str, ...]:
    """Return the mechanisms that can express a binding, the usual one first."""
    names = [mechanism.name for mechanism in KNOWN if binding in mechanism.bindings]
    return tuple(sorted(names, key=lambda name: name != _USUAL.get(binding)))


def mechanisms_by_variable() -> dict[str, str]:
    """Return the variables that mechanisms set, each with the first mechanism that sets it."""
    found: dict[str, str] = {}
    for mechanism in KNOWN:
        for variable in mechanism.variables:
            found.setdefault(variable, mechanism.name)
    return found
