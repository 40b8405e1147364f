"""The repetitions that docs/error-rates.md advertises find the differences that they are for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks.noise import shapes as noise
from tests.analysis.statistics.test_simulated_studies import outcomes
from tests.support.tools import ROOT

EFFECTS = (0.01, 0.02, 0.05)
# Of each shape of noise; 200 studies tell a share of 90 % to 2 %.
STUDIES = 40
LEAST = 0.85


def advertised() -> list[tuple[float, int, float, int]]:
    """Return noise, mappings, effect and repetitions of each cell of the page's table."""
    page = (ROOT / "docs" / "error-rates.md").read_text(encoding="utf-8")
    table = page.partition("## How many repetitions")[2].partition("\n\nNoise is")[0]
    rows = re.findall(r"^\| ([0-9.]+) % \|((?: [0-9]+ \|){6})$", table, re.MULTILINE)
    return [
        (float(sd) / 100, mappings, effect, int(repetitions))
        for sd, cells in rows
        for (mappings, effect), repetitions in zip(
            [(mappings, effect) for mappings in (2, 5) for effect in EFFECTS],
            cells.strip("| ").split(" | "),
            strict=True,
        )
    ]


def called(
    sd: float, mappings: int, effect: float, repetitions: int, outcome: str, seed: int
) -> float:
    """Return in what share of simulated studies the second mapping is called so."""
    rng = np.random.default_rng(seed)
    decided = []
    for draw in noise.ALL.values():
        shape = (STUDIES, mappings, repetitions)
        blocks = 1 + 0.01 * rng.normal(size=(STUDIES, 1, repetitions))
        times = (1 + sd * draw(rng, shape)) * blocks
        times[:, 1] *= 1 + effect
        decided += [outcomes(study)[0] == outcome for study in np.log(times)]
    return float(np.mean(decided))


def test_the_page_advertises_five_rows() -> None:
    assert len(advertised()) == 30


@pytest.mark.parametrize(("sd", "mappings", "effect", "repetitions"), advertised())
def test_the_advertised_repetitions_find_the_difference(
    sd: float, mappings: int, effect: float, repetitions: int
) -> None:
    assert called(sd, mappings, effect, repetitions, "worse", seed=21) >= LEAST


def test_half_of_the_advertised_repetitions_would_often_miss_it() -> None:
    # So the table is no promise that anything keeps.
    assert called(0.01, 2, 0.02, 4, "worse", seed=22) < LEAST
    assert called(0.02, 5, 0.02, 17, "worse", seed=22) < LEAST
