"""The advice of a race as plain data, for a program to read: numbers unrounded, no sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinstudy.analysis.advice.model import Advice, Candidate, CasePoint, Elimination
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import Interval, named_ends
from pinstudy.base.cpulist import format_cpulist


def as_data(advice: Advice) -> dict[str, Any]:
    """Return the advice by names; None for what is not known."""
    state = advice.state
    return {
        "decision": state.decision,
        "command": advice.command or None,
        "objective": advice.rule.of,
        "region": advice.rule.region,
        "better": "higher" if advice.rule.higher else "lower",
        "margin": advice.rule.margin,
        "quiet": {"runs": advice.trial_runs, "runs_disturbed": advice.disturbed_runs},
        "cpus_left_free": format_cpulist(advice.left_free) or None,
        "recommended": _candidate_data(advice.recommended),
        "reference": _candidate_data(advice.reference),
        "best": _candidate_data(advice.best),
        "confirmation": _confirmation_data(advice),
        "cases": advice.entrants,
        "cases_without_time": advice.no_time,
        "runs": advice.runs_made,
        "most_runs": state.most_runs,
        "time_budget_s": advice.rule.time_budget_s,
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
        "lines": [{"tool": line.tool, "line": line.text} for line in advice.lines if line.text],
        "next_command": advice.next_command,
        "limited_by": advice.limited_by or None,
        "no_reference": advice.why_no_reference or None,
        "caveats": [
            {
                "code": caveat.code,
                "names": list(caveat.names),
                "numbers": dict(caveat.numbers),
                "command": caveat.text or None,
            }
            for caveat in advice.caveats
        ],
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
        "settings": case.key.settings.asked or None,
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
    bounds, gain = advice.gains, confirmation.gain
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
            objective: _difference(difference, difference.known_interval())
            for objective, difference in confirmation.other_objectives.items()
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
        **named_ends("ratio", interval),
        "df": difference.df,
    }


def _elimination_data(elimination: Elimination) -> dict[str, Any]:
    eliminated = elimination.eliminated
    return _case_data(elimination.candidate) | {
        "outcome": elimination.outcome,
        "why": eliminated.why,
        "after_block": eliminated.block,
        "pairs": elimination.pairs,
        "ratio": elimination.ratio,
        **named_ends("ratio", elimination.interval),
        "at_least": elimination.at_least,
        "reason": eliminated.reason or None,
    }


def _point_data(point: CasePoint) -> dict[str, Any]:
    return {
        "case_id": point.candidate.case_id,
        "name": point.candidate.name,
        "runs": point.candidate.runs,
        "time_mean_s": point.time_s,
        "energy_mean_j": point.energy_j,
        "on_front": point.on_front,
    }
