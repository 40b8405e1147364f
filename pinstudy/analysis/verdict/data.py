"""Findings as plain data for programs: numbers unrounded, codes and names, and no sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pinstudy.analysis.format.numbers import finite
from pinstudy.analysis.measures import BY_FIELD, ENERGY_BY_KIND, csv_column
from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.statistics.decision import ALPHA
from pinstudy.analysis.statistics.drift import Drift, Trend
from pinstudy.analysis.statistics.sample import named_ends
from pinstudy.analysis.verdict.case_caveats import caveat_data, caveats_data
from pinstudy.analysis.verdict.comparisons import ALIKE, LOGNORMAL, false_rates, unseen_slow_runs
from pinstudy.analysis.verdict.costs import raw_division
from pinstudy.analysis.verdict.model import (
    CaseFinding,
    Decision,
    Findings,
    Gain,
    TableFindings,
    baseline_in,
)
from pinstudy.analysis.verdict.reach import raw_reach
from pinstudy.base.text import one_line
from pinstudy.configs.values import DIRECTIONS


def as_data(findings: Findings) -> dict[str, Any]:
    """Return the findings as plain data; docs/verdict-json.md has the fields."""
    unseen = unseen_slow_runs(findings)
    return {
        "margin": findings.margin,
        "comparisons": findings.comparisons,
        "questions": findings.questions,
        "look": findings.look.number,
        "planned_looks": findings.look.planned,
        "level": findings.look.share * ALPHA,
        "boots_or_days": findings.units or None,
        "raced": findings.raced,
        "largest_gains": [
            {
                "objective": largest.objective,
                "unit": largest.objective.unit,
                "case_id": largest.case.case_id,
                **_gain_data(largest.gain),
            }
            for largest in findings.largest_gains
        ],
        "tables": [_table_data(table, findings.margin) for table in findings.tables],
        "drift": _drift_data(findings.drift),
        "case_before": findings.case_before and asdict(findings.case_before),
        "false_differences": [
            {
                "estimand": rate.estimand,
                "comparisons": rate.comparisons,
                "n": rate.n,
                "share": ALIKE,
                "share_lognormal": LOGNORMAL if rate.estimand == "typical" else None,
                "share_slow_on_one_side": rate.share_unlike,
            }
            for rate in false_rates(findings)
        ],
        "unseen_slow_runs": unseen
        and {"n": unseen.n, "share": unseen.share, "enough": unseen.enough},
        "footnotes": list(findings.footnotes),
        "next_command": findings.next_command or None,
    }


def _table_data(table: TableFindings, margin: float) -> dict[str, Any]:
    scope = next(filter(None, (case.summary.energy_scope for case in table.cases)), None)
    return {
        "title": table.title,
        # Without it: of the packages, or none.
        **({} if scope in (None, "package") else {"energy_scope": scope}),
        "decisions": [_decision_data(decision) for decision in table.decisions],
        "caveats": caveats_data(table, margin),
        "comparisons": [
            raw_comparisons(case, baseline, table.objectives)
            for cases in table.configurations
            for baseline in (baseline_in(cases),)
            for case in cases
        ],
        "slowdowns": [raw_slowdown(case) for case in table.cases if case.slowdown],
        "statistics": [
            raw_statistics(case, objective)
            for case in table.cases
            for objective in table.objectives
            if objective in case.samples
        ],
        "bounds": [
            _identity(case) | raw_reach(reach) for case in table.cases for reach in case.reaches
        ],
        "energy_by_kind": [
            raw_price(case) for case in table.cases if case.summary.by_kind(ENERGY_BY_KIND)
        ],
        "divided_work": [
            _identity(case) | row for case in table.cases if (row := raw_division(case))
        ],
    }


def _decision_data(decision: Decision) -> dict[str, Any]:
    best, explained = decision.best, decision.explained
    return {
        "objective": decision.objective,
        "unit": decision.objective.unit,
        "better": DIRECTIONS[decision.objective.higher],
        "governor": decision.governor,
        "co_runner": decision.co_runner,
        "decision": decision.choice,
        "best": _identity(best) if best else None,
        "gain": _gain_data(decision.gain) if decision.gain else None,
        "as_good": [
            {"case_id": rival.case.case_id, "outcome": rival.outcome} for rival in decision.as_good
        ],
        "lacking": [caveat_data(caveat) for caveat in decision.lacking],
        "spread_times_of_means": decision.unlike_means if decision.unlike_means > 1 else None,
        "goes_with": [
            {
                "case_id": explained.case_id,
                "measure": change.measure,
                "kind": change.kind,
                "baseline": change.baseline,
                "mean": change.mean,
            }
            for change in decision.goes_with
        ]
        if explained
        else [],
    }


def _gain_data(gain: Gain) -> dict[str, Any]:
    return {"ratio": gain.ratio, **named_ends("ratio", gain.interval), "among": gain.among}


def _drift_data(drift: Drift | None) -> dict[str, Any] | None:
    if drift is None:
        return None
    return {
        "over_time": _trend_data(drift.over_time),
        "over_temperature": _trend_data(drift.over_temperature),
        "steps": [
            {"before": step.before, "after": step.after} | (_trend_data(step.trend) or {})
            for step in drift.steps
        ],
    }


def _trend_data(trend: Trend | None) -> dict[str, Any] | None:
    if trend is None:
        return None
    return {
        "found": trend.found,
        "change": finite(trend.change),
        "slope": finite(trend.slope),
        "slope_low": finite(trend.interval.low),
        "slope_high": finite(trend.interval.high),
        "span": finite(trend.span),
        "p": finite(trend.p),
        "n": trend.n,
    }


def raw_price(case: CaseFinding) -> dict[str, Any]:
    """Return a case's joules by core kind, unrounded; a kind without a number is missing."""
    return _identity(case) | {
        csv_column(BY_FIELD[ENERGY_BY_KIND].column(kind), "mean"): finite(mean)
        for kind, mean in case.summary.means_by_kind(ENERGY_BY_KIND).items()
    }


def raw_slowdown(case: CaseFinding) -> dict[str, object]:
    """Return what a case and its co-runner cost each other, unrounded."""
    slowdown = case.slowdown
    assert slowdown
    measures = case.summary.stats
    values: dict[str, object] = _identity(case) | {
        "co_runner": case.summary.key.co_runner,
        "alone_number": slowdown.alone,
        "co_runner_elapsed_mean_s": finite(measures["co_runner_elapsed_s"].mean),
        "co_runner_alone_mean_s": finite(slowdown.co_runner_alone_s),
        "co_runner_rate_mean_hz": finite(measures["co_runner_rate_hz"].mean),
    }
    for name, difference in (
        ("slowdown", slowdown.of_program),
        ("co_runner_slowdown", slowdown.of_co_runner),
    ):
        values |= {
            name: difference.ratio if difference else None,
            **named_ends(name, difference.known_interval() if difference else None),
            f"{name}_n": difference.n if difference else None,
            f"{name}_paired": difference.paired if difference else None,
        }
    return values


def raw_statistics(case: CaseFinding, objective: Objective) -> dict[str, Any]:
    """Return what a case's runs say in one objective, unrounded; None for what they do not say."""
    sample = case.samples[objective]
    slow = case.slow if objective == TIME else None
    return _identity(case) | {
        "objective": objective,
        "unit": objective.unit,
        "n": sample.n or None,
        "lost": case.lost.count if case.lost.is_known else None,
        "mean": sample.mean,
        **named_ends("mean", sample.mean_interval),
        "median": finite(sample.median),
        **named_ends("median", sample.median_interval),
        "sd": finite(sample.sd),
        "cv": finite(sample.cv),
        "modes": [
            {"runs": mode.count, "about": math.exp(mode.value)}
            for mode in (case.modes[objective].modes if objective in case.modes else ())
        ],
        "slow_runs": slow.count if slow else None,
        "slow_least": slow.least if slow and slow.count else None,
        "slow_most": slow.most if slow and slow.count else None,
        "outliers": [
            {"repetition": outlier.repetition, "value": outlier.value, "score": outlier.score}
            for outlier in case.outliers
            if outlier.objective == objective
        ],
    }


def raw_comparisons(
    case: CaseFinding, baseline: CaseFinding | None, objectives: Sequence[Objective]
) -> dict[str, Any]:
    """Return a case's comparisons, unrounded, by names that begin with the objective.

    Where none is known, the ratio of the means may be.
    """
    values: dict[str, Any] = _identity(case) | {
        "is_baseline": case.is_baseline,
        "on_front": case.on_front,
        "runs_proved": case.placed.proved,
        "runs_unproved": case.placed.unproved,
        "runs_violated": case.placed.violated,
        "placement_usable": case.placed.usable,
        "runs_lost": case.lost.count if case.lost.is_known else None,
        "lost_by_cause": dict(case.lost.by_cause),
        "usable": case.lost.usable,
        "in_turn": not case.out_of_turn,
    }
    values |= {f"{objective}_outcome": "several modes" for objective in case.unclear}
    for objective, comparison in case.comparisons.items():
        difference = comparison.difference
        values |= {
            f"{objective}_ratio": difference.ratio,
            **named_ends(f"{objective}_ratio", difference.known_interval()),
            f"{objective}_estimand": difference.estimand,
            f"{objective}_cut_from_each_end": difference.cut,
            f"{objective}_boots_or_days": difference.units,
            f"{objective}_paired": difference.paired,
            f"{objective}_n": difference.n,
            f"{objective}_df": difference.df,
            f"{objective}_p_different": comparison.p_different,
            f"{objective}_p_outside_margin": comparison.p_outside,
            f"{objective}_outcome": comparison.outcome,
            f"{objective}_more_repetitions_half": comparison.more.half if comparison.more else None,
            f"{objective}_more_repetitions": comparison.more.most if comparison.more else None,
            f"{objective}_mean_ratio": comparison.mean_ratio,
            f"{objective}_spread_times": comparison.spread_times,
            f"{objective}_in_other_attempts": comparison.across_attempts,
        }
    if baseline is not None and baseline is not case:
        for objective in objectives:
            by_means = finite(case.mean_ratio(baseline, objective))
            if by_means is not None and objective not in case.comparisons:
                values[f"{objective}_mean_ratio"] = by_means
    if "time" in case.comparisons:
        values["time_p_slow"] = case.comparisons["time"].p_slow
    return values


def _identity(case: CaseFinding) -> dict[str, Any]:
    return {
        "case_id": case.case_id,
        "case_number": case.number,
        "mapping": one_line(case.mapping),
        "vcpu_mapping": case.summary.key.vcpu_mapping,
        "settings": case.summary.key.settings.asked or None,
        "governor": one_line(case.governor),
    }
