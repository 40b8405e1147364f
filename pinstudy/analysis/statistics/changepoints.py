"""Change points: where the level of a series of results changed, and its newest value against it.

A value stands for a whole results folder, so the scatter between folders (boots, days) is in the
test, and more runs within a folder do not hide it. Segments are found by circular binary
segmentation (Olshen, Venkatraman, Lucito and Wigler, "Circular binary segmentation for the analysis
of array-based DNA copy number data", 2004): a stretch against the rest, so that a change that was
taken back is found as well. Each stretch is a two-sample t-test with Bonferroni's correction over
all stretches (Worsley, "On the likelihood ratio test for a shift in location of normal
populations", 1979) and Holm's over series: of histories in which nothing changed at most one in
twenty has any change point, where values scatter normally.

Bad days and modes are not normal, and in a long history some stand beside each other by chance.
From twelve results on there are orders enough to ask for more: that in at most one of twenty random
orders of the results any series has so clear a stretch (Westfall and Young, "Resampling-Based
Multiple Testing", 1993). That needs no normal scatter, whatever the series share. Of fewer results
it would find next to nothing, and no change before the last two.

A single value is no level: a day on which the node was busy looks the same. Libraries such as
ruptures choose segments by a penalty, which states no error rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pinstudy.analysis.statistics.decision import ALPHA, holm, interval_of_selected
from pinstudy.analysis.statistics.difference import ROUNDING, Difference
from pinstudy.analysis.statistics.sample import Array, Interval

# The fewest values of a level, and of a series that may have two of them.
LEAST = 2
# From so many results on, orders are drawn: of twelve, a change before the last three can be found.
MIN_ORDERED = 12
ORDERS = 999
# Of orders that are looked at together, times their stretches, so that memory stays small: 32 MB.
_MOST_NUMBERS = 4_000_000


@dataclass(frozen=True)
class ChangePoint:
    """A new level from the value at `position` on; `p` is corrected for stretches and series.

    `difference` is that of the levels after and before, in logarithms; `tests` counts the stretches
    of all series that it was chosen among.
    """

    position: int
    difference: Difference
    p: float
    tests: int

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the ratio of both levels, given that it was told for its size.

        Plain intervals held 33 to 67 % of changes that 2 to 7 % of simulated histories showed,
        these 83 to 100 %. `p` is no measure here: a share of random orders has a least value.
        """
        corrected = min(1.0, self.tests * self.difference.p_different)
        return interval_of_selected(self.difference, corrected)


@dataclass(frozen=True)
class _Stretch:
    """The values from `start` to before `end`, and the p-value of "they are as those around"."""

    start: int
    end: int
    p: float


def change_points(
    family: Sequence[Array], places: Sequence[Sequence[int]] | None = None, seed: int = 1
) -> list[list[ChangePoint]]:
    """Return the change points of each series; all series are tested together.

    A series has the logarithms of its values in their order, and `places` the number of the results
    that each value is of; without it all series have a value of all results. Fewer than four values
    have no change point. `seed` draws the orders.
    """
    best = [_best_stretch(logs) for logs in family]
    counts = [_stretches(len(logs))[2] for logs in family]
    tested = [at for at, count in enumerate(counts) if count]
    # Of series of unlike lengths, these are what can be compared.
    scores = {at: counts[at] * best[at].p for at in tested}
    p_values = holm([min(1.0, score) for score in scores.values()])
    corrected = dict(zip(tested, p_values, strict=True))
    places = places or [range(len(logs)) for logs in family]
    count = len({place for at in tested for place in places[at]})
    if count >= MIN_ORDERED and min(p_values) <= ALPHA:
        least = _least_scores([(family[at], places[at]) for at in tested], seed)
        for at, score in scores.items():
            share = (1 + int(np.sum(least <= score * (1 + ROUNDING)))) / (1 + ORDERS)
            corrected[at] = max(corrected[at], share)
    found: list[list[ChangePoint]] = []
    for at, logs in enumerate(family):
        starts: dict[int, float] = {}
        tests = counts[at] * len(tested)
        if corrected.get(at, 1.0) <= ALPHA:
            starts = _split(logs, best[at], corrected[at], tests)
        found.append(list(_differences(logs, starts, tests)))
    return found


def _least_scores(series: Sequence[tuple[Array, Sequence[int]]], seed: int) -> Array:
    """Return the least score of any series in each random order of the results."""
    rng = np.random.default_rng(seed)
    most = 1 + max(max(places) for _, places in series)
    orders = rng.permuted(np.tile(np.arange(most), (ORDERS, 1)), axis=1)
    least = np.full(ORDERS, np.inf)
    for logs, places in series:
        order = np.argsort(orders[:, list(places)], axis=1)
        many = max(1, _MOST_NUMBERS // _stretches(len(logs))[2])
        for start in range(0, ORDERS, many):
            batch = slice(start, start + many)
            _, between = _between(logs[order[batch]])
            n, count = len(logs), between.shape[1]
            largest, away = between.max(axis=1), logs - logs.mean()
            within = np.maximum(float(away @ away) - largest, ROUNDING**2) / (n - 2)
            scores = count * 2 * special.stdtr(n - 2, -np.sqrt(largest / within))
            least[batch] = np.minimum(least[batch], scores)
    return least


def newest_difference(logs: Array, before: Sequence[ChangePoint]) -> Difference | None:
    """Return how the last of the values differs from the level before it.

    `before` are the change points of the values without the last. The error has the scatter of all
    values around their levels. None where fewer than two values are around one level.
    """
    earlier = logs[:-1]
    starts = [point.position for point in before]
    df = len(earlier) - len(starts) - 1
    if df < 1:
        return None
    level = earlier[starts[-1] :] if starts else earlier
    variance = _variance(earlier, starts) * (1 + 1 / len(level))
    log_ratio = float(logs[-1] - level.mean())
    return Difference(log_ratio, variance**0.5, df, len(logs), False, "typical", units=len(logs))


def levels(logs: Array, points: Sequence[ChangePoint]) -> list[tuple[int, int, float]]:
    """Return where each level begins and ends (not included), and the mean of its logarithms."""
    ends = [0, *(point.position for point in points), len(logs)]
    return [(a, b, float(logs[a:b].mean())) for a, b in pairwise(ends) if b > a]


def _split(logs: Array, stretch: _Stretch, p: float, tests: int) -> dict[int, float]:
    """Return where levels begin, with p-values; `tests` are all those of the family.

    Within segments every test of the family counts again, however few a segment has.
    """
    starts = {at: p for at in (stretch.start, stretch.end) if 0 < at < len(logs)}
    for first, last in pairwise([0, *sorted(starts), len(logs)]):
        part = logs[first:last]
        inner = _best_stretch(part)
        if (p_inner := tests * inner.p) <= ALPHA:
            inside = _split(part, inner, p_inner, tests)
            starts |= {first + at: p for at, p in inside.items()}
    return starts


@cache
def _stretches(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return the first and the last + 1 of each stretch that leaves two values or none beside it.

    Those that end with the series stand for those that begin with it, of which they are the rest.
    """
    first, last = np.triu_indices(n + 1, LEAST)
    usable = (first >= LEAST) & ((last <= n - LEAST) | (last == n))
    return first[usable], last[usable], int(usable.sum())


def _between(rows: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the first and last + 1 of each stretch, and its sum of squares between both groups.

    The sums are by row and stretch. What they leave of a row's squares is within the groups.
    """
    n = rows.shape[1]
    first, last, _ = _stretches(n)
    away = rows - rows.mean(axis=1, keepdims=True)
    sums = np.concatenate((np.zeros((len(rows), 1)), np.cumsum(away, axis=1)), axis=1)
    inside = last - first
    squares = (sums[:, last] - sums[:, first]) ** 2 * n / (inside * (n - inside))
    return np.stack([first, last], axis=1), squares


def _best_stretch(logs: Array) -> _Stretch:
    """Return the stretch that differs most from the rest, with its uncorrected p-value."""
    n = len(logs)
    if n < 2 * LEAST:
        return _Stretch(0, n, 1.0)
    ends, between = _between(logs[None, :])
    best = int(np.argmax(between[0]))
    away = logs - logs.mean()
    within = (float(away @ away) - float(between[0, best])) / (n - 2)
    start, end = (int(at) for at in ends[best])
    if within <= ROUNDING**2:
        return _Stretch(start, end, 1.0)
    t = (float(between[0, best]) / within) ** 0.5
    return _Stretch(start, end, float(2 * special.stdtr(n - 2, -t)))


def _differences(logs: Array, starts: dict[int, float], tests: int) -> Iterator[ChangePoint]:
    """Yield the change points; the error is that of the values around all levels together."""
    if not starts:
        return
    positions = sorted(starts)
    df = len(logs) - len(positions) - 1
    variance = _variance(logs, positions)
    for at, (old, new) in zip(positions, pairwise(np.split(logs, positions)), strict=True):
        error = (variance * (1 / len(old) + 1 / len(new))) ** 0.5
        log_ratio = float(new.mean() - old.mean())
        n = min(len(old), len(new))
        difference = Difference(log_ratio, error, df, n, False, "typical", units=len(logs))
        yield ChangePoint(at, difference, starts[at], tests)


def _variance(logs: Array, starts: Sequence[int]) -> float:
    """Return the variance of values around the levels that begin there; 0 where it is rounding."""
    parts = np.split(logs, starts)
    squares = sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)
    variance = squares / (len(logs) - len(parts))
    return variance if variance > ROUNDING**2 else 0.0
