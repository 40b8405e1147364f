"""The settings in force in the earlier runs of each case, and whether they are in force again.

A case asks for its governor and its scheduler. Others, such as the EPP and limits of frequency and
power, it takes as they are, and somebody may change them between two attempts.

A setting that had several values in the runs of one case is not compared: attempts agree in it, so
that it moved while one ran, by itself (a daemon that sets power limits by temperature). Tables tell
that it moved.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from pinstudy.base.text import first_of
from pinstudy.configs.study import CURRENT_GOVERNOR
from pinstudy.runners.plan.case import Case
from pinstudy.runners.records.kept_facts import in_words
from pinstudy.runners.records.settings_of_runs import (
    SCALING,
    SCHEDULING,
    power_limits_in,
    settings_in,
)

_MAX_NAMED = 6


@dataclass(frozen=True)
class EarlierSettings:
    """The values of each setting in the good runs of a case, by its `case_id`: up to two."""

    by_case: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def add(self, case_id: str, record: Mapping[str, Any]) -> None:
        """Add those of a run's record."""
        of_case = self.by_case.setdefault(case_id, {})
        for name, value in settings_in(record).items():
            values = of_case.setdefault(name, [])
            if len(values) < 2 and value not in values:
                values.append(value)

    def before_attempt(self, case: Case, state: Mapping[str, Any]) -> str:
        """Return in words which settings differ before an attempt; empty when none do.

        `state` has the fields of `pinstudy.runners.node.node.read_state`. What the case itself will
        change is not compared.
        """
        changed: set[str] = set()
        governor_stays = case.governor in (CURRENT_GOVERNOR, state.get("governor_read"))
        if case.settings.asked or not governor_stays:
            # The EPP and what the scheduler can do follow the governor; limits follow turbo.
            changed.update(SCALING.values(), SCHEDULING.values())
        if case.settings.asked:
            changed.update(power_limits_in(state))
        return self._differences(case, settings_in(state), changed)

    def before_run(self, case: Case, state: Mapping[str, Any]) -> str:
        """Return the same when the case's settings are in force, power limits left out.

        These may move during an attempt.
        """
        return self._differences(case, settings_in(state), power_limits_in(state))

    def _differences(self, case: Case, now: Mapping[str, str], without: Container[str]) -> str:
        earlier = self.by_case.get(case.case_id, {})
        differ = [
            in_words(name, values[0], now[name])
            for name, values in earlier.items()
            if name in now and name not in without and len(values) == 1 and values[0] != now[name]
        ]
        return first_of(differ, _MAX_NAMED)
