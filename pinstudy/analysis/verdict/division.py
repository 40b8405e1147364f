"""How the work of a case was divided among its threads, and which kind of core waited for which."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from pinstudy.analysis.format.numbers import finite
from pinstudy.analysis.measures import Stats
from pinstudy.analysis.verdict.model import CaseFinding

# Differences between two kinds of less than this share of the time are not mentioned.
MIN_WAITING = 0.1
# A difference must be so many of its standard errors: no test, but far beyond chance.
MIN_ERRORS = 4.0


@dataclass(frozen=True)
class Waiting:
    """Threads on cores of one kind that waited for those on another.

    They had no work for `share` of the busiest thread's CPU time, the others for `slow_share`;
    `sd` is that of the share, over `n` runs.
    """

    fast: str
    slow: str
    share: float
    slow_share: float
    sd: float
    n: int


def imbalance(case: CaseFinding) -> Stats:
    """Return how far the busiest thread is beyond the mean."""
    return case.summary.stats["imbalance"]


def waiting(case: CaseFinding) -> Waiting | None:
    """Return the kind whose threads waited most and the one whose waited least, if they differ."""
    waited = case.summary.by_kind("waited")
    pairs = [(a, b) for a, b in permutations(waited, 2) if _differs(waited[a], waited[b])]
    if not pairs:
        return None
    fast, slow = max(pairs, key=lambda pair: waited[pair[0]].mean - waited[pair[1]].mean)
    most = waited[fast]
    return Waiting(fast, slow, most.mean, waited[slow].mean, most.sd, most.n or 0)


def _differs(more: Stats, less: Stats) -> bool:
    if not (more.n and less.n) or math.isnan(more.sd + less.sd):
        return False
    error = math.sqrt(more.sd**2 / more.n + less.sd**2 / less.n)
    return more.mean - less.mean >= max(MIN_WAITING, MIN_ERRORS * error)


def raw_division(case: CaseFinding) -> dict[str, Any]:
    """Return how a case's work was divided, as means; empty where nothing is known."""
    found = waiting(case)
    values = {
        "imbalance": finite(imbalance(case).mean),
        **_by_kind("cpu_share", case.summary.by_kind("cpu_share")),
        **_by_kind("waited", case.summary.by_kind("waited")),
    }
    if all(value is None for value in values.values()):
        return {}
    return values | {"waiting": found and {
        "fast": found.fast, "slow": found.slow, "share": found.share,
        "slow_share": found.slow_share, "sd": found.sd, "n": found.n,
    }}  # fmt: skip


def _by_kind(name: str, stats: Mapping[str, Stats]) -> dict[str, float | None]:
    return {f"{name}_{kind}": finite(of.mean) for kind, of in stats.items()}
