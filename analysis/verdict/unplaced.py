"""Sentences on cases that lost runs to placement: not compared, or compared on the runs left.

The rule is runners.records.placed_runs.PlacedRuns.usable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.findings import CaseFinding
from analysis.verdict.phrases import MAX_NAMED, and_others, listed, name


def unusable(cases: Iterable[CaseFinding]) -> list[CaseFinding]:
    """Return the cases that lost too many of their runs to placement to be compared."""
    return [case for case in cases if not case.placed.usable]


def not_placed(cases: Iterable[CaseFinding]) -> str:
    """Say which of some cases are not compared for their placement; empty when all are."""
    lost = unusable(cases)
    if not lost:
        return ""
    return (
        f"Not compared: {_counts(lost)}. More than a tenth of the runs were lost to placement, and "
        "which ones depends on how they ran, so that the others are no sample."
    )


def rests_on(cases: Sequence[CaseFinding]) -> str:
    """Say how far the placement of cases that are compared is proved; empty when it all is."""
    doubtful = [case for case in cases if case.placed.lost or case.placed.unseen]
    if not doubtful:
        return ""
    averaged = any(case.placed.unproved for case in doubtful)
    kept = "; runs of which it is not provable are averaged" if averaged else ""
    return f"What is known of where threads ran: {_counts(doubtful)}{kept}."


def _counts(cases: Sequence[CaseFinding]) -> str:
    shown = [f"{name(case)} ({case.placed.summary})" for case in cases[:MAX_NAMED]]
    return listed([*shown, *and_others(cases)])
