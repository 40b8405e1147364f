"""A latency file: every value checked, the numbers of each pair, and the matrix of medians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from pinstudy.analysis.latency.nearness import groups_shown
from pinstudy.analysis.statistics.sample import Array
from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.decoding import read_decoded
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line
from pinstudy.runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology
from pinstudy.runners.records.latency_file import MAX_CPUS, LatencyFile, LeftOutPair
from pinstudy.runners.records.node_file import MAX_ONLINE, TopologyTable

MAX_BYTES = 512 * 1024 * 1024
_EXPECTED = f"name a latency.json that `{PINSTUDY} latency` has written, or a matrix, *.csv"
_AGAIN = f"; measure again with `{PINSTUDY} latency`, or name another file"

_QUANTILES = {"q05_ns": 0.05, "median_ns": 0.5, "q95_ns": 0.95}
# A pair that many times as slow as the way over a third CPU was disturbed. Kinds of cores make ways
# over a third one shorter, too, but not by half.
DISTURBED = 3.0
_PAIR = 2


@dataclass(frozen=True)
class Latency:
    """What a latency file holds; the CPUs of its matrices are in the order of `cpus`.

    `runs` has a row a run, in the file's order: `a` < `b` (its CPUs), `from_cpu`, `to_cpu`,
    `switched` (involuntary context switches; NaN where not counted), `n` (samples). `one_way_ns`
    are the samples of all runs, one run after the other.

    Of a matrix of another tool, `imported` is its file; `started_at`, `method` and `addresses` are
    None. Where that is all that is known of a node, `groups_shown` are the matrix's own groups
    (analysis.latency.nearness), and those of two CPUs stand for the cores.
    """

    node_id: str
    imported: str | None
    started_at: str | None
    method: str | None
    plan: str
    pairs_of_node: int
    addresses: int | None
    topology: Topology
    left_out: tuple[LeftOutPair, ...]
    runs: pd.DataFrame
    one_way_ns: Array
    groups_shown: tuple[tuple[int, ...], ...] | None = None

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs of all pairs, measured or left out, ascending."""
        named = {*self.runs["a"].tolist(), *self.runs["b"].tolist()}
        return tuple(sorted(named | {cpu for pair in self.left_out for cpu in pair.cpus}))

    @cached_property
    def directed(self) -> pd.DataFrame:
        """Return a row an ordered pair: `from_cpu`, `to_cpu`, and the columns of `pairs`."""
        return self._described(["from_cpu", "to_cpu"])

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Return a row an unordered pair, of its samples in both directions: `a`, `b`.

        Further columns: `n` (samples), `mean_ns`, `sd_ns` (n - 1; NaN for one), `q05_ns`,
        `median_ns`, `q95_ns`; `runs`, `switched`; `least_run_ns` and `most_run_ns`, the extremes
        of the medians of its runs.
        """
        return self._described(["a", "b"])

    @cached_property
    def matrix(self) -> Array:
        """The median one-way time in ns from the row's CPU to the column's; NaN: not measured.

        A matrix of another tool that has a pair once says it of both directions.
        """
        matrix = self._matrix(self.directed, "median_ns")
        return np.where(np.isnan(matrix), matrix.T, matrix) if self.imported else matrix

    @cached_property
    def both_ways(self) -> Array:
        """The median one-way time in ns between two CPUs, both directions together; symmetric."""
        return self.of_pairs("median_ns")

    def of_pairs(self, column: str) -> Array:
        """Return a column of `pairs` as a symmetric matrix; NaN: not measured."""
        upper = self._matrix(self.pairs, column)
        return np.where(np.isnan(upper), upper.T, upper)

    @property
    def nearest(self) -> tuple[int, int, float]:
        """The two CPUs with the least median, and it, in ns."""
        return self._pair(int(self.pairs["median_ns"].argmin()))

    @property
    def farthest(self) -> tuple[int, int, float]:
        """The two CPUs with the greatest median, and it, in ns."""
        return self._pair(int(self.pairs["median_ns"].argmax()))

    @cached_property
    def disturbed(self) -> tuple[tuple[int, int, float], ...]:
        """Pairs, and their ns, DISTURBED times as long or longer than the way over a third CPU."""
        ns = np.where(np.isnan(self.both_ways), math.inf, self.both_ways)
        # A way takes what the longer of its two steps does: caches form nested groups.
        over_a_third = np.stack([np.maximum(row, ns).min(axis=1) for row in ns])
        wrong = np.isfinite(ns) & (ns >= DISTURBED * over_a_third)
        pairs = np.argwhere(np.triu(wrong))
        return tuple((self.cpus[a], self.cpus[b], float(ns[a, b])) for a, b in pairs)

    def _pair(self, at: int) -> tuple[int, int, float]:
        a, b, ns = (self.pairs[name].iloc[at] for name in ("a", "b", "median_ns"))
        return int(a), int(b), float(ns)

    def _matrix(self, pairs: pd.DataFrame, column: str) -> Array:
        matrix = np.full((len(self.cpus),) * 2, np.nan)
        rows, columns = (np.searchsorted(self.cpus, pairs.iloc[:, at]) for at in (0, 1))
        matrix[rows, columns] = pairs[column]
        return matrix

    def _described(self, ends: list[str]) -> pd.DataFrame:
        runs = self.runs.groupby(ends, sort=True)
        pair_of_run = np.asarray(runs.ngroup(), dtype=np.intp)
        counts = self.runs["n"].to_numpy()
        samples = pd.Series(self.one_way_ns)
        by_pair = samples.groupby(np.repeat(pair_of_run, counts))
        table = runs.size().reset_index(name="runs")
        table.insert(2, "n", by_pair.size())
        table["mean_ns"], table["sd_ns"] = by_pair.mean(), by_pair.std(ddof=1)
        for name, share in _QUANTILES.items():
            table[name] = by_pair.quantile(share)
        table["switched"] = runs["switched"].sum(min_count=1).to_numpy()
        run_medians = samples.groupby(np.repeat(np.arange(len(counts)), counts)).median()
        of_runs = run_medians.groupby(pair_of_run)
        table["least_run_ns"], table["most_run_ns"] = of_runs.min(), of_runs.max()
        return table


def read_latency(path: Path) -> Latency:
    """Return the latencies of a file such as `results/latency/mynode/latency.json`.

    Raises UserError, naming file and field, for what cannot be read, is larger than any measurement
    (1024 CPUs, 512 MB), or is not as `pinstudy latency` writes it.
    """
    file = read_decoded(path, LatencyFile, MAX_BYTES, _EXPECTED, _AGAIN)
    try:
        latency = _latency(file)
    except ValueError as error:
        raise UserError(f"{one_line(str(path), None)}: {error}{_AGAIN}") from None
    return latency


def _latency(file: LatencyFile) -> Latency:
    """Return what a file holds; raises ValueError for what contradicts itself."""
    topology = topology_of(file.topology)
    runs, samples = _runs(file, frozenset(topology.online))
    latency = Latency(
        node_id=file.node_id,
        imported=file.imported,
        started_at=file.started_at,
        method=file.method,
        plan=file.plan,
        pairs_of_node=file.pairs_of_node,
        addresses=file.addresses,
        topology=topology,
        left_out=tuple(file.left_out),
        runs=runs,
        one_way_ns=samples,
    )
    if len(latency.cpus) > MAX_CPUS:
        raise ValueError(f"pairs: expected pairs of at most {MAX_CPUS} CPUs")
    return _with_groups_shown(latency) if "topology" in file.unavailable else latency


def _with_groups_shown(latency: Latency) -> Latency:
    """Return latencies of a node without topology with the groups that they show themselves.

    Two CPUs that are a group may be a core's siblings: a team shall have one of them.
    """
    shown, kind_of = groups_shown(latency.cpus, latency.both_ways), latency.topology.kind_of
    alike = (group for group in shown if len(group) == _PAIR and len({*map(kind_of, group)}) == 1)
    first = {cpu: group[0] for group in alike for cpu in group}
    cores: dict[int, list[int]] = {}
    for core in latency.topology.cores:
        for cpu in core.cpus:
            cores.setdefault(first.get(cpu, cpu), []).append(cpu)
    paired = tuple(Core(tuple(cpus), kind_of(cpus[0]) or "", 0) for cpus in cores.values())
    return replace(latency, topology=replace(latency.topology, cores=paired), groups_shown=shown)


def _runs(file: LatencyFile, online: frozenset[int]) -> tuple[pd.DataFrame, Array]:
    for at, out in enumerate(file.left_out):
        if not online.issuperset(out.cpus):
            raise ValueError(f"left_out[{at}].cpus: expected CPUs that are online")
    seen: set[frozenset[int]] = set()
    for at, pair in enumerate(file.pairs):
        if not online.issuperset(pair.cpus):
            raise ValueError(f"pairs[{at}].cpus: expected CPUs that are online")
        if (cpus := frozenset(pair.cpus)) in seen:
            raise ValueError(f"pairs[{at}].cpus: expected each pair once")
        seen.add(cpus)
    if not file.pairs:
        raise ValueError("pairs: expected one measured pair or more")
    runs = [run for pair in file.pairs for run in pair.runs]
    addresses = file.addresses or 1
    if any((run.address or 0) >= addresses for run in runs):
        raise ValueError(f"pairs: expected addresses from 0 to {addresses - 1}")
    frame = pd.DataFrame(
        {
            "a": [min(run.from_cpu, run.to_cpu) for run in runs],
            "b": [max(run.from_cpu, run.to_cpu) for run in runs],
            "from_cpu": [run.from_cpu for run in runs],
            "to_cpu": [run.to_cpu for run in runs],
            "switched": [np.nan if run.switched is None else run.switched for run in runs],
            "n": [len(run.one_way_ns) for run in runs],
        }
    )
    return frame, np.concatenate([np.array(run.one_way_ns) for run in runs])


def topology_of(table: TopologyTable) -> Topology:
    """Return the topology in a file.

    Raises ValueError, naming the field, for CPUs that are not online or in two cores.
    """
    online = _cpus(table.online, "online")
    if len(online) > MAX_ONLINE:
        raise ValueError(f"topology.online: expected 1 to {MAX_ONLINE} CPUs")
    known = frozenset(online)

    def inside(text: str, name: str, at: int) -> tuple[int, ...]:
        place = f"{name}[{at}].cpus"
        cpus = _cpus(text, place)
        if not known.issuperset(cpus):
            raise ValueError(f"topology.{place}: expected CPUs that are online")
        return cpus

    cores = tuple(
        Core(inside(core.cpus, "cores", at), core.kind, core.package)
        for at, core in enumerate(table.cores)
    )
    kinds = tuple(
        CoreKind(kind.name, inside(kind.cpus, "kinds", at), kind.evidence, kind.declared)
        for at, kind in enumerate(table.kinds)
    )
    _refuse_shared("cores", [core.cpus for core in cores])
    _refuse_shared("kinds", [kind.cpus for kind in kinds])
    if sum(len(core.cpus) for core in cores) < len(online):
        raise ValueError("topology.cores: expected every CPU that is online")
    return Topology(
        kinds=kinds,
        cores=cores,
        caches=tuple(
            Cache(cache.level, "", cache.size_bytes, inside(cache.cpus, "caches", at))
            for at, cache in enumerate(table.caches)
        ),
        numa=tuple(
            NumaNode(numa.node, inside(numa.cpus, "numa", at)) for at, numa in enumerate(table.numa)
        ),
        online=online,
        offline=_cpus(table.offline, "offline"),
        allowed=_cpus(table.allowed, "allowed"),
    )


def _cpus(text: str, place: str) -> tuple[int, ...]:
    try:
        return parse_cpulist(text)
    except ValueError:
        raise ValueError(f"topology.{place}: expected a list of CPUs such as 0-3,8") from None


def _refuse_shared(name: str, groups: Sequence[tuple[int, ...]]) -> None:
    """Raise ValueError when a CPU is in two groups."""
    listed = [cpu for group in groups for cpu in group]
    if len(set(listed)) != len(listed):
        raise ValueError(f"topology.{name}: expected each CPU in one of them only")
