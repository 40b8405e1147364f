"""The best partner of each CPU, and latencies by how near the kernel says two CPUs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    `rate` and `rate_interval` are one-way transfers a second with the best partner, None where they
    cannot be told. `runner_up` is the next best, `tied` the CPUs that cannot be told from the best,
    at most MAX_TIED of them, nearest first.
    """

    cpu: int
    kind: str
    siblings: tuple[Partner, ...]
    best: Partner | None
    rate: float | None = None
    rate_interval: Interval | None = None
    runner_up: Partner | None = None
    tied: tuple[int, ...] = ()


def find_partners(latency: Latency) -> list[Partners]:
    """Return the partners of each measured CPU, in the order of their numbers."""
    core_of = {cpu: core.cpus for core in latency.topology.cores for cpu in core.cpus}
    logs = _Units(latency)
    return [_of(latency, logs, cpu, core_of[cpu]) for cpu in latency.cpus]


class _Units:
    """The logarithms of what each pair's uncertainty is judged by."""

    def __init__(self, latency: Latency) -> None:
        units = latency.units.sort_values("pair", kind="stable")
        self._logs: NDArray[np.float64] = np.log(units["median_ns"].to_numpy(dtype=float))
        self._ends = np.searchsorted(units["pair"], np.arange(len(latency.pairs) + 1))

    def of(self, pair: int) -> NDArray[np.float64]:
        """Return those of one row of `Latency.pairs`."""
        return self._logs[self._ends[pair] : self._ends[pair + 1]]

    def differ(self, one: int, other: int) -> bool:
        """Return whether two pairs' times can be told apart, with 95 % confidence."""
        a, b = self.of(one), self.of(other)
        if min(len(a), len(b)) < 2:
            return False
        return Difference.welch(a, b).p_different < 1 - LEVEL


def _of(latency: Latency, units: _Units, cpu: int, core: Sequence[int]) -> Partners:
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
        if len(tied) == MAX_TIED or units.differ(pairs[0], pair):
            break
        tied.append(one.cpu)
    told = latency.pairs.iloc[pairs[0]]
    low, high = float(told["rate_low_per_s"]), float(told["rate_high_per_s"])
    return Partners(
        cpu,
        kind,
        siblings,
        others[0],
        float(told["rate_per_s"]),
        None if np.isnan(low) else Interval(low, high),
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
