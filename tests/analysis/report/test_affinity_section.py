"""The report's section on thread placements: what it tells, what it lacks, and when it is there."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis.answer import find
from analysis.report.page import report_html
from analysis.results.sources import open_results
from tests.analysis.affinity.made_results import NO_L1D, ONE_PACKAGE, Affinity, make_affinity
from tests.support.results import record, write

TITLE = "What a thread placement costs, and why"


class Texts(HTMLParser):
    """What a page says, as one text with single blanks."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.anchors: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.anchors.add(str(values["id"]))
        if tag == "a" and str(values.get("href")).startswith("#"):
            self.links.add(str(values["href"])[1:])

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.parts))


def page(folder: Path) -> Texts:
    results = open_results(str(folder))
    return texts_of(report_html(results, find(results)))


def texts_of(html: str) -> Texts:
    read = Texts()
    read.feed(html)
    return read


@pytest.fixture
def report(affinity: Path) -> Texts:
    return texts_of(affinity.read_text())


def test_the_section_tells_all_experiments_and_stands_in_the_contents(report: Texts) -> None:
    for app in ("contention", "smt", "pingpong", "threadmap", "latency"):
        assert f"affinity-{app}" in report.anchors & report.links
    assert report.text.count(TITLE) == 2
    for told in (
        "Threads that pin themselves (#2 same-cpu-pin-program) beside threads",
        "the time of a round under each placement",
        "the time of a thread under each placement",
        "the one-way time of a cache line under each placement",
        "bound, 4 threads bound to one CPU each",
    ):
        assert told in report.text


def test_latencies_beside_the_records_are_shown_with_their_mappings(report: Texts) -> None:
    assert "OMP_PLACES=" in report.text
    assert "pinstudy latency --into" not in report.text


def test_what_the_node_cannot_do_is_said(tmp_path: Path) -> None:
    study = Affinity(apps=("contention", "pingpong"), repetitions=2, l1d=False)

    text = page(make_affinity(tmp_path, study)).text

    reason = f"because {ONE_PACKAGE}"
    assert f"across-packages-pin-program, across-packages-pin (2 cases), {reason}" in text
    assert f"L1 load misses were not counted: {NO_L1D}" in text
    assert f"`pinstudy latency --into {tmp_path}`" in text
    assert "does not collect c2c" in text


def test_a_study_whose_cases_are_all_left_out_has_its_reasons(tmp_path: Path) -> None:
    gone = [
        made | {"status": "skipped", "reason": "the program smt-libgomp is not built"}
        for made in Affinity(apps=("smt",), repetitions=1).records()
    ]
    write(tmp_path, gone)

    text = page(tmp_path).text

    assert TITLE in text
    assert "because the program smt-libgomp is not built" in text


def test_other_results_have_no_such_section(tmp_path: Path) -> None:
    write(tmp_path, [record(1, n) for n in range(1, 4)])

    assert TITLE not in page(tmp_path).text


def test_a_damaged_latency_file_is_named_and_the_rest_is_told(tmp_path: Path) -> None:
    make_affinity(tmp_path, Affinity(apps=("pingpong",), repetitions=2))
    (tmp_path / "latency.json").write_text('{"schema": 1, "kind": "latency", "pairs": 3}')

    text = page(tmp_path).text

    assert "The latencies cannot be shown:" in text
    assert "latency.json" in text
    assert "the one-way time of a cache line under each placement" in text


def test_hostile_results_are_text(hostile_affinity: Path) -> None:
    html = hostile_affinity.read_text()

    assert TITLE in html
    assert "<script>window" not in html
    assert "<img src=x" not in html
    assert not {"\u202e", "\u2066", "\x1b", "\x00"} & {*html}
