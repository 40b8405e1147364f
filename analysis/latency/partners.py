"""The best partner of each CPU, and latencies by how near the kernel says two CPUs are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.latency.model import Latency
from analysis.statistics.difference import Difference
from analysis.statistics.sample import LEVEL, Interval
from runners.latency.pairs import RELATIONS, kinds_of_pairs, relations

# So many equals are as good as any number of them, and not looked at further.
MAX_TIED = 8


@dataclass(frozen=True)
class Partner:
    """Another CPU, and the median one-way time to it and back, in ns."""

    cpu: int
    ns: float


@dataclass(frozen=True)
class Partners:
    """A CPU's siblings on its own core, and its best partner on another one.

    `rate_per_s` and `rate_interval` are one-way transfers with the best partner, None without one;
    the interval's ends are NaN where they cannot be told. `runner_up` is the next best, `tied` the
    CPUs that cannot be told from the best, at most MAX_TIED of them, nearest first.
    """

    cpu: int
    kind: str
    siblings: tuple[Partner, ...]
    best: Partner | None
    rate_per_s: float | None = None
    rate_interval: Interval | None = None
    runner_up: Partner | None = None
    tied: tuple[int, ...] = ()


def find_partners(latency: Latency) -> list[Partners]:
    """Return the partners of each measured CPU, in the order of their numbers."""
    core_of = {cpu: core.cpus for core in latency.topology.cores for cpu in core.cpus}
    logs = np.log(latency.units["median_ns"].to_numpy(dtype=float))
    rows = latency.units.groupby("pair").indices

    def differ(one: int, other: int) -> bool:
        a, b = logs[rows[one]], logs[rows[other]]
        return min(len(a), len(b)) > 1 and Difference.welch(a, b).p_different < 1 - LEVEL

    return [_of(latency, cpu, core_of[cpu], differ) for cpu in latency.cpus]


def _of(
    latency: Latency, cpu: int, core: Sequence[int], differ: Callable[[int, int], bool]
) -> Partners:
    """Return a CPU's partners; `differ` tells pairs apart, by their rows, with 95 % confidence."""
    row = latency.row_of[cpu]
    times = latency.both_ways[row]
    near = [at for at in np.argsort(times, kind="stable") if not np.isnan(times[at])]
    listed = [Partner(latency.cpus[at], float(times[at])) for at in near]
    siblings = tuple(one for one in listed if one.cpu in core)
    others = [one for one in listed if one.cpu not in core]
    kind = latency.topology.kind_of(cpu) or ""
    if not others:
        return Partners(cpu, kind, siblings, None)
    pairs = [int(latency.pair_rows[row, latency.row_of[one.cpu]]) for one in others]
    tied: list[int] = []
    for one, pair in zip(others[1:], pairs[1:], strict=True):
        if len(tied) == MAX_TIED or differ(pairs[0], pair):
            break
        tied.append(one.cpu)
    told = latency.pairs.iloc[pairs[0]]
    return Partners(
        cpu,
        kind,
        siblings,
        others[0],
        float(told["rate_per_s"]),
        Interval(float(told["rate_low_per_s"]), float(told["rate_high_per_s"])),
        others[1] if len(others) > 1 else None,
        tuple(tied),
    )


@dataclass(frozen=True)
class Nearness:
    """Measured pairs of one relation (`SMT siblings` … `different packages`) between two kinds.

    `kinds` are as `P`, or `P and E`. The times are the pairs' medians, in ns.
    """

    relation: str
    kinds: str
    pairs: int
    median_ns: float
    least_ns: float
    most_ns: float


def find_nearness(latency: Latency) -> list[Nearness]:
    """Return the measured pairs by relation and kinds, nearest relations first."""
    relation, kinds = relations(latency.topology), kinds_of_pairs(latency.topology)
    found: dict[tuple[str, str], list[float]] = {}
    pairs = latency.pairs
    for a, b, ns in zip(pairs["a"], pairs["b"], pairs["median_ns"], strict=True):
        found.setdefault((relation(a, b), kinds(a, b)), []).append(ns)
    order = sorted(found, key=lambda key: (RELATIONS.index(key[0]), key[1]))
    return [
        Nearness(*key, len(ns), float(np.median(ns)), min(ns), max(ns))
        for key in order
        for ns in [found[key]]
    ]
