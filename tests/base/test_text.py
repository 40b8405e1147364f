"""Commands that are shown can be pasted into a shell, whatever their paths are called."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from base.text import as_typed, ended_by, first_of, safe_name
from tests.support.tools import need_tool


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("results/quick", "results/quick"),
        ("my results", "'my results'"),
        ("-x", "./-x"),
        ("a\nb\x1b\udcff'\\", "$'a\\012b\\033\\377\\047\\134'"),
    ],
)
def test_a_path_is_written_as_a_shell_takes_it(path: str, typed: str) -> None:
    assert as_typed(path) == typed


def test_an_end_by_a_signal_has_its_name_or_its_number() -> None:
    assert ended_by(9) == "ended by SIGKILL"
    # Of the real-time signals the first and the last have names.
    assert ended_by(50) == "ended by signal 50"


# A shell hands over arguments as bytes without a NUL.
names = st.binary(min_size=1, max_size=12).map(os.fsdecode).filter(lambda name: "\0" not in name)


@given(st.lists(names, min_size=1, max_size=30))
@settings(max_examples=10)
@example(["$(id)", "`id`", "'", "~", "*", "!!", "a;b", "#", "-rf", "\x7f", "ü\n"])
def test_a_shell_reads_the_path_that_was_meant(paths: list[str]) -> None:
    line = " ".join(as_typed(path) for path in paths)
    assert line.isprintable()
    done = subprocess.run(
        [need_tool("bash"), "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True
    )
    expected = [f"./{path}" if path.startswith("-") else path for path in paths]
    assert [os.fsdecode(part) for part in done.stdout.split(b"\0")[:-1]] == expected


@pytest.mark.parametrize(
    ("texts", "text"),
    [(["a"], "a"), (["a", "b"], "a; b"), (["a", "b", "c", "d"], "a; b and 2 more")],
)
def test_the_first_texts_are_shown_and_the_rest_counted(texts: list[str], text: str) -> None:
    assert first_of(texts, 2) == text


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("node-01.cluster", "node-01.cluster"),
        ("../../etc", "etc"),
        ("a b/c*?", "a-b-c"),
        ("…", "node"),
        ("", "node"),
        (".hidden", "hidden"),
        ("x" * 300, "x" * 64),
    ],
)
def test_host_names_are_safe_as_file_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe
