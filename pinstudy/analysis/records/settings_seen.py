"""Which values each setting had in the good runs of a case, and in which attempts.

It is gathered while the records are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pinstudy.runners.records.settings_of_runs import FIELDS, settings_in
from pinstudy.runners.records.status import OK

# Values of a setting; those of a setting that moves by itself are many.
MAX_VALUES = 5

# The attempts by the values of a setting, both in the order in which they were read.
Values = Mapping[str, list[object]]


class SettingsSeen:
    """The values of settings by case."""

    def __init__(self) -> None:
        self._by_case: dict[str, dict[str, dict[str, list[object]]]] = {}
        self._latest: dict[str, tuple[object, ...]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the settings of a record if it is of a good run."""
        if record.get("status") != OK or record.get("warmup"):
            return
        case_id, attempt = record["case_id"], record.get("attempt")
        # Of many records most have the settings of the one before.
        fields = (attempt, *map(record.get, FIELDS))
        if self._latest.get(case_id) == fields:
            return
        self._latest[case_id] = fields
        for name, value in settings_in(record).items():
            values = self._by_case.setdefault(case_id, {}).setdefault(name, {})
            if value in values or len(values) < MAX_VALUES:
                attempts = values.setdefault(value, [])
                if attempt not in attempts:
                    attempts.append(attempt)

    def __iter__(self) -> Iterator[Mapping[str, Values]]:
        return iter(self._by_case.values())

    def of(self, case_id: str) -> Mapping[str, Values]:
        """Return the values of each setting in a case's runs, by the setting's words."""
        return self._by_case.get(case_id, {})
