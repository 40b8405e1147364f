"""Reading a latency file, which may come from anybody: every value is checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.latency.model import Array, Latency, LeftOut
from analysis.records.files import Checked, open_checked
from base import PINSTUDY
from runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology
from runners.records.latency_file import ALL, GIVEN, METHODS, REPRESENTATIVE, SCHEMA

KIND = "latency"
PLANS = (ALL, REPRESENTATIVE, GIVEN)

# All pairs of that many CPUs, with two runs of 30 samples each, take some 300 MB.
MAX_CPUS = 1024
MAX_PAIRS = MAX_CPUS * (MAX_CPUS - 1) // 2
MAX_BYTES = 512 * 1024 * 1024
MAX_ADDRESSES = 64
MAX_RUNS_OF_PAIR = 2 * MAX_ADDRESSES
MAX_SAMPLES_OF_RUN = 10_000
# A second for one transfer is no latency of any machine, nor is a picosecond.
MIN_NS, MAX_NS = 1e-3, 1e9
_MAX_COUNT = 2**62
_EXPECTED = f"name a latency.json that `{PINSTUDY} latency` has written"
_AGAIN = f"; measure again with `{PINSTUDY} latency`, or name another file"
# A node has no more CPUs that could be online; a file that names more is none of a node.
MAX_ONLINE = 8192
_MAX_NUMBER = 65535
_MAX_CACHES = 8 * MAX_ONLINE
_MAX_LEVEL = 9


def read_latency(path: Path) -> Latency:
    """Return the latencies of a file such as `results/latency/mynode/latency.json`.

    Raises UserError, naming file and field, for what cannot be read, is larger than any measurement
    (1024 CPUs, 512 MB), or is not as `pinstudy latency` writes it.
    """
    file = open_checked(path, MAX_BYTES, _EXPECTED, _AGAIN)
    file.valid("kind", lambda value: value == KIND, repr(KIND))
    file.check_schema(SCHEMA)
    topology = _topology(file.table("topology"))
    online = frozenset(topology.online)
    left_out = tuple(
        LeftOut(one.pair("cpus", online), one.text("reason"))
        for one in file.tables("left_out", MAX_PAIRS)
    )
    runs, samples = _runs(file, online)
    latency = Latency(
        node_id=file.text("node_id"),
        started_at=file.text("started_at"),
        method=file.word("method", METHODS),
        plan=file.word("plan", PLANS),
        pairs_of_node=file.whole("pairs_of_node", 1, _MAX_COUNT),
        addresses=file.whole("addresses", 1, MAX_ADDRESSES),
        topology=topology,
        left_out=left_out,
        runs=runs,
        one_way_ns=samples,
    )
    if len(latency.cpus) > MAX_CPUS:
        raise file.wrong("pairs", f"pairs of at most {MAX_CPUS} CPUs")
    return latency


def _runs(file: Checked, online: frozenset[int]) -> tuple[pd.DataFrame, Array]:
    rows: list[tuple[int, int, int, int, float, int]] = []
    parts: list[Array] = []
    addresses = file.whole("addresses", 1, MAX_ADDRESSES)
    seen: set[frozenset[int]] = set()
    for pair in file.tables("pairs", MAX_PAIRS):
        a, b = pair.pair("cpus", online)
        if frozenset((a, b)) in seen:
            raise pair.wrong("cpus", "each pair once")
        seen.add(frozenset((a, b)))
        runs = pair.tables("runs", MAX_RUNS_OF_PAIR)
        if not runs:
            raise pair.wrong("runs", "one run or more")
        for run in runs:
            ends = run.values.get("from"), run.values.get("to")
            if ends not in ((a, b), (b, a)) or bool in map(type, ends):
                raise run.wrong("from", f"from and to to be CPUs {a} and {b}")
            samples = run.numbers("one_way_ns", MAX_SAMPLES_OF_RUN, MIN_NS, MAX_NS)
            parts.append(np.array(samples, dtype=float))
            rows.append(
                (
                    int(ends[0]),
                    int(ends[1]),
                    run.whole("address", 0, addresses - 1),
                    run.whole("round_trips", 1, _MAX_COUNT),
                    run.whole("switched", 0, _MAX_COUNT) if run.has("switched") else np.nan,
                    len(samples),
                )
            )
    if not rows:
        raise file.wrong("pairs", "one measured pair or more")
    names = ["from_cpu", "to_cpu", "address", "round_trips", "switched", "n"]
    return pd.DataFrame(rows, columns=names), np.concatenate(parts)


def _topology(table: Checked) -> Topology:
    """Return the topology of `runners.node.topology.topology_json`'s table.

    Raises UserError, naming file and field, for CPUs that are not online or in two cores.
    """
    online = table.cpus("online")
    if not 0 < len(online) <= MAX_ONLINE:
        raise table.wrong("online", f"1 to {MAX_ONLINE} CPUs")
    known = frozenset(online)
    cores = tuple(
        Core(core.cpus_of(known), core.text("kind"), core.whole("package", -1, 2**31))
        for core in table.tables("cores", MAX_ONLINE)
    )
    _refuse_shared(table, "cores", cores)
    if sum(len(core.cpus) for core in cores) < len(online):
        raise table.wrong("cores", "every CPU that is online")
    kinds = tuple(
        CoreKind(
            kind.text("name"),
            kind.cpus_of(known),
            kind.text("evidence"),
            declared=kind.values.get("declared") is True,
        )
        for kind in table.tables("kinds", _MAX_LEVEL)
    )
    _refuse_shared(table, "kinds", kinds)
    return Topology(
        kinds=kinds,
        cores=cores,
        caches=tuple(
            Cache(
                cache.whole("level", 1, _MAX_LEVEL),
                "",
                cache.whole("size_bytes", 1, 2**50) if cache.has("size_bytes") else None,
                cache.cpus_of(known),
            )
            for cache in table.tables("caches", _MAX_CACHES)
        ),
        numa=tuple(
            NumaNode(node.whole("node", 0, _MAX_NUMBER), node.cpus_of(known, least=0))
            for node in table.tables("numa", MAX_ONLINE)
        ),
        online=online,
        offline=table.cpus("offline"),
        allowed=table.cpus("allowed"),
    )


def _refuse_shared(table: Checked, name: str, groups: Sequence[Core] | Sequence[CoreKind]) -> None:
    """Raise UserError when a CPU is in two groups."""
    listed = [cpu for group in groups for cpu in group.cpus]
    if len(set(listed)) != len(listed):
        raise table.wrong(name, "each CPU in one of them only")
