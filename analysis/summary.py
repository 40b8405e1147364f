"""From runs to cases: means, standard deviations, and what was not averaged and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from analysis.frame import (
    MEASURES,
    MORE_MEASURES,
    ROW_FACTS,
    ROW_KEYS,
    TABLE_KEYS,
    number_or_nan,
)
from runners.statuses import LEFT_OUT, OK


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row a case, in the order of the tables.

    Columns: `table_number`, TABLE_KEYS, ROW_KEYS, ROW_FACTS, `case_id`; `n`, the runs that are
    averaged (status ok, no warm-up); for each measure M in MEASURES and MORE_MEASURES `M_mean`,
    `M_sd` (with n - 1; NaN for a single run) and `M_n`; `residency` and `freq_ghz`, means by kind;
    `drivers` and `governors_read`, what the good runs were made under; `excluded`, the number of
    runs by status; `reasons`, {status or measure: the reasons given};
    `left_out`, the reason or None; `unproved` and `vcpus_unproved`, the runs in which the placement
    of threads, or of a guest's CPUs, could not be proved.
    """
    keys = ["table_number", *TABLE_KEYS, *ROW_KEYS, "case_id"]
    cases = [_case(runs) for _, runs in frame.groupby(keys, sort=False, dropna=False)]
    columns = list(cases[0]) if cases else [*keys, *ROW_FACTS, "n", "left_out"]
    # As objects: a reason that is not there stays None whatever pandas has for texts.
    table = pd.DataFrame(cases, columns=columns, dtype=object)
    order = ["table_number", *TABLE_KEYS, "case_number", "case_id"]
    return table.sort_values(order, kind="stable", na_position="first").reset_index(drop=True)


def _case(runs: pd.DataFrame) -> dict[str, Any]:
    """Summarise the runs of one case."""
    first = runs.iloc[0]
    counted = runs[~runs["warmup"] & (runs["status"] != LEFT_OUT)]
    good = counted[counted["status"] == OK]
    left_out = runs[runs["status"] == LEFT_OUT]
    case: dict[str, Any] = {
        name: first[name]
        for name in ("table_number", *TABLE_KEYS, *ROW_KEYS, *ROW_FACTS, "case_id")
    }
    case["n"] = len(good)
    for name in (*MEASURES, *MORE_MEASURES):
        values = good[name].dropna()
        case[f"{name}_n"] = len(values)
        case[f"{name}_mean"] = values.mean()
        case[f"{name}_sd"] = values.std(ddof=1)
    bad = counted[counted["status"] != OK]
    case["excluded"] = bad["status"].value_counts(sort=False).to_dict()
    case["reasons"] = _reasons(good, bad)
    case["left_out"] = (left_out.iloc[-1]["reason"] or "") if len(left_out) else None
    case["governors_read"] = _distinct(good["governor_read"])
    case["drivers"] = _distinct(good["driver"])
    case["residency"] = mean_by_kind(good["residency"])
    case["freq_ghz"] = mean_by_kind(good["freq_ghz"])
    for name, of in (("unproved", "placement"), ("vcpus_unproved", "vcpu_placement")):
        case[name] = int(sum(p.get("verdict") == "unproved" for p in good[of]))
    return case


def _reasons(good: pd.DataFrame, bad: pd.DataFrame) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for status, reasons in bad.groupby("status", sort=False)["reason"]:
        found[str(status)] = _distinct(reasons)
    for name in (*MEASURES, "vcpu_migrations", "placement", "vcpu_placement", "driver"):
        given = (absent.get(name) for absent in good["unavailable"])
        found[name] = _distinct(given)
    return {name: reasons for name, reasons in found.items() if reasons}


def _distinct(values: Iterable[object]) -> list[str]:
    """Return the texts among the values, each once, in the order of their appearance."""
    return list(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def mean_by_kind(values: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Return the mean of each core kind's numbers over the runs that have one."""
    frame = pd.DataFrame(
        [{str(kind): number_or_nan(value) for kind, value in run.items()} for run in values],
        dtype=float,
    )
    means = frame.mean().dropna()
    return {str(kind): float(mean) for kind, mean in means.items()}
