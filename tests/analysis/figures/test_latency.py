"""The heat map of latencies: what is where, and what is said of it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from analysis.figures.drawing import FORMATS, Drawing
from analysis.figures.latency import draw_latency
from analysis.latency.reading import read_latency
from tests.analysis.figures.drawn import HOSTILE
from tests.analysis.latency.made_latency import PLANTED, Planted, content_of, write_latency_file


def drawn(folder: Path, planted: Planted, **options: Any) -> Drawing:  # noqa: ANN401
    return draw_latency(read_latency(write_latency_file(folder, content_of(planted, **options))))


def map_of(drawing: Drawing) -> Axes:
    return drawing.figure.axes[0]


def cells(drawing: Drawing) -> np.ndarray[Any, np.dtype[np.float64]]:
    (image,) = map_of(drawing).images
    return np.ma.filled(np.ma.asarray(image.get_array()), np.nan)


def words(drawing: Drawing) -> set[str]:
    return {text.get_text() for text in map_of(drawing).texts}


def test_both_directions_of_a_pair_have_a_cell_each(tmp_path: Path) -> None:
    medians = np.array([[np.nan, 50.0], [70.0, np.nan]])

    drawing = drawn(tmp_path, PLANTED["two"], medians=medians, spread=0.0001)

    assert cells(drawing)[0, 1] == pytest.approx(50.0, rel=0.01)
    assert cells(drawing)[1, 0] == pytest.approx(70.0, rel=0.01)
    assert np.isnan(np.diag(cells(drawing))).all()
    assert {"50.0", "70.0"} <= words(drawing)


def test_siblings_stand_together_whatever_their_numbers(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, PLANTED["smt"])

    labels = [label.get_text() for label in map_of(drawing).get_xticklabels()]
    assert labels[:4] == ["0", "8", "1", "9"]
    assert cells(drawing)[0, 1] == pytest.approx(8.0, rel=0.1)


def test_kinds_siblings_and_caches_are_marked_at_the_edges(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, PLANTED["hybrid"])

    assert {"kind", "SMT siblings", "L2"} <= words(drawing)
    legend = {text.get_text() for text in drawing.figure.legends[0].get_texts()}
    assert {"P-cores", "E-cores"} <= legend
    # A bracket of eight pairs of siblings and of twelve L2 at each of both edges.
    assert len(map_of(drawing).lines) == 2 * (8 + 12)
    # Levels of the kernel with the same groups share a layer.
    assert "package, NUMA node" in words(drawn(tmp_path, PLANTED["packages"]))


def test_unmeasured_pairs_are_empty_and_counted(tmp_path: Path) -> None:
    medians = PLANTED["complexes"].ns()
    medians[2, 9] = medians[9, 2] = np.nan

    drawing = drawn(tmp_path, PLANTED["complexes"], medians=medians)

    assert np.isnan(cells(drawing)[2, 9])
    assert "2 ordered pairs not measured" in drawing.caption
    legend = {text.get_text() for text in drawing.figure.legends[0].get_texts()}
    assert "not measured" in legend


def test_a_disturbed_pair_does_not_stretch_the_scale(tmp_path: Path) -> None:
    medians = PLANTED["complexes"].ns()
    medians[2, 9] = medians[9, 2] = 5000.0

    drawing = drawn(tmp_path, PLANTED["complexes"], medians=medians)

    (image,) = map_of(drawing).images
    _, high = image.get_clim()
    assert high is not None and high < 100
    assert "1 pair off the scale" in drawing.caption


def test_the_alt_text_names_extremes(tmp_path: Path) -> None:
    medians = PLANTED["complexes"].ns()
    medians[3, 5] = medians[5, 3] = 24.2
    medians[1, 12] = medians[12, 1] = 95.0

    alt = drawn(tmp_path, PLANTED["complexes"], medians=medians, spread=0.001).alt

    assert "Heat map of 16 CPUs, 120 pairs measured" in alt
    assert "24.2 ns between CPUs 3 and 5" in alt
    assert "between CPUs 1 and 12" in alt


@pytest.mark.parametrize("style", FORMATS)
def test_the_same_file_gives_the_same_bytes(tmp_path: Path, style: str) -> None:
    first, second = (drawn(tmp_path, PLANTED["smt"]).data(style) for _ in range(2))

    assert first == second


def test_a_hostile_name_is_text_in_the_figure(tmp_path: Path) -> None:
    content = content_of(PLANTED["two"]) | {"node_id": HOSTILE}
    drawing = draw_latency(read_latency(write_latency_file(tmp_path, content)))

    svg = drawing.data("svg").decode()
    ElementTree.fromstring(svg)
    assert "<script>" not in svg
    assert "\u202e" not in svg
