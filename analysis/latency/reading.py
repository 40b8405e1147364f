"""Reading a latency file, which may come from anybody: every value is checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.latency.model import Array, Latency
from base import PINSTUDY
from base.cpulist import parse_cpulist
from base.decoding import read_decoded
from base.errors import UserError
from base.text import one_line
from runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology
from runners.records.latency_file import MAX_CPUS, LatencyFile
from runners.records.node_file import MAX_ONLINE, TopologyTable

MAX_BYTES = 512 * 1024 * 1024
_EXPECTED = f"name a latency.json that `{PINSTUDY} latency` has written"
_AGAIN = f"; measure again with `{PINSTUDY} latency`, or name another file"


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
    return latency


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
    if any(run.address >= file.addresses for run in runs):
        raise ValueError(f"pairs: expected addresses from 0 to {file.addresses - 1}")
    frame = pd.DataFrame(
        {
            "from_cpu": [run.from_cpu for run in runs],
            "to_cpu": [run.to_cpu for run in runs],
            "address": [run.address for run in runs],
            "round_trips": [run.round_trips for run in runs],
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
