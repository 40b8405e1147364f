"""Noise as run times have it: relative, of a given size, bell-shaped, skewed, in two modes, heavy.

Each has mean 0 and standard deviation 1 before it is scaled, so that only its shape differs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
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
