"""The report's own sentences: what was asked, what drifted, what is seen of a node."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analysis.figures.words import count, percent
from analysis.findings import Findings
from analysis.sources import Results
from analysis.statistics.drift import Trend
from analysis.table import joined

_MOST_NAMED = 6


def question(findings: Findings) -> str:
    """Return what was asked, by the tables that answer it."""
    apps = list(dict.fromkeys(str(table.keys["app"]) for table in findings.tables))
    threads = sorted({int(table.keys["threads"]) for table in findings.tables})
    named = [*apps[:_MOST_NAMED], *(["others"] if len(apps) > _MOST_NAMED else [])]
    counts = _listed([str(number) for number in threads[:_MOST_NAMED]], "or")
    noun = "thread" if threads == [1] else "threads"
    return f"Which CPUs should {_listed(named, 'and')} run on, with {counts} {noun}?"


def _listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def extent(results: Results, findings: Findings) -> str:
    """Return how much was measured."""
    counts = [float(case.facts["n"]) for table in findings.tables for case in table.cases]
    known = [number for number in counts if not math.isnan(number)]
    parts = [count(len(findings.tables), "table"), count(len(counts), "case")]
    runs = count(int(sum(known)), "run")
    text = f"{', '.join(parts)} and {runs} that are averaged"
    if len(known) < len(counts):
        unknown = count(len(counts) - len(known), "case")
        text = f"{text}, beside the runs of {unknown} whose number is not known"
    if results.runs is None:
        return f"{text}; only means are known, not the runs"
    started = results.runs.frame["started_s"].dropna()
    return f"{text}, {_dates(started.min(), started.max())}" if len(started) else text


def _dates(first: float, last: float) -> str:
    from datetime import datetime, timezone

    try:
        days = [
            datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M")
            for seconds in (first, last)
        ]
    except (OverflowError, ValueError, OSError):
        return "at times that cannot be"
    return f"from {days[0]} to {days[1]} UTC"


def drift_sentences(findings: Findings) -> list[str]:
    """Return what the trends over time and temperature say."""
    if findings.drift is None:
        return ["Without runs nothing can be said of drift."]
    found = findings.drift
    said = [
        _trend(
            found.over_time,
            "over time",
            "the study went on",
            "the first to the last run of an attempt",
        ),
        _trend(
            found.over_temperature,
            "with temperature",
            "the package became warmer",
            "the coolest to the warmest",
        ),
        *(
            f"From attempt {step.before} to attempt {step.after} runs became "
            f"{_slower(step.trend)} by {percent(abs(step.trend.change))} ({_ends(step.trend)})."
            for step in found.steps
        ),
    ]
    if any(trend and trend.found for trend in (found.over_time, found.over_temperature)):
        said.append(
            "Where cases are compared within blocks of runs, a drift falls on both of them alike."
        )
    return said


def _trend(trend: Trend | None, over: str, meanwhile: str, span: str) -> str:
    if trend is None:
        return f"Whether runs drifted {over} cannot be told: too few runs, or nothing to go by."
    if trend.found:
        return (
            f"Runs became {_slower(trend)} as {meanwhile}: by {percent(abs(trend.change))} from "
            f"{span} ({_ends(trend)}; {trend.n} runs)."
        )
    if 0.0 in trend.interval:
        return f"No drift {over} was found (from {span}, {_ends(trend)}; {trend.n} runs)."
    return (
        f"No drift {over} was found: a line through the {trend.n} runs rises or falls (from "
        f"{span}, {_ends(trend)}), but their ranks do not, so that a few runs make it."
    )


def _slower(trend: Trend) -> str:
    return "slower" if trend.slope > 0 else "faster"


def _ends(trend: Trend) -> str:
    """Return the interval of the change over the whole span."""
    with np.errstate(over="ignore"):
        low, high = np.expm1(np.array([trend.interval.low, trend.interval.high]) * trend.span)
    return f"95 % interval {_signed(low)} to {_signed(high)}"


def _signed(share: float) -> str:
    return f"{'+' if share > 0 else '-'}{percent(abs(share))}"


def node_alt(name: str, rows: tuple[tuple[str, str], ...]) -> str:
    """Return what lstopo's picture of a node shows, in words."""
    shown = joined(f"{what}: {text}" for what, text in rows)
    return f"The packages, caches, cores and CPUs of {name} as boxes in boxes. {shown}"
