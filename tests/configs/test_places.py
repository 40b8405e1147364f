from __future__ import annotations

from configs.places import listed_places, places_of


def test_pinned_threads_have_a_place_each_and_a_cpu_of_two_threads_occurs_twice() -> None:
    assert places_of("pin", (3, 3, 5, 5)) == "{3},{3},{5},{5}"


def test_a_set_is_one_place_of_each_cpu_once() -> None:
    assert places_of("set", (9, 8, 9)) == "{8,9}"


def test_no_places_are_no_text() -> None:
    assert listed_places([]) == ""
