"""Core-to-core latencies of a node: the samples of each pair, and their rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from analysis.statistics.sample import LEVEL
from runners.node.topology import Topology
from runners.records.latency_file import LeftOutPair

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# From that many runs of a pair on, the runs are what its uncertainty is judged by: the samples of
# one run share a line and a direction. With fewer runs, samples are used instead.
MIN_RUNS = 4
_QUANTILES = {"q05_ns": 0.05, "q25_ns": 0.25, "median_ns": 0.5, "q75_ns": 0.75, "q95_ns": 0.95}
NS_PER_S = 1e9


@dataclass(frozen=True)
class Latency:
    """What a latency file holds.

    `runs` has a row a run, in the file's order: `from_cpu`, `to_cpu`, `address`, `round_trips`,
    `switched` (involuntary context switches; NaN where not counted), `n` (samples). `one_way_ns`
    are the samples of all runs, one run after the other.
    """

    node_id: str
    started_at: str
    method: str
    plan: str
    pairs_of_node: int
    addresses: int
    topology: Topology
    left_out: tuple[LeftOutPair, ...]
    runs: pd.DataFrame
    one_way_ns: Array

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs of all pairs, measured or left out, ascending: the rows of the matrices."""
        named = {*self.runs["from_cpu"].tolist(), *self.runs["to_cpu"].tolist()}
        return tuple(sorted(named | {cpu for pair in self.left_out for cpu in pair.cpus}))

    @cached_property
    def row_of(self) -> dict[int, int]:
        """Each CPU's row in the matrices."""
        return {cpu: row for row, cpu in enumerate(self.cpus)}

    @cached_property
    def directed(self) -> pd.DataFrame:
        """Return a row an ordered pair, of all its samples.

        Columns: `from_cpu`, `to_cpu`, `n`, `mean_ns`, `sd_ns` (n - 1; NaN for one), `mad_ns` (the
        median absolute deviation), `q05_ns` to `q95_ns`, `median_ns`.
        """
        keys = self.runs[["from_cpu", "to_cpu"]]
        return _described(keys, self.runs["n"].to_numpy(), self.one_way_ns)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Return a row an unordered pair, both directions together: `a` < `b`.

        The columns of `directed`, and `runs`, `switched`; `rate_per_s`, the harmonic mean of the
        one-way transfers a second, with its 95 % interval `rate_low_per_s`, `rate_high_per_s`.
        """
        counts = self.runs["n"].to_numpy()
        pairs = _described(self._ends, counts, self.one_way_ns)
        grouped = self.runs.groupby(self._numbers, sort=True)
        pairs["runs"] = grouped.size().to_numpy()
        pairs["switched"] = grouped["switched"].sum(min_count=1).to_numpy()
        units = self.units
        return pairs.join(rates(units["pair"].to_numpy(), units["mean_ns"].to_numpy()))

    @cached_property
    def units(self) -> pd.DataFrame:
        """Return what a pair's uncertainty is judged by: its runs, or samples when these are few.

        Columns: `pair` (row of `pairs`), `median_ns`, `mean_ns`.
        """
        counts = self.runs["n"].to_numpy()
        run = np.repeat(np.arange(len(counts)), counts)
        by_run = pd.Series(self.one_way_ns).groupby(run)
        of_runs = pd.DataFrame(
            {"pair": self._numbers, "median_ns": by_run.median(), "mean_ns": by_run.mean()}
        )
        many = np.bincount(self._numbers)[self._numbers] >= MIN_RUNS
        of_samples = pd.DataFrame(
            {"pair": self._numbers[run], "median_ns": self.one_way_ns, "mean_ns": self.one_way_ns}
        )
        return pd.concat([of_runs[many], of_samples[~many[run]]], ignore_index=True)

    @cached_property
    def matrix(self) -> Array:
        """The median one-way time in ns from the row's CPU to the column's; NaN: not measured."""
        pairs = self.directed
        matrix = np.full((len(self.cpus),) * 2, np.nan)
        matrix[self._rows(pairs["from_cpu"]), self._rows(pairs["to_cpu"])] = pairs["median_ns"]
        return matrix

    @cached_property
    def both_ways(self) -> Array:
        """The median one-way time in ns between two CPUs, both directions together; symmetric."""
        return self.of_pairs(self.pairs["median_ns"].to_numpy())

    def of_pairs(self, values: Array) -> Array:
        """Return a symmetric matrix of values, one a row of `pairs`; NaN: not measured."""
        return np.where(self.pair_rows < 0, np.nan, values[self.pair_rows])

    @property
    def nearest(self) -> tuple[int, int, float]:
        """The two CPUs with the least median, and it, in ns."""
        return self._pair(int(self.pairs["median_ns"].to_numpy().argmin()))

    @property
    def farthest(self) -> tuple[int, int, float]:
        """The two CPUs with the greatest median, and it, in ns."""
        return self._pair(int(self.pairs["median_ns"].to_numpy().argmax()))

    @cached_property
    def pair_rows(self) -> Rows:
        """The row of `pairs` of each two CPUs, -1 where they were not measured; symmetric."""
        rows = np.full((len(self.cpus),) * 2, -1, dtype=np.intp)
        a, b = (self._rows(self.pairs[name]) for name in ("a", "b"))
        rows[a, b] = rows[b, a] = np.arange(len(self.pairs))
        return rows

    @cached_property
    def _ends(self) -> pd.DataFrame:
        """Both CPUs of each run, the lower one first."""
        ends = np.sort(self.runs[["from_cpu", "to_cpu"]].to_numpy(), axis=1)
        return pd.DataFrame(ends, columns=["a", "b"])

    @cached_property
    def _numbers(self) -> Rows:
        """The row of `pairs` that each run belongs to."""
        return np.asarray(self._ends.groupby(["a", "b"], sort=True).ngroup(), dtype=np.intp)

    def _pair(self, row: int) -> tuple[int, int, float]:
        a, b, ns = (self.pairs[name].to_numpy()[row] for name in ("a", "b", "median_ns"))
        return int(a), int(b), float(ns)

    def _rows(self, cpus: pd.Series[int]) -> Rows:
        return np.searchsorted(np.asarray(self.cpus), cpus.to_numpy())


def _described(keys: pd.DataFrame, counts: Rows, samples: Array) -> pd.DataFrame:
    """Return the statistics of all samples of runs with the same keys, a row a key, sorted."""
    names = list(keys.columns)
    groups = keys.groupby(names, sort=True)
    number = np.repeat(np.asarray(groups.ngroup(), dtype=np.intp), counts)
    values = pd.Series(samples)
    grouped = values.groupby(number)
    table = groups.size().reset_index()[names]
    table["n"] = grouped.size()
    table["mean_ns"], table["sd_ns"] = grouped.mean(), grouped.std(ddof=1)
    for name, share in _QUANTILES.items():
        table[name] = grouped.quantile(share)
    away = (values - table["median_ns"].to_numpy()[number]).abs()
    table["mad_ns"] = away.groupby(number).median()
    return table


def rates(groups: Rows, times_ns: Array) -> pd.DataFrame:
    """Return a row a group (0, 1, 2 …): `rate_per_s`, `rate_low_per_s`, `rate_high_per_s`.

    The rate is the harmonic mean, which is the inverse of the mean time. Its interval is Student's
    for the mean time, inverted, and so longer towards higher rates. Its ends are NaN for a single
    time, and the upper one is infinite where the times spread so far that a mean of 0 cannot be
    excluded.
    """
    grouped = pd.Series(times_ns).groupby(groups)
    mean, sd, n = grouped.mean(), grouped.std(ddof=1), grouped.size()
    t = special.stdtrit(np.maximum(n.to_numpy() - 1, 1), (1 + LEVEL) / 2)
    reach: pd.Series[float] = sd * t / n**0.5
    least = (mean - reach).where(mean > reach, 0.0).where(reach.notna())
    with np.errstate(divide="ignore"):
        return pd.DataFrame(
            {
                "rate_per_s": NS_PER_S / mean,
                "rate_low_per_s": NS_PER_S / (mean + reach),
                "rate_high_per_s": NS_PER_S / least,
            }
        )
