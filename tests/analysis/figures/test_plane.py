"""Time against energy: a panel a program, against one baseline, with the extremes named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

from analysis.answer import analyze
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.layout import Layout
from analysis.figures.overview import draw_overview_plane
from analysis.results.sources import open_results
from tests.analysis.verdict.test_printed import RATES, printing
from tests.support.results import Record, Study, in_table, record, spoilt, write

TIMES = {"unpinned": 1.0, "pcores-pin": 0.8, "ecores-set": 1.6}
ENERGIES = {"unpinned": 1.0, "pcores-pin": 1.1, "ecores-set": 0.5}


def plane(
    folder: Path | str, records: list[Record] | None = None, guests: bool = False
) -> Drawing | NotDrawn:
    if records:
        write(Path(folder), records)
    results = open_results(str(folder))
    return draw_overview_plane(results, analyze(results), guests=guests)


def drawn(folder: Path | str, records: list[Record] | None = None, guests: bool = False) -> Drawing:
    drawing = plane(folder, records, guests)
    assert isinstance(drawing, Drawing)
    return drawing


def markers(drawing: Drawing, panel: int = 0) -> list[Line2D]:
    lines = drawing.figure.axes[panel].get_lines()
    return [line for line in lines if line.get_marker() not in ("", "None", None)]


def points(drawing: Drawing, panel: int = 0) -> list[tuple[float, float]]:
    lines = markers(drawing, panel)
    return [(float(x), float(y)) for line in lines for x, y in np.asarray(line.get_xydata())]


def test_a_case_stands_at_its_changes_from_the_baseline(tmp_path: Path) -> None:
    found = points(drawn(tmp_path, Study(TIMES, ENERGIES, noise=0.0).records()))
    for got, wanted in zip(found, [(0, 0), (-20, 10), (60, -50)], strict=True):
        assert got == pytest.approx(wanted, abs=0.5)


def test_settings_are_against_one_baseline_and_told_by_the_filling(tmp_path: Path) -> None:
    runs = [
        record(n, r, elapsed_s=s, energy_pkg_j=j)
        for n, s, j in ((1, 10.0, 100.0), (6, 15.0, 50.0))
        for r in range(1, 6)
    ]
    drawing = drawn(tmp_path, runs)
    assert points(drawing) == [pytest.approx((0, 0)), pytest.approx((50, -50))]
    assert [line.get_fillstyle() for line in markers(drawing)] == ["full", "none"]
    legend = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert legend == ["unpinned", "performance", "powersave", "equal energy-delay product"]
    assert "against unpinned under performance" in drawing.caption


def test_the_extremes_are_named_in_the_panel_and_in_words(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, Study(TIMES, ENERGIES).records())
    assert {text.get_text() for text in drawing.figure.axes[0].texts} == {"T", "E, EDP"}
    assert "least time with #2 pcores-pin" in drawing.alt
    assert "least energy and energy-delay product with #3 ecores-set" in drawing.alt


def test_a_table_has_a_panel_and_of_many_tables_a_program(tmp_path: Path) -> None:
    study = Study(TIMES, ENERGIES)
    few = [run for n in (1, 2) for run in in_table(n, study, threads=2**n)]
    assert titles(drawn(tmp_path / "few", few)) == ["lulesh x2", "lulesh x4"]
    many = [run for n in range(1, 11) for run in in_table(n, study, threads=n)]
    drawing = drawn(tmp_path / "many", many)
    assert titles(drawing) == ["lulesh"]
    assert len(points(drawing)) == 30
    labels = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert all(re.search(r" x\d+$", label) for label in labels)


def titles(drawing: Drawing) -> list[str]:
    return [axes.get_title(loc="left") for axes in drawing.figure.axes]


def test_published_deviations_are_intervals_of_time() -> None:
    drawing = drawn("published:galante-2025")
    lines = drawing.figure.axes[0].get_lines()
    across = [np.asarray(line.get_xdata()) for line in lines if line.get_marker() == "None"]
    spans = [[float(x) for x in places] for places in across if len(places) == 2]
    # #2 of LULESH x1: 45.189 s, deviation 0.043 s of 10 runs, against 45.073 s; t(9) is 2.262.
    reach = 2.262 * 0.043 / 10**0.5
    wanted = [100 * ((45.189 + side * reach) / 45.073 - 1) for side in (-1, 1)]
    assert any(span == pytest.approx(wanted, abs=0.001) for span in spans)


def test_programs_of_a_given_time_are_left_out(tmp_path: Path) -> None:
    found = plane(tmp_path, printing(RATES, fixed_time=True, energy_pkg_j=9.0))
    assert isinstance(found, NotDrawn)
    assert "runs as long as it is told" in found.reason


def test_a_case_that_is_not_compared_is_counted_and_not_drawn(tmp_path: Path) -> None:
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    runs = spoilt(Study(TIMES, ENERGIES), "pcores-pin", [2, 3], **lost)
    drawing = drawn(tmp_path, runs)
    assert len(points(drawing)) == 2
    assert "pcores-pin" not in drawing.alt
    assert "Not drawn: 1 case that lost more than a tenth of the runs" in drawing.caption


def test_without_a_baseline_it_says_that_none_is_known(tmp_path: Path) -> None:
    runs = spoilt(Study(TIMES, TIMES), "unpinned", status="failed", reason="exit status 3")
    found = plane(tmp_path, runs)
    assert isinstance(found, NotDrawn)
    assert found.reason == (
        "no case of which time and energy are known has a baseline of which they are"
    )


def test_guests_have_a_figure_of_their_own(tmp_path: Path) -> None:
    onto_vcpus = {"mapping": "unpinned", "selection": "all", "binding": "none"}
    runs = [
        run | {f"vcpu_{name}": run[name] for name in onto_vcpus} | onto_vcpus
        | {"engine": "vm", "vm_accelerator": "kvm", "vm_cpus": vcpus,
           "case_id": f"{run['case_id']}{vcpus}", "elapsed_s": run["elapsed_s"] * slower}
        for run in Study({"unpinned": 1.0, "pcores-pin": 0.9}, noise=0.0).records()
        for vcpus, slower in ((8, 1), (2, 20))
    ]  # fmt: skip
    runs = [run | {"energy_pkg_j": 10 * run["elapsed_s"]} for run in runs]
    drawing = drawn(tmp_path, runs, guests=True)
    assert drawing.name == "time-energy-guests"
    for panel in (0, 1):
        assert points(drawing, panel)[1] == pytest.approx((-10, -10), abs=0.5)
    assert isinstance(plane(tmp_path), NotDrawn)


def test_it_is_as_wide_as_the_layout_says(tmp_path: Path) -> None:
    write(tmp_path, Study(TIMES, ENERGIES).records())
    results = open_results(str(tmp_path))
    layout = Layout(2.5, names={"lulesh": "LULESH", "ecores-set": "E cores"})
    drawing = draw_overview_plane(results, analyze(results), layout)
    assert isinstance(drawing, Drawing)
    assert drawing.figure.get_figwidth() == 2.5
    assert titles(drawing) == ["LULESH x8"]
    assert "E cores" in [text.get_text() for text in drawing.figure.legends[0].get_texts()]
