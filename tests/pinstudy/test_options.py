"""Options of pinstudy that stand after a program are passed to it, and warned of."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.options import warn_of_options
from tests.support.cli import pinstudy
from tests.support.trees import build_tree


@click.command("advise", context_settings={"allow_interspersed_args": False})
@click.option("--time-budget")
@click.option("--threads")
@click.option("--plan", is_flag=True)
@click.option("--report/--no-report")
def command() -> None:
    """Stand for a command with a program."""


def warned(typed: str, program: str) -> str:
    return warn_of_options(command, [*typed.split(), *program.split()], program.split())


@pytest.mark.parametrize(
    ("typed", "program", "meant"),
    [
        ("--", "./app --time-budget 5m", "--time-budget 5m -- ./app"),
        ("", "./app --threads 4", "--threads 4 -- ./app"),
        ("", "./app 100 --threads=4 x", "--threads=4 -- ./app 100 x"),
        ("--plan --", "./app --no-report 7", "--plan --no-report -- ./app 7"),
        ("--plan", "./app --time-budget 5m -n 3", "--plan --time-budget 5m -- ./app -n 3"),
        ("", "./app 'a --time-budget 5m", "--time-budget 5m -- ./app ''\"'\"'a'"),
    ],
)
def test_the_warning_ends_with_what_was_probably_meant(
    typed: str, program: str, meant: str
) -> None:
    line = warned(typed, program)
    assert line.endswith(f"advise {meant}")
    assert "\n" not in line
    assert "passed to the program" in line


@pytest.mark.parametrize(
    ("typed", "program"),
    [
        ("--time-budget 5m --", "./app 100"),
        ("", "./app -t 4 --size 3"),
        # On both sides: the second one is the program's.
        ("--threads 4 --", "./app --threads 4"),
        ("", "./app --threads {threads}"),
        ("", "./app --threads={threads}"),
        # Not pinstudy's way to write them.
        ("", "./app --threads"),
        ("", "./app --plan=yes"),
        ("", "./wrapper -- --time-budget 5m"),
    ],
)
def test_what_is_the_programs_own_is_not_warned_of(typed: str, program: str) -> None:
    assert warned(typed, program) == ""


WORD = st.sampled_from(
    ["--time-budget", "--plan", "--threads=2", "--", "x", "-n", "--no-report", "5m"]
)


@given(st.lists(WORD, max_size=6), st.lists(WORD, max_size=6))
def test_no_word_is_lost_and_none_is_added(options: list[str], rest: list[str]) -> None:
    program = ["./app", *rest]
    line = warn_of_options(command, [*options, "--", *program], program)
    if line:
        words = line.partition(" advise ")[2].split()
        assert sorted(words) == sorted([*options, "--", *program])


def test_it_is_warned_of_and_nothing_else_changes(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    node = ("--plan", "--sysroot", str(root))
    done = pinstudy(tmp_path, "advise", *node, "--", "/bin/sh", "--threads", "4", status=0)
    (line,) = done.stderr.splitlines()
    assert line.startswith("pinstudy: --threads is an option of pinstudy")
    assert line.endswith(f"advise --plan --sysroot {root} --threads 4 -- /bin/sh")
    assert "What would race" in done.stdout
    assert "what --threads says" not in done.stdout
