"""A table that is declared once: its decoded values, and a message for every mistake."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.decoding import (
    INLINE,
    NO_KEY,
    AtKey,
    InvalidError,
    MismatchError,
    Path,
    called,
    decode,
    keys_of,
    written,
)


def digits(plain: str) -> int:
    if not plain.isdecimal():
        raise MismatchError
    return int(plain)


Number = Annotated[int, written(str, to=digits, expected="a number")]


@dataclass(frozen=True)
class Edge:
    expected: ClassVar = "an edge"

    name: str
    length_mm: Annotated[Number, called("length")]


@dataclass(frozen=True)
class Colour:
    hue: Number
    shade: Number = 0


@dataclass(frozen=True)
class Box:
    expected: ClassVar = "a box"

    size: tuple[Number, ...]
    edges: dict[str, Edge]
    weight: Number = 1
    colour: Annotated[Colour | None, INLINE] = None
    note: Annotated[str, NO_KEY] = ""

    @staticmethod
    def contradictions(
        values: dict[str, Any], given: Collection[str]
    ) -> Iterator[tuple[Path, str]]:
        if values.get("weight") == 0 and "size" in given:
            yield ("weight",), "nothing weighs nothing"


@dataclass(frozen=True)
class Round:
    radius: Number


@dataclass(frozen=True)
class Square:
    side: Number
    turned: bool = False


PLAIN = {"size": "3", "edges": {"left": {"length": "4"}}}


def mistakes(value: object, form: Any = Box) -> list[tuple[Path, str]]:  # noqa: ANN401 - a type
    with pytest.raises(InvalidError) as refused:
        decode(form, value)
    return refused.value.mistakes


def test_a_table_is_its_dataclass() -> None:
    assert decode(Box, PLAIN) == Box((3,), {"left": Edge("left", 4)})
    assert decode(Box, PLAIN | {"size": ["1", "2"], "weight": "7"}).weight == 7


def test_keys_beside_others_make_a_dataclass_of_their_own() -> None:
    assert decode(Box, PLAIN | {"hue": "5"}).colour == Colour(5)
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
        decode(Box, PLAIN | {"size": ["1", "x", "3"], "weight": "0"})
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


def test_the_first_table_that_has_any_of_the_keys_is_the_one_that_is_meant() -> None:
    shape = Annotated[object, written(Number, Round, Square)]

    assert decode(shape, "2") == 2
    assert decode(shape, {"radius": "2"}) == Round(2)
    assert decode(shape, {"turned": "yes", "side": "2"}) == Square(2, turned=True)
    assert mistakes({"turned": "no"}, shape) == [
        (("side",), "'side' is missing; expected a number")
    ]


def test_a_field_that_no_file_has_is_no_key() -> None:
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
        assert isinstance(decode(Box, value), Box)
    except InvalidError as error:
        for path, message in error.mistakes:
            assert message.isprintable()
            inner = value
            # The last step to a missing key leads nowhere.
            for step in path[:-1]:
                inner = inner[step]  # type: ignore[index]
