"""Schedulers that a study names: what is accepted can be started without a shell."""

from __future__ import annotations

import shlex
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.decoding import InvalidError, decode
from configs.scheduling import Scheduler, Scheduling, recorded_words, switch
from tests.configs.shelves import study_of, study_with


@given(
    st.text(max_size=60) | st.from_regex(r"scx_[a-z]{1,4}( [-a-z=/.]{1,8}){0,3}", fullmatch=True)
)
def test_what_is_accepted_has_the_same_words_for_a_shell(text: str) -> None:
    try:
        accepted = decode(Scheduler, text)
    except InvalidError:
        return
    assert shlex.split(accepted) == accepted.split(" ")
    assert decode(Scheduler, accepted) == accepted
    program = Scheduling(accepted).program
    assert accepted in ("current", "kernel") or (program and program.startswith("scx_"))


@pytest.mark.parametrize(
    ("text", "means"), [("on", "on"), ("YES", "on"), ("False", "off"), ("current", "current")]
)
def test_a_switch_takes_the_words_that_yaml_has_for_it(text: str, means: str) -> None:
    assert decode(Annotated[str, switch("a switch")], text) == means


def test_a_study_has_every_combination_the_first_values_first() -> None:
    study = study_of(study_with("schedulers: [kernel, scx_lavd  --fast]", "itmt: [off, true]"))
    assert [scheduling.words for scheduling in study.schedulings] == [
        "kernel, ITMT off",
        "kernel, ITMT on",
        "scx_lavd --fast, ITMT off",
        "scx_lavd --fast, ITMT on",
    ]
    assert [scheduling.words for scheduling in study_of(study_with()).schedulings] == [""]


def test_a_study_that_asks_is_another_one() -> None:
    assert study_of(study_with()).digest != study_of(study_with("schedulers: kernel")).digest


def test_a_record_has_the_words_of_what_was_asked_for() -> None:
    assert recorded_words({"scheduler": None, "energy_aware": "on"}) == "EAS on"
