"""The answers of results beyond one configuration, together, and as plain data for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pinstudy.analysis.advice.lines import ready_lines, start_of
from pinstudy.analysis.findings.effects import TAIL, Cases, Effect, Why, cases_of
from pinstudy.analysis.findings.levers import Lever, levers_of, objectives_of
from pinstudy.analysis.findings.one_for_all import OneForAll, one_for_all, one_for_all_data
from pinstudy.analysis.objectives import OBJECTIVES, Objective
from pinstudy.analysis.records.gathered import command_line
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.decision import MIN_TO_DECIDE
from pinstudy.analysis.statistics.difference import Estimand
from pinstudy.analysis.statistics.sample import Interval, named_ends, typical
from pinstudy.analysis.verdict.model import Findings
from pinstudy.runners.records.status import OK


@dataclass(frozen=True)
class Answers:
    """What results say beyond one configuration."""

    levers: tuple[Lever, ...]
    one_for_all: tuple[OneForAll, ...]
    best: tuple[BestCase, ...]


def answers_of(results: Results, findings: Findings) -> Answers:
    """Return the levers, the one mapping for all, and the best cases of results."""
    cases = cases_of(results, findings)
    return Answers(levers_of(cases), one_for_all(cases), best_cases(results, cases))


def as_data(answers: Answers) -> dict[str, Any]:
    """Return the answers as plain data, unrounded."""
    return {
        "levers": [_lever_data(lever) for lever in answers.levers],
        "one_for_all": [one_for_all_data(answer) for answer in answers.one_for_all],
        "best_cases": [_best_data(best) for best in answers.best],
    }


def _lever_data(lever: Lever) -> dict[str, Any]:
    ranges = {objective: lever.range_of(objective) for objective in objectives_of(lever.pairs)}
    return {
        "factor": lever.factor,
        "level": lever.level,
        "reference": lever.reference,
        "default_mapping": lever.is_default,
        "ranges": {
            str(objective): None
            if found is None
            else {
                "low": found.low,
                "high": found.high,
                **named_ends("interval", found.interval),
                "pairs": found.pairs,
            }
            for objective, found in ranges.items()
        },
        "pairs": [
            {
                "case_id": pair.case.key.case_id,
                "reference_id": pair.reference.key.case_id,
                "effects": {
                    str(objective): _effect_data(effect)
                    for objective, effect in pair.effects.items()
                },
                "missing": {str(objective): why for objective, why in pair.missing.items()},
            }
            for pair in lever.pairs
        ],
    }


def _effect_data(effect: Effect) -> dict[str, Any]:
    difference = effect.difference
    return {
        "ratio": effect.ratio,
        **named_ends("interval", effect.between()),
        "estimand": difference.estimand if difference else "mean",
        "n": difference.n if difference else None,
    }


def _best_data(best: BestCase) -> dict[str, Any]:
    return {
        "objective": str(best.objective),
        "app": best.case.key.table.app,
        "case_id": best.case.key.case_id,
        "value": best.value,
        "unit": best.objective.unit,
        "estimand": best.estimand,
        "reference_id": best.reference.key.case_id if best.reference else None,
        "ratio": best.effect.ratio if best.effect else None,
        **named_ends("interval", best.interval),
        "not_shown_worse": [case.key.case_id for case in best.also],
        "unknown": [case.key.case_id for case in best.unknown],
        "compared": best.compared,
        "missing": dict(best.missing),
        "line": best.line or None,
    }


@dataclass(frozen=True)
class BestCase:
    """The case of a program that has the least of an objective.

    `value` is the typical value, or the mean where there are no runs (`estimand`), in the
    objective's unit. `reference` is the baseline of fewest threads, None where no baseline can be
    compared; `effect` is the value over the reference's, None of the reference itself, and
    `interval` that of the effect, None where a deviation is not known. `also` are the cases that
    are not shown to be worse, `unknown` those that cannot be compared with it, or lack deviations.
    `compared` cases had a value; `missing` counts the others by why.
    `line` starts the program in this way; empty where no record says how.
    """

    objective: Objective
    case: Case
    value: float
    estimand: Estimand
    reference: Case | None
    effect: Effect | None
    interval: Interval | None
    also: tuple[Case, ...]
    unknown: tuple[Case, ...]
    compared: int
    missing: Mapping[Why, int]
    line: str

    def gains(self, margin: float) -> bool:
        """Return whether it is better than the reference by more than the margin, a share.

        It has to be shown where there is an interval, and is taken from the means elsewhere. So few
        runs as decide no comparison show none.
        """
        if self.effect is None or not self.effect.ratio < 1 / (1 + margin):
            return False
        difference = self.effect.difference
        if difference is not None and difference.n < MIN_TO_DECIDE:
            return False
        if any(case is not None and case.n == 1 for case in (self.case, self.reference)):
            return False
        return self.interval is None or self.interval.high < 1


def best_cases(results: Results, cases: Cases) -> tuple[BestCase, ...]:
    """Return the best case of each program and objective that has several cases.

    Beside a co-runner a program is another one, and energy is that of both.
    """
    # Others do the same work with other builds, ranks and threads.
    programs = grouped((case for case in cases.cases if not case.key.co_runner), _work)
    found = [
        best
        for objective in OBJECTIVES
        for cases_of_program in programs
        for best in _best(cases, cases_of_program, objective)
    ]
    lines = _launch_lines(results, [best.case for best in found])
    return tuple(replace(best, line=lines.get(best.case.key.case_id, "")) for best in found)


def _work(case: Case) -> tuple[object, ...]:
    key = case.key
    return key.study, key.node_id, key.table.app, key.table.size, key.of_vcpus is not None


def _best(cases: Cases, of_program: Sequence[Case], objective: Objective) -> Iterator[BestCase]:
    missing = Counter(
        why for case in of_program if (why := cases.why_not(case, objective)) is not None
    )
    known = [case for case in of_program if cases.why_not(case, objective) is None]
    if len(known) < 2:
        return
    values = {case.key.case_id: _value(cases, case, objective) for case in known}
    best = min(known, key=lambda case: values[case.key.case_id])
    tail = TAIL / len(known)
    baselines = [case for case in known if case.key.case_id in cases.baselines]
    reference = min(baselines, key=lambda case: case.key.table.all_threads, default=None)
    effect = interval = None
    if reference is not None and reference is not best:
        found = cases.effect(best, reference, objective)
        effect = found if isinstance(found, Effect) else None
        interval = _interval(found, tail)
    others = [(case, _interval(cases.effect(case, best, objective), tail)) for case in known]
    yield BestCase(
        objective,
        best,
        values[best.key.case_id],
        "typical" if best.key.case_id in cases.values else "mean",
        reference,
        effect,
        interval,
        tuple(case for case, reach in others if case is not best and reach and reach.low <= 1),
        tuple(case for case, reach in others if case is not best and reach is None),
        len(known),
        missing,
        line="",
    )


def _interval(effect: Effect | Why, tail: float) -> Interval | None:
    return effect.between(tail, tail) if isinstance(effect, Effect) else None


def _value(cases: Cases, case: Case, objective: Objective) -> float:
    values = cases.values.get(case.key.case_id)
    if values is None:
        return cases.mean(case, objective)
    return typical(values.measured(objective))


def _launch_lines(results: Results, cases: Collection[Case]) -> dict[str, str]:
    if results.runs is None:
        return {}
    by_id = {case.key.case_id: case for case in cases}
    tables = [case.key.table for case in results.cases]
    lines: dict[str, str] = {}
    for record in results.runs.firsts:
        case = by_id.get(str(record.get("case_id")))
        if case is not None and record.get("status") == OK and case.key.case_id not in lines:
            lines[case.key.case_id] = _launch_line(case, record, tables)
    return lines


def _launch_line(case: Case, record: Mapping[str, Any], tables: Collection[TableKey]) -> str:
    """Return the plainest line of a case; of ranks, which have none, the command that was run.

    A program may use OpenMP where `tables`, those of all results, have several threads. Every run
    has a schedule set, so that a line without it could start another one.
    """
    start = start_of(case, record)
    if start is None:
        return command_line(record)
    lines = ready_lines(
        replace(
            start,
            counted=start.openmp or any(table.threads > 1 for table in tables),
            schedule=None if case.key.no_schedule else start.schedule,
        )
    )
    return next((line.text for line in lines if line.text), "")
