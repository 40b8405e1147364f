"""YAML to plain values with their places, and syntax errors in plain words."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from configs.document import MAX_BYTES, MAX_DEPTH, Document, parse_yaml


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
    "word", ["on", "no", "yes", "0x10", "1_000", "1:30", "1e3", "010", ".inf", "2025-01-01", "="]
)
def test_yaml_has_no_opinion_of_its_own_on_what_a_word_means(word: str) -> None:
    assert parsed(f"key: {word}\n").value == {"key": word}


@pytest.mark.usefixtures("parser")
def test_every_part_knows_its_line_and_column() -> None:
    document = parsed("title: a\napps:\n  - app: lu\n    threads: [1, 22]\n")

    assert document.value == {"title": "a", "apps": [{"app": "lu", "threads": ["1", "22"]}]}
    assert document.place(("title",)) == (1, 8)
    assert document.place(("apps", 0, "threads", 1)) == (4, 18)
    assert document.place(("apps", 0, "threads"), key=True) == (4, 5)


def test_a_part_that_is_not_there_is_placed_at_what_would_hold_it() -> None:
    document = parsed("apps:\n  - app: lu\n")

    assert document.place(("apps", 0, "threads", 3)) == (2, 5)


@pytest.mark.usefixtures("parser")
def test_an_absent_value_differs_from_an_empty_text() -> None:
    document = parsed("a:\nb: ''\nc: ~\nd: null\ne: 'null'\n")

    assert document.value == {"a": None, "b": "", "c": None, "d": None, "e": "null"}


@pytest.mark.usefixtures("parser")
def test_a_repeated_key_is_reported_and_the_first_one_counts() -> None:
    document = parsed("seed: 1\nseed: [2, 3]\norder: x\n")

    assert document.value == {"seed": "1", "order": "x"}
    assert [str(p) for p in document.problems] == [
        "x.yaml:2:1: key 'seed' is repeated; it is first on line 1"
    ]


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


def test_bytes_that_are_no_text_are_named_with_their_place() -> None:
    assert only_problem(b"a: 1\nbc\xff: 2\n") == ("x.yaml:2:3: the byte 0xff is not UTF-8 text")
    assert only_problem(b"a: \x00\n") == (
        "x.yaml:1:4: the character U+0000 cannot be part of a YAML file"
    )
    assert "is not UTF-8" in only_problem("a: 1".encode("utf-16"))


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert parse_yaml(b"\xef\xbb\xbfa: 1\n", "x.yaml").value == {"a": "1"}


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    assert "larger than 1024 KiB" in only_problem(b"a: 1\n" + b"#" * MAX_BYTES)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_without_end_is_stopped(opening: str) -> None:
    assert f"nested more than {MAX_DEPTH} deep" in only_problem(opening * 100_000)


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
