"""Tests of "both do the same" that were candidates for the verdict, on pairs' log ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pinstudy.analysis.statistics.difference import Difference, centre_of
from pinstudy.analysis.statistics.sample import TRIMMED_SHARE

Array = NDArray[np.float64]
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
