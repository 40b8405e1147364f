"""Compare cases by means, standard deviations and counts, as publications give them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from analysis.findings import OBJECTIVES, Objective
from analysis.statistics.difference import Difference
from analysis.statistics.sample import Sample
from analysis.verdict.values import LEAST, MOST


def difference_of_summaries(
    case: Mapping[str, Any],
    baseline: Mapping[str, Any],
    objective: Objective,
    sd_is_error: bool = False,
) -> Difference | None:
    """Return how two cases differ by their means; None where no spread was published.

    With `sd_is_error` the published deviations are read as standard errors of the mean.
    """
    name = OBJECTIVES[objective]
    mine, theirs = _published(case, name), _published(baseline, name)
    if mine is None or theirs is None:
        return None
    (mean_a, sd_a, n_a), (mean_b, sd_b, n_b) = mine, theirs
    if sd_is_error:
        sd_a, sd_b = sd_a * n_a**0.5, sd_b * n_b**0.5
    return Difference.from_summary(mean_a, sd_a, n_a, mean_b, sd_b, n_b)


def _published(case: Mapping[str, Any], measure: str) -> tuple[float, float, int] | None:
    """Return mean, sd and n; None where one is missing or has no use for logarithms."""
    mean, sd, n = (float(case[f"{measure}_{part}"]) for part in ("mean", "sd", "n"))
    sd = max(sd, _rounding(case, measure))
    known = LEAST < mean < MOST and LEAST < sd < MOST and 2 <= n < MOST
    return (mean, sd, int(n)) if known else None


def _rounding(case: Mapping[str, Any], measure: str) -> float:
    """Return how large a rounded deviation may be: "0.000" may have been up to 0.0005."""
    text = (case.get("as_given") or {}).get(f"{measure}_sd")
    exponent = Decimal(text).as_tuple().exponent if text else 0
    return 0.5 * 10.0**exponent if isinstance(exponent, int) and exponent < 0 else 0.0


def sample_of_summary(case: Mapping[str, Any], objective: Objective) -> Sample | None:
    """Return a case's statistics from its summary, without intervals, which need runs.

    The energy-delay product is that of the means where none is given. `n` is 0 where the summary
    does not say how many runs there were.
    """
    name = OBJECTIVES[objective]
    mean, sd, n = (float(case[f"{name}_{part}"]) for part in ("mean", "sd", "n"))
    if objective == "edp" and np.isnan(mean):
        mean = float(case["elapsed_s_mean"]) * float(case["energy_pkg_j_mean"])
        n = float(case["energy_pkg_j_n"])
    if not LEAST < mean < MOST:
        return None
    return Sample(int(n) if 1 <= n < MOST else 0, mean, sd, float("nan"), None, None)
