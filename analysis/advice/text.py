"""The advice for a terminal, as a Markdown document, and as plain data for a program to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.advice.lines import Line
from analysis.advice.model import Advice, Candidate, Elimination, Point
from analysis.advice.sentences import (
    behind,
    eliminations_in_short,
    extent,
    gain_bounds,
    headline,
    p_meaning,
    trade_off,
)
from analysis.format.numbers import ENERGY_DECIMALS, NOTHING, fixed, time_decimals
from analysis.format.table import (
    Column,
    Table,
    Written,
    markdown_items,
    markdown_text,
    render,
    table_of,
    wrapped,
)
from analysis.statistics.difference import Difference
from analysis.statistics.sample import Interval
from base.cpulist import format_cpulist
from base.text import one_line
from runners.records.race_state import WHYS, Eliminated

# The tools whose lines the terminal shows; the file has all.
_ON_TERMINAL = ("environment", "taskset", "likwid-pin", "srun", "governor", "scheduler")
LINES_ARE = (
    "Other tools are told the same placement as the one that was measured; they themselves were "
    "not timed."
)


def advice_text(advice: Advice, width: int) -> str:
    """Return the advice for a terminal of that many columns; lines to paste may be longer."""
    lines = [line for line in advice.lines if line.tool in _ON_TERMINAL and line.text]
    # Where there is no line at all, the reason stands in its place.
    none = [] if lines else [f"{line.tool}: n/a, because {line.note}." for line in advice.lines]
    eliminations = wrapped(eliminations_in_short(advice, 3), width, "  ")
    warnings = wrapped(advice.warnings, width, "  ")
    blocks = (
        wrapped(headline(advice), width, ""),
        [f"  {line.tool}:\n    {line.text}" for line in lines] or wrapped(none, width, "  "),
        wrapped([*trade_off(advice)[:1], extent(advice)], width, ""),
        ["What was ruled out", *eliminations] if eliminations else [],
        ["To be taken with care", *warnings] if warnings else [],
    )
    return "\n\n".join("\n".join(block) for block in blocks if block)


def advice_markdown(advice: Advice, footnotes: Sequence[str] = ()) -> str:
    """Return all of the advice as a Markdown document; `footnotes` are of the results."""
    parts = ["# Advice", "", *markdown_items([*headline(advice), extent(advice)])]
    if advice.state.p is not None:
        parts += markdown_items([p_meaning()])
    if advice.lines:
        parts += ["", "## Ready lines", "", *_line_parts(advice.lines)]
        parts += [LINES_ARE]
    parts += ["", "## Time and energy", "", *markdown_items(trade_off(advice))]
    parts += _table(points_table(advice))
    eliminations = eliminations_in_short(advice)
    if eliminations:
        parts += ["", "## What was ruled out", "", *markdown_items(eliminations)]
        parts += _table(eliminations_table(advice))
    if advice.warnings:
        parts += ["", "## To be taken with care", "", *markdown_items(advice.warnings)]
    if footnotes:
        parts += ["", "## What to know of these results", "", *markdown_items(footnotes)]
    return "\n".join([*parts, ""])


def _line_parts(lines: Sequence[Line]) -> list[str]:
    parts: list[str] = []
    for line in lines:
        note = f" ({markdown_text(line.note)})" if line.note else ""
        if line.text:
            parts += [f"{line.tool}{note}:", "", "```sh", line.text, "```", ""]
        else:
            parts += [f"{line.tool}: n/a, because {markdown_text(line.note)}.", ""]
    return parts


def _table(table: Table | None) -> list[str]:
    return [] if table is None else ["", render([table], "markdown").partition("\n\n")[2].rstrip()]


def eliminations_table(advice: Advice) -> Table | None:
    """Return each case that was ruled out, the nearest to the best first; None when none was."""
    found = advice.eliminations
    return table_of("What was ruled out", _ELIMINATIONS, found) if found else None


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
        return "recommended" if candidate is advice.recommended else "the best of the others"
    return "doing nothing" if candidate is advice.reference else NOTHING


def _from_the_best(elimination: Elimination) -> str:
    by = elimination.eliminated.worse_by
    return NOTHING if by is None else behind(by)


def _why(eliminated: Eliminated) -> str:
    return one_line(": ".join(filter(None, (WHYS[eliminated.why], eliminated.reason))))


_ELIMINATIONS: tuple[Written[Elimination], ...] = (
    (Column("case", right=False), lambda each: each.candidate.name),
    (Column("from the best", right=False), _from_the_best),
    (Column("after block"), lambda each: str(each.eliminated.block or NOTHING)),
    (Column("runs"), lambda each: str(each.candidate.runs)),
    (
        Column("p, uncorrected"),
        lambda each: NOTHING if each.eliminated.p is None else f"{each.eliminated.p:.1g}",
    ),
    (Column("why", right=False), lambda each: _why(each.eliminated)),
)


def as_data(advice: Advice) -> dict[str, Any]:
    """Return the advice by names; None for what is not known."""
    state = advice.state
    return {
        "decision": state.decision,
        "sentences": list(headline(advice)),
        "objective": advice.rule.of,
        "region": advice.rule.region,
        "better": "higher" if advice.rule.higher else "lower",
        "margin": advice.rule.margin,
        "for_now": advice.for_now or None,
        "recommended": _candidate_data(advice.recommended),
        "reference": _candidate_data(advice.reference),
        "best": _candidate_data(advice.best),
        "confirmation": _confirmation_data(advice),
        "cases": advice.entrants,
        "cases_without_time": advice.no_time,
        "runs": advice.runs_made,
        "most_runs": state.most_runs,
        "within_s": advice.rule.within_s,
        "spent_s": advice.spent_s,
        "blocks": state.blocks,
        "noise": state.noise,
        "eliminated": list(map(_elimination_data, advice.eliminations)),
        "skipped": [
            _case_data(candidate) | {"reason": reason}
            for reason, candidates in advice.skipped.items()
            for candidate in candidates
        ],
        "time_and_energy": list(map(_point_data, advice.points)),
        "no_energy": advice.no_energy or None,
        "lines": [
            {"tool": line.tool, "line": line.text or None, "note": line.note or None}
            for line in advice.lines
        ],
        "next_command": advice.next_command,
        "warnings": list(advice.warnings),
    }


def _case_data(candidate: Candidate) -> dict[str, Any]:
    case = candidate.summary
    return {
        "case_id": candidate.case_id,
        "name": candidate.name,
        "table_number": case.key.table.number,
        "case_number": case.key.number,
        "ranks": case.key.table.ranks,
        "threads": case.key.table.threads,
        "mapping": case.key.mapping,
        "binding": case.key.binding,
        "schedule": case.key.table.schedule,
        "wait_policy": case.key.table.wait_policy,
        "governor": case.key.governor,
        "scheduling": case.key.scheduling or None,
        "runs": candidate.runs,
        "runs_proved": candidate.placed.proved,
        "runs_unproved": candidate.placed.unproved,
        "runs_violated": candidate.placed.violated,
    }


def _candidate_data(candidate: Candidate | None) -> dict[str, Any] | None:
    if candidate is None:
        return None
    start = candidate.start
    if start is None:
        return _case_data(candidate)
    return _case_data(candidate) | {
        "cpus": format_cpulist(start.mask),
        "cpus_by_thread": list(start.cpus) if start.binding == "pin" else None,
        "program": list(start.program),
    }


def _confirmation_data(advice: Advice) -> dict[str, Any] | None:
    confirmation = advice.confirmation
    if confirmation is None:
        return None
    bounds, gain = gain_bounds(advice), confirmation.gain
    return {
        "runs_of_best": confirmation.pairs,
        "runs_of_reference": confirmation.pairs,
        "level": advice.state.level,
        "looks": advice.state.looks,
        "p": advice.state.p,
        "ratio": _difference(confirmation.difference, confirmation.interval),
        "least_gain": bounds.low if bounds else None,
        "most_gain": bounds.high if bounds else None,
        "mean_gain": gain.share(gain.mean) if gain else None,
        "least_mean_gain": gain.share(gain.least_mean) if gain else None,
        "other_objectives": {
            of: _difference(difference, difference.known_interval())
            for of, difference in confirmation.other_objectives.items()
        },
    }


def _difference(
    difference: Difference | None, interval: Interval | None
) -> Mapping[str, Any] | None:
    """Return a typical ratio best / reference and its interval, which needs spread."""
    if difference is None:
        return None
    return {
        "ratio": difference.ratio,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
        "df": difference.df,
    }


def _elimination_data(elimination: Elimination) -> dict[str, Any]:
    eliminated = elimination.eliminated
    return _case_data(elimination.candidate) | {
        "why": eliminated.why,
        "after_block": eliminated.block,
        "worse_by": eliminated.worse_by,
        "p": eliminated.p,
        "reason": eliminated.reason or None,
    }


def _point_data(point: Point) -> dict[str, Any]:
    return {
        "case_id": point.candidate.case_id,
        "name": point.candidate.name,
        "runs": point.candidate.runs,
        "time_mean_s": point.time_s,
        "energy_mean_j": point.energy_j,
        "on_front": point.on_front,
    }
