"""Whatever a file holds, there is a study, an app, or a list of mistakes with their places."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import ConfigError
from configs.app import App
from configs.document import MAX_BYTES
from configs.load import parse_app, parse_mappings
from configs.study import Study
from tests.configs.shelves import LU, MAPPINGS, STUDY, mistakes, study_of

WORDS = [
    "title",
    "apps",
    "app",
    "variants",
    "sizes",
    "threads",
    "mappings",
    "governors",
    "repetitions",
    "wait_policy",
    "name",
    "selection",
    "binding",
    "mechanism",
    "pattern",
    "unit",
    "arguments",
    "estimate",
    "program",
    "runtime",
    "lu",
    "serial",
    "small",
    "scheduler",
    "pcores",
    "pin",
    "set",
    "performance",
    "passive",
    "1",
    "2",
    "0",
    "-1",
    "1.5",
    "on",
    "~",
    "''",
    "*a",
    "&b",
    "{size}",
    "static",
]

scalars = st.sampled_from(WORDS) | st.text(max_size=8) | st.integers() | st.none() | st.booleans()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=12,
)


def loads_or_says_where(text: str) -> None:
    try:
        assert isinstance(study_of(text), Study)
    except ConfigError as error:
        assert error.problems
        for problem in error.problems:
            assert problem.path in ("x.yaml", "apps/lu.yaml")
            assert problem.line >= 1
            assert problem.column >= 1
            assert problem.message.strip()
            assert str(problem).isprintable(), str(problem)


@given(st.text())
def test_any_text(text: str) -> None:
    loads_or_says_where(text.encode(errors="replace").decode())


@given(values)
def test_any_yaml(value: Any) -> None:  # noqa: ANN401 - that is the point
    loads_or_says_where(yaml.safe_dump(value, allow_unicode=True))


@given(st.sampled_from(list(yaml.safe_load(STUDY))), values)
def test_any_value_in_place_of_a_right_one(key: str, value: Any) -> None:  # noqa: ANN401
    loads_or_says_where(yaml.safe_dump(yaml.safe_load(STUDY) | {key: value}))


@given(st.sampled_from(list(yaml.safe_load(LU))), values)
def test_any_value_in_an_app(key: str, value: Any) -> None:  # noqa: ANN401
    text = yaml.safe_dump(yaml.safe_load(LU) | {key: value})
    try:
        assert isinstance(parse_app(text.encode(), "lu.yaml"), App)
    except ConfigError as error:
        assert error.problems


@given(st.integers(0, len(STUDY)), st.integers(0, 12), st.text(max_size=6))
def test_a_study_with_a_piece_replaced(start: int, length: int, new: str) -> None:
    text = STUDY[:start] + new + STUDY[start + length :]
    loads_or_says_where(text.encode(errors="replace").decode())


@given(st.integers(0, len(MAPPINGS)), st.binary(max_size=6))
@settings(max_examples=50)
def test_mappings_with_bytes_put_in(place: int, new: bytes) -> None:
    try:
        parse_mappings(MAPPINGS[:place] + new + MAPPINGS[place:], "mappings.yaml")
    except ConfigError as error:
        assert error.problems


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


@pytest.mark.parametrize(
    "number", ["010", "0o10", "0x10", "1_0", "1:30", "1e1", "10.0", "+10", "\u0663"]
)
def test_a_number_that_yaml_may_read_otherwise_is_refused(number: str) -> None:
    text = STUDY.replace("repetitions: 10", f"repetitions: {number}")

    assert [message.partition(" is not ")[0] for message in mistakes(text)] == [
        f"x.yaml:9:14: {number!r}"
    ]


@pytest.mark.parametrize("argument", ["\\0", "\\ud800", "\\udcff"])
def test_an_argument_that_no_program_can_be_given_is_refused(argument: str) -> None:
    for arguments in (f'["{argument}"]', f'"{argument}"'):
        app = LU.replace(b"'100'", arguments.encode())

        assert "is not" in " ".join(mistakes(STUDY, {"lu": app}))
