"""Settings that a study names: their words, their combinations, and what a shell makes of them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.decoding import InvalidError, decode
from configs.settings import (
    NAMES,
    Scheduler,
    frequency_khz,
    power_w,
    program_of,
    recorded_words,
    settings_in_words,
    settings_of,
)
from tests.configs.shelves import study_of, study_with


def combinations(*lines: str) -> list[str]:
    """Return in words the combinations of a study with these lines."""
    return [settings.words for settings in study_of(study_with(*lines)).other_settings]


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
    program = program_of(accepted)
    assert accepted in ("current", "kernel") or (program and program.startswith("scx_"))


@pytest.mark.parametrize(
    ("text", "words"), [("on", "on"), ("YES", "on"), ("False", "off"), ("'off'", "off")]
)
def test_a_switch_takes_the_words_that_yaml_has_for_it(text: str, words: str) -> None:
    assert combinations(f"settings: {{turbo: {text}}}") == [f"turbo {words}"]


@pytest.mark.parametrize(
    ("text", "words", "khz"),
    [
        ("2.4 GHz", "2.4 GHz", 2_400_000),
        ("2400MHz", "2.4 GHz", 2_400_000),
        ("800000 kHz", "0.8 GHz", 800_000),
        ("base", "base", None),
    ],
)
def test_a_frequency_is_the_same_however_it_is_written(
    text: str, words: str, khz: int | None
) -> None:
    assert combinations(f"settings: {{max_frequency: {text}}}") == [f"max {words}"]
    assert frequency_khz(words) == khz


def test_a_power_has_its_unit() -> None:
    assert combinations("settings: {power_limit: [35W, 65.0 W]}") == ["PL1 35 W", "PL1 65 W"]
    assert power_w("65 W") == 65.0


def test_a_study_has_every_combination_the_first_values_first() -> None:
    assert combinations("settings: {sched_ext: [kernel, scx_lavd  --fast], itmt: [off, true]}") == [
        "ITMT off, kernel",
        "ITMT off, scx_lavd --fast",
        "ITMT on, kernel",
        "ITMT on, scx_lavd --fast",
    ]
    assert combinations("settings: {epp: [current, power]}") == ["", "EPP power"]
    assert combinations() == [""]


def test_the_governors_of_either_key_are_those_of_the_study() -> None:
    in_settings = study_of(study_with("governors", "settings: {governor: [powersave], epp: power}"))
    assert in_settings.all_governors == ("powersave",)
    assert [settings.words for settings in in_settings.other_settings] == ["EPP power"]
    beside = study_of(study_with("governors: performance", "settings: {epp: power}"))
    assert beside.all_governors == ("performance",)


def test_a_study_that_asks_is_another_one() -> None:
    asking = study_of(study_with("settings: {sched_ext: kernel}"))
    assert study_of(study_with()).digest != asking.digest


def test_a_record_has_the_words_of_what_was_asked_for() -> None:
    asked = {"sched_ext": "scx_lavd", "turbo": "off", "max_frequency": "2.4 GHz", "epp": "power"}
    assert recorded_words({"settings": asked}) == ("EPP power, max 2.4 GHz, turbo off, scx_lavd")
    assert recorded_words({"governor": "performance"}) == ""


def test_a_setting_that_only_another_version_knows_is_named() -> None:
    assert settings_in_words({"uncore_frequency": "2 GHz", "itmt": "on"}) == (
        "ITMT on, uncore_frequency 2 GHz"
    )


def test_every_setting_has_words_of_its_own() -> None:
    words = [settings_of(**{name: "x"}).words for name in NAMES]
    assert len(set(words)) == len(words)
    assert all("x" in text for text in words)
