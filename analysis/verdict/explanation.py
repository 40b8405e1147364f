"""What goes with a difference: migrations, core kinds, frequency, cache misses; not its cause."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.format.numbers import mean_count
from analysis.verdict.model import CaseFinding
from analysis.verdict.phrases import FRACTIONS_TO, TIMES_FROM, fraction, name, rounded
from runners.node.topology import KIND_ORDER

# Shares of CPU time that differ by less are not worth a word.
MIN_SHARE = 0.001
# Relative differences of means below this are none: of counts, whose spread is large, and of
# frequencies, whose is small.
MIN_COUNT_CHANGE = 0.05
MIN_FREQUENCY_CHANGE = 0.005


def explanation(case: CaseFinding, baseline: CaseFinding) -> str:
    """Return what differs beside the objectives, in a sentence; empty when nothing does.

    Only what was measured of both is compared. Means are, without a test, and no cause is claimed.
    """
    parts = [
        *_migrations(case, baseline),
        *_residency(case, baseline),
        *_frequency(case, baseline),
        *_cache_misses(case, baseline),
    ]
    said = "; ".join(parts)
    return f"What goes with {name(case)}, not proved to be a cause: {said}." if parts else ""


def _mean(case: CaseFinding, measure: str) -> float:
    return case.summary.measures[measure].mean


def _differ(mine: float, theirs: float, least: float) -> bool:
    """Return whether two means differ by that share of the larger one; False where one is NaN."""
    return abs(mine - theirs) >= least * max(abs(mine), abs(theirs)) > 0


def _migrations(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    for measure, what in (("migrations", "threads"), ("vcpu_migrations", "virtual CPUs")):
        mine, theirs = _mean(case, measure), _mean(baseline, measure)
        if _differ(mine, theirs, MIN_COUNT_CHANGE) and mean_count(mine) != mean_count(theirs):
            yield (
                f"{what} were moved {_times(theirs)} a run under #{baseline.number} and "
                f"{_times(mine)} under #{case.number}"
            )


def _times(count: float) -> str:
    text = mean_count(count)
    return f"{text} time" if text == "1" else f"{text} times"


def _residency(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = case.summary.residency, baseline.summary.residency
    known = [kind for kind in reversed(KIND_ORDER) if kind in mine and kind in theirs]
    # The share of the last kind, the best cores, follows from the others; alone it is named.
    for kind in known[:-1] or known:
        a, b = mine[kind], theirs[kind]
        if abs(a - b) >= MIN_SHARE:
            yield (
                f"{b * 100:.1f} % of CPU time was on {kind}-cores under #{baseline.number} and "
                f"{a * 100:.1f} % under #{case.number}"
            )


def _frequency(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _mean(case, "freq_mean_ghz"), _mean(baseline, "freq_mean_ghz")
    if _differ(mine, theirs, MIN_FREQUENCY_CHANGE):
        decimals = 2 if f"{mine:.2f}" != f"{theirs:.2f}" else 3
        yield (
            f"the mean frequency was {theirs:.{decimals}f} GHz under #{baseline.number} and "
            f"{mine:.{decimals}f} GHz under #{case.number}"
        )


def _cache_misses(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _mean(case, "cache_misses"), _mean(baseline, "cache_misses")
    if not (_differ(mine, theirs, MIN_COUNT_CHANGE) and theirs > 0):
        return
    ratio, under = mine / theirs, f"under #{baseline.number}"
    if not mine:
        yield f"no cache misses under #{case.number}, some {under}"
    elif ratio >= TIMES_FROM:
        yield f"{rounded(ratio, 0)} times as many cache misses under #{case.number} as {under}"
    elif ratio <= FRACTIONS_TO:
        yield f"{fraction(ratio)} as many cache misses under #{case.number} as {under}"
    else:
        share, word = abs(ratio - 1) * 100, "fewer" if ratio < 1 else "more"
        yield f"{share:.0f} % {word} cache misses under #{case.number} than {under}"
