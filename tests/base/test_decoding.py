"""JSON to declared types: what differs is said in one line, with its place."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from pinstudy.base.decoding import Count, CpuList, Line, converted, decoded, encoded, read_decoded
from pinstudy.base.errors import UserError
from tests.support.changed import JSON_VALUES


class Inner(Struct, forbid_unknown_fields=True, frozen=True):
    n: Annotated[int, Meta(ge=1, le=9)]
    cpus: CpuList | None = None

    def __post_init__(self) -> None:
        if self.n == 7:
            raise ValueError("n is 7, which is unlucky")


class Listed(Struct, forbid_unknown_fields=True, frozen=True, array_like=True):
    path: Line
    value: Line


class Outer(Struct, forbid_unknown_fields=True, frozen=True):
    kind: Literal["a", "b"]
    day: date
    items: Annotated[tuple[Inner, ...], Meta(max_length=3)] = ()
    by_name: dict[Line, Inner] = {}
    ends: tuple[Count, Line] | None = None
    listed: list[Listed] = []
    known: bool = True


GOOD: dict[str, Any] = {
    "kind": "a",
    "day": "2026-11-28",
    "items": [{"n": 1, "cpus": "0-3,8"}],
    "by_name": {"x": {"n": 2}},
    "ends": [0, "y"],
}


def test_what_is_written_is_read_again() -> None:
    value = Outer("b", date(2026, 1, 2), (Inner(1), Inner(2, "0")), {"x": Inner(9)}, (1, "y"))
    assert decoded(encoded(value), Outer) == value
    assert encoded(value).endswith(b"}\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "c"}, "kind: expected one of a, b, found 'c'"),
        ({"day": "2026-13-01"}, "day: expected a day such as 2026-11-22, found '2026-13-01'"),
        (
            {"items": [{"n": 1}, {"n": 0}]},
            "items[1].n: expected a whole number from 1 to 9, found '0'",
        ),
        ({"items": [{"n": 1.5}]}, "items[0].n: expected a whole number from 1 to 9, found '1.5'"),
        ({"items": [{"n": True}]}, "items[0].n: expected a whole number from 1 to 9, found 'True'"),
        ({"items": [{}]}, "items[0]: n is missing"),
        ({"items": [{"n": 7}]}, "items[0]: n is 7, which is unlucky"),
        ({"items": [{"n": 1}] * 4}, "items: expected a list of at most 3, found a list"),
        ({"items": [3]}, "items[0]: expected a table of keys, found '3'"),
        ({"items": [{"n": 1, "m": 2}]}, "items[0]: key 'm' is not known (known: n, cpus)"),
        (
            {"items": [{"n": 1, "cpus": "0-"}]},
            "items[0].cpus: expected a list of CPUs such as 0-3,8 or null, found '0-'",
        ),
        (
            {"by_name": {"x": {"n": 1}, "y": {"n": 10}}},
            "by_name.y.n: expected a whole number from 1 to 9, found '10'",
        ),
        (
            {"by_name": {"x\n": {"n": 1}}},
            "by_name: expected as a key one printable line of at most 500 characters, found 'x\\n'",
        ),
        ({"ends": [1, 2]}, "ends[1]: expected one printable line of at most 500 characters"),
        ({"ends": [1]}, "ends: expected a list or null, found a list"),
        (
            {"listed": [["a", "b"], ["c", 3]]},
            "listed[1][1]: expected one printable line of at most 500 characters, found '3'",
        ),
        ({"listed": [["a", "b", "c"]]}, "listed[0]: expected a list of 2, found a list"),
        ({"listed": [["a"]]}, "listed[0]: expected a list of 2, found a list"),
        ({"known": 1}, "known: expected true or false, found '1'"),
        ({"known": None}, "known: expected true or false, found nothing"),
        ({"evil\x1b[2J": 1}, "key 'evil\N{REPLACEMENT CHARACTER}[2J' is not known"),
    ],
)
def test_what_differs_has_place_expectation_and_value(
    change: dict[str, object], message: str
) -> None:
    value = GOOD | change
    with pytest.raises(ValueError) as of_text:
        decoded(json.dumps(value).encode(), Outer)
    with pytest.raises(ValueError) as of_value:
        converted(value, Outer)
    assert str(of_text.value) == str(of_value.value)
    assert str(of_text.value).startswith(message)
    assert str(of_text.value).isprintable()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b'{"kind": "\xff"}', b'{"kind": NaN}', b'{"kind": "\\ud800"}']
)
def test_what_is_no_json_is_said_so(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is no JSON") as error:
        decoded(data, Outer)
    assert str(error.value).isprintable()


def test_depth_without_end_and_numbers_that_nothing_holds_are_refused() -> None:
    for start in (b"[", b'{"kind": ', b'{"items": [{"n": ', b'{"x": '):
        with pytest.raises(ValueError):
            decoded(start + b"[" * 200_000, Outer)
    for kind in (dict, list, Outer):
        with pytest.raises(ValueError):
            decoded(b'{"kind": "a", "x": [{"y": {"z": [1e999]}}]}', kind)


def test_a_line_is_one_printable_line_and_may_have_every_such_character() -> None:
    for text in (
        *("", "x" * 501, "a\nb", "a\n", "\x1b[31m", "\u202ex", "\u2028", "\x7f", "\xad"),
        "\U000e0041",
    ):
        with pytest.raises(ValueError):
            converted(text, Line)
    printable = [chr(code) for code in range(0x110000) if chr(code).isprintable()]
    for at in range(0, len(printable), 500):
        converted("".join(printable[at : at + 500]), Line)
    for cpus in ("0", "0-3,8", "0-65535"):
        assert converted(cpus, CpuList) == cpus


def test_a_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for data, why in (
        (None, "cannot be read (No such file or directory); expected an Outer"),
        (b"{" + b" " * 100, "cannot be read (it is far too large); expected an Outer"),
        (b"{}", "kind is missing; write it again"),
    ):
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(UserError) as error:
            read_decoded(path, Outer, 50, "expected an Outer", "; write it again")
        assert str(error.value) == f"{path}: {why}"


@given(st.sampled_from([*GOOD, "listed", "known", "evil"]), JSON_VALUES)
def test_any_value_is_decoded_or_refused_in_one_line(key: str, value: object) -> None:
    try:
        decoded(json.dumps(GOOD | {key: value}).encode(), Outer)
    except ValueError as error:
        assert str(error).isprintable()
