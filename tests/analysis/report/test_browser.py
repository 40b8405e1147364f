"""Pages in a real browser: they load nothing, complain of nothing, and can be read by all."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from pinstudy.analysis.report.demo import write_demo
from pinstudy.analysis.report.page import write_report
from tests.analysis.advice.simulated_race import GAIN, write_results
from tests.analysis.affinity.made_demo import make_demo
from tests.analysis.affinity.made_results import Affinity, make_affinity
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.analysis.report.hostile import (
    CONTROLS,
    EVIL,
    make_hostile_affinity,
    make_hostile_results,
)
from tests.analysis.report.made_results import DIGEST, make_results
from tests.support.results import Study, write
from tests.support.tools import need_tool

# The names of tools/packages.sh.
NAMES = ("chromium", "chromium-browser", "google-chrome")
PHONE, TABLET, DESKTOP, WIDE = (360, 740), (768, 1024), (1280, 800), (1920, 1080)
# As lstopo writes them, units in the viewBox included, which browsers pass over.
PICTURE = """<?xml version='1.0' encoding='UTF-8'?>
<svg xmlns='http://www.w3.org/2000/svg' width='322px' height='286px' viewBox='0 0 322px 286px'>
<rect x='0' y='0' width='322' height='286' fill='rgb(255,255,255)' stroke='rgb(0,0,0)'/>
</svg>
"""


@dataclass
class Visit:
    """A page that was opened, what it asked for, and what went wrong."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's browser; the calling test is skipped without one, and fails in CI."""
    path = next(filter(None, map(shutil.which, NAMES)), None) or need_tool(NAMES[0])
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def visit(browser: Browser, file: Path, size: tuple[int, int] = DESKTOP) -> Iterator[Visit]:
    """Open a file in a window of this size."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    visited = Visit(page)
    page.on("request", lambda request: visited.requests.append(request.url))
    page.on("console", lambda message: visited.complaints.append(message.text))
    page.on("pageerror", lambda error: visited.complaints.append(str(error)))
    page.on("dialog", lambda dialog: visited.complaints.append(dialog.message))
    page.goto(file.as_uri())
    try:
        yield visited
    finally:
        context.close()


def resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def barriers(page: Page, with_colours: bool = True) -> str:
    """Return what bars people from reading a page, as axe tells it; empty if nothing does."""
    rules = {"color-contrast": {"enabled": with_colours}}
    found = Axe().run(page, options={"resultTypes": ["violations"], "rules": rules})
    return str(found.generate_report()) if found.violations_count else ""


def light_of(colour: str) -> float:
    """Return the sum of red, green and blue; 0 of what is not seen at all."""
    red, green, blue, *opaque = map(float, re.findall(r"[0-9.]+", colour))
    return 0.0 if opaque == [0.0] else red + green + blue


def report(folder: Path) -> Path:
    make_results(folder, repetitions=6)
    (folder / "nodes" / f"{DIGEST}.lstopo.svg").write_text(PICTURE)
    return write_report(str(folder))


def affinity(folder: Path) -> Path:
    """The report of all experiments with placements, and of a node's latencies."""
    make_affinity(folder, Affinity(repetitions=5))
    write_latency_file(folder, content_of(PLANTED["smt"]))
    return write_report(str(folder))


# The pages, and how many figures they have at least.
PAGES: dict[str, tuple[Callable[[Path], Path], int]] = {
    "report": (report, 4),
    "hostile": (lambda folder: write_report(str(make_hostile_results(folder))), 1),
    "published": (lambda folder: write_report("published:galante-2025", folder), 2),
    "raced": (lambda folder: write_report(str(write_results(folder, GAIN))), 1),
    "affinity": (affinity, 4),
    "hostile affinity": (lambda folder: write_report(str(make_hostile_affinity(folder))), 3),
    "demo": (lambda folder: write_demo(make_demo(folder)).files[0], 5),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the file of a page, which is written once."""
    written: dict[str, Path] = {}

    def page(name: str) -> Path:
        if name not in written:
            written[name] = PAGES[name][0](tmp_path_factory.mktemp(name.replace(" ", "-")))
        return written[name]

    return page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_nothing_fits_and_passes_the_accessibility_check(
    browser: Browser, pages: Callable[[str], Path], name: str
) -> None:
    file = pages(name)
    with visit(browser, file) as visited:
        page = visited.page
        loaded = page.evaluate("[...document.images].map(i => [i.alt, i.naturalWidth])")
        drawn = page.locator("svg.drawn").count()
        hacked = page.evaluate("typeof window.hacked")
        scripts = page.evaluate("document.scripts.length")
        barred = barriers(page)
        widths = {}
        for size in (WIDE, TABLET, PHONE):
            resize(page, size)
            widths[size[0]] = page.evaluate("document.documentElement.scrollWidth")
        # Colours do not depend on the window, and are two thirds of the work.
        barred_on_phone = barriers(page, with_colours=False)

    assert [url for url in visited.requests if not url.startswith("data:")] == [file.as_uri()]
    assert visited.complaints == []
    assert drawn >= PAGES[name][1]
    assert [alt for alt, pixels in loaded if not pixels] == []
    assert not [width for width, scrolled in widths.items() if scrolled > width]
    assert (hacked, scripts) == ("undefined", int(name != "demo"))
    assert (barred, barred_on_phone) == ("", "")


@pytest.mark.parametrize("name", ["report", "raced", "demo"])
def test_a_dark_page_has_no_bright_area_and_enough_contrast(
    browser: Browser, pages: Callable[[str], Path], name: str
) -> None:
    text = "getComputedStyle(document.querySelector('svg.drawn text')).fill"
    with visit(browser, pages(name)) as visited:
        page = visited.page
        on_light = page.evaluate(text)
        page.emulate_media(color_scheme="dark")
        on_dark = page.evaluate(text)
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        grounds = page.evaluate(
            "[document.body, ...document.querySelectorAll('td, th, pre, figure')]"
            ".map(part => getComputedStyle(part).backgroundColor)"
        )
        strokes = page.evaluate(
            "[...document.querySelectorAll('svg.drawn:not(.paper)')]"
            ".map(figure => getComputedStyle(figure).color)"
        )
        barred = barriers(page)

    assert max(map(light_of, grounds)) < 3 * 140
    assert min(map(light_of, strokes)) > 3 * 190
    assert light_of(on_light) < 3 * 64 and light_of(on_dark) > 3 * 190
    assert barred == ""


Box = dict[str, float]


def box_of(found: Locator) -> Box:
    box = found.bounding_box()
    assert box is not None
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return {"x": box["x"], "y": box["y"], "right": right, "bottom": bottom}


def test_the_published_grid_is_seen_on_a_phone_and_beside_its_picture(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    with visit(browser, pages("published"), PHONE) as visited:
        page = visited.page
        cells = page.locator("#grid-1-1 tbody tr").first.locator("td").all()
        boxes = [box_of(cell) for cell in cells]
        names = [cell.evaluate("c => getComputedStyle(c, '::before').content") for cell in cells]
        for size in (DESKTOP, WIDE):
            resize(page, size)
            grid = box_of(page.locator("#grid-1-1"))
            picture = box_of(page.locator(".view > figure svg").first)
            assert grid["right"] <= picture["x"] and picture["right"] <= size[0]
            assert max(grid["y"], picture["y"]) < size[1] / 3 and grid["bottom"] <= size[1]

    mappings = ["unpinned", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin"]
    assert [name.strip('"') for name in names] == mappings
    assert all(box["x"] >= 0 and box["right"] <= PHONE[0] for box in boxes)
    # Four lines of text: the configuration is seen without scrolling.
    assert max(box["bottom"] for box in boxes) - boxes[0]["y"] < 120


def test_a_grid_shows_all_of_the_settings_that_tell_its_rows_apart(
    browser: Browser, tmp_path: Path
) -> None:
    asked = {"epp": "balance_performance", "max_frequency": "2400000", "power_limit": "65"}
    runs = Study({"unpinned": 1.0, "pcores-pin": 0.9}).records()
    write(
        tmp_path,
        [
            run
            | {"settings": asked | {"sched_ext": f"scx_lavd --{'very-' * 8}{last}"}}
            | {"case_id": f"{run['case_id']}-{last}", "case_number": 2 * at + run["case_number"]}
            for at, last in enumerate(("long", "longer"))
            for run in runs
        ],
    )
    cut = "cells => cells.filter(c => c.scrollWidth > c.clientWidth).map(c => c.innerText)"
    with visit(browser, write_report(str(tmp_path))) as visited:
        under = visited.page.locator(".grid tbody th.under")
        names = under.all_inner_texts()
        on_screen = under.evaluate_all(cut)
        visited.page.emulate_media(media="print")
        on_paper = visited.page.locator(".grid th").evaluate_all(cut)

    assert [name.rpartition("-")[2] for name in names] == ["long", "longer"]
    assert (on_screen, on_paper) == ([], [])


def test_what_results_say_is_shown_as_text_and_never_run(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    with visit(browser, pages("hostile")) as visited:
        text = visited.page.inner_text("body")
        handlers = visited.page.evaluate(
            "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some("
            "a => a.name.startsWith('on') || a.value.trim().startsWith('javascript:'))).length"
        )

    assert handlers == 0
    assert [evil for evil in EVIL if evil not in text] == [CONTROLS]
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & {*text}


def test_a_click_sorts_by_number_with_what_was_not_measured_at_the_end(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    with visit(browser, pages("report")) as visited:
        page = visited.page
        for section in (1, 2):
            page.locator(f"#section-{section} > summary").click()
        button = page.locator("#table-2").get_by_role("button", name="time mean (s)")
        times = page.locator("#table-2 tbody tr td:nth-child(5)")
        heading = page.locator("#table-2 th[aria-sort]")
        before = times.all_inner_texts()
        button.click()
        up, sorted_as = times.all_inner_texts(), heading.get_attribute("aria-sort")
        # By keyboard, the other way round.
        button.press("Enter")
        down, sorted_then = times.all_inner_texts(), heading.get_attribute("aria-sort")
        page.locator("#table-1 th").get_by_role("button", name="mapping").click()
        names = page.locator("#table-1 tbody th").all_inner_texts()
        ps = []
        for _ in range(2):
            page.locator("#verdict-1-3 th:nth-child(7) button").click()
            ps.append(page.locator("#verdict-1-3 tbody tr td:nth-child(7)").all_inner_texts())

    numbers = sorted((text for text in before if text[0].isdigit()), key=float)
    missing = [text for text in before if not text[0].isdigit()]
    assert (len(numbers), len(missing), len(names)) == (8, 2, 10)
    assert (up, down) == (numbers + missing, numbers[::-1] + missing)
    assert (sorted_as, sorted_then) == ("ascending", "descending")
    # Texts are sorted as texts.
    assert names == sorted(names)
    # What is less than a number is before it.
    assert ps == [["<0.001", "0.0022", "1", "-", "-"], ["1", "0.0022", "<0.001", "-", "-"]]


FIRST = ("To pin or not to pin?", "made up", "Confine threads", "i5-13600K", "41.6 s")


def test_the_first_screen_has_question_answer_and_node_and_can_be_printed(
    browser: Browser, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    with visit(browser, pages("report"), PHONE) as visited:
        page = visited.page
        for size in (PHONE, DESKTOP):
            resize(page, size)
            for text in (
                "To pin or not to pin?",
                "made up",
                "Confine threads",
                "i5-13600K",
                "41.6 s",
            ):
                assert box_of(page.get_by_text(text).first)["bottom"] <= size[1], text
        page.emulate_media(media="print")
        heights = page.evaluate(
            "[...document.querySelectorAll('figure')].map(f => f.getBoundingClientRect().height)"
        )
        page.pdf(path=tmp_path / "report.pdf", format="A4")

    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    # A page of A4 without margins, in CSS pixels: what is not taller need not be cut.
    assert max(heights) < (297 - 28) * 96 / 25.4


def test_a_switch_shows_another_objective_without_any_script(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages("report").as_uri())
    shown = [page.locator(f".of-{name}").is_visible() for name in (1, 2, 3)]
    page.get_by_role("radio", name="package energy").check()
    then = [page.locator(f".of-{name}").is_visible() for name in (1, 2, 3)]
    page.locator("#section-1 > summary").click()
    unfolded = page.locator("#table-1").is_visible()
    filters = page.locator(".filters").is_visible()
    context.close()

    assert (shown, then) == ([True, False, False], [False, True, False])
    # What only a script can do is not offered without one.
    assert unfolded and not filters


def test_rows_are_filtered_and_a_link_unfolds_what_it_leads_to(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    file = pages("report")
    with visit(browser, file) as visited:
        page = visited.page
        folded = [page.locator(part).is_visible() for part in ("#table-3", "#missing")]
        # The browser tells the page of its new address later: that is waited for.
        page.get_by_role("link", name="mandelbrot x1 performance").first.click()
        page.locator("#table-3").wait_for(state="visible")
        page.goto(f"{file.as_uri()}#missing")
        page.locator("#missing").wait_for(state="visible")
        page.get_by_label("program:").select_option("lu")
        page.get_by_label("governor:").select_option("powersave")
        names = page.locator(".of-1 tbody th:not(.same)").all()
        shown = [name.inner_text() for name in names if name.is_visible()]
        sections = [part.is_visible() for part in page.locator("details.results").all()]

    assert folded == [False, False]
    assert shown == ["lu", "x1", "powersave", "x4", "powersave"]
    assert sections == [False] * 4 + [True] * 2


def test_each_effect_of_a_demo_is_a_slide_on_landscape_paper(
    browser: Browser, pages: Callable[[str], Path]
) -> None:
    with visit(browser, pages("demo")) as visited:
        assert visited.page.locator("img").count() == 0
        data = visited.page.pdf(format="A4", landscape=True)
    assert len(re.findall(rb"/Type\s*/Page\b", data)) == 5
