"""Which threads of a team waited for which: those on fast cores for those on slow ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations

from analysis.format.numbers import fixed, rounded
from analysis.measures import Stats
from analysis.verdict.model import CaseFinding, TableFindings
from analysis.verdict.phrases import each_case, listed, name

# Differences between two kinds of less than this share of the time are not mentioned.
MIN_WAITING = 0.1
# A difference must be so many of its standard errors: no test, but far beyond chance.
MIN_ERRORS = 4.0


def waiting_sentences(table: TableFindings) -> Iterator[str]:
    """Yield which kinds' threads waited for which other kind's, and what might help."""
    found = {case.case_id: pair for case in table.cases if (pair := _waits_for(case))}
    for fast, slow in dict.fromkeys(found.values()):
        cases = [case for case in table.cases if found.get(case.case_id) == (fast, slow)]
        yield (
            f"Threads on {fast}-cores waited for those on {slow}-cores: of the busiest thread's "
            f"CPU time they had no work for {listed(_shares(cases, fast, slow))}."
        )
    if found and table.key.schedule.startswith("static"):
        yield (
            "A dynamic schedule would let them work meanwhile, if the program's loops take one "
            "(schedules: [static, dynamic] in the study)."
        )


def _waits_for(case: CaseFinding) -> tuple[str, str] | None:
    """Return the kind whose threads waited most and the one whose waited least, if they differ."""
    waited = case.summary.by_kind("waited")
    pairs = [(a, b) for a, b in permutations(waited, 2) if _differs(waited[a], waited[b])]
    return max(pairs, key=lambda pair: waited[pair[0]].mean - waited[pair[1]].mean, default=None)


def _differs(more: Stats, less: Stats) -> bool:
    if not (more.n and less.n) or math.isnan(more.sd + less.sd):
        return False
    error = math.sqrt(more.sd**2 / more.n + less.sd**2 / less.n)
    return more.mean - less.mean >= max(MIN_WAITING, MIN_ERRORS * error)


def _shares(cases: Sequence[CaseFinding], fast: str, slow: str) -> list[str]:
    def share(case: CaseFinding) -> str:
        waited = case.summary.by_kind("waited")
        most, least = waited[fast], waited[slow]
        spread = f"sd {rounded(100 * most.sd, 0)}, {most.n} runs"
        return (
            f"{fixed(most.mean * 100, 0)} % under {name(case)} ({slow}-cores "
            f"{fixed(least.mean * 100, 0)} %; "
            f"{spread})"
        )

    return each_case(cases, share)
