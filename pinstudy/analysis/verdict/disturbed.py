"""How much longer disturbed runs took than the others of their case.

Runs that were disturbed are averaged all the same; their spread is what an interval is made of.
That a disturbance was there proves nothing; that the runs which had it took longer does.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.runners.records.disturbances import DISTURBANCES

# The fewest runs with and without a disturbance whose times have a spread.
MIN_RUNS = 2


def disturbed_against_others(frame: pd.DataFrame) -> dict[str, dict[str, Difference]]:
    """Return how much longer a case's runs took with each disturbance than its others, by case_id.

    Only those are there of which both kinds of runs have a spread.
    """
    good = good_runs(frame)
    good = good[good["elapsed_s"] > 0]
    disturbed = good["disturbed"]
    some = good["case_id"].isin(good["case_id"][disturbed.notna()].unique())
    found: dict[str, dict[str, Difference]] = {}
    for case_id, runs in good[some].groupby("case_id", observed=True, sort=False):
        log_s = np.log(runs["elapsed_s"].to_numpy(dtype=float))
        names = [seen or () for seen in disturbed[runs.index]]
        for disturbance in DISTURBANCES:
            has_it = np.array([disturbance in seen for seen in names])
            if min(has_it.sum(), (~has_it).sum()) >= MIN_RUNS:
                difference = Difference.welch(log_s[has_it], log_s[~has_it])
                found.setdefault(str(case_id), {})[disturbance] = difference
    return found
