"""What figures show, and of what they are not drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from analysis.answer import analyze
from analysis.figures import gallery
from analysis.figures.drawing import FORMATS, Drawing, NotDrawn
from analysis.figures.gallery import write_figures
from analysis.figures.rows import MAX_DOTS
from analysis.figures.style import kind_style
from analysis.format.numbers import three_digits
from analysis.objectives import TIME as TIME_OBJECTIVE
from analysis.overview.configurations import overviews_of
from analysis.overview.text import cell_text
from analysis.results.sources import open_results
from base.errors import UserError
from tests.analysis.figures.drawn import HOSTILE, Figures, dots, drawing, figures_of, texts
from tests.analysis.report.made_results import NO_ENERGY, make_results
from tests.analysis.verdict.test_printed import RATES, printing
from tests.support.results import Record, Study, in_table, record, spoilt, without, write

TIME = "table-1-time-and-energy"
PLANE = "table-1-time-energy-plane"
KINDS = "table-1-kinds"
MIGRATIONS = "table-1-migrations"
IMBALANCE = "table-1-imbalance"
COURSE = "table-1-course"


def drawing_of(folder: Path, name: str, *records: Record) -> Drawing:
    return drawing(figures_of(folder, records), name)


def small(folder: Path, repetitions: int = 2) -> Path:
    return make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=repetitions)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(make_results(tmp_path_factory.mktemp("study")))


def test_every_good_run_is_a_dot_in_the_row_of_its_case(tmp_path: Path) -> None:
    runs = [record(c, n, elapsed_s=40.0 + 5 * c + n) for c in (1, 2) for n in range(1, 6)]
    failed = record(2, 6, elapsed_s=99.0, status="failed", reason="exit status 1")
    warmup = record(2, 7, elapsed_s=98.0, warmup=True)

    drawn = drawing_of(tmp_path, TIME, *runs, failed, warmup)

    shown = dots(drawn.figure)

    by_row = {row: sorted(shown[np.round(shown[:, 1]) == row, 0]) for row in (0, 1)}
    assert by_row == {0: [46, 47, 48, 49, 50], 1: [51, 52, 53, 54, 55]}
    assert len(shown) == 10
    assert "#2 pcores-set (performance)" in texts(drawn.figure)
    assert "from 48 s for #1 unpinned (performance) to 53 s for #2 pcores-set" in drawn.alt


def test_an_outlier_is_ringed_and_counted(tmp_path: Path) -> None:
    times = (10, 10.1, 9.9, 10.05, 15)

    drawn = drawing_of(tmp_path, TIME, *(record(1, r, elapsed_s=s) for r, s in enumerate(times, 1)))

    rings = [c for c in drawn.figure.axes[0].collections if isinstance(c, PathCollection)][-1:]
    assert [float(x) for ring in rings for x in np.asarray(ring.get_offsets())[:, 0]] == [15.0]
    assert "1 run far from the others" in drawn.alt


def test_the_front_and_the_best_cases_are_told_in_words(
    study: Figures,
) -> None:
    alt = drawing(study, PLANE).alt

    # The model: least time on P-cores under performance, least energy on E-cores.
    assert "Least time: #2 pcores-set (performance)" in alt or "Least time: #3 pcores-pin" in alt
    assert any(f"Least energy: #{n} ecores" in alt for n in (4, 5, 9, 10))


def test_zero_migrations_stand_at_zero(tmp_path: Path) -> None:
    runs = [record(n, r, migrations=m) for n, m in ((1, 0), (2, 4000)) for r in range(1, 6)]

    figure = drawing_of(tmp_path, MIGRATIONS, *runs).figure

    axes = figure.axes[0]
    assert set(dots(figure)[:, 0]) == {0.0, 4000.0}
    at_zero, at_one = axes.transData.transform([(0.0, 0.0), (1.0, 0.0)])[:, 0]
    assert axes.bbox.x0 <= at_zero < at_one
    assert {"0", "4000"} <= {*texts(figure)}


def test_a_few_migrations_stand_on_a_linear_axis(tmp_path: Path) -> None:
    few = [record(n, r, migrations=n * r) for n in (1, 2) for r in range(1, 6)]
    drawn = drawing_of(tmp_path / "few", MIGRATIONS, *few)
    (axes,) = drawn.figure.axes
    at = axes.transData.transform([(0.0, 0.0), (1.0, 0.0), (10.0, 0.0)])[:, 0]
    assert at[2] - at[0] == pytest.approx(10 * (at[1] - at[0]))
    assert axes.get_xlim()[0] < 0.0 < 10.0 < axes.get_xlim()[1]
    assert "logarithmic" not in drawn.caption
    many = [record(1, r, migrations=4000) for r in range(1, 6)]
    assert "the axis is logarithmic" in drawing_of(tmp_path / "many", MIGRATIONS, *many).caption


def test_a_thin_share_of_cpu_time_is_written_beside_its_bar(
    study: Figures,
) -> None:
    assert texts(drawing(study, KINDS).figure).count("E 3.1 %") == 2


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
        pytest.approx(of)
        for of in ((0, 1000 / 11, True), (1000 / 11, 100 / 11, True), (0, 1000 / 11, False))
    ]
    assert {"30 %", "n/a"} <= {*texts(drawn.figure)}
    assert "The imbalance is 30 % for #1 unpinned (performance)." in drawn.alt


def test_each_quarter_of_a_run_is_a_bar_as_high_as_its_share_of_the_busiest(tmp_path: Path) -> None:
    course = [
        {"P": 6.0, "E": 2.0},
        {"P": 6.0, "E": 2.0},
        {"P": 2.0, "E": 2.0},
        {"P": 0.0, "E": 2.0},
    ]

    drawn = drawing_of(tmp_path, COURSE, record(1, 1, course=course), record(2, 1))

    bars = [
        (bar.get_facecolor(), bar.get_x(), bar.get_width(), -bar.get_height() / 0.72)
        for bar in drawn.figure.axes[0].patches
        if isinstance(bar, Rectangle)
    ]
    p, e = (to_rgba(kind_style(kind).fill) for kind in ("P", "E"))
    assert [bar[0] for bar in bars] == [p] * 3 + [e] * 4
    shown = np.array([bar[1:] for bar in bars])
    assert shown == pytest.approx(
        np.array(
            [(0, 25, 6 / 8), (25, 25, 6 / 8), (50, 25, 2 / 8)]
            + [(x, 25, 2 / 8) for x in (0, 25, 50, 75)]
        )
    )
    assert {"25 %", "n/a"} <= {*texts(drawn.figure)}
    assert "of the busiest one's, is 25 % for #1 unpinned (performance)." in drawn.alt


def test_of_results_in_which_work_was_not_looked_at_nothing_is_said(study: Figures) -> None:
    assert not {IMBALANCE, COURSE} & study.keys()


def test_what_was_not_measured_is_not_drawn_and_says_why(tmp_path: Path) -> None:
    names = ["energy_pkg_j", "freq_ghz", "freq_mean_ghz", "residency", "migrations", "imbalance"]
    runs = [without(names, NO_ENERGY, number=1, repetition=r) for r in range(1, 6)]

    drawn = figures_of(tmp_path, runs)

    for name in (PLANE, KINDS, IMBALANCE, MIGRATIONS):
        assert isinstance(drawn[name], NotDrawn), name
        assert drawn[name].reason == NO_ENERGY  # type: ignore[union-attr]
    time = drawing(drawn, TIME)
    assert len(time.figure.axes) == 1
    assert NO_ENERGY in time.caption


def test_a_case_without_runs_keeps_its_row_with_the_reason(
    study: Figures,
) -> None:
    drawn = drawing(study, "table-2-time-and-energy")

    assert texts(drawn.figure).count("left out") == 4  # two cases, time and energy
    assert "#5 ecores-pin (performance)" in texts(drawn.figure)


def test_runs_are_drawn_over_time_with_the_trend_and_the_temperature(
    study: Figures,
) -> None:
    drawn = drawing(study, "runs-over-time")

    assert len(drawn.figure.axes) == 2
    # The model: 2 % slower from the first run to the last, the package from 41 to 55 °C.
    assert "Runs became slower by" in drawn.alt
    assert "1 run further away stands at the edge" in drawn.caption


def test_published_means_are_drawn_without_runs() -> None:
    drawn = figures_of("published:galante-2025")

    assert "Means only" in drawing(drawn, TIME).caption
    assert isinstance(drawn["runs-over-time"], NotDrawn)
    with pytest.raises(UserError, match="--output"):
        write_figures("published:galante-2025")


def test_too_many_runs_are_thinned_and_the_caption_says_so(tmp_path: Path) -> None:
    many = MAX_DOTS * 2
    cases = [(n, r) for r in range(1, many // 10 + 1) for n in range(1, 11)]

    drawn = drawing_of(
        tmp_path, TIME, *(record(n, r, elapsed_s=45 + r % 7 / 100) for n, r in cases)
    )

    assert len(dots(drawn.figure)) == MAX_DOTS
    assert f"One run in 2 is shown, {many} were made." in drawn.caption
    assert len(drawn.data("svg")) < 200_000


@pytest.mark.parametrize("value", [1e100, 5e-324, 0.0, -3.0])
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


@pytest.fixture
def two_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results that two processes draw, each a table."""
    monkeypatch.setattr(gallery, "MIN_TABLES", 1)
    of = {"case_number": 1, "selection": "pcores"}
    runs = [record(t, r, table_number=t, app=f"app{t}", **of) for t in (1, 2) for r in (1, 2)]
    write(tmp_path, runs)
    return tmp_path


def test_many_tables_are_written_by_several_processes_alike(two_tables: Path) -> None:
    lines = write_figures(str(two_tables), formats=["svg"])

    drawn = {n: d for n, d in figures_of(two_tables).items() if isinstance(d, Drawing)}
    assert "table-2-kinds" in drawn
    written = [line for line in lines if line.startswith("written: ")]
    assert [Path(line.removeprefix("written: ")).stem for line in written] == [*drawn]
    for name, figure in drawn.items():
        assert (two_tables / "figures" / f"{name}.svg").read_bytes() == figure.data("svg")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(
    request: pytest.FixtureRequest, tmp_path: Path, processes: int
) -> None:
    folder = request.getfixturevalue("two_tables") if processes == 2 else small(tmp_path)
    (folder / "taken").write_text("a file")

    with pytest.raises(UserError, match="cannot be written"):
        write_figures(str(folder), folder / "taken" / "figures", ["svg"])


@pytest.mark.parametrize("style", FORMATS)
def test_a_file_has_the_same_bytes_each_time_and_says_what_is_seen(
    tmp_path: Path, style: str
) -> None:
    small(tmp_path)

    first, second = (drawing_of(tmp_path, TIME).data(style) for _ in range(2))

    assert first == second
    assert b"for #2 pcores-set" in first or b"for #3 pcores-pin" in first


def test_hostile_names_are_text_in_figures_and_no_formula(tmp_path: Path) -> None:
    runs = [record(1, r, mapping=HOSTILE, app="a&b") for r in range(1, 6)]

    svg = drawing_of(tmp_path, TIME, *runs).data("svg").decode()

    root = ElementTree.fromstring(svg)
    shown = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    label = next(text for text in shown if text.startswith("#1"))
    assert label.startswith("#1 $\\frac{1}$ <script>\ufffd\ufffd[31m?x")
    assert len(label) < 60
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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (999.4, "999"),
        (999.7, "1000"),
        (-999.7, "-1000"),
        (1e7, "1.00e+07"),
    ],
)
def test_numbers_in_sentences_have_no_exponent_that_nobody_would_write(
    value: float, text: str
) -> None:
    assert three_digits(value) == text


def test_of_many_cases_the_plane_numbers_baselines_and_those_on_the_front(tmp_path: Path) -> None:
    # The further from the first case, the slower and the hungrier; #6 is the other baseline.
    runs = [
        record(n, r, elapsed_s=10.0 + n + r / 100, energy_pkg_j=90.0 + 9 * n)
        for n in range(1, 62)
        for r in (1, 2)
    ]
    numbers = [text for text in texts(drawing_of(tmp_path, PLANE, *runs).figure) if "#" in text]
    assert numbers == ["#1", "#6"]


def test_a_case_that_lost_too_many_runs_is_best_in_nothing_and_never_on_the_front(
    tmp_path: Path,
) -> None:
    good = [record(1, r, elapsed_s=45.0 + r / 10) for r in range(1, 6)]
    good += [record(2, r, elapsed_s=9.0, energy_pkg_j=9.0) for r in range(1, 6)]
    lost = [record(2, r, status="placement-violated", reason="CPU 9") for r in (6, 7)]

    drawn = drawing_of(tmp_path, PLANE, *good, *lost)
    assert "never on the front" in drawn.caption
    assert drawn.alt.startswith("2 cases")
    assert "Least time: #1 " in drawn.alt and "Least energy: #1 " in drawn.alt
    assert "#2" not in drawn.alt


def test_the_overview_has_a_cell_for_each_comparison_in_the_words_of_the_terminal(
    study: Figures,
) -> None:
    drawn = drawing(study, "overview")
    shown = texts(drawn.figure)
    findings = analyze(open_results("published:galante-2025"))
    published = figures_of("published:galante-2025")
    for overview, name in zip(overviews_of(findings), ("overview", "overview-guests"), strict=True):
        cells = texts(drawing(published, name).figure)
        for line in overview.lines:
            assert line.label in cells
            of_time = line.cells[TIME_OBJECTIVE].values()
            assert {cell_text(cell, TIME_OBJECTIVE) for cell in of_time} <= set(cells)
        # The two mappings of a guest have a line each.
        assert {column.replace("/", "/\n") for column in overview.columns} <= set(cells)
    # Two of these cases were left out.
    assert "n/a" in shown and "lulesh x4 powersave" in shown
    assert "12 configurations by 5 mappings" in drawn.alt


def test_the_overview_explains_what_its_cells_show_and_nothing_else(tmp_path: Path) -> None:
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    runs = spoilt(Study({"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 1.0}), "pcores-pin",
                  [2, 3], **lost)  # fmt: skip

    figure = drawing_of(tmp_path, "overview", *runs).figure

    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "better", "x not compared", "* best",
    ]  # fmt: skip


def test_a_long_title_of_the_overview_is_told_whole(tmp_path: Path) -> None:
    times = {"unpinned": 1.0, "a-mapping-whose-name-says-much": 0.9}

    figure = drawing_of(tmp_path, "overview", *Study(times, times).records()).figure

    titles = [text.get_text() for text in figure.texts if text.get_fontweight() == "bold"]
    whole = [title.replace("\n", " ") for title in titles]
    assert whole
    assert all("change of typical time in %, 95 % intervals" in title for title in whole), whole
    assert any("\n" in title for title in titles)


def test_what_time_does_not_compare_has_a_grid_in_the_overview(tmp_path: Path) -> None:
    """One program takes the time that it takes, another is given a time and prints its rate."""
    timed = Study({"unpinned": 1.0, "pcores-pin": 0.8, "ecores-pin": 1.1})
    rated = printing(RATES, fixed_time=True)

    drawn = drawing_of(tmp_path, "overview", *in_table(0, timed, app="lu"), *in_table(1, rated))

    above, below = drawn.figure.axes
    times, rates = ({text.get_text() for text in grid.texts} for grid in (above, below))
    assert {"40.0 s", "100 Gflop/s"} & times == {"40.0 s"}
    assert {"40.0 s", "100 Gflop/s"} & rates == {"100 Gflop/s"}
    assert above.get_position().y0 > below.get_position().y1


def test_planes_leave_out_programs_of_a_given_time(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, printing(RATES, fixed_time=True, energy_pkg_j=9.0))
    for name in (PLANE, "overview-plane"):
        drawn = figures[name]
        assert isinstance(drawn, NotDrawn)
        assert "runs as long as it is told" in drawn.reason


def test_the_plane_of_all_settings_has_no_case_that_is_not_compared(tmp_path: Path) -> None:
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    times = {"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 0.5}
    runs = spoilt(Study(times, times), "pcores-pin", [2, 3], **lost)

    drawn = drawing_of(tmp_path, "overview-plane", *runs)

    assert [np.size(line.get_xdata()) for line in drawn.figure.axes[0].lines[2:]] == [1]
    assert drawn.alt.startswith("1 case by time and energy, each against its baseline.")
    assert "pcores-pin" not in drawn.alt
    assert "1 case of which, or of its baseline, more than a tenth of the runs were lost" in (
        drawn.caption
    )


def test_a_plane_without_baselines_says_that_they_are_missing(tmp_path: Path) -> None:
    times = {"unpinned": 1.0, "pcores-pin": 0.9}
    runs = spoilt(Study(times, times), "unpinned", status="failed", reason="exit status 3")

    drawn = figures_of(tmp_path, runs)["overview-plane"]

    assert isinstance(drawn, NotDrawn)
    assert drawn.reason == (
        "no case of which time and energy are known has a baseline of which they are"
    )


def test_guests_stand_where_the_host_has_them_and_against_a_baseline_of_their_size(
    tmp_path: Path,
) -> None:
    times = {"unpinned": 1.0, "pcores-pin": 0.9}
    onto_vcpus = {"mapping": "unpinned", "selection": "all", "binding": "none"}
    runs = [
        run | {f"vcpu_{name}": run[name] for name in onto_vcpus} | onto_vcpus
        | {"engine": "vm", "vm_accelerator": "kvm", "vm_cpus": vcpus,
           "case_id": f"{run['case_id']}{vcpus}", "elapsed_s": run["elapsed_s"] * slower}
        for run in Study(times, times).records()
        for vcpus, slower in ((8, 1), (2, 20))
    ]  # fmt: skip

    drawn = drawing_of(tmp_path, "overview-plane", *runs)

    (points,) = drawn.figure.axes[0].lines[2:]
    assert points.get_xdata() == pytest.approx([0.9, 0.9], rel=0.01)
    legend = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert legend == ["P-cores", "pinned", "as much as the baseline"]


def test_equal_values_are_not_said_to_go_from_one_to_the_same(tmp_path: Path) -> None:
    runs = [record(n, r, freq_mean_ghz=4.5, freq_ghz={"P": 4.5}) for n in (1, 2) for r in (1, 2)]
    alts = [of.alt for of in figures_of(tmp_path, runs).values() if isinstance(of, Drawing)]
    assert any("is 4.5 GHz for all 2 cases." in alt for alt in alts)
    assert not any("from 4.5 GHz" in alt for alt in alts)


def test_the_joules_of_core_kinds_are_stacked_where_they_are_known(
    tmp_path: Path, study: Figures
) -> None:
    joules = {1: {"P": 30.0, "E": 10.0}, 2: {"P": 20.0}}
    runs = [
        record(number, run, energy_by_kind_j=of) for number, of in joules.items() for run in (1, 2)
    ]
    drawn = drawing_of(tmp_path, "table-1-energy-by-kind", *runs)
    bars = [p for p in drawn.figure.axes[0].patches if isinstance(p, Rectangle)]
    assert sorted((b.get_x(), b.get_width(), round(b.get_y() + 0.31)) for b in bars) == [
        (0.0, 20.0, 1), (0.0, 30.0, 0), (30.0, 10.0, 0),
    ]  # fmt: skip
    assert "table-1-energy-by-kind" not in study
