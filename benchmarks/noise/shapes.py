"""Noise as run times have it: bell-shaped, skewed, in two modes, heavy, with rare slow runs.

The shapes of ALL have mean 0 and standard deviation 1 before they are scaled, so that only their
shape differs; those of a `Noise` are of a size, so that two mappings may differ in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pinstudy.analysis.statistics.sample import Array

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

# Draws that stand for all runs there could be: what is true of noise is told by them.
POPULATION = 1_000_000


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A normal distribution."""
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A gamma distribution of shape 4: skewness 1."""
    return (rng.gamma(4, 1, shape) - 4) / 2


def very_skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """An exponential distribution: skewness 2."""
    return rng.exponential(1, shape) - 1


def bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Three runs in ten are slow, as when a thread starts on the wrong core."""
    slow = rng.random(shape) < 0.3
    return np.asarray((rng.normal(0, 0.2, shape) + slow - 0.3) / np.sqrt(0.04 + 0.21))


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Student's t with 5 degrees of freedom: now and then a run far away."""
    return np.asarray(rng.standard_t(5, shape) / np.sqrt(5 / 3))


ALL: dict[str, Draw] = {
    "normal": normal,
    "skewed": skewed,
    "very skewed": very_skewed,
    "bimodal": bimodal,
    "heavy": heavy,
}


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """The exponential of a normal deviate: skewness 6."""
    return rng.lognormal(0, 1, shape)


def exponential(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Delays that add up by chance, from 0."""
    return rng.exponential(1, shape)


@dataclass(frozen=True)
class Noise:
    """The noise of one mapping's runs, as deviations of the logarithm of a run's time.

    `scale` is that of the shape's deviations, 0.02 for 2 %; `slow` is the share of runs that take
    `longer` (a logarithm) beside it.
    """

    name: str
    draw: Draw
    scale: float
    slow: float = 0.0
    longer: float = 0.1

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return deviations of an array's shape."""
        deviations = self.scale * self.draw(rng, shape)
        if self.slow:
            deviations = deviations + self.longer * (rng.random(shape) < self.slow)
        return deviations

    def median(self) -> float:
        """Return the deviation below which half of the runs are: the typical time's."""
        return float(np.median(self.sample(np.random.default_rng(0), (POPULATION + 1,))))

    def mean(self) -> float:
        """Return the mean deviation."""
        return float(np.mean(self.sample(np.random.default_rng(0), (POPULATION + 1,))))


QUIET = Noise("normal 0.5 %", normal, 0.005)
NORMAL1 = Noise("normal 1 %", normal, 0.01)
NORMAL2 = Noise("normal 2 %", normal, 0.02)
NORMAL5 = Noise("normal 5 %", normal, 0.05)
EXPONENTIAL = Noise("exponential 2 %", exponential, 0.02)
LOGNORMAL = Noise("lognormal 2 %", lognormal, 0.02)
# Of runs with noise of 0.5 % so many take 10 % longer.
SLOW3 = Noise("slow 3 in 100", normal, 0.005, slow=0.03)
SLOW10 = Noise("slow 1 in 10", normal, 0.005, slow=0.1)
SLOW25 = Noise("slow 1 in 4", normal, 0.005, slow=0.25)
EQUAL_MODES = Noise("two modes, 1 in 2", normal, 0.005, slow=0.5)
NEAR_MODES = Noise("two modes 3 % apart", normal, 0.005, slow=0.5, longer=0.03)
# Three runs in ten take 10 % longer.
TWO_MODES = Noise("two modes, 3 in 10", normal, 0.005, slow=0.3)
# One run in ten takes 30 % longer.
RARE = Noise("rare slow runs", normal, 0.005, slow=0.1, longer=float(np.log(1.3)))


@dataclass(frozen=True)
class Waves:
    """What the node does to all runs, in the order in which they are made.

    An AR(1) process of the given deviation and correlation from run to run; in bursts, one begins
    after a run with the probability `bursts`, lasts five runs on average, and a run in it takes up
    to half as long again.
    """

    deviation: float = 0.0
    correlation: float = 0.0
    bursts: float = 0.0

    def sample(self, rng: np.random.Generator, runs: int) -> Array:
        """Return the deviations of the logarithms of so many runs."""
        steps = self.deviation * rng.normal(size=runs)
        steps[1:] *= (1 - self.correlation**2) ** 0.5
        deviations = np.zeros(runs)
        draws, longer = rng.random(runs), rng.uniform(0, np.log(1.5), runs)
        before, is_burst = 0.0, False
        for run in range(runs):
            before = steps[run] + self.correlation * before
            is_burst = draws[run] < (0.8 if is_burst else self.bursts)
            deviations[run] = before + is_burst * longer[run]
        return deviations
