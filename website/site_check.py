"""Opens the built site from its files in a browser, offline.

Its search must find a page, and the notebook's page must show tables and figures.

`make docs` runs it. Exit status 1 with a line that says what is wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

SITE = Path("build/site")
# The names of tools/packages.sh.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NOTEBOOK = "notebook.html"
SOUGHT, FOUND = "energy by core kind", "energy-by-kind.html"
LONGEST_WAIT_MS = 60_000


def check(browser_path: str) -> list[str]:
    """Return what is wrong with the site: complaints of its pages, requests, a search in vain."""
    from playwright.sync_api import TimeoutError as TimedOut
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path)
        page = browser.new_page()
        page.on("pageerror", lambda error: wrong.append(f"error in a script: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((SITE / "index.html").resolve().as_uri())
        page.keyboard.press("s")
        page.keyboard.type(SOUGHT)
        try:
            page.wait_for_selector(
                f'.md-search-result__link[href*="{FOUND}"]',
                state="attached",
                timeout=LONGEST_WAIT_MS,
            )
        except TimedOut:
            wrong.append(f"a search for {SOUGHT!r} does not find {FOUND}")
        page.goto((SITE / NOTEBOOK).resolve().as_uri())
        pictures = page.locator(".md-content img").evaluate_all(
            "all => all.map(i => i.naturalWidth)"
        )
        tables = page.locator(".md-content .output td:visible").all_inner_texts()
        if not tables or not pictures or not all(pictures):
            wrong.append(f"{NOTEBOOK} lacks tables or figures")
        if any(re.search("&[a-z]+;|</?t[dr]", text) for text in tables):
            wrong.append(f"{NOTEBOOK} has markup in its tables")
        browser.close()
    return wrong + [url for url in asked if not url.startswith(("file:", "data:"))]


def main() -> int:
    """Check the site; without a browser, say so, and fail where `CI` is `true`."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        print("docs: the site's search is not checked: no Chromium; `make test` installs it")
        return int(os.environ.get("CI") == "true")
    try:
        wrong = check(path)
    except ImportError:
        print("docs: the site's search is not checked: no playwright; `make test` installs it")
        return int(os.environ.get("CI") == "true")
    for line in wrong:
        print(f"docs: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
