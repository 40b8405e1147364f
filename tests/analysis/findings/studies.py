"""Cases whose true values are known, in memory: whole grids of them, run by run or as means.

grid({"a": 1.0, "b": 1.1}, governors={"performance": 1.0, "powersave": 1.4}).cases(seed=1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise.shapes import NORMAL2, Noise
from pinstudy.analysis.findings.effects import Cases
from pinstudy.analysis.measures import Stats
from pinstudy.analysis.objectives import EDP, ENERGY, TIME
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.verdict.values import Values
from tests.support.results import TABLE, summary

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Every mapping under every governor with every program, and the true time of each in seconds.

    A case's true time is the product of its factors', unless `true` has another for
    (program, governor, mapping). The first mapping is the baseline. `noise` is by mapping; a block
    slows all its cases alike, by `shared` (sd). `as_means`: only mean, sd and n are known.
    """

    mappings: Mapping[str, float]
    governors: Mapping[str, float] = field(default_factory=lambda: {"performance": 1.0})
    programs: Mapping[str, float] = field(default_factory=lambda: {"lu": 40.0})
    true: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    noise: Mapping[str, Noise] = field(default_factory=dict)
    n: int = 10
    shared: float = 0.03
    as_means: bool = False

    def keys(self) -> list[tuple[str, str, str]]:
        return [
            (program, governor, mapping)
            for program in self.programs
            for governor in self.governors
            for mapping in self.mappings
        ]

    def true_s(self, program: str, governor: str, mapping: str) -> float:
        product = self.programs[program] * self.governors[governor] * self.mappings[mapping]
        return self.true.get((program, governor, mapping), product)

    def cases(self, seed: int) -> Cases:
        rng = np.random.default_rng(seed)
        blocks = rng.normal(0, self.shared, self.n) if not self.as_means else np.zeros(self.n)
        made = [self._case(rng, blocks, at, key) for at, key in enumerate(self.keys(), 1)]
        first = next(iter(self.mappings))
        return Cases(
            [case for case, _ in made],
            {} if self.as_means else {case.key.case_id: values for case, values in made},
            frozenset(case.key.case_id for case, _ in made if case.key.mapping == first),
        )

    def _case(
        self, rng: np.random.Generator, blocks: Array, number: int, key: tuple[str, str, str]
    ) -> tuple[Case, Values]:
        program, governor, mapping = key
        noise = self.noise.get(mapping, NORMAL2).sample(rng, (self.n,))
        times_s = self.true_s(*key) * np.exp(blocks + noise)
        case = summary(
            number,
            n=self.n,
            table=TABLE._replace(app=program),
            governor=governor,
            mapping=mapping,
            elapsed_s=Stats(self.n, float(times_s.mean()), float(times_s.std(ddof=1))),
        )
        return case, values_of(times_s, place=number)


def values_of(times_s: Array, place: int = 1, energy_j: Array | None = None) -> Values:
    """Return runs in the blocks of one attempt, in which `place` is the case's place."""
    count = len(times_s)
    nothing = np.full(count, np.nan)
    blocks = np.arange(1.0, count + 1)
    energies = nothing if energy_j is None else energy_j
    return Values(
        block=blocks,
        order=blocks * 1000 + place,
        attempt=np.ones(count),
        started_s=blocks * 1000 + place,
        repetition=blocks,
        unit=np.ones(count, dtype=np.intp),
        numbers={TIME: times_s, ENERGY: energies, EDP: times_s * energies},
    )


def changed(cases: Cases, name: str, **circumstances: object) -> Cases:
    """Return cases in which those of a mapping have other circumstances."""
    rows = [
        replace(case, circumstances=replace(case.circumstances, **circumstances))  # type: ignore[arg-type]
        if case.key.mapping == name
        else case
        for case in cases.cases
    ]
    return Cases(rows, cases.values, cases.baselines)
