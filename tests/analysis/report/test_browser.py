"""The report in a real browser: it loads nothing, complains of nothing, and can be read by all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analysis.report.page import write_report
from tests.analysis.advice.simulated_race import GAIN, write_results
from tests.analysis.report.browser import DESKTOP, PHONE, SIZES, WIDE, barriers, visit
from tests.analysis.report.hostile import CONTROLS, EVIL, make_hostile_results
from tests.analysis.report.made_results import DIGEST, make_results

# As lstopo writes them, units in the viewBox included, which browsers pass over.
PICTURE = """<?xml version='1.0' encoding='UTF-8'?>
<svg xmlns='http://www.w3.org/2000/svg' width='322px' height='286px' viewBox='0 0 322px 286px'>
<rect x='0' y='0' width='322' height='286' fill='rgb(255,255,255)' stroke='rgb(0,0,0)'/>
</svg>
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_results(tmp_path_factory.mktemp("study"), repetitions=6)
    (folder / "nodes" / f"{DIGEST}.lstopo.svg").write_text(PICTURE)
    return write_report(str(folder))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(str(make_hostile_results(tmp_path_factory.mktemp("hostile"))))


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(str(write_results(tmp_path_factory.mktemp("raced"), GAIN)))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report("published:galante-2025", tmp_path_factory.mktemp("published"))


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize(
    ("which", "figures"),
    [
        ("report", 4),
        ("hostile", 1),
        ("published", 2),
        ("raced", 1),
        ("affinity", 4),
        ("hostile_affinity", 3),
    ],
)
def test_a_report_loads_nothing_fits_and_passes_the_accessibility_check(
    browser: Browser,
    request: pytest.FixtureRequest,
    which: str,
    figures: int,
    size: tuple[int, int],
) -> None:
    file: Path = request.getfixturevalue(which)
    with visit(browser, file, size) as visited:
        loaded = visited.page.evaluate("[...document.images].map(i => [i.alt, i.naturalWidth])")
        drawn = visited.page.locator("svg.drawn").count()
        width = visited.page.evaluate("document.documentElement.scrollWidth")
        hacked = visited.page.evaluate("typeof window.hacked")
        scripts = visited.page.evaluate("document.scripts.length")
        barred = barriers(visited.page, size)

    assert [url for url in visited.requests if not url.startswith("data:")] == [file.as_uri()]
    assert visited.complaints == []
    assert drawn >= figures
    assert [alt for alt, pixels in loaded if not pixels] == []
    assert width <= size[0]
    assert (hacked, scripts) == ("undefined", 1)
    assert barred == ""


@pytest.mark.parametrize("which", ["report", "raced"])
def test_a_dark_page_has_no_bright_area_and_enough_contrast(
    browser: Browser, request: pytest.FixtureRequest, which: str
) -> None:
    with visit(browser, request.getfixturevalue(which), DESKTOP, "dark") as visited:
        page = visited.page
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        grounds = page.evaluate(
            "[document.body, ...document.querySelectorAll('td, th, pre, figure')]"
            ".map(part => getComputedStyle(part).backgroundColor)"
        )
        strokes = page.evaluate(
            "[...document.querySelectorAll('svg.drawn:not(.paper)')]"
            ".map(figure => getComputedStyle(figure).color)"
        )
        barred = barriers(page, DESKTOP)

    parts = [list(map(float, re.findall(r"[0-9.]+", ground))) for ground in grounds]
    # The fourth is how opaque it is.
    assert all(sum(part[:3]) < 3 * 140 for part in parts if part[3:] != [0.0])
    assert all(sum(map(int, re.findall(r"\d+", colour))) > 3 * 200 for colour in strokes)
    assert barred == ""


def test_a_phone_shows_all_mappings_of_a_configuration(browser: Browser, published: Path) -> None:
    with visit(browser, published, PHONE) as visited:
        cells = visited.page.locator("#grid-1-1 tbody tr").first.locator("td").all()
        boxes = [box for cell in cells if (box := cell.bounding_box())]
        names = [cell.evaluate("c => getComputedStyle(c, '::before').content") for cell in cells]

    assert [name.strip('"') for name in names] == [
        *("unpinned", "pcores-set", "pcores-pin"),
        *("ecores-set", "ecores-pin"),
    ]
    assert len(boxes) == 5
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0] for box in boxes)
    # Four lines of text: the configuration is seen without scrolling.
    assert max(box["y"] + box["height"] for box in boxes) - boxes[0]["y"] < 120


def test_the_first_screen_has_grid_and_picture_beside_each_other(
    browser: Browser, published: Path
) -> None:
    for size in (DESKTOP, WIDE):
        with visit(browser, published, size) as visited:
            grid = visited.page.locator("#grid-1-1").bounding_box()
            picture = visited.page.locator(".view > figure svg").first.bounding_box()
        assert grid is not None
        assert picture is not None
        assert grid["x"] + grid["width"] <= picture["x"]
        assert picture["x"] + picture["width"] <= size[0]
        assert max(grid["y"], picture["y"]) < size[1] / 3
        assert grid["y"] + grid["height"] <= size[1]


def test_what_results_say_is_shown_as_text_and_never_run(browser: Browser, hostile: Path) -> None:
    with visit(browser, hostile) as visited:
        page = visited.page
        text = page.inner_text("body")
        handlers = page.evaluate(
            "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some("
            "a => a.name.startsWith('on') || a.value.trim().startsWith('javascript:'))).length"
        )

    assert handlers == 0
    for evil in EVIL:
        if evil != CONTROLS:
            assert evil in text
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & {*text}


def test_a_click_sorts_by_number_and_leaves_what_was_not_measured_at_the_end(
    browser: Browser, report: Path
) -> None:
    with visit(browser, report) as visited:
        for section in (1, 2):
            visited.page.locator(f"#section-{section} > summary").click()
        button = visited.page.locator("#table-2").get_by_role("button", name="time mean (s)")
        column = "#table-2 tbody tr td:nth-child(5)"
        before = visited.page.locator(column).all_inner_texts()
        button.click()
        up = visited.page.locator(column).all_inner_texts()
        sorted_as = visited.page.locator("#table-2 th[aria-sort]").get_attribute("aria-sort")
        # By keyboard, the other way round.
        button.press("Enter")
        down = visited.page.locator(column).all_inner_texts()
        sorted_then = visited.page.locator("#table-2 th[aria-sort]").get_attribute("aria-sort")
        visited.page.locator("#table-1 th").get_by_role("button", name="mapping").click()
        names = visited.page.locator("#table-1 tbody th").all_inner_texts()

    numbers = sorted((text for text in before if text[0].isdigit()), key=float)
    missing = [text for text in before if not text[0].isdigit()]
    assert len(numbers) == 8
    assert len(missing) == 2
    assert up == numbers + missing
    assert down == numbers[::-1] + missing
    assert (sorted_as, sorted_then) == ("ascending", "descending")
    # Texts are sorted as texts.
    assert names == sorted(names)
    assert len(names) == 10


def test_the_first_screen_has_question_answer_and_node(browser: Browser, report: Path) -> None:
    for size in (PHONE, DESKTOP):
        with visit(browser, report, size) as visited:
            for text in (
                "To pin or not to pin?", "made up", "Confine threads", "i5-13600K",
                "41.6 s",
            ):  # fmt: skip
                box = visited.page.get_by_text(text).first.bounding_box()
                assert box is not None, text
                assert box["y"] + box["height"] <= size[1], text


def test_the_report_can_be_printed(browser: Browser, report: Path, tmp_path: Path) -> None:
    with visit(browser, report) as visited:
        visited.page.emulate_media(media="print")
        heights = visited.page.evaluate(
            "[...document.querySelectorAll('figure')].map(f => f.getBoundingClientRect().height)"
        )
        visited.page.pdf(path=tmp_path / "report.pdf", format="A4")

    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    # A page of A4 without margins, in CSS pixels: what is not taller need not be cut.
    assert max(heights) < (297 - 28) * 96 / 25.4


def test_a_switch_shows_another_objective_without_any_script(
    browser: Browser, report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    shown = [page.locator(f".of-{name}").is_visible() for name in (1, 2, 3)]
    page.get_by_role("radio", name="package energy").check()
    then = [page.locator(f".of-{name}").is_visible() for name in (1, 2, 3)]
    page.locator("#section-1 > summary").click()
    unfolded = page.locator("#table-1").is_visible()
    filters = page.locator(".filters").is_visible()
    context.close()

    assert shown == [True, False, False]
    assert then == [False, True, False]
    assert unfolded
    # What only a script can do is not offered without one.
    assert not filters


def test_rows_and_sections_are_filtered_by_program_and_governor(
    browser: Browser, report: Path
) -> None:
    with visit(browser, report) as visited:
        page = visited.page
        page.get_by_label("program:").select_option("lu")
        page.get_by_label("governor:").select_option("powersave")
        names = page.locator(".of-1 tbody th:not(.same)").all()
        shown = [name.inner_text() for name in names if name.is_visible()]
        sections = [part.is_visible() for part in page.locator("details.results").all()]

    assert shown == ["lu", "x1", "powersave", "x4", "powersave"]
    assert sections == [False] * 4 + [True] * 2


def test_a_deep_link_unfolds_what_it_leads_to(browser: Browser, report: Path) -> None:
    with visit(browser, report) as visited:
        page = visited.page
        folded = [page.locator(part).is_visible() for part in ("#table-3", "#missing")]
        # The browser tells the page of its new address later: that is waited for.
        page.get_by_role("link", name="mandelbrot x1 performance").first.click()
        page.locator("#table-3").wait_for(state="visible")
        page.goto(f"{report.as_uri()}#missing")
        page.locator("#missing").wait_for(state="visible")

    assert folded == [False, False]
