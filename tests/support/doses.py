"""How often simulations draw: a little in `make test`, all of it in `make test-simulations`.

A claim is a share: "in 5 of 100 studies at most". Many draws show the share itself. Few draws of a
share that is just as claimed scatter about it, so their bound is the one that such a share passes
999 times in 1000 (binomial distribution). The seeds are fixed: a dose never passes by chance once
and fails the next time.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from scipy import stats

RARE = 0.001


@dataclass(frozen=True)
class Dose:
    """A number of draws, and what claims about shares allow of it."""

    draws: int
    full: bool

    def at_most(self, share: float) -> float:
        """Return up to which share of the draws shows that it is at most this one."""
        if self.full:
            return share
        return float(stats.binom.isf(RARE, self.draws, share)) / self.draws

    def at_least(self, share: float) -> float:
        """Return from which share of the draws on shows that it is at least this one."""
        return 1 - self.at_most(1 - share)


def doses(few: int, full: int) -> pytest.MarkDecorator:
    """Give a test its `dose`: few draws, and all of them under the marker `simulations`."""
    all_of_them = pytest.param(Dose(full, True), marks=pytest.mark.simulations, id="full")
    return pytest.mark.parametrize("dose", [pytest.param(Dose(few, False), id="few"), all_of_them])
