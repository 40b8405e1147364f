"""The number of draws of simulations: few in `make test`, all in `make test-simulations`.

A claim is a share: "in 5 of 100 studies at most". Many draws show the share itself. Few draws
scatter about it, so their bound is one that the claimed share passes 999 times in 1000 (binomial
distribution). The seeds are fixed: a test never passes once and fails the next time.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from scipy import stats

RARE = 0.001


@dataclass(frozen=True)
class Dose:
    """A number of draws, and the bounds of shares that it allows."""

    draws: int
    full: bool

    def at_most(self, share: float) -> float:
        """Return the largest share of the draws that agrees with a share of at most this one."""
        if self.full:
            return share
        return float(stats.binom.isf(RARE, self.draws, share)) / self.draws

    def at_least(self, share: float) -> float:
        """Return the smallest share of the draws that agrees with a share of at least this one."""
        return 1 - self.at_most(1 - share)


def doses(few: int, full: int) -> pytest.MarkDecorator:
    """Parametrize a test by `dose`: few draws, and all under the marker `simulations`."""
    all_of_them = pytest.param(Dose(full, True), marks=pytest.mark.simulations, id="full")
    return pytest.mark.parametrize("dose", [pytest.param(Dose(few, False), id="few"), all_of_them])
