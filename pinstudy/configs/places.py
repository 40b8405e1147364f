"""OpenMP places as the variable OMP_PLACES takes them."""

from __future__ import annotations

from collections.abc import Iterable


def places_of(binding: str, cpus: Iterable[int]) -> str:
    """Return OMP_PLACES: one place a CPU under `pin`, else one place of all CPUs.

    Names such as `cores` give different maps in libgomp and libomp on hybrid nodes.
    """
    places = [(cpu,) for cpu in cpus] if binding == "pin" else [sorted(set(cpus))]
    return listed_places(places)


def listed_places(places: Iterable[Iterable[int]]) -> str:
    """Return places as OMP_PLACES takes them; empty for none."""
    return ",".join("{" + ",".join(map(str, place)) + "}" for place in places)
