"""The overview that fills up while a study runs."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from analysis.objectives import TIME
from analysis.overview.text import grid_lines
from configs.app import Metric
from pinstudy.live_grid import LiveGrid
from pinstudy.progress import TerminalProgress
from tests.pinstudy.study.test_progress import outline
from tests.runners.cases import PUBLISHED, case
from tests.support.results import plain

CASES = [
    case(table=1, number=number, mapping=mapping) for number, mapping in enumerate(PUBLISHED[:3], 1)
]
TIMES = {0: [10.0, 11.0, 10.5, 10.2], 1: [9.0, 9.8, 9.6, 9.1], 2: [20.0]}


def record(which: int, repetition: int, elapsed_s: float, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
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
    shown, of_time = (plain(grid_lines(overview, of, 80)) for of in (objective, TIME))
    assert ("demo" in of_time, "other" in of_time) == (False, True)
    assert ("demo" in shown, "other" in shown) == (True, False)


def test_only_good_runs_count_and_a_study_begins_with_nothing() -> None:
    grid = LiveGrid(CASES, {})
    assert "s" not in plain(grid_lines(grid.overview(), TIME, 80)).split("x2")[1]
    for bad in (
        record(0, 1, 5.0, status="failed"),
        record(0, 1, 5.0, warmup=True),
    ):
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


def test_nothing_heavy_is_imported_for_it() -> None:
    """Numerical libraries would leave threads in the process that measures."""
    code = (
        "import sys; import pinstudy.live_grid, analysis.overview.text; "
        "print([n for n in ('numpy', 'scipy', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
