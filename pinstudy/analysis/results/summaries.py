"""Means and deviations without their runs: the file `summaries.csv`, read and checked.

Its columns are those of the `tables.csv` that `pinstudy tables` writes (docs/import.md lists them),
so that one node's tables are another's summaries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pinstudy.analysis.measures import (
    BY_FIELD,
    MAX_SHARE,
    MEAN_AND_SD,
    MEASURE_OF,
    MEASURES,
    NUMBERS,
    OF_KINDS,
    PLAIN,
    STATISTICS,
    Statistic,
    Stats,
    csv_column,
)
from pinstudy.analysis.records import flat
from pinstudy.analysis.records.files import CsvCell, read_lines, read_text
from pinstudy.analysis.records.keys import (
    OPTIONAL_KEYS,
    ROW_FACTS,
    ROW_KEYS,
    SEPARATOR,
    TABLE_KEYS,
    CaseKey,
    TableKey,
    settings_of_texts,
)
from pinstudy.analysis.records.metrics import MAX_METRICS, METRIC, OF_METRIC, Metric, metric_column
from pinstudy.analysis.results.case import Case, Circumstances
from pinstudy.base.errors import ConfigError, Problem
from pinstudy.base.files import digest_of
from pinstudy.base.text import one_line, shown, unknown_word
from pinstudy.configs.mapping import BINDINGS, SELECTIONS, renamed
from pinstudy.configs.settings import NAMES
from pinstudy.configs.values import DIRECTIONS
from pinstudy.runners.records.energy import SCOPES
from pinstudy.runners.records.placed_runs import PlacedRuns
from pinstudy.runners.records.record import largest_numbers
from pinstudy.runners.records.status import FINAL, INTERRUPTED, OK, PLACEMENT_VIOLATED, SKIPPED

# The status of a case that was not skipped.
MEASURED = "measured"
# Whether a row's runs were made in turn with its baseline's (analysis.results.baselines).
IN_TURN, NO = "in_turn", "no"

_TEXTS = (
    "study", "node_id", *TABLE_KEYS, *ROW_KEYS, *ROW_FACTS, "case_id", "status", "driver",
    "governor_read", "implementation", "excluded", "reasons", IN_TURN,
)  # fmt: skip
COUNTS = (
    "table_number", "case_number", "threads", "n", "lost", "unproved", *flat.COUNTS,
)  # fmt: skip
_FROM_0 = ("n", "lost", "unproved")
# In `tables.csv`, computed from other columns: read, and not used.
_DERIVED = ("elapsed_cv", "slowdown", "co_runner_slowdown")
# Without those by core kind, which a message need not list.
COLUMNS = (
    *dict.fromkeys((*_TEXTS, *COUNTS)),
    *(name for name, statistic in STATISTICS.items() if not statistic.measure.by_kind),
    *_DERIVED,
)
# What there is of each metric: `metric_rate_mean`.
_OF_METRIC = re.compile(f"{METRIC.format('(.+)')}_({'|'.join(OF_METRIC)})")

_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
# Of runs that are not averaged.
_EXCLUDED = (*(status for status in FINAL if status != OK), INTERRUPTED)
_EXCLUSION = re.compile(rf"(?:{'|'.join(_EXCLUDED)}): {_COUNT.pattern}", re.ASCII)
# The most that a run may have of each measure.
_MOST = largest_numbers()
_MOST |= {column: _MOST[field] for column, field in flat.RECORD_FIELDS.items() if field in _MOST}
_ALLOWED = {
    **{
        f"{prefix}{name}": words
        for name, words in (("selection", SELECTIONS), ("binding", BINDINGS))
        for prefix in ("", "vcpu_")
    },
    "status": (MEASURED, SKIPPED),
    IN_TURN: ("yes", NO),
}


def is_column(name: str) -> bool:
    """Return whether a file of summaries may have a column of this name."""
    return name in COLUMNS or name in STATISTICS or metric_of(name) is not None


def metric_of(column: str) -> tuple[str, str] | None:
    """Return which metric a column is of, and what of it; None for any other column."""
    match = _OF_METRIC.fullmatch(column)
    return (match[1], match[2]) if match else None


def is_count_of_measure(name: str) -> bool:
    """Return whether a column says how many runs have a measure."""
    return _statistic(name) == "n"


def _statistic(column: str) -> str:
    if column in STATISTICS:
        return STATISTICS[column].name or "mean"
    _, word = metric_of(column) or ("", "")
    return word


def holds_count(name: str) -> bool:
    """Return whether a column has whole numbers."""
    return name in COUNTS or is_count_of_measure(name)


def holds_number(name: str) -> bool:
    """Return whether a column has numbers, and neither names nor words."""
    is_measured = name in STATISTICS or _statistic(name) in ("mean", "sd")
    return holds_count(name) or name in _DERIVED or is_measured


def counted_by(deviation: str) -> str:
    """Return the column of how many runs a deviation is of; empty for any other number."""
    if _statistic(deviation) != "sd":
        return ""
    if deviation in STATISTICS:
        return csv_column(STATISTICS[deviation].column, "n")
    name, _ = metric_of(deviation) or ("", "")
    return metric_column(name, "n")


def why_wrong(name: str, text: str) -> str:
    """Say what is wrong with the text in a column; empty when nothing is."""
    if name in COUNTS:
        if _COUNT.fullmatch(text) and (name in _FROM_0 or int(text)):
            return ""
        return f"{name} {shown(text)} is not a whole number from {0 if name in _FROM_0 else 1}"
    if is_count_of_measure(name):
        is_count = _COUNT.fullmatch(text) and int(text)
        return "" if is_count else f"{name} {shown(text)} is not a whole number from 1"
    if _statistic(name) == "better" and text not in DIRECTIONS:
        return unknown_word("direction", text, DIRECTIONS)
    if holds_number(name) and name not in _DERIVED:
        why = _why_no_number(name, text)
        return f"{name} {shown(text)} {why}" if why else ""
    if name in _ALLOWED and text not in _ALLOWED[name]:
        return unknown_word(name, text, _ALLOWED[name])
    if name == "excluded" and not all(map(_EXCLUSION.fullmatch, parts_of(text))):
        known = ", ".join(_EXCLUDED)
        return f"excluded {shown(text)} is not such as 'failed: 2; timeout: 1' (known: {known})"
    if name == "settings":
        return _why_no_settings(text)
    if not text.isprintable():
        return f"{name} {shown(text)} has characters that cannot be printed"
    return ""


def _why_no_settings(text: str) -> str:
    values = [part.partition("=")[::2] for part in text.split(SEPARATOR)]
    if not text.isprintable() or not all(name and value.strip() for name, value in values):
        return f"settings {shown(text)} is not such as 'epp=power{SEPARATOR}turbo=off'"
    unknown = (name for name, _ in values if name not in NAMES)
    return next((unknown_word("setting", name, NAMES) for name in unknown), "")


def _why_no_number(name: str, text: str) -> str:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return "is not a number such as 45.073"
    if known := STATISTICS.get(name):
        return _why_not_of_measure(known, float(text))
    return "is below 0" if _statistic(name) != "mean" and float(text) < 0 else ""


def _why_not_of_measure(statistic: Statistic, value: float) -> str:
    measure = statistic.measure
    is_mean = statistic.name in ("", "mean")
    if value < 0 and not (measure.signed and is_mean):
        return "is below 0"
    if value == 0 and is_mean and measure.field == "elapsed_s":
        return "is no time that a program takes"
    if value == 0 and is_mean and measure.never_zero:
        return "is no energy of a run; leave the cell empty where it was not measured"
    if measure.share and value > MAX_SHARE:
        return "is more than 1, and a share"
    return "is more than any run has" if value > _MOST.get(measure.field, math.inf) else ""


def parts_of(text: str | None) -> list[str]:
    """Return the parts of a cell that lists several: `failed: 2; timeout: 1`."""
    return [part for part in (text or "").split("; ") if part]


FILE = "summaries.csv"
WHAT = "a CSV file of means"
FOOTNOTE = f"means and deviations that were imported ({FILE}), without their runs"
# More do not help; there may be as many as cells.
MAX_PROBLEMS = 100
# The text for a property of a case that its source lacks.
UNKNOWN = "unknown"

_NEEDED = ("app", "threads", "mapping")
_MAY_BE_UNKNOWN = ("build", "size", "schedule", "wait_policy", "governor")
_FACTS = tuple(name for name in ROW_FACTS if name not in COUNTS)
# What `reasons` may name.
_WITH_REASONS = frozenset((
    *BY_FIELD, *(f"{measure.field}.{kind}" for measure in OF_KINDS for kind in measure.kinds),
    "placement", "vcpu_placement", "co_runner_placement", "driver", *FINAL, INTERRUPTED,
))  # fmt: skip
_IDENTITY = (
    *(key for key in TABLE_KEYS if key not in OPTIONAL_KEYS), "mapping", "governor", "cpus",
    "vcpu_mapping", "vcpu_cpus",
)  # fmt: skip
# The relative error of a sum of floats, by far.
_FLOAT_ERROR = Decimal("1e-9")
# Times of which the second cannot be below the first.
_ORDERED_TIMES = tuple(
    (csv_column("elapsed_s", lower), csv_column("elapsed_s", upper))
    for lower, upper in (
        ("min", "max"), ("min", "mean"), ("min", "median"), ("mean", "max"), ("median", "max"),
    )
)  # fmt: skip
# What only some cases have.
_OF_SOME = (
    *OPTIONAL_KEYS, "mpi", "ranks_by", "rank_cpus", "co_runner", "co_runner_cpus", "settings",
)  # fmt: skip


@dataclass(frozen=True)
class _Row:
    """A line's fields by column, without the empty ones."""

    fields: Mapping[str, CsvCell]
    line: int

    def text(self, name: str) -> str | None:
        return self.fields[name].text if name in self.fields else None

    def count(self, name: str) -> int | None:
        text = self.text(name)
        return None if text is None else int(text)


def read_summaries(path: Path, absent: str) -> list[Case]:
    """Return the cases of a file of summaries, in the order of the tables.

    The texts of numbers are kept, so that tables show the digits that the source has. `absent` is
    why the source lacks a number.

    Raises UserError when the file cannot be read, ConfigError with every mistake in it.
    """
    return parse_summaries(read_text(path, WHAT), path, absent)


def parse_summaries(text: str, path: Path, absent: str) -> list[Case]:
    """Return the cases of a file's text, as `read_summaries` does; raises ConfigError."""
    name = one_line(str(path), None)
    return parse_lines(read_lines(text, name), name, absent)


def parse_lines(lines: Iterable[Sequence[CsvCell]], name: str, absent: str) -> list[Case]:
    """Return the cases of the lines of a file of this name, as `parse_summaries` does."""
    return cases_of(_checked_rows(lines, name), absent)


def _checked_rows(lines: Iterable[Sequence[CsvCell]], path: str) -> list[_Row]:
    rows: list[_Row] = []
    problems: list[Problem] = []
    for field, message in _mistakes(lines, rows):
        problems.append(Problem(path, field.line, field.column, message))
        if len(problems) == MAX_PROBLEMS:
            more = f"{MAX_PROBLEMS} mistakes above; no more are looked for"
            raise ConfigError([*problems, Problem(path, field.line + 1, 1, more)])
    if not problems and not rows:
        problems.append(Problem(path, 1, 1, "no summaries; expected a line of columns, then rows"))
    if not problems:
        problems = [Problem(path, *place) for place in islice(_repeated(rows), MAX_PROBLEMS)]
    if problems:
        raise ConfigError(problems)
    return rows


def _mistakes(
    lines: Iterable[Sequence[CsvCell]], rows: list[_Row]
) -> Iterator[tuple[CsvCell, str]]:
    """Yield the mistakes of a file's lines, one after the other; append its rows to `rows`."""
    header: Sequence[CsvCell] = ()
    for fields in lines:
        if not header:
            header = fields
            yield from _header_mistakes(header)
        elif len(fields) != len(header):
            cells = f"{len(fields)} cells; the first line names {len(header)} columns"
            yield fields[-1], cells
        else:
            pairs = zip(header, fields, strict=True)
            row = _Row({name.text: cell for name, cell in pairs if cell.text}, fields[0].line)
            yield from _row_mistakes(row, fields[0])
            rows.append(row)
    yield from _contradicting_scopes(rows)


def _header_mistakes(header: Sequence[CsvCell]) -> Iterable[tuple[CsvCell, str]]:
    names = [field.text for field in header]
    for position, field in enumerate(header):
        if not is_column(field.text):
            yield field, unknown_word("column", field.text, COLUMNS)
        elif field.text in names[:position]:
            yield field, f"column {shown(field.text)} is there twice"
    for needed in _NEEDED:
        if needed not in names:
            yield header[0], f"there is no column {needed!r}, which says what a row is of"


def _row_mistakes(row: _Row, first: CsvCell) -> Iterable[tuple[CsvCell, str]]:
    for name in _NEEDED:
        if name not in row.fields:
            yield first, f"{name} is empty in this row; it says what the row is of"
    wrong = [
        (field, why) for name, field in row.fields.items() if (why := why_wrong(name, field.text))
    ]
    yield from wrong or (*_old_names(row), *_contradictions(row))


def _old_names(row: _Row) -> Iterable[tuple[CsvCell, str]]:
    for prefix in ("", "vcpu_"):
        field = row.fields.get(f"{prefix}mapping")
        if field and f"{prefix}selection" not in row.fields and (why := renamed(field.text)):
            yield field, why


def _contradictions(row: _Row) -> Iterable[tuple[CsvCell, str]]:
    """Yield the cells that do not agree with others; each cell by itself has to be right."""
    n, unproved = row.count("n"), row.count("unproved") or 0
    if n is None and unproved:
        why = f"unproved {unproved} is of an unknown number of runs; give n, too"
        yield row.fields["unproved"], why
    elif n is not None and unproved > n:
        yield row.fields["unproved"], f"unproved {unproved} is more than n, {n}"
    has_numbers = any(name in row.fields for name in STATISTICS)
    if n == 0 and has_numbers:
        yield row.fields["n"], "n is 0, but the row has numbers of runs"
    if row.text("status") == SKIPPED and (n or has_numbers):
        yield row.fields["status"], f"status is {SKIPPED}, but the row has runs"
    yield from _contradicting_counts(row, n)
    yield from _contradicting_times(row)
    yield from _too_large_sums(row)


def _contradicting_scopes(rows: Iterable[_Row]) -> Iterable[tuple[CsvCell, str]]:
    """Yield the energies of another scope than the first: they are not to be compared."""
    names = [csv_column(field, "mean") for field in SCOPES.values()]
    first = ""
    for row in rows:
        for name in filter(row.text, names):
            first = first or name
            if name != first:
                yield row.fields[name], f"a file has energies of one scope, and an earlier {first}"


def _contradicting_counts(row: _Row, n: int | None) -> Iterable[tuple[CsvCell, str]]:
    for name, field in row.fields.items():
        count = row.count(name) if is_count_of_measure(name) else None
        if n is not None and count is not None and count > n:
            yield field, f"{name} {count} is more than n, {n}"
        counter = counted_by(name)
        if counter and (row.count(counter) or n) == 1:
            given = counter if counter in row.fields else "n"
            why = "is of one run, which has no standard deviation"
            yield field, f"{name} {why}: leave it empty, or correct {given}"


def _contradicting_times(row: _Row) -> Iterable[tuple[CsvCell, str]]:
    """Yield the means, medians and most times that are below what they cannot be below.

    Both numbers may have been rounded, each to its own digits; those of floats may be off by the
    last ones, so that the mean of equal times is not quite these.
    """
    for lower, upper in _ORDERED_TIMES:
        if lower not in row.fields or upper not in row.fields:
            continue
        field, below = row.fields[upper], row.fields[lower].text
        off = _half_a_digit(below) + _half_a_digit(field.text) + _FLOAT_ERROR * Decimal(below)
        if Decimal(below) - Decimal(field.text) > off:
            yield field, f"{upper} {field.text} is below {lower} {below}"


def _half_a_digit(number: str) -> Decimal:
    """Return half of the last digit's unit: by how much a rounded number may be off."""
    exponent = Decimal(number).as_tuple().exponent
    assert isinstance(exponent, int)  # only NaN and infinity have none
    return Decimal(5).scaleb(exponent - 1)


def _too_large_sums(row: _Row) -> Iterable[tuple[CsvCell, str]]:
    """Yield the last cell of shares by core kind that are more than 1 together."""
    for name in ("residency", "cpu_share"):
        columns = (csv_column(column, "") for column in BY_FIELD[name].columns)
        shares = [row.fields[column] for column in columns if column in row.fields]
        total = sum(float(field.text) for field in shares)
        if total > MAX_SHARE:
            yield shares[-1], f"{name} of all core kinds is {total:g}, which is more than 1"


def _repeated(rows: Sequence[_Row]) -> Iterable[tuple[int, int, str]]:
    cases: dict[tuple[str | int | None, ...], int] = {}
    case_ids: dict[str | None, int] = {None: 0}
    for row in rows:
        names = (*_IDENTITY, *_OF_SOME)
        line = cases.setdefault(tuple(_known(row, name) for name in names), row.line)
        line_of_id = case_ids.setdefault(row.text("case_id"), row.line)
        if line != row.line:
            yield row.line, 1, f"the same case as in line {line}"
        elif line_of_id not in (0, row.line):
            yield row.line, 1, f"the same case_id as in line {line_of_id}"


def _known(row: _Row, name: str) -> str | int | None:
    """Return what a case has in a column, whichever way it is written."""
    if name in COUNTS:
        return row.count(name)
    return row.text(name) or (UNKNOWN if name in _MAY_BE_UNKNOWN else None)


def cases_of(rows: Sequence[_Row], absent: str) -> list[Case]:
    """Return the rows as cases, in the order of their tables.

    `absent` is why a number that a row lacks is not there. Tables and rows that the source does not
    number are numbered in its order.
    """
    # As in analysis.published: results with runs are no means.
    from pinstudy.configs.library import list_mappings

    known = {mapping.name: mapping for mapping in list_mappings()}
    tables: dict[tuple[str | int | None, ...], int] = {}
    numbers: dict[int, int] = {}
    cases = []
    for row in rows:
        keys = tuple(_known(row, name) for name in TABLE_KEYS)
        table = row.count("table_number") or tables.setdefault(keys, len(tables) + 1)
        numbers[table] = row.count("case_number") or numbers.get(table, 0) + 1
        key = CaseKey(
            row.text("case_id") or _case_id(row),
            TableKey(table, *keys),  # type: ignore[arg-type]
            numbers[table],
            governor=row.text("governor") or UNKNOWN,
            **_facts(row, known),
        )
        metrics = _metrics(row)
        reasons = _parsed_reasons(row.text("reasons") or "")
        stats = _stats(row, metrics, reasons)
        circumstances = _circumstances(row, _with_absent(reasons, row, stats, absent))
        cases.append(Case(key, row.count("n"), stats, metrics, circumstances=circumstances))
    return sorted(cases, key=lambda case: case.key.order)


def _case_id(row: _Row) -> str:
    """Return a digest for a row that has none; what only some cases have is in it where it is.

    So the rows of a file without it keep the names that they had before there was any.
    """
    names = (*_IDENTITY, *(name for name in _OF_SOME if name in row.fields))
    return digest_of({name: row.text(name) for name in names})


def _facts(row: _Row, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of a row; what a mapping of pinstudy's own does need not be there."""
    facts: dict[str, Any] = {name: row.text(name) for name in ("mapping", *_FACTS)}
    for prefix in ("", "vcpu_"):
        mapping = known.get(facts[f"{prefix}mapping"] or "")
        for name in ("selection", "binding", "mechanism"):
            if mapping and f"{prefix}{name}" in facts:
                facts[f"{prefix}{name}"] = facts[f"{prefix}{name}"] or getattr(mapping, name)
    ranks, settings = facts["rank_cpus"], facts["settings"]
    return facts | {
        "rank_cpus": tuple(ranks.split(SEPARATOR)) if ranks else None,
        "settings": settings_of_texts(settings.split(SEPARATOR) if settings else ()),
    }


def _metrics(row: _Row) -> list[Metric]:
    names = dict.fromkeys(known[0] for name in row.fields if (known := metric_of(name)))
    return [
        Metric(
            name,
            (row.text(metric_column(name, "unit")) or "",),
            row.text(metric_column(name, "better")),
        )
        for name in list(names)[:MAX_METRICS]
    ]


def _stats(row: _Row, metrics: Iterable[Metric], lacking: Collection[str]) -> dict[str, Stats]:
    """Return the statistics of each measure; those by core kind only where the row has them.

    Of what is `lacking` in some runs, by the row's own reasons, nobody knows how many have it
    unless the row says so.
    """
    stats = {metric.field: _stat(row, partial(metric_column, metric.name)) for metric in metrics}
    for column, measure in MEASURE_OF.items():
        found = _stat(row, partial(csv_column, column), measure.statistics)
        if column in PLAIN or found.is_known:
            stats[column] = found
            if found.is_known and column in lacking and csv_column(column, "n") not in row.fields:
                stats[column] = replace(found, n=None)
    return stats


def _stat(row: _Row, column: Callable[[str], str], names: Iterable[str] = MEAN_AND_SD) -> Stats:
    """Return the statistics of these names, each in the column that `column` says."""
    texts = {name or "mean": text for name in names if (text := row.text(column(name)))}
    numbers = (float(texts.get(name, "nan")) for name in NUMBERS)
    mean_decimals, sd_decimals = (_decimals(texts.get(name, "")) for name in MEAN_AND_SD)
    n = (row.count(column("n")) or row.count("n")) if "mean" in texts else 0
    return Stats(n, *numbers, mean_decimals=mean_decimals, sd_decimals=sd_decimals)


def _decimals(text: str) -> int | None:
    exponent = Decimal(text).as_tuple().exponent if text else None
    return max(0, -exponent) if isinstance(exponent, int) else None


def _with_absent(
    reasons: dict[str, list[str]], row: _Row, stats: Mapping[str, Stats], absent: str
) -> dict[str, list[str]]:
    """Return the reasons of what is not there: those of the row, else `absent`."""
    missed = {measure.field for measure in MEASURES if measure.only_with in row.fields}
    for column, found in stats.items():
        if not found.is_known and (column in missed or column not in MEASURE_OF):
            reasons.setdefault(column, [absent])
    reasons.setdefault("driver", [absent])
    if row.text("driver"):
        del reasons["driver"]
    return reasons


def _circumstances(row: _Row, reasons: Mapping[str, Sequence[str]]) -> Circumstances:
    excluded = _parsed_counts(row.text("excluded") or "")
    return Circumstances(
        drivers=parts_of(row.text("driver")),
        governors_read=parts_of(row.text("governor_read")),
        implementations=parts_of(row.text("implementation")),
        excluded=excluded,
        unexplained=_unexplained(row, excluded),
        reasons=reasons,
        skip_reason=(row.text("reasons") or "") if row.text("status") == SKIPPED else None,
        unproved={"placement": row.count("unproved") or 0},
        placed=_placed(row, excluded),
        out_of_turn=row.text(IN_TURN) == NO,
    )


def _placed(row: _Row, excluded: Mapping[str, int]) -> PlacedRuns:
    """Return in how many runs threads were proved; nothing where the source counts no runs."""
    n, unproved = row.count("n"), row.count("unproved")
    violated = excluded.get(PLACEMENT_VIOLATED, 0)
    # Whoever does not say in how many runs it was not proved may have proved none.
    if n is None or (unproved is None and not violated):
        return PlacedRuns()
    return PlacedRuns(max(0, n - (unproved or 0)), unproved or 0, violated)


def _unexplained(row: _Row, excluded: Mapping[str, int]) -> int | None:
    """Return how many lost runs have no cause; None where the source tells nothing of lost runs."""
    lost = row.count("lost")
    if lost is None:
        return None
    known = sum(count for status, count in excluded.items() if status != INTERRUPTED)
    return max(0, lost - known - (row.count("unproved") or 0))


def _parsed_counts(text: str) -> dict[str, int]:
    """Read `timeout: 2; failed: 1`, as tables.csv has it."""
    pairs = (part.rpartition(": ") for part in parts_of(text))
    return {status: int(count) for status, _, count in pairs}


def _parsed_reasons(text: str) -> dict[str, list[str]]:
    """Read `energy_pkg_j: no permission; migrations: …`, as tables.csv has it.

    A part that begins with no name of a measure or status belongs to the reason before it.
    """
    reasons: dict[str, list[str]] = {}
    name = ""
    for part in parts_of(text):
        start, colon, rest = part.partition(": ")
        names_one = bool(colon) and (start in _WITH_REASONS or start.startswith(METRIC.format("")))
        name = start if names_one else name
        if name:
            reasons.setdefault(name, []).append(rest if names_one else part)
    return reasons
