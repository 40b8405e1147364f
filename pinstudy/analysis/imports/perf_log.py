"""A log of `perf stat`: for people, as CSV or as JSON.

What perf prints for people depends on its user's locale (LC_NUMERIC): numbers are grouped, and have
the locale's decimal sign. Layout: Linux tools/perf/util/stat-display.c. A count is followed by its
unit and event, behind `#` by a metric, then by `( +- x% )` under `-r` and by `(y%)` when it was
counting for a part of the time only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pinstudy.analysis.records.files import read_text
from pinstudy.base.errors import ConfigError, Problem
from pinstudy.base.text import one_line, shown
from pinstudy.base.units import MAX_DURATION_S
from pinstudy.runners.records.perf.output import Row, parse_object, parse_perf_output, split_event
from pinstudy.runners.records.perf.scaling import SOFTWARE_EVENTS, canonical_event

WHAT = "a log of perf stat"
# perf writes it above what it appends to a file (-o).
_STARTED = "# started on "
# The first field of a line of CSV (-x), and what separates it from the next.
_VALUE = r"(?:[+-]?\d{1,20}(?:[.,]\d{1,20})?|<not counted>|<not supported>)"
_FIRST_FIELD = re.compile(rf"(?P<value>{_VALUE})(?P<separator>[^\w.<%/\"+-]{{1,8}})\S", re.ASCII)
# Names of CPUs, cores, caches, … of a node.
_PLACE = r"[SDLCN][0-9]+(?:-[A-Z]+[0-9]+)*|CPU[0-9]+"
_NO_COUNTS = "derived numbers only (--metric-only), no counts; expected a log of counts"
_PART_OF_NODE = re.compile(rf"{_PLACE}|[0-9]+")
_DECIMAL_COMMA = re.compile(r"\s*(-?\d+),(\d+%?)\s*", re.ASCII)
# The part of the node that a row is of, and how many counts it sums, where commas separate nothing.
_LEADING_PLACE = re.compile(
    rf"(?P<place>{_PLACE})(?P<separator>[^\w.,<%/\"+-]{{1,8}}?)(?:(?P<summed>\d{{1,6}})(?P=separator))?"
    rf"(?={_VALUE}(?P=separator))",
    re.ASCII,
)
# Lines that are no rows, and why. Number by number under a locale with decimal commas:
# "18,50,Joules,", "cycles,0,52%,".
_COMMA_TWICE = re.compile(r"(?:^|,)-?\d+,\d+,[A-Za-z]{1,16},|[A-Za-z/],\d+,\d+%,", re.ASCII)
# --metric-only: units of metrics in the first line, their values in the next.
_METRIC_UNIT = re.compile(
    r"\bGHz\b|\bCPUs utilized\b|\binsn per cycle\b|/sec\b|\bof all \w|%\s+\w", re.ASCII
)
_METRIC_VALUE = re.compile(rf"(?:{_PLACE}|[+-]?[0-9]+(?:[.,][0-9]+)?|-?nan)?")
_FIELD_END = re.compile(r"[,;|\s]+")
# What is looked at of a line that is no row.
_MAX_LETTERS = 2000
# Before 4.1: a value, from 3.14 its unit, its event, under -r its error, and no running time.
_WITHOUT_TIME = re.compile(
    rf"(?:(?:{_PLACE})(?P<between>[^\w.]{{1,8}}))?(?P<value>{_VALUE})(?P<separator>[^\w.<%/\"+-]{{1,8}}?)"
    r"(?:\w{0,16}(?P=separator))?(?P<event>[A-Za-z][\w./:=-]*)(?:(?P=separator)[0-9.]{1,9}%)?",
    re.ASCII,
)
# What perf itself says on stderr, beside rows that are redirected from there (Linux
# tools/perf/builtin-stat.c and util/{stat-display,parse-events,evlist}.c; most under -v only).
_NOTES = re.compile(
    r"Events (?:disabled|enabled)|(?i:warning):.*|\[ perf stat: executing run #\d+ \.\.\. \]"
    r"|.* event is not supported by the kernel\.|failed to read counter .*"
    r"|kernel\.perf_event_paranoid=.*, trying to fall back to excluding .*"
    r"|Events with CPUs not matching the leader will be removed from the group\."
    r"|(?:anon )?group \{.*\}|[\w-]+ group \{.*\}"
    r"|The events in group usually have to be from the same PMU\. Try reorganizing the group\."
    r"|Some events weren't counted\. Try disabling the NMI watchdog:"
    r"|echo [01] > /proc/sys/kernel/nmi_watchdog|perf stat \.\.\."
    r"|Topdown accuracy may decrease when measuring long periods\."
    r"|Please print the result regularly, e\.g\. -I1000"
    r"|Using CPUID .*|Control descriptor is not initialized|evlist after sorting/fixing: .*"
    r"|\S+ -> \S+|\S+: \d+ \d+ \d+"
)
# Objects of JSON that a tool wrote over several lines have one line a name.
_MAX_OBJECT_LINES = 40
_MAX_OBJECT_LETTERS = 4096
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_BETWEEN_OBJECTS = re.compile(r"\}\s*(?:,\s*)?\{")

# What is printed for people.
_HEADER = re.compile(
    r"\s*Performance\s+counter\s+stats\s+for\s+(?P<who>\S.*?)"
    r"(?:\s{1,9}\((?P<runs>[0-9]{1,9})\s{1,9}runs\))?\s{0,9}:\s*"
)
_HEADER_BEGINS = re.compile(r"\s*Performance\s+counter\s+stats\s+for\s+'")
_HEADER_ENDS = re.compile(r".*'(?:\s{1,9}\([0-9]{1,9}\s{1,9}runs\))?\s{0,9}:\s*")
_INTERVALS = re.compile(r"#\s+time\s+counts\b.*")
# As many groups of digits as a 64-bit count needs, with one sign between all of them, and another
# one before the decimals. India's groups in front of the last are pairs (11,75,08,755).
_GROUPED = (
    r"[0-9]{1,3}(?P<sign>[.,'\u2019\xa0\u202f ])"
    r"(?:(?:[0-9]{3}(?P=sign)){0,6}|(?:[0-9]{2}(?P=sign)){0,9})[0-9]{3}"
    r"(?:(?!(?P=sign))[.,][0-9]{1,9})?"
)
_NUMBER = rf"{_GROUPED}|[0-9]{{1,20}}(?:[.,][0-9]{{1,9}})?"
_SECONDS = r"[0-9]{1,12}(?:[.,][0-9]{1,12})?"
_COUNT = re.compile(
    rf"\s*(?:(?P<place>{_PLACE})\s+(?:(?P<summed>[0-9]{{1,6}})\s+(?=\S+\s+\D))?)?"
    rf"(?P<value>{_NUMBER}|<not counted>|<not supported>)\s+(?P<what>\S.*)"
)
# They are looked for where they begin: a search for the blanks before them is quadratic in these.
# "(scaled from 66.67%)" is how perf up to about 3.0 says it.
_SHARE = re.compile(
    r"(?<=\s)[(\[]\s*(?:scaled from\s+)?(?P<percent>[0-9]{1,3}[.,][0-9]{1,2})%\s*[)\]]\s*$"
)
_ERROR = re.compile(r"(?<=\s)\(\s*\+-\s*(?P<percent>[0-9]{1,9}[.,][0-9]{1,3})%\s*\)\s*$")
_ELAPSED = re.compile(
    rf"\s*(?P<mean>{_SECONDS})(?:\s+\+-\s+(?P<error>{_SECONDS}))?\s+seconds\s+time\s+elapsed"
    r"(?P<rest>.*)"
)
_USAGE = re.compile(
    rf"\s*(?P<seconds>{_SECONDS})(?:\s+\+-\s+{_SECONDS})?\s+seconds\s+(?P<of>user|sys)\b.*"
)
_UNIT = re.compile(r"[A-Za-z%/]{1,16}", re.ASCII)
# A group of metrics, which has no count: "TopdownL1 (cpu_core)  #  20.0 %  tma_retiring", and
# perf's usual ones: "(software)  #  824.4 cs/sec  cs_per_second".
_METRICS = re.compile(r"(?:[A-Za-z]\w*|(?:[A-Za-z]\w* )?\(\w+\))\s+#")
_OLD_CLOCK = re.compile(r"(?P<event>\S+)\s+\((?P<unit>msec)\)")
_OLD_RAW = re.compile(r"raw 0x(?P<code>[0-9a-f]{1,16})")
_UTILISED = re.compile(r"\s#\s+(?P<cpus>[0-9]{1,6}[.,][0-9]{1,9})\s+CPUs\b")
# Events that could be taken for the unit in front of another event.
_COMMON_EVENTS = SOFTWARE_EVENTS | {"cycles", "instructions", "branches"}
# psignal(3) after the program's name, which perf prints before its counts.
_SIGNALS = (
    "Aborted|Alarm clock|Bus error|CPU time limit exceeded|File size limit exceeded|"
    "Floating point exception|Hangup|Illegal instruction|Interrupt|Killed|Quit|"
    "Segmentation fault|Terminated|Trace/breakpoint trap"
)
_ENDED = re.compile(rf"(?P<program>.*): (?P<signal>{_SIGNALS})(?: \(core dumped\))?")

# Of a run: its events, and their rows, of which there is one for each CPU under -A. The record of
# more events would be longer than any that is read.
_MAX_EVENTS = 1000
_MAX_ROWS = 100_000

# Without a clock, shares are kept as times of this length: decades, so that no count in it is more
# than a CPU's clock.
_NOMINAL_NS = 10**18
_CLOCKS = ("task-clock", "cpu-clock")
# Units differ by a thousand or more, two readings of one time by much less.
_ANOTHER_UNIT = 30
# PMUs that count for no program (perf_invalid_context in their Linux drivers): beside a count of
# theirs, all was counted on all CPUs. The header of a log for people tells that by itself.
_OF_NODE = re.compile(r"power|uncore_\w+|cstate_\w+|amd_(?:df|l3|umc)\w*", re.ASCII)


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


class _LogError(ValueError):
    """A log that cannot be understood: the line, counted from 1, and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


def read_log(path: Path) -> list[Block]:
    """Return what `perf stat` printed into a file, in the order of the file.

    Raises UserError when the file cannot be read, ConfigError with file and line where it is no
    such log or was made in a way that does not tell of whole runs.
    """
    text = read_text(path, WHAT)
    lines = _with_whole_headers([line.removesuffix("\r") for line in text.split("\n")])
    try:
        blocks = _text_blocks(lines) if _is_text(lines) else _machine_blocks(lines)
        if not blocks:
            raise _LogError(1, f"no counts here; expected {WHAT} (text, -x or -j)")
        _check_times(blocks)
        _check_events(blocks)
    except _LogError as error:
        raise ConfigError([Problem(one_line(str(path), None), error.line, 1, str(error))]) from None
    return blocks


def _check_times(blocks: Sequence[Block]) -> None:
    """Raise _LogError at a time that no reader of records would take."""
    for block in blocks:
        if block.elapsed_s is not None and not 0 < block.elapsed_s <= MAX_DURATION_S:
            raise _LogError(
                block.line, f"an elapsed time of {block.elapsed_s:g} s, which no run takes"
            )


def _check_events(blocks: Sequence[Block]) -> None:
    for block in blocks:
        events = len({row.name for row in block.rows})
        if events > _MAX_EVENTS:
            raise _LogError(block.line, f"{events} events; expected at most {_MAX_EVENTS} of a run")


def _check_rows(line: int, rows: int) -> None:
    if rows > _MAX_ROWS:
        raise _LogError(line, f"more than {_MAX_ROWS} counts; expected those of a run")


def _with_whole_headers(lines: Sequence[str]) -> list[str]:
    """Return lines with the header of a command of several lines in one; none is renumbered."""
    whole = list(lines)
    begins: int | None = None
    for at, line in enumerate(lines):
        if _HEADER_BEGINS.match(line):
            begins = None if _HEADER.fullmatch(line) else at
        elif begins is not None and _HEADER_ENDS.fullmatch(line):
            whole[begins : at + 1] = [" ".join(lines[begins : at + 1]), *[""] * (at - begins)]
            begins = None
    return whole


def _is_text(lines: Sequence[str]) -> bool:
    return any(_HEADER.fullmatch(line) or _INTERVALS.fullmatch(line.strip()) for line in lines)


@dataclass
class _OpenText:
    """A block that is being read; its rows have their shares of a nominal second."""

    line: int
    header: re.Match[str]
    failure: str
    lines: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    elapsed: re.Match[str] | None = None
    used: dict[str, float] = field(default_factory=dict)
    in_table: bool = False
    # Behind a clock without a unit: how many CPUs perf says were busy, and the line.
    utilised: tuple[float, int] | None = None


def _text_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a log; what the program printed between them is passed over.

    Raises _LogError at a line that is not a count's, or where perf's output was cut off.
    """
    blocks: list[_OpenText] = []
    ended: re.Match[str] | None = None
    ended_at = 0
    for number, line in enumerate(lines, 1):
        header = _HEADER.fullmatch(line)
        if header:
            # perf says it above an empty line and its counts.
            failure = _failure(ended, header, just_before=number == ended_at + 2)
            blocks.append(_OpenText(number, header, failure))
        elif _INTERVALS.fullmatch(line.strip()):
            raise _LogError(number, "counts of intervals (-I); expected counts of whole runs")
        elif blocks:
            _read_line(blocks[-1], number, line)
        if header:
            ended = None
        elif found := _ENDED.fullmatch(line.strip()):
            ended, ended_at = found, number
    return [_closed_text(block) for block in blocks]


def _failure(ended: re.Match[str] | None, header: re.Match[str], just_before: bool) -> str:
    """Return what perf said of the program's end; the header of all CPUs does not name it."""
    program = header["who"].strip("'").split(" ")[0]
    if ended and (ended["program"] == program or (just_before and _of_all_cpus(header))):
        return f"perf said of the program: {ended['signal']}"
    return ""


def _of_all_cpus(header: re.Match[str]) -> bool:
    return header["who"].startswith(("'system wide'", "'CPU(s) "))


def _read_line(block: _OpenText, number: int, line: str) -> None:
    text = line.strip()
    if block.elapsed:
        usage = _USAGE.fullmatch(line)
        if usage:
            block.used[usage["of"]] = decimal(usage["seconds"])
            block.lines.append(line)
        return
    block.lines.append(line)
    if text.startswith("#"):
        # A metric that continues the line above, or the runs' times one by one (--table).
        block.in_table = text.startswith("# Table of individual measurements")
        return
    if not text or block.in_table or _NOTES.fullmatch(text):
        return
    block.elapsed = _ELAPSED.fullmatch(line)
    if block.elapsed:
        return
    row = _text_row(line)
    if row:
        block.rows.append(row)
        metric = _UTILISED.search(line)
        if metric and _is_clock(row) and "msec" not in line:
            block.utilised = decimal(metric["cpus"]), number
        _check_rows(number, len(block.rows))
    elif not _METRICS.match(text):
        expected = _NO_COUNTS if _are_metric_units(text) else "expected a count"
        raise _LogError(number, f"{text[:60]!r} is no line of perf stat; {expected}")


def _text_row(line: str) -> Row | None:
    share = _SHARE.search(line)
    rest = line[: share.start()] if share else line
    error = _ERROR.search(rest)
    rest = (rest[: error.start()] if error else rest).split(" # ")[0].rstrip()
    count = _COUNT.fullmatch(rest)
    if not count:
        return None
    unit, name = _unit_and_event(count["what"].strip())
    names = split_event(name)
    if names is None:
        return None
    pmu, event, modifiers = names
    if not unit and canonical_event(event) in _CLOCKS:
        # Nanoseconds are whole; before 3.17 milliseconds had six decimals and no unit.
        in_msec = event.endswith("-msecs") or _has_decimals(count["value"])
        unit = "msec" if in_msec else ""
    percent = decimal(error["percent"]) if error else None
    row = Row(event, pmu, modifiers, None, unit, 0, "counted", count["place"], None, percent)
    row = replace(row, summed=int(count["summed"]) if count["summed"] else None)
    if count["value"] == "<not counted>":
        return replace(row, state="not counted")
    if count["value"] == "<not supported>":
        return replace(row, state="not supported")
    whole = decimal(share["percent"]) / 100 if share else 1.0
    return replace(
        row,
        value=localised(count["value"]),
        run_ns=round(whole * _NOMINAL_NS),
        always=whole == 1,
    )


def _unit_and_event(text: str) -> tuple[str, str]:
    if old := _OLD_CLOCK.fullmatch(text):
        return old["unit"], old["event"]
    if raw := _OLD_RAW.fullmatch(text):
        return "", f"r{raw['code']}"
    unit, _, event = text.partition(" ")
    is_unit = _UNIT.fullmatch(unit) and canonical_event(unit) not in _COMMON_EVENTS
    if event and not event.lstrip().startswith("[") and is_unit:
        return unit, event.strip()
    # Two words that are no unit and event, such as an event and a cgroup, are no event's name.
    return "", text


def localised(text: str) -> float:
    """Return the number that a locale wrote with its signs for thousands and decimals.

    The last group is of three digits, and perf has 2 decimals, or 6 in old versions: 3 are decimals
    only where the groups before them have another sign.
    """
    groups = re.split("[^0-9]", text)
    if _has_decimals(text):
        return float("".join(groups[:-1]) + "." + groups[-1])
    return float("".join(groups))


def _has_decimals(text: str) -> bool:
    signs = re.findall("[^0-9]", re.sub("[\xa0\u202f]", " ", text))
    last = re.split("[^0-9]", text)[-1]
    return bool(signs) and (len(last) != 3 or len(set(signs)) > 1)


def decimal(text: str) -> float:
    """Return a number that has no groups: its only sign is the decimal one."""
    return float(text.replace(",", "."))


def _closed_text(block: _OpenText) -> Block:
    if block.elapsed is None:
        raise _LogError(block.line, "cut off: no line 'seconds time elapsed' follows")
    runs = int(block.header["runs"] or 1)
    mean_s = decimal(block.elapsed["mean"])
    clock_ns = _clock_ns(block.rows)
    _check_unit(block, clock_ns, mean_s)
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
        system_wide=_of_all_cpus(block.header),
        clock=clock_ns is not None,
        failure=block.failure,
    )


def _check_unit(block: _OpenText, clock_ns: int | None, mean_s: float) -> None:
    """Raise _LogError where perf's number of busy CPUs shows that a clock has another unit."""
    if block.utilised is None or not clock_ns or not mean_s:
        return
    cpus, line = block.utilised
    found = clock_ns / 1e9 / mean_s
    # It has three decimals.
    if not cpus / _ANOTHER_UNIT - 0.001 <= found <= (cpus + 0.001) * _ANOTHER_UNIT:
        raise _LogError(
            line,
            f"a clock without a unit, which is no time of {cpus:g} CPUs in {mean_s:g} s: expected "
            "milliseconds with decimals or whole nanoseconds",
        )


def _elapsed_error(elapsed: re.Match[str], mean_s: float) -> float | None:
    """Return the standard error in seconds, of which older versions print the percentage only."""
    if elapsed["error"]:
        return decimal(elapsed["error"])
    percent = _ERROR.search(elapsed["rest"])
    return decimal(percent["percent"]) / 100 * mean_s if percent else None


def in_ns(clock: float, unit: str) -> float:
    """Return a clock's nanoseconds; perfs of late 2025 print these, without a unit."""
    return clock * (1e6 if unit == "msec" else 1)


def _is_clock(row: Row) -> bool:
    return canonical_event(row.event) in _CLOCKS


def _clock_ns(rows: Sequence[Row]) -> int | None:
    clocks = (row for row in rows if _is_clock(row) and row.aggregate is None)
    return next((round(in_ns(row.value, row.unit)) for row in clocks if row.value), None)


@dataclass
class _OpenRows:
    """A block that is being read; its rows are by event and place."""

    line: int
    failure: str = ""
    rows: dict[tuple[str, str | None], Row] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def _machine_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a CSV or JSON log.

    A run ends where perf says that the next one started, or where its first event comes again.
    """
    blocks: list[_OpenRows] = []
    begins, failure, failed_at = True, "", 0
    lines = _with_whole_objects(lines)
    for number, (line, following) in enumerate(zip(lines, [*lines[1:], ""], strict=True), 1):
        begins = begins or line.startswith(_STARTED)
        if ended := _ENDED.fullmatch(line.strip()):
            begins, failure = True, f"perf said of the program: {ended['signal']}"
            failed_at = number
            continue
        if _NOTES.fullmatch(line.strip()):
            continue
        for row in _rows_of(line, number, following):
            key = row.name, row.aggregate
            if begins or key == next(iter(blocks[-1].rows)):
                blocks.append(_OpenRows(number, failure))
                begins, failure = False, ""
            elif key in blocks[-1].rows:
                raise _LogError(
                    number,
                    f"{row.name} again, in the middle of a run; expected each event once a run, "
                    "in the same order",
                )
            blocks[-1].rows[key] = row
            blocks[-1].lines.append(line)
            _check_rows(number, len(blocks[-1].rows))
    if failure:
        raise _LogError(failed_at, f"{failure}; expected its counts below that")
    return [_closed_rows(block) for block in blocks]


def _with_whole_objects(lines: Sequence[str]) -> list[str]:
    """Return lines with each JSON object in a line of its own text; none is renumbered.

    Several objects of one line are separated by line breaks. An object that stands in several lines
    is in the first of them, the others are empty; so are the brackets of a list of objects.
    """
    if not any(line.lstrip(" \t[").startswith("{") for line in lines):
        return list(lines)
    whole = list(lines)
    at = 0
    while at < len(lines):
        end = _end_of_object(lines, at)
        text = " ".join(line.strip() for line in lines[at:end])
        is_bracket = text in ("[", "]", "],")
        if text.lstrip("[ ").startswith("{"):
            text = text.lstrip("[ ").rstrip("] ") if "}" in text else text
            text = _BETWEEN_OBJECTS.sub("}\n{", text)
        whole[at:end] = ["" if is_bracket else text, *[""] * (end - at - 1)]
        at = end
    return whole


def _end_of_object(lines: Sequence[str], begin: int) -> int:
    """Return the line behind the object that begins in a line; the next where it is cut off."""
    if not lines[begin].lstrip(" \t[").startswith("{"):
        return begin + 1
    depth = 0
    for at, line in enumerate(lines[begin : begin + _MAX_OBJECT_LINES], begin):
        if at > begin and line.lstrip().startswith("{"):
            break
        outside = _JSON_TEXT.sub("", line) if len(line) <= _MAX_OBJECT_LETTERS else ""
        depth += outside.count("{") - outside.count("}")
        if depth <= 0:
            return at + 1
    return begin + 1


def _rows_of(line: str, number: int, following: str) -> Iterator[Row]:
    """Yield the rows of a line; the next one tells why it is none."""
    output = parse_perf_output(_with_usual_separator(line))
    if output.unparsed:
        why = _why_no_row(output.unparsed[0], following.strip())
        raise _LogError(number, f"{shown(line.strip())} is no row of perf stat -x or -j; {why}")
    for row in output.rows:
        if row.time_s is not None:
            raise _LogError(number, "counts of intervals (-I); expected counts of whole runs")
        if row.aggregate and not _PART_OF_NODE.fullmatch(row.aggregate):
            raise _LogError(
                number,
                f"counts of {shown(row.aggregate)} alone (--per-thread, --for-each-cgroup); "
                "expected counts of whole runs",
            )
        yield row


def _why_no_row(line: str, following: str) -> str:
    if line.startswith("{"):
        return _why_no_json_row(line)
    line, following = line[:_MAX_LETTERS], following[:_MAX_LETTERS]
    if _COMMA_TWICE.search(line):
        return (
            "numbers with decimal commas in a log separated by commas; record it again with "
            "-x\\; or LC_ALL=C"
        )
    if _are_metric_units(line) and all(map(_METRIC_VALUE.fullmatch, _FIELD_END.split(following))):
        return _NO_COUNTS
    old = _WITHOUT_TIME.fullmatch(line)
    if old and split_event(old["event"]):
        return (
            "it has no running time, as in perf before 4.1 or where it was cut off, so that a "
            "count cannot be told from an extrapolated one; use the text for people"
        )
    return (
        "expected nothing else there (perf's -o FILE keeps rows apart from what the program prints)"
    )


def _are_metric_units(line: str) -> bool:
    return not line[:1].isdigit() and bool(_METRIC_UNIT.search(line[:_MAX_LETTERS]))


def _why_no_json_row(line: str) -> str:
    found = parse_object(line)
    if found is None:
        try:
            json.loads(line)
        except json.JSONDecodeError as error:
            where = f"column {error.colno}: {error.msg}"
        except (ValueError, RecursionError):
            where = "too deep, or with numbers that are too long"
        else:
            where = "a name is there twice"
        return f"broken JSON ({where}); record it again with -x\\; or as the text for people"
    if not found or any(map(_METRIC_UNIT.search, found)):
        return _NO_COUNTS
    return "expected its counter-value, event, event-runtime and pcnt-running, each once"


def _with_usual_separator(line: str) -> str:
    """Return a CSV line with `;` between its fields, and points in its numbers."""
    place = _LEADING_PLACE.match(line)
    if place:
        lead = [place["place"], *([place["summed"]] if place["summed"] else [])]
        return ";".join([*lead, _with_usual_separator(line[place.end() :])])
    first = _FIRST_FIELD.match(line)
    if first is None or line.startswith("{"):
        return line
    for separator in _candidates(first["separator"]):
        # "<not counted>" has a blank, which may be the separator.
        behind = line[first.end("value") + len(separator) :]
        fields = [first["value"], *behind.split(separator)]
        changed = ";".join(map(_with_point, fields) if separator != "," else fields)
        if ";" not in line.replace(separator, "") and parse_perf_output(changed).rows:
            return changed
    return line


def _with_point(field: str) -> str:
    comma = _DECIMAL_COMMA.fullmatch(field)
    return f"{comma[1]}.{comma[2]}" if comma else field


def _candidates(between: str) -> Iterator[str]:
    """Yield what can stand between fields: behind a plain count the unit between two is empty."""
    if len(between) % 2 == 0 and between[: len(between) // 2] * 2 == between:
        yield between[: len(between) // 2]
    yield between


def _closed_rows(block: _OpenRows) -> Block:
    rows = tuple(block.rows.values())
    averaged = any(row.error_percent is not None for row in rows)
    elapsed_s = _seconds(rows, "duration_time")
    percent = next((row.error_percent for row in rows if row.event == "duration_time"), None)
    error_s = elapsed_s * percent / 100 if elapsed_s and percent else None
    return Block(
        line=block.line,
        text="\n".join(block.lines),
        rows=rows,
        averaged=averaged,
        repeats=None if averaged else 1,
        elapsed_s=elapsed_s,
        elapsed_text="" if elapsed_s is None else f"{elapsed_s:.{_decimals(error_s)}f}",
        elapsed_error_s=error_s,
        user_s=_seconds(rows, "user_time"),
        system_s=_seconds(rows, "system_time"),
        system_wide=_counts_the_node(rows),
        failure=block.failure,
    )


def _counts_the_node(rows: Sequence[Row]) -> bool:
    """Return whether there are counts of single CPUs, or of what is outside all cores."""
    return any(
        row.aggregate or (row.state == "counted" and _OF_NODE.fullmatch(row.pmu or ""))
        for row in rows
    )


def _seconds(rows: Sequence[Row], event: str) -> float | None:
    values = (row.value for row in rows if row.event == event)
    nanoseconds = next((value for value in values if value is not None), None)
    return None if nanoseconds is None else nanoseconds / 1e9


def _decimals(error_s: float | None) -> int:
    """Return how many decimals perf prints of a mean time for people: two more than its error's.

    Linux tools/perf/util/stat-display.c, get_precision; of a single time it prints nanoseconds.
    """
    if not error_s:
        return 9
    return min(9, max(0, math.ceil(-math.log10(error_s))) + 2)
