"""The text that `perf stat` prints for people, whatever the locale of who ran it.

Layout: Linux tools/perf/util/stat-display.c. A count is followed by its unit and event, behind `#`
by a metric, then by `( +- x% )` under `-r` and by `(y%)` when it was counting for a part of the
time only. Numbers are grouped, and have the decimal sign, of the locale (LC_NUMERIC).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runners.measure.perf.output import Row, split_event
from runners.measure.perf.scaling import SOFTWARE_EVENTS, canonical_event

HEADER = re.compile(
    r"\s*Performance counter stats for (?P<who>.*?)(?: \((?P<runs>[0-9]{1,9}) runs\))?:\s*"
)
_INTERVALS = re.compile(r"#\s+time\s+counts\b.*")
# As many groups of digits as a 64-bit count needs, with one sign between all of them, and another
# one before the decimals.
_GROUPED = (
    r"[0-9]{1,3}(?P<sign>[.,'\u2019\xa0\u202f ])[0-9]{3}(?:(?P=sign)[0-9]{3}){0,6}"
    r"(?:(?!(?P=sign))[.,][0-9]{1,9})?"
)
_NUMBER = rf"{_GROUPED}|[0-9]{{1,20}}(?:[.,][0-9]{{1,9}})?"
_SECONDS = r"[0-9]{1,12}(?:[.,][0-9]{1,12})?"
_COUNT = re.compile(
    r"\s*(?:(?P<place>[SDLCN][0-9]+(?:-[A-Z]+[0-9]+)*|CPU[0-9]+)\s+(?:[0-9]{1,6}\s+(?=\S+\s+\D))?)?"
    rf"(?P<value>{_NUMBER}|<not counted>|<not supported>)\s+(?P<what>\S.*)"
)
_SHARE = re.compile(r"\s+[(\[]\s*(?P<percent>[0-9]{1,3}[.,][0-9]{1,2})%\s*[)\]]\s*$")
_ERROR = re.compile(r"\s+\(\s*\+-\s*(?P<percent>[0-9]{1,9}[.,][0-9]{1,2})%\s*\)\s*$")
_ELAPSED = re.compile(
    rf"\s*(?P<mean>{_SECONDS})(?: \+- (?P<error>{_SECONDS}))? seconds time elapsed(?P<rest>.*)"
)
_USAGE = re.compile(rf"\s*(?P<seconds>{_SECONDS})(?: \+- {_SECONDS})? seconds (?P<of>user|sys)\b.*")
_UNIT = re.compile(r"[A-Za-z%/]{1,16}", re.ASCII)
# A group of metrics, which has no count: "TopdownL1 (cpu_core)  #  20.0 %  tma_retiring".
_METRICS = re.compile(r"[A-Za-z]\w*(?: \(\w+\))?\s+#")
_OLD_CLOCK = re.compile(r"(?P<event>\S+) \((?P<unit>msec)\)")
# Events that could be taken for the unit in front of another event.
COMMON_EVENTS = SOFTWARE_EVENTS | {"cycles", "instructions", "branches"}
# psignal(3) after the program's name, which perf prints before its counts.
_SIGNALS = (
    "Aborted|Alarm clock|Bus error|CPU time limit exceeded|File size limit exceeded|"
    "Floating point exception|Hangup|Illegal instruction|Interrupt|Killed|Quit|"
    "Segmentation fault|Terminated|Trace/breakpoint trap"
)
_ENDED = re.compile(rf"(?P<program>.*): (?P<signal>{_SIGNALS})(?: \(core dumped\))?")

# Without a clock, shares are kept as times of this length.
_NOMINAL_NS = 1_000_000_000
_CLOCKS = ("task-clock", "cpu-clock")


@dataclass
class _Open:
    """A block that is being read; its rows have their shares of a nominal second."""

    line: int
    header: re.Match[str]
    failure: str
    lines: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    elapsed: re.Match[str] | None = None
    used: dict[str, float] = field(default_factory=dict)
    in_table: bool = False


def is_text(lines: Sequence[str]) -> bool:
    """Return whether these lines are of a log for people."""
    return any(HEADER.fullmatch(line) or _INTERVALS.fullmatch(line.strip()) for line in lines)


def read_text_log(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a log; what the program printed between them is passed over.

    Raises LogError at a line that is not a count's, or where perf's output was cut off.
    """
    blocks: list[_Open] = []
    ended: re.Match[str] | None = None
    for number, line in enumerate(lines, 1):
        header = HEADER.fullmatch(line)
        if header:
            blocks.append(_Open(number, header, _failure(ended, header)))
        elif _INTERVALS.fullmatch(line.strip()):
            raise LogError(number, "counts of intervals (-I); expected counts of whole runs")
        elif blocks:
            _read_line(blocks[-1], number, line)
        ended = _ENDED.fullmatch(line.strip()) or (None if header else ended)
    return [_closed(block) for block in blocks]


def _failure(ended: re.Match[str] | None, header: re.Match[str]) -> str:
    program = header["who"].strip("'").split(" ")[0]
    if ended and ended["program"] == program:
        return f"perf said of the program: {ended['signal']}"
    return ""


def _read_line(block: _Open, number: int, line: str) -> None:
    words = line.strip()
    block.lines.append(line)
    if block.elapsed:
        usage = _USAGE.fullmatch(line)
        if usage:
            block.used[usage["of"]] = decimal(usage["seconds"])
        return
    if words.startswith("#"):
        # A metric that continues the line above, or the runs' times one by one (--table).
        block.in_table = words.startswith("# Table of individual measurements")
        return
    if not words or block.in_table:
        return
    block.elapsed = _ELAPSED.fullmatch(line)
    if block.elapsed:
        return
    row = _row(line)
    if row:
        block.rows.append(row)
    elif not _METRICS.match(words):
        raise LogError(number, f"{words[:60]!r} is no line of perf stat; expected a count")


def _row(line: str) -> Row | None:
    share = _SHARE.search(line)
    rest = line[: share.start()] if share else line
    error = _ERROR.search(rest)
    rest = (rest[: error.start()] if error else rest).split(" # ")[0].rstrip()
    found = _COUNT.fullmatch(rest)
    if not found:
        return None
    unit, name = _unit_and_event(found["what"].strip())
    names = split_event(name)
    if names is None:
        return None
    pmu, event, modifiers = names
    percent = decimal(error["percent"]) if error else None
    row = Row(event, pmu, modifiers, None, unit, 0, "counted", found["place"], None, percent)
    if found["value"] == "<not counted>":
        return replace(row, state="not counted")
    if found["value"] == "<not supported>":
        return replace(row, state="not supported")
    whole = decimal(share["percent"]) / 100 if share else 1.0
    return replace(
        row,
        value=localised(found["value"]),
        run_ns=round(whole * _NOMINAL_NS),
        always=whole == 1,
    )


def _unit_and_event(what: str) -> tuple[str, str]:
    old = _OLD_CLOCK.fullmatch(what)
    if old:
        return old["unit"], old["event"]
    unit, _, event = what.partition(" ")
    is_unit = _UNIT.fullmatch(unit) and canonical_event(unit) not in COMMON_EVENTS
    if event and not event.lstrip().startswith("[") and is_unit:
        return unit, event.strip()
    # Two words that are no unit and event, such as an event and a cgroup, are no event's name.
    return "", what


def localised(text: str) -> float:
    """Return the number that a locale wrote with its signs for thousands and decimals.

    perf groups by threes and has 2 decimals, or 6 in old versions: 3 are decimals only where the
    groups before them have another sign.
    """
    text = re.sub("[\xa0\u202f]", " ", text)
    groups, signs = re.split("[^0-9]", text), re.findall("[^0-9]", text)
    if signs and (len(groups[-1]) != 3 or len(set(signs)) > 1):
        return float("".join(groups[:-1]) + "." + groups[-1])
    return float("".join(groups))


def decimal(text: str) -> float:
    """Return a number that has no groups: its only sign is the decimal one."""
    return float(text.replace(",", "."))


def _closed(block: _Open) -> Block:
    if block.elapsed is None:
        raise LogError(block.line, "cut off: no line 'seconds time elapsed' follows")
    runs = int(block.header["runs"] or 1)
    mean_s = decimal(block.elapsed["mean"])
    clock_ns = _clock_ns(block.rows)
    return Block(
        line=block.line,
        text="\n".join([block.header[0], *block.lines]),
        rows=tuple(
            replace(row, run_ns=round(row.run_ns * (clock_ns or _NOMINAL_NS) / _NOMINAL_NS))
            for row in block.rows
        ),
        averaged=runs > 1,
        repeats=runs,
        elapsed_s=mean_s,
        elapsed_text=block.elapsed["mean"].replace(",", "."),
        elapsed_error_s=_elapsed_error(block.elapsed, mean_s) if runs > 1 else None,
        user_s=block.used.get("user"),
        system_s=block.used.get("sys"),
        system_wide=block.header["who"].startswith(("'system wide'", "'CPU(s) ")),
        clock=clock_ns is not None,
        failure=block.failure,
    )


def _elapsed_error(elapsed: re.Match[str], mean_s: float) -> float | None:
    """Return the standard error in seconds, of which older versions print the percentage only."""
    if elapsed["error"]:
        return decimal(elapsed["error"])
    percent = _ERROR.search(elapsed["rest"])
    return decimal(percent["percent"]) / 100 * mean_s if percent else None


def _clock_ns(rows: Sequence[Row]) -> int | None:
    clocks = (row.value for row in rows if row.event in _CLOCKS and row.aggregate is None)
    return next((round(value * 1e6) for value in clocks if value), None)


@dataclass(frozen=True)
class Block:
    """What `perf stat` printed once.

    `line` is where it begins in its file, from 1, and `text` what it was read from. `repeats` is
    the number of runs that `-r` made, 1 without, None when the log does not tell; `averaged` is
    whether its numbers are means over them. `elapsed_error_s` is the standard error of the mean
    time, as perf prints it behind `+-`. `elapsed_text` is the time as printed, in seconds.
    `system_wide` is whether all CPUs were counted, idle ones and other programs too. `clock` is
    whether rows have times; without, only their shares of a nominal second mean something.
    `failure` is what perf said of how the program ended, empty when nothing.
    """

    line: int
    text: str
    rows: tuple[Row, ...]
    averaged: bool = False
    repeats: int | None = 1
    elapsed_s: float | None = None
    elapsed_text: str = ""
    elapsed_error_s: float | None = None
    user_s: float | None = None
    system_s: float | None = None
    system_wide: bool = False
    clock: bool = True
    failure: str = ""


class LogError(ValueError):
    """A log that cannot be understood: the line, counted from 1, and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line
