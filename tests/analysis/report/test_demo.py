"""The page of a demo: what it shows, and whether people can read it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analysis.report.demo import DemoOutput, write_demo
from tests.analysis.affinity.made_demo import MadeDemo, make_demo
from tests.analysis.report.browser import DESKTOP, PHONE, barriers, visit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def written(folder: Path) -> DemoOutput:
    return write_demo(folder)


def test_it_writes_the_page_the_numbers_and_a_picture_of_each_effect(written: DemoOutput) -> None:
    names = [file.name for file in written.files]
    pictures = ("contention", "false-sharing", "one-core", "latency", "threads")
    assert names == [
        *("demo.html", "demo.json"),
        *(f"{name}.{style}" for name in pictures for style in ("svg", "png")),
    ]
    assert all(file.stat().st_size for file in written.files)
    numbers = json.loads(written.files[1].read_text())
    assert numbers == json.loads(json.dumps(written.data))
    assert [row["effect"] for row in numbers["rows"]] == [
        *("contention", "false sharing", "one core", "latency", "who ran where"),
    ]


def test_what_could_not_be_measured_stands_on_the_page_with_its_reason(tmp_path: Path) -> None:
    make_demo(tmp_path, MadeDemo(left_out=["siblings-pin"], latency=False, apps=["smt"]))
    output = write_demo(tmp_path)
    page = output.files[0].read_text()
    assert "Not shown: no core has two usable CPUs (SMT is off or absent)." in page
    assert page.count('class="lacking"') == 5
    # How a picture is read stands below pictures alone.
    assert "The darker a cell" not in page
    assert [shown.picture is None for shown in output.rows] == [True, True, False, True, True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_nothing_bars_people_from_the_page_and_it_asks_for_nothing(
    written: DemoOutput, browser: Browser, size: tuple[int, int], scheme: str
) -> None:
    with visit(browser, written.files[0], size) as visited:
        visited.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert barriers(visited.page, size) == ""
        wide = visited.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size[0]
        assert not visited.complaints
        assert [url for url in visited.requests if not url.startswith("data:")] == [
            written.files[0].as_uri()
        ]


def test_pictures_follow_the_colours_of_the_page(written: DemoOutput, browser: Browser) -> None:
    colour = "(css) => getComputedStyle(document.querySelector(css)).fill"
    seen = {}
    with visit(browser, written.files[0]) as visited:
        for scheme in ("light", "dark"):
            visited.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            seen[scheme] = visited.page.evaluate(colour, "svg.drawn text")
        assert visited.page.locator("svg.drawn").count() == 5
        assert visited.page.locator("img").count() == 0
    light, dark = (sum(map(int, re.findall(r"\d+", seen[name]))) for name in ("light", "dark"))
    # Dark letters on light ground, and light letters on dark ground.
    assert light < 3 * 64
    assert dark > 3 * 192


def test_names_from_records_cannot_write_the_page(tmp_path: Path) -> None:
    make_demo(tmp_path, MadeDemo(latency=False))
    (node,) = (tmp_path / "nodes").glob("*.json")
    facts = json.loads(node.read_text()) | {"cpu_model": "<script>alert(1)</script>"}
    node.write_text(json.dumps(facts))
    page = write_demo(tmp_path).files[0].read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_printed_on_landscape_paper_each_effect_is_a_slide(
    written: DemoOutput, browser: Browser
) -> None:
    with visit(browser, written.files[0]) as visited:
        data = visited.page.pdf(format="A4", landscape=True)
    assert len(re.findall(rb"/Type\s*/Page\b", data)) == 5
