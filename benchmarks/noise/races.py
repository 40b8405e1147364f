"""Simulated searches: how often a race tells a false gain, a wrong size, or misses a true gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import log, log1p

import numpy as np
from scipy import stats

from benchmarks.noise import shapes
from benchmarks.noise.shapes import Noise, Waves
from pinstudy.analysis.advice.model import gain_of
from pinstudy.configs.repetitions import ANY, Race
from pinstudy.runners.records.race.confirmation import TRIMMED
from pinstudy.runners.records.race.race import Race as Running
from pinstudy.runners.records.race_state import Key, RaceRun, RaceState

# What a run takes without noise. Within 5 min there are some 290 of them.
RUN_S = 1.0
LIMITS = {"default": Race(time_budget_s=1800.0), "within 5m": Race(time_budget_s=300.0, runs=ANY)}
CASES = (3, 10, 40)
MOST_RUNS = 400
REFERENCE = "0"
# The case with the gain, where there is one, is no special one to the race.
BETTER = "1"
STEADY = Waves()


@dataclass(frozen=True)
class Node:
    """A node on which candidates differ from the reference in their noise alone.

    What is equal is the typical time, or with `equal_means` the mean time.
    """

    name: str
    candidates: Noise
    reference: Noise
    waves: Waves = STEADY
    equal_means: bool = False

    @property
    def shift(self) -> float:
        """The log ratio candidate / reference apart from their noise."""
        ratio = typical_ratio if not self.equal_means else mean_ratio
        return -ratio(self.candidates, self.reference)


def nodes() -> list[Node]:
    """Return the nodes that are tried."""
    normal, rare, quiet = shapes.NORMAL2, shapes.RARE, shapes.QUIET
    waves = Waves(deviation=0.03, correlation=0.9)
    return [
        Node("normal 2 %", normal, normal),
        Node("normal 5 %", shapes.NORMAL5, shapes.NORMAL5),
        Node("lognormal 2 %", shapes.LOGNORMAL, shapes.LOGNORMAL),
        Node("two modes", shapes.TWO_MODES, shapes.TWO_MODES),
        Node("rare slow runs in all", rare, rare),
        Node("in candidates only", rare, quiet),
        Node("in candidates only, equal means", rare, quiet, equal_means=True),
        Node("in the reference only", quiet, rare),
        Node("in the reference only, equal means", quiet, rare, equal_means=True),
        Node("AR(1) 3 %, correlation 0.9", quiet, quiet, waves),
        Node("bursts", quiet, quiet, Waves(bursts=0.05)),
    ]


@cache
def typical_ratio(a: Noise, b: Noise) -> float:
    """Return the log ratio that a typical one tends to: the trimmed mean of the pairs'."""
    rng = np.random.default_rng(0)
    shape = (shapes.POPULATION,)
    return float(stats.trim_mean(a.sample(rng, shape) - b.sample(rng, shape), TRIMMED))


@cache
def mean_ratio(a: Noise, b: Noise) -> float:
    """Return the log ratio of the mean times."""
    rng = np.random.default_rng(0)
    shape = (4 * shapes.POPULATION,)
    means = [float(np.mean(np.exp(noise.sample(rng, shape)))) for noise in (a, b)]
    return log(means[0] / means[1])


@dataclass(frozen=True)
class Searches:
    """Shares of searches: gains that were told, of the better case, and told with a true size.

    `sizes` is the share of told gains whose interval of the typical gain and whose least gain of
    the mean are both true; NaN without any.
    """

    gains: float
    found: float
    sizes: float


def searches(node: Node, cases: int, limit: Race, gain: float, number: int, seed: int) -> Searches:
    """Search so many times on a node where one case needs a share `gain` less time."""
    told = found = true_sizes = 0
    for at in range(number):
        rng = np.random.default_rng([seed, cases, at])
        runs: dict[Key, RaceRun] = {}
        state = search(node, cases, limit, gain, rng, runs)
        if state.decision == "gain":
            told += 1
            found += state.best == BETTER
            true_sizes += has_true_size(node, state, runs, gain)
    return Searches(told / number, found / number, true_sizes / told if told else float("nan"))


def search(
    node: Node,
    cases: int,
    limit: Race,
    gain: float,
    rng: np.random.Generator,
    runs: dict[Key, RaceRun],
) -> RaceState:
    """Let the cases of a node race once; add the runs that they make."""
    waves = node.waves.sample(rng, MOST_RUNS)
    noise = node.reference.sample(rng, (MOST_RUNS,)), node.candidates.sample(rng, (MOST_RUNS,))
    shift = node.shift

    def run(case_id: str) -> RaceRun:
        is_other = case_id != REFERENCE
        number = waves[len(runs)] + noise[is_other][len(runs)] + is_other * shift
        time_s = RUN_S * float(np.exp(number + (case_id == BETTER) * log1p(-gain)))
        return RaceRun(time_s, time_s)

    warmup = runs[REFERENCE, -1] = run(REFERENCE)
    race = Running([str(case) for case in range(cases)], limit, [warmup])
    while block := race.next_block():
        for at in rng.permutation(len(block)):
            runs[block[at]] = run(block[at][0])
        race.take(block, runs)
    return race.state()


def has_true_size(node: Node, state: RaceState, runs: dict[Key, RaceRun], gain: float) -> bool:
    """Return whether what a search says of the size of a gain is true."""
    assert state.best is not None
    assert state.level is not None
    best, reference = (
        [log(runs[case_id, repetition].value or 1) for repetition in state.confirmation[case_id]]
        for case_id in (state.best, state.reference)
    )
    own = node.shift + (log1p(-gain) if state.best == BETTER else 0.0)
    typical, mean = (
        -own - ratio(node.candidates, node.reference) for ratio in (typical_ratio, mean_ratio)
    )
    told = gain_of(best, reference, state.level, higher=False)
    return typical in told.typical and told.least_mean <= mean


def error_rates(number: int, seed: int, percent: Callable[[float], str]) -> list[list[str]]:
    """Return a row for each node: false gains, true sizes and found gains by cases and limit."""
    rows = []
    for node in nodes():
        row = [node.name]
        for limit in LIMITS.values():
            for cases in CASES:
                false = searches(node, cases, limit, 0.0, number, seed)
                true = searches(node, cases, limit, 0.05, number, seed + 1)
                sizes = "n/a" if np.isnan(true.sizes) else percent(true.sizes)
                row.append(f"{percent(false.gains)} / {sizes} / {percent(true.found)}")
        rows.append(row)
    return rows
