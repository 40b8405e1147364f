"""A table that is declared once: its decoded values, and a message for every mistake."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.structure import (
    AtKey,
    ByName,
    Called,
    Inline,
    InvalidError,
    Kind,
    OneOrMore,
    Path,
    Table,
    keys_of,
)


class Digits(Kind):
    """A number in digits."""

    def decode(self, value: Any) -> int:  # noqa: ANN401
        if not isinstance(value, str) or not value.isdecimal():
            raise self.mismatch(value)
        return int(value)


NUMBER = Digits("a number")


@dataclass(frozen=True)
class Edge:
    name: str
    length_mm: Annotated[int, Called("length"), NUMBER, "how long it is"]


@dataclass(frozen=True)
class Colour:
    hue: Annotated[int, NUMBER]
    shade: Annotated[int, NUMBER] = 0


@dataclass(frozen=True)
class Box:
    size: Annotated[tuple[int, ...], OneOrMore(NUMBER)]
    edges: Annotated[dict[str, Edge], ByName(Table(Edge, "an edge"))]
    weight: Annotated[int, NUMBER] = 1
    colour: Annotated[Colour | None, Inline(Colour, "a colour")] = None
    note: str = ""

    @staticmethod
    def contradictions(
        values: dict[str, Any], given: Collection[str]
    ) -> Iterator[tuple[Path, str]]:
        if values.get("weight") == 0 and "size" in given:
            yield ("weight",), "nothing weighs nothing"


BOX = Table(Box, "a box")
PLAIN = {"size": "3", "edges": {"left": {"length": "4"}}}


def mistakes(value: object) -> list[tuple[Path, str]]:
    with pytest.raises(InvalidError) as refused:
        BOX.decode(value)
    return refused.value.mistakes


def test_a_table_is_its_dataclass() -> None:
    assert BOX.decode(PLAIN) == Box((3,), {"left": Edge("left", 4)})
    assert BOX.decode(PLAIN | {"size": ["1", "2"], "weight": "7"}).weight == 7


def test_keys_beside_others_make_a_dataclass_of_their_own() -> None:
    assert BOX.decode(PLAIN | {"hue": "5"}).colour == Colour(5)
    # The hue is not in the file: its message has the place of its neighbour.
    assert mistakes(PLAIN | {"shade": "5"}) == [(("shade",), "'hue' is missing; expected a number")]


def test_every_mistake_is_reported_with_its_path() -> None:
    value = {
        "size": ["1", "x", "1"],
        "edges": {"a b": {}, "right": {"length": None}},
        "wieght": "1",
    }
    problems = mistakes(value)
    assert sorted(problems, key=str) == sorted(
        [
            (("size", 1), "'x' is not a number"),
            (("size", 2), "'1' is repeated"),
            (
                ("edges", "a b"),
                "'a b' is not a name: letters, digits and . _ + - only, at most 64, the first a "
                "letter or digit",
            ),
            (("edges", "a b", "length"), "'length' is missing; expected a number"),
            (("edges", "right", "length"), "'length' is empty; expected a number"),
            (
                ("wieght",),
                "key 'wieght' is not known here; did you mean 'weight'? (known: size, edges, "
                "weight, hue, shade)",
            ),
        ],
        key=str,
    )
    assert {path for path, message in problems if isinstance(message, AtKey)} == {
        ("wieght",),
        ("edges", "a b"),
    }


def test_what_is_valid_beside_mistakes_is_passed_on() -> None:
    with pytest.raises(InvalidError) as refused:
        BOX.decode(PLAIN | {"size": ["1", "x", "3"], "weight": "0"})
    # The gap keeps the third in its place.
    assert refused.value.valid == {
        "size": (1, None, 3),
        "edges": {"left": Edge("left", 4)},
        "weight": 0,
    }
    assert (("weight",), "nothing weighs nothing") in refused.value.mistakes


def test_a_name_that_is_known_is_no_key() -> None:
    (mistake,) = mistakes(PLAIN | {"edges": {"left": {"length": "4", "name": "right"}}})
    assert mistake[0] == ("edges", "left", "name")


def test_a_field_without_a_kind_is_no_key() -> None:
    assert [key.name for key in keys_of(Box)] == ["size", "edges", "weight", "colour"]
    assert "'note' is not known here" in mistakes(PLAIN | {"note": "x"})[0][1]


values = st.recursive(
    st.none() | st.text(max_size=3) | st.sampled_from(["1", "2"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["size", "edges", "hue", "length", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(values)
def test_any_plain_value_is_a_box_or_has_mistakes_with_paths_into_it(value: object) -> None:
    try:
        assert isinstance(BOX.decode(value), Box)
    except InvalidError as error:
        for path, message in error.mistakes:
            assert message.isprintable()
            inner = value
            # The last step to a missing key leads nowhere.
            for step in path[:-1]:
                inner = inner[step]  # type: ignore[index]
