"""The node's picture: taken from what lstopo has drawn, and from nothing that it would not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.node import draw_nodes
from analysis.results.sources import open_results
from runners.node.kept_nodes import keep_picture
from tests.analysis.report.made_results import DIGEST, make_results
from tests.support.tools import need_tool

BOX = """<rect x='7' y='24' width='80' height='40' fill='rgb(210,231,164)' stroke='rgb(0,0,0)'/>
<text x='14' y='41' fill='rgb(0,0,0)' font-size='10px'>Package L#0</text>
<line x1='1' y1='2' x2='3' y2='4' stroke='rgb(0,0,0)'/>"""


def svg(shapes: str, size: str = "width='200px' height='100px'") -> str:
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{shapes}</svg>"


def drawn_from(folder: Path, picture: str) -> Drawing | NotDrawn:
    make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=1)
    (folder / "nodes" / f"{DIGEST}.lstopo.svg").write_text(picture)
    (drawn,) = draw_nodes(open_results(str(folder)))
    return drawn


def test_this_node_is_drawn_as_lstopo_draws_it(tmp_path: Path) -> None:
    need_tool("lstopo-no-graphics")
    make_results(tmp_path, apps=(("lu", 3.0),), threads=(1,), repetitions=1)
    assert keep_picture(tmp_path / "nodes" / f"{DIGEST}.lstopo.svg") == {}

    (drawn,) = draw_nodes(open_results(str(tmp_path)))

    assert isinstance(drawn, Drawing)
    texts = [text.get_text() for text in drawn.figure.axes[0].texts]
    assert "Package L#0" in texts
    assert "PU L#0" in texts


def test_boxes_lines_and_text_stand_where_lstopo_put_them(tmp_path: Path) -> None:
    drawn = drawn_from(tmp_path, svg(BOX))

    assert isinstance(drawn, Drawing)
    (axes,) = drawn.figure.axes
    (box,) = axes.patches
    assert isinstance(box, Rectangle)
    assert (box.get_xy(), box.get_width(), box.get_height()) == ((7, 24), 80, 40)
    assert axes.texts[0].get_text() == "Package L#0"
    assert axes.texts[0].get_position() == (14, 41)
    assert np.asarray(axes.lines[0].get_data()).tolist() == [[1, 3], [2, 4]]
    assert drawn.figure.get_size_inches().tolist() == pytest.approx([200 / 96, 100 / 96])
    assert "6 P-cores (CPUs 0-11)" in drawn.alt


def test_nothing_but_boxes_lines_and_text_is_taken(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><image href='http://127.0.0.1:9/x'/><g onload='alert(1)'/>"

    drawn = drawn_from(tmp_path, svg(evil + BOX + "<text x='1' y='2'>&lt;script&gt;$x$</text>"))

    assert isinstance(drawn, Drawing)
    data = drawn.data("svg").decode()
    for text in ("<script", "127.0.0.1", "alert", "onload"):
        assert text not in data
    assert "&lt;script&gt;$x$" in data


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(f"<!DOCTYPE a [<!ENTITY b 'c'>]>{svg(BOX)}", id="with entities"),
        pytest.param(svg(BOX, "width='9e9px' height='100px'"), id="size in another notation"),
        pytest.param(svg(BOX, "width='999999px' height='100px'"), id="too large"),
        pytest.param(svg(BOX, ""), id="without a size"),
        pytest.param(svg("<rect x='nan' y='0' width='1' height='1'/>"), id="no number"),
        pytest.param(svg("<g>"), id="not well-formed"),
        pytest.param(svg(BOX * 10_000), id="too many shapes"),
    ],
)
def test_what_lstopo_would_not_draw_is_not_drawn(tmp_path: Path, picture: str) -> None:
    drawn = drawn_from(tmp_path, picture)

    assert isinstance(drawn, NotDrawn)
    assert drawn.reason == "the picture is not as lstopo draws it"
