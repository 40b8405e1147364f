"""Why a figure's numbers are not there, in the words of the records."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.findings import CaseFinding
from analysis.sources import Results
from analysis.table import joined
from base.text import one_line

NO_REASON = "not recorded, and no reason given"
_MAX_REASONS = 3


def why_not_measured(results: Results, cases: Sequence[CaseFinding], fields: Sequence[str]) -> str:
    """Return why none of the cases has these fields (of a record)."""
    if not any(case.facts["n"] for case in cases):
        left_out = [case.facts["left_out"] for case in cases if case.facts["left_out"]]
        return _told(left_out) or "no run that could be averaged"
    reasons: list[str] = []
    if results.runs is not None:
        given = results.runs.reasons
        mine = given["case_id"].isin([case.case_id for case in cases])
        reasons += given[mine & given["field"].isin(fields)]["reason"].tolist()
    for case in cases:
        for field in fields:
            reasons += case.facts["reasons"].get(field, ())
    return _told(reasons) or NO_REASON


def _told(reasons: Sequence[object]) -> str:
    told = list(dict.fromkeys(one_line(str(reason)) for reason in reasons))
    # What follows from another reason repeats it.
    distinct = [one for one in told if not any(one in other for other in told if other != one)]
    more = len(distinct) - _MAX_REASONS
    return joined([*distinct[:_MAX_REASONS], *([f"and {more} more reasons"] if more > 0 else [])])
