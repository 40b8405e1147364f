"""Turns: whether two cases' runs were made in turn, so that a drift of the node falls on both.

Where all runs of a case come before those of another, a node that becomes slower meanwhile looks
like a slow mapping, and no test of the runs tells the two apart. What counts is the order in which
runs were made, by the records, not the word in the study: a case that was added later, or guests
that each booted once, are no better than `order: sequential`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.baselines import baselines_of
from pinstudy.analysis.results.case import Case

Array = NDArray[np.float64]

# Randomised blocks change between two cases once a block or oftener. Runs are lost, so
# that fewer changes do: as many as there must be pairs in analysis.verdict.values.
MIN_TURNS = 2 / 3
ORDER = "the order does not tell a drift from a mapping"
FOOTNOTE = (
    f"{ORDER}: cases not made in turn with their baseline (sequential, added later, or guests of "
    "other boots) are not compared"
)


class Made(NamedTuple):
    """When the good runs of a case were made: attempt, place in the study, and seconds since 1970.

    Each is NaN where it is not known.
    """

    attempt: Array
    order: Array
    started_s: Array


def are_in_turn(a: Made, b: Made) -> bool:
    """Return whether two cases' runs were made in turn, by the study's order and by the clock.

    Runs whose order is not known count for nothing. Where that is all of a case's, as in imported
    logs, they are taken to have been made in turn.
    """
    a, b = _known(a), _known(b)
    if not len(a.order) or not len(b.order):
        return True
    orders = np.concatenate([a.order, b.order])
    is_b = np.arange(len(orders)) >= len(a.order)
    attempts = np.concatenate([a.attempt, b.attempt])
    attempts[np.isnan(attempts)] = 0.0
    least = MIN_TURNS * min(len(a.order), len(b.order))
    by_order = np.lexsort((orders, attempts))
    is_b, started_s = is_b[by_order], np.concatenate([a.started_s, b.started_s])[by_order]
    if _changes(is_b) < least:
        return False
    # Somebody may have set the clock back: it counts where it went on with each case's runs.
    if not (_goes_on(started_s[is_b]) and _goes_on(started_s[~is_b])):
        return True
    return _changes(is_b[np.argsort(started_s, kind="stable")]) >= least


def _known(made: Made) -> Made:
    """Return the runs whose place in the study is known."""
    known = ~np.isnan(made.order)
    return Made(*(values[known] for values in made))


def _changes(is_b: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(is_b[1:] != is_b[:-1]))


def _goes_on(times_s: Array) -> bool:
    """Return whether no time is before the one ahead of it; False where any is not known."""
    return not np.isnan(times_s).any() and bool((times_s[1:] >= times_s[:-1]).all())


def with_turns(cases: Sequence[Case], frame: pd.DataFrame) -> list[Case]:
    """Return the cases, those marked whose runs were not made in turn with their baseline's."""
    made = _made_by_case(frame)
    baselines = baselines_of(cases)
    return [
        replace(case, circumstances=replace(case.circumstances, out_of_turn=True))
        if case.key.case_id in made
        and case.key.case_id in baselines
        and baselines[case.key.case_id].key.case_id in made
        and not are_in_turn(made[case.key.case_id], made[baselines[case.key.case_id].key.case_id])
        else case
        for case in cases
    ]


def _made_by_case(frame: pd.DataFrame) -> dict[str, Made]:
    good = good_runs(frame)
    numbers, case_ids = pd.factorize(good["case_id"])
    columns = [
        good[name].to_numpy(dtype=float, na_value=np.nan)
        for name in ("attempt", "order", "started_s")
    ]
    by_case = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[by_case])) + 1
    parts = [np.split(column[by_case], cuts) for column in columns]
    return {
        str(case_id): Made(*(part[at] for part in parts)) for at, case_id in enumerate(case_ids)
    }
