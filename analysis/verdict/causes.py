"""Why a comparison may be undecided: what disturbed the runs, and what helps against it.

Runs that were disturbed are averaged all the same; their spread is what an interval is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.verdict.model import CaseFinding
from analysis.verdict.phrases import name
from base.text import first_of, one_line
from runners.records.disturbances import (
    AT_LIMIT,
    BY_QUOTA,
    CLIPPED,
    MARKED,
    SHARED,
    STOLEN,
    THROTTLED,
    TOO_SHORT,
    WARM,
)

# What is said of runs with each disturbance, and what helps. More runs alone help as well, but take
# longer than without it.
_CAUSES = {
    SHARED: ("shared their CPUs with {who}", "end that, or keep it off these CPUs"),
    STOLEN: ("lost CPU time to a hypervisor", "measure on the host, or on a quiet one"),
    THROTTLED: ("were throttled by heat", "cool better, or set a temperature_gate in the study"),
    CLIPPED: ("were clipped at a power limit", "raise the limit, or compare fewer threads"),
    AT_LIMIT: ("ran at the power limit (PL1)", "raise the limit, or compare fewer threads"),
    BY_QUOTA: ("were stopped by a CPU quota", "run outside of that control group"),
    WARM: ("began too warm", "give the temperature_gate a longer limit"),
    TOO_SHORT: ("were of a region that is too short", "take a larger size"),
    MARKED: ("spent time on marks of regions", "measure whole runs without `regions`"),
}
# Rarer disturbances do not explain why all runs together tell too little.
MIN_SHARE = 0.1
MAX_NAMED = 3


def causes(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield a sentence for each disturbance of these cases' runs, with its remedy."""
    for what, (did, remedy) in _CAUSES.items():
        disturbed = [case for case in cases if _share(case, what) >= MIN_SHARE]
        if not disturbed:
            continue
        counts = [
            f"{case.summary.disturbed[what]} of {case.summary.n} runs of {name(case)}"
            for case in disturbed
        ]
        said = did.format(who=_neighbours(disturbed))
        yield one_line(f"One cause: {first_of(counts, MAX_NAMED, ', ')} {said}; {remedy}.")


def _share(case: CaseFinding, what: str) -> float:
    """Return the share of a case's averaged runs that were disturbed so."""
    return case.summary.disturbed.get(what, 0) / case.summary.n if case.summary.n else 0.0


def _neighbours(cases: Sequence[CaseFinding]) -> str:
    """Return the other task that took most of these cases' CPUs, and how much in one run."""
    most = max(
        (case.summary.neighbour for case in cases if case.summary.neighbour),
        key=lambda neighbour: neighbour[1],
        default=None,
    )
    return "other tasks" if most is None else f"{most[0]} (up to {most[1]:.2f} s a run)"
