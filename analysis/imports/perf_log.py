"""A log of `perf stat`, whichever way it was written: for people, as CSV or as JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.imports.perf_text import Block, LogError, is_text, read_text_log
from analysis.results.files import read_text
from base.errors import ConfigError, Problem
from base.text import one_line, shown
from runners.measure.perf.output import Row, parse_perf_output

WHAT = "a log of perf stat"
# perf writes it above what it appends to a file (-o).
_STARTED = "# started on "
_VALUE = r"(?:[+-]?\d{1,20}(?:[.,]\d{1,20})?|<not counted>|<not supported>)"
_FIRST_FIELD = re.compile(rf"(?P<value>{_VALUE})(?P<separator>[^\w.<%/\"+-]{{1,8}})\S", re.ASCII)
_DECIMAL_COMMA = re.compile(r"(\d+),(\d+%?)", re.ASCII)


def read_log(path: Path) -> list[Block]:
    """Return what `perf stat` printed into a file, in the order of the file.

    Raises UserError when the file cannot be read, ConfigError with file and line where it is no
    such log or was made in a way that does not tell of whole runs.
    """
    text = read_text(path, WHAT)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    try:
        blocks = read_text_log(lines) if is_text(lines) else _machine_blocks(lines)
        if not blocks:
            raise LogError(1, f"no counts here; expected {WHAT} (text, -x or -j)")
    except LogError as error:
        raise ConfigError([Problem(one_line(str(path), None), error.line, 1, str(error))]) from None
    return blocks


@dataclass
class _Open:
    """A block that is being read; its rows are by event and place."""

    line: int
    rows: dict[tuple[str, str | None], Row] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def _machine_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a CSV or JSON log.

    A run ends where perf says that the next one started, or where its first event comes again.
    """
    blocks: list[_Open] = []
    begins = True
    for number, line in enumerate(lines, 1):
        begins = begins or line.startswith(_STARTED)
        for row in _rows_of(line, number):
            key = row.name, row.aggregate
            if begins or key == next(iter(blocks[-1].rows)):
                blocks.append(_Open(number))
                begins = False
            elif key in blocks[-1].rows:
                raise LogError(
                    number,
                    f"{row.name} again, in the middle of a run; expected each event once a run, "
                    "in the same order",
                )
            blocks[-1].rows[key] = row
            blocks[-1].lines.append(line)
    return [_closed(block) for block in blocks]


def _rows_of(line: str, number: int) -> Iterator[Row]:
    output = parse_perf_output(_with_usual_separator(line))
    if output.unparsed:
        raise LogError(number, f"{shown(line.strip())} is no row of perf stat -x or -j")
    for row in output.rows:
        if row.time_s is not None:
            raise LogError(number, "counts of intervals (-I); expected counts of whole runs")
        yield row


def _with_usual_separator(line: str) -> str:
    """Return a CSV line with `;` between its fields, and points in its numbers."""
    first = _FIRST_FIELD.match(line)
    if first is None or line.startswith("{"):
        return line
    for separator in _candidates(first["separator"]):
        fields = line.split(separator)
        with_points = (_DECIMAL_COMMA.sub(r"\1.\2", f) if separator != "," else f for f in fields)
        changed = ";".join(with_points)
        if ";" not in line.replace(separator, "") and parse_perf_output(changed).rows:
            return changed
    return line


def _candidates(between: str) -> Iterator[str]:
    """Yield what can stand between fields: behind a plain count the unit between two is empty."""
    if len(between) % 2 == 0 and between[: len(between) // 2] * 2 == between:
        yield between[: len(between) // 2]
    yield between


def _closed(block: _Open) -> Block:
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
        system_wide=any(
            row.aggregate or (row.pmu == "power" and row.state == "counted") for row in rows
        ),
    )


def _seconds(rows: Sequence[Row], event: str) -> float | None:
    nanoseconds = next((row.value for row in rows if row.event == event), None)
    return None if nanoseconds is None else nanoseconds / 1e9


def _decimals(error_s: float | None) -> int:
    """Return how many decimals perf prints of a mean time for people: two more than its error's.

    Linux tools/perf/util/stat-display.c, get_precision; of a single time it prints nanoseconds.
    """
    if not error_s:
        return 9
    return min(9, max(0, math.ceil(-math.log10(error_s))) + 2)
