"""Output of commands: texts of files and programs cannot control the terminal."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.format.lines import Piece
from pinstudy.output import print_columns, print_json, say, say_lines
from tests.support.cli import argv
from tests.support.trees import build_tree, write

EVIL = "\x1b[31mred\x07\x9b0m\u202eturned\u200b\udcff\r"


@pytest.mark.parametrize("err", [False, True])
def test_characters_that_command_a_terminal_or_turn_a_line_are_replaced(
    capsys: pytest.CaptureFixture[str], err: bool
) -> None:
    say(f"a\tline\n{EVIL} müller → 2 µs", err=err)
    streams = capsys.readouterr()
    expected = "a\tline\n\ufffd[31mred\ufffd\ufffd0m\ufffdturned\ufffd\ufffd\ufffd müller → 2 µs\n"
    assert (streams.err if err else streams.out) == expected


def on_terminal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """Return what styled lines, one of them evil, print on a terminal of 256 colours."""
    for name, value in {"TERM": "xterm-256color", "COLORTERM": "", **environment}.items():
        monkeypatch.setenv(name, value)
    master, slave = os.openpty()
    lines = [(Piece("gain "), Piece("-12 ±1", "better")), (Piece(EVIL, "worse"),)]
    with os.fdopen(slave, "w") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        say_lines(lines)
    with os.fdopen(master, "rb") as shown:
        return os.read(shown.fileno(), 4096).decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_nothing_else_that_controls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = on_terminal(monkeypatch)
    assert "\x1b[1;38;5;33m-12 ±1\x1b[0m" in shown
    without = re.sub(r"\x1b\[[0-9;]*m", "", shown.replace("\x1b[31m", "EVIL"))
    assert "EVIL" not in without
    assert without.startswith("gain -12 ±1\n")
    assert without.replace("\n", "").isprintable()


def test_no_color_takes_the_colours_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "38;5" not in on_terminal(monkeypatch, NO_COLOR="1")


def test_columns_are_printed_as_safely(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns([("name", EVIL), (EVIL, "text")])
    assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_json_says_the_same_to_a_program_and_nothing_to_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = {"evil": EVIL, "astral": "\U000e0041", "plain": "müller → 2 µs"}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert out.replace("\n", "").isprintable()
    assert "müller → 2 µs" in out


def test_a_number_that_json_does_not_have_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"rows": [{"high": math.inf}, (-math.inf, math.nan, 1.5)]})
    out = capsys.readouterr().out
    assert json.loads(out, parse_constant=pytest.fail) == {
        "rows": [{"high": None}, [None, None, 1.5]]
    }


def pinstudy(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv(*arguments),
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )


def test_what_a_node_s_files_say_is_printed_as_safely(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    governor = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    write(root, governor, "\x1b]0;owned\x07\u202e")
    done = pinstudy("tune", "--sysroot", str(root), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "was \ufffd]0;owned\ufffd\ufffd, would be" in done.stdout.decode()


def test_a_terminal_that_lacks_a_sign_gets_another_for_it() -> None:
    done = pinstudy("plan", "→.yaml", PYTHONIOENCODING="latin-1")
    assert done.returncode == 2
    assert b" ?.yaml" in done.stderr


def test_a_name_that_is_no_text_is_reported_in_one_line(tmp_path: Path) -> None:
    name = os.fsdecode(bytes(tmp_path) + b"/n\xff\x1b[2J\n.yaml")
    done = pinstudy("plan", name)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stderr
