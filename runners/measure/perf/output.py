"""Rows of `perf stat -x`, with `;` or `,`, and of `perf stat -j`, from any version of perf.

Layout: perf-stat(1), "CSV FORMAT" and "JSON FORMAT". Values are kept as perf printed them, that is
multiplied by enabled/running time; runners/measure/perf/scaling.py undoes that with the help of
other rows. The printed percentage is a truncated integer division: only 100 is exact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal

State = Literal["counted", "not counted", "not supported"]

_STATES: dict[str, State] = {
    "<not counted>": "not counted",
    "<not supported>": "not supported",
}

# No counter needs more digits; the bounds also protect int() and float() from hostile lengths.
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)
_VARIANCE = re.compile(r"[+-]?\d{1,9}\.\d{1,6}%|-?nan%", re.ASCII)

_PMU_EVENT = re.compile(
    r"(?P<pmu>[A-Za-z0-9_.-]+)/(?P<event>[^/:]+)(?::(?P<inner>\w+))?/(?P<outer>\w*)", re.ASCII
)
# How perf names an event that several PMUs of one sort have: "data_reads [uncore_imc_0]".
_EVENT_IN_BRACKETS = re.compile(
    r"(?P<event>[^\s\[\]/]+) \[(?P<pmu>[A-Za-z0-9_.-]+)\](?::(?P<inner>\w+))?", re.ASCII
)
_BARE_EVENT = re.compile(r"[A-Za-z_][\w.:=@-]*", re.ASCII)
# perf-list(1), "EVENT MODIFIERS"; anything else after a colon is part of a tracepoint's name.
_MODIFIERS = re.compile(r"[ukhIGHpPSDWebRX]+", re.ASCII)

# What can stand before the value: a time (-I), then a name such as "S0", "S0-D1-C12", "CPU3", "N0",
# "a.out-1234" (-A, --per-*), then how many counts are summed in it.
MAX_LEADING = 3
_AGGREGATE = re.compile(r"[SDLCN]\d+(?:-[A-Z]+\d+)*|CPU\d+|.+-\d+", re.ASCII)
_PLACES = ("cpu", "core", "die", "socket", "node", "thread")
_ROW_NAMES = {
    *("event", "counter-value", "unit", "event-runtime", "pcnt-running", "variance", "interval"),
    *_PLACES,
}
# perf 6.1 writes metric values that are not JSON: nan, -nan, inf.
_NOT_JSON = re.compile(r":\s*-?(?:nan|inf)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One event's count as perf printed it.

    `value` is in `unit` (empty for a plain count) and None unless `state` is "counted"; `run_ns`
    is how long the event was counting, in nanoseconds. `pmu` is None for an event that was printed
    without one. `aggregate` names the CPU, core, ... of a row that is a part of the whole, and
    `time_s` is the end, in seconds, of the interval that a row of `-I` covers. `error_percent` is
    what perf adds under `-r`: the standard error in percent of the mean (Linux,
    tools/perf/util/stat.c, stddev_stats); `value` and `run_ns` are then means over the runs.
    `always` is whether perf printed 100 %: the event was counting whenever it was enabled.
    """

    event: str
    pmu: str | None
    modifiers: str
    value: float | None
    unit: str
    run_ns: int
    state: State
    aggregate: str | None = None
    time_s: float | None = None
    error_percent: float | None = None
    always: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The event as perf names it, in one spelling for all versions: `cpu_core/cycles/u`."""
        if self.pmu is not None:
            return f"{self.pmu}/{self.event}/{self.modifiers}"
        return f"{self.event}:{self.modifiers}" if self.modifiers else self.event

    @property
    def user_only(self) -> bool:
        """Whether the event was restricted to user mode, by request or for lack of permission."""
        return "u" in self.modifiers and "k" not in self.modifiers


@dataclass(frozen=True)
class PerfOutput:
    """The rows of one output; `unparsed` are lines that should be rows but cannot be read."""

    rows: tuple[Row, ...]
    unparsed: tuple[str, ...]


def parse_perf_output(text: str) -> PerfOutput:
    """Return the rows of a `perf stat -x` or `-j` output; never raises.

    Comments, blank lines and lines that only carry a metric are passed over.
    """
    rows: list[Row] = []
    unparsed: list[str] = []
    for raw_line in text.split("\n"):
        line = raw_line.strip("\r\0 \t")
        if not line or line.startswith("#"):
            continue
        found = _json_row(line) if line.startswith("{") else _csv_row(line)
        if isinstance(found, Row):
            rows.append(found)
        elif found is None:
            unparsed.append(line)
    return PerfOutput(tuple(rows), tuple(unparsed))


def split_event(name: str) -> tuple[str | None, str, str] | None:
    """Return an event name's PMU (None when bare), event and modifiers; None when it is no name.

    `cpu_core/cycles:u/` (older perf), `cpu_core/cycles/u` (newer), `cycles:u` and
    `cycles [cpu_core]` are understood.
    """
    match = _PMU_EVENT.fullmatch(name)
    if match:
        return match["pmu"], match["event"], (match["inner"] or "") + match["outer"]
    match = _EVENT_IN_BRACKETS.fullmatch(name)
    if match:
        return match["pmu"], match["event"], match["inner"] or ""
    if not _BARE_EVENT.fullmatch(name):
        return None
    event, colon, modifiers = name.rpartition(":")
    if colon and _MODIFIERS.fullmatch(modifiers):
        return None, event, modifiers
    return None, name, ""


class _MetricLine:
    """Stands for a line that continues the row above with one more metric."""


def _csv_row(line: str) -> Row | _MetricLine | None:
    fields = line.split(";") if line.count(";") >= 3 else _split_at_commas(line)
    fields = [field.strip() for field in fields]
    is_metric = False
    for start in range(MAX_LEADING + 1):
        leading = _leading(fields[:start])
        if leading:
            row = _row_of(fields[start:], *leading)
            if row:
                return row
            is_metric = is_metric or _is_metric(fields[start:])
    return _MetricLine() if is_metric else None


def _split_at_commas(line: str) -> list[str]:
    """Split at commas, those between an event's slashes excepted (`cpu/event=0x3c,umask=0/`)."""
    fields: list[str] = []
    for piece in line.split(","):
        if fields and _opens_event(fields[-1]):
            fields[-1] += "," + piece
        else:
            fields.append(piece)
    return fields


def _opens_event(field: str) -> bool:
    # An open event has a term with its value; "K/sec" and "/sec" are units of metrics.
    return field.count("/") == 1 and "=" in field.partition("/")[2]


def _leading(fields: Sequence[str]) -> tuple[float | None, str | None] | None:
    """Read [time,] [name of the aggregate, [count of what it sums,]]; None for anything else."""
    rest = list(fields)
    time_s = aggregate = None
    if rest and "." in rest[0] and _NUMBER.fullmatch(rest[0]):
        time_s = float(rest.pop(0))
    if rest and _AGGREGATE.fullmatch(rest[0]):
        aggregate = rest.pop(0)
        if rest and _WHOLE.fullmatch(rest[0]):
            rest.pop(0)
    return None if rest else (time_s, aggregate)


def _row_of(fields: Sequence[str], time_s: float | None, aggregate: str | None) -> Row | None:
    """Read value, unit, event, [variance,] run time, percentage."""
    if len(fields) < 5:
        return None
    value, unit, event, *rest = fields
    if _NUMBER.fullmatch(unit):
        return None
    error = rest.pop(0) if _VARIANCE.fullmatch(rest[0]) else ""
    # A row that was cut short (full disk) must not pass for one with a shorter run time.
    if len(rest) < 2 or not _NUMBER.fullmatch(rest[1]):
        return None
    row = _row(value, unit, event, rest[0], aggregate, time_s)
    return row and replace(row, error_percent=_percent(error), always=_percent(rest[1]) == 100)


def _percent(text: str) -> float | None:
    number = text.strip().removesuffix("%")
    return float(number) if _NUMBER.fullmatch(number) else None


def _row(
    value: str, unit: str, event: str, run: str, aggregate: str | None, time_s: float | None
) -> Row | None:
    names = split_event(event)
    if names is None or not _WHOLE.fullmatch(run):
        return None
    state = _STATES.get(value, "counted")
    number: float | None = None
    if state == "counted":
        if not _NUMBER.fullmatch(value):
            return None
        number = float(value)
        if not isfinite(number):
            return None
    pmu, name, modifiers = names
    return Row(name, pmu, modifiers, number, unit, int(run), state, aggregate, time_s)


def _is_metric(fields: Sequence[str]) -> bool:
    """Whether value, unit and event are left empty before a metric and its name."""
    return (
        len(fields) >= 4
        and not fields[0]
        and fields.count("") >= 3
        and any(character.isalpha() for character in fields[-1])
    )


def _json_row(line: str) -> Row | _MetricLine | None:
    table = _json_object(line)
    if table is None:
        return None
    if "event" not in table and "counter-value" not in table:
        return _MetricLine() if "metric-value" in table or "metricgroup" in table else None
    time_s = table.get("interval")
    places = (table.get(key) for key in _PLACES)
    aggregate = next((str(place) for place in places if place is not None), None)
    row = _row(
        _text(table, "counter-value"),
        _text(table, "unit"),
        _text(table, "event"),
        _text(table, "event-runtime"),
        aggregate,
        float(time_s) if isinstance(time_s, (int, float)) and isfinite(time_s) else None,
    )
    error, share = _text(table, "variance"), _text(table, "pcnt-running")
    return row and replace(row, error_percent=_percent(error), always=_percent(share) == 100)


def _json_object(line: str) -> Mapping[str, Any] | None:
    for attempt in (line, _NOT_JSON.sub(": null", line)):
        try:
            found = json.loads(attempt.rstrip(","), object_pairs_hook=_each_once)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table; raises ValueError when a name that a row uses is there twice."""
    names = [name for name, _ in pairs if name in _ROW_NAMES]
    if len(set(names)) != len(names):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _text(table: Mapping[str, Any], key: str) -> str:
    found = table.get(key, "")
    return str(found).strip() if isinstance(found, (str, int, float)) else ""
