"""Reading a latency file, which may come from anybody: nothing in it is trusted unseen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.latency.model import Array, Latency, LeftOut
from base.cpulist import parse_cpulist
from base.errors import UserError
from base.files import NotAFileError, read_object
from base.text import one_line, shown
from runners.latency.measure import METHODS, SCHEMA
from runners.latency.pairs import ALL, GIVEN, REPRESENTATIVE
from runners.node.topology import Cache, Core, CoreKind, NumaNode, Topology

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
    told = _opened(path)
    told.valid("kind", lambda value: value == KIND, repr(KIND))
    told.valid(
        "schema",
        lambda value: type(value) is int and value == SCHEMA,
        f"{SCHEMA}, the version that this pinstudy reads",
    )
    topology = _topology(told.table("topology"))
    online = frozenset(topology.online)
    left_out = tuple(
        LeftOut(one.pair("cpus", online), one.text("reason"))
        for one in told.tables("left_out", MAX_PAIRS)
    )
    runs, samples = _runs(told, online)
    latency = Latency(
        node_id=told.text("node_id"),
        started_at=told.text("started_at"),
        method=told.word("method", METHODS),
        plan=told.word("plan", PLANS),
        pairs_of_node=told.whole("pairs_of_node", 1, _MAX_COUNT),
        addresses=told.whole("addresses", 1, MAX_ADDRESSES),
        topology=topology,
        left_out=left_out,
        runs=runs,
        one_way_ns=samples,
    )
    if len(latency.cpus) > MAX_CPUS:
        raise told.wrong("pairs", f"pairs of at most {MAX_CPUS} CPUs")
    return latency


def _opened(path: Path) -> Checked:
    """Return the file's table; raises UserError when there is none."""
    name = one_line(str(path), None)
    try:
        return Checked(name, "", read_object(path, MAX_BYTES))
    except NotAFileError:
        raise UserError(f"{name}: is not a file; {_EXPECTED}") from None
    except (OSError, ValueError) as error:
        reason = one_line(str(getattr(error, "strerror", None) or error))[:100]
        raise UserError(f"{name}: cannot be read ({reason}); {_EXPECTED}") from None


def _runs(told: Checked, online: frozenset[int]) -> tuple[pd.DataFrame, Array]:
    """Return the rows of all runs, and their samples one after the other."""
    rows: list[tuple[int, int, int, int, float, int]] = []
    parts: list[Array] = []
    addresses = told.whole("addresses", 1, MAX_ADDRESSES)
    seen: set[frozenset[int]] = set()
    for pair in told.tables("pairs", MAX_PAIRS):
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


def _topology(told: Checked) -> Topology:
    """Return the topology of `runners.node.topology.topology_json`'s table.

    Raises UserError, naming file and field, for CPUs that are not online or in two cores.
    """
    online = told.cpus("online")
    if not 0 < len(online) <= MAX_ONLINE:
        raise told.wrong("online", f"1 to {MAX_ONLINE} CPUs")
    known = frozenset(online)
    cores = tuple(
        Core(core.cpus_of(known), core.text("kind"), core.whole("package", -1, 2**31))
        for core in told.tables("cores", MAX_ONLINE)
    )
    _refuse_shared(told, "cores", cores)
    if sum(len(core.cpus) for core in cores) < len(online):
        raise told.wrong("cores", "every CPU that is online")
    kinds = tuple(
        CoreKind(
            kind.text("name"),
            kind.cpus_of(known),
            kind.text("evidence"),
            declared=kind.values.get("declared") is True,
        )
        for kind in told.tables("kinds", _MAX_LEVEL)
    )
    _refuse_shared(told, "kinds", kinds)
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
            for cache in told.tables("caches", _MAX_CACHES)
        ),
        numa=tuple(
            NumaNode(node.whole("node", 0, _MAX_NUMBER), node.cpus_of(known, least=0))
            for node in told.tables("numa", MAX_ONLINE)
        ),
        online=online,
        offline=told.cpus("offline"),
        allowed=told.cpus("allowed"),
    )


def _refuse_shared(told: Checked, name: str, groups: Sequence[Core] | Sequence[CoreKind]) -> None:
    """Raise UserError when a CPU is in two groups."""
    listed = [cpu for group in groups for cpu in group.cpus]
    if len(set(listed)) != len(listed):
        raise told.wrong(name, "each CPU in one of them only")


@dataclass(frozen=True)
class Checked:
    """A table of the file: `where` is its place, as in `pairs[3].runs[0]`, empty for the whole.

    What is not as expected raises UserError, naming file and field.
    """

    path: str
    where: str
    values: dict[str, Any]

    def wrong(self, name: str, expected: str, found: object = None) -> UserError:
        """Return the error that a field, or the value `found` in it, is not what was expected."""
        text = shown(self.values.get(name) if found is None else found)
        return UserError(
            f"{self.path}: {self._place(name)}: expected {expected}, found {text}; measure again "
            "with `pinstudy latency`, or name another file"
        )

    def valid(self, name: str, is_valid: Callable[[Any], bool], expected: str) -> Any:  # noqa: ANN401
        """Return a field's value if it is valid; None stands for a field that is not there."""
        value = self.values.get(name)
        if not is_valid(value):
            raise self.wrong(name, expected)
        return value

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text of at most 2000 characters."""
        value: str = self.valid(
            name,
            lambda value: isinstance(value, str) and len(value) <= _MAX_LETTERS,
            f"a text of at most {_MAX_LETTERS} characters",
        )
        return value

    def word(self, name: str, known: tuple[str, ...]) -> str:
        """Return one of the words that are known."""
        value: str = self.valid(name, lambda value: value in known, f"one of {', '.join(known)}")
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number within bounds."""
        value: int = self.valid(
            name,
            lambda value: type(value) is int and least <= value <= most,
            f"a whole number from {least} to {most}",
        )
        return value

    def cpus(self, name: str) -> tuple[int, ...]:
        """Return the CPUs of a list such as `0-3,8`."""
        try:
            return parse_cpulist(self.text(name))
        except ValueError:
            raise self.wrong(name, "a list of CPUs such as 0-3,8") from None

    def cpus_of(self, online: frozenset[int], least: int = 1) -> tuple[int, ...]:
        """Return the list in `cpus`, all of which are online."""
        cpus = self.cpus("cpus")
        if len(cpus) < least or not online.issuperset(cpus):
            raise self.wrong("cpus", "CPUs that are online")
        return cpus

    def pair(self, name: str, online: frozenset[int]) -> tuple[int, int]:
        """Return two different CPU numbers, both of which are online."""
        value: Any = self.values.get(name)
        two = isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value)
        if not two or value[0] == value[1] or min(value) < 0:
            raise self.wrong(name, "two different CPU numbers")
        if not online.issuperset(value):
            raise self.wrong(name, "CPUs that are online in the topology")
        return value[0], value[1]

    def table(self, name: str) -> Checked:
        """Return a table inside this one."""
        value = self.valid(name, lambda value: isinstance(value, dict), "a table of keys")
        return Checked(self.path, self._place(name), value)

    def tables(self, name: str, most: int) -> list[Checked]:
        """Return a list of tables."""
        items = self.valid(
            name,
            lambda value: isinstance(value, list) and len(value) <= most,
            f"a list of at most {most} tables",
        )
        for at, item in enumerate(items):
            if not isinstance(item, dict):
                raise self.wrong(name, f"a table as entry {at}")
        place = self._place(name)
        return [Checked(self.path, f"{place}[{at}]", item) for at, item in enumerate(items)]

    def numbers(self, name: str, most_values: int, most: float) -> list[float]:
        """Return a list of one number above 0 or more."""
        values: list[float] = self.valid(
            name,
            lambda value: isinstance(value, list) and 0 < len(value) <= most_values,
            f"a list of 1 to {most_values} numbers",
        )
        for at, number in enumerate(values):
            if type(number) not in (int, float) or not 0 < number <= most:
                expected = f"a number above 0 and up to {most:g}"
                raise self.wrong(f"{name}[{at}]", expected, number)
        return values

    def _place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name
