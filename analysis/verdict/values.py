"""The measured values of each case, run by run, and which runs may be compared in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.findings import OBJECTIVES, Objective
from analysis.statistics.difference import Difference
from runners.statuses import OK

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """One case's good runs in the order of their blocks; `of` has NaN where nothing was measured.

    `block` and `order` are NaN for runs that were made without a plan.
    """

    block: Array
    order: Array
    repetition: Array
    of: Mapping[Objective, Array]

    def known(self, objective: Objective) -> NDArray[np.intp]:
        """Return where the objective has a value that a logarithm has."""
        values = self.of[objective]
        return np.flatnonzero(np.isfinite(values) & (values > 0))


def values_by_case(frame: pd.DataFrame) -> dict[str, Values]:
    """Return the good runs' values by case_id; warm-up runs and others are not among them."""
    good = frame[(frame["status"] == OK) & ~frame["warmup"]]
    codes, case_ids = pd.factorize(good["case_id"])
    names = ("block", "order", "repetition", *OBJECTIVES.values())
    numbers = {name: _numbers(good, name) for name in names}
    # By case, then by block: one sort and one cut for all cases, of which there may be thousands.
    by_case = np.lexsort((numbers["repetition"], numbers["block"], codes))
    cuts = np.flatnonzero(np.diff(codes[by_case])) + 1
    parts = {name: np.split(column[by_case], cuts) for name, column in numbers.items()}
    return {
        str(case_id): Values(
            parts["block"][at],
            parts["order"][at],
            parts["repetition"][at],
            {name: parts[measure][at] for name, measure in OBJECTIVES.items()},
        )
        for at, case_id in enumerate(case_ids)
    }


def _numbers(runs: pd.DataFrame, name: str) -> Array:
    return runs[name].to_numpy(dtype=float, na_value=np.nan)


def difference_of(case: Values, baseline: Values, objective: Objective) -> Difference | None:
    """Return how a case differs from another, paired where their runs were made in blocks.

    None when one of them has fewer than two values.
    """
    mine, theirs = case.known(objective), baseline.known(objective)
    a, b = np.log(case.of[objective][mine]), np.log(baseline.of[objective][theirs])
    blocks, at_a, at_b = np.intersect1d(
        case.block[mine], baseline.block[theirs], return_indices=True
    )
    if len(blocks) >= 2 and _are_blocks(case.order[mine][at_a], baseline.order[theirs][at_b]):
        return Difference.of_pairs(a[at_a], b[at_b])
    if len(a) < 2 or len(b) < 2:
        return None
    return Difference.welch(a, b)


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
