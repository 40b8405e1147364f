"""How long a run will take, as far as that is known before it is made. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from runners.plan.case import Case

# What a run costs beside the program: perf's start, the record, the look at the node.
OVERHEAD_S = 0.02
# likwid-pin up to 5.5 sleeps a second before it starts the program.
LIKWID_START_S = 1.1


def estimate_s(case: Case, measured_s: Mapping[str, float]) -> float | None:
    """Return about how long one run takes, in seconds: measured before, or the app's own hint.

    `measured_s` maps a case_id to the mean of its runs so far. The hint is for one thread and is
    divided by the threads, as if the program scaled perfectly: good enough for a forecast.
    """
    if case.case_id in measured_s:
        return measured_s[case.case_id]
    if case.size.estimate_s is None:
        return None
    return case.size.estimate_s / case.threads


def overhead_s(case: Case) -> float:
    """Return what a run of the case takes beside its program, in seconds."""
    return OVERHEAD_S + (LIKWID_START_S if case.mechanism == "likwid-pin" else 0.0)
