"""Simulated histories of a study: false change points, false words on the newest, and power.

A value is the typical time of ten runs with noise of 1 %. Days differ by 0.5 % in all cases, and
each case by 0.5 % more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.statistics.changepoints import change_points, newest_difference
from pinstudy.analysis.statistics.difference import centre_of
from pinstudy.analysis.statistics.sample import Array, cut_from_each_end
from pinstudy.analysis.verdict.comparisons import compare_all

_RUNS, _RUN, _DAY, _CASE = 10, 0.01, 0.005, 0.005
_STEP = 0.03
_MARGIN = 0.01
CASES = 10
RESULTS = (4, 8, 12, 20, 50)
# Results, and the first of the new level.
STEPS = ((4, 2), (6, 4), (8, 4), (8, 6), (12, 9), (20, 10), (20, 17))
BETWEEN = (0.0, 0.005, 0.01)
LOOKS = range(4, 53)

Effects = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _bad(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.1, 0.05, 0.0)


def _none(_rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.zeros(shape)


def _modes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.5, 0.03, 0.0)


def _heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _CASE * np.asarray(rng.standard_t(3, shape))


# What comes on top: of a day in all cases, and of a case on a day.
NOISES: Mapping[str, tuple[Effects, Effects]] = {
    "normal": (_none, _none),
    "heavy (t, 3 df)": (_heavy, _heavy),
    "1 day in 10 is 5 % slow": (_bad, _none),
    "a case is 5 % slow on 1 day in 10": (_none, _bad),
    "a case has a day's mode, 3 % apart": (_none, _modes),
}


def _typical(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    runs = _RUN * rng.normal(size=(*shape, _RUNS))
    cut = cut_from_each_end(_RUNS)
    return np.apply_along_axis(lambda logs: centre_of(logs, cut).value, -1, runs)


def _history(rng: np.random.Generator, results: int, noise: str) -> list[Array]:
    of_days, of_cases = NOISES[noise]
    shape = CASES, results
    days = _DAY * rng.normal(size=results) + of_days(rng, (results,))
    own = _CASE * rng.normal(size=shape) + of_cases(rng, shape)
    return list(_typical(rng, shape) + days + own)


def alarms(studies: int, seed: int, percent: Callable[[float], str]) -> Iterator[Sequence[str]]:
    """Yield the histories without a change with any change point, and with a word on the newest."""
    for noise in NOISES:
        row = [noise]
        for results in RESULTS:
            rng = np.random.default_rng(seed)
            drawn = [_history(rng, results, noise) for _ in range(studies)]
            points = np.mean([any(change_points(family)) for family in drawn])
            words = np.mean([_is_told(family) for family in drawn])
            row.append(f"{percent(float(points))} / {percent(float(words))}")
        yield row


def _is_told(family: Sequence[Array]) -> bool:
    before = change_points([logs[:-1] for logs in family])
    pairs = zip(family, before, strict=True)
    found = {
        (str(at), TIME): difference
        for at, pair in enumerate(pairs)
        if (difference := newest_difference(*pair)) is not None
    }
    words = compare_all(found, _MARGIN, lambda key: key[1]).values()
    return any(word.outcome in ("better", "worse") for word in words)


def power(studies: int, seed: int, percent: Callable[[float], str]) -> Iterator[Sequence[str]]:
    """Yield the histories in which a change of 3 % is found, alone and among ten cases."""
    for results, at in STEPS:
        row = [str(at), str(results - at)]
        for between in BETWEEN:
            rng, found = np.random.default_rng(seed), np.zeros(2)
            for _ in range(studies):
                shape = CASES, results
                family = _typical(rng, shape) + between * rng.normal(size=shape)
                family[0, at:] += np.log1p(_STEP)
                found += [bool(change_points(list(family[:n]))[0]) for n in (1, CASES)]
            row.append(" / ".join(percent(float(share)) for share in found / studies))
        yield row


def looks(studies: int, seed: int, percent: Callable[[float], str]) -> Iterator[Sequence[str]]:
    """Yield the years without a change in which any of the weekly looks has a change point."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(studies):
        family = _history(rng, LOOKS[-1], "normal")
        found += any(any(change_points([logs[:n] for logs in family])) for n in LOOKS)
    yield ["normal", percent(found / studies)]
