"""The Pareto front: the cases of which no other is better in both time and energy."""

from __future__ import annotations

from collections.abc import Mapping


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the names of the points that no other dominates, by the first number ascending.

    A point dominates another when it is smaller in one number and not larger in the other. Equal
    points are all on the front.
    """
    front: list[str] = []
    least = float("inf")
    for name, (first, second) in sorted(points.items(), key=lambda item: item[1]):
        is_equal = bool(front) and points[front[-1]] == (first, second)
        if second < least or is_equal:
            front.append(name)
            least = second
    return front
