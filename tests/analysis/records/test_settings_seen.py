"""Which values of settings a case's runs had, in which attempts."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.records.settings_seen import MAX_VALUES, SettingsSeen


def seen(*records: dict[str, Any]) -> SettingsSeen:
    settings = SettingsSeen()
    for number, fields in enumerate(records, 1):
        settings.add({"case_id": "a", "status": "ok", "attempt": number, "epp": "power"} | fields)
    return settings


def test_values_are_kept_with_their_attempts() -> None:
    found = seen({}, {"epp": "performance"}, {"attempt": 2}, {}).of("a")
    assert found == {"EPP": {"power": [1, 2, 4], "performance": [2]}}


@pytest.mark.parametrize("fields", [{"status": "failed"}, {"warmup": True}])
def test_runs_that_are_not_averaged_say_nothing(fields: dict[str, Any]) -> None:
    assert seen({}, {"epp": "performance"} | fields).of("a") == {"EPP": {"power": [1]}}


def test_a_setting_that_moves_all_the_time_keeps_its_first_values() -> None:
    found = seen(*({"epp": str(number)} for number in range(100))).of("a")
    assert list(found["EPP"]) == [str(number) for number in range(MAX_VALUES)]
