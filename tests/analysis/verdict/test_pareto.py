from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.decision import pareto_front

NUMBER = st.integers(0, 6).map(float)


def test_a_point_that_is_worse_in_both_is_not_on_the_front() -> None:
    points = {"fast": (1.0, 9.0), "frugal": (9.0, 1.0), "both": (5.0, 5.0), "bad": (6.0, 6.0)}
    assert pareto_front(points) == ["fast", "both", "frugal"]


@given(st.dictionaries(st.text(max_size=3), st.tuples(NUMBER, NUMBER), max_size=12))
def test_the_front_is_every_point_that_no_other_dominates(
    points: dict[str, tuple[float, float]],
) -> None:
    def dominated(point: tuple[float, float]) -> bool:
        return any(
            other[0] <= point[0] and other[1] <= point[1] and other != point
            for other in points.values()
        )

    assert set(pareto_front(points)) == {n for n, point in points.items() if not dominated(point)}
