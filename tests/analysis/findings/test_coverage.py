"""The intervals of levers, defaults and best cases hold what is true, 93 times of 100 or more.

Studies are drawn with known effects, under noise that is alike and unlike, and where nothing
differs, so that which mapping is best is chance alone. `make test-simulations` draws more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from analysis.findings.best_cases import best_cases
from analysis.findings.levers import levers_of
from analysis.findings.one_for_all import Loss, one_for_all
from analysis.objectives import TIME
from analysis.results.sources import Results
from analysis.statistics.sample import Interval
from benchmarks.noise.shapes import EXPONENTIAL, NORMAL2, QUIET
from tests.analysis.findings.studies import Grid

GOVERNORS = {"performance": 1.0, "powersave": 1.4}
PROGRAMS = {"lu": 40.0, "ft": 3.0}
EQUAL = {"unpinned": 1.0, "pinned": 1.0, "confined": 1.0}
CLOSE = {"unpinned": 1.0, "pinned": 0.99, "confined": 1.02}
STUDIES = {
    "equal": Grid(EQUAL, GOVERNORS, PROGRAMS),
    "close": Grid(CLOSE, GOVERNORS, PROGRAMS),
    "far": Grid({"unpinned": 1.0, "pinned": 0.8, "confined": 1.5}, GOVERNORS, PROGRAMS),
    "of five runs": Grid(CLOSE, GOVERNORS, PROGRAMS, n=5),
    "skewed": Grid(EQUAL, GOVERNORS, PROGRAMS, noise=dict.fromkeys(EQUAL, EXPONENTIAL)),
    "unlike": Grid(EQUAL, GOVERNORS, PROGRAMS, noise={"unpinned": QUIET, "pinned": NORMAL2}),
    "means": Grid(CLOSE, GOVERNORS, PROGRAMS, as_means=True),
}
NO_RUNS = Results("none", None, None, (), ())


def held(grid: Grid, seed: int) -> Iterator[tuple[str, bool]]:
    """Yield what a study claims, and whether it is true."""
    cases = grid.cases(seed)
    truth = {
        case.key.case_id: grid.true_s(case.key.table.app, case.key.governor, case.key.mapping)
        for case in cases.cases
    }
    for lever in levers_of(cases):
        ratios = []
        for pair in lever.pairs:
            if TIME not in pair.effects:
                continue
            ratios.append(truth[pair.case.key.case_id] / truth[pair.reference.key.case_id])
            yield "pair", _holds(pair.effects[TIME].between(), ratios[-1])
        if (found := lever.range_of(TIME)) is not None:
            ends = min(ratios), max(ratios)
            yield "range", all(_holds(found.interval, ratio) for ratio in ends)
    for answer in one_for_all(cases):
        losses = {mapping: list(_losses(grid, mapping)) for mapping in grid.mappings}
        complete = [of for of in answer.defaults if not of.missing and not of.against_fewer]
        for name, claims in (
            ("worst loss", [(of.worst, max(losses[of.mapping])) for of in complete]),
            ("mean loss", [(of.mean, _mean(losses[of.mapping])) for of in complete]),
        ):
            if claims:
                # All mappings together, so that one of them may be chosen.
                yield name, all(_loss_holds(loss, true) for loss, true in claims)
    for best in best_cases(NO_RUNS, cases):
        mine = [of for of in cases.cases if of.key.table.app == best.case.key.table.app]
        least = min(truth[of.key.case_id] for of in mine)
        named = (best.case, *best.also, *best.unknown)
        yield "best among", any(truth[of.key.case_id] == least for of in named)
        if best.interval is not None and best.reference is not None:
            true = truth[best.case.key.case_id] / truth[best.reference.key.case_id]
            yield "best", _holds(best.interval, true)


def _losses(grid: Grid, mapping: str) -> Iterator[float]:
    for program in grid.programs:
        for governor in grid.governors:
            times_s = {name: grid.true_s(program, governor, name) for name in grid.mappings}
            yield times_s[mapping] / min(times_s.values())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _loss_holds(loss: Loss, true: float) -> bool:
    return _holds(loss.interval, true)


def _holds(interval: Interval | None, true: float) -> bool:
    assert interval is not None
    # A loss of nothing is 1, and products of floats are not quite.
    return interval.low * (1 - 1e-12) <= true <= interval.high * (1 + 1e-12)


def coverage(grid: Grid, draws: int, seed: int) -> dict[str, float]:
    """Return the share of true claims, by kind."""
    made: Counter[str] = Counter()
    true: Counter[str] = Counter()
    for at in range(draws):
        for name, holds in held(grid, seed + at):
            made[name] += 1
            true[name] += holds
    return {name: true[name] / made[name] for name in made}


@pytest.mark.parametrize("name", STUDIES)
def test_intervals_hold_what_is_true(name: str) -> None:
    found = coverage(STUDIES[name], 60, seed=1000)
    assert len(found) >= 5
    # Of few draws: the bound less two standard errors of claims that share their studies.
    assert {kind: share for kind, share in found.items() if share < 0.93 - 0.05} == {}


@pytest.mark.simulations
@pytest.mark.parametrize("name", STUDIES)
def test_intervals_hold_what_is_true_in_many_studies(name: str) -> None:
    found = coverage(STUDIES[name], 1000, seed=5000)
    assert {kind: share for kind, share in found.items() if share < 0.93} == {}
