"""Counts a case's runs by their placement, and says whether the case may be compared. Pure.

Runs whose threads were elsewhere leave the averages. Which runs these are depends on how they ran:
of a program that binds its own threads only those are left that ended before anybody could see it.
What is left of a case that lost many is no sample of it, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.text import plural

PROVED, UNPROVED, VIOLATED = "proved", "unproved", "violated"
# Of an imported log: nobody looked at its program's threads.
UNSEEN = "unseen"
# A case that lost a larger share of its runs is not compared, and never recommended.
MAX_LOST = 0.1


@dataclass(frozen=True)
class PlacedRuns:
    """How many runs of a case were proved, not provable (averaged), and violated (not averaged).

    Runs that went wrong for other reasons are none of these, nor are warm-up runs. Of `unseen` ones
    nothing is known: logs tell of no thread, so that none was left out for where it ran.
    """

    proved: int = 0
    unproved: int = 0
    violated: int = 0
    unseen: int = 0

    @property
    def lost(self) -> int:
        """How many runs cannot be used as proof, for reasons of placement."""
        return self.unproved + self.violated

    @property
    def usable(self) -> bool:
        """Whether the case may be compared, and recommended.

        How fast a run was plays no part: one that was too short to be caught elsewhere counts as
        one that was caught.
        """
        return self.lost <= MAX_LOST * (self.proved + self.lost)

    @property
    def told(self) -> str:
        """The counts: `placement proved in 88 of 90 runs, 2 not provable`."""
        if self.unseen and not self.proved + self.lost:
            return f"placement not looked at in {plural(self.unseen, 'run')}"
        parts = [f"placement proved in {self.proved} of {plural(self.proved + self.lost, 'run')}"]
        parts += [f"{self.unproved} not provable"] if self.unproved else []
        parts += [f"violated in {self.violated}"] if self.violated else []
        return ", ".join(parts)


def verdict_of(record: Mapping[str, Any], name: str = "placement") -> object:
    """Return what a record says of where its threads were; that may be anything.

    `name` is `placement`, or `vcpu_placement` for a guest's virtual CPUs.
    """
    placement = record.get(name)
    if not isinstance(placement, dict):
        return None
    verdict: object = placement.get("verdict")
    return UNSEEN if verdict == UNPROVED and "imported" in record else verdict
