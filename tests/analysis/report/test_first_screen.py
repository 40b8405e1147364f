"""What stands on the first screen: an answer that is short, by which data decide."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.words.answer import MAX_WORDS
from tests.analysis.report.pages import Page, page_of
from tests.golden import canonical
from tests.support.results import Study, in_table, write


def answer_of(page: Page) -> str:
    """Return the answer as a reader sees it."""
    (answer,) = re.findall(r'<p class="answer">(.*?)</p>', page.html)
    text = re.sub(r"<[^>]+>", "", answer).replace("\N{NO-BREAK SPACE}", " ")
    return text.replace("&#39;", "'")


@pytest.mark.parametrize("make", canonical.RESULTS, ids=lambda make: make.__name__)
def test_the_answer_of_any_study_has_at_most_30_words(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path)
    answer = answer_of(page_of(tmp_path))
    assert 0 < len(answer.split()) <= MAX_WORDS == 30
    assert "`" not in answer


def half_decided(folder: Path) -> None:
    """Two programs, of which one gains 7 % on P-cores, and one is too noisy to tell."""
    clear = in_table(1, Study(canonical.TIMES).records())
    times = {"unpinned": 1.0, "pcores-set": 0.98}
    noisy = in_table(2, Study(times, repetitions=5, noise=0.05, seed=3).records(), app="lu")
    write(folder, [*clear, *noisy])


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (
            canonical.energy,
            r"Confine threads \(pcores-set\): 7\.\d % less time, 3\.\d % less energy\.",
        ),
        (
            half_decided,
            r"Confine threads \(pcores-set\) in 1 of 2 configurations: "
            r"[67](\.\d)? % less time\. 1 is undecided\.",
        ),
        (
            canonical.alike,
            r"Undecided: these runs show neither a gain nor that there is none\.",
        ),
        (
            canonical.disturbed,
            r"Not reliable: 25 of 50 runs were disturbed\. "
            r"So far, confine threads \(pcores-set\): 7\.\d % less time\.",
        ),
        (canonical.guests, r"Confine virtual CPUs \(pcores-set\): 4\.\d % less time\."),
        (canonical.co_runner, r"No answer: no mapping could be compared with another\."),
    ],
)
def test_the_answer_says_what_the_data_decide(
    tmp_path: Path, make: Callable[[Path], None], answer: str
) -> None:
    make(tmp_path)
    assert re.fullmatch(answer, answer_of(page_of(tmp_path)))


def test_answers_of_a_publication_count_its_configurations() -> None:
    page = page_of("published:galante-2025")
    answer = answer_of(page)
    assert answer.startswith("Leave threads unpinned in 9 of 14 configurations. Pin them ")
    assert len(answer.split()) <= MAX_WORDS
    # What no configuration varies stands once, above the grid.
    assert page.of().count("10 runs a case") == 1
    assert page.of("answer").count("95 % intervals") == 0


def test_rows_of_a_program_and_its_threads_are_named_once() -> None:
    page = page_of("published:galante-2025").html
    (grid,) = re.findall(r'<table class="grid" id="grid-1-1".*?</table>', page, flags=re.S)
    names = re.findall(r'<th scope="row"[^>]*class="(\w+)( same)?">', grid)
    shown = [column for column, same in names if not same]
    # Three programs with one, two or three numbers of threads, each under two governors.
    assert [shown.count(name) for name in ("program", "threads", "under")] == [3, 7, 14]


def test_a_grid_of_one_mapping_in_guests_names_it_above_its_columns(tmp_path: Path) -> None:
    canonical.guests(tmp_path)
    page = page_of(tmp_path)
    (grid,) = re.findall(r'<table class="grid" id="grid-1-1".*?</table>', page.html, flags=re.S)
    assert "in virtual machines, threads unpinned there" in grid
    columns = re.findall(r'<th scope="col" role="columnheader">([^<]+)', grid)
    assert columns == ["unpinned", "pcores-set", "pcores-pin"]


def test_a_decision_that_the_answer_says_whole_is_not_said_again(tmp_path: Path) -> None:
    for make in (half_decided, canonical.disturbed, canonical.co_runner):
        folder = tmp_path / make.__name__
        folder.mkdir()
        make(folder)
        assert "Decision" not in page_of(folder).of("answer")
    # Of energy, and of a third mapping, the answer says nothing.
    canonical.energy(tmp_path)
    assert "for package energy: confine (ecores-set)" in page_of(tmp_path).of("remarks")
    published = page_of("published:galante-2025").of("remarks")
    assert "lulesh x8 powersave: confine (pcores-set)" in published


def test_a_lever_of_guests_is_said_in_words(tmp_path: Path) -> None:
    canonical.guests(tmp_path)
    page = page_of(tmp_path)
    assert "mapping in virtual machines against unpinned" in page.of("levers")
    assert "unpinned/unpinned" not in page.of("answer").partition("To know")[0]


def test_what_to_do_next_is_a_command(tmp_path: Path) -> None:
    canonical.disturbed(tmp_path)
    assert "pinstudy tune" in page_of(tmp_path).of("next")
    assert "pinstudy run quick" in page_of("published:galante-2025").of("next")
