"""What a mapping does, as an instruction: "pin each thread on the P-cores"."""

from __future__ import annotations

from pinstudy.analysis.records.keys import Placing
from pinstudy.analysis.results.case import Case
from pinstudy.base.text import one_line
from pinstudy.configs.settings import CURRENT, KERNEL, SCHED_EXT, settings_in_words

_PLACES = {
    "pcores": "the P-cores",
    "ecores": "the E-cores",
    "lpecores": "the LP-E-cores",
    "pcpus": "all CPUs of the P-cores",
    "ecpus": "all CPUs of the E-cores",
    "lpecpus": "all CPUs of the LP-E-cores",
    "mixed": "P- and E-cores together",
    "cores": "the cores, one CPU of each",
    "half-clusters": "cores in half of the clusters",
    "compact": "CPUs close together",
    "spread": "CPUs far apart",
    "siblings": "SMT siblings",
    "same-cpu": "CPUs that two threads share",
    "same-cluster": "cores of one cluster",
    "across-kinds": "cores of two kinds in turn",
    "across-packages": "cores of two packages in turn",
    "all": "all CPUs",
}

# How CPUs are divided among ranks.
_DIVIDED = {
    "order": "in order",
    "spread": "spread out",
    "kind": "by core kind",
    "cluster": "by cluster",
}


def _placer(case: Case) -> str:
    """Return who places threads that a case leaves alone: `the OS scheduler`, `scx_lavd`."""
    scheduler = case.key.settings[SCHED_EXT]
    known = {CURRENT: "the OS scheduler", KERNEL: "the kernel's own scheduler"}
    return f"{known.get(scheduler, scheduler)}{_other_settings(case)}"


def _other_settings(case: Case) -> str:
    """Return ` with EPP power and EAS off`: what a study asks for beside who places threads."""
    asked = {name: value for name, value in case.key.settings.pairs if name != SCHED_EXT}
    return f" with {settings_in_words(asked).replace(', ', ' and ')}" if asked else ""


def short_baseline(mapping: str) -> str:
    """Return the name of a baseline; that of guests in which nothing is placed is `unpinned`."""
    outer, _, inner = mapping.partition("/")
    return outer if outer == inner else mapping


def instruction(case: Case) -> str:
    """Return what a case's mapping does to threads, as an instruction, and under whom."""
    words = _instruction_of(case)
    if case.key.of_threads.binding == "none":
        return words
    if case.key.settings[SCHED_EXT] != CURRENT:
        return one_line(f"{words}, under {_placer(case)}")
    return one_line(f"{words}{_other_settings(case)}")


def _instruction_of(case: Case) -> str:
    if case.key.table.ranks is not None:
        return _instruction_for_ranks(case, case.key.table.ranks)
    if case.key.of_vcpus is None:
        return _instruction("thread", case.key.of_threads, case.key.table.threads, _placer(case))
    # Where nobody knows how many there are, there are several.
    of_guest = _instruction(
        "virtual CPU", case.key.of_vcpus, case.key.table.vm_cpus or 2, _placer(case)
    )
    if case.key.binding in (None, "none"):
        return of_guest
    return f"{of_guest} and, in the guest, {_instruction('thread', case.key.of_threads, 2)}"


def _instruction(noun: str, placing: Placing, count: int, placer: str = "the OS scheduler") -> str:
    if count == 1:
        return _instruction_for(f"the {noun}", "", placing, placer=placer)
    return _instruction_for(f"the {noun}s", f"each {noun}", placing, placer=placer)


def _instruction_for_ranks(case: Case, ranks: int) -> str:
    """Return what a mapping does to the threads of ranks, each of which has CPUs of its own."""
    rank, part = ("the rank", "") if ranks == 1 else ("each rank", "its part of ")
    several = case.key.table.threads > 1
    together, single = (
        (f"the threads of {rank}", f"each thread of {rank}") if several else (rank, "")
    )
    instruction = _instruction_for(together, single, case.key.of_threads, part, _placer(case))
    if not case.key.divided_by:
        return instruction
    by = _DIVIDED.get(case.key.divided_by, f"by {case.key.divided_by}")
    return one_line(f"{instruction}, divided among the ranks {by}")


def _instruction_for(
    together: str, single: str, placing: Placing, part: str = "", placer: str = "the OS scheduler"
) -> str:
    """Return an instruction for `together`, which is one where there is no `single` word for each.

    `part` is what stands before the CPUs that each of several has of a set; `placer` has what is
    left alone.
    """
    mapping, selection, binding = placing
    where = _PLACES.get(str(selection))
    if where is None or binding not in ("none", "set", "pin"):
        return f"use {one_line(mapping)}"
    if binding == "none":
        # Only all CPUs can be left to the scheduler; what else a record says is taken literally.
        on = "" if selection == "all" else f" on {where}"
        return one_line(f"leave {together} to {placer}{on}")
    if binding == "set":
        return f"confine {together} to {part}{where}"
    return f"pin {single} on {where}" if single else f"pin {together} to a CPU of {where}"
