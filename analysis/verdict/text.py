"""Findings as text for a terminal or as Markdown: the answer, its reasons and its numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from analysis.format.numbers import in_percent
from analysis.format.table import markdown_items, markdown_text, render, wrapped
from analysis.measures import ENERGY_BY_KIND
from analysis.objectives import TIME
from analysis.statistics.decision import ALPHA, MIN_TO_FORECAST, ONLY_LOOK, Look
from analysis.statistics.modes import share_of_unseen_modes
from analysis.statistics.sample import MIN_TRIMMED, OUTLIER_SCORE
from analysis.statistics.unlike import (
    MIN_LONGER,
    least_to_see,
    share_of_unseen_slow_runs,
    unseen,
)
from analysis.verdict.caveats import drift_sentences
from analysis.verdict.configurations import configuration_tables
from analysis.verdict.model import Findings, TableFindings
from analysis.verdict.phrases import listed
from analysis.verdict.price import price_sentences
from analysis.verdict.slowdowns import raw_slowdown, slowdown_sentences, slowdown_table
from analysis.verdict.tables import (
    price_table,
    raw_comparisons,
    raw_price,
    raw_statistics,
)
from analysis.verdict.waiting import waiting_sentences
from base.text import plural
from configs.values import DIRECTIONS

QUESTION = "To pin or not to pin?"
_TO_DECIDE = "To decide what is undecided, continue the study:"
_TO_FORECAST = (
    f"Undecided: from {MIN_TO_FORECAST} repetitions on pinstudy says how many more would decide; "
    "continue the study:"
)


def as_text(findings: Findings, width: int = 100) -> str:
    """Return the findings for a terminal of that many columns; tables may be wider.

    The overview stands above it (analysis.overview.terminal).
    """
    parts = ["In detail", *wrapped(findings.headline, width), ""]
    for table in findings.tables:
        parts += [table.title, "", *_tables_of(table, findings.margin, "text")]
        parts += _paragraph(wrapped(verdict_lines(table), width))
    parts += ["How to read this", *wrapped(notes(findings), width)]
    return "\n".join([*parts, *_next_step(findings)])


def _paragraph(lines: list[str]) -> list[str]:
    """Return lines with a blank one behind; nothing of none, as of a co-runner that ran alone."""
    return [*lines, ""] if lines else []


def _next_step(findings: Findings) -> list[str]:
    # On a line of its own, which no terminal's width cuts in two.
    return [why_continue(findings), f"  {findings.next_command}"] if findings.next_command else []


def why_continue(findings: Findings) -> str:
    """Return what the next command is for."""
    return _TO_DECIDE if any(found.more for found in findings.compared) else _TO_FORECAST


def as_markdown(findings: Findings) -> str:
    """Return the findings as a Markdown document."""
    parts = [f"# {QUESTION}", "", *markdown_items(findings.headline), ""]
    for table in findings.tables:
        parts += [f"## {markdown_text(table.title)}", ""]
        parts += _tables_of(table, findings.margin, "markdown")
        parts += _paragraph(markdown_items(verdict_lines(table)))
    parts += ["## How to read this", "", *markdown_items(notes(findings)), ""]
    if findings.next_command:
        parts += [why_continue(findings), "", "```sh", findings.next_command, "```", ""]
    return "\n".join(parts)


def _tables_of(findings: TableFindings, margin: float, style: str) -> list[str]:
    more = (slowdown_table(findings), price_table(findings))
    tables = [*configuration_tables(findings, margin), *(table for table in more if table)]
    return [render(tables, style)] if tables else []


def verdict_lines(table: TableFindings) -> list[str]:
    """Return what no configuration's table has of a program: what mappings cost beside it."""
    lines = []
    front = [case.label for case in table.cases if case.on_front]
    measured = sum(case.has_time_and_energy for case in table.cases)
    # Of cases that raced the advice has it, with how little is known of those that ended early.
    if front and measured > 1 and table.verdicts:
        lines.append(
            f"Time and energy together, by the means alone: of {measured} cases with both, none is "
            "as good as one of these in one and better in the other (Pareto front): "
            f"{listed(front)}."
        )
    costs = (*slowdown_sentences(table), *price_sentences(table))
    return [*lines, *costs, *waiting_sentences(table)]


def notes(findings: Findings) -> list[str]:
    """Return how outcomes were decided, what drifted, and the results' footnotes."""
    lines = list(_of_outcomes(findings)) if findings.comparisons else []
    lines += drift_sentences(findings.drift, findings.compared)
    return [*lines, *findings.footnotes]


def _of_outcomes(findings: Findings) -> Iterator[str]:
    """Yield what the outcomes and intervals are of, and under what conditions they hold."""
    found = findings.compared
    differences = [comparison.difference for comparison in found]
    typical = [of for of in differences if of.estimand == "typical"]
    if typical:
        yield (
            "typical: the mean of the middle 60 % of the log ratios of pairs of runs (20 % "
            "trimmed; of runs without pairs, of each case's log values); means and standard "
            "deviations in tables are of all runs"
        )
    if few := [of for of in typical if not of.cut]:
        yield (
            f"{plural(len(few), 'comparison')} of fewer than {MIN_TRIMMED} runs: nothing is "
            "trimmed, and a slow run widens the interval"
        )
    yield (
        f"a ratio's 95 % interval is of that comparison alone, on this node{_boots(findings)} "
        "and for these builds; words take all comparisons of a table, governor and objective "
        f"together (Holm); {_question_count(findings.questions)}; "
        f"equivalent: within {in_percent(findings.margin, 6)} %, as often wrong"
    )
    yield from false_words(findings)
    if said := of_looks(findings.look):
        yield said
    if any(comparison.more for comparison in found):
        yield (
            "(+N to M): about so many more repetitions decide in half and in four fifths of such "
            "studies; continuing is a new look, and counts as one"
        )
    # Slow runs are those of time; energy may be known of fewer.
    times = [of.difference for of in found if of.objective == TIME]
    if runs := [of.n for of in times if of.estimand == "typical"]:
        yield _of_slow_runs(min(runs))


# By the simulations of docs/error-rates.md: what lognormal noise on one side alone makes of the 5.
_LOGNORMAL = 9


def false_words(findings: Findings) -> Iterator[str]:
    """Yield how many words for a difference are false where there is none, and under which noise.

    Both numbers are for as many comparisons as one question has, and for the fewest runs.
    """
    of_question = Counter(
        (at, table.baseline_of(case).case_id, objective)
        for at, table in enumerate(findings.tables)
        for case in table.cases
        for objective in case.comparisons
    )
    count = max(of_question.values(), default=0)
    for estimand in ("typical", "mean"):
        runs = [of.difference.n for of in findings.compared if of.difference.estimand == estimand]
        if not runs:
            continue
        n = min(runs)
        start = f"false words, {estimand} values: of 100 questions of {plural(count, 'comparison')}"
        if estimand == "typical":
            yield (
                f"{start} in which nothing differs about 5 call a difference, up to {_LOGNORMAL} "
                f"where noise is lognormal on one side alone; up to "
                f"{_in_100(share_of_unseen_modes(n, count))} where one run in four is slow on one "
                f"side alone, which {plural(n, 'run')} may not show"
            )
        else:
            yield (
                f"{start} in which nothing differs about 5 call a difference where noise is alike; "
                f"up to {_in_100(share_of_unseen_slow_runs(n, count))} where one run in ten is "
                f"slow on one side alone, which {plural(n, 'run')} may not show, and means do not"
            )


def _in_100(share: float) -> str:
    return f"{math.ceil(share * 100 - 1e-9)}"


def of_looks(look: Look) -> str:
    """Return at which level words are where a study is looked at several times; empty for one."""
    level = f"{look.share * ALPHA:.2g} instead of {ONLY_LOOK.share * ALPHA:.2g}"
    why = "so that all looks together are wrong no more often"
    if look.number > 1:
        return (
            f"this is look {look.number} at a study that was continued: words are at {level}, {why}"
        )
    if look.planned > 1:
        return (
            f"results were looked at up to {look.planned} times, to end when they decide: words "
            f"are at {level}, {why}"
        )
    return ""


def _question_count(questions: int) -> str:
    return "here is one" if questions == 1 else f"here are {questions}, each by itself"


def _boots(findings: Findings) -> str:
    """Return in which boots a ratio's interval holds; empty where there are no runs to tell."""
    if any(comparison.difference.units > 1 for comparison in findings.compared):
        return ", over its boots or days"
    # Runs without pairs: what varies between boots is in their spread, and not by itself.
    several = f", in these {findings.units} boots or days"
    return {0: "", 1: ", in this boot"}.get(findings.units, several)


def _of_slow_runs(n: int) -> str:
    """Say what a slow run is, and how often so few runs hold none of a mode of one in ten."""
    text = (
        f"slow: at least {MIN_LONGER * 100:g} % longer than the case's median, and by more than "
        f"{OUTLIER_SCORE} deviations"
    )
    if n >= least_to_see():
        return text
    return (
        f"{text}; {plural(n, 'run')} of a case hold none of a mode of one run in ten in "
        f"{unseen(n) * 100:.0f} of 100 studies, {least_to_see()} runs in 5"
    )


def as_data(findings: Findings) -> dict[str, Any]:
    """Return the findings as plain data, unrounded."""
    return {
        "question": QUESTION,
        "headline": list(findings.headline),
        "margin": findings.margin,
        "comparisons": findings.comparisons,
        "questions": findings.questions,
        "look": findings.look.number,
        "planned_looks": findings.look.planned,
        "tables": [_table_data(table) for table in findings.tables],
        "notes": notes(findings),
        "next_command": findings.next_command or None,
    }


def _table_data(table: TableFindings) -> dict[str, Any]:
    return {
        "title": table.title,
        "verdicts": [
            {
                "objective": verdict.objective,
                "unit": verdict.objective.unit,
                "better": DIRECTIONS[verdict.objective.higher],
                "governor": verdict.governor,
                "beside": verdict.beside,
                "answer": verdict.answer,
                "case_number": verdict.best.number if verdict.best else None,
                "mapping": verdict.best.mapping if verdict.best else None,
                "scheduling": verdict.best.summary.key.scheduling or None if verdict.best else None,
                "sentences": list(verdict.sentences),
            }
            for verdict in table.verdicts
        ],
        "comparisons": [raw_comparisons(case) for case in table.cases],
        "slowdowns": [raw_slowdown(case) for case in table.cases if case.slowdown],
        "statistics": [
            raw_statistics(case, objective)
            for case in table.cases
            for objective in table.objectives
            if objective in case.samples
        ],
        "energy_by_kind": [
            raw_price(case) for case in table.cases if case.summary.by_kind(ENERGY_BY_KIND)
        ],
    }
