"""Repeating until results decide makes no differences where none are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from analysis.answer import MARGIN
from analysis.statistics.decision import Look, decide, holm
from analysis.statistics.difference import Difference
from benchmarks.noise import shapes as noise
from configs.repetitions import looks_of

# Of each shape of noise, so that it is 1000 in all.
STUDIES = 200
CASES = 5


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
