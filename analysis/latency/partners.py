"""The best partner of each CPU, and in which order threads that talk should take the CPUs.

In an order each core has one CPU, and cores of the best kind come first. What it gains over
numerical order is told from measurements that had no part in choosing it: orders are chosen by one
half of them and judged by the other, both ways. An order chosen from all of them would win by luck
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.latency.clusters import completed
from analysis.latency.model import NS_PER_S, Array, Latency, Rows
from analysis.statistics.difference import Difference
from analysis.statistics.sample import LEVEL, Interval
from runners.node.topology import RELATIONS, kinds_of_pairs, relations

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
    the interval's ends are NaN where they are unknown. `runner_up` is the next best, `tied` the
    CPUs that do not differ from the best beyond noise, at most MAX_TIED, nearest first.
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
    best_pair = latency.pairs.iloc[pairs[0]]
    return Partners(
        cpu,
        kind,
        siblings,
        others[0],
        float(best_pair["rate_per_s"]),
        Interval(float(best_pair["rate_low_per_s"]), float(best_pair["rate_high_per_s"])),
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
    by_relation: dict[tuple[str, str], list[float]] = {}
    pairs = latency.pairs
    for a, b, ns in zip(pairs["a"], pairs["b"], pairs["median_ns"], strict=True):
        by_relation.setdefault((relation(a, b), kinds(a, b)), []).append(ns)
    order = sorted(by_relation, key=lambda key: (RELATIONS.index(key[0]), key[1]))
    return [
        Nearness(*key, len(ns), float(np.median(ns)), min(ns), max(ns))
        for key in order
        for ns in [by_relation[key]]
    ]


# Neighbours that were not measured are taken for that much farther than the way over others tells,
# so that measured ones are preferred where both are about as near.
UNMEASURED = 1.2

NEXT, PAIRS = "each with the next", "in pairs"
_SEED = 1
# Of more starts, only the shortest chains are improved.
_MAX_IMPROVED = 8
# Gains below are rounding.
_MIN_GAIN = 1e-9


@dataclass(frozen=True)
class Team:
    """An order of CPUs for a team whose threads talk `how`: each with the next, or in pairs.

    `rate_per_s` is the harmonic mean of the neighbours' one-way transfers, `numerical_rate_per_s`
    that of the numerical order `numerical`; None where some neighbours were not measured. `gain` is
    the ratio of both as the measurements that did not choose the order show it, with its 95 %
    interval; None with the reason `why_no_gain`.
    """

    how: str
    cpus: tuple[int, ...]
    numerical: tuple[int, ...]
    rate_per_s: float | None
    numerical_rate_per_s: float | None
    gain: float | None
    gain_interval: Interval | None
    why_no_gain: str = ""

    @property
    def gains(self) -> bool:
        """Whether the order is faster than the numerical one beyond noise."""
        return self.gain_interval is not None and self.gain_interval.low > 1

    @property
    def follows(self) -> tuple[int, ...]:
        """The order to use: the numerical one when the other gains nothing beyond noise."""
        return self.cpus if self.gains or self.gain is None else self.numerical

    @property
    def places(self) -> str:
        """The environment that pins a team so, ready for a command line."""
        places = ",".join(f"{{{cpu}}}" for cpu in self.follows)
        return f'OMP_PLACES="{places}" OMP_PROC_BIND=close OMP_NUM_THREADS={len(self.follows)}'


def find_teams(latency: Latency, disturbed: Collection[tuple[int, int]]) -> list[Team]:
    """Return orders for 2, 4, 8 … threads and for one on every core, then for pairs.

    `disturbed` are the pairs of rows of `Clusters.disturbed`, of which no gain is told. None for a
    node on which only one core was measured.
    """
    blocks = _blocks(latency)
    every = sum(map(len, blocks))
    if every < 2:
        return []
    best = blocks[0] if len(blocks[0]) > 1 else [cpu for block in blocks for cpu in block]
    judge = _Judge(latency, disturbed)
    teams = [judge.team(NEXT, [best], length) for length in _lengths(len(best))]
    if every > len(best):
        teams.append(judge.team(NEXT, blocks, every))
    if len(best) > 3:
        teams.append(judge.team(PAIRS, [best], len(best) // 2 * 2))
    return teams


def _lengths(most: int) -> Iterator[int]:
    length = 2
    while length < most:
        yield length
        length *= 2
    yield most


def _blocks(latency: Latency) -> list[list[int]]:
    """Return the first measured CPU of each core, by kind, best kind first, by number."""
    measured = frozenset(latency.runs[["from_cpu", "to_cpu"]].to_numpy().ravel().tolist())
    blocks: dict[str, list[int]] = {}
    for core in sorted(latency.topology.cores, key=lambda core: core.rank):
        usable = measured.intersection(core.cpus)
        if usable:
            blocks.setdefault(core.kind, []).append(min(usable))
    return [sorted(block) for block in blocks.values()]


class _Judge:
    """Chooses orders and computes their gain. CPUs are rows of the latencies' matrices here."""

    def __init__(self, latency: Latency, disturbed: Collection[tuple[int, int]]) -> None:
        self._latency = latency
        self._cost = _cost_of(latency.both_ways)
        self._disturbed = set(map(frozenset, disturbed))
        units = latency.units.sample(frac=1.0, random_state=_SEED)
        half = units.groupby("pair").cumcount().to_numpy() % 2
        halves = [units[half == side] for side in (0, 1)]
        self._costs = [self._half_cost(units) for units in halves]
        self._times = [_by_pair(units, len(latency.pairs)) for units in halves]

    def team(self, how: str, blocks: Sequence[Sequence[int]], length: int) -> Team:
        """Return the order of `length` CPUs of these blocks, block after block."""
        rows = [[self._latency.row_of[cpu] for cpu in block] for block in blocks]
        numerical = [row for block in rows for row in block][:length]
        chosen = _chosen(how, self._cost, rows, length)
        gain, why = self._gain(how, rows, numerical)
        return Team(
            how,
            self._cpus(chosen),
            self._cpus(numerical),
            self._rate(self._pairs(how, chosen)),
            self._rate(self._pairs(how, numerical)),
            None if gain is None else gain.ratio,
            None if gain is None else gain.interval(),
            why,
        )

    def _gain(
        self, how: str, blocks: Sequence[Sequence[int]], numerical: Sequence[int]
    ) -> tuple[Difference | None, str]:
        """Return log(time in numerical order / time in the chosen order), or why it is unknown."""
        halves = []
        for cost, times in zip(self._costs, reversed(self._times), strict=True):
            chosen = _chosen(how, cost, blocks, len(numerical))
            orders = numerical, chosen
            pairs = [self._pairs(how, order) for order in orders]
            if min(map(min, pairs)) < 0:
                return None, "some of the neighbours were not measured"
            talk = (zip(*_neighbours(how, order), strict=True) for order in orders)
            if any(frozenset(pair) in self._disturbed for pairs_of in talk for pair in pairs_of):
                return None, "some of the neighbours took as long as if they had been disturbed"
            half = _difference(times, *pairs)
            if half is None:
                return None, "too few samples of these pairs to judge by"
            halves.append(half)
        return (
            Difference(
                sum(one.log_ratio for one in halves) / 2,
                sum(one.standard_error**2 for one in halves) ** 0.5 / 2,
                min(one.df for one in halves),
                min(one.n for one in halves),
                paired=False,
            ),
            "",
        )

    def _pairs(self, how: str, order: Sequence[int]) -> Rows:
        """Return the rows of `Latency.pairs` of neighbours that talk, -1 where not measured."""
        return self._latency.pair_rows[_neighbours(how, order)]

    def _half_cost(self, units: pd.DataFrame) -> Array:
        medians = units.groupby("pair")["median_ns"].median()
        ns = np.full(len(self._latency.pairs), np.nan)
        ns[medians.index] = medians
        return _cost_of(self._latency.of_pairs(ns))

    def _rate(self, pairs: Rows) -> float | None:
        if min(pairs) < 0:
            return None
        rates = self._latency.pairs["rate_per_s"].to_numpy()[pairs]
        return float(NS_PER_S / (NS_PER_S / rates).mean())

    def _cpus(self, rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._latency.cpus[row] for row in rows)


def _neighbours(how: str, order: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """Return the rows that talk in this order: the first of each pair, and the second."""
    step = 2 if how == PAIRS else 1
    return order[:-1:step], order[1::step]


def _cost_of(ns: Array) -> Array:
    """Return what it costs that two rows are neighbours; more where they were not measured."""
    unmeasured = np.where(np.isnan(ns), UNMEASURED, 1.0)
    return np.asarray(np.exp(completed(np.log(ns))) * unmeasured)


def _chosen(how: str, cost: Array, blocks: Sequence[Sequence[int]], length: int) -> list[int]:
    """Return the order of `length` rows of these blocks, block after block."""
    chain: list[int] = []
    for block in blocks:
        within = cost[np.ix_(block, block)]
        count = min(length, len(block))
        order = near_pairs(within) if how == PAIRS else short_chain(within, count)
        rows = [block[at] for at in order]
        if chain and cost[chain[-1], rows[-1]] < cost[chain[-1], rows[0]]:
            rows.reverse()
        chain += rows
    return chain


def _by_pair(units: pd.DataFrame, pairs: int) -> pd.DataFrame:
    """Return number, mean and variance of each pair's times, in ns."""
    grouped = units.groupby("pair")["mean_ns"]
    found = pd.DataFrame({"n": grouped.size(), "mean": grouped.mean(), "var": grouped.var(ddof=1)})
    return found.reindex(range(pairs)).fillna({"n": 0})


def _difference(times: pd.DataFrame, before: Rows, after: Rows) -> Difference | None:
    """Return log(mean time of the pairs `before` / of those `after`); None without a spread.

    A pair that is in both says nothing about their difference. So the error adds up over pairs, by
    how much each moves the ratio (delta method); degrees of freedom are Welch and Satterthwaite's.
    """
    n, mean, var = (times[name].to_numpy(dtype=float) for name in ("n", "mean", "var"))
    rows = np.union1d(before, after)
    if n[rows].min() < 2:
        return None
    means = [float(mean[pairs].mean()) for pairs in (before, after)]
    shares = [np.bincount(pairs, minlength=len(n)) / len(pairs) for pairs in (before, after)]
    weights = shares[0] / means[0] - shares[1] / means[1]
    parts = weights[rows] ** 2 * var[rows] / n[rows]
    squares = float((parts**2 / (n[rows] - 1)).sum())
    count = int(min(n[before].sum(), n[after].sum()))
    return Difference(
        float(np.log(means[0] / means[1])),
        float(parts.sum() ** 0.5),
        float(parts.sum()) ** 2 / squares if squares > 0 else float(count - 1),
        count,
        paired=False,
    )


def short_chain(cost: Array, length: int) -> list[int]:
    """Return `length` rows of a symmetric matrix whose sum over neighbours is small.

    The nearest neighbour from every start, of which the shortest are improved by reversing parts
    (2-opt; Croes 1958) until no reversal shortens them. Deterministic; the order that the rows have
    is one of those that are improved, so that the result is never longer.
    """
    starts = [_nearest(cost, start, length) for start in range(len(cost))]
    starts.sort(key=lambda chain: total(cost, chain))
    chosen = [*starts[:_MAX_IMPROVED], np.arange(length)]
    best = min((_improved(cost, chain) for chain in chosen), key=lambda chain: total(cost, chain))
    return [int(row) for row in best]


def near_pairs(cost: Array) -> list[int]:
    """Return rows in which the 1st and 2nd, 3rd and 4th … are near; without the last of odd many.

    Nearest pairs first, improved by exchanging partners of two pairs while that helps.
    """
    free = set(range(len(cost)))
    pairs: list[tuple[int, int]] = []
    first, second = np.triu_indices(len(cost), 1)
    for at in np.argsort(cost[first, second], kind="stable"):
        a, b = int(first[at]), int(second[at])
        if a in free and b in free:
            free -= {a, b}
            pairs.append((a, b))
    while _exchanged(cost, pairs):
        pass
    return [row for pair in sorted(pairs, key=lambda pair: float(cost[pair])) for row in pair]


def total(cost: Array, chain: Rows) -> float:
    """Return the sum over neighbours of a chain."""
    return float(cost[chain[:-1], chain[1:]].sum())


def _nearest(cost: Array, start: int, length: int) -> Rows:
    chain = [start]
    taken = np.zeros(len(cost))
    taken[start] = np.inf
    while len(chain) < length:
        chain.append(int(np.argmin(cost[chain[-1]] + taken)))
        taken[chain[-1]] = np.inf
    return np.array(chain)


def _improved(cost: Array, chain: Rows) -> Rows:
    n = len(chain)
    first, last = np.triu_indices(n, 1)
    while True:
        along = cost[np.ix_(chain, chain)]
        # Ends of the chain have no neighbour, and cost nothing there.
        padded = np.zeros((n + 2, n + 2))
        padded[1:-1, 1:-1] = along
        i, j = first + 1, last + 1
        now = padded[i - 1, i] + padded[j, j + 1]
        gain = now - padded[i - 1, j] - padded[i, j + 1]
        best = int(np.argmax(gain)) if len(gain) else 0
        if not len(gain) or gain[best] <= _MIN_GAIN:
            return chain
        a, b = first[best], last[best] + 1
        chain = np.concatenate([chain[:a], chain[a:b][::-1], chain[b:]])


def _exchanged(cost: Array, pairs: list[tuple[int, int]]) -> bool:
    """Exchange partners once wherever that shortens two pairs; return whether it did."""
    changed = False
    for one in range(len(pairs)):
        for other in range(one + 1, len(pairs)):
            (a, b), (c, d) = pairs[one], pairs[other]
            now = cost[a, b] + cost[c, d]
            for p, q in (((a, c), (b, d)), ((a, d), (b, c))):
                if cost[p] + cost[q] < now - _MIN_GAIN:
                    pairs[one], pairs[other] = p, q
                    changed = True
                    break
    return changed
