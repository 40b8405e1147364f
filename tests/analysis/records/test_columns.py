"""Columns that grow while records are read."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.records.columns import Growing

NUMBERS = st.floats(allow_infinity=False, width=64)


@given(st.lists(st.lists(NUMBERS, max_size=5), max_size=8))
@example([[math.nan], [], [math.nan, 2.0], [3.0] * 5])
def test_a_column_has_all_values_in_their_order(chunks: list[list[float]]) -> None:
    column = Growing(np.dtype(float))
    for chunk in chunks:
        column.add(np.array(chunk, dtype=float))
    expected = [value for chunk in chunks for value in chunk]
    np.testing.assert_array_equal(column.array, np.array(expected, dtype=float))
    assert column.is_empty == all(map(math.isnan, expected))


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=8))
def test_a_column_of_whole_numbers_has_no_missing_values(chunks: list[list[int]]) -> None:
    column = Growing(np.dtype(np.int32))
    for chunk in chunks:
        column.add(np.array(chunk, dtype=np.int32))
    assert column.array.dtype == np.int32
    assert column.array.tolist() == [value for chunk in chunks for value in chunk]
