"""A study's idle baseline: what it becomes, and what a user is told of a wrong one."""

from __future__ import annotations

import pytest

from configs.study import Baseline
from tests.configs.shelves import STUDY, mistakes, study_of


def with_baseline(value: str) -> str:
    return STUDY + f"baseline: {value}\n"


@pytest.mark.parametrize(
    ("value", "baseline"),
    [
        ("10 s", Baseline(10.0)),
        ("{duration: 10 s}", Baseline(10.0)),
        ("{duration: 1.5 min, every: 50}", Baseline(90.0, 50)),
        ("100 ms", Baseline(0.1)),
        ("10 min", Baseline(600.0)),
    ],
)
def test_a_baseline_has_seconds_and_maybe_a_number_of_runs(value: str, baseline: Baseline) -> None:
    assert study_of(with_baseline(value)).baseline == baseline


def test_there_is_none_unless_it_is_asked_for() -> None:
    assert study_of(STUDY).baseline is None


def test_a_baseline_makes_another_study_and_its_short_form_the_same() -> None:
    short = study_of(with_baseline("10 s")).digest
    assert short != study_of(STUDY).digest
    assert short != study_of(with_baseline("11 s")).digest
    assert short != study_of(with_baseline("{duration: 10 s, every: 50}")).digest
    assert short == study_of(with_baseline("{duration: 10000 ms}")).digest


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("10", "'10' has no unit; write 10 s, 10 min or 10 h"),
        ("99 ms", "'99 ms' is not a duration from 100 ms to 10 min"),
        ("601 s", "'601 s' is not a duration from 100 ms to 10 min"),
        ("{duration: 1 h}", "'1 h' is not how long the node is left idle, from 100 ms to 10 min"),
        ("{every: 50}", "'duration' is missing; expected how long the node is left idle"),
        (
            "{duration: 10 s, every: 0}",
            "'0' is not after how many runs it is repeated: a whole number from 1 to 100000",
        ),
        ("{duration: 10 s, evrey: 5}", "did you mean 'every'?"),
        ("[10 s, 20 s]", "a list is not a duration from 100 ms to 10 min, such as 10 s"),
        ("", "'baseline' is empty; expected a duration from 100 ms to 10 min, such as"),
    ],
)
def test_a_wrong_baseline_is_explained_where_it_stands(value: str, said: str) -> None:
    lines = mistakes(with_baseline(value))
    assert any(line.startswith("x.yaml:11:") and said in line for line in lines), lines
