"""The advice as plain data, unrounded, for a program to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.advice.model import Advice, Candidate, Out, Point, Trial
from analysis.advice.tell import gain_bounds, headline
from analysis.statistics.difference import Difference
from base.cpulist import format_cpulist


def as_data(advice: Advice) -> dict[str, Any]:
    """Return the advice by names; None for what is not known."""
    standing = advice.standing
    return {
        "decision": standing.decision,
        "sentences": list(headline(advice)),
        "objective": advice.rule.of,
        "better": "higher" if advice.rule.higher else "lower",
        "margin": advice.rule.margin,
        "for_now": advice.for_now or None,
        "recommended": _candidate(advice.recommended),
        "reference": _candidate(advice.reference),
        "best": _candidate(advice.best),
        "trial": _trial(advice, advice.trial),
        "cases": advice.entrants,
        "cases_without_time": advice.no_time,
        "runs": advice.made,
        "most_runs": standing.most_runs,
        "within_s": advice.rule.within_s,
        "spent_s": advice.spent_s,
        "blocks": standing.blocks,
        "noise": standing.noise,
        "eliminated": [_out(out) for out in advice.outs],
        "left_out": [
            _case(candidate) | {"reason": reason}
            for reason, candidates in advice.left_out.items()
            for candidate in candidates
        ],
        "time_and_energy": [_point(point) for point in advice.points],
        "no_energy": advice.no_energy or None,
        "lines": [
            {"tool": line.tool, "line": line.text or None, "note": line.note or None}
            for line in advice.lines
        ],
        "again": advice.again,
        "warnings": list(advice.warnings),
    }


def _case(candidate: Candidate) -> dict[str, Any]:
    case = candidate.summary
    return {
        "case_id": candidate.case_id,
        "name": candidate.name,
        "table_number": case.table.number,
        "case_number": case.number,
        "threads": case.table.threads,
        "mapping": case.mapping,
        "binding": case.binding,
        "schedule": case.table.schedule,
        "governor": case.governor,
        "runs": candidate.runs,
        "runs_proved": candidate.placed.proved,
        "runs_unproved": candidate.placed.unproved,
        "runs_violated": candidate.placed.violated,
    }


def _candidate(candidate: Candidate | None) -> dict[str, Any] | None:
    if candidate is None:
        return None
    start = candidate.start
    if start is None:
        return _case(candidate)
    return _case(candidate) | {
        "cpus": format_cpulist(start.mask),
        "cpus_by_thread": list(start.cpus) if start.binding == "pin" else None,
        "program": list(start.program),
    }


def _trial(advice: Advice, trial: Trial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    gain = gain_bounds(advice, trial.difference) if trial.difference else None
    return {
        "runs_of_best": trial.of_best,
        "runs_of_reference": trial.of_reference,
        "looks": advice.standing.looks,
        "p": advice.standing.p,
        "ratio": _difference(trial.difference),
        "least_gain": gain.low if gain else None,
        "most_gain": gain.high if gain else None,
        "beside": {of: _difference(difference) for of, difference in trial.beside.items()},
    }


def _difference(difference: Difference | None) -> Mapping[str, Any] | None:
    """Return a ratio best / reference with its 95 % interval, which needs spread."""
    if difference is None:
        return None
    known = difference.standard_error > 0
    interval = difference.interval()
    return {
        "ratio": difference.ratio,
        "ratio_low": interval.low if known else None,
        "ratio_high": interval.high if known else None,
        "df": difference.df,
    }


def _out(out: Out) -> dict[str, Any]:
    eliminated = out.eliminated
    return _case(out.candidate) | {
        "why": eliminated.why,
        "after_block": eliminated.block,
        "worse_by": eliminated.worse_by,
        "p": eliminated.p,
        "reason": eliminated.reason or None,
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "case_id": point.candidate.case_id,
        "name": point.candidate.name,
        "runs": point.candidate.runs,
        "time_mean_s": point.time_s,
        "energy_mean_j": point.energy_j,
        "on_front": point.on_front,
    }
