"""A time budget: the first run is made in any case, and none that would end too late."""

from __future__ import annotations

import pytest

from runners.study.time_budget import TimeBudget, TimeIsUpError


@pytest.mark.parametrize(
    ("budget_s", "expected_s", "is_stopped"),
    [
        # An hour is more than any test takes between two lines.
        (3600.0, 1.0, False),
        (3600.0, None, False),
        (3600.0, 7200.0, True),
        (0.0, None, True),
        (-1.0, 0.0, True),
    ],
)
def test_after_the_first_run_none_starts_that_would_end_too_late(
    budget_s: float, expected_s: float | None, is_stopped: bool
) -> None:
    budget = TimeBudget(budget_s)
    budget(expected_s)
    if not is_stopped:
        budget(expected_s)
        return
    with pytest.raises(TimeIsUpError, match="a second start goes on"):
        budget(expected_s)
