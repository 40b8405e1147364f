"""How many runs a race may make. Pure."""

from __future__ import annotations

from base.text import plural
from configs.model import Race

# A study that repeats every case ten times is what a race is measured by; it may take a third.
FULL_REPETITIONS = 10
FULL_SHARE = 3
# With few cases a third would not be enough for a trial.
LEAST_MOST_RUNS = 30
# Nobody minds so many seconds; short runs differ the more, and there may be more of them.
SHORT_S = 10.0
MOST_SHORT_RUNS = 1000


def most_runs(rule: Race, cases: int, one_s: float = 0.0) -> int:
    """Return how many runs a race of so many cases may make, beside warm-up runs.

    `one_s` is what a run of the reference takes, 0 when that is not known.
    """
    if rule.runs:
        return rule.runs
    short = min(MOST_SHORT_RUNS, int(SHORT_S / one_s)) if one_s else 0
    return max(LEAST_MOST_RUNS, cases * FULL_REPETITIONS // FULL_SHARE, short)


def most_said(rule: Race, cases: int) -> str:
    """Return in words how many runs a race of so many cases may make."""
    most = f"at most {plural(most_runs(rule, cases), 'run')}"
    return most if rule.runs else f"{most}, or as many as take {SHORT_S:g} s"
