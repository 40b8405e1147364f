"""Numbers and mappings in words: "1.8 % less time", "pin each thread on the P-cores"."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from analysis.format.numbers import ends, fixed, rounded
from analysis.objectives import Objective
from analysis.records.keys import Placing
from analysis.results.case import Case
from analysis.statistics.difference import Difference
from analysis.statistics.sample import LEVEL, Interval
from analysis.verdict.model import CaseFinding, Choice
from base.text import one_line, plural
from configs.scheduling import KERNEL, words_of

# From the first on, changes are given as a ratio; up to the second, as a fraction.
TIMES_FROM = 2.0
FRACTIONS_TO = 0.1
# An interval is useless if its upper end is more than this many times the lower one.
WIDEST = 1000.0
# How many rows a sentence names before it refers to the table.
MAX_NAMED = 6
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


@dataclass(frozen=True)
class Quantity:
    """What is compared, with the words for a smaller and a larger value."""

    noun: str
    less: str = "less"
    more: str = "more"


@dataclass(frozen=True)
class Change:
    """A difference in words.

    `what` is its size with what it is of (`10.1 % less time`, `2.3 times the time`), `size` without
    (`10.1 % less`, `2.3 times as much`); `interval` (`9.9 to 10.3 %`) is empty where there is none.
    """

    what: str
    size: str
    interval: str = ""

    @property
    def bracket(self) -> str:
        """The interval as it stands between brackets, or why there is none."""
        return self.interval or "no interval: these runs show no spread"

    def __str__(self) -> str:
        return f"{self.what} ({self.bracket})"


def change(difference: Difference, of: Objective | Quantity, level: float = LEVEL) -> Change:
    """Return a difference in words, with the interval of that level.

    An objective's noun has its estimand: typical time, or mean time.
    """
    return change_within(difference, of, difference.interval(level))


def change_within(difference: Difference, of: Objective | Quantity, interval: Interval) -> Change:
    """Return a difference in words, with this interval of its ratio."""
    what = quantity(of)
    if not isinstance(of, Quantity):
        what = replace(what, noun=f"{difference.estimand} {what.noun}")
    shown = _range(difference.ratio, interval, what) if difference.standard_error > 0 else ""
    return replace(_change(difference.ratio, interval.half_width, what), interval=shown)


def change_of_means(ratio: float, of: Objective | Quantity) -> Change:
    """Return a ratio of means in words, without an interval."""
    return _change(ratio, 0.0, quantity(of))


def quantity(of: Objective | Quantity) -> Quantity:
    """Return what differences are of, and its words; a quantity is what it is."""
    if isinstance(of, Quantity):
        return of
    less, more = ("less", "more") if of.counted else ("lower", "higher")
    return Quantity(of.noun, less, more)


def _change(ratio: float, half_width: float, what: Quantity) -> Change:
    noun = what.noun
    if ratio >= TIMES_FROM:
        times = f"{_multiple(ratio, half_width)} times"
        return Change(f"{times} the {noun}", f"{times} as much")
    if ratio <= FRACTIONS_TO:
        part = fraction(ratio)
        return Change(f"{part} of the {noun}", f"{part} as much")
    # Whole per cents are kept however little is known of them: 4 % is not "about the same".
    share = rounded(abs(ratio - 1) * 100, min(half_width * 100, 99))
    if not share.strip("0."):
        return Change(f"about the same {noun}", "about the same")
    size = f"{share} % {what.more if ratio > 1 else what.less}"
    return Change(f"{size} {noun}", size)


def _multiple(ratio: float, half_width: float, more: int = 0) -> str:
    return rounded(ratio, min(half_width, ratio), more=more)


def fraction(ratio: float, more: int = 0) -> str:
    """Return a small ratio as `1/12`: a whole number, with three digits that count at most.

    With `more` digits it is whole only where these are noughts.
    """
    times = 1 / ratio if ratio > 0 else math.inf
    if not math.isfinite(times):
        return "next to nothing"
    decimals = 2 + more - math.floor(math.log10(times))
    return f"1/{fixed(times, decimals if more else min(decimals, 0))}"


def _range(ratio: float, interval: Interval, what: Quantity) -> str:
    """Return the interval of a ratio in the ratio's own unit, from the smaller change on."""
    if not interval.high < WIDEST * interval.low:
        return f"wider than a factor of {WIDEST:.0f}"
    size = interval.half_width
    if interval.high <= FRACTIONS_TO:
        return " to ".join(ends(interval.low, interval.high, fraction))
    if not FRACTIONS_TO < ratio < TIMES_FROM:
        if interval.low <= FRACTIONS_TO:
            return f"{fraction(interval.low)} to {_multiple(interval.high, size)} times"
        both = ends(interval.low, interval.high, lambda end, more: _multiple(end, size, more))
        return f"{' to '.join(both)} times"
    if 1.0 in interval:
        low, high = (
            rounded(end * 100, size * 100) for end in (1 - interval.low, interval.high - 1)
        )
        if not (low + high).strip("0."):
            return "within 0.01 %"
        return f"{_side(low, what.less)} to {_side(high, what.more)}"
    nearer, farther = sorted([abs(interval.low - 1), abs(interval.high - 1)])
    both = ends(100 * nearer, 100 * farther, lambda end, more: rounded(end, size * 100, more=more))
    return f"{' to '.join(both)} %"


def _side(size: str, comparative: str) -> str:
    """Return one end of an interval around no change: `0.3 % less`, or 0."""
    return f"{size} % {comparative}" if size.strip("0.") else "0"


def name(case: CaseFinding) -> str:
    """Return a case's row and mapping: `#3 pcores-pin`, `#6 scheduler [scx_lavd]`."""
    under = f" [{words}]" if (words := case.summary.key.scheduling) else ""
    return one_line(f"#{case.number} {case.full_mapping}{under}")


def names(cases: Sequence[CaseFinding]) -> str:
    """Return the cases' names as a list in a sentence; beyond the first six, how many more."""
    return listed(each_case(cases, name))


def listed(parts: Sequence[str], last: str = "and") -> str:
    """Return the parts with commas, and `and` or another word before the last."""
    return f" {last} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def sentence(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def place(case: Case) -> str | None:
    """Return the CPUs that a case's mapping selects, in words; None for a selection unknown."""
    return _PLACES.get(str(case.key.placing.selection))


def placer(case: Case) -> str:
    """Return who places threads that a case leaves alone: `the OS scheduler`, `scx_lavd`."""
    who = {None: "the OS scheduler", KERNEL: "the kernel's own scheduler"}
    of_case = who.get(case.key.scheduler, str(case.key.scheduler))
    return f"{of_case}{_switches(case)}"


def _switches(case: Case) -> str:
    """Return ` with EAS off`: the switches of the kernel's scheduler that a study asks for."""
    words = words_of(None, case.key.energy_aware, case.key.itmt)
    return f" with {words.replace(', ', ' and ')}" if words else ""


def do(case: Case) -> str:
    """Return what a case's mapping does to threads, as an instruction, and under whom."""
    instruction = _do(case)
    if not case.key.scheduling or case.key.of_threads.binding == "none":
        return instruction
    return one_line(f"{instruction}, under {placer(case)}")


def _do(case: Case) -> str:
    if case.key.table.ranks is not None:
        return _instruction_for_ranks(case, case.key.table.ranks)
    if case.key.of_vcpus is None:
        return _instruction("thread", case.key.of_threads, case.key.table.threads, placer(case))
    # Where nobody knows how many there are, there are several.
    of_guest = _instruction(
        "virtual CPU", case.key.of_vcpus, case.key.table.vm_cpus or 2, placer(case)
    )
    if case.key.binding in (None, "none"):
        return of_guest
    return f"{of_guest} and, in the guest, {_instruction('thread', case.key.of_threads, 2)}"


def _instruction(what: str, placing: Placing, count: int, who: str = "the OS scheduler") -> str:
    if count == 1:
        return _instruction_for(f"the {what}", "", placing, who=who)
    return _instruction_for(f"the {what}s", f"each {what}", placing, who=who)


def _instruction_for_ranks(case: Case, ranks: int) -> str:
    """Return what a mapping does to the threads of ranks, each of which has CPUs of its own."""
    rank, part = ("the rank", "") if ranks == 1 else ("each rank", "its part of ")
    several = case.key.table.threads > 1
    all_, each = (f"the threads of {rank}", f"each thread of {rank}") if several else (rank, "")
    instruction = _instruction_for(all_, each, case.key.of_threads, part, placer(case))
    if not case.key.divided_by:
        return instruction
    by = _DIVIDED.get(case.key.divided_by, f"by {case.key.divided_by}")
    return one_line(f"{instruction}, divided among the ranks {by}")


def _instruction_for(
    all_: str, each: str, placing: Placing, part: str = "", who: str = "the OS scheduler"
) -> str:
    """Return an instruction for `all_`, of which there is one if no word for `each` is given.

    `part` is what stands before the CPUs that each of several has of a set; `who` places what is
    left alone.
    """
    mapping, selection, binding = placing
    where = _PLACES.get(str(selection))
    if where is None or binding not in ("none", "set", "pin"):
        return f"use {one_line(mapping)}"
    if binding == "none":
        # Only all CPUs can be left to the scheduler; what else a record says is taken literally.
        on = "" if selection == "all" else f" on {where}"
        return one_line(f"leave {all_} to {who}{on}")
    if binding == "set":
        return f"confine {all_} to {part}{where}"
    return f"pin {each} on {where}" if each else f"pin {all_} to a CPU of {where}"


def each_case(cases: Sequence[CaseFinding], describe: Callable[[CaseFinding], str]) -> list[str]:
    """Return the texts of the first cases, and how many others there are."""
    return [*map(describe, cases[:MAX_NAMED]), *and_others(cases)]


def and_others(cases: Sequence[CaseFinding]) -> list[str]:
    """Return how many cases there are beyond those that a sentence names, if any."""
    more = len(cases) - MAX_NAMED
    return [f"{plural(more, 'other')} in the table"] if more > 0 else []


def instruction(choice: Choice, case: Case) -> str:
    """Return a choice without its number of threads: `pin threads on the P-cores`."""
    binding = {"pin": "pin", "confine": "set", "leave": "none"}.get(choice)
    placings = (("threads", case.key.of_threads), ("virtual CPUs", case.key.of_vcpus))
    placed = " and ".join(
        what for what, placing in placings if placing and placing.binding == binding
    )
    where = place(case)
    text = {
        "pin": f"pin {placed} on {where}" if where else f"pin {placed}",
        "confine": f"confine {placed} to {where or 'a set of CPUs'}",
        "leave": f"leave {placed} to {placer(case)}",
    }.get(choice, f"use {case.key.mapping}")
    under = f", under {placer(case)}" if case.key.scheduling and choice != "leave" else ""
    return one_line(f"{text}{under}")
