"""Every comparison is a mark with its interval in its configuration's row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

from analysis.answer import Answer, analyze
from analysis.figures.comparisons import draw_comparisons
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.layout import Layout
from analysis.objectives import ENERGY, TIME
from analysis.results.sources import Results, open_results
from tests.support.results import Record, Study, in_table, record, write

TIMES = {"unpinned": 1.0, "pcores-set": 1.001, "pcores-pin": 0.8, "ecores-set": 1.5}
PUBLISHED = "published:galante-2025"


def analyzed(source: Path | str) -> tuple[Results, Answer]:
    results = open_results(str(source))
    return results, analyze(results)


def drawn(folder: Path, records: list[Record], layout: Layout = Layout()) -> Drawing:  # noqa: B008
    write(folder, records)
    drawing = draw_comparisons(*analyzed(folder), TIME, layout)
    assert isinstance(drawing, Drawing)
    return drawing


def marks(drawing: Drawing) -> dict[str, Line2D]:
    """Return the marks by gid."""
    lines = drawing.figure.axes[0].get_lines()
    return {str(line.get_gid()): line for line in lines if line.get_gid()}


def across(line: Line2D) -> list[float]:
    """Return both ends of a mark's interval, and in the middle its change."""
    return [float(value) for value in np.asarray(line.get_xdata())]


def texts(drawing: Drawing) -> list[str]:
    return [text.get_text() for text in drawing.figure.axes[0].texts]


def test_a_mark_stands_at_its_change_with_both_ends_of_its_interval(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, Study(TIMES, governors=("performance", "powersave")).records())
    _, answer = analyzed(tmp_path)
    expected = sorted(
        [100 * (interval.low - 1), 100 * (difference.ratio - 1), 100 * (interval.high - 1)]
        for case in answer.cases
        if TIME in case.comparisons
        for difference in [case.comparisons[TIME].difference]
        for interval in [difference.interval()]
    )

    found = sorted(across(line) for line in marks(drawing).values())

    assert len(found) == 6
    for got, wanted in zip(found, expected, strict=True):
        assert got == pytest.approx(wanted)


def test_a_mapping_has_one_colour_and_marker_and_is_hollow_where_undecided(
    tmp_path: Path,
) -> None:
    drawing = drawn(tmp_path, Study({"unpinned": 1.0, "pcores-pin": 1.0}, noise=0.03).records())
    (line,) = marks(drawing).values()
    assert "undecided" in drawing.tooltips[str(line.get_gid())]
    assert line.get_markerfacecolor() == "white"
    assert "Hollow marks are undecided." in drawing.caption

    published = draw_comparisons(*analyzed(PUBLISHED), TIME)
    assert isinstance(published, Drawing)
    looks: dict[str, set[tuple[object, object]]] = {}
    for gid, line in marks(published).items():
        mapping = str(published.tooltips[gid]).split(":")[0].rpartition(" ")[2]
        looks.setdefault(mapping, set()).add((line.get_color(), line.get_marker()))
    assert set(looks) == {"pcores-set", "pcores-pin", "ecores-set", "ecores-pin"}
    assert all(len(look) == 1 for look in looks.values())
    assert len({look for found in looks.values() for look in found}) == 4


def test_every_mark_has_a_tooltip_with_its_value_and_interval(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, Study({"unpinned": 1.0, "ecores-set": 1.5}).records())
    assert set(marks(drawing)) == set(drawing.tooltips)
    (text,) = map(str, drawing.tooltips.values())
    assert text.startswith("lulesh x8, ecores-set: +50")
    assert text.endswith("%), worse")
    svg = drawing.data("svg").decode()
    assert all(f'<g id="{gid}">' in svg for gid in drawing.tooltips)


def test_a_program_has_a_heading_and_a_row_alone_has_its_whole_name(tmp_path: Path) -> None:
    of_both = Study(TIMES, governors=("performance", "powersave")).records()
    assert texts(drawn(tmp_path / "two", of_both)) == ["lulesh", "x8 performance", "x8 powersave"]
    assert texts(drawn(tmp_path / "one", Study(TIMES).records())) == ["lulesh x8"]


def test_a_layout_gives_its_width_its_names_and_no_title_of_its_own(tmp_path: Path) -> None:
    records = Study(TIMES, governors=("performance", "powersave")).records()
    names = {"pcores-set": "P set", "lulesh": "LULESH", "powersave": "saving"}
    drawing = drawn(tmp_path, records, Layout(width=89 / 25.4, names=names))
    assert drawing.figure.get_figwidth() == pytest.approx(89 / 25.4)
    assert texts(drawing) == ["LULESH", "x8 performance", "x8 saving"]
    assert not any("All comparisons" in text.get_text() for text in drawing.figure.texts)
    (legend,) = drawing.figure.legends
    assert "P set" in [text.get_text() for text in legend.get_texts()]
    titled = drawn(tmp_path / "titled", records, Layout(width=3.5, title="Mine"))
    assert "Mine" in [text.get_text() for text in titled.figure.texts]


@pytest.mark.parametrize("ratio", [1.004, 0.9, 3.0, 400.0])
def test_marks_are_inside_the_axis_whatever_the_range(tmp_path: Path, ratio: float) -> None:
    drawing = drawn(tmp_path, Study({"unpinned": 1.0, "ecores-pin": ratio}).records())
    axes = drawing.figure.axes[0]
    low, high = axes.get_xlim()
    assert all(low < across(line)[1] < high for line in marks(drawing).values())
    assert 0 in axes.get_xticks() and len(axes.get_xticks()) >= 3


def test_the_number_of_configurations_makes_it_taller_but_not_wider(tmp_path: Path) -> None:
    few = Study(TIMES).records()
    many = [run for number in range(1, 41) for run in in_table(number, few, threads=number)]
    small, large = drawn(tmp_path / "few", few), drawn(tmp_path / "many", many)
    assert len(marks(large)) == 40 * len(marks(small))
    assert large.figure.get_figwidth() == small.figure.get_figwidth()
    assert large.figure.get_figheight() > 5 * small.figure.get_figheight()


def test_what_was_not_compared_is_not_drawn_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, [record(3, repetition) for repetition in (1, 2, 3)])
    found = draw_comparisons(*analyzed(tmp_path), TIME)
    assert isinstance(found, NotDrawn)
    assert found.reason == "no case is compared in time with a baseline"
    energy = draw_comparisons(*analyzed(PUBLISHED), ENERGY)
    assert isinstance(energy, NotDrawn)
