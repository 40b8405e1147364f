"""What commands print: safe texts, JSON, the progress of a study, and its overview so far."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from pinstudy.analysis.format.lines import Piece
from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.overview.text import grid_lines
from pinstudy.cli.live_grid import LiveGrid
from pinstudy.cli.output import print_columns, print_json, say, say_lines
from pinstudy.cli.progress import TerminalProgress
from pinstudy.configs.app import Metric
from pinstudy.configs.repetitions import Decide, Race
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.race_state import Eliminated
from pinstudy.runners.study.history import History
from pinstudy.runners.study.summary import PlanSummary
from tests.runners.cases import PUBLISHED, case, study
from tests.support.cli import argv, pinstudy
from tests.support.results import plain
from tests.support.tools import missing
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
    try:
        master, slave = os.openpty()
    except OSError as error:
        missing(f"no terminal can be made here: {error.strerror}")
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
    assert "38;5" not in on_terminal(monkeypatch, NO_COLOR="1")


def test_columns_and_json_say_nothing_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns([("name", EVIL), (EVIL, "text")])
    assert capsys.readouterr().out.replace("\n", "").isprintable()
    value = {"evil": EVIL, "astral": "\U000e0041", "plain": "müller → 2 µs"}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert out.replace("\n", "").isprintable()
    assert "müller → 2 µs" in out
    # A number that JSON does not have is null.
    print_json({"rows": [{"high": math.inf}, (-math.inf, math.nan, 1.5)]})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"rows": [{"high": None}, [None, None, 1.5]]}


def test_files_and_names_of_others_are_printed_as_safely(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    governor = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
    write(root, governor, "\x1b]0;owned\x07\u202e")
    done = pinstudy(tmp_path, "tune", "--sysroot", str(root), "--dry-run", status=0)
    assert "was \ufffd]0;owned\ufffd\ufffd, would be" in done.stdout
    name = os.fsdecode(bytes(tmp_path) + b"/n\xff\x1b[2J\n.yaml")
    assert "\x1b" not in pinstudy(tmp_path, "plan", name, status=2).stderr


def test_a_terminal_that_lacks_a_sign_gets_another_for_it() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(argv("plan", "→.yaml"), env=environment, capture_output=True, check=False)
    assert done.returncode == 2
    assert b" ?.yaml" in done.stderr


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


def test_a_range_of_repetitions_is_shown_with_what_is_left_at_most(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with TerminalProgress(outline(repetitions=9, decide=Decide(5, 9))) as progress:
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
    racing = [racer for racer, _ in out]
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


def test_without_its_libraries_a_terminal_shows_the_runs_without_their_grid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with TerminalProgress(outline()) as progress:
        progress.waiting("waiting for package 0")
    assert "waiting for package 0" in capsys.readouterr().err


CASES = [
    case(table=1, number=number, mapping=mapping) for number, mapping in enumerate(PUBLISHED[:3], 1)
]
TIMES = {0: [10.0, 11.0, 10.5, 10.2], 1: [9.0, 9.8, 9.6, 9.1], 2: [20.0]}


def record(which: int, repetition: int, elapsed_s: float, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a good run of a case."""
    made = {"case_id": CASES[which].case_id, "repetition": repetition, "elapsed_s": elapsed_s}
    return made | {"status": "ok", "warmup": False} | fields


def cells(grid: LiveGrid) -> dict[str, Any]:
    (line,) = grid.overview().lines
    return dict(line.cells[TIME])


def test_each_comparison_has_its_ratio_and_interval_so_far_and_no_word() -> None:
    # Some runs are of earlier attempts.
    earlier = {CASES[which].case_id: {1: {"elapsed_s": times[0]}} for which, times in TIMES.items()}
    grid = LiveGrid(CASES, earlier)
    for which, times in TIMES.items():
        for repetition, seconds in enumerate(times[1:], 2):
            grid.add(record(which, repetition, seconds))
    baseline, better, single = cells(grid).values()
    logs = [math.log(a / b) for a, b in zip(TIMES[1], TIMES[0], strict=True)]
    low, high = stats.t.interval(0.95, 3, loc=sum(logs) / 4, scale=stats.sem(logs))
    assert (baseline.outcome, better.outcome) == ("baseline", "estimate")
    assert baseline.centre == pytest.approx(sum(TIMES[0]) / 4)
    assert better.ratio == pytest.approx(math.exp(sum(logs) / 4))
    assert (better.low, better.high) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-3)
    # Of one pair there is no interval.
    assert single.ratio == pytest.approx(2.0)
    assert math.isnan(single.low)


def test_programs_of_a_given_time_show_what_they_print_and_are_compared_by() -> None:
    rate = Metric("rate", "rate (.*)", "Gflop/s", better="higher")
    app = replace(CASES[0].app, metrics=(Metric("n", "n (.*)", "1"), rate), fixed_time=True)
    cases = [replace(case, app=app) for case in CASES[:2]]
    rates = [(40.0, 60.0), (42.0, 66.0)]
    made = [{"elapsed_s": 10.0, "metrics": {"rate": printed}} for printed in rates[0]]
    earlier = {of.case_id: {1: run} for of, run in zip(cases, made, strict=True)}
    grid = LiveGrid(cases, earlier)
    for which, printed in enumerate(rates[1]):
        grid.add(record(which, 2, 10.0, metrics={"rate": printed}))
    (objective,) = grid.overview().leading
    assert objective.higher
    shown = plain(grid_lines(grid.overview(), objective, 80))
    # The geometric mean of 60 / 40 and 66 / 42, and of two runs a wide and lopsided interval.
    assert "41.0 Gflop/s" in shown
    assert "+54 +14…+107" in shown
    other = replace(CASES[2], app=replace(app, name="other", fixed_time=False), table=2)
    overview = LiveGrid([*cases, other], {}).overview()
    assert overview.leading == [TIME, objective]
    shown, of_time = (plain(grid_lines(overview, shown_by, 80)) for shown_by in (objective, TIME))
    assert ("demo" in of_time, "other" in of_time) == (False, True)
    assert ("demo" in shown, "other" in shown) == (True, False)


def test_only_good_runs_count_and_a_study_begins_with_nothing() -> None:
    grid = LiveGrid(CASES, {})
    assert "s" not in plain(grid_lines(grid.overview(), TIME, 80)).split("x2")[1]
    for bad in (record(0, 1, 5.0, status="failed"), record(0, 1, 5.0, warmup=True)):
        grid.add(bad)
    assert all(math.isnan(cell.centre) for cell in cells(grid).values())
    grid.add(record(0, 1, 5.0))
    assert "5.00 s" in plain(grid_lines(grid.overview(), TIME, 80))


def test_a_terminal_shows_it_above_the_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    with TerminalProgress(outline()) as progress:
        progress.finished({"case_id": case().case_id, "status": "ok", "warmup": False,
                           "repetition": 1, "elapsed_s": 1.25})  # fmt: skip
        progress.waiting("idle measurement")
    shown = capsys.readouterr().err
    assert shown.index("1.25 s") < shown.index("idle measurement")
