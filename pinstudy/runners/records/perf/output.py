"""Rows of `perf stat -x`, with `;` or `,`, and of `perf stat -j`, from any version of perf.

Layout: perf-stat(1), "CSV FORMAT" and "JSON FORMAT". Values are kept as perf printed them, that is
multiplied by enabled/running time; pinstudy/runners/records/perf/scaling.py undoes that with the
help of other rows. The printed percentage is a truncated integer division: only 100 is exact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal

State = Literal["counted", "not counted", "not supported"]

_STATES: dict[str, State] = {"<not counted>": "not counted", "<not supported>": "not supported"}

# No counter needs more digits; the bounds also protect int() and float() from hostile lengths, and
# products with times from being infinite.
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)

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

# Fields, a line each. What can stand before the value: a time (-I), then a name such as "S0",
# "S0-D1-C12", "N0", "a.out-1234" (--per-*), then how many counts are summed in it; none are
# summed of "CPU3" (-A).
_LEADING = re.compile(
    r"(?:(?P<time>\d{1,30}\.\d{1,30})\n)?"
    r"(?:(?P<cpu>CPU\d+)\n"
    r"|(?P<aggregate>[SDLCN]\d+(?:-[A-Z]+\d+)*|.+-\d+)\n(?:(?P<summed>\d{1,19})\n)?)?",
    re.ASCII,
)
# A row that was cut short (full disk) lacks the percentage; it must not pass for one with a shorter
# run time.
_CSV_ROW = re.compile(
    rf"{_LEADING.pattern}(?P<value>{_NUMBER.pattern}|<[a-z ]+>)\n"
    rf"(?!{_NUMBER.pattern}\n)(?P<unit>.*)\n(?P<event>.+)\n"
    r"(?:(?P<error>[+-]?\d{1,9}\.\d{1,6}%|-?nan%)\n)?"
    rf"(?P<run>{_WHOLE.pattern})\n(?P<share>{_NUMBER.pattern})(?:\n.*)*",
    re.ASCII,
)
# What a row is of that is not of all: -A, --per-*, --for-each-cgroup (Linux
# tools/perf/util/stat-display.c, aggr_printout, print_cgroup).
_PLACES = ("cpu", "core", "cluster", "cache", "die", "socket", "node", "thread", "cgroup")
_ROW_NAMES = {
    *("event", "counter-value", "unit", "event-runtime", "pcnt-running", "variance", "interval"),
    *_PLACES,
}
# How many counts are summed in a row, in older and newer perf.
_SUMMED = ("aggregate-number", "counters")
# What perf writes that is not JSON, outside texts: nan, -nan, inf as values (6.1), commas before a
# closing brace (6.12) or another comma, no value at all, a locale's decimal commas.
_JSON_SLIP = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<no_number>-?(?:nan|inf(?:inity)?)\b)"
    r"|(?P<whole>\d+),(?P<decimals>\d+)(?=\s*[,}])"
    r"|(?P<no_value>:)(?=\s*[,}])"
    r"|(?P<comma>,)(?=\s*[,}])"
    r"|(?<=\{)(?P<first_comma>\s*,)",
    re.IGNORECASE,
)
# A row is shorter; in a longer line no slips are looked for.
_MAX_MENDED = 4096
_DECIMAL_COMMA = re.compile(r"(-?\d+),(\d+)", re.ASCII)


@dataclass(frozen=True)
class Row:
    """One event's count as perf printed it.

    `value` is in `unit` (empty for a plain count) and None unless `state` is "counted"; `run_ns`
    is how long the event was counting, in nanoseconds. `pmu` is None for an event that was printed
    without one. `aggregate` names the CPU, core, ... of a row that is a part of the whole, and
    `time_s` is the end, in seconds, of the interval that a row of `-I` covers. `error_percent` is
    what perf adds under `-r`: the standard error in percent of the mean (Linux,
    tools/perf/util/stat.c, stddev_stats); `value` and `run_ns` are then means over the runs.
    `always` is whether perf printed 100 %: the event was counting whenever it was enabled;
    `percent` is what it printed, where it has a column for that.
    `summed` is how many counts are added up in a row of `--per-*`, None where perf does not say.
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
    summed: int | None = field(default=None, compare=False)
    percent: float | None = field(default=None, compare=False)

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

    @property
    def without_user(self) -> bool:
        """Whether only the kernel, a hypervisor or guests were counted."""
        given = set(self.modifiers)
        return bool(given & set("kh") and "u" not in given) or ("G" in given and "H" not in given)


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


def _csv_row(line: str) -> Row | Literal["metric"] | None:
    fields = line.split(";") if line.count(";") >= 3 else _split_at_commas(line)
    text = "\n".join(field.strip() for field in fields)
    found = _CSV_ROW.fullmatch(text)
    if found is None:
        return "metric" if _is_metric(text) else None
    value, unit, event, run = found.group("value", "unit", "event", "run")
    time_s = float(found["time"]) if found["time"] else None
    row = _row(value, unit, event, run, found["cpu"] or found["aggregate"], time_s)
    error, share = _percent(found["error"] or ""), _percent(found["share"])
    summed = int(found["summed"]) if found["summed"] else None
    return row and replace(
        row, error_percent=error, always=share == 100, summed=summed, percent=share
    )


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


def _percent(text: str) -> float | None:
    number = text.removesuffix("%")
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
    pmu, name, modifiers = names
    return Row(name, pmu, modifiers, number, unit, int(run), state, aggregate, time_s)


def _is_metric(text: str) -> bool:
    """Whether value, unit and event are left empty before a metric and its name."""
    fields = _LEADING.sub("", text, count=1).split("\n")
    is_named = any(character.isalpha() for character in fields[-1])
    return is_named and not fields[0] and fields.count("") >= 3


def _json_row(line: str) -> Row | Literal["metric"] | None:
    table = parse_object(line)
    if table is None:
        return None
    if "event" not in table and "counter-value" not in table:
        return "metric" if "metric-value" in table or "metricgroup" in table else None
    time_s = table.get("interval")
    places = (table.get(key) for key in _PLACES)
    aggregate = next((str(place) for place in places if place is not None), None)
    row = _row(
        _number_text(table, "counter-value"),
        _text(table, "unit"),
        _text(table, "event"),
        _text(table, "event-runtime"),
        aggregate,
        float(time_s) if isinstance(time_s, (int, float)) and isfinite(time_s) else None,
    )
    error = _percent(_number_text(table, "variance"))
    share = _percent(_number_text(table, "pcnt-running"))
    summed = next((text for key in _SUMMED if _WHOLE.fullmatch(text := _text(table, key))), None)
    return row and replace(
        row,
        error_percent=error,
        always=share == 100,
        summed=int(summed) if summed else None,
        percent=share,
    )


def parse_object(line: str) -> Mapping[str, Any] | None:
    """Return a JSON object of `perf stat -j`, perf's slips mended; None for anything else."""
    row = line.rstrip(",")
    mended = _JSON_SLIP.sub(_mended, row) if len(row) <= _MAX_MENDED else row
    for attempt in (row, mended):
        try:
            found = json.loads(attempt, object_pairs_hook=_each_once)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def _mended(slip: re.Match[str]) -> str:
    """Return a text as it is, and JSON for what is none."""
    if slip["text"]:
        return slip["text"]
    if slip["no_number"]:
        return "null"
    if slip["whole"]:
        return f"{slip['whole']}.{slip['decimals']}"
    return ": null" if slip["no_value"] else ""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table; raises ValueError when a name that a row uses is there twice."""
    names = [name for name, _ in pairs if name in _ROW_NAMES]
    if len(set(names)) != len(names):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _text(table: Mapping[str, Any], key: str) -> str:
    found = table.get(key, "")
    return str(found).strip() if isinstance(found, (str, int, float)) else ""


def _number_text(table: Mapping[str, Any], key: str) -> str:
    """Return the text of a number, in which the only comma is a locale's decimal one."""
    text = _text(table, key)
    comma = _DECIMAL_COMMA.fullmatch(text)
    return f"{comma[1]}.{comma[2]}" if comma else text
