"""Means and deviations without their runs: the file `summaries.csv`, read and checked.

Its columns are those of the `tables.csv` that `pinstudy tables` writes (docs/import.md lists them),
so that one node's tables are another's summaries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.records.fields import (
    BESIDE_MEASURES,
    ENERGY_BY_KIND,
    ENERGY_OF_KIND,
    LAUNCHER_CPU_S,
    MAX_METRICS,
    MEASURES,
    METRIC,
    MORE_MEASURES,
    OF_METRIC,
    OF_SCHEDULING,
    OPTIONAL_KEYS,
    ROW_FACTS,
    ROW_KEYS,
    TABLE_KEYS,
    TableKey,
)
from analysis.records.files import Field, read_lines, read_text
from analysis.records.metrics import Metric
from analysis.results.case_summary import (
    CaseSummary,
    Moments,
    count_column,
    of_metric,
    with_unit_last,
)
from base.errors import ConfigError, Problem
from base.text import one_line, shown, unknown_word
from base.units import MAX_DURATION_S
from configs.library import list_mappings
from configs.mapping import BINDINGS, SELECTIONS
from configs.scheduling import OFF, ON
from configs.values import DIRECTIONS
from runners.plan.case import digest_of
from runners.records.fields import NUMBERS as POSSIBLE
from runners.records.placed_runs import PlacedRuns
from runners.records.values import FINAL, INTERRUPTED, OK, PLACEMENT_VIOLATED, SKIPPED

FILE = "summaries.csv"
# The status of a case that was not skipped.
MEASURED = "measured"
WHAT = "a CSV file of means"
# The text for a property of a case that its source lacks.
UNKNOWN = "unknown"

_NEEDED = ("app", "threads", "mapping")
_MAY_BE_UNKNOWN = ("variant", "size", "schedule", "wait_policy", "governor")
_TEXTS = (
    "study", "node_id", *TABLE_KEYS, *ROW_KEYS, *ROW_FACTS, "case_id", "status", "driver",
    "governor_read", "implementation", "excluded", "reasons",
)  # fmt: skip
_COUNTS = (
    "table_number", "case_number", "ranks", "threads", "n", "unproved", "vm_cpus", "vm_memory_mib",
)  # fmt: skip
_FACTS = tuple(name for name in ROW_FACTS if name not in _COUNTS)
_FROM_0 = ("n", "unproved")
# A number of a measure: `elapsed_mean_s` -> ("elapsed_s", "mean").
NUMBERS = {
    with_unit_last(measure, statistic): (measure, statistic)
    for measure in (*MEASURES, *MORE_MEASURES)
    for statistic in ("mean", "sd")
} | {
    with_unit_last("elapsed_s", statistic): ("elapsed_s", statistic)
    for statistic in ("median", "min", "max")
}
# In `tables.csv`, computed from other columns: read, and not used.
_DERIVED = ("elapsed_cv", "slowdown", "beside_slowdown")
# How many of the row's runs have a measure, where not all do.
_COUNT_OF = {measure: count_column(measure) for measure in (*MEASURES, *MORE_MEASURES)}
# A measure and how many runs have it, in files from before there were such counts: runs that lack
# the energy lack these as well, and say only that they lack the energy.
_OF_ENERGY = ("energy_pkg_j", "energy_net_j", "power_pkg_w", "edp_js", "ed2p_js2")
COLUMNS = (
    *dict.fromkeys((*_TEXTS, *_COUNTS)), *NUMBERS, *_COUNT_OF.values(), *_DERIVED
)  # fmt: skip
# What `tables.csv` has by core kind: `residency_P`, `freq_LP-E_mean_ghz`.
_KIND = "([A-Za-z][A-Za-z0-9-]{0,15})"
_BY_KIND = {
    "residency": re.compile(f"residency_{_KIND}"),
    "freq_ghz": re.compile(f"freq_{_KIND}_mean_ghz"),
    "cpu_share": re.compile(f"cpu_share_{_KIND}"),
    "waited": re.compile(f"waited_{_KIND}"),
    "energy_by_kind": re.compile(f"energy_by_kind_{_KIND}_mean_j"),
    "waited_n": re.compile(f"waited_{_KIND}_n"),
    "energy_by_kind_n": re.compile(f"energy_by_kind_{_KIND}_n"),
}
# And of each metric: `metric_rate_mean`.
_OF_METRIC = re.compile(f"{METRIC.format('(.+)')}_({'|'.join(OF_METRIC)})")
_SHARES = ("residency_", "cpu_share_", "waited_", "imbalance_")
# Of a run's CPU time; parts may have been rounded up.
_MAX_SHARE = 1.01

_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
# Of runs that are not averaged.
_EXCLUDED = (*(status for status in FINAL if status != OK), INTERRUPTED)
_EXCLUSION = re.compile(rf"(?:{'|'.join(_EXCLUDED)}): {_COUNT.pattern}", re.ASCII)
# The most that a run may have of each measure.
_MOST = {name: most for name, (_, most) in POSSIBLE.items()} | {"elapsed_s": MAX_DURATION_S}
# What can be below 0: energy beside an idle node's that was less idle than thought.
_SIGNED = {"energy_net_j"}
# Only an idle graphics unit has an energy of 0; elsewhere it is a counter that did not move.
_NEVER_ZERO = ("energy_pkg_j", "energy_core_j", "energy_dram_j", "energy_psys_j")
_ALLOWED = {
    **{
        f"{prefix}{name}": words
        for name, words in (("selection", SELECTIONS), ("binding", BINDINGS))
        for prefix in ("", "vcpu_")
    },
    **dict.fromkeys(("energy_aware", "itmt"), (ON, OFF)),
    "status": (MEASURED, SKIPPED),
}
# What `reasons` may name.
_WITH_REASONS = frozenset((
    *MEASURES, *MORE_MEASURES, ENERGY_BY_KIND, *ENERGY_OF_KIND.values(), "placement",
    "vcpu_placement", "beside_placement", "driver", *FINAL, INTERRUPTED,
))  # fmt: skip
_IDENTITY = (
    *(key for key in TABLE_KEYS if key not in OPTIONAL_KEYS), "mapping", "governor", "cpus",
    "vcpu_mapping", "vcpu_cpus",
)  # fmt: skip
# What only some cases have.
_OF_SOME = (
    *OPTIONAL_KEYS, "mpi", "ranks_by", "rank_cpus", "beside", "beside_cpus", *OF_SCHEDULING,
)  # fmt: skip
# The column without which nobody misses a measure.
_ONLY_WITH = {LAUNCHER_CPU_S: "ranks"} | dict.fromkeys(BESIDE_MEASURES, "beside")


@dataclass(frozen=True)
class _Row:
    """A line's fields by column, without the empty ones."""

    fields: Mapping[str, Field]
    line: int

    def text(self, name: str) -> str | None:
        return self.fields[name].text if name in self.fields else None

    def count(self, name: str) -> int | None:
        text = self.text(name)
        return None if text is None else int(text)


def read_summaries(path: Path, absent: str) -> list[CaseSummary]:
    """Return the cases of a file of summaries, in the order of the tables.

    The texts of numbers are kept, so that tables show the digits that the source has. `absent` is
    why the source lacks a number.

    Raises UserError when the file cannot be read, ConfigError with every mistake in it.
    """
    return parse_summaries(read_text(path, WHAT), path, absent)


def parse_summaries(text: str, path: Path, absent: str) -> list[CaseSummary]:
    """Return the cases of a file's text, as `read_summaries` does; raises ConfigError."""
    name = one_line(str(path), None)
    return cases_of(_checked_rows(read_lines(text, name), name), absent)


def cases_of_texts(
    rows: Sequence[Mapping[str, str]], absent: str
) -> tuple[list[CaseSummary], list[tuple[int, str]]]:
    """Return the cases of rows that are no file's lines, or the mistakes by the rows' positions.

    Each row has texts by the columns' names; messages count rows from 1. `absent` is as for
    `read_summaries`.
    """
    checked = [
        _Row({name: Field(text, line, 1) for name, text in row.items() if text}, line)
        for line, row in enumerate(rows, 1)
    ]
    wrong = [
        (row.line - 1, message)
        for row in checked
        for message in (
            *(unknown_word("column", name, COLUMNS) for name in row.fields if not _is_column(name)),
            *(message for _, message in _row_mistakes(row, Field("", row.line, 1))),
        )
    ]
    wrong = wrong or [
        (line - 1, message.replace(" line ", " row ")) for line, _, message in _repeated(checked)
    ]
    return ([], wrong) if wrong else (cases_of(checked, absent), [])


def _checked_rows(lines: Iterable[Sequence[Field]], path: str) -> list[_Row]:
    rows: list[_Row] = []
    header: Sequence[Field] = ()
    problems: list[Problem] = []

    def wrong(field: Field, message: str) -> None:
        problems.append(Problem(path, field.line, field.column, message))

    for fields in lines:
        if not header:
            header = fields
            for field, message in _header_mistakes(header):
                wrong(field, message)
        elif len(fields) != len(header):
            cells = f"{len(fields)} cells; the first line names {len(header)} columns"
            wrong(fields[-1], cells)
        else:
            pairs = zip(header, fields, strict=True)
            row = _Row({name.text: cell for name, cell in pairs if cell.text}, fields[0].line)
            for field, message in _row_mistakes(row, fields[0]):
                wrong(field, message)
            rows.append(row)
    if not problems and not rows:
        problems.append(Problem(path, 1, 1, "no summaries; expected a line of columns, then rows"))
    problems = problems or [Problem(path, *place) for place in _repeated(rows)]
    if problems:
        raise ConfigError(problems)
    return rows


def _header_mistakes(header: Sequence[Field]) -> Iterable[tuple[Field, str]]:
    names = [field.text for field in header]
    for position, field in enumerate(header):
        if not _is_column(field.text):
            yield field, unknown_word("column", field.text, COLUMNS)
        elif field.text in names[:position]:
            yield field, f"column {shown(field.text)} is there twice"
    for needed in _NEEDED:
        if needed not in names:
            yield header[0], f"there is no column {needed!r}, which says what a row is of"


def _is_column(name: str) -> bool:
    return name in COLUMNS or bool(_of_kind(name) or _of_metric(name))


def _of_kind(column: str) -> tuple[str, str] | None:
    """Return what a column by core kind holds, and the kind; None for any other column."""
    for what, pattern in _BY_KIND.items():
        if match := pattern.fullmatch(column):
            return what, match[1]
    return None


def _of_metric(column: str) -> tuple[str, str] | None:
    """Return which metric a column is of, and what of it; None for any other column."""
    match = _OF_METRIC.fullmatch(column)
    return (match[1], match[2]) if match else None


def _row_mistakes(row: _Row, first: Field) -> Iterable[tuple[Field, str]]:
    for name in _NEEDED:
        if name not in row.fields:
            yield first, f"{name} is empty in this row; it says what the row is of"
    wrong = [
        (field, why) for name, field in row.fields.items() if (why := _why_wrong(name, field.text))
    ]
    yield from wrong or _contradictions(row)


def _contradictions(row: _Row) -> Iterable[tuple[Field, str]]:
    """Yield the cells that do not agree with n; each cell by itself has to be right."""
    n, unproved = row.count("n"), row.count("unproved") or 0
    if n is None and unproved:
        why = f"unproved {unproved} is of an unknown number of runs; give n, too"
        yield row.fields["unproved"], why
    elif n is not None and unproved > n:
        yield row.fields["unproved"], f"unproved {unproved} is more than n, {n}"
    has_numbers = any(name in row.fields for name in NUMBERS)
    if n == 0 and has_numbers:
        yield row.fields["n"], "n is 0, but the row has numbers of runs"
    if row.text("status") == SKIPPED and (n or has_numbers):
        yield row.fields["status"], f"status is {SKIPPED}, but the row has runs"
    yield from _contradicting_counts(row, n)


def _contradicting_counts(row: _Row, n: int | None) -> Iterable[tuple[Field, str]]:
    """Yield the counts above n, and the deviations of one run."""
    for name, field in row.fields.items():
        count = row.count(name) if _is_count_of_measure(name) else None
        if n is not None and count is not None and count > n:
            yield field, f"{name} {count} is more than n, {n}"
        counted_by = _counted_by(name)
        if counted_by and (row.count(counted_by) or n) == 1:
            given = counted_by if counted_by in row.fields else "n"
            why = "is of one run, which has no standard deviation"
            yield field, f"{name} {why}: leave it empty, or correct {given}"


def _is_count_of_measure(name: str) -> bool:
    """Return whether a column says how many runs have a measure."""
    of_kind, _ = _of_kind(name) or ("", "")
    _, of_printed = _of_metric(name) or ("", "")
    return name in _COUNT_OF.values() or of_kind.endswith("_n") or of_printed == "n"


def _counted_by(deviation: str) -> str:
    """Return the column of how many runs a deviation is of; empty for any other number."""
    measure, statistic = NUMBERS.get(deviation) or _of_metric(deviation) or ("", "")
    if statistic != "sd":
        return ""
    return _COUNT_OF[measure] if deviation in NUMBERS else of_metric(measure, "n")


def _why_wrong(name: str, text: str) -> str:
    """Say what is wrong with the text in a column; empty when nothing is."""
    if name in _COUNTS:
        if _COUNT.fullmatch(text) and (name in _FROM_0 or int(text)):
            return ""
        return f"{name} {shown(text)} is not a whole number from {0 if name in _FROM_0 else 1}"
    if _is_count_of_measure(name):
        is_count = _COUNT.fullmatch(text) and int(text)
        return "" if is_count else f"{name} {shown(text)} is not a whole number from 1"
    _, what = _of_metric(name) or ("", "")
    if what == "better" and text not in DIRECTIONS:
        return unknown_word("direction", text, DIRECTIONS)
    if name in NUMBERS or (name not in COLUMNS and what in ("", "mean", "sd")):
        why = _why_no_number(name, text)
        return f"{name} {shown(text)} {why}" if why else ""
    if name in _ALLOWED and text not in _ALLOWED[name]:
        return unknown_word(name, text, _ALLOWED[name])
    if name == "excluded" and not all(map(_EXCLUSION.fullmatch, _parts(text))):
        known = ", ".join(_EXCLUDED)
        return f"excluded {shown(text)} is not such as 'failed: 2; timeout: 1' (known: {known})"
    if not text.isprintable():
        return f"{name} {shown(text)} has characters that cannot be printed"
    return ""


def _why_no_number(name: str, text: str) -> str:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return "is not a number such as 45.073"
    measure, statistic = NUMBERS.get(name, (name, "mean"))
    if of := _of_metric(name):
        return "is below 0" if of[1] == "sd" and float(text) < 0 else ""
    if float(text) < 0 and (statistic == "sd" or measure not in _SIGNED):
        return "is below 0"
    if float(text) == 0 and (measure, statistic) == ("elapsed_s", "mean"):
        return "is no time that a program takes"
    if float(text) == 0 and statistic == "mean" and measure in _NEVER_ZERO:
        return "is no energy of a run; leave the cell empty where it was not measured"
    if name.startswith(_SHARES) and float(text) > _MAX_SHARE:
        return "is more than 1, and a share"
    return "is more than any run has" if float(text) > _MOST.get(measure, math.inf) else ""


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
    if name in _COUNTS:
        return row.count(name)
    return row.text(name) or (UNKNOWN if name in _MAY_BE_UNKNOWN else None)


def cases_of(rows: Sequence[_Row], absent: str) -> list[CaseSummary]:
    """Return the rows as cases, in the order of their tables.

    `absent` is why a number that a row lacks is not there. Tables and rows that the source does not
    number are numbered in its order.
    """
    known = {mapping.name: mapping for mapping in list_mappings()}
    tables: dict[tuple[str | int | None, ...], int] = {}
    numbers: dict[int, int] = {}
    cases = []
    for row in rows:
        keys = tuple(_known(row, name) for name in TABLE_KEYS)
        table = row.count("table_number") or tables.setdefault(keys, len(tables) + 1)
        numbers[table] = row.count("case_number") or numbers.get(table, 0) + 1
        key = TableKey(table, *keys)  # type: ignore[arg-type]
        cases.append(
            CaseSummary(
                case_id=row.text("case_id") or _case_id(row),
                table=key,
                number=numbers[table],
                governor=row.text("governor") or UNKNOWN,
                n=row.count("n"),
                skip_reason=(row.text("reasons") or "") if row.text("status") == SKIPPED else None,
                **_facts(row, known),
                **_numbers(row, absent),
                **_circumstances(row),
            )
        )
    return sorted(cases, key=lambda case: case.order)


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
    return facts


def _numbers(row: _Row, absent: str) -> dict[str, Any]:
    """Return the moments of each measure, with the reasons of what is not there."""
    reasons = _parsed_reasons(row.text("reasons") or "")
    metrics = _metrics(row)
    lacking = {*reasons, *(_OF_ENERGY if "energy_pkg_j" in reasons else ())}
    measures = {metric.field: _of_printed(row, metric, lacking) for metric in metrics}
    for measure in (*MEASURES, *MORE_MEASURES):
        mean, sd = (row.text(with_unit_last(measure, of)) or "" for of in ("mean", "sd"))
        n = _runs_with(row, _COUNT_OF[measure], measure in lacking) if mean else 0
        measures[measure] = Moments(n, _float(mean), _float(sd), mean, sd)
        if not mean and _ONLY_WITH.get(measure, "app") in row.fields:
            reasons.setdefault(measure, [absent])
    for metric in metrics:
        if not measures[metric.field].mean_text:
            reasons.setdefault(metric.field, [absent])
    reasons.setdefault("driver", [absent])
    if row.text("driver"):
        del reasons["driver"]
    times = {
        f"time_{of}_s": _float(row.text(with_unit_last("elapsed_s", of)) or "")
        for of in ("median", "min", "max")
    }
    return times | {"measures": measures, "metrics": metrics, "reasons": reasons}


def _metrics(row: _Row) -> list[Metric]:
    """Return the metrics of which a row says anything, in the order of the columns."""
    names = dict.fromkeys(of[0] for name in row.fields if (of := _of_metric(name)))
    return [
        Metric(
            name,
            (row.text(of_metric(name, "unit")) or "",),
            row.text(of_metric(name, "better")),
        )
        for name in list(names)[:MAX_METRICS]
    ]


def _runs_with(row: _Row, column: str, is_lacking: bool) -> int | None:
    """Return how many runs have a measure; None where that is not known.

    A row that has a mean and says why runs lack the measure, but not how many, is of a file from
    before there were columns of counts. Fewer than its n runs have the measure.
    """
    return row.count(column) or (None if is_lacking else row.count("n"))


def _of_printed(row: _Row, metric: Metric, lacking: Collection[str]) -> Moments:
    mean, sd = (row.text(of_metric(metric.name, of)) or "" for of in ("mean", "sd"))
    n = _runs_with(row, of_metric(metric.name, "n"), metric.field in lacking) if mean else 0
    return Moments(n, _float(mean), _float(sd), mean, sd)


def _float(text: str) -> float:
    return float(text) if text else math.nan


def _circumstances(row: _Row) -> dict[str, Any]:
    by_kind: dict[str, dict[str, float]] = {what: {} for what in _BY_KIND}
    for name, field in row.fields.items():
        if of := _of_kind(name):
            what, kind = of
            by_kind[what][kind] = float(field.text)
    excluded = _parsed_counts(row.text("excluded") or "")
    moments = {
        name: {
            kind: Moments(int(counts.get(kind, 0)) or row.count("n"), mean)
            for kind, mean in by_kind[name].items()
        }
        for name in ("waited", "energy_by_kind")
        for counts in (by_kind.pop(f"{name}_n"),)
    }
    return by_kind | {
        **moments,
        "excluded": excluded,
        "governors_read": _parts(row.text("governor_read")),
        "drivers": _parts(row.text("driver")),
        "implementations": _parts(row.text("implementation")),
        "unproved": row.count("unproved") or 0,
        "placed": _placed(row, excluded),
    }


def _placed(row: _Row, excluded: Mapping[str, int]) -> PlacedRuns:
    """Return in how many runs threads were proved; nothing where the source counts no runs."""
    n, unproved = row.count("n"), row.count("unproved")
    violated = excluded.get(PLACEMENT_VIOLATED, 0)
    # Whoever does not say in how many runs it was not proved may have proved none.
    if n is None or (unproved is None and not violated):
        return PlacedRuns()
    return PlacedRuns(max(0, n - (unproved or 0)), unproved or 0, violated)


def _parts(text: str | None) -> list[str]:
    return [part for part in (text or "").split("; ") if part]


def _parsed_counts(text: str) -> dict[str, int]:
    """Read `timeout: 2; failed: 1`, as tables.csv has it."""
    pairs = (part.rpartition(": ") for part in _parts(text))
    return {status: int(count) for status, _, count in pairs}


def _parsed_reasons(text: str) -> dict[str, list[str]]:
    """Read `energy_pkg_j: no permission; migrations: …`, as tables.csv has it.

    A part that begins with no name of a measure or status belongs to the reason before it.
    """
    reasons: dict[str, list[str]] = {}
    name = ""
    for part in _parts(text):
        start, colon, rest = part.partition(": ")
        names_one = bool(colon) and (start in _WITH_REASONS or start.startswith(METRIC.format("")))
        name = start if names_one else name
        if name:
            reasons.setdefault(name, []).append(rest if names_one else part)
    return reasons
