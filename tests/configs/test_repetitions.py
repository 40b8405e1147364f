"""Repetitions until a precision: what they become, and what a user is told of wrong ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.repetitions import Precision
from tests.configs.shelves import STUDY, mistakes, study_of

RULE = "{min: 5, max: 50, until: {ci_half_width: 1%}}"


def with_repetitions(value: str) -> str:
    return STUDY.replace("repetitions: 10", f"repetitions: {value}")


@pytest.mark.parametrize(
    ("value", "most", "precision"),
    [
        (RULE, 50, Precision(5, 0.01)),
        ("{min: 3, max: 10000, until: {ci_half_width: 0.5 %}}", 10000, Precision(3, 0.005)),
        ("{min: 7, max: 7, until: {ci_half_width: 99.999999%}}", 7, Precision(7, 0.99999999)),
        (
            "{min: 5, max: 50, until: {ci_half_width: 1%, of: [energy, time]}}",
            50,
            Precision(5, 0.01, ("time", "energy")),
        ),
        (
            "{min: 5, max: 50, until: {ci_half_width: 1%, of: energy}}",
            50,
            Precision(5, 0.01, ("energy",)),
        ),
        ("10", 10, None),
    ],
)
def test_repetitions_are_a_number_or_a_range_with_its_end(
    value: str, most: int, precision: Precision | None
) -> None:
    study = study_of(with_repetitions(value))
    assert study.repetitions == most
    if precision is None:
        assert study.precision is None
    else:
        assert study.precision is not None
        assert study.precision.half_width == pytest.approx(precision.half_width, rel=1e-12)
        assert (study.precision.least, study.precision.of) == (precision.least, precision.of)


def test_the_rule_is_part_of_what_a_study_asks_for() -> None:
    texts = [
        "50",
        RULE,
        RULE.replace("5,", "6,"),
        RULE.replace("1%", "2%"),
        RULE.replace("1%", "1%, of: [time, energy]"),
    ]
    assert len({study_of(with_repetitions(text)).digest for text in texts}) == len(texts)


@pytest.mark.parametrize(
    "again",
    [
        RULE.replace("50", "51"),
        RULE.replace("1%", "1.0 %"),
        RULE.replace("1%", "1%, of: time"),
        "{until: {of: [time], ci_half_width: '1%'}, max: 50, min: 5}",
    ],
)
def test_another_spelling_of_a_rule_or_more_of_it_is_the_same_study(again: str) -> None:
    assert study_of(with_repetitions(again)).digest == study_of(with_repetitions(RULE)).digest


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            RULE.replace("5,", "2,"),
            "x.yaml:9:20: '2' is not the fewest repetitions: a whole number from 3 to 10000",
        ),
        (
            RULE.replace("50", "10001"),
            "x.yaml:9:28: '10001' is not the most repetitions: a whole number from 3 to 10000",
        ),
        (RULE.replace("5,", "51,"), "x.yaml:9:20: '51' is more than max, '50'"),
        (
            RULE.replace("1%", "1"),
            "x.yaml:9:55: '1' is not a percentage of the mean, such as 1%",
        ),
        (RULE.replace("1%", "0%"), "x.yaml:9:55: '0%' is not more than 0% and less than 100%"),
        (RULE.replace("1%", "100%"), "x.yaml:9:55: '100%' is not more than 0% and less than 100%"),
        (RULE.replace("1%", "-1%"), "x.yaml:9:55: '-1%' is not a percentage of the mean"),
        (RULE.replace("1%", "1e-3%"), "x.yaml:9:55: '1e-3%' is not a percentage of the mean"),
        (RULE.replace("5, ", "", 1).replace("min: ", ""), "x.yaml:9:14: 'min' is missing"),
        ("{min: 5, max: 50}", "x.yaml:9:14: 'until' is missing; expected a table with the key"),
        (RULE.replace("ci_half_width: 1%", ""), "'ci_half_width' is missing"),
        (RULE.replace("ci_half_width", "ci_halfwidth"), "did you mean 'ci_half_width'?"),
        (RULE.replace("1%", "1%, of: edp"), "x.yaml:9:63: measure 'edp' is not known"),
        (RULE.replace("max", "most"), "key 'most' is not known here"),
        ("[5, 50]", "x.yaml:9:14: a list is not how often a case is run"),
        (RULE.replace("{ci_half_width: 1%}", "1%"), "'1%' is not a table with the key"),
    ],
)
def test_a_wrong_rule_is_explained_where_it_stands(value: str, said: str) -> None:
    lines = mistakes(with_repetitions(value))
    assert any(said in line and line.startswith("x.yaml:9:") for line in lines), lines


def test_the_precision_of_energy_needs_energy() -> None:
    text = with_repetitions(RULE.replace("1%", "1%, of: [time, energy]"))
    assert mistakes(text) == []
    assert mistakes(text + "collect: [energy]\n") == []
    assert mistakes(text + "collect: perf\n") == [
        "x.yaml:9:63: the precision of energy is asked for, and 'collect' leaves energy out"
    ]


def test_what_a_study_may_ask_for_counts_its_most_repetitions() -> None:
    rule = RULE.replace("50", "10000")
    threads = ", ".join(str(count) for count in range(1, 101))
    text = with_repetitions(rule).replace("[serial]", "[libgomp]").replace("[1]", f"[{threads}]")
    assert mistakes(text) == [
        "x.yaml:1:1: the study asks for 2000200 runs, warm-up runs included; "
        "expected at most 1000000"
    ]


KEYS = st.sampled_from(["min", "max", "until", "ci_half_width", "of", "x"])
VALUES = st.recursive(
    st.sampled_from(["3", "50", "1%", "0%", "time", "energy", "~", "10001", "''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {item}" for key, item in items.items()) + "}"
        )
    ),
    max_leaves=6,
)


@given(VALUES)
def test_whatever_repetitions_hold_there_is_a_study_or_a_list_of_mistakes(value: str) -> None:
    text = with_repetitions(value)
    lines = mistakes(text)
    assert all(line.startswith("x.yaml:9:") for line in lines)
    if not lines:
        study = study_of(text)
        assert study.precision is None or 3 <= study.precision.least <= study.repetitions
