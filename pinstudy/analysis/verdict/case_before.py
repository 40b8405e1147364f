"""What runs inherited from the case before them, by the records of all runs of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.records.runs import are_good, whole_runs
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.statistics.carry_over import RunOrder, carry_over
from pinstudy.analysis.verdict.model import CaseBefore
from pinstudy.base.text import one_line
from pinstudy.runners.records.status import SKIPPED


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
