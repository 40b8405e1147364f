"""The trial of a race's best case against its reference: what their fresh runs say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.advice.model import Trial
from analysis.advice.raced import Raced
from analysis.findings import OBJECTIVES, Objective
from analysis.frame import good_runs
from analysis.statistics.difference import Difference
from analysis.verdict.values import LEAST, MOST
from runners.race.state import RaceState


def trial_of(raced: Raced, standing: RaceState, frame: pd.DataFrame) -> Trial | None:
    """Return what the trial's runs say; None when none were made.

    They are compared unpaired (Welch), for the noisier of both may have more runs in a block.
    """
    if standing.best is None or not any(standing.confirmation.values()):
        return None
    sides = [standing.best, standing.reference]
    values = [
        [
            run.value
            for repetition in standing.confirmation.get(case_id, ())
            if (run := raced.runs[case_id, repetition]).value is not None
        ]
        for case_id in sides
    ]
    runs = trial_runs(standing, frame)
    beside: dict[Objective, Difference] = {}
    for objective, measure in OBJECTIVES.items():
        known = [runs[measure][runs["case_id"] == case_id].dropna() for case_id in sides]
        measured = [of[of.between(LEAST, MOST, inclusive="neither")].tolist() for of in known]
        difference = _difference(*measured)
        if difference is not None and objective != raced.rule.of:
            beside[objective] = difference
    return Trial(len(values[0]), len(values[1]), _difference(*values), beside)


def trial_runs(standing: RaceState, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the good runs of the trial."""
    good = good_runs(frame)
    keys = {(case, repetition) for case, of in standing.confirmation.items() for repetition in of}
    made = zip(good["case_id"], good["repetition"], strict=True)
    return good[np.fromiter((key in keys for key in made), dtype=bool, count=len(good))]


def _difference(best: Sequence[float], reference: Sequence[float]) -> Difference | None:
    if min(len(best), len(reference)) < 2:
        return None
    return Difference.welch(np.log(best), np.log(reference))
