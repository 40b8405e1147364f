"""The report's own sentences: what was asked, what drifted, what is seen of a node."""

from __future__ import annotations

from collections.abc import Sequence

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
    cases = sum(len(table.cases) for table in findings.tables)
    runs = sum(case.facts["n"] for table in findings.tables for case in table.cases)
    parts = [count(len(findings.tables), "table"), count(cases, "case"), count(runs, "run")]
    text = f"{', '.join(parts[:-1])} and {parts[-1]} that are averaged"
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
        _trend(found.over_time, "the study went on", "hour", "over time"),
        _trend(found.over_temperature, "the package became warmer", "kelvin", "with temperature"),
    ]
    if any(trend and trend.found for trend in (found.over_time, found.over_temperature)):
        said.append(
            "Where cases are compared within blocks of runs, a drift falls on both of them alike."
        )
    return said


def _trend(trend: Trend | None, meanwhile: str, unit: str, over: str) -> str:
    if trend is None:
        return f"Whether runs drifted {over} cannot be told: too few runs, or nothing to go by."
    low, high = trend.interval.low, trend.interval.high
    ends = f"95 % interval {percent(low)} to {percent(high)} a {unit}"
    if not trend.found:
        return f"No drift {over} was found ({ends}, {trend.n} runs)."
    became = "slower" if trend.slope > 0 else "faster"
    return (
        f"Runs became {became} as {meanwhile}: {percent(abs(trend.slope))} a {unit} ({ends}), "
        f"{percent(abs(trend.change))} over the study ({trend.n} runs)."
    )


def node_alt(name: str, rows: tuple[tuple[str, str], ...]) -> str:
    """Return what lstopo's picture of a node shows, in words."""
    shown = joined(f"{what}: {text}" for what, text in rows)
    return f"The packages, caches, cores and CPUs of {name} as boxes in boxes. {shown}"
