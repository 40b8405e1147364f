"""The measured values of each case, run by run, and which runs may be compared in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.findings import OBJECTIVES, Objective
from analysis.frame import good_runs
from analysis.statistics.difference import Difference
from analysis.verdict.attempts import units_of

Array = NDArray[np.float64]

# Times, energies and products beyond these (s, J, J s) are not used: squares could overflow.
LEAST, MOST = 1e-30, 1e30
# Pairs are used when they are at least this share of the runs that the smaller case has.
MIN_PAIRED = 2 / 3


@dataclass(frozen=True)
class Values:
    """One case's good runs in the order of their blocks; `of` has NaN where nothing was measured.

    `block`, `order` and `attempt` are NaN for runs that were made without a plan. `unit` is the
    boot or day.
    """

    block: Array
    order: Array
    attempt: Array
    repetition: Array
    unit: NDArray[np.intp]
    of: Mapping[Objective, Array]

    def known(self, objective: Objective) -> NDArray[np.intp]:
        """Return the positions of the runs with a value of the objective; none is 0 or less."""
        values = self.of[objective]
        return np.flatnonzero((values > LEAST) & (values < MOST))


def values_by_case(
    frame: pd.DataFrame, measures: Mapping[Objective, str] = OBJECTIVES
) -> dict[str, Values]:
    """Return the good runs' values by case_id; warm-up runs and others are not among them.

    `measures` names the columns that hold the values of objectives.
    """
    good = good_runs(frame)
    codes, case_ids = pd.factorize(good["case_id"])
    names = ("block", "order", "attempt", "repetition", *measures.values())
    numbers = {name: _numbers(good, name) for name in names}
    units = units_of(good)
    # One sort and one cut for all cases, of which there may be thousands.
    by_case = np.lexsort((numbers["repetition"], numbers["block"], codes))
    cuts = np.flatnonzero(np.diff(codes[by_case])) + 1
    parts = {name: np.split(column[by_case], cuts) for name, column in numbers.items()}
    unit_parts = np.split(units[by_case], cuts)
    return {
        str(case_id): Values(
            parts["block"][at],
            parts["order"][at],
            parts["attempt"][at],
            parts["repetition"][at],
            unit_parts[at],
            {name: parts[measure][at] for name, measure in measures.items()},
        )
        for at, case_id in enumerate(case_ids)
    }


def _numbers(runs: pd.DataFrame, name: str) -> Array:
    return runs[name].to_numpy(dtype=float, na_value=np.nan)


def difference_of(case: Values, baseline: Values, objective: Objective) -> Difference | None:
    """Return how a case differs from another, paired where their runs were made in blocks.

    Runs of one block that different attempts made are no pair: a boot, or days, lie between them.
    Where few are left of the runs, all are compared unpaired. None when one of them has fewer than
    two values.
    """
    mine, theirs = case.known(objective), baseline.known(objective)
    a, b = np.log(case.of[objective][mine]), np.log(baseline.of[objective][theirs])
    if len(a) < 2 or len(b) < 2:
        return None
    _, at_a, at_b = np.intersect1d(case.block[mine], baseline.block[theirs], return_indices=True)
    together = _same(case.attempt[mine][at_a], baseline.attempt[theirs][at_b])
    at_a, at_b = at_a[together], at_b[together]
    least = max(2, MIN_PAIRED * min(len(a), len(b)))
    if len(at_a) >= least and _are_blocks(case.order[mine][at_a], baseline.order[theirs][at_b]):
        return Difference.of_pairs(a[at_a], b[at_b], case.unit[mine][at_a])
    return Difference.of_runs(a, b)


def _same(attempts_a: Array, attempts_b: Array) -> NDArray[np.bool_]:
    """Return which attempts are the same; unknown attempts count as the same."""
    return np.asarray((attempts_a == attempts_b) | np.isnan(attempts_a) | np.isnan(attempts_b))


def are_apart(case: Values, baseline: Values) -> bool:
    """Return whether no attempt made runs of both: the node may have changed between them."""
    if np.isnan(case.attempt).any() or np.isnan(baseline.attempt).any():
        return False
    return set(case.attempt).isdisjoint(baseline.attempt)


def _are_blocks(order_a: Array, order_b: Array) -> bool:
    """Return whether the runs of each block were made before those of the next one.

    They were not in a study that makes all runs of a case before the next case's, nor between boots
    of a guest: there a block's number does not mean that its runs shared the machine's state.
    """
    first, last = np.minimum(order_a, order_b), np.maximum(order_a, order_b)
    return bool(np.all(last[:-1] < first[1:]))


def by_objective(values: Values) -> Iterator[tuple[Objective, Array]]:
    """Yield the objectives that have a value, with their values."""
    for objective in OBJECTIVES:
        if len(at := values.known(objective)):
            yield objective, values.of[objective][at]
