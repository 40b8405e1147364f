"""The plot of a class: cards of any number have their place, and the picture says what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis.figures.many_cards import draw_many_cards
from tests.analysis.findings.made_class import make_class
from tests.analysis.findings.test_many_cards import found


@pytest.mark.parametrize(("students", "named"), [(1, True), (3, True), (30, True), (120, False)])
def test_all_cards_have_a_row_and_names_where_they_fit(
    tmp_path: Path, students: int, named: bool
) -> None:
    plot = found(make_class(tmp_path, students))
    assert plot is not None

    drawing = draw_many_cards(plot)

    svg = drawing.data("svg").decode()
    assert len(set(re.findall(r"student-\d{3}", svg))) == (students if named else 0)
    for model, nodes in plot.groups.items():
        assert f"{model} ({len(nodes)})" in svg
    # At most a page.
    assert drawing.figure.get_figheight() < 11
    assert f"{students} card" in drawing.alt
