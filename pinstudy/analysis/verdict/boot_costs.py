"""What a boot costs beside its runs, by the records of a study over several boots."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from pinstudy.analysis.records.runs import whole_runs
from pinstudy.analysis.statistics.boots import BootCosts
from pinstudy.analysis.verdict.values import units_of
from pinstudy.runners.records.status import SKIPPED

# What passes between two boots beyond this is a pause: nobody waits for it.
LONGEST_BOOT_S = 600.0


def boot_costs_of(frame: pd.DataFrame) -> BootCosts | None:
    """Return the seconds of a block of runs, and the least between the blocks of two boots.

    The latter are a boot, warm-up runs included, ten minutes at most. None of a single boot, and
    where records do not say when runs were made.
    """
    runs = whole_runs(frame)
    runs = runs[(runs["status"] != SKIPPED) & runs["attempt"].notna() & runs["started_s"].notna()]
    units = pd.Series(units_of(runs), index=runs.index)
    measured = ~runs["warmup"]
    ends_s = runs["started_s"] + runs["elapsed_s"].fillna(0.0)
    firsts_s = runs["started_s"][measured].groupby(units[measured]).min().sort_values()
    if len(firsts_s) < 2:
        return None
    lasts_s = ends_s.groupby(units).max()
    gaps_s = [firsts_s[after] - lasts_s[before] for before, after in pairwise(firsts_s.index)]
    attempts = runs["attempt"][measured]
    made_s = ends_s.groupby(attempts).max() - runs["started_s"][measured].groupby(attempts).min()
    blocks = len(runs.loc[measured, ["attempt", "block"]].drop_duplicates())
    run_s, boot_s = float(made_s.sum()) / blocks, float(np.min(gaps_s))
    return BootCosts(run_s, float(np.clip(boot_s, 0.0, LONGEST_BOOT_S))) if run_s > 0 else None
