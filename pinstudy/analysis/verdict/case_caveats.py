"""What limits the numbers of a case, and its comparison with the baseline: codes and facts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.decision import ALPHA, MIN_TO_DECIDE, MIN_TO_FORECAST
from pinstudy.analysis.statistics.modes import RARE_SHARE
from pinstudy.analysis.verdict.model import (
    CaseBefore,
    CaseFinding,
    Caveat,
    Comparison,
    TableFindings,
    baseline_in,
)
from pinstudy.configs.mapping import WITHIN_THE_RUN
from pinstudy.runners.records.disturbances import SHARED

# Values whose relative difference is smaller count as equal: no clock tells them apart.
SAME = 1e-12
# What the order of runs moves in a ratio is told from this share of the margin on.
TOLD_SHARE = 0.1


def caveats_of(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective, margin: float, among: int
) -> Iterator[Caveat]:
    """Yield what limits a case's row in one objective, the gravest first.

    `among` is how many cases of its configuration are compared.
    """
    if case.summary.was_skipped:
        reason = case.summary.circumstances.skip_reason or None
        yield _of(case, "left out", reason=reason)
        return
    if by_cause := dict(case.lost_of(objective).by_cause):
        yield _of(case, "lost runs", by_cause=by_cause)
    placed = case.placed
    if placed.unseen and not placed.proved + placed.lost:
        yield _of(case, "placement not looked at", runs=placed.unseen)
    if objective not in case.comparisons:
        yield from why_not_compared(case, baseline, objective)
    yield from _of_values(case, objective)
    yield from _disturbed(case)
    if objective == TIME and case.case_before is not None:
        yield from _case_before(case, case.case_before, baseline, margin)
    comparison = case.comparisons.get(objective)
    if comparison is not None and baseline is not None:
        if tool := loaded_at_start(case.summary, baseline.summary):
            yield _of(case, "loaded at start", tool=tool)
        mine, its = (compared.summary.circumstances.power_supplies for compared in (case, baseline))
        if mine and its and set(mine) != set(its):
            yield _of(case, "unlike power supply", supplies=list(mine), baseline_supplies=list(its))
        yield from _of_comparison(case, baseline, comparison, margin, among)


def _of(case: CaseFinding, code: str, **facts: Any) -> Caveat:  # noqa: ANN401
    return Caveat(code, (case.case_id,), facts)


def why_not_compared(
    case: CaseFinding, baseline: CaseFinding | None, objective: Objective
) -> Iterator[Caveat]:
    """Yield why a case has no comparison with its baseline in an objective.

    A baseline that can be compared has no reason, nor has what is not to be compared: cases that
    raced, times of a program that runs for a given time.
    """
    lost = case.lost_of(objective)
    if not lost.usable:
        yield _of(
            case, "lost too many", lost=lost.count, runs=lost.made, by_cause=dict(lost.by_cause)
        )
    elif case.out_of_turn:
        yield _of(case, "out of turn")
    elif objective not in case.samples:
        yield _not_measured(case, objective)
    elif objective in case.unclear:
        yield from _unclear(case, objective)
    elif baseline is not None and baseline is not case and _lacks_spread(case, baseline, objective):
        yield _of(case, "no spread known")


def _lacks_spread(case: CaseFinding, baseline: CaseFinding, objective: Objective) -> bool:
    """Return whether one of two cases with values has too few of them, or means alone."""
    if not baseline.has_usable(objective):
        return False
    samples = [compared.samples[objective] for compared in (case, baseline)]
    return not all(sample.sd > 0 for sample in samples)


def _not_measured(case: CaseFinding, objective: Objective) -> Caveat:
    if case.summary.stat(objective.field).n:
        return _of(case, "zero or less")
    reasons = tuple(case.summary.reasons_of(objective.field))
    return _of(case, "not measured", reasons=reasons)


def _unclear(case: CaseFinding, objective: Objective) -> Iterator[Caveat]:
    """Yield that chance decides which mode is typical, and by which modes of pairs."""
    of_pairs = case.unclear[objective]
    if of_pairs and objective not in case.modes:
        modes = [{"pairs": mode.count, "ratio": math.exp(mode.value)} for mode in of_pairs.modes]
        yield _of(case, "modes of pairs", n=of_pairs.n, modes=modes)
    if text := case.summary.circumstances.unclear.get(objective):
        yield _of(case, "modes on the card", said=text)
    yield _of(case, "no typical value")


def _of_values(case: CaseFinding, objective: Objective) -> Iterator[Caveat]:
    yield from modes_of_values(case, objective)
    slow = case.slow if objective == TIME else None
    if slow is not None and slow.count:
        yield _of(case, "slow runs", runs=slow.count, n=slow.n, least=slow.least, most=slow.most)
        if slow.count > RARE_SHARE * slow.n:
            yield _of(case, "many slow runs", runs=slow.count, n=slow.n)
    found = [outlier for outlier in case.outliers if outlier.objective == objective]
    # Of several modes the median is one, and the runs of the others would all be far from it.
    if found and objective not in case.modes:
        values = [outlier.value for outlier in found]
        yield _of(
            case,
            "outliers",
            repetitions=[outlier.repetition for outlier in found],
            least=min(values),
            most=max(values),
            unit=objective.unit,
        )


def modes_of_values(case: CaseFinding, objective: Objective) -> Iterator[Caveat]:
    """Yield the modes of a case's runs, where there are several."""
    if modes := case.modes.get(objective):
        named = [{"runs": mode.count, "about": math.exp(mode.value)} for mode in modes.modes]
        yield _of(case, "modes", n=modes.n, modes=named, unit=objective.unit)


def _disturbed(case: CaseFinding) -> Iterator[Caveat]:
    happened = case.summary.circumstances
    for name, count in happened.disturbed.items():
        yield _of(case, "disturbed", disturbance=name, runs=count, n=case.summary.n)
        if name == SHARED and happened.neighbours:
            tasks = sorted(happened.neighbours.items(), key=lambda task: -task[1].runs)
            yield _of(
                case,
                "neighbours",
                tasks=[
                    {"command": command, "runs": seen.runs, "most_s": seen.most_s}
                    for command, seen in tasks
                ],
            )
        if difference := case.disturbed_against_others.get(name):
            interval = difference.known_interval()
            yield _of(
                case,
                "disturbed against others",
                disturbance=name,
                ratio=difference.ratio,
                ratio_low=interval.low if interval else None,
                ratio_high=interval.high if interval else None,
            )


def _case_before(
    case: CaseFinding, before: CaseBefore, baseline: CaseFinding | None, margin: float
) -> Iterator[Caveat]:
    """Yield that times depend on the case before, and what that moved in the case's ratio."""
    change = before.effects[before.after]
    yield _of(
        case, "case before", after=before.after, label=before.label, change=change, p=before.p
    )
    if baseline is not None and TIME in case.comparisons:
        shift = before.shift(case.case_id, baseline.case_id)
        if shift is not None and abs(shift) >= TOLD_SHARE * margin:
            yield _of(case, "moved by the case before", shift=shift)


def _of_comparison(
    case: CaseFinding, baseline: CaseFinding, comparison: Comparison, margin: float, among: int
) -> Iterator[Caveat]:
    difference = comparison.difference
    if comparison.means_disagree(margin):
        yield _of(case, "means disagree", mean_ratio=comparison.mean_ratio)
    if comparison.unlike_means > 1:
        yield _of(case, "unlike means", times=comparison.unlike_means)
    elif comparison.spread_times is not None:
        yield _of(case, "unlike spread", times=comparison.spread_times)
    if comparison.p_slow is not None and comparison.p_slow <= ALPHA:
        yield _of(case, "share of slow runs", p=comparison.p_slow)
    if comparison.across_attempts:
        yield _of(case, "no attempt of both")
    if difference.units > 1:
        yield _of(case, "boots or days", count=difference.units)
    if comparison.outcome == "undecided":
        yield from _undecided(case, baseline, comparison, among)


def _undecided(
    case: CaseFinding, baseline: CaseFinding, comparison: Comparison, among: int
) -> Iterator[Caveat]:
    difference, more = comparison.difference, comparison.more
    if not difference.standard_error > 0:
        yield _without_spread(case, baseline, comparison)
    elif difference.n < MIN_TO_DECIDE:
        yield _of(case, "two runs decide nothing", n=difference.n)
    elif 1.0 not in difference.interval():
        yield _of(case, "corrected", comparisons=among, p=comparison.p_different)
    if more is not None:
        yield _of(case, "more repetitions", half=more.half, most=more.most)
    elif difference.units > 1:
        yield _of(case, "more boots")
        if plan := comparison.boots:
            yield _of(case, "boots that cost least", **asdict(plan))
    elif difference.n >= MIN_TO_FORECAST:
        yield _of(case, "no forecast")


def _without_spread(case: CaseFinding, baseline: CaseFinding, comparison: Comparison) -> Caveat:
    """Return that values without spread are equal, which no test can use."""
    objective = comparison.objective
    mine, theirs = case.samples[objective], baseline.samples[objective]
    if mine.sd > SAME * mine.mean or theirs.sd > SAME * theirs.mean:
        return _of(case, "equal ratios" if comparison.difference.paired else "equal middles")
    values = {
        "value": mine.mean, "n": mine.n, "baseline_value": theirs.mean, "baseline_n": theirs.n,
    }  # fmt: skip
    return _of(case, "equal values", **values, unit=objective.unit)


def loaded_at_start(case: Case, other: Case) -> str:
    """Return what is loaded into the program of one of two cases alone; empty for nothing.

    Some mechanisms do a part of their work within the program's measured time.
    """
    mine, theirs = (
        either.key.mechanism or "" if either.key.mechanism in WITHIN_THE_RUN else ""
        for either in (case, other)
    )
    return "" if mine == theirs else mine or theirs


def caveats_data(table: TableFindings, margin: float) -> list[dict[str, Any]]:
    """Return the caveats of a table's cases as plain data, equal ones once with all their cases."""
    found: list[tuple[Objective, Caveat]] = []
    for cases in table.configurations:
        baseline = baseline_in(cases)
        for objective in table.objectives:
            among = sum(objective in case.comparisons for case in cases)
            for case in cases:
                caveats = caveats_of(case, baseline, objective, margin, among)
                found += [(objective, caveat) for caveat in caveats]
    rows = []
    for same in grouped(found, lambda pair: _facts_key(pair[1])):
        ids = dict.fromkeys(case_id for _, caveat in same for case_id in caveat.cases)
        names = dict.fromkeys(str(objective) for objective, _ in same)
        rows.append(caveat_data(same[0][1]) | {"objectives": list(names), "case_ids": list(ids)})
    return rows


def caveat_data(caveat: Caveat) -> dict[str, Any]:
    """Return a caveat as plain data."""
    return {"code": caveat.code, "case_ids": list(caveat.cases)} | dict(caveat.facts)


def _facts_key(caveat: Caveat) -> str:
    return json.dumps([caveat.code, caveat.facts], sort_keys=True, default=str)
