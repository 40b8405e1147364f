"""The advice of a race for a terminal, and as a Markdown document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pinstudy.analysis.advice.lines import Line
from pinstudy.analysis.advice.model import MUST_KNOW, Advice, Candidate, Elimination, Point
from pinstudy.analysis.format.numbers import ENERGY_DECIMALS, NOTHING, fixed, time_decimals
from pinstudy.analysis.format.styles import render
from pinstudy.analysis.format.table import (
    Column,
    Notes,
    Table,
    Written,
    markdown_items,
    markdown_text,
    table_of,
    wrapped,
)
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.words.advice import (
    NOW,
    RULED_OUT,
    SETTING,
    advice_best_tried,
    advice_caveat,
    advice_change,
    advice_interval,
    advice_more,
    advice_noun,
    advice_result,
)
from pinstudy.base.cpulist import named_cpus
from pinstudy.base.text import plural
from pinstudy.base.units import duration


def answer_lines(advice: Advice, width: int = 0) -> list[str]:
    """Return the answer: the command to paste, what it gains, and what nobody should miss.

    `width` is that of the terminal, 0 no limit; commands are in one line, however long.
    """
    command = [advice.command] if _answered(advice) and advice.command else []
    texts = answer_texts(advice)
    if not width:
        return [*command, *texts]
    return [*command, *(line for text in texts for line in _folded(text, width))]


def _folded(text: str, width: int) -> list[str]:
    return [text] if "`" in text or text.startswith(SETTING) else wrapped([text], width, "")


def _answered(advice: Advice) -> bool:
    return advice.state.decision not in ("unfinished", "no reference")


def answer_texts(advice: Advice) -> list[str]:
    """Return what stands below the command, a line each."""
    if not _answered(advice):
        return [advice_result(advice)]
    known = [advice_caveat(caveat, advice) for caveat in advice.caveats if caveat.code in MUST_KNOW]
    texts = (advice_result(advice), advice_best_tried(advice), advice_more(advice), *known)
    return [text for text in texts if text]


def advice_lines(advice: Advice) -> list[str]:
    """Return the lines of other launchers, each below its tool and its note."""
    shown: list[str] = []
    for line in advice.lines:
        note = f" ({line.note})" if line.note else ""
        if line.text:
            shown += [f"{line.tool}{note}", *(f"  {text}" for text in line.text.split("\n"))]
        else:
            shown.append(f"{line.tool}: none, because {line.note}")
    return shown


def care_lines(advice: Advice) -> list[str]:
    """Return how much was run and what is to be known of the answer, a line each."""
    return [*_extent(advice), *(advice_caveat(caveat, advice) for caveat in advice.caveats)]


def why_text(advice: Advice) -> str:
    """Return why, what was ruled out and what to take with care, for a terminal."""
    tables = render(why_tables(advice), "text").rstrip()
    return "\n\n".join(filter(None, (tables, "\n".join(care_lines(advice)))))


def why_tables(advice: Advice) -> list[Table]:
    """Return the tables of the answer: the best case, those ruled out, time and energy."""
    made = (best_table(advice), eliminations_table(advice), points_table(advice))
    return [table for table in made if table]


def _extent(advice: Advice) -> Iterator[str]:
    """Yield how much was run, and what was not."""
    runs, cases = plural(advice.runs_made, "run"), plural(advice.entrants - advice.no_time, "case")
    yield f"{runs} of {cases} in {duration(advice.spent_s)}"
    if advice.no_time:
        yield f"not tried, for want of time or runs: {plural(advice.no_time, 'case')}"
    if advice.left_free:
        yield f"left to other programs: {named_cpus(advice.left_free)}"
    if advice.no_energy:
        yield f"energy: n/a ({advice.no_energy})"


def advice_markdown(advice: Advice, footnotes: Sequence[str] = ()) -> str:
    """Return all of the advice as a Markdown document; `footnotes` are of the results."""
    parts = ["# Advice", ""]
    parts += ["```sh", advice.command, "```", ""] if _answered(advice) and advice.command else []
    parts += markdown_items(answer_texts(advice))
    if advice.lines:
        parts += ["", "## Other launchers", "", *_line_parts(advice.lines)]
    for table in why_tables(advice):
        parts += ["", render([table], "markdown").rstrip()]
    parts += ["", "## What it rests on", ""]
    parts += markdown_items(care_lines(advice))
    if footnotes:
        parts += ["", "## What to know of these results", "", *markdown_items(footnotes)]
    return "\n".join([*parts, ""])


def _line_parts(lines: Sequence[Line]) -> list[str]:
    parts: list[str] = []
    for line in lines:
        if line.text:
            note = f" ({markdown_text(line.note)})" if line.note else ""
            parts += [f"{line.tool}{note}:", "", "```sh", line.text, "```", ""]
        else:
            parts += [f"{line.tool}: none, because {markdown_text(line.note)}.", ""]
    return parts


_OUTCOMES = {"worse": "worse", "undecided": "not shown better", "not compared": "not compared"}
_Measured = tuple[str, float, str, str]


def best_table(advice: Advice) -> Table | None:
    """Return how the best case changes what is measured, by the fresh pairs of its trial."""
    made = advice.confirmation
    if advice.best is None or made is None or made.difference is None:
        return None
    columns: tuple[Written[_Measured], ...] = (
        (Column("measure", right=False), lambda row: row[0]),
        (Column("change"), lambda row: advice_change(row[1])),
        (Column("95 % interval"), lambda row: row[2]),
        (Column("p"), lambda row: row[3]),
    )
    runs = plural(made.pairs, "fresh run")
    caption = f"{advice.best.name} against {advice.reference.name} ({NOW}), {runs} of each"
    return table_of(caption, columns, _measured(advice))


def _measured(advice: Advice) -> Iterator[_Measured]:
    made, noun = advice.confirmation, advice_noun(advice)
    assert made is not None
    assert made.difference is not None
    p = NOTHING if advice.state.p is None else _p(advice.state.p)
    yield f"{noun}, typical", made.difference.ratio, _ends(made.interval), p
    if made.gain:
        sign = 1 if made.gain.higher else -1
        ratio, least = (math.exp(sign * gain) for gain in (made.gain.mean, made.gain.least_mean))
        bound = "at least" if made.gain.higher else "at most"
        yield f"{noun}, mean", ratio, f"{bound} {advice_change(least)}", NOTHING
    for objective, difference in made.other_objectives.items():
        yield (
            f"{objective.noun}, typical",
            difference.ratio,
            _ends(difference.known_interval()),
            NOTHING,
        )


def _ends(interval: Interval | None) -> str:
    return NOTHING if interval is None else advice_interval(interval)


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 0.001 else "<0.001"


def eliminations_table(advice: Advice) -> Table | None:
    """Return each case that was ruled out or cannot run, the nearest to the best first."""
    notes = Notes()
    rows = [_ruled_out(case, notes) for case in advice.eliminations]
    rows += [
        (
            candidate.name,
            NOTHING,
            NOTHING,
            NOTHING,
            "not compared",
            f"cannot run {notes.marker(reason)}",
        )
        for reason, cases in advice.skipped.items()
        for candidate in cases
    ]
    if not rows:
        return None
    against = advice.best or advice.reference
    meanings = [
        ("", f"{why}: {meaning}")
        for why, meaning in RULED_OUT.items()
        if any(case.eliminated.why == why for case in advice.eliminations)
    ]
    columns = (
        Column("case", right=False),
        Column("runs"),
        Column("change"),
        Column("95 % interval"),
        Column("outcome", right=False),
        Column("reason", right=False),
    )
    caption = f"Ruled out: {advice_noun(advice)} against {against.name}; intervals hold together"
    return Table(caption, columns, tuple(rows), (*notes.listed(), *meanings))


def _ruled_out(case: Elimination, notes: Notes) -> tuple[str, ...]:
    change = NOTHING if case.ratio is None else advice_change(case.ratio)
    reason = case.eliminated.why
    if case.eliminated.reason:
        reason = f"{reason} {notes.marker(case.eliminated.reason)}"
    return (
        case.candidate.name,
        str(case.candidate.runs),
        f"over {change}" if case.at_least else change,
        _ends(case.interval),
        _OUTCOMES[case.outcome],
        reason,
    )


def points_table(advice: Advice) -> Table | None:
    """Return time against energy of the recommended case, the reference and the Pareto front."""
    shown = [
        point
        for point in advice.points
        if point.on_front or point.candidate in (advice.best, advice.reference)
    ]
    if not shown:
        return None
    decimals = time_decimals(point.time_s for point in shown)
    columns: tuple[Written[Point], ...] = (
        (Column("case", right=False), lambda point: point.candidate.name),
        (Column("runs"), lambda point: str(point.candidate.runs)),
        (Column("time mean", "s"), lambda point: fixed(point.time_s, decimals)),
        (Column("energy mean", "J"), lambda point: fixed(point.energy_j, ENERGY_DECIMALS)),
        (Column("Pareto front", right=False), lambda point: "yes" if point.on_front else NOTHING),
        (Column("it is", right=False), lambda point: _role(advice, point.candidate)),
    )
    return table_of("Time against package energy, all good runs of each case", columns, shown)


def _role(advice: Advice, candidate: Candidate) -> str:
    if candidate is advice.best:
        return "recommended" if candidate is advice.recommended else "best tried"
    return "now" if candidate is advice.reference else NOTHING
