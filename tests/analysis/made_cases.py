"""Cases with the facts that a test asks for, and nothing else measured."""

from __future__ import annotations

import math
from typing import Any

from analysis.results.case_summary import CaseSummary, Moments, TableKey
from analysis.results.fields import MEASURES, MORE_MEASURES
from analysis.verdict.model import CaseFinding

TABLE = TableKey(1, "lu", "serial", "paper", 1, "static", "passive")


def summary(number: int = 1, n: int | None = 10, **facts: Any) -> CaseSummary:  # noqa: ANN401
    """Return the case of that row; `elapsed_s`, `migrations` and so on are Moments or means."""
    measures = {name: Moments() for name in (*MEASURES, *MORE_MEASURES)}
    for name in set(facts) & set(measures):
        value = facts.pop(name)
        mean = math.nan if value is None else value
        measures[name] = value if isinstance(value, Moments) else Moments(n, mean)
    names = {"mapping": f"m{number}", "governor": "performance", "table": TABLE} | facts
    return CaseSummary(case_id=f"case{number}", number=number, n=n, measures=measures, **names)


def case(number: int, **facts: Any) -> CaseFinding:  # noqa: ANN401
    """Return the finding of that row, which is the baseline if it is the first."""
    return CaseFinding(summary(number, **facts), is_baseline=number == 1)
