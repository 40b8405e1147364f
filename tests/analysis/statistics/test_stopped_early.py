"""Repeating until a precision is reached, or results decide, makes no differences where none are.

A case ends by the rule that runs by, looking at its own spread after every block; its baseline goes
on. Of each pair of cases only their common blocks are compared.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.answer import MARGIN
from analysis.statistics.decision import Look, decide, holm
from analysis.statistics.difference import Difference
from benchmarks.noise import shapes as noise
from configs.repetitions import Precision, looks_of
from runners.study.precision import CasePrecision

# Of each shape of noise, so that it is 1000 in all.
STUDIES = 200
CASES = 5
MOST = 50


def blocks_made(times: NDArray[np.float64]) -> int:
    """Return after how many runs a case ends."""
    known = CasePrecision(Precision(least=5, half_width=0.01, of=("time",)))
    for made, time in enumerate(times.tolist(), 1):
        known.add({"time": time})
        if known.reached:
            return made
    return MOST


def ends_and_p_values(draw: noise.Draw, sd: float) -> tuple[list[int], list[list[float]]]:
    """Return after how many runs cases ended, and the p-values of each study's comparisons."""
    rng = np.random.default_rng(19)
    machine = 1 + 0.01 * rng.normal(size=(STUDIES, 1, MOST))
    times = (1 + sd * draw(rng, (STUDIES, CASES, MOST))) * machine
    logs = np.log(times)
    ended = [[blocks_made(case) for case in study[1:]] for study in times]
    p_values = [
        [
            Difference.of_pairs(study[case, :end], study[0, :end]).p_different
            for case, end in enumerate(ends, 1)
        ]
        for study, ends in zip(logs, ended, strict=True)
    ]
    return [end for ends in ended for end in ends], p_values


@pytest.mark.parametrize("sd", [0.005, 0.012, 0.02])
def test_cases_that_end_early_are_called_different_in_at_most_5_of_100_studies(sd: float) -> None:
    ended: list[int] = []
    false = 0
    for draw in noise.ALL.values():
        ends, studies = ends_and_p_values(draw, sd)
        ended += ends
        false += sum(min(holm(p_values)) <= 0.05 for p_values in studies)
    assert np.mean(np.array(ended) < MOST) > 0.95
    assert false / (STUDIES * len(noise.ALL)) <= 0.05


def looks_until_decided(times: NDArray[np.float64], planned: list[int]) -> tuple[int, bool]:
    """Return at how many repetitions a study ends that ends when it decides, and if it is wrong.

    Nothing differs, so that any word but equivalent is wrong.
    """
    logs = np.log(times)
    look = Look(planned=len(planned))
    for made in planned:
        found = [Difference.of_pairs(case[:made], logs[0, :made]) for case in logs[1:]]
        different = holm([each.p_different / look.share for each in found])
        outside = holm([each.p_outside(MARGIN) / look.share for each in found])
        words = [
            decide(each.log_ratio, *p_values)
            for each, *p_values in zip(found, different, outside, strict=True)
        ]
        if made == planned[-1] or "undecided" not in words:
            break
    return made, bool({"better", "worse"} & set(words))


@pytest.mark.parametrize("sd", [0.002, 0.012, 0.05])
def test_studies_that_go_on_until_they_decide_are_wrong_in_at_most_5_of_100(sd: float) -> None:
    planned = looks_of(5, 40)
    ends, false = [], 0
    for draw in noise.ALL.values():
        rng = np.random.default_rng(23)
        times = 1 + sd * draw(rng, (STUDIES, CASES, planned[-1]))
        for study in times:
            made, is_wrong = looks_until_decided(study, planned)
            ends.append(made)
            false += is_wrong
    # The less noise, the earlier they end.
    assert set(ends) <= set(planned)
    assert (np.mean(ends) < 15) == (sd == 0.002)
    assert false / (STUDIES * len(noise.ALL)) <= 0.05
