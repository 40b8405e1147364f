"""How many boots of how many runs bring an interval to a width at the least cost.

Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time" (ISMM 2013), with two levels. The
mean of b boots of r runs each has the variance T2 / b + T1 / (b r), T2 between boots and T1 within
them; it costs b (c2 + r c1), c2 a boot and c1 a run. The product of both does not depend on b, and
is least where its derivative by r, c1 T2 - c2 T1 / r^2, is 0: r = sqrt(c2 / c1 x T1 / T2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import LEVEL

# Of fewer boots the variance between them is known to a factor of 30 (95 %, chi square).
MIN_BOOTS = 3
MAX_BOOTS, MAX_RUNS = 1000, 1000


@dataclass(frozen=True)
class BootCosts:
    """Seconds that a run of each case takes, and that a boot takes beside its runs."""

    run_s: float
    boot_s: float


@dataclass(frozen=True)
class BootPlan:
    """Boots of so many runs of each case for ± `margin`, a share; they take `cost_s` in all."""

    boots: int
    runs: int
    cost_s: float
    margin: float


def boot_plan(difference: Difference, margin: float, costs: BootCosts) -> BootPlan | None:
    """Return the boots and runs in all that bring a 95 % interval within ± margin at least cost.

    `margin` is a share. None for fewer than three boots, where boots differ no more than their runs
    do, where the interval is as narrow already, and where a thousand boots would not do.
    """
    parts = difference.components
    if difference.units < MIN_BOOTS or parts is None or not parts.between > 0:
        return None
    half = math.log1p(margin)
    if _reach(difference.df, difference.standard_error) <= half:
        return None
    best = (costs.boot_s / costs.run_s * parts.within / parts.between) ** 0.5
    runs = min(MAX_RUNS, max(1, math.ceil(best)))
    of_boot = parts.between + parts.within / runs
    for boots in range(MIN_BOOTS, MAX_BOOTS + 1):
        if _reach(boots - 1, (of_boot / boots) ** 0.5) <= half:
            return BootPlan(boots, runs, boots * (costs.boot_s + runs * costs.run_s), margin)
    return None


def _reach(df: float, error: float) -> float:
    return float(special.stdtrit(df, (1 + LEVEL) / 2)) * error
