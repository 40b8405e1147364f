"""Settings of earlier runs that are compared, and those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from configs.settings import settings_of
from runners.study.earlier_settings import EarlierSettings
from tests.runners.cases import case

# What a reading of the node, or the record of a run, has.
STATE: dict[str, Any] = {
    "governor_read": "powersave",
    "epp": "balance_performance",
    "max_khz": {"5600000": "0", "4400000": "1"},
    "sched_itmt": "on",
    "power_supply": "mains",
    "platform_profile": "balanced",
    "power_limits": {"package-0": {"pl1_w": 125.0, "tau_s": 28.0, "pl2_w": 253.0}},
}
AS_IT_IS = case(governor="current")


def package(pl1_w: float, tau_s: float = 28.0) -> dict[str, Any]:
    return {"power_limits": {"package-0": {"pl1_w": pl1_w, "tau_s": tau_s, "pl2_w": 253.0}}}


def earlier(*runs: dict[str, Any]) -> EarlierSettings:
    """Return the settings of these runs of a case, each with a change of STATE."""
    settings = EarlierSettings()
    for run in runs:
        settings.add(AS_IT_IS.case_id, STATE | run)
    return settings


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"epp": "power"}, "EPP was 'balance_performance', now 'power'"),
        ({"governor_read": "performance"}, "governor was 'powersave', now 'performance'"),
        ({"sched_itmt": "off"}, "ITMT was 'on', now 'off'"),
        ({"power_supply": "battery"}, "power supply was 'mains', now 'battery'"),
        ({"platform_profile": "quiet"}, "platform profile was 'balanced', now 'quiet'"),
        (package(65.0), "PL1 of package-0 (W) was '125', now '65'"),
        (package(125.0, 8.0), "window of PL1 of package-0 (s) was '28', now '8'"),
        ({"max_khz": {"5600000": "0-1"}}, "highest frequency (kHz) was '5600000 on 0, 4400000 on"),
    ],
)
def test_a_setting_that_is_another_is_told(change: dict[str, Any], told: str) -> None:
    differences = earlier({}, {}).before_attempt(AS_IT_IS, STATE | change)
    assert differences.startswith(told) and bool(differences) == bool(told)


@pytest.mark.parametrize("name", list(STATE))
def test_what_cannot_be_read_now_or_was_not_then_is_no_difference(name: str) -> None:
    known = {key: value for key, value in STATE.items() if key != name}
    assert earlier({}).before_attempt(AS_IT_IS, known) == ""
    assert earlier({name: None}).before_attempt(AS_IT_IS, STATE) == ""


def test_a_limit_that_moved_by_itself_is_no_difference() -> None:
    assert earlier({}, package(90.0)).before_attempt(AS_IT_IS, STATE | package(65.0)) == ""


def test_a_case_that_sets_its_governor_does_not_set_limits_of_power() -> None:
    with_governor = case(governor="performance")
    with_limit = case(settings=settings_of(power_limit="90 W"))
    settings = EarlierSettings()
    for asked in (with_governor, with_limit):
        settings.add(asked.case_id, STATE | package(90.0))
    now = STATE | package(65.0)
    assert "PL1" in settings.before_attempt(with_governor, now)
    assert settings.before_attempt(with_limit, now) == ""


def test_limits_of_power_may_move_while_an_attempt_runs() -> None:
    assert earlier({}).before_run(AS_IT_IS, STATE | package(65.0)) == ""
    assert earlier({}).before_run(AS_IT_IS, STATE | {"epp": "power"}) != ""


def test_what_a_case_sets_itself_is_compared_when_it_is_in_force() -> None:
    asked = case(governor="performance", settings=settings_of(itmt="on"))
    settings = EarlierSettings()
    settings.add(asked.case_id, STATE | {"governor_read": "performance", "epp": "performance"})
    # No governor chooses the supply.
    unplugged = STATE | {"power_supply": "battery"}
    assert "power supply" in settings.before_attempt(asked, unplugged)
    now = STATE | {"sched_itmt": "off"}
    assert settings.before_attempt(asked, now) == ""
    assert "EPP was 'performance'" in settings.before_run(asked, now)
    assert "ITMT was 'on', now 'off'" in settings.before_run(asked, now)
