"""Published numbers: what stands where, with honest sources."""

from __future__ import annotations

import pytest

from analysis.affinity.measured import CONTENTION, PINGPONG, SMT, published, published_of
from analysis.published import names
from analysis.results.sources import open_results
from base.errors import UserError


@pytest.mark.parametrize(
    ("size", "free_ms", "pinned_ms", "free_misses", "pinned_misses"),
    [
        ("integer", 10.7, 3.53, 0.0784, 0.0045),
        ("float", 5.09, 1.32, 0.5165, 0.0283),
    ],
)
def test_contention_has_both_placements(
    size: str, free_ms: float, pinned_ms: float, free_misses: float, pinned_misses: float
) -> None:
    free, pinned = (published_of(CONTENTION, size, where) for where in ("all", "same-cpu"))

    assert free and pinned
    assert (free.time_ms, pinned.time_ms) == (free_ms, pinned_ms)
    assert (free.l1d_miss_rate, pinned.l1d_miss_rate) == (free_misses, pinned_misses)


def test_times_are_given_for_arrays_of_the_published_length_only() -> None:
    long, short = (published_of(SMT, size, "siblings") for size in ("sin", "sin-quick"))

    assert long and short
    assert (long.alone_ms, long.time_ms, long.slowdown) == (540, 945, 945 / 540)
    assert (short.alone_ms, short.time_ms, short.slowdown) == (None, None, 1.75)


def test_each_number_says_where_it_is_from() -> None:
    for experiment in (CONTENTION, SMT, PINGPONG):
        for one in published(experiment):
            assert "second hand" in one.source


def test_they_are_no_results_of_their_own() -> None:
    assert not [name for name in names() if "affinity" in name]
    with pytest.raises(UserError, match="not known"):
        open_results("published:affinity")
