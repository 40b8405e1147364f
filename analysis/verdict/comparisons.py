"""Every case against its baseline, in every objective, all tested together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.findings import OBJECTIVES, Comparison, Objective
from analysis.statistics.decision import decide, more_repetitions
from analysis.statistics.difference import Difference
from analysis.statistics.holm import holm
from analysis.verdict.summaries import difference_of_summaries
from analysis.verdict.values import Values, difference_of

Case = Mapping[str, Any]
Key = tuple[str, Objective]


def differences_from_baselines(
    cases: Sequence[Case],
    baselines: Mapping[str, Case],
    values: Mapping[str, Values],
    sd_is_error: bool = False,
) -> dict[Key, Difference]:
    """Return every difference that can be had, from runs or else from summaries, by case_id.

    `sd_is_error` takes the deviations of summaries for standard errors.
    """
    found: dict[Key, Difference] = {}
    for case in cases:
        case_id, baseline = case["case_id"], baselines.get(case["case_id"])
        if baseline is None or baseline["case_id"] == case_id:
            continue
        for objective in OBJECTIVES:
            difference = difference_between(case, baseline, values, objective, sd_is_error)
            if difference is not None:
                found[case_id, objective] = difference
    return found


def difference_between(
    a: Case,
    b: Case,
    values: Mapping[str, Values],
    objective: Objective,
    sd_is_error: bool = False,
) -> Difference | None:
    """Return how two cases differ, from their runs or else from their summaries.

    None where one of them lost so many runs to placement that it is not compared.
    """
    if not (a["placed"].usable and b["placed"].usable):
        return None
    mine, theirs = values.get(a["case_id"]), values.get(b["case_id"])
    if mine and theirs:
        return difference_of(mine, theirs, objective)
    return difference_of_summaries(a, b, objective, sd_is_error)


def compare_all(
    differences: Mapping[Key, Difference], margin: float, apart: Collection[str] = ()
) -> dict[Key, Comparison]:
    """Return the comparisons of differences that are tested together.

    `apart` are the cases of which no attempt made runs together with their baseline's.
    """
    different = holm([difference.p_different for difference in differences.values()])
    outside = holm([difference.p_outside(margin) for difference in differences.values()])
    found: dict[Key, Comparison] = {}
    for (key, difference), p_different, p_outside in zip(
        differences.items(), different, outside, strict=True
    ):
        word = decide(difference.log_ratio, p_different, p_outside)
        more = None
        if word == "undecided":
            more = more_repetitions(difference, margin, len(differences))
        found[key] = Comparison(
            key[1], difference, p_different, p_outside, word, more, key[0] in apart
        )
    return found
