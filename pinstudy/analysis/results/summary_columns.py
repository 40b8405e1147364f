"""The columns of `summaries.csv`, and what a cell of each may hold."""

from __future__ import annotations

import math
import re

from pinstudy.analysis.measures import MAX_SHARE, STATISTICS, Statistic, csv_column
from pinstudy.analysis.records import engines
from pinstudy.analysis.records.keys import ROW_FACTS, ROW_KEYS, SEPARATOR, TABLE_KEYS
from pinstudy.analysis.records.metrics import METRIC, OF_METRIC, metric_column
from pinstudy.base.text import shown, unknown_word
from pinstudy.configs.mapping import BINDINGS, SELECTIONS
from pinstudy.configs.settings import NAMES
from pinstudy.configs.values import DIRECTIONS
from pinstudy.runners.records.record import largest_numbers
from pinstudy.runners.records.status import FINAL, INTERRUPTED, OK, SKIPPED

# The status of a case that was not skipped.
MEASURED = "measured"
# Whether a row's runs were made in turn with its baseline's (pinstudy/analysis/results/turns.py).
IN_TURN, NO = "in_turn", "no"

_TEXTS = (
    "study", "node_id", *TABLE_KEYS, *ROW_KEYS, *ROW_FACTS, "case_id", "status", "driver",
    "governor_read", "implementation", "excluded", "reasons", IN_TURN,
)  # fmt: skip
COUNTS = (
    "table_number", "case_number", "threads", "n", "lost", "unproved", *engines.COUNTS,
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
_MOST |= {column: _MOST[field] for column, field in engines.RECORD_FIELDS.items() if field in _MOST}
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
    """Return which statistic of a measure or metric a column has; empty for none."""
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
