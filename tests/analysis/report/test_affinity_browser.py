"""The section on thread placements in a real browser: nothing is loaded, all can read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.analysis.report.browser import DESKTOP, PHONE, barriers, visit


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("which", ["affinity", "hostile_affinity"])
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
