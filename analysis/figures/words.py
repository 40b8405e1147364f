"""Numbers and lists in captions and alt texts, and why a figure's numbers are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.format.table import joined
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding
from base.text import one_line

NO_REASON = "not recorded, and no reason given"
_MAX_REASONS = 3


def number(value: float) -> str:
    """Return a number with three digits, without an exponent where people would not use one."""
    if value != 0 and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.2e}"
    # From here on three digits are a whole number, which `g` would write with an exponent.
    if abs(value) >= 999.5:
        return f"{value:.0f}"
    return f"{value:.3g}"


def named(case: CaseFinding) -> str:
    """Return a case's name as it may stand in a sentence."""
    return one_line(case.label)


def extremes(
    what: str, unit: str, values: Mapping[int, float], cases: Sequence[CaseFinding]
) -> str:
    """Return a sentence with the least and the greatest value; `values` are by row."""
    if not values:
        return ""
    low, high = min(values, key=lambda row: values[row]), max(values, key=lambda row: values[row])
    unit = f" {unit}" if unit else ""
    least = f"{number(values[low])}{unit} for {named(cases[low])}"
    if len(values) == 1:
        return f"{what} is {least}."
    return (
        f"{what} of {len(values)} cases goes from {least} to "
        f"{number(values[high])}{unit} for {named(cases[high])}."
    )


def sentences(*parts: str) -> str:
    """Return the parts that say something as one paragraph."""
    return " ".join(part for part in parts if part)


def why_not_measured(results: Results, cases: Sequence[CaseFinding], fields: Sequence[str]) -> str:
    """Return why none of the cases has these fields (of a record)."""
    if not any(case.summary.has_runs for case in cases):
        left_out = [case.summary.left_out for case in cases if case.summary.left_out]
        return _told(left_out) or "no run that could be averaged"
    reasons: list[str] = []
    if results.runs is not None:
        given = results.runs.reasons
        mine = given["case_id"].isin([case.case_id for case in cases])
        reasons += given[mine & given["field"].isin(fields)]["reason"].tolist()
    for case in cases:
        for field in fields:
            reasons += case.summary.reasons.get(field, ())
    return _told(reasons) or NO_REASON


def _told(reasons: Sequence[object]) -> str:
    told = list(dict.fromkeys(one_line(str(reason)) for reason in reasons))
    # What follows from another reason repeats it.
    distinct = [one for one in told if not any(one in other for other in told if other != one)]
    more = len(distinct) - _MAX_REASONS
    return joined([*distinct[:_MAX_REASONS], *([f"and {more} more reasons"] if more > 0 else [])])
