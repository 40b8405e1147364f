"""The answers of results beyond one configuration, together, and as plain data for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinstudy.analysis.findings.best_cases import BestCase, best_cases
from pinstudy.analysis.findings.effects import Effect, cases_of
from pinstudy.analysis.findings.levers import Lever, levers_of
from pinstudy.analysis.findings.one_for_all import (
    OneForAll,
    ends_data,
    one_for_all,
    one_for_all_data,
)
from pinstudy.analysis.objectives import OBJECTIVES
from pinstudy.analysis.results.sources import Results
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
        "one_for_all": [one_for_all_data(answer) for answer in answers.one_for_all],
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
                **ends_data(found.interval),
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
        **ends_data(effect.between()),
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
        **ends_data(best.interval),
        "not_shown_worse": [of.key.case_id for of in best.also],
        "unknown": [of.key.case_id for of in best.unknown],
        "compared": best.compared,
        "missing": dict(best.missing),
        "line": best.line or None,
    }
