"""The verdict for a terminal and as Markdown: decisions, tables with notes, how to read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain

from pinstudy.analysis.findings.glance import lost_of
from pinstudy.analysis.format.numbers import in_percent, percent_ends, signed_in_percent
from pinstudy.analysis.format.table import Table, markdown_items, markdown_text, render, wrapped
from pinstudy.analysis.statistics.decision import ALPHA, MIN_TO_FORECAST, ONLY_LOOK, Look
from pinstudy.analysis.statistics.drift import Drift, Trend
from pinstudy.analysis.statistics.sample import MIN_TRIMMED, OUTLIER_SCORE
from pinstudy.analysis.statistics.unlike import MIN_LONGER
from pinstudy.analysis.verdict.comparisons import (
    LOGNORMAL,
    FalseRate,
    false_rates,
    unseen_slow_runs,
)
from pinstudy.analysis.verdict.costs import waiting
from pinstudy.analysis.verdict.model import Comparison, Findings, TableFindings
from pinstudy.analysis.verdict_text.tables import (
    Beyond,
    beyond_lines,
    beyond_tables,
    configuration_tables,
    division_table,
    price_table,
    reach_table,
    slowdown_table,
)
from pinstudy.analysis.words import reach
from pinstudy.analysis.words.verdict import QUESTION, decision_lines, program_notes
from pinstudy.base.text import plural

_TO_DECIDE = "To decide what is undecided, continue the study:"
_TO_TRY = "No run was good. To start one by hand, see the command lines:"
_TO_FORECAST = (
    f"Undecided: from {MIN_TO_FORECAST} repetitions on pinstudy says how many more would decide; "
    "continue the study:"
)


def as_text(findings: Findings, width: int = 100) -> str:
    """Return the findings for a terminal of that many columns; tables may be wider.

    The overview stands above it (analysis.overview.terminal).
    """
    parts = ["In detail", *wrapped(decision_lines(findings), width), ""]
    for table in findings.tables:
        parts += [table.title, "", *_rendered(table, findings.margin, "text")]
        parts += _paragraph(wrapped(list(program_notes(table)), width))
    parts += ["How to read this", *wrapped(reading_notes(findings), width)]
    return "\n".join([*parts, *_next_step(findings)])


def _paragraph(lines: list[str]) -> list[str]:
    """Return lines with a blank one behind; nothing of none, as of a co-runner that ran alone."""
    return [*lines, ""] if lines else []


def _next_step(findings: Findings) -> list[str]:
    # On a line of its own, which no terminal's width cuts in two.
    return [why_continue(findings), f"  {findings.next_command}"] if findings.next_command else []


def why_continue(findings: Findings) -> str:
    """Return what the next command is for."""
    if lost_of(findings).is_all:
        return _TO_TRY
    return _TO_DECIDE if any(found.more for found in findings.compared) else _TO_FORECAST


def as_markdown(findings: Findings, beyond: Beyond | None = None) -> str:
    """Return the findings as a Markdown document, with what holds beyond one configuration."""
    parts = [f"# {QUESTION}", "", *markdown_items(decision_lines(findings)), ""]
    if beyond and (lines := beyond_lines(beyond)):
        parts += ["## Levers", "", *markdown_items(lines), ""]
        if tables := beyond_tables(beyond):
            parts += [render(tables, "markdown"), ""]
    for table in findings.tables:
        parts += [f"## {markdown_text(table.title)}", ""]
        parts += _rendered(table, findings.margin, "markdown")
        parts += _paragraph(markdown_items(list(program_notes(table))))
    parts += ["## How to read this", "", *markdown_items(reading_notes(findings)), ""]
    if findings.next_command:
        parts += [why_continue(findings), "", "```sh", findings.next_command, "```", ""]
    return "\n".join(parts)


def _rendered(table: TableFindings, margin: float, style: str) -> list[str]:
    tables = tables_of(table, margin)
    return [render(tables, style)] if tables else []


def tables_of(table: TableFindings, margin: float) -> list[Table]:
    """Return the tables of a program: of its configurations, and what its cases cost beside time.

    What their cores could do is one where speeds are known.

    How the work was divided is one where threads waited for others.
    """
    more = [slowdown_table(table), price_table(table), reach_table(table)]
    if any(waiting(case) for case in table.cases):
        more.append(division_table(table))
    return [*configuration_tables(table, margin), *filter(None, more)]


def reading_notes(findings: Findings) -> list[str]:
    """Return how outcomes were decided, what drifted, and the results' footnotes."""
    drift = drift_notes(findings.drift, findings.compared)
    return [*outcome_notes(findings), *drift, *findings.footnotes]


def outcome_notes(findings: Findings) -> Iterator[str]:
    """Yield what the outcomes and intervals are of, and under what conditions they hold.

    What was reached of the cores' speed is told first. Else there are none where nothing is
    compared.
    """
    yield from reach.reading_notes(findings)
    if not findings.comparisons:
        return
    found = findings.compared
    typical = [
        comparison.difference for comparison in found if comparison.difference.estimand == "typical"
    ]
    if typical:
        yield (
            "typical: the mean of the middle 60 % of the log ratios of pairs of runs (of runs "
            "without pairs: of log values)"
        )
        yield "means and standard deviations in tables are of all runs"
    if few := sum(not difference.cut for difference in typical):
        yield (
            f"{plural(few, 'comparison')} of fewer than {MIN_TRIMMED} runs: nothing is trimmed, "
            "and a slow run widens the interval"
        )
    yield (
        f"95 % interval: of that comparison alone, on this node{_boots(findings)} and for these "
        "builds"
    )
    yield (
        "outcome: all comparisons of a table, governor and objective together (Holm): here "
        f"{plural(findings.comparisons, 'comparison')} in {plural(findings.questions, 'question')}"
    )
    yield f"equivalent: within {in_percent(findings.margin, 6)} %, as often wrong"
    yield from chain.from_iterable(map(_false, false_rates(findings)))
    yield from filter(None, [_looks(findings.look)])
    if any(comparison.more for comparison in found):
        yield "N to M more repetitions: enough in half and in four fifths of such studies"
        yield "continuing a study is a new look, and counts as one"
    if slow := unseen_slow_runs(findings):
        yield (
            f"slow: at least {MIN_LONGER * 100:g} % longer than the case's median, and by more "
            f"than {OUTLIER_SCORE} deviations"
        )
        if slow.n < slow.enough:
            yield (
                f"{plural(slow.n, 'run')} of a case hold none of a mode of one run in ten in "
                f"{slow.share * 100:.0f} of 100 studies, {slow.enough} runs in 5"
            )


def _boots(findings: Findings) -> str:
    """Return in which boots an interval holds; empty where there are no runs to tell."""
    if any(comparison.difference.units > 1 for comparison in findings.compared):
        return ", over its boots or days"
    # Runs without pairs: what varies between boots is in their spread, and not by itself.
    several = f", in these {findings.units} boots or days"
    return {0: "", 1: ", in this boot"}.get(findings.units, several)


def _false(rate: FalseRate) -> Iterator[str]:
    of_100 = f"of 100 questions of {plural(rate.comparisons, 'comparison')}"
    start = f"false outcomes, {rate.estimand} values"
    unlike = math.ceil(rate.share_unlike * 100 - 1e-9)
    if rate.estimand == "typical":
        yield f"{start}: {of_100} in which nothing differs about 5 call a difference"
        yield f"{start}: up to {LOGNORMAL * 100:.0f} where noise is lognormal on one side alone"
        yield (
            f"{start}: up to {unlike} where one run in four is slow on one side alone, which "
            f"{plural(rate.n, 'run')} may not show"
        )
        return
    yield (
        f"{start}: {of_100} in which nothing differs about 5 call a difference where noise is alike"
    )
    yield (
        f"{start}: up to {unlike} where one run in ten is slow on one side alone, which means do "
        "not show"
    )


def _looks(look: Look) -> str:
    """Return at which level outcomes are where a study is looked at several times; or nothing."""
    level = f"outcomes are at {look.share * ALPHA:.2g} instead of {ONLY_LOOK.share * ALPHA:.2g}"
    if look.number > 1:
        return f"interim analysis {look.number} of a study that was continued: {level}"
    if look.planned > 1:
        return f"up to {look.planned} interim analyses, to end when they decide: {level}"
    return ""


def drift_notes(drift: Drift | None, compared: Iterable[Comparison] = ()) -> Iterator[str]:
    """Yield the trends over time and temperature, and the changes between attempts.

    Of the cases that are `compared`, those in pairs of one block are free of such trends.
    """
    if drift is None:
        yield "drift: not known without runs"
        return
    trends = (drift.over_time, "over time"), (drift.over_temperature, "with temperature")
    for trend, over in trends:
        yield f"drift {over}: {_trend(trend)}"
    for step in drift.steps:
        yield f"from attempt {step.before} to attempt {step.after}: {_change_of(step.trend)}"
    paired = any(comparison.difference.paired for comparison in compared)
    if paired and any(trend and trend.found for trend, _ in trends):
        yield "a drift falls on both cases of a pair alike"


def _trend(trend: Trend | None) -> str:
    if trend is None:
        return "cannot be told: too few runs, or nothing to go by"
    found = "found" if trend.found else "none found"
    # Ranks that do not rise with the line leave it to a few runs.
    why = "" if trend.found or 0.0 in trend.interval else ", by few runs alone"
    return f"{found}{why}, {_change_of(trend)}"


def _change_of(trend: Trend) -> str:
    both = percent_ends(trend.change_interval.low, trend.change_interval.high)
    change = signed_in_percent(trend.change, 2)
    return f"{change} % (95 %: {' to '.join(both)}; {plural(trend.n, 'run')})"
