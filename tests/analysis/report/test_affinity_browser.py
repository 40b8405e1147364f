"""The section on thread placements in a real browser: nothing is loaded, all can read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analysis.report.page import write_report
from tests.analysis.affinity.hostile import make_hostile_affinity
from tests.analysis.affinity.made_results import Affinity, make_affinity
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.analysis.report.browser import DESKTOP, PHONE, barriers, open_browser, visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_affinity(tmp_path_factory.mktemp("affinity"), Affinity(repetitions=3))
    write_latency_file(folder, content_of(PLANTED["smt"]))
    return write_report(str(folder))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(str(make_hostile_affinity(tmp_path_factory.mktemp("hostile"))))


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("which", ["report", "hostile"])
def test_the_section_loads_nothing_fits_and_passes_the_accessibility_check(
    browser: Browser, request: pytest.FixtureRequest, which: str, size: tuple[int, int]
) -> None:
    file: Path = request.getfixturevalue(which)
    with visit(browser, file, size) as visited:
        page = visited.page
        images = page.locator("#affinity img").count()
        broken = page.evaluate(
            "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.alt)"
        )
        width = page.evaluate("document.documentElement.scrollWidth")
        hacked = page.evaluate("typeof window.hacked")
        scripts = page.evaluate("document.scripts.length")
        barred = barriers(page, size)

    assert [url for url in visited.requests if not url.startswith("data:")] == [file.as_uri()]
    assert visited.complaints == []
    assert images >= 3
    assert broken == []
    assert width <= size[0]
    assert (hacked, scripts) == ("undefined", 1)
    assert barred == ""
