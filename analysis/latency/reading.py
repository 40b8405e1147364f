"""Reading a latency file, which may come from anybody: nothing in it is trusted unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from analysis.latency.checked import Checked
from analysis.latency.known_topology import known_topology
from analysis.latency.model import Latency, LeftOut
from base.errors import UserError
from base.files import NotAFileError, read_given
from base.text import one_line
from runners.latency.measure import METHODS
from runners.latency.pairs import ALL, GIVEN, REPRESENTATIVE

SCHEMA = 1
KIND = "latency"
PLANS = (ALL, REPRESENTATIVE, GIVEN)

# All pairs of that many CPUs, with two runs of 30 samples each, take some 300 MB.
MAX_CPUS = 1024
MAX_PAIRS = MAX_CPUS * (MAX_CPUS - 1) // 2
MAX_BYTES = 512 * 1024 * 1024
MAX_ADDRESSES = 64
MAX_RUNS_OF_PAIR = 2 * MAX_ADDRESSES
MAX_SAMPLES_OF_RUN = 10_000
# A second for one transfer is no latency of any machine.
MAX_NS = 1e9
_MAX_COUNT = 2**62
_MAX_TEXTS = 1000
_EXPECTED = "name a latency.json that `pinstudy latency` has written"


def read_latency(path: Path) -> Latency:
    """Return the latencies of a file such as `results/latency/mynode/latency.json`.

    Raises UserError, naming file and field, for what cannot be read, is larger than any measurement
    (1024 CPUs, 512 MB), or is not as `pinstudy latency` writes it.
    """
    told = Checked(one_line(str(path), None), "", _parsed(path))
    if told.values.get("kind") != KIND:
        raise told.wrong("kind", f"{KIND!r}")
    if told.values.get("schema") != SCHEMA or type(told.values["schema"]) is not int:
        raise told.wrong("schema", f"{SCHEMA}, the version that this pinstudy reads")
    topology = known_topology(told.table("topology"))
    online = frozenset(topology.online)
    left_out = tuple(
        LeftOut(_known(one, one.pair("cpus"), online), one.text("reason"))
        for one in told.tables("left_out", MAX_PAIRS)
    )
    runs, samples = _runs(told, online)
    latency = Latency(
        source=str(path),
        node_id=told.text("node_id"),
        started_at=told.text("started_at"),
        elapsed_s=told.number("elapsed_s", float(2**40)),
        method=told.word("method", METHODS),
        plan=told.word("plan", PLANS),
        pairs_of_node=told.whole("pairs_of_node", 1, _MAX_COUNT),
        addresses=told.whole("addresses", 1, MAX_ADDRESSES),
        precision=told.number("precision", 1.0) if told.has("precision") else None,
        governor=told.text("governor") if told.has("governor") else "",
        topology=topology,
        unavailable=told.texts("unavailable", _MAX_TEXTS),
        left_out=left_out,
        runs=runs,
        one_way_ns=samples,
    )
    if len(latency.cpus) > MAX_CPUS:
        raise told.wrong("pairs", f"pairs of at most {MAX_CPUS} CPUs")
    return latency


def _parsed(path: Path) -> dict[str, Any]:
    """Return the file's table; raises UserError when there is none."""
    name = one_line(str(path), None)
    try:
        data = read_given(path, MAX_BYTES)
    except NotAFileError:
        raise UserError(f"{name}: is not a file; {_EXPECTED}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{name}: cannot be read ({reason}); {_EXPECTED}") from None
    if len(data) > MAX_BYTES:
        raise UserError(
            f"{name}: is larger than {MAX_BYTES >> 20} MiB, which no measurement of {MAX_CPUS} "
            f"CPUs is; {_EXPECTED}"
        )
    try:
        value = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: is no JSON ({one_line(str(error))[:100]}); {_EXPECTED}") from None
    if not isinstance(value, dict):
        raise UserError(f"{name}: holds no table of keys; {_EXPECTED}")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON")


def _runs(told: Checked, online: frozenset[int]) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Return the rows of all runs, and their samples one after the other."""
    rows: list[tuple[int, int, int, int, float, int]] = []
    parts: list[np.ndarray[Any, Any]] = []
    addresses = told.whole("addresses", 1, MAX_ADDRESSES)
    seen: set[tuple[int, int]] = set()
    for pair in told.tables("pairs", MAX_PAIRS):
        a, b = _known(pair, pair.pair("cpus"), online)
        if (min(a, b), max(a, b)) in seen:
            raise pair.wrong("cpus", "each pair once")
        seen.add((min(a, b), max(a, b)))
        runs = pair.tables("runs", MAX_RUNS_OF_PAIR)
        if not runs:
            raise pair.wrong("runs", "one run or more")
        for run in runs:
            ends = run.values.get("from"), run.values.get("to")
            if ends not in ((a, b), (b, a)) or bool in map(type, ends):
                raise run.wrong("from", f"from and to to be CPUs {a} and {b}")
            samples = run.numbers("one_way_ns", MAX_SAMPLES_OF_RUN, MAX_NS)
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
        raise told.wrong("pairs", "one measured pair or more")
    names = ["from_cpu", "to_cpu", "address", "round_trips", "switched", "n"]
    return pd.DataFrame(rows, columns=names), np.concatenate(parts)


def _known(told: Checked, cpus: tuple[int, int], online: frozenset[int]) -> tuple[int, int]:
    if not online.issuperset(cpus):
        raise told.wrong("cpus", "CPUs that are online in the topology")
    return cpus
