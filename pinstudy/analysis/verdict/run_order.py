"""What the order of runs tells: what a boot costs, what runs inherit from the case before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.records.runs import are_good, whole_runs
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.statistics.boots import BootCosts
from pinstudy.analysis.statistics.carry_over import RunOrder, carry_over
from pinstudy.analysis.verdict.model import CaseBefore
from pinstudy.analysis.verdict.values import units_of
from pinstudy.base.text import one_line
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


def case_before_of(frame: pd.DataFrame, cases: Iterable[Case]) -> CaseBefore | None:
    """Return how times depend on the case before; None where too few runs tell, or no order."""
    runs = whole_runs(frame)
    runs = runs[(runs["status"] != SKIPPED) & runs["attempt"].notna() & runs["order"].notna()]
    runs = runs.sort_values(["attempt", "order"], kind="stable")
    numbers, ids = pd.factorize(runs["case_id"])
    attempts, _ = pd.factorize(runs["attempt"])
    times = runs[TIME.field].to_numpy(dtype=float, na_value=np.nan)
    times = np.where(are_good(runs) & (times > 0), times, np.nan)
    blocks = runs["block"].to_numpy(dtype=float, na_value=-1)
    found = carry_over(RunOrder(numbers, attempts, blocks, np.log(times)))
    if found is None:
        return None
    by_id = {case.key.case_id: case for case in cases}
    after = str(ids[found.most])
    return CaseBefore(
        after,
        _label(after, by_id),
        _shares(ids, found.effects),
        _shares(ids, found.carried),
        float(found.p[found.most]),
        int(found.n[found.most]),
        found.found,
    )


def _shares(ids: Iterable[object], values: Iterable[float]) -> dict[str, float]:
    found = zip(ids, values, strict=True)
    return {str(case_id): float(value) for case_id, value in found if np.isfinite(value)}


def _label(case_id: str, cases: Mapping[str, Case]) -> str:
    """Return what tells a case from the others: its mapping, and what else differs among them."""
    case = cases.get(case_id)
    if case is None:
        return case_id
    keys = [other.key for other in cases.values()]
    key = case.key
    several_tables = len({other.table for other in keys}) > 1
    several_governors = len({(other.governor, other.setting_words) for other in keys}) > 1
    parts = (
        f"{key.table.app} {key.table.threads_label}" if several_tables else "",
        key.full_mapping,
        ", ".join(filter(None, (key.governor, key.setting_words))) if several_governors else "",
    )
    return one_line(" ".join(filter(None, parts)))
