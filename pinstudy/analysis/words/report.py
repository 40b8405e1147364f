"""The words of the report alone: of its first screen, and of how to cite it."""

from __future__ import annotations

from pinstudy.base import VERSION

LEVEL = "95 % intervals"
BEST, GOVERNOR = "best", "governor"
GUESTS = "in virtual machines, threads {mapping} there"
# What to do where nothing is left to decide, with results from elsewhere, and with disturbed ones.
ALL_DECIDED = "All {count} comparisons are decided: more runs would not change the answer."
ONE_DECIDED = "The only comparison is decided: more runs would not change the answer."
ELSEWHERE = "Ask your own node:"
QUIETEN = "Quieten the node, then measure again; this names what disturbs it:"
# As CITATION.cff has them; a test compares both.
CITATION = f"The maintainers of pinstudy: pinstudy {VERSION} (software)."
PUBLICATION = (
    "Galante and Oyamada: To Pin or not to Pin: That is the question (2025). These results {how}."
)
REDONE, PUBLISHED = "redo its study", "are its own"
