"""What the terminal shows while a study runs, where it is no terminal but a log."""

from __future__ import annotations

import threading

import pytest

from pinstudy.progress import TerminalProgress
from runners.history import History
from runners.outline import Outline
from runners.plan import Plan
from tests.runners.cases import case, study


def outline() -> Outline:
    def launch(_: object) -> None:
        raise AssertionError("nothing is launched")

    return Outline(Plan(study(), (case(),), (), {}), History(), launch)  # type: ignore[arg-type]


def test_waiting_is_a_line_with_the_number_of_the_run_that_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with TerminalProgress(outline()) as progress:
        progress.waiting("waiting 2 min 00 s at most for package 0 to cool from 62 to 50 °C")
    # Three repetitions and one warm-up run.
    assert capsys.readouterr().err == (
        "[1/4] waiting 2 min 00 s at most for package 0 to cool from 62 to 50 °C\n"
    )


def test_a_warning_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress(outline()) as progress:
        progress.warned("warning: thermald runs")
    assert capsys.readouterr().err == "warning: thermald runs\n"


def test_a_bar_needs_no_thread_that_wakes_up_while_a_program_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    before = threading.active_count()
    with TerminalProgress(outline()) as progress:
        progress.waiting("waiting for package 0")
        assert threading.active_count() == before
    assert "waiting for package 0" in capsys.readouterr().err
