"""Derive from a study's attempts: which boot or day a run is of, and which look this is."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.frame import good_runs
from runners.records.values import INTERRUPTED, SKIPPED

# An attempt that begins so long after the one before it in the same boot is of another day.
PAUSE_S = 8 * 3600.0


def units_of(runs: pd.DataFrame) -> NDArray[np.intp]:
    """Return the number of each run's boot or day; 0 for runs of no known attempt.

    Attempts of one boot that follow each other within eight hours are of one unit: a study that was
    killed and continued at once has not seen another state of the node.
    """
    attempts = runs["attempt"].to_numpy(dtype=float, na_value=np.nan)
    started = runs["started_s"].to_numpy(dtype=float, na_value=np.nan)
    boots = runs["boot_id"].astype(object).to_numpy()
    found = np.zeros(len(runs), dtype=np.intp)
    last: dict[object, tuple[int, float]] = {}
    count = 0
    for attempt in np.unique(attempts[np.isfinite(attempts)]):
        at = attempts == attempt
        times = started[at][np.isfinite(started[at])]
        begin, end = (times.min(), times.max()) if len(times) else (np.nan, np.nan)
        boot = next((boot for boot in boots[at] if isinstance(boot, str)), None)
        unit, until = last.get(boot, (0, np.nan))
        if not unit or begin - until > PAUSE_S:
            count += 1
            unit = count
        last[boot] = unit, end if np.isfinite(end) else until
        found[at] = unit
    return found


def units_in(frame: pd.DataFrame) -> int:
    """Return in how many boots or days the good runs were made."""
    return len(np.unique(units_of(good_runs(frame))))


def look_of(frame: pd.DataFrame) -> int:
    """Return which look at its results a study is at: 1 where it was not continued.

    A look is the end of an attempt after which every case had all repetitions from the first to the
    same last one, if a later attempt made more. A study that was killed within a block was not
    looked at, because whoever continues it is taken not to do so because of its results. Nor was a
    study whose blocks several workers divide, until all of them had ended.
    """
    made = frame[~frame["warmup"] & ~frame["status"].isin([INTERRUPTED, SKIPPED])]
    made = made[made["attempt"].notna() & made["repetition"].notna()]
    if made.empty:
        return 1
    by_case = made.groupby(["attempt", "case_id"], observed=True).size()
    # A frame has each repetition once, so that as many as the largest number are all of them.
    fewest = by_case.unstack("case_id", fill_value=0).cumsum().min(axis=1)
    last = made.groupby("attempt")["repetition"].max().cummax()
    complete = last[(fewest == last) & (last < last.iloc[-1])]
    return 1 + int(complete.nunique())
