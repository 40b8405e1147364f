"""Reports of made-up results, and what a reader finds in them."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.findings.answers import answers_of
from pinstudy.analysis.report.page import MAX_PICTURED, report_html
from pinstudy.analysis.results.sources import Results, open_results

# A section that is folded is called details.
_SECTIONS = ("section", "details")


class Page(HTMLParser):
    """The texts of a page by the id of the innermost section, and what leads where.

    `drawings` are the alt texts of the figures in the page, whose own texts are left out.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.texts: dict[str, list[str]] = {}
        self.images: list[dict[str, str | None]] = []
        self.drawings: list[str] = []
        self.anchors: list[str] = []
        self.links: set[str] = set()
        self._sections = [""]
        self._is_drawing = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.anchors += filter(None, [named.get("id")])
        if tag in _SECTIONS:
            self._sections.append(named.get("id") or "")
        if tag == "img":
            self.images.append(named)
        if tag == "svg":
            self._is_drawing = True
            self.drawings.append(named.get("aria-label") or "")
        if tag == "a":
            self.links.add(named.get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "svg":
            self._is_drawing = False
        if tag in _SECTIONS:
            self._sections.pop()

    def handle_data(self, data: str) -> None:
        for section in () if self._is_drawing else self._sections:
            self.texts.setdefault(section, []).append(data)

    def of(self, section: str = "") -> str:
        """Return what a section says, or all of the page, with single blanks and ASCII's minus."""
        text = " ".join(" ".join(self.texts[section]).split())
        return text.replace("\N{MINUS SIGN}", "-")


def html_of(results: Results, pictured: int = MAX_PICTURED) -> str:
    """Return the report of results as HTML."""
    answer = analyze(results)
    return report_html(results, answer, answers_of(results, answer), pictured)


def page_of(folder: Path | str, pictured: int = 0) -> Page:
    """Return the report of results, with the figures of so many tables, which take long."""
    results = open_results(str(folder))
    return Page(html_of(results, pictured))
