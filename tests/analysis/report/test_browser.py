"""The report in a real browser: it loads nothing, complains of nothing, and can be read by all."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analysis.report.page import write_report
from tests.analysis.advice.simulated_race import GAIN, write_results
from tests.analysis.report.browser import DESKTOP, PHONE, barriers, visit
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


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize(
    ("which", "images"),
    [
        ("report", 4),
        ("hostile", 4),
        ("published", 4),
        ("raced", 0),
        ("affinity", 4),
        ("hostile_affinity", 3),
    ],
)
def test_a_report_loads_nothing_fits_and_passes_the_accessibility_check(
    browser: Browser,
    request: pytest.FixtureRequest,
    which: str,
    images: int,
    size: tuple[int, int],
) -> None:
    file: Path = request.getfixturevalue(which)
    with visit(browser, file, size) as visited:
        loaded = visited.page.evaluate("[...document.images].map(i => [i.alt, i.naturalWidth])")
        width = visited.page.evaluate("document.documentElement.scrollWidth")
        hacked = visited.page.evaluate("typeof window.hacked")
        scripts = visited.page.evaluate("document.scripts.length")
        barred = barriers(visited.page, size)

    assert [url for url in visited.requests if not url.startswith("data:")] == [file.as_uri()]
    assert visited.complaints == []
    assert len(loaded) >= images
    assert [alt for alt, pixels in loaded if not pixels] == []
    assert width <= size[0]
    assert (hacked, scripts) == ("undefined", 1)
    assert barred == ""


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
                "To pin or not to pin?", "made up", "confine (pcores-set) in", "i5-13600K",
                "lulesh x1 performance", "41.6 s",
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
        rows = page.locator(".of-1 tbody th").all()
        shown = [row.inner_text() for row in rows if row.is_visible()]
        sections = [of.is_visible() for of in page.locator("details.results").all()]

    assert shown == ["lu x1 powersave", "lu x4 powersave"]
    assert sections == [False] * 4 + [True] * 2


def test_a_deep_link_unfolds_what_it_leads_to(browser: Browser, report: Path) -> None:
    with visit(browser, report) as visited:
        page = visited.page
        folded = [page.locator(of).is_visible() for of in ("#table-3", "#missing")]
        # The browser tells the page of its new address later: that is waited for.
        page.get_by_role("link", name="mandelbrot x1 performance").first.click()
        page.locator("#table-3").wait_for(state="visible")
        page.goto(f"{report.as_uri()}#missing")
        page.locator("#missing").wait_for(state="visible")

    assert folded == [False, False]
