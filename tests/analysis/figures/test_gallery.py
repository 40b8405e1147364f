"""What figures show, and of what they are not drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinstudy.analysis.figures.drawing import FORMATS, Drawing, NotDrawn
from pinstudy.analysis.figures.gallery import Options, write_figures
from pinstudy.analysis.figures.latency import draw_latency
from pinstudy.analysis.figures.many_cards import draw_many_cards
from pinstudy.analysis.figures.rows import MAX_DOTS
from pinstudy.analysis.figures.style import Layout
from pinstudy.analysis.latency.reading import read_latency
from pinstudy.analysis.report.html import inline_svg
from pinstudy.base.errors import UserError
from tests.analysis.figures.drawn import HOSTILE, Figures, dots, drawing, figures_of, texts
from tests.analysis.findings.made_class import make_class
from tests.analysis.findings.test_many_cards import found
from tests.analysis.latency.made_latency import PLANTED, Planted, content_of, write_latency_file
from tests.analysis.report.made_results import NO_ENERGY, make_results
from tests.support.results import Record, Study, in_table, record, without

KINDS, IMBALANCE = "lulesh-x1/kinds", "lulesh-x1/imbalance"
# Of the kinds that only some results have there is nothing to say where they have none.
OF_EVERY_STUDY = {"comparisons", "comparisons-energy", "time-energy", "runs-over-time"}


def drawing_of(folder: Path, name: str, *records: Record) -> Drawing:
    return drawing(figures_of(folder, records, name), name)


def small(folder: Path, repetitions: int = 2) -> Path:
    return make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=repetitions)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(make_results(tmp_path_factory.mktemp("study")))


def test_each_mark_of_a_core_kind_has_its_case_and_value_as_tooltip(study: Figures) -> None:
    # The made-up P-cores have 5.1 GHz under performance, where unpinned threads are 3.1 % on E.
    kinds = drawing(study, KINDS)
    assert texts(kinds.figure).count("E 3.1 %") == 2
    said = str(list(kinds.tooltips.values()))
    assert "#2 pcores-set (performance), P-cores: 5.1 GHz" in said
    assert "#1 unpinned (performance), E-cores: 3.1 % of CPU time" in said


def test_a_kind_that_no_case_used_is_named_as_such_and_has_no_area(tmp_path: Path) -> None:
    runs = [record(n, r, residency={"P": 1.0, "E": 0.0}) for n in (1, 2) for r in (1, 2)]
    kinds = drawing_of(tmp_path, KINDS, *runs)
    assert "2 of 2 cases used P-cores" in kinds.alt
    assert "No case used E-cores." in kinds.alt
    assert legend_of(kinds) == {"frequency, P-cores", "CPU time, P-cores"}


def test_each_run_and_mean_says_its_value_in_the_page(tmp_path: Path) -> None:
    drawn = drawing(figures_of(small(tmp_path), like="runs-over-time"), "runs-over-time")
    titles = re.findall(r"<title>(.*?)</title>", inline_svg(drawn, "d"))
    # Two repetitions of five mappings under two governors, of which one failed, with temperatures.
    run = r"lu x1 #\d+ [a-z-]+ \(\w+\), run [12]: \S+ %"
    assert len([title for title in titles if re.fullmatch(run, title)]) == 19
    assert sum(title.endswith(" °C") for title in titles) == 19


def test_each_thread_is_a_bar_with_a_part_for_each_kind(tmp_path: Path) -> None:
    teams = [[{"P": 8.0, "E": 1.0}, {"E": 2.0}], [{"P": 12.0, "E": 1.0}, {"E": 18.0}]]
    divided = [
        record(1, n, team_cpu_s=team, imbalance=imbalance)
        for n, (team, imbalance) in enumerate(zip(teams, (0.4, 0.2), strict=True), 1)
    ]

    drawn = drawing_of(tmp_path, IMBALANCE, *divided, record(2, 1))

    # The means are 10 s on P and 1 s on E, and 10 s on E: the first thread is the busiest, of 11 s.
    bars = [
        (bar.get_x(), bar.get_width(), bar.get_y() < 0)
        for bar in drawn.figure.axes[0].patches
        if isinstance(bar, Rectangle)
    ]
    assert bars == [
        pytest.approx(bar)
        for bar in ((0, 1000 / 11, True), (1000 / 11, 100 / 11, True), (0, 1000 / 11, False))
    ]
    assert {"30 %", "n/a"} <= {*texts(drawn.figure)}
    assert "The imbalance is 30 % for #1 unpinned (performance)." in drawn.alt
    # One thread divides no work.
    alone = [record(1, n, team_cpu_s=[{"P": 8.0}]) for n in (1, 2)]
    assert IMBALANCE not in figures_of(tmp_path / "alone", alone)


def test_what_was_not_measured_is_not_drawn_and_says_why(tmp_path: Path) -> None:
    names = ["energy_pkg_j", "freq_ghz", "freq_mean_ghz", "residency", "imbalance"]
    runs = [without(names, NO_ENERGY, number=1, repetition=r) for r in range(1, 6)]

    drawn = figures_of(tmp_path, runs)

    for name in ("comparisons-energy", "time-energy", KINDS, IMBALANCE):
        figure = drawn[name]
        assert isinstance(figure, NotDrawn), name
        assert figure.reason == NO_ENERGY


def test_a_study_has_five_kinds_and_a_folder_a_table(tmp_path: Path) -> None:
    teams = {"team_cpu_s": [{"P": 9.0}, {"P": 8.0}], "imbalance": 0.05}
    times = {"unpinned": 1.0, "pcores-pin": 0.9}
    study = Study(times, times, beside=dict.fromkeys(times, teams))
    # A program of 300 letters has a folder that a file system takes.
    apps = ("lulesh", "lu", "程序", "l" * 300)
    tables = [run for at, app in enumerate(apps, 1) for run in in_table(at, study, app=app)]

    names = set(figures_of(tmp_path, tables))

    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders >= {"lulesh-x8", "lu-x8", "table-3-x8"}
    assert len(folders) == 4 and all(len(folder) < 100 for folder in folders)
    assert names == OF_EVERY_STUDY | {
        f"{folder}/{kind}" for folder in folders for kind in ("imbalance", "kinds")
    }


def test_runs_are_drawn_over_time_with_the_trend_and_the_temperature(study: Figures) -> None:
    drawn = drawing(study, "runs-over-time")

    assert len(drawn.figure.axes) == 2
    # The model: 2 % slower from the first run to the last, the package from 41 to 55 °C.
    assert "Runs became slower by" in drawn.alt
    assert "1 run further away stands at the edge" in drawn.caption


def test_published_means_are_drawn_without_runs() -> None:
    drawn = figures_of("published:galante-2025")

    assert len(drawing(drawn, "comparisons").tooltips) == 56
    assert isinstance(drawn["runs-over-time"], NotDrawn)
    with pytest.raises(UserError, match="--output"):
        write_figures("published:galante-2025")


def test_too_many_runs_are_thinned_and_the_caption_says_so(tmp_path: Path) -> None:
    many = MAX_DOTS * 2
    cases = [(n, r) for r in range(1, many // 10 + 1) for n in range(1, 11)]
    runs = (record(n, r, elapsed_s=45 + r % 7 / 100) for n, r in cases)

    drawn = drawing_of(tmp_path, "runs-over-time", *runs)

    assert len(dots(drawn.figure)) == MAX_DOTS
    assert f"One run in 2 is shown, {many} were made." in drawn.caption
    assert len(drawn.data("svg")) < 200_000


@pytest.mark.parametrize("value", [1e100, 5e-324, -3.0])
def test_numbers_that_cannot_be_still_make_figures(tmp_path: Path, value: float) -> None:
    runs = [
        record(n, r, elapsed_s=value if (n, r) == (1, 3) else 45.0 + r, energy_pkg_j=abs(value))
        for n in (1, 2)
        for r in range(1, 6)
    ]

    for drawn in figures_of(tmp_path, runs).values():
        if isinstance(drawn, Drawing):
            assert drawn.data("svg")


def test_figures_are_not_written_through_a_link_of_the_results(tmp_path: Path) -> None:
    small(tmp_path / "made")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "made" / "figures").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UserError, match="figures: is a link; remove it, or name a folder"):
        write_figures(str(tmp_path / "made"))

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_figures_of_two_tables_are_written_into_a_folder_each(tmp_path: Path) -> None:
    fields = {"case_number": 1, "selection": "pcores"}
    runs = [record(t, r, table_number=t, app=f"app{t}", **fields) for t in (1, 2) for r in (1, 2)]
    drawn = {n: d for n, d in figures_of(tmp_path, runs).items() if isinstance(d, Drawing)}

    output = write_figures(str(tmp_path), options=Options(formats=["svg"]))

    assert "app2-x1/kinds" in drawn
    figures = tmp_path / "figures"
    names = [str(path.relative_to(figures).with_suffix("")) for path in output.files]
    assert names == [*drawn, "captions"]
    for name, figure in drawn.items():
        assert (figures / f"{name}.svg").read_bytes() == figure.data("svg")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UserError, match="cannot be written"):
        write_figures(str(tmp_path), tmp_path / "taken" / "figures", Options(formats=["svg"]))


def test_a_file_has_the_same_bytes_each_time_and_says_what_is_seen(tmp_path: Path) -> None:
    records = Study({"unpinned": 1.0, "pcores-pin": 0.9}, {"unpinned": 1.0, "pcores-pin": 0.9})
    first, second = (drawing_of(tmp_path, "time-energy", *records.records()) for _ in range(2))
    for style in FORMATS:
        data = first.data(style)
        assert data == second.data(style)
        assert b"#2 pcores-pin" in data


def test_hostile_names_are_text_in_figures_and_no_formula(tmp_path: Path) -> None:
    runs = [record(1, r, mapping=HOSTILE, app="a&b") for r in range(1, 6)]

    svg = drawing_of(tmp_path, "a-b-x1/kinds", *runs).data("svg").decode()

    root = ElementTree.fromstring(svg)
    shown = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    label = next(text for text in shown if text.startswith("#1"))
    assert label.startswith("#1 $\\frac{1}$ <script>\ufffd\ufffd[31m?x")
    assert len(label) < 120
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_a_study_that_was_continued_days_later_shows_no_empty_days(tmp_path: Path) -> None:
    runs = [
        record(1, r, attempt=attempt, started_at=f"2025-03-{day:02d}T12:{r:02d}:00Z")
        for attempt, day, repetitions in ((1, 1, range(1, 11)), (2, 9, range(11, 21)))
        for r in repetitions
    ]

    drawn = drawing_of(tmp_path, "runs-over-time", *runs)

    minutes = sorted(dots(drawn.figure)[:, 0])
    assert minutes == pytest.approx([*range(10), *range(9, 19)])
    assert "A vertical line is where the study was continued." in drawn.caption


@pytest.mark.parametrize(("students", "named"), [(1, True), (30, True), (120, False)])
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


# The heat map of latencies.
def heat_map(folder: Path, planted: Planted, **options: Any) -> Drawing:  # noqa: ANN401
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

    drawing = heat_map(tmp_path, PLANTED["two"], medians=medians, spread=0.0001)

    assert cells(drawing)[0, 1] == pytest.approx(50.0, rel=0.01)
    assert cells(drawing)[1, 0] == pytest.approx(70.0, rel=0.01)
    assert np.isnan(np.diag(cells(drawing))).all()
    assert {"50.0", "70.0"} <= words(drawing)


def legend_of(drawing: Drawing) -> set[str]:
    return {text.get_text() for text in drawing.figure.legends[0].get_texts()}


def test_siblings_stand_together_and_groups_are_marked_at_the_edges(tmp_path: Path) -> None:
    siblings = heat_map(tmp_path, PLANTED["smt"])
    labels = [label.get_text() for label in map_of(siblings).get_xticklabels()]
    assert labels[:4] == ["0", "8", "1", "9"]
    assert cells(siblings)[0, 1] == pytest.approx(8.0, rel=0.1)

    drawing = heat_map(tmp_path, PLANTED["hybrid"])
    assert {"kind", "SMT siblings", "L2"} <= words(drawing)
    assert {"P-cores", "E-cores"} <= legend_of(drawing)
    # A bracket of eight pairs of siblings and of twelve L2 at each of both edges.
    assert len(map_of(drawing).lines) == 2 * (8 + 12)
    # Levels of the kernel with the same groups share a layer.
    assert "package, NUMA node" in words(heat_map(tmp_path, PLANTED["packages"]))


def test_unmeasured_pairs_are_empty_and_disturbed_ones_do_not_stretch_the_scale(
    tmp_path: Path,
) -> None:
    medians = PLANTED["complexes"].ns()
    medians[2, 9] = medians[9, 2] = np.nan
    medians[3, 9] = medians[9, 3] = 5000.0
    medians[3, 5] = medians[5, 3] = 24.2

    drawing = heat_map(tmp_path, PLANTED["complexes"], medians=medians, spread=0.001)

    assert np.isnan(cells(drawing)[2, 9])
    assert "2 ordered pairs not measured" in drawing.caption
    assert legend_of(drawing) >= {"not measured", "off the scale, disturbed"}
    assert "\N{MULTIPLICATION SIGN}" not in words(drawing)
    # Without room for numbers a cross stands for them.
    narrow = draw_latency(read_latency(tmp_path / "latency.json"), Layout(width=3.5))
    assert "\N{MULTIPLICATION SIGN} off the scale, disturbed" in legend_of(narrow)
    assert "\N{MULTIPLICATION SIGN}" in words(narrow)
    (image,) = map_of(drawing).images
    _, high = image.get_clim()
    assert high is not None and high < 100
    assert "1 pair off the scale" in drawing.caption
    assert "Heat map of 16 CPUs, 119 pairs measured" in drawing.alt
    assert "24.2 ns between CPUs 3 and 5" in drawing.alt
    assert "between CPUs 3 and 9" in drawing.alt


def test_a_hostile_name_is_text_in_the_heat_map(tmp_path: Path) -> None:
    content = content_of(PLANTED["two"]) | {"node_id": HOSTILE}
    svg = draw_latency(read_latency(write_latency_file(tmp_path, content))).data("svg").decode()
    ElementTree.fromstring(svg)
    assert "<script>" not in svg and "\u202e" not in svg
