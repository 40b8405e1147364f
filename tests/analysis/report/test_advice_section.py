"""The report of a race: its advice in the place of verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from configs.repetitions import Race as Rule
from tests.analysis.advice.simulated_race import GAIN, NO_GAIN, write_results
from tests.analysis.report.pages import Page, page_of
from tests.support.results import record, write


@pytest.fixture(scope="module")
def gain(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(write_results(tmp_path_factory.mktemp("race"), GAIN))


def test_the_page_of_a_race_begins_with_its_advice(gain: Page) -> None:
    places = [gain.anchors.index(name) for name in ("answer", "advice", "tables")]
    assert places == sorted(places)
    assert '<p class="answer">4 threads, pcores-pin: 12' in gain.html
    assert "advice" in gain.anchors


def test_the_page_of_a_race_has_no_verdicts_that_would_mislead(gain: Page) -> None:
    assert not [name for name in gain.anchors if name.startswith("grid-")]
    assert "share one level" not in gain.of()
    assert "The cases raced for the least time" in gain.of()


def test_lines_and_names_of_others_are_shown_as_text(tmp_path: Path) -> None:
    bad = "</pre><script>alert(1)</script>"
    fields = {"command": ["taskset", "-c", "0", bad], "mapping": bad}
    best = replace(GAIN.entrants[3], more_fields=fields)
    made = replace(GAIN, entrants=(*GAIN.entrants[:3], best))

    html = page_of(write_results(tmp_path, made)).html

    assert bad not in html
    assert "&lt;/pre&gt;&lt;script&gt;" in html


def test_commands_in_sentences_are_set_as_code(tmp_path: Path) -> None:
    noisy = replace(NO_GAIN, noise=0.2, stop=13, rule=Rule(runs=12))

    page = page_of(write_results(tmp_path, noisy))

    assert "undecided: raise <code>--runs</code> (12 now)" in page.html
    assert "go on with <code>pinstudy advise -- " in page.html
    assert "`" not in page.of("answer") + page.of("advice")


def test_leaving_it_has_no_lines_of_other_launchers(tmp_path: Path) -> None:
    page = page_of(write_results(tmp_path, NO_GAIN))
    assert "as you start it now: nothing tried was shown to be better" in page.of("answer")
    assert "Other launchers" not in page.of()


def test_other_pages_have_no_advice(tmp_path: Path) -> None:
    write(tmp_path, [record(n, repetition) for n in (1, 2) for repetition in (1, 2, 3)])
    anchors = page_of(tmp_path).anchors
    assert "advice" not in anchors
    assert "grid-1-1" in anchors
