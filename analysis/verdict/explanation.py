"""What goes with a difference: migrations, core kinds, frequency, cache misses; not its cause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from analysis.digits import mean_count
from analysis.findings import CaseFinding

# Shares of CPU time below this are not worth a word.
LEAST_SHARE = 0.001
# Relative differences of means below this are none: of counts, whose spread is large, and of
# frequencies, whose is small.
LEAST_COUNT_CHANGE = 0.05
LEAST_FREQUENCY_CHANGE = 0.005


def explanation(case: CaseFinding, baseline: CaseFinding) -> str:
    """Return what differs beside the objectives, in a sentence; empty when nothing does."""
    parts = [
        *_migrations(case, baseline),
        *_residency(case, baseline),
        *_frequency(case, baseline),
        *_cache_misses(case, baseline),
    ]
    return f"What goes with it: {'; '.join(parts)}." if parts else ""


def _mean(case: CaseFinding, measure: str) -> float:
    value = case.facts.get(f"{measure}_mean")
    return math.nan if value is None else float(value)


def _migrations(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    for measure, what in (("migrations", "threads"), ("vcpu_migrations", "virtual CPUs")):
        mine, theirs = _mean(case, measure), _mean(baseline, measure)
        if math.isnan(mine + theirs) or mean_count(mine) == mean_count(theirs):
            continue
        yield (
            f"{what} were moved {mean_count(theirs)} times a run under #{baseline.number} and "
            f"{mean_count(mine)} times under #{case.number}"
        )


def _residency(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _shares(case), _shares(baseline)
    for kind in sorted(set(mine) | set(theirs)):
        a, b = mine.get(kind, 0.0), theirs.get(kind, 0.0)
        # Of two kinds the smaller share of the baseline says it all; P is the other one's rest.
        if kind != "P" and mine and theirs and abs(a - b) >= LEAST_SHARE:
            yield (
                f"{b:.1%} of CPU time was on {kind}-cores under #{baseline.number} and {a:.1%} "
                f"under #{case.number}"
            ).replace("%", " %")


def _shares(case: CaseFinding) -> Mapping[str, float]:
    shares: Any = case.facts.get("residency")
    return shares if isinstance(shares, dict) else {}


def _frequency(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _mean(case, "freq_mean_ghz"), _mean(baseline, "freq_mean_ghz")
    if theirs > 0 and abs(mine / theirs - 1) >= LEAST_FREQUENCY_CHANGE:
        yield f"{theirs:.3f} GHz under #{baseline.number} and {mine:.3f} GHz under #{case.number}"


def _cache_misses(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _mean(case, "cache_misses"), _mean(baseline, "cache_misses")
    if theirs > 0 and abs(mine / theirs - 1) >= LEAST_COUNT_CHANGE:
        word = "fewer" if mine < theirs else "more"
        yield f"{abs(mine / theirs - 1):.0%} {word} cache misses under #{case.number}".replace(
            "%", " %"
        )
