"""Any file is plain values with their places, then tables as they are declared, or mistakes."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.errors import ConfigError
from pinstudy.configs.app import App
from pinstudy.configs.decoding import (
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
from pinstudy.configs.document import MAX_BYTES, MAX_DEPTH, Document, parse_yaml
from pinstudy.configs.load import parse_app
from pinstudy.configs.study import Study
from tests.configs.shelves import GUEST, LU, NODES, RATED, STUDY, study_of
from tests.support.tools import ROOT


def parsed(text: str) -> Document:
    return parse_yaml(text.encode(), "x.yaml")


def only_problem(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    (problem,) = parse_yaml(data, "x.yaml").problems
    return str(problem)


@pytest.fixture(params=["libyaml", "pure Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers that PyYAML may have been built with."""
    if request.param == "pure Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: &x 1\n", "1:4", "anchor (&x) is not allowed"),
        ("a: *x\n", "1:4", "alias (*x) is not allowed"),
        ("a: !!python/object:os.system x\n", "1:4", "type tag"),
        ("a: 1\n---\nb: 2\n", "2:1", "second document"),
        ("[a, b]: 1\n", "1:1", "a key must be a word"),
        ("'': 1\n~: 2\n", "2:1", "a key must be a word"),
        ("", "1:1", "the file is empty"),
        ("# only a comment\n", "1:1", "the file is empty"),
        # Syntax errors, in plain words
        ("a:\n\tb: 1\n", "2:1", "spaces; YAML takes no tabs"),
        ("a: b: c\n", "1:5", "a ':' is not expected here"),
        ("a: [1, 2\nb: 3\n", "2:2", "expected ',' or ']'"),
        ("a: {b: 1\nc: 2\n", "2:2", "expected ',' or '}'"),
        ("a: 'open\n", "1:4", "the quoted text that starts here is not closed"),
        ('a: "\\d+"\n', "1:", "use single quotes"),
        ("a: 1\n b: 2\n", "2:3", "a ':' is not expected here"),
        ("a: @x\n", "1:4", "cannot start with '@'; put it in quotes"),
        ("- a\nb: 1\n", "2:1", "expected another list item"),
        ("a:\n    b: 1\n  c: 2\n", "3:3", "expected a key in the column"),
    ],
)
def test_what_cannot_be_read_or_is_not_needed_is_refused_at_its_place(
    text: str, place: str, words: str
) -> None:
    problem = only_problem(text)

    assert problem.startswith(f"x.yaml:{place}"), problem
    assert words in problem


@pytest.mark.usefixtures("parser")
def test_every_part_has_its_value_and_its_place() -> None:
    document = parsed("title: a\napps:\n  - app: lu\n    threads: [1, 22]\n")
    assert document.value == {"title": "a", "apps": [{"app": "lu", "threads": ["1", "22"]}]}
    assert document.place(("title",)) == (1, 8)
    assert document.place(("apps", 0, "threads", 1)) == (4, 18)
    assert document.place(("apps", 0, "threads"), key=True) == (4, 5)
    # A part that is not there is placed at what would hold it.
    assert document.place(("apps", 0, "sizes", 3)) == (3, 5)
    # An absent value differs from an empty text.
    absent = parsed("a:\nb: ''\nc: ~\nd: null\ne: 'null'\n").value
    assert absent == {"a": None, "b": "", "c": None, "d": None, "e": "null"}
    # The first one of repeated keys counts.
    repeated = parsed("seed: 1\nseed: [2, 3]\norder: x\n")
    assert repeated.value == {"seed": "1", "order": "x"}
    assert [str(p) for p in repeated.problems] == [
        "x.yaml:2:1: key 'seed' is repeated; it is first on line 1"
    ]
    for word in (
        *("on", "no", "yes", "0x10", "1_000", "1:30", "1e3", "010", ".inf", "2025-01-01", "="),
    ):
        assert parsed(f"key: {word}\n").value == {"key": word}
    for opening in ("[", "{a: ", "- "):
        assert f"nested more than {MAX_DEPTH} deep" in only_problem(opening * 100_000)


def test_bytes_that_are_no_text_are_named_with_their_place() -> None:
    assert only_problem(b"a: 1\nbc\xff: 2\n") == "x.yaml:2:3: the byte 0xff is not UTF-8 text"
    assert only_problem(b"a: \x00\n") == (
        "x.yaml:1:4: the character U+0000 cannot be part of a YAML file"
    )
    assert "is not UTF-8" in only_problem("a: 1".encode("utf-16"))
    assert parse_yaml(b"\xef\xbb\xbfa: 1\n", "x.yaml").value == {"a": "1"}
    assert "larger than 1024 KiB" in only_problem(b"a: 1\n" + b"#" * MAX_BYTES)


@given(st.text() | st.binary())
def test_any_text_or_bytes_give_plain_values_or_problems_with_a_place(written: str | bytes) -> None:
    data = written.encode(errors="replace") if isinstance(written, str) else written
    document = parse_yaml(data, "x.yaml")

    text = data.decode(errors="replace")
    assert document.problems or document.value is not None or text.strip()
    lines = text.count("\n") + text.count("\r") + text.count("\x85") + 2
    for problem in document.problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.line <= lines + text.count("\u2028") + text.count("\u2029")


def digits(plain: str) -> int:
    if not plain.isdecimal():
        raise MismatchError
    return int(plain)


Number = Annotated[int, written(str, to=digits, expected="a number")]


@dataclass(frozen=True)
class Edge:
    expected: ClassVar[str] = "an edge"

    name: str
    length_mm: Annotated[Number, called("length")]


@dataclass(frozen=True)
class Colour:
    hue: Number
    shade: Number = 0


@dataclass(frozen=True)
class Box:
    expected: ClassVar[str] = "a box"

    size: tuple[Number, ...]
    edges: dict[str, Edge]
    weight: Number = 1
    colour: Annotated[Colour | None, INLINE] = None
    note: Annotated[str, NO_KEY] = ""

    @staticmethod
    def contradictions(
        plain_values: dict[str, Any], given: Collection[str]
    ) -> Iterator[tuple[Path, str]]:
        if plain_values.get("weight") == 0 and "size" in given:
            yield ("weight",), "nothing weighs nothing"


@dataclass(frozen=True)
class Round:
    radius: Number


@dataclass(frozen=True)
class Square:
    side: Number
    turned: bool = False


PLAIN = {"size": "3", "edges": {"left": {"length": "4"}}}


def refused(value: object, form: Any = Box) -> list[tuple[Path, str]]:  # noqa: ANN401 - a type
    with pytest.raises(InvalidError) as refused:
        decode(form, value)
    return refused.value.mistakes


def test_a_table_is_its_dataclass() -> None:
    assert decode(Box, PLAIN) == Box((3,), {"left": Edge("left", 4)})
    assert decode(Box, PLAIN | {"size": ["1", "2"], "weight": "7"}).weight == 7
    # Keys beside others make a dataclass of their own.
    assert decode(Box, PLAIN | {"hue": "5"}).colour == Colour(5)
    # The hue is not in the file: its message has the place of its neighbour.
    assert refused(PLAIN | {"shade": "5"}) == [(("shade",), "'hue' is missing; expected a number")]
    # The first table that has any of the keys is the one that is meant.
    shape = Annotated[object, written(Number, Round, Square)]
    assert decode(shape, "2") == 2
    assert decode(shape, {"radius": "2"}) == Round(2)
    assert decode(shape, {"turned": "yes", "side": "2"}) == Square(2, turned=True)
    missing = (("side",), "'side' is missing; expected a number")
    assert refused({"turned": "no"}, shape) == [missing]
    # Neither a name that is known is a key, nor a field that no file has.
    (mistake,) = refused(PLAIN | {"edges": {"left": {"length": "4", "name": "right"}}})
    assert mistake[0] == ("edges", "left", "name")
    assert [key.name for key in keys_of(Box)] == ["size", "edges", "weight", "colour"]
    assert "'note' is not known here" in refused(PLAIN | {"note": "x"})[0][1]


def test_class_variables_of_tables_have_a_type() -> None:
    # Python 3.10 reads no others from annotations that are text (PEP 563).
    files = (ROOT / "pinstudy").rglob("*.py")
    assert [str(f) for f in files if re.search(r": ClassVar( =|$)", f.read_text(), re.M)] == []


def test_every_mistake_is_reported_with_its_path() -> None:
    value = {
        "size": ["1", "x", "1"],
        "edges": {"a b": {}, "right": {"length": None}},
        "wieght": "1",
    }
    problems = refused(value)
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


plain_values = st.recursive(
    st.none() | st.text(max_size=3) | st.sampled_from(["1", "2"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["size", "edges", "hue", "length", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(plain_values)
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


# Valid values of many keys, and invalid ones.
WORDS = """\
lu serial libgomp small large unpinned pcores-set pcores all pin set performance passive vm local
time energy edp rate higher split there 16_GiB 1_MiB 30_min 5_K 1% 0% 10001 50 30 10 8 3 1 0 -1 1.5
on ~ '' *a &b {size} static dynamic,2"""
# Keys of a study, and the keys inside them.
STUDY_KEYS = {
    "apps": "app builds sizes threads schedules mappings oversubscribe",
    "mappings": "name selection binding mechanism",
    "repetitions": "decide first max time_budget until race",
    "idle_power": "duration every",
    "temperature_gate": "within limit",
    "power_gate": "below limit over",
    "engine": "vm batch",
    "vm": "cpus memory name",
    "vcpu_mapping": "name selection binding mechanism",
    "batch": "site spread nodes features workers",
    "governors": "x",
    "wait_policy": "x",
    "latency": "x",
    "events": "x",
    "titel": "title",
}
APP_KEYS = {
    "builds": "program runtime",
    "sizes": "arguments estimate quiet expect",
    "metrics": "pattern unit stream better",
    "check": "pattern command stream failed_status",
    "placement": "pin expect",
    "schedules": "x",
    "timeout": "x",
}


def values(keys: str) -> st.SearchStrategy[Any]:
    """Return any values of YAML; their tables often have these keys."""
    words = st.sampled_from([word.replace("_", " ") for word in WORDS.split()])
    scalars = words | st.text(max_size=8) | st.integers() | st.none() | st.booleans()
    names = st.sampled_from(keys.split()) | st.text(max_size=4)
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
        max_leaves=12,
    )


def placed(problems: Iterable[Any]) -> bool:
    """Return whether all these problems can be shown and have a place."""
    return all(
        problem.line >= 1
        and problem.column >= 1
        and problem.message.strip()
        and str(problem).isprintable()
        for problem in problems
    )


def loads_or_says_where(text: str) -> None:
    try:
        study = study_of(text, {"lu": RATED})
    except ConfigError as error:
        assert error.problems and placed(error.problems), error
        return
    assert isinstance(study, Study)
    assert study.decide is None or 3 <= study.decide.first <= study.repetitions


@given(values("title apps mappings repetitions app"))
def test_any_yaml(value: Any) -> None:  # noqa: ANN401 - that is the point
    loads_or_says_where(yaml.safe_dump(value, allow_unicode=True))


@pytest.mark.parametrize("key", STUDY_KEYS)
@given(data=st.data())
@settings(max_examples=25)
def test_any_value_in_place_of_a_right_one(key: str, data: st.DataObject) -> None:
    engine = {"vm": GUEST, "vcpu_mapping": GUEST, "batch": NODES}.get(key, "")
    study = yaml.safe_load(STUDY + engine)
    loads_or_says_where(yaml.safe_dump(study | {key: data.draw(values(STUDY_KEYS[key]))}))


@pytest.mark.parametrize("key", APP_KEYS)
@given(data=st.data())
@settings(max_examples=25)
def test_any_value_in_an_app(key: str, data: st.DataObject) -> None:
    text = yaml.safe_dump(yaml.safe_load(LU) | {key: data.draw(values(APP_KEYS[key]))})
    try:
        assert isinstance(parse_app(text.encode(), "lu.yaml"), App)
    except ConfigError as error:
        assert error.problems and placed(error.problems), error


@given(st.integers(0, len(STUDY)), st.integers(0, 12), st.text(max_size=6))
def test_a_study_with_a_piece_replaced(start: int, length: int, new: str) -> None:
    text = STUDY[:start] + new + STUDY[start + length :]
    loads_or_says_where(text.encode(errors="replace").decode())


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LAUGHS, id="billion laughs"),
        pytest.param("a: " + "[" * 500_000, id="lists in lists"),
        pytest.param("{" * 500_000, id="tables in tables"),
        pytest.param("- " * 500_000, id="items in items"),
        pytest.param("? " * 500_000, id="keys in keys"),
        pytest.param("".join(f"k{n}: 1\n" for n in range(70_000)), id="keys"),
        pytest.param("apps: [" + "x, " * 300_000 + "]\n", id="items"),
        pytest.param("mappings: [" + ", ".join(f"m{n}" for n in range(999)) + "]", id="names"),
        pytest.param("title: " + "x" * (MAX_BYTES - 100), id="a long text"),
        pytest.param("k" * (MAX_BYTES - 100) + ": 1", id="a long key"),
    ],
)
def test_a_small_file_cannot_keep_the_reader_busy(text: str) -> None:
    began = time.process_time()

    loads_or_says_where(text)

    # Seconds where the time for reasonable input is milliseconds: the machine may be slow.
    assert time.process_time() - began < 20
