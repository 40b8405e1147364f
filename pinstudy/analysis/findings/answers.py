"""The answers of results beyond one configuration, together, and as plain data for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pinstudy.analysis.findings.best_cases import BestCase, best_cases
from pinstudy.analysis.findings.effects import Effect, cases_of
from pinstudy.analysis.findings.levers import Lever, levers_of
from pinstudy.analysis.findings.one_for_all import Default, Loss, OneForAll, one_for_all
from pinstudy.analysis.format.numbers import finite
from pinstudy.analysis.objectives import OBJECTIVES
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.model import Findings


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
        "one_for_all": [_one_for_all_data(answer) for answer in answers.one_for_all],
        "best_cases": [_best_data(best) for best in answers.best],
    }


def _lever_data(lever: Lever) -> dict[str, Any]:
    ranges = {of: lever.range_of(of) for of in OBJECTIVES}
    return {
        "factor": lever.factor,
        "level": lever.level,
        "reference": lever.reference,
        "default_mapping": lever.is_default,
        "ranges": {
            str(of): None
            if found is None
            else {
                "low": found.low,
                "high": found.high,
                **_ends(found.interval),
                "pairs": found.pairs,
            }
            for of, found in ranges.items()
        },
        "pairs": [
            {
                "case_id": pair.case.key.case_id,
                "reference_id": pair.reference.key.case_id,
                "effects": {str(of): _effect_data(effect) for of, effect in pair.effects.items()},
                "missing": {str(of): why for of, why in pair.missing.items()},
            }
            for pair in lever.pairs
        ],
    }


def _effect_data(effect: Effect) -> dict[str, Any]:
    difference = effect.difference
    return {
        "ratio": effect.ratio,
        **_ends(effect.between()),
        "estimand": difference.estimand if difference else "mean",
        "n": difference.n if difference else None,
    }


def _ends(interval: Interval | None) -> dict[str, float | None]:
    low, high = (interval.low, interval.high) if interval else (math.nan, math.nan)
    return {"interval_low": finite(low), "interval_high": finite(high)}


def _loss_data(loss: Loss) -> dict[str, Any]:
    return {"ratio": loss.ratio, **_ends(loss.interval)}


def default_data(default: Default) -> dict[str, Any]:
    """Return a mapping's losses as plain data, unrounded."""
    return {
        "mapping": default.mapping,
        "worst": _loss_data(default.worst),
        "mean": _loss_data(default.mean),
        "compared": default.compared,
        "missing": dict(default.missing),
        "against_fewer": default.against_fewer,
    }


def _one_for_all_data(answer: OneForAll) -> dict[str, Any]:
    return {
        "objective": str(answer.objective),
        "in_guests": answer.in_guests,
        "defaults": [default_data(default) for default in answer.defaults],
        "configurations": [
            {
                "example": configuration.example.key.case_id,
                "losses": {name: _loss_data(of) for name, of in configuration.losses.items()},
                "missing": dict(configuration.missing),
            }
            for configuration in answer.configurations
        ],
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
        **_ends(best.interval),
        "not_shown_worse": [of.key.case_id for of in best.also],
        "unknown": [of.key.case_id for of in best.unknown],
        "compared": best.compared,
        "missing": dict(best.missing),
        "line": best.line or None,
    }
