"""The smallest difference that this node can show: how much equal runs differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, stdev

from pinstudy.runners.prove.proof import Instrument
from pinstudy.runners.records.instruments import Finding

REPETITIONS = (10, 30, 100)
# Of a two-sided test, and the share of true differences that it shall find.
SIGNIFICANCE = 0.05
POWER = 0.8
# Two halves of the same runs differ so much once in ten thousand times.
ALARM = 0.0001


def smallest_difference(times_s: Sequence[float], repetitions: int) -> float:
    """Return the share by which two cases of so many runs must differ to be told apart.

    Of the standard deviation s of the logarithms of equal runs, two means of n runs each differ
    significantly in 80 of 100 studies if they are (t(0.975) + t(0.8)) s sqrt(2/n) apart, with
    2n - 2 degrees of freedom (Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988,
    chapter 2; by Student's t instead of a noncentral one, which is close from 10 runs on).
    """
    # Few commands need it.
    from scipy import special

    df = 2 * repetitions - 2
    both = special.stdtrit(df, 1 - SIGNIFICANCE / 2) + special.stdtrit(df, POWER)
    return exp(float(both) * stdev(map(log, times_s)) * sqrt(2 / repetitions)) - 1


def judge_resolution(times_s: Sequence[float]) -> Finding:
    """Judge equal runs, taken in turns as two cases: they must not differ.

    The smallest differences are told with it.
    """
    instrument = Instrument(
        "resolution", "", f"{len(times_s) // 2} pairs of equal runs", ("elapsed_s",)
    )
    from scipy import stats

    first, second = ([log(time_s) for time_s in times_s[i::2]] for i in (0, 1))
    apart = abs(fmean(first) - fmean(second))
    # Equal times have no spread to test by.
    differ = stdev(first) + stdev(second) > 0 and (
        stats.ttest_ind(first, second, equal_var=False).pvalue < ALARM
    )
    told = ", ".join(f"{smallest_difference(times_s, n):.1%} with {n}" for n in REPETITIONS)
    measured = f"shows {told} repetitions"
    off = ""
    if differ:
        off = f"the two of each pair differ by {exp(apart) - 1:.2%}: something alternates"
    return instrument.found(measured, off)
