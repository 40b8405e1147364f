"""A study's temperature gate: what it becomes, and what a user is told of a wrong one."""

from __future__ import annotations

import pytest

from configs.study import TemperatureGate
from tests.configs.shelves import STUDY, mistakes, study_of


def gated(value: str) -> str:
    return STUDY + f"temperature_gate: {value}\n"


@pytest.mark.parametrize(
    ("value", "gate"),
    [
        ("{within: 5 K, limit: 2 min}", TemperatureGate(5.0, 120.0)),
        ("{within: 2.5K, limit: 90 s}", TemperatureGate(2.5, 90.0)),
        ("{within: 80 °C, limit: 1 h}", TemperatureGate(80.0, 3600.0)),
    ],
)
def test_a_gate_has_kelvins_and_seconds(value: str, gate: TemperatureGate) -> None:
    assert study_of(gated(value)).temperature_gate == gate


def test_there_is_none_unless_it_is_asked_for() -> None:
    assert study_of(STUDY).temperature_gate is None


def test_a_gate_makes_another_study() -> None:
    gate = gated("{within: 5 K, limit: 2 min}")
    assert study_of(gate).digest != study_of(STUDY).digest
    assert study_of(gate).digest != study_of(gate.replace("5 K", "6 K")).digest


NO_DIFFERENCE = "is not a difference of temperatures, such as 5 K"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{within: 5, limit: 2 min}", f"'5' {NO_DIFFERENCE}"),
        ("{within: 5 F, limit: 2 min}", f"'5 F' {NO_DIFFERENCE}"),
        ("{within: -5 K, limit: 2 min}", f"'-5 K' {NO_DIFFERENCE}"),
        ("{within: 99999999 K, limit: 2 min}", f"'99999999 K' {NO_DIFFERENCE}"),
        ("{within: [5 K], limit: 2 min}", NO_DIFFERENCE),
        ("{within: 0 K, limit: 2 min}", "'0 K' is not more than 0 K and at most 80 K"),
        ("{within: 80.1 K, limit: 2 min}", "'80.1 K' is not more than 0 K and at most 80 K"),
        ("{within: 5 K, limit: 2}", "'2' has no unit"),
        ("{within: 5 K}", "'limit' is missing; expected the longest wait"),
        ("{limit: 2 min}", "'within' is missing"),
        ("{withing: 5 K, limit: 2 min}", "did you mean 'within'?"),
        ("5 K", "is not a gate with the keys within and limit"),
        ("", "'temperature_gate' is empty"),
    ],
)
def test_a_wrong_gate_is_explained_where_it_stands(value: str, said: str) -> None:
    lines = mistakes(gated(value))
    assert any(line.startswith("x.yaml:11:") and said in line for line in lines), lines
