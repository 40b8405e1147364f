"""Counts a case's runs by their placement, and decides whether the case may be compared. Pure.

Runs whose threads were elsewhere are not averaged. This selects runs by how they ran: of a program
that binds its own threads, only the runs that ended before a look could show it remain. So the
remaining runs of a case that lost many are no sample of it, however many remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.text import plural

PROVED, UNPROVED, VIOLATED = "proved", "unproved", "violated"
# The verdict of imported logs: no threads were sampled.
UNSEEN = "unseen"
# A case that lost a larger share of its runs is not compared, and never recommended.
MAX_LOST = 0.1


@dataclass(frozen=True)
class PlacedRuns:
    """How many runs of a case were proved, not provable (averaged), and violated (not averaged).

    Runs that went wrong for other reasons and warm-up runs are not counted. `unseen` runs are from
    imported logs, which contain no threads, so none was left out for its placement.
    """

    proved: int = 0
    unproved: int = 0
    violated: int = 0
    unseen: int = 0

    @property
    def lost(self) -> int:
        """How many runs are not proved: not provable, or violated."""
        return self.unproved + self.violated

    @property
    def usable(self) -> bool:
        """Whether the case may be compared, and recommended.

        A run's speed plays no part: one that was too short to be proved counts like one that was
        seen elsewhere.
        """
        return self.lost <= MAX_LOST * (self.proved + self.lost)

    @property
    def summary(self) -> str:
        """The counts in words: `placement proved in 88 of 90 runs, 2 not provable`."""
        if self.unseen and not self.proved + self.lost:
            return f"placement not looked at in {plural(self.unseen, 'run')}"
        parts = [f"placement proved in {self.proved} of {plural(self.proved + self.lost, 'run')}"]
        parts += [f"{self.unproved} not provable"] if self.unproved else []
        parts += [f"violated in {self.violated}"] if self.violated else []
        return ", ".join(parts)


def verdict_of(record: Mapping[str, Any], name: str = "placement") -> object:
    """Return the verdict of a record's placement, which may be any JSON value.

    `name` is `placement`, or `vcpu_placement` for a guest's virtual CPUs.
    """
    placement = record.get(name)
    if not isinstance(placement, dict):
        return None
    verdict: object = placement.get("verdict")
    return UNSEEN if verdict == UNPROVED and "imported" in record else verdict
