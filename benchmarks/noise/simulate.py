"""Simulated studies of two mappings: how often a test, an interval or a word is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np
from scipy import special, stats

from benchmarks.noise import shapes
from benchmarks.noise.shapes import Noise
from pinstudy.analysis.statistics.decision import (
    ALPHA,
    Look,
    Outcome,
    RepetitionForecast,
    decide,
    holm,
    interval_of_selected,
    more_repetitions,
)
from pinstudy.analysis.statistics.difference import Difference, centre_of
from pinstudy.analysis.statistics.modes import modes_of
from pinstudy.analysis.statistics.sample import TRIMMED_SHARE, Array, describe
from pinstudy.analysis.statistics.unlike import p_of_shares, slow_runs
from pinstudy.analysis.verdict.values import Logs, difference_in

# A two-sided p-value of "the centre of these log ratios is 0".
Test = Callable[[Array, np.random.Generator], float]

RESAMPLES = 599


def project(ratios: Array, _rng: np.random.Generator) -> float:
    """Return the p-value that `pinstudy verdict` uses, before any correction."""
    return Difference.of_pairs(ratios, np.zeros_like(ratios)).p_different


def trimmed(ratios: Array, _rng: np.random.Generator, share: float) -> float:
    """Return the p-value of a trimmed mean (Yuen 1974); of the mean where the share is 0."""
    centre = centre_of(ratios, int(share * len(ratios)))
    t = abs(centre.value) / centre.variance**0.5
    return float(2 * special.stdtr(centre.kept - 1, -t))


def bootstrap_t(ratios: Array, rng: np.random.Generator) -> float:
    """Return the symmetric bootstrap-t p-value of the 20 % trimmed mean (Wilcox 2017, 4.4.3)."""
    drawn = ratios[rng.integers(0, len(ratios), (RESAMPLES, len(ratios)))]
    middle = centre_of(ratios, int(TRIMMED_SHARE * len(ratios))).value
    return _p(_studentised(drawn - middle), _studentised(ratios[None, :])[0])


def sign_flip(ratios: Array, rng: np.random.Generator) -> float:
    """Return the p-value of the studentised 20 % trimmed mean among those with signs flipped.

    All flips are tried of up to ten ratios.
    """
    n = len(ratios)
    if n <= 10:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        simulated = _studentised(signs * ratios)
        return float(np.mean(simulated >= _studentised(ratios[None, :])[0] * (1 - 1e-9)))
    signs = rng.choice((-1, 1), (RESAMPLES, n))
    return _p(_studentised(signs * ratios), _studentised(ratios[None, :])[0])


def _studentised(rows: Array) -> Array:
    """Return each row's trimmed mean over its winsorised deviation, without a sign."""
    n = rows.shape[1]
    cut = int(TRIMMED_SHARE * n)
    ordered = np.sort(rows, axis=1)
    winsorised = np.clip(ordered, ordered[:, cut, None], ordered[:, n - 1 - cut, None])
    spread = winsorised.std(axis=1)
    middle = np.abs(ordered[:, cut : n - cut].mean(axis=1))
    return np.asarray(np.divide(middle, spread, out=np.full(len(rows), np.inf), where=spread > 0))


def _p(simulated: Array, measured: float) -> float:
    return float((np.sum(simulated >= measured) + 1) / (len(simulated) + 1))


CANDIDATES: Mapping[str, Test] = {
    "verdict": project,
    "t of the mean": partial(trimmed, share=0.0),
    "trimmed 10 %": partial(trimmed, share=0.1),
    "trimmed 20 %": partial(trimmed, share=0.2),
    "bootstrap-t": bootstrap_t,
    "sign-flip": sign_flip,
}


# The equal quantity when nothing differs: means of log times, their medians, or the trimmed mean of
# the log ratios of a block, which is what the verdict is about.
Truth = Literal["means", "typical times", "typical ratio"]
MARGIN = 0.01


@dataclass(frozen=True)
class Pair:
    """Two noises; `shared` is the standard deviation of what a block does to both."""

    a: Noise
    b: Noise
    shared: float = 0.0

    @property
    def name(self) -> str:
        """The noises, as a row of a table has them."""
        a, b = self.a.name, self.b.name
        both = f"{a}, both" if a == b else f"{a} against {b}"
        return f"{both}, blocks {self.shared * 100:g} %" if self.shared else both

    def logs(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Return log times of both, blocks along the last axis."""
        blocks = self.shared * rng.normal(size=shape)
        return self.a.sample(rng, shape) + blocks, self.b.sample(rng, shape) + blocks


@cache
def offset(pair: Pair, truth: Truth) -> float:
    """Return the log ratio of two mappings that differ only in their noise."""
    if truth == "means":
        return pair.a.mean() - pair.b.mean()
    if truth == "typical times":
        return pair.a.median() - pair.b.median()
    rng = np.random.default_rng(0)
    shape = (shapes.POPULATION,)
    ratios = pair.a.sample(rng, shape) - pair.b.sample(rng, shape)
    return float(stats.trim_mean(ratios, TRIMMED_SHARE))


def rejected(
    test: Test, pair: Pair, truth: Truth, n: int, studies: int, seed: int, level: float = ALPHA
) -> float:
    """Return the share of studies of n blocks in which a test finds a false difference."""
    rng = np.random.default_rng(seed)
    a, b = pair.logs(rng, (studies, n))
    ratios = a - b - offset(pair, truth)
    return float(np.mean([test(study, rng) <= level for study in ratios]))


def power(
    test: Test, noise: Noise, effect: float, n: int, studies: int, seed: int
) -> dict[int, float]:
    """Return how often a difference is found, alone and first of 4 and of 56 comparisons."""
    rng = np.random.default_rng(seed)
    a, b = Pair(noise, noise).logs(rng, (studies, n))
    a = a + np.log1p(effect)
    p_values = np.array([test(study, rng) for study in a - b])
    if test is project:
        told = [_difference(x, y) is not None for x, y in zip(a, b, strict=True)]
        p_values[~np.array(told)] = 1.0
    level = ALPHA * Look().share
    return {count: float(np.mean(p_values <= level / count)) for count in (1, 4, 56)}


def _difference(a: Array, b: Array, *, paired: bool = True) -> Difference | None:
    """Return what the verdict compares: None where modes hide what is typical."""
    unit = np.zeros(len(a), dtype=np.intp)
    return difference_in(Logs(a, b, unit, unit, paired))


def outcomes_of(differences: list[Difference], look: int = 1) -> list[Outcome]:
    """Return the verdict's outcomes for the differences of a question, without those unknown."""
    different = holm([difference.p_different for difference in differences])
    outside = holm([difference.p_outside(MARGIN) for difference in differences])
    share = Look(look).share
    return [
        decide(difference.log_ratio, p / share, q / share)
        for difference, p, q in zip(differences, different, outside, strict=True)
    ]


def wrong_words(
    pair: Pair, n: int, studies: int, seed: int, *, mappings: int = 2, paired: bool = True
) -> float:
    """Return the share of questions with a word for a difference that is false.

    The baseline has the second noise, all other mappings the first; what is equal is the typical
    ratio of pairs, and the typical time of runs without pairs.
    """
    rng = np.random.default_rng(seed)
    shape = (studies, mappings - 1, n)
    blocks = pair.shared * rng.normal(size=(studies, 1, n))
    if not paired:
        blocks = np.zeros((1, 1, 1))
    others = pair.a.sample(rng, shape) + blocks
    baseline = pair.b.sample(rng, (studies, 1, n)) + blocks
    others = others - offset(pair, "typical ratio" if paired else "typical times")
    wrong = 0
    for study, base in zip(others, baseline[:, 0], strict=True):
        found = [_difference(case, base, paired=paired) for case in study]
        words = outcomes_of([difference for difference in found if difference is not None])
        wrong += bool({"better", "worse"} & set(words))
    return wrong / studies


def without_outcome(pair: Pair, n: int, studies: int, seed: int) -> float:
    """Return the share of pairs of cases that have no outcome, because modes hide it."""
    a, b = pair.logs(np.random.default_rng(seed), (studies, n))
    return float(np.mean([_difference(x, y) is None for x, y in zip(a, b, strict=True)]))


def told_modes(noise: Noise, n: int, studies: int, seed: int) -> float:
    """Return how often a case's n runs are said to be in several modes."""
    runs = noise.sample(np.random.default_rng(seed), (studies, n))
    return float(np.mean([modes_of(case) is not None for case in runs]))


def wrong_words_of_means(pair: Pair, n: int, mappings: int, studies: int, seed: int) -> float:
    """Return the share of questions on published means with a false word; their means are equal.

    The last mapping has the second noise and is the baseline, all others have the first.
    """
    rng = np.random.default_rng(seed)
    others = np.exp(pair.a.sample(rng, (studies, mappings - 1, n))) / mean_time(pair.a)
    baseline = np.exp(pair.b.sample(rng, (studies, n))) / mean_time(pair.b)
    wrong = 0
    for study, base in zip(others, baseline, strict=True):
        theirs = float(base.mean()), float(base.std(ddof=1)), n
        differences = [
            Difference.from_summary(float(case.mean()), float(case.std(ddof=1)), n, *theirs)
            for case in study
        ]
        wrong += bool({"better", "worse"} & set(outcomes_of(differences)))
    return wrong / studies


def false_equivalence(pair: Pair, n: int, studies: int, seed: int, side: int) -> float:
    """Return how often a true ratio at the margin is called equivalent; side is 1 or -1."""
    rng = np.random.default_rng(seed)
    a, b = pair.logs(rng, (studies, n))
    a = a - offset(pair, "typical ratio") + side * np.log1p(MARGIN)
    found = [_difference(x, y) for x, y in zip(a, b, strict=True)]
    equivalent = [of is not None and outcomes_of([of])[0] == "equivalent" for of in found]
    return float(np.mean(equivalent))


def continued(pair: Pair, sizes: tuple[int, ...], studies: int, seed: int) -> float:
    """Return how often equals are called different by a study continued until it decides."""
    rng = np.random.default_rng(seed)
    a, b = pair.logs(rng, (studies, sizes[-1]))
    a = a - offset(pair, "typical ratio")
    wrong = 0
    for mine, theirs in zip(a, b, strict=True):
        for look, n in enumerate(sizes, 1):
            found = _difference(mine[:n], theirs[:n])
            if found is None:
                continue
            (outcome,) = outcomes_of([found], look)
            if outcome != "undecided":
                wrong += outcome != "equivalent"
                break
    return wrong / studies


@dataclass(frozen=True)
class Forecasts:
    """How often studies got a forecast, and how often that many repetitions decided."""

    forecast_share: float
    half: float
    most: float
    typical: RepetitionForecast


def forecast(
    noise: Noise, effect: float, n: int, studies: int, seed: int, comparisons: int = 1
) -> Forecasts | None:
    """Continue undecided studies by their forecast; None if none got one."""
    rng = np.random.default_rng(seed)
    undecided, forecasts, ends = 0, [], []
    for _ in range(studies):
        ratios = Pair(noise, noise)
        a, b = ratios.logs(rng, (n,))
        so_far = a - b + np.log1p(effect)
        difference = Difference.of_pairs(so_far, np.zeros(n))
        if outcomes_of([difference])[0] != "undecided":
            continue
        undecided += 1
        more = more_repetitions(difference, MARGIN, comparisons)
        if more is None:
            continue
        forecasts.append(more)
        a, b = ratios.logs(rng, (more.most,))
        whole = np.concatenate([so_far, a - b + np.log1p(effect)])
        ends.append([
            outcomes_of([Difference.of_pairs(whole[: n + m], np.zeros(n + m))], 2)[0] != "undecided"
            for m in (more.half, more.most)
        ])  # fmt: skip
    if not forecasts:
        return None
    half, most = np.mean(ends, axis=0)
    middle = RepetitionForecast(
        *(int(np.median([getattr(found, part) for found in forecasts])) for part in
          ("half", "most"))
    )  # fmt: skip
    return Forecasts(len(forecasts) / undecided, float(half), float(most), middle)


def covered(sizes: tuple[int, ...], between: float, studies: int, seed: int) -> tuple[float, float]:
    """Return how often a ratio's interval holds the true one, with and without boots in its error.

    `between` is the standard deviation between boots, in those of a pair's log ratio.
    """
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(len(sizes)), sizes)
    nothing = np.zeros(len(units))
    holds = []
    for _ in range(studies):
        boots = between * rng.normal(size=len(sizes))
        ratios = 0.01 * (rng.normal(size=len(units)) + boots[units])
        holds.append([
            1.0 in Difference.of_pairs(ratios, nothing, of).interval() for of in (units, None)
        ])  # fmt: skip
    with_boots, without = np.mean(holds, axis=0)
    return float(with_boots), float(without)


def mean_covered(noise: Noise, n: int, studies: int, seed: int) -> float:
    """Return how often the tables' interval of a mean time holds it."""
    rng, true = np.random.default_rng(seed), mean_time(noise)
    samples = describe(list(np.exp(noise.sample(rng, (studies, n)))))
    intervals = [sample.mean_interval for sample in samples]
    return float(np.mean([interval is not None and true in interval for interval in intervals]))


@dataclass(frozen=True)
class Selected:
    """Shares: studies that tell a gain, and of these intervals that hold it, plain and as told."""

    told: float
    plain: float
    selected: float


def selected(noise: Noise, gains: Sequence[float], n: int, studies: int, seed: int) -> Selected:
    """Tell the largest gain of those that are better than the baseline, as a verdict does.

    `gains` are the true log ratios baseline / mapping, of one mapping each.
    """
    rng = np.random.default_rng(seed)
    logs = noise.sample(rng, (studies, len(gains) + 1, n))
    held = []
    for baseline, *others in logs:
        differences = [
            Difference.of_pairs(other - gain, baseline)
            for other, gain in zip(others, gains, strict=True)
        ]
        outcomes = outcomes_of(differences)
        better = [at for at, outcome in enumerate(outcomes) if outcome == "better"]
        if not better:
            continue
        best = min(better, key=lambda at: differences[at].log_ratio)
        difference, true = differences[best], float(np.exp(-gains[best]))
        p = holm([other.p_different for other in differences])[best] / Look().share
        told = interval_of_selected(difference, p, len(gains))
        held.append((true in difference.interval(), true in told))
    plain, as_told = np.mean(held, axis=0) if held else (np.nan, np.nan)
    return Selected(len(held) / studies, float(plain), float(as_told))


@cache
def mean_time(noise: Noise) -> float:
    """Return the mean of twenty million times: rare slow runs count in a mean."""
    rng = np.random.default_rng(0)
    shape = (shapes.POPULATION,)
    return float(np.mean([np.exp(noise.sample(rng, shape)).mean() for _ in range(20)]))


def slow_shares(pair: Pair, n: int, studies: int, seed: int) -> tuple[float, float]:
    """Return in how many studies any run is called slow, and in how many their shares differ."""
    rng = np.random.default_rng(seed)
    a, b = pair.logs(rng, (studies, n))
    any_slow = different = 0
    for mine, theirs in zip(np.exp(a), np.exp(b), strict=True):
        both = slow_runs(mine), slow_runs(theirs)
        assert both[0] and both[1]
        if both[0].count or both[1].count:
            any_slow += 1
            different += p_of_shares(both[0], both[1]) <= ALPHA
    return any_slow / studies, different / studies


def error(share: float, studies: int) -> float:
    """Return the Monte Carlo standard error of a share."""
    return float((share * (1 - share) / studies) ** 0.5)


def grid() -> Iterator[Pair]:
    """Yield the pairs of noises that are tried."""
    quiet = shapes.QUIET
    yield from (Pair(noise, noise) for noise in (quiet, shapes.EXPONENTIAL, shapes.SLOW10))
    for noise in (
        shapes.NORMAL2, shapes.EXPONENTIAL, shapes.LOGNORMAL, shapes.SLOW3, shapes.SLOW10,
        shapes.SLOW25, shapes.EQUAL_MODES, shapes.NEAR_MODES,
    ):  # fmt: skip
        yield Pair(noise, quiet)
    yield Pair(shapes.EQUAL_MODES, shapes.EQUAL_MODES)
    yield Pair(shapes.EXPONENTIAL, shapes.NORMAL2)
    yield Pair(shapes.SLOW10, quiet, shared=0.03)
