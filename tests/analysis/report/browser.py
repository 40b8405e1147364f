"""A headless Chromium that notes all that a page asks for and complains about."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.tools import need_tool

# The names of tools/packages.sh.
NAMES = ("chromium", "chromium-browser", "google-chrome")
PHONE, TABLET, DESKTOP, WIDE = (360, 740), (768, 1024), (1280, 800), (1920, 1080)
SIZES = {"phone": PHONE, "tablet": TABLET, "desktop": DESKTOP, "wide": WIDE}
Scheme = Literal["light", "dark"]


@dataclass
class Visit:
    """A page that was opened, what it asked for, and what went wrong."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the system's browser; the calling test is skipped without one, and fails in CI."""
    path = next(filter(None, map(shutil.which, NAMES)), None) or need_tool(NAMES[0])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(
    browser: Browser, file: Path, size: tuple[int, int] = DESKTOP, scheme: Scheme = "light"
) -> Iterator[Visit]:
    """Open a file in a window of this size, with the colours that a reader prefers."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
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


def barriers(page: Page, size: tuple[int, int]) -> str:
    """Return what bars people from reading a page, as axe tells it; empty if nothing does.

    Colours, whose contrast is two thirds of the work, do not depend on the window: they are
    checked in one size.
    """
    rules = {"color-contrast": {"enabled": size == DESKTOP}}
    found = Axe().run(page, options={"resultTypes": ["violations"], "rules": rules})
    return str(found.generate_report()) if found.violations_count else ""
