"""What figures show, and of what they are not drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from analysis.answer import find
from analysis.figures import gallery
from analysis.figures.drawing import FORMATS, Drawing, NotDrawn, write_drawing
from analysis.figures.gallery import all_figures, write_figures
from analysis.figures.rows import MAX_DOTS
from analysis.format.numbers import three_digits
from analysis.results.sources import Results, open_results
from analysis.verdict.model import Findings
from base.errors import UserError
from tests.analysis.report.made_results import NO_ENERGY, make_results
from tests.support.results import record, without, write

TIME = "table-1-time-and-energy"
PLANE = "table-1-time-energy-plane"
KINDS = "table-1-kinds"
MIGRATIONS = "table-1-migrations"

Figures = dict[str, Drawing | NotDrawn]


def _opened(folder: Path) -> tuple[Results, Findings]:
    results = open_results(str(folder))
    return results, find(results)


def figures_of(folder: Path) -> Figures:
    return {drawn.name: drawn for drawn in all_figures(*_opened(folder))}


def drawing_of(folder: Path, name: str) -> Drawing:
    return drawn_of(figures_of(folder), name)


def dots(figure: Figure, panel: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return x and y of the dots of runs of a panel; outliers' rings, of another size, are none."""
    scattered = [c for c in figure.axes[panel].collections if isinstance(c, PathCollection)]
    runs = [c for c in scattered if c.get_sizes()[0] < 20]
    return np.concatenate([np.asarray(c.get_offsets()) for c in runs])


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(make_results(tmp_path_factory.mktemp("study")))


def drawn_of(figures: Figures, name: str) -> Drawing:
    drawn = figures[name]
    assert isinstance(drawn, Drawing)
    return drawn


def test_every_good_run_is_a_dot_in_the_row_of_its_case(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            *(record(1, n, elapsed_s=45.0 + n) for n in range(1, 6)),
            *(record(2, n, elapsed_s=50.0 + n) for n in range(1, 6)),
            record(2, 6, elapsed_s=99.0, status="failed", reason="exit status 1"),
            record(2, 7, elapsed_s=98.0, warmup=True),
        ],
    )

    shown = dots(drawing_of(tmp_path, TIME).figure, 0)

    by_row = {row: sorted(shown[np.round(shown[:, 1]) == row, 0]) for row in (0, 1)}
    assert by_row == {0: [46, 47, 48, 49, 50], 1: [51, 52, 53, 54, 55]}
    assert len(shown) == 10


def test_rows_are_labelled_as_people_name_cases(study: Figures) -> None:
    figure = drawn_of(study, TIME).figure

    assert "#3 pcores-pin (performance)" in words_of(figure)


def test_the_alt_text_says_what_is_seen_in_numbers(tmp_path: Path) -> None:
    write(
        tmp_path,
        [record(n, r, elapsed_s=10.0 * n, energy_pkg_j=7.0) for n in (1, 2) for r in range(1, 6)],
    )

    alt = drawing_of(tmp_path, TIME).alt

    assert "from 10 s for #1 scheduler (performance) to 20 s for #2 pcores-set" in alt


def test_an_outlier_is_ringed_and_counted(tmp_path: Path) -> None:
    write(
        tmp_path, [record(1, r, elapsed_s=s) for r, s in enumerate((10, 10.1, 9.9, 10.05, 15), 1)]
    )

    drawn = drawing_of(tmp_path, TIME)

    rings = [c for c in drawn.figure.axes[0].collections if isinstance(c, PathCollection)][-1:]
    assert [float(x) for ring in rings for x in np.asarray(ring.get_offsets())[:, 0]] == [15.0]
    assert "1 run far from the others" in drawn.alt


def test_the_front_and_the_best_cases_are_told_in_words(
    study: Figures,
) -> None:
    alt = drawn_of(study, PLANE).alt

    # The model: least time on P-cores under performance, least energy on E-cores.
    assert "Least time: #2 pcores-set (performance)" in alt or "Least time: #3 pcores-pin" in alt
    assert any(f"Least energy: #{n} ecores" in alt for n in (4, 5, 9, 10))


def test_zero_migrations_stand_at_zero(tmp_path: Path) -> None:
    write(
        tmp_path,
        [record(n, r, migrations=m) for n, m in ((1, 0), (2, 4000)) for r in range(1, 6)],
    )

    figure = drawing_of(tmp_path, MIGRATIONS).figure

    axes = figure.axes[0]
    assert set(dots(figure, 0)[:, 0]) == {0.0, 4000.0}
    at_zero, at_one = axes.transData.transform([(0.0, 0.0), (1.0, 0.0)])[:, 0]
    assert axes.bbox.x0 <= at_zero < at_one
    assert {"0", "4000"} <= {*words_of(figure)}


def test_a_thin_share_of_cpu_time_is_written_beside_its_bar(
    study: Figures,
) -> None:
    assert words_of(drawn_of(study, KINDS).figure).count("E 3.1 %") == 2


def test_what_was_not_measured_is_not_drawn_and_says_why(tmp_path: Path) -> None:
    names = ["energy_pkg_j", "freq_ghz", "freq_mean_ghz", "residency", "migrations"]
    write(tmp_path, [without(names, NO_ENERGY, number=1, repetition=r) for r in range(1, 6)])

    drawn = figures_of(tmp_path)

    for name in (PLANE, KINDS, MIGRATIONS):
        assert isinstance(drawn[name], NotDrawn), name
        assert drawn[name].reason == NO_ENERGY  # type: ignore[union-attr]
    time = drawn[TIME]
    assert isinstance(time, Drawing)
    assert len(time.figure.axes) == 1
    assert NO_ENERGY in time.caption


def test_a_case_without_runs_keeps_its_row_and_says_so(
    study: Figures,
) -> None:
    drawn = drawn_of(study, "table-2-time-and-energy")

    assert words_of(drawn.figure).count("left out") == 4  # two cases, time and energy
    assert "#5 ecores-pin (performance)" in words_of(drawn.figure)


def test_runs_are_drawn_over_time_with_the_trend_and_the_temperature(
    study: Figures,
) -> None:
    drawn = drawn_of(study, "runs-over-time")

    assert len(drawn.figure.axes) == 2
    # The model: 2 % slower from the first run to the last, the package from 41 to 55 °C.
    assert "Runs became slower by" in drawn.alt
    assert "1 run further away stands at the edge" in drawn.caption


def test_published_means_are_drawn_without_runs() -> None:
    results = open_results("published:galante-2025")
    drawn = {d.name: d for d in all_figures(results, find(results))}

    time = drawn[TIME]
    assert isinstance(time, Drawing)
    assert "Means only" in time.caption
    assert isinstance(drawn["runs-over-time"], NotDrawn)


def test_too_many_runs_are_thinned_and_the_caption_says_so(tmp_path: Path) -> None:
    many = MAX_DOTS * 2
    cases = [(n, r) for r in range(1, many // 10 + 1) for n in range(1, 11)]
    write(tmp_path, [record(n, r, elapsed_s=45 + r % 7 / 100) for n, r in cases])

    drawn = drawing_of(tmp_path, TIME)

    assert len(dots(drawn.figure, 0)) == MAX_DOTS
    assert f"One run in 2 is shown, {many} were made." in drawn.caption
    assert len(drawn.data("svg")) < 200_000


def test_more_cases_make_a_taller_figure(tmp_path: Path) -> None:
    write(tmp_path / "few", [record(n, r, case_number=n) for n in range(1, 6) for r in range(1, 3)])
    write(
        tmp_path / "many", [record(n, r, case_number=n) for n in range(1, 41) for r in range(1, 3)]
    )

    few, many = (drawing_of(tmp_path / name, TIME).figure for name in ("few", "many"))

    assert many.get_figheight() > 4 * few.get_figheight() - 5
    rows = [t for t in many.axes[0].texts if t.get_text().startswith("#")]
    assert len(rows) == 40


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> list[Drawing]:
    """The same results read and drawn two times."""
    folder = tmp_path_factory.mktemp("twice")
    make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=5)
    return [drawing_of(folder, TIME) for _ in range(2)]


@pytest.mark.parametrize("style", FORMATS)
def test_the_same_results_give_the_same_bytes(twice: list[Drawing], style: str) -> None:
    first, second = (drawn.data(style) for drawn in twice)

    assert first == second
    assert len(first) > 1000


@pytest.mark.parametrize("style", FORMATS)
def test_files_say_what_is_seen_too(twice: list[Drawing], style: str) -> None:
    data = twice[0].data(style)

    assert b"Time and energy per case" in data or b"Time per case" in data
    assert b"for #2 pcores-set" in data or b"for #3 pcores-pin" in data


def test_hostile_names_are_text_in_figures_and_no_formula(tmp_path: Path) -> None:
    name = "$\\frac{1}$ <script>\u202e\x1b[31m\U0001f4a9" + "x" * 500
    write(tmp_path, [record(1, r, mapping=name, app="a&b") for r in range(1, 6)])

    svg = drawing_of(tmp_path, TIME).data("svg").decode()

    root = ElementTree.fromstring(svg)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    label = next(text for text in texts if text.startswith("#1"))
    assert label.startswith("#1 $\\frac{1}$ <script>\ufffd\ufffd[31m?x")
    assert len(label) < 60
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


@pytest.mark.parametrize("value", [1e100, 5e-324, 0.0, -3.0])
def test_numbers_that_cannot_be_still_make_figures(tmp_path: Path, value: float) -> None:
    write(
        tmp_path,
        [
            record(n, r, elapsed_s=value if (n, r) == (1, 3) else 45.0 + r, energy_pkg_j=abs(value))
            for n in (1, 2)
            for r in range(1, 6)
        ],
    )

    for drawn in figures_of(tmp_path).values():
        if isinstance(drawn, Drawing):
            assert drawn.data("svg")


def test_a_folder_that_cannot_be_written_is_a_mistake_told_in_a_line(
    tmp_path: Path, study: Figures
) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(UserError, match="cannot be written"):
        write_drawing(drawn_of(study, TIME), tmp_path / "taken" / "figures")


def test_figures_are_not_written_through_a_link_of_the_results(tmp_path: Path) -> None:
    make_results(tmp_path / "made", apps=(("lu", 3.0),), threads=(1,), repetitions=2)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "made" / "figures").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UserError, match="figures: is a link; remove it, or name a folder"):
        write_figures(str(tmp_path / "made"))

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_publication_needs_a_folder_to_be_drawn_into() -> None:
    with pytest.raises(UserError, match="--into"):
        write_figures("published:galante-2025")


@pytest.fixture
def four_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results that two processes draw, each two tables."""
    monkeypatch.setattr(gallery, "MIN_TABLES", 2)
    of = {"case_number": 1, "selection": "pcores"}
    runs = [record(t, r, table_number=t, app=f"app{t}", **of) for t in (1, 2, 3, 4) for r in (1, 2)]
    write(tmp_path, runs)
    return tmp_path


def test_many_tables_are_written_by_several_processes_alike(four_tables: Path) -> None:
    lines = write_figures(str(four_tables), formats=["svg"])

    results, findings = _opened(four_tables)
    assert len(findings.tables) == 4
    drawn = [d for d in all_figures(results, findings) if isinstance(d, Drawing)]
    written = [line for line in lines if line.startswith("written: ")]
    assert [Path(line.removeprefix("written: ")).stem for line in written] == [
        d.name for d in drawn
    ]
    for figure in drawn:
        assert (four_tables / "figures" / f"{figure.name}.svg").read_bytes() == figure.data("svg")


def test_a_mistake_is_told_by_several_processes_too(four_tables: Path) -> None:
    (four_tables / "taken").write_text("a file")

    with pytest.raises(UserError, match="cannot be written"):
        write_figures(str(four_tables), four_tables / "taken" / "figures", ["svg"])


def test_a_study_that_was_continued_days_later_shows_no_empty_days(tmp_path: Path) -> None:
    def run(attempt: int, day: int, repetition: int) -> dict[str, Any]:
        started = f"2025-03-{day:02d}T12:{repetition % 30:02d}:00Z"
        return record(1, repetition, attempt=attempt, started_at=started, elapsed_s=45.0)

    first = [run(1, 1, r) for r in range(1, 11)]
    second = [run(2, 9, r) for r in range(11, 21)]
    write(tmp_path, [*first, *second])

    drawn = drawing_of(tmp_path, "runs-over-time")

    minutes = sorted(dots(drawn.figure, 0)[:, 0])
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


def test_a_case_that_lost_too_many_runs_is_said_never_to_be_on_the_front(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            *(record(1, r, elapsed_s=45.0 + r / 10) for r in range(1, 6)),
            *(record(2, r, elapsed_s=9.0, energy_pkg_j=9.0) for r in range(1, 6)),
            *(record(2, r, status="placement-violated", reason="CPU 9") for r in (6, 7)),
        ],
    )
    assert "never on the front" in drawing_of(tmp_path, PLANE).caption
