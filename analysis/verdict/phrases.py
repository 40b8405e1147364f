"""Numbers and mappings in words: "1.8 % less time", "pin each thread to a P-core"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.findings import Objective
from analysis.statistics.difference import Difference
from analysis.statistics.interval import LEVEL, Interval
from analysis.table import one_line

NOUNS: Mapping[Objective, str] = {
    "time": "time",
    "energy": "package energy",
    "edp": "energy-delay product",
}
# From here on a ratio reads better than a percentage.
TIMES_FROM = 2.0
_PLACES = {
    "pcores": "the P-cores",
    "ecores": "the E-cores",
    "lpecores": "the LP-E-cores",
    "pcpus": "all CPUs of the P-cores",
    "ecpus": "all CPUs of the E-cores",
    "lpecpus": "all CPUs of the LP-E-cores",
    "mixed": "P- and E-cores together",
    "compact": "CPUs close together",
    "spread": "CPUs far apart",
    "siblings": "SMT siblings",
    "all": "all CPUs",
}


def percent(value: float, half_width: float) -> str:
    """Return a share as a percentage with as many decimals as its uncertainty allows, 0 to 2."""
    return f"{value * 100:.{_decimals(half_width * 100)}f}"


def _decimals(half_width: float) -> int:
    """Return the decimals at which a half width shows two digits: 0 to 2; 1 when there is none."""
    if not (half_width > 0 and math.isfinite(half_width)):
        return 1
    return min(2, max(0, 1 - math.floor(math.log10(half_width))))


@dataclass(frozen=True)
class Change:
    """A difference in words: its size, `1.8 % less time`, and its interval, `1.5 to 2.1 %`."""

    size: str
    interval: str

    def __str__(self) -> str:
        return f"{self.size} ({self.interval})"


def change(difference: Difference, objective: Objective, level: float = LEVEL) -> Change:
    """Return a difference in words, with the interval of that level."""
    interval, noun = difference.interval(level), NOUNS[objective]
    if difference.ratio >= TIMES_FROM:
        decimals = _decimals(interval.half_width)
        ratio, low, high = (
            f"{value:.{decimals}f}" for value in (difference.ratio, interval.low, interval.high)
        )
        return Change(f"{ratio} times the {noun}", f"{low} to {high}")
    word = "less" if difference.ratio < 1 else "more"
    size = percent(abs(difference.ratio - 1), interval.half_width)
    return Change(f"{size} % {word} {noun}", _range(interval))


def _range(interval: Interval) -> str:
    """Return the interval of a ratio as percentages, from the smaller change to the larger."""
    size = interval.half_width
    if 1.0 in interval:
        low, high = percent(1 - interval.low, size), percent(interval.high - 1, size)
        return f"{low} % less to {high} % more"
    ends = sorted([abs(interval.low - 1), abs(interval.high - 1)])
    return f"{percent(ends[0], size)} to {percent(ends[1], size)} %"


def do(facts: Mapping[str, Any]) -> str:
    """Return what a case's mapping does to threads, as an instruction."""
    if facts.get("vcpu_mapping"):
        of_guest = _instruction("virtual CPU", facts, "vcpu_", int(facts["vm_cpus"]))
        if facts["tightness"] in (None, "none"):
            return of_guest
        return f"{of_guest} and, in the guest, {_instruction('thread', facts, '', 2)}"
    return _instruction("thread", facts, "", int(facts["threads"]))


def _instruction(what: str, facts: Mapping[str, Any], prefix: str, count: int) -> str:
    selection, tightness = facts.get(f"{prefix}selection"), facts.get(f"{prefix}tightness")
    place = _PLACES.get(str(selection))
    if place is None or tightness not in ("none", "set", "pin"):
        return f"use {one_line(str(facts[f'{prefix}mapping']))}"
    if tightness == "none":
        return f"leave the {what}s to the OS scheduler"
    if tightness == "set":
        noun = f"the {what}" if count == 1 else f"the {what}s"
        return f"confine {noun} to {place}"
    return f"pin the {what} to a CPU of {place}" if count == 1 else f"pin each {what} on {place}"
