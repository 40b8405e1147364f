"""Why there is no verdict, and what the means alone say where there is none."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.format.table import joined
from analysis.objectives import NOUNS, OBJECTIVES, Objective
from analysis.verdict.caveats import not_placed, unusable
from analysis.verdict.model import CaseFinding
from analysis.verdict.phrases import (
    MAX_NAMED,
    Change,
    and_others,
    change_of_means,
    leaves_all,
    name,
    names,
)
from base.text import one_line


def not_compared(
    cases: Sequence[CaseFinding],
    baseline: CaseFinding | None,
    objective: Objective,
    named: str | None = None,
) -> str:
    """Say why there is no verdict; `named` is the mapping of the baseline that the user named."""
    noun = NOUNS[objective]
    if not any(objective in case.samples for case in cases):
        if not any(case.samples for case in cases):
            return "Not compared: no run of these cases could be used."
        if objective == "edp":
            return f"Not compared: the {noun} needs package energy, which was not measured."
        return f"Not compared: {noun} was not measured{_because(cases, objective)}."
    if baseline is None:
        return _no_baseline(cases, named)
    if said := not_placed([baseline]):
        return said
    if objective not in baseline.samples:
        return f"Not compared: {noun} of the baseline {name(baseline)} is not known."
    others = [case for case in cases if case is not baseline and objective in case.samples]
    if not others:
        return f"Not compared: {name(baseline)} is the only case whose {noun} was measured."
    of_placement = not_placed(cases)
    if len(unusable(others)) == len(others):
        return of_placement
    spread = (
        f"Not compared: a spread of {noun} needs two good runs of each case, or published "
        f"deviations{_by_means(cases, baseline, objective)}."
    )
    return " ".join(filter(None, (spread, of_placement)))


def _no_baseline(cases: Sequence[CaseFinding], named: str | None) -> str:
    if named is None:
        meant = [case for case in cases if leaves_all(case.summary)]
    else:
        meant = [case for case in cases if case.mapping == named]
    if meant:
        return f"Not compared: no run of {names(meant)} could be used{_how(meant)}."
    if named is not None:
        return (
            f"Not compared: no case under these conditions has the mapping {one_line(named)}, "
            "which --baseline names."
        )
    return (
        "Not compared: no case under these conditions leaves its threads to the OS scheduler; "
        "put the mapping scheduler into the study, or name another with --baseline."
    )


def _how(cases: Sequence[CaseFinding]) -> str:
    """Return how the runs of some cases ended, in brackets; empty where there were none."""
    ends = [
        f"{count} {status}" for case in cases for status, count in case.summary.excluded.items()
    ]
    return f" ({one_line(', '.join(ends))})" if ends else ""


def _by_means(cases: Sequence[CaseFinding], baseline: CaseFinding, objective: Objective) -> str:
    """Return what the means alone say of each case; empty where they do not."""
    changes = [
        (case, of_means)
        for case in cases
        if case is not baseline and (of_means := mean_change(case, baseline, objective))
    ]
    if not changes:
        return ""
    shown = [f"{name(case)} {of_means.size}" for case, of_means in changes[:MAX_NAMED]]
    said = ", ".join([*shown, *and_others([case for case, _ in changes])])
    return f"; by the means alone, against {name(baseline)}: {said}"


def _because(cases: Sequence[CaseFinding], objective: Objective) -> str:
    reasons = dict.fromkeys(
        one_line(reason)
        for case in cases
        for reason in case.summary.reasons.get(OBJECTIVES[objective], ())
    )
    return f", because {joined(reasons)}" if reasons else ""


def mean_change(case: CaseFinding, baseline: CaseFinding, objective: Objective) -> Change | None:
    """Return how the means differ, where there is no interval: `8.8 % less`; None if unknown."""
    mine, theirs = case.samples.get(objective), baseline.samples.get(objective)
    if not (mine and theirs) or unusable((case, baseline)):
        return None
    return change_of_means(mine.mean / theirs.mean, objective)
