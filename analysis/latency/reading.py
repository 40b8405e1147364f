"""Reading a latency file, which may come from anybody: nothing in it is trusted unseen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from analysis.latency.model import Latency, LeftOut
from base.cpulist import parse_cpulist
from base.errors import UserError
from base.files import NotAFileError, read_given
from base.text import one_line, shown
from runners.latency.measure import METHODS
from runners.latency.pairs import ALL, GIVEN, REPRESENTATIVE
from runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology

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
_MAX_LETTERS = 2000
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


@dataclass(frozen=True)
class Checked:
    """A table of the file: `where` is its place, as in `pairs[3].runs[0]`, empty for the whole."""

    path: str
    where: str
    values: dict[str, Any]

    def wrong(self, name: str, expected: str) -> UserError:
        """Return the error that a field is not what was expected."""
        found = shown(self.values.get(name)) if name in self.values else "nothing"
        return UserError(
            f"{self.path}: {self._place(name)}: expected {expected}, found {found}; measure again "
            "with `pinstudy latency`, or name another file"
        )

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text of at most 2000 characters."""
        value = self.values.get(name)
        if not isinstance(value, str) or len(value) > _MAX_LETTERS:
            raise self.wrong(name, f"a text of at most {_MAX_LETTERS} characters")
        return value

    def word(self, name: str, known: tuple[str, ...]) -> str:
        """Return one of the words that are known."""
        value = self.values.get(name)
        if not isinstance(value, str) or value not in known:
            raise self.wrong(name, f"one of {', '.join(known)}")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value = self.values.get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, most: float) -> float:
        """Return a number above 0."""
        value: Any = self.values.get(name)
        if not is_positive(value, most):
            raise self.wrong(name, f"a number above 0 and up to {most:g}")
        return float(value)

    def cpus(self, name: str) -> tuple[int, ...]:
        """Return the CPUs of a list such as `0-3,8`."""
        text = self.text(name)
        try:
            return parse_cpulist(text)
        except ValueError:
            raise self.wrong(name, "a list of CPUs such as 0-3,8") from None

    def pair(self, name: str) -> tuple[int, int]:
        """Return two different CPU numbers."""
        value: Any = self.values.get(name)
        two = isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value)
        if not two or value[0] == value[1] or min(value) < 0:
            raise self.wrong(name, "two different CPU numbers")
        return value[0], value[1]

    def texts(self, name: str, most: int) -> dict[str, str]:
        """Return a table of texts; what is no text is passed over."""
        value = self.values.get(name, {})
        if not isinstance(value, dict) or len(value) > most:
            raise self.wrong(name, f"a table of at most {most} texts")
        return {key: text[:_MAX_LETTERS] for key, text in value.items() if isinstance(text, str)}

    def table(self, name: str) -> Checked:
        """Return a table inside this one."""
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "a table of keys")
        return Checked(self.path, self._place(name), value)

    def tables(self, name: str, most: int) -> list[Checked]:
        """Return a list of tables."""
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise self.wrong(name, f"a list of at most {most} tables")
        place = self._place(name)
        for at, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.wrong(name, f"a table as entry {at}")
        return [Checked(self.path, f"{place}[{at}]", item) for at, item in enumerate(value)]

    def numbers(self, name: str, most_values: int, most: float) -> list[float]:
        """Return a list of one number above 0 or more."""
        value = self.values.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= most_values:
            raise self.wrong(name, f"a list of 1 to {most_values} numbers")
        for at, number in enumerate(value):
            if not is_positive(number, most):
                raise UserError(
                    f"{self.path}: {self._place(name)}[{at}]: expected a number above 0 and up to "
                    f"{most:g}, found {shown(number)}; measure again with `pinstudy latency`, or "
                    "name another file"
                )
        return value

    def _place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def is_positive(value: object, most: float) -> bool:
    """Return whether a value is a number above 0 and not above `most`."""
    return isinstance(value, (int, float)) and type(value) is not bool and 0 < value <= most


def known_topology(told: Checked) -> Topology:
    """Return the topology of `runners.node.topology.topology_json`'s table.

    Raises UserError, naming file and field, for CPUs that are not online or in two cores.
    """
    online = told.cpus("online")
    if not 0 < len(online) <= MAX_ONLINE:
        raise told.wrong("online", f"1 to {MAX_ONLINE} CPUs")
    known = frozenset(online)
    cores = tuple(
        Core(_of(core, known), core.text("kind"), core.whole("package", -1, 2**31))
        for core in told.tables("cores", MAX_ONLINE)
    )
    _refuse_shared(told, "cores", (core.cpus for core in cores), known)
    kinds = tuple(
        CoreKind(
            kind.text("name"),
            _of(kind, known),
            kind.text("evidence"),
            declared=kind.values.get("declared") is True,
        )
        for kind in told.tables("kinds", _MAX_LEVEL)
    )
    _refuse_shared(told, "kinds", (kind.cpus for kind in kinds), None)
    return Topology(
        kinds=kinds,
        cores=cores,
        caches=tuple(
            Cache(
                cache.whole("level", 1, _MAX_LEVEL),
                "",
                cache.whole("size_bytes", 1, 2**50) if cache.has("size_bytes") else None,
                _of(cache, known),
            )
            for cache in told.tables("caches", _MAX_CACHES)
        ),
        numa=tuple(
            NumaNode(node.whole("node", 0, _MAX_NUMBER), _of(node, known, least=0))
            for node in told.tables("numa", MAX_ONLINE)
        ),
        online=online,
        offline=told.cpus("offline"),
        allowed=told.cpus("allowed"),
    )


def _of(told: Checked, known: frozenset[int], least: int = 1) -> tuple[int, ...]:
    """Return the `cpus` of a table, all of which are online."""
    cpus = told.cpus("cpus")
    if len(cpus) < least or not known.issuperset(cpus):
        raise told.wrong("cpus", "CPUs that are online")
    return cpus


def _refuse_shared(
    told: Checked, name: str, groups: Iterable[tuple[int, ...]], whole: frozenset[int] | None
) -> None:
    """Raise UserError when a CPU is in two groups, or one of `whole` in none."""
    listed = [cpu for cpus in groups for cpu in cpus]
    if len(set(listed)) != len(listed):
        raise told.wrong(name, "each CPU in one of them only")
    if whole is not None and set(listed) != whole:
        raise told.wrong(name, "every CPU that is online")
