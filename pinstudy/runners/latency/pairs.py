"""Chooses the CPU pairs of a latency measurement: all, some of every class, or those named.

The class of a pair is how near its CPUs are, as the kernel reports it, and their core kinds.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.text import plural, shown
from pinstudy.base.units import duration
from pinstudy.runners.node.topology import RELATIONS, Topology, kinds_of_pairs, relations
from pinstudy.runners.records.latency_file import ALL, GIVEN, REPRESENTATIVE, PlanName

Pair = tuple[int, int]

_CPU = re.compile(r"[0-9]{1,6}")

# When all pairs take longer than this, the representative plan is suggested.
LONG_S = 600.0
# Enough for a class's median and spread; a smaller class is measured as a whole.
PAIRS_OF_A_CLASS = 8
# A single pair cannot show whether the CPU or its partner is slow.
PAIRS_OF_A_CPU = 2


@dataclass(frozen=True)
class LatencyPlan:
    """The pairs to measure, each with its lower CPU first; `pairs_of_node` are all of allowed CPUs.

    `why` describes the pairs, and what cannot be concluded from them.
    """

    name: PlanName
    pairs: tuple[Pair, ...]
    pairs_of_node: int
    why: str

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs of the pairs, ascending."""
        return tuple(sorted({cpu for pair in self.pairs for cpu in pair}))


def plan_pairs(
    topology: Topology, which: str = ALL, cpus: str | None = None, seed: int = 1
) -> LatencyPlan:
    """Return the pairs of allowed CPUs to measure: `all`, `representative`, or such as `0:1,0:2`.

    `cpus` is a CPU list that limits the pairs. The same seed draws the same representative pairs.
    Raises UserError when there are fewer than two CPUs, and for pairs or CPUs that are none or
    cannot be measured here.
    """
    allowed = topology.allowed
    if len(allowed) < 2:
        raise UserError(
            "the latency between CPUs needs two of them, and this process may use only CPU "
            f"{format_cpulist(allowed)}; allow it more (taskset, cpuset of the batch job)"
        )
    if cpus is not None:
        topology = replace(topology, allowed=_chosen(cpus, allowed))
    if which == ALL:
        name: PlanName = ALL
        pairs, why = tuple(combinations(topology.allowed, 2)), "every pair of CPUs"
    elif which == REPRESENTATIVE:
        name = REPRESENTATIVE
        pairs, why = _representative(topology, random.Random(seed))
    else:
        name, pairs = GIVEN, _checked(parse_pairs(which), topology.allowed)
        why = f"the {plural(len(pairs), 'pair')} that were named"
    return LatencyPlan(name, pairs, comb(len(allowed), 2), why)


def _chosen(cpus: str, allowed: Sequence[int]) -> tuple[int, ...]:
    try:
        some = parse_cpulist(cpus)
    except ValueError as error:
        raise UserError(f"--cpus: {error}") from None
    if len(some) < 2 or not set(some) <= set(allowed):
        raise UserError(f"--cpus {cpus}: expected two or more of CPUs {format_cpulist(allowed)}")
    return some


def plan_lines(
    topology: Topology, plan: LatencyPlan, expected_s: float, seed: int = 1
) -> list[str]:
    """Return lines with the number of pairs, their expected time and, if long, a shorter plan."""
    lines = [
        f"{plural(len(plan.pairs), 'pair')} of {plan.pairs_of_node}, about {duration(expected_s)}"
    ]
    if plan.name != ALL:
        lines.append(plan.why)
    elif expected_s > LONG_S:
        chosen = replace(topology, allowed=plan.cpus)
        fewer = len(plan_pairs(chosen, REPRESENTATIVE, seed=seed).pairs)
        shorter_s = expected_s * fewer / len(plan.pairs)
        lines.append(
            f"--pairs {REPRESENTATIVE} is shorter: {plural(fewer, 'pair')}, about "
            f"{duration(shorter_s)}"
        )
    return lines


def parse_pairs(text: str) -> list[Pair]:
    """Return the pairs of a list such as `0:1,0:2`; raises UserError for anything else."""
    pairs = []
    for part in text.split(","):
        ends = part.strip().split(":")
        if len(ends) != 2 or not all(map(_CPU.fullmatch, ends)):
            raise UserError(
                f"pairs: {shown(part)} is no pair of CPUs; expected all, representative, or pairs "
                "such as 0:1,0:2"
            )
        pairs.append((int(ends[0]), int(ends[1])))
    return pairs


def classes(topology: Topology) -> dict[tuple[str, str], list[Pair]]:
    """Return the pairs of allowed CPUs by class: a word of RELATIONS, and kinds such as `P and E`.

    Nearest classes come first.
    """
    relation, kinds = relations(topology), kinds_of_pairs(topology)
    by_class: dict[tuple[str, str], list[Pair]] = {}
    for a, b in combinations(topology.allowed, 2):
        by_class.setdefault((relation(a, b), kinds(a, b)), []).append((a, b))
    return dict(sorted(by_class.items(), key=lambda item: RELATIONS.index(item[0][0])))


def _representative(topology: Topology, draw: random.Random) -> tuple[tuple[Pair, ...], str]:
    """Return pairs of every class, two or more of each CPU, and their description."""
    by_class = classes(topology)
    pairs: dict[Pair, None] = {}
    for members in by_class.values():
        count = min(PAIRS_OF_A_CLASS, len(members))
        pairs |= dict.fromkeys(draw.sample(members, count))
    uses = Counter(cpu for pair in pairs for cpu in pair)
    # A CPU in too few pairs gets more with its nearest CPUs, which include its nearest partner.
    relation = relations(topology)
    for cpu in draw.sample(topology.allowed, len(topology.allowed)):
        partners = [other for other in topology.allowed if other != cpu]
        draw.shuffle(partners)
        # Among equally near CPUs, those in the fewest pairs come first.
        partners.sort(key=lambda other: (RELATIONS.index(relation(cpu, other)), uses[other]))
        new = [pair for other in partners if (pair := _ascending(cpu, other)) not in pairs]
        for pair in new[: max(0, PAIRS_OF_A_CPU - uses[cpu])]:
            pairs[pair] = None
            uses.update(pair)
    words = ", ".join(
        f"{name}{f' ({kinds})' if topology.hybrid else ''}: "
        f"{sum(pair in pairs for pair in members)} of {len(members)}"
        for (name, kinds), members in by_class.items()
    )
    if len(pairs) < sum(map(len, by_class.values())):
        words += "; a CPU's nearest partner is the nearest of those that it was measured with"
    return tuple(pairs), words


def _ascending(a: int, b: int) -> Pair:
    return (min(a, b), max(a, b))


def _checked(pairs: Sequence[Pair], cpus: Sequence[int]) -> tuple[Pair, ...]:
    """Return named pairs with the lower CPU first; raises UserError for invalid pairs."""
    checked: dict[Pair, None] = {}
    for a, b in pairs:
        name = f"pair {a}:{b}"
        if a == b:
            raise UserError(f"{name}: is one CPU; expected two, between which a line can pass")
        for cpu in (a, b):
            if cpu not in cpus:
                raise UserError(
                    f"{name}: CPU {cpu} is none of those that this process may use "
                    f"({format_cpulist(cpus)})"
                )
        pair = _ascending(a, b)
        if pair in checked:
            raise UserError(f"{name}: stands twice; both directions of a pair are measured")
        checked[pair] = None
    return tuple(checked)
