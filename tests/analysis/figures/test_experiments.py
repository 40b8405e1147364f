"""The figures of the affinity experiments: what is drawn where, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pinstudy.analysis.affinity.team import MAX_CELLS
from pinstudy.analysis.figures.drawing import Drawing, NotDrawn
from pinstudy.analysis.figures.experiments import MAX_TEAMS
from tests.analysis.affinity.made_results import NO_L1D, ROUNDS, Affinity, make_affinity
from tests.analysis.figures.drawn import HOSTILE, Figures, drawing, figures_of, texts
from tests.analysis.report.made_results import DIGEST
from tests.support.results import Record, record


def figures(folder: Path, study: Affinity) -> Figures:
    return figures_of(make_affinity(folder, study))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures(tmp_path_factory.mktemp("study"), Affinity(noise=0.0, repetitions=5))


def marked(axes: Axes, marker: str) -> list[tuple[int, float]]:
    """Return row and value of markers, which may stand a little above or below their rows."""
    lines: list[Line2D] = [line for line in axes.get_lines() if line.get_marker() == marker]
    points = np.concatenate([np.asarray(line.get_xydata(), dtype=float) for line in lines])
    return [(round(y), float(x)) for x, y in points]


def test_rounds_are_drawn_by_placement_beside_what_was_published(study: Figures) -> None:
    drawn = drawing(study, "contention-1")

    times, misses = drawn.figure.axes
    expected = dict(enumerate(ROUNDS["integer"].values()))
    assert dict(marked(times, "D")) == pytest.approx(expected)
    # 10.7 ms left to the scheduler, 3.53 ms on one CPU (by either mechanism), and their misses.
    assert marked(times, "*") == [(0, 10.7), (1, 3.53), (2, 3.53)]
    assert dict(marked(misses, "*")) == pytest.approx({0: 7.84, 1: 0.45, 2: 0.45})
    assert "left out" in texts(drawn.figure)
    assert (
        "from 2.5 ms for #2 same-cpu-pin-program (performance) to 14 ms for #7 across" in drawn.alt
    )
    assert "Published: 10.7 ms for #1 unpinned (performance)" in drawn.alt


def test_what_was_not_counted_has_no_panel_and_what_was_not_run_no_figure(tmp_path: Path) -> None:
    make_affinity(tmp_path, Affinity(apps=("contention",), l1d=False, repetitions=2))

    drawn = figures_of(tmp_path)

    figure = drawing(drawn, "contention-1")
    assert len(figure.figure.axes) == 1
    assert NO_L1D in figure.caption
    assert {"contention-1", "contention-2"} <= drawn.keys()
    assert not [name for name in drawn if name.startswith(("smt-", "threads-"))]


def test_workloads_stand_beside_each_other_with_multiples_of_the_time_alone(study: Figures) -> None:
    figure = drawing(study, "smt-1").figure

    sines, sums = figure.axes
    assert sines.get_title(loc="left").startswith("sin")
    rows = [text for text in texts(figure) if text.startswith("#")]
    siblings = next(at for at, row in enumerate(rows) if "siblings" in row)
    assert dict(marked(sines, "D"))[siblings] == pytest.approx(1.8, rel=0.01)
    assert dict(marked(sums, "D"))[siblings] == pytest.approx(1.0, rel=0.01)
    assert marked(sines, "*") == [(siblings, 1.75)]
    assert marked(sums, "*") == [(siblings, 1.0)]


def test_a_slow_run_is_within_the_panel(tmp_path: Path) -> None:
    records = list(Affinity(apps=("contention",), repetitions=5).records())
    next(run for run in records if run.get("metrics"))["metrics"]["round_ms"] = 40.0
    figure = drawing(figures_of(tmp_path, records, "contention-1"), "contention-1").figure
    assert figure.axes[0].get_xlim()[1] > 40


def test_of_many_workloads_the_first_are_drawn_with_a_note(tmp_path: Path) -> None:
    of_two = list(Affinity(apps=("smt",), repetitions=2).records())
    records = of_two + [
        r | {"case_id": f"{r['case_id']}-{n}", "size": f"{r['size']}-{n}", "table_number": 9 * n}
        for n in (1, 2)
        for r in of_two
    ]

    figure = drawing(figures_of(tmp_path, records, "smt-1"), "smt-1")

    assert len(figure.figure.axes) == 3
    assert "3 more workloads are not drawn." in figure.caption


def reason_of(drawn: Figures, name: str) -> str:
    found = drawn[name]
    assert isinstance(found, NotDrawn)
    return found.reason


def test_without_one_thread_alone_no_multiples_are_drawn(tmp_path: Path) -> None:
    records = [r for r in Affinity(apps=("smt",), repetitions=2).records() if r["threads"] == 2]
    assert "one thread" in reason_of(figures_of(tmp_path, records, "smt-1"), "smt-1")


def test_a_team_s_cells_are_the_shares_of_the_looks(study: Figures) -> None:
    figure = drawing(study, "threads-1").figure

    free, pinned, crowded = figure.axes
    shares = np.asarray(free.images[0].get_array())
    # The P-cores' CPUs 0 to 11, then the E-cores': a column is its CPU's number here.
    assert shares.shape == (4, 16)
    assert shares[0, [0, 5]].tolist() == [0.6, 0.4]
    assert shares[2, [4, 12]].tolist() == [0.5, 0.5]
    assert np.asarray(pinned.images[0].get_array()).sum() == 4
    assert np.asarray(crowded.images[0].get_array()).sum(axis=0).tolist()[:3] == [2, 0, 2]
    assert {"P-cores", "E-cores"} <= {*texts(figure)}


def test_cpus_stand_in_groups_by_kind_best_first(tmp_path: Path) -> None:
    make_affinity(tmp_path, Affinity(apps=("threadmap",), repetitions=1))
    node = tmp_path / "nodes" / f"{DIGEST}.json"
    node.write_text(
        node.read_text().replace('"cpus": "0-11"', '"cpus": "4-15"').replace(
            '"cpus": "12-15", "declared"', '"cpus": "0-3", "declared"'
        )
    )  # fmt: skip

    axes = drawing(figures_of(tmp_path, like="threads-1"), "threads-1").figure.axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == [str(cpu) for cpu in (*range(4, 16), *range(4))]


def team(number: int, threads: list[tuple[str, dict[str, int]]]) -> Record:
    """Return a run whose threads were allowed these CPUs and seen there so often."""
    placed = [{"process": 0, "allowed": allowed, "seen": seen} for allowed, seen in threads]
    fields = {"placement": {"threads": placed}, "threads": len(threads), "governor": "performance"}
    return record(number, 1, app="threadmap", **fields)


def test_a_node_with_hundreds_of_cpus_is_drawn_and_more_are_not(tmp_path: Path) -> None:
    hundreds = team(1, [("0-511", {str(cpu): 3, str(511 - cpu): 1}) for cpu in range(256)])
    everywhere: tuple[str, dict[str, int]] = ("0-1023", {str(cpu): 1 for cpu in range(1024)})
    thousands = team(1, [everywhere, *[("0-1023", {"0": 1})] * (MAX_CELLS // 1024)])

    name = "threads-1"
    figure = drawing(figures_of(tmp_path / "hundreds", [hundreds], name), name)
    reason = reason_of(figures_of(tmp_path / "thousands", [thousands], name), name)

    assert figure.figure.get_figheight() < 5
    assert "Where dots would be too many there are none." in figure.caption
    assert len(figure.data("svg")) < 500_000
    assert reason == "so many threads and CPUs cannot be drawn"


def test_of_many_teams_the_first_are_drawn_with_a_note(tmp_path: Path) -> None:
    runs = [team(number, [("0", {"0": 3})]) for number in range(1, MAX_TEAMS + 3)]
    figure = drawing(figures_of(tmp_path, runs, "threads-1"), "threads-1")
    assert len(figure.figure.axes) == MAX_TEAMS
    assert "2 more cases of this table are not drawn." in figure.caption


def test_hostile_names_are_text(tmp_path: Path) -> None:
    evil = dict.fromkeys(("mapping", "size", "build", "governor"), HOSTILE)
    apps = Affinity(apps=("smt", "threadmap"), repetitions=2)
    records = [r | evil for r in apps.records()]

    for figure in figures_of(tmp_path, records).values():
        if isinstance(figure, Drawing):
            svg = figure.data("svg").decode()
            assert "<script" not in svg
            assert "\x1b" not in svg + figure.alt + figure.caption
