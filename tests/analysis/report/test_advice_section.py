from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.answer import find
from analysis.report.page import report_html
from analysis.results.sources import open_results
from tests.analysis.advice.made_race import GAIN, NO_GAIN, Made, made_results
from tests.support.results import record, write


def page(folder: Path, made: Made) -> str:
    results = open_results(str(made_results(folder, made)))
    return report_html(results, find(results))


@pytest.fixture(scope="module")
def gain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page(tmp_path_factory.mktemp("race"), GAIN)


def test_the_page_of_a_race_begins_with_its_advice(gain: str) -> None:
    assert gain.index('id="answer"') < gain.index('<section id="advice"')
    assert gain.index('<section id="advice"') < gain.index('<section id="tables"')
    assert '<p class="answer">Recommended: 4 threads, pcores-pin' in gain
    assert "should app run?" in gain
    assert 'href="#advice"' in gain


def test_the_page_of_a_race_has_no_verdicts_that_would_mislead(gain: str) -> None:
    assert '<section id="verdicts"' not in gain
    assert 'href="#verdicts"' not in gain
    assert "share one level" not in gain
    assert "The cases raced for the least time" in gain


def test_lines_and_names_of_others_are_shown_as_text(tmp_path: Path) -> None:
    bad = "</pre><script>alert(1)</script>"
    fields = {"command": ["taskset", "-c", "0", bad], "mapping": bad}
    best = replace(GAIN.entrants[3], beside=fields)
    told = page(tmp_path, replace(GAIN, entrants=(*GAIN.entrants[:3], best)))
    assert bad not in told
    assert "&lt;/pre&gt;&lt;script&gt;" in told


def test_doing_nothing_has_no_ready_lines(tmp_path: Path) -> None:
    told = page(tmp_path, NO_GAIN)
    assert '<p class="answer">Recommended: do nothing.' in told
    assert "Ready lines" not in told


def test_other_pages_have_no_advice(tmp_path: Path) -> None:
    write(tmp_path, [record(n, repetition) for n in (1, 2) for repetition in (1, 2, 3)])
    results = open_results(str(tmp_path))
    told = report_html(results, find(results))
    assert 'id="advice"' not in told
    assert '<section id="verdicts"' in told
