"""The columns of `summaries.csv`, and what a cell of each may hold."""

from __future__ import annotations

import math
import re

from analysis.records.fields import (
    MEASURES,
    METRIC,
    MORE_MEASURES,
    OF_METRIC,
    ROW_FACTS,
    ROW_KEYS,
    TABLE_KEYS,
)
from analysis.results.case_summary import count_column, of_metric, with_unit_last
from base.text import shown, unknown_word
from configs.mapping import BINDINGS, SELECTIONS
from configs.scheduling import OFF, ON
from configs.values import DIRECTIONS
from runners.records.record import largest_numbers
from runners.records.status import FINAL, INTERRUPTED, OK, SKIPPED

# The status of a case that was not skipped.
MEASURED = "measured"

_TEXTS = (
    "study", "node_id", *TABLE_KEYS, *ROW_KEYS, *ROW_FACTS, "case_id", "status", "driver",
    "governor_read", "implementation", "excluded", "reasons",
)  # fmt: skip
COUNTS = (
    "table_number", "case_number", "ranks", "threads", "n", "lost", "unproved", "vm_cpus",
    "vm_memory_mib",
)  # fmt: skip
_FROM_0 = ("n", "lost", "unproved")
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
COUNT_OF = {measure: count_column(measure) for measure in (*MEASURES, *MORE_MEASURES)}
COLUMNS = (
    *dict.fromkeys((*_TEXTS, *COUNTS)), *NUMBERS, *COUNT_OF.values(), *_DERIVED
)  # fmt: skip
# What `tables.csv` has by core kind: `residency_P`, `freq_LP-E_mean_ghz`.
_KIND = "([A-Za-z][A-Za-z0-9-]{0,15})"
BY_KIND = {
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
MAX_SHARE = 1.01

_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
# Of runs that are not averaged.
_EXCLUDED = (*(status for status in FINAL if status != OK), INTERRUPTED)
_EXCLUSION = re.compile(rf"(?:{'|'.join(_EXCLUDED)}): {_COUNT.pattern}", re.ASCII)
# The most that a run may have of each measure.
_MOST = largest_numbers()
# What can be below 0: energy beside an idle node's that was less idle than thought.
SIGNED = {"energy_net_j"}
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


def is_column(name: str) -> bool:
    """Return whether a file of summaries may have a column of this name."""
    return name in COLUMNS or bool(kind_of(name) or metric_of(name))


def kind_of(column: str) -> tuple[str, str] | None:
    """Return what a column by core kind holds, and the kind; None for any other column."""
    for what, pattern in BY_KIND.items():
        if match := pattern.fullmatch(column):
            return what, match[1]
    return None


def metric_of(column: str) -> tuple[str, str] | None:
    """Return which metric a column is of, and what of it; None for any other column."""
    match = _OF_METRIC.fullmatch(column)
    return (match[1], match[2]) if match else None


def is_count_of_measure(name: str) -> bool:
    """Return whether a column says how many runs have a measure."""
    of_kind, _ = kind_of(name) or ("", "")
    _, of_printed = metric_of(name) or ("", "")
    return name in COUNT_OF.values() or of_kind.endswith("_n") or of_printed == "n"


def holds_count(name: str) -> bool:
    """Return whether a column has whole numbers."""
    return name in COUNTS or is_count_of_measure(name)


def holds_number(name: str) -> bool:
    """Return whether a column has numbers, and neither names nor words."""
    _, of_printed = metric_of(name) or ("", "")
    is_measured = name in NUMBERS or name in _DERIVED or kind_of(name) is not None
    return holds_count(name) or is_measured or of_printed in ("mean", "sd")


def counted_by(deviation: str) -> str:
    """Return the column of how many runs a deviation is of; empty for any other number."""
    measure, statistic = NUMBERS.get(deviation) or metric_of(deviation) or ("", "")
    if statistic != "sd":
        return ""
    return COUNT_OF[measure] if deviation in NUMBERS else of_metric(measure, "n")


def why_wrong(name: str, text: str) -> str:
    """Say what is wrong with the text in a column; empty when nothing is."""
    if name in COUNTS:
        if _COUNT.fullmatch(text) and (name in _FROM_0 or int(text)):
            return ""
        return f"{name} {shown(text)} is not a whole number from {0 if name in _FROM_0 else 1}"
    if is_count_of_measure(name):
        is_count = _COUNT.fullmatch(text) and int(text)
        return "" if is_count else f"{name} {shown(text)} is not a whole number from 1"
    _, what = metric_of(name) or ("", "")
    if what == "better" and text not in DIRECTIONS:
        return unknown_word("direction", text, DIRECTIONS)
    if name in NUMBERS or (name not in COLUMNS and what in ("", "mean", "sd")):
        why = _why_no_number(name, text)
        return f"{name} {shown(text)} {why}" if why else ""
    if name in _ALLOWED and text not in _ALLOWED[name]:
        return unknown_word(name, text, _ALLOWED[name])
    if name == "excluded" and not all(map(_EXCLUSION.fullmatch, parts_of(text))):
        known = ", ".join(_EXCLUDED)
        return f"excluded {shown(text)} is not such as 'failed: 2; timeout: 1' (known: {known})"
    if not text.isprintable():
        return f"{name} {shown(text)} has characters that cannot be printed"
    return ""


def _why_no_number(name: str, text: str) -> str:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return "is not a number such as 45.073"
    measure, statistic = NUMBERS.get(name, (name, "mean"))
    if of := metric_of(name):
        return "is below 0" if of[1] == "sd" and float(text) < 0 else ""
    if float(text) < 0 and (statistic == "sd" or measure not in SIGNED):
        return "is below 0"
    if float(text) == 0 and (measure, statistic) == ("elapsed_s", "mean"):
        return "is no time that a program takes"
    if float(text) == 0 and statistic == "mean" and measure in _NEVER_ZERO:
        return "is no energy of a run; leave the cell empty where it was not measured"
    if name.startswith(_SHARES) and float(text) > MAX_SHARE:
        return "is more than 1, and a share"
    return "is more than any run has" if float(text) > _MOST.get(measure, math.inf) else ""


def parts_of(text: str | None) -> list[str]:
    """Return the parts of a cell that lists several: `failed: 2; timeout: 1`."""
    return [part for part in (text or "").split("; ") if part]
