"""The progress of a study in a log instead of a terminal."""

from __future__ import annotations

import threading

import pytest

from configs.repetitions import Decide, Race
from pinstudy.progress import TerminalProgress
from runners.plan.case import Case
from runners.plan.plan import Plan
from runners.plan.runs import PlannedRun
from runners.records.race_state import Eliminated
from runners.study.history import History
from runners.study.summary import PlanSummary
from tests.runners.cases import case, study


def outline(*cases: Case, **changes: object) -> PlanSummary:
    def launch(_: object) -> None:
        raise AssertionError("nothing is launched")

    plan = Plan(study(**changes), cases or (case(),), (), {})
    return PlanSummary(plan, History(), launch)  # type: ignore[arg-type]


def test_waiting_and_warnings_are_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress(outline()) as progress:
        progress.waiting("waiting 2 min 00 s at most for package 0 to cool from 62 to 50 °C")
        progress.warned("warning: thermald runs")
    # Three repetitions and one warm-up run.
    assert capsys.readouterr().err == (
        "[1/4] waiting 2 min 00 s at most for package 0 to cool from 62 to 50 °C\n"
        "warning: thermald runs\n"
    )


def test_a_run_that_failed_is_told_with_the_last_line_that_it_wrote(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = {
        "app": "demo", "mapping": "unpinned", "governor": "current", "status": "failed",
        "reason": "exit status 127", "stderr_tail": "loading\n\x1b[31mlibgone.so: no file\n",
    }  # fmt: skip
    with TerminalProgress(outline()) as progress:
        progress.finished(run)
        progress.finished(run | {"stderr_tail": ""})
    assert capsys.readouterr().err.splitlines() == [
        "demo unpinned current: failed: exit status 127 (it said: \ufffd[31mlibgone.so: no file)",
        "demo unpinned current: failed: exit status 127",
    ]


RULE = {"repetitions": 9, "decide": Decide(5, 9)}


def test_a_range_of_repetitions_is_shown_with_what_is_left_at_most(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with TerminalProgress(outline(**RULE)) as progress:
        progress.starting(case(), PlannedRun(0, 0, case().case_id, 1, warmup=True), 200.0)
        progress.finished({"status": "ok"})
        progress.starting(case(), PlannedRun(5, 5, case().case_id, 5, warmup=False), 100.0)
        progress.finished({"status": "ok"})
        progress.waiting("idle measurement")
        progress.starting(case(), PlannedRun(6, 6, case().case_id, 6, warmup=False), None)
    name = "demo-libgomp small x2 pcores-pin current"
    assert capsys.readouterr().err.splitlines() == [
        f"[1/at most 10] {name}, warm-up, at most 3 min 20 s left",
        f"[2/at most 10] {name}, repetition 5 of 5 to 9, at most 1 min 40 s left",
        "[3/at most 10] idle measurement",
        f"[3/at most 10] {name}, repetition 6 of 5 to 9, unknown left",
    ]


def test_what_goes_out_of_a_race_together_has_each_reason_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = [
        (case(threads=threads, number=threads), Eliminated("", 1, why, worse_by, reason=reason))
        for threads, why, worse_by, reason in (
            (1, "slower", 0.2, ""),
            (2, "failed", None, "exit status 3"),
            (3, "slower", -0.01, ""),
            (4, "failed", None, "exit status 4"),
        )
    ]
    racing = [one for one, _ in out]
    with TerminalProgress(outline(*racing, race=Race())) as progress:
        progress.eliminated(out)
    assert capsys.readouterr().err.splitlines() == [
        "ruled out: 1 thread, pcores-pin, waiting active (20 % behind the best); "
        "3 threads, pcores-pin, waiting active: in the slower half of the cases at the end of a "
        "round",
        "ruled out: 2 threads, pcores-pin, waiting active: its run was not good: exit status 3",
        "ruled out: 4 threads, pcores-pin, waiting active: its run was not good: exit status 4",
    ]


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
