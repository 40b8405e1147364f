"""The machine-readable rows of tables: every number of a case by name, unrounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from analysis.fields import MEASURES, MORE_MEASURES, ROW_FACTS, TABLE_KEYS
from analysis.measure_names import with_unit_last
from analysis.table import joined
from runners.records.values import SKIPPED

_IDENTITY = (
    "study", "node_id", *TABLE_KEYS, "case_number", "mapping", "governor", *ROW_FACTS, "case_id",
)  # fmt: skip
_MEANS = tuple(
    (f"{measure}_{statistic}", with_unit_last(measure, statistic))
    for measure in (*MEASURES, *MORE_MEASURES)
    for statistic in ("mean", "sd")
)
# Means from elsewhere come without these.
_OF_TIMES = tuple(
    (f"elapsed_s_{statistic}", with_unit_last("elapsed_s", statistic))
    for statistic in ("median", "min", "max")
)


def exact_row(case: Mapping[str, Any]) -> dict[str, object]:
    """Return a case's numbers by name, with the unit last; what is not there is None.

    `elapsed_cv` is the coefficient of variation of the time, sd / mean.
    """
    exact: dict[str, object] = {name: case[name] for name in _IDENTITY}
    exact["status"] = SKIPPED if case["left_out"] is not None else "measured"
    exact["n"] = None if math.isnan(case["n"]) else case["n"]
    exact["unproved"] = case["placed"].unproved
    exact["driver"] = joined(case["drivers"])
    exact["governor_read"] = joined(case["governors_read"])
    exact["implementation"] = joined(case["implementations"])
    for name, title in _MEANS:
        exact[title] = _number(case[name])
    for name, title in _OF_TIMES:
        exact[title] = _number(case.get(name))
    mean, sd = exact["elapsed_mean_s"], exact["elapsed_sd_s"]
    known = isinstance(mean, float) and isinstance(sd, float) and mean > 0
    exact["elapsed_cv"] = case["elapsed_s_sd"] / case["elapsed_s_mean"] if known else None
    for kind, value in case["residency"].items():
        exact[f"residency_{kind}"] = value
    for kind, value in case["freq_ghz"].items():
        exact[f"freq_{kind}_mean_ghz"] = value
    exact["excluded"] = joined(f"{status}: {count}" for status, count in case["excluded"].items())
    exact["reasons"] = case["left_out"] or joined(
        f"{name}: {joined(reasons)}" for name, reasons in case["reasons"].items()
    )
    return exact


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
