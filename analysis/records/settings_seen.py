"""Which values each setting had in the good runs of a case, and in which attempts.

It is gathered while the records are read, which may come from anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runners.records.settings_of_runs import FIELDS, settings_in
from runners.records.values import OK

# Of a study there are as many cases as it has rows.
MAX_CASES = 10_000
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
        case_id = record.get("case_id")
        if record.get("status") != OK or record.get("warmup") is True:
            return
        if not isinstance(case_id, str):
            return
        # Of many records most have the settings of the one before.
        fields = (record.get("attempt"), *map(record.get, FIELDS))
        if self._latest.get(case_id) == fields:
            return
        if case_id in self._latest or len(self._latest) < MAX_CASES:
            self._latest[case_id] = fields
            for name, value in settings_in(record).items():
                self._add(case_id, name, value, [record.get("attempt")])

    def _add(self, case_id: str, name: str, value: str, attempts: list[object]) -> None:
        values = self._by_case.setdefault(case_id, {}).setdefault(name, {})
        if value in values or len(values) < MAX_VALUES:
            known = values.setdefault(value, [])
            known += [attempt for attempt in attempts if attempt not in known]

    def merge(self, others: SettingsSeen) -> None:
        """Add the settings of others, whose records were read after these."""
        for case_id, settings in others._by_case.items():
            if case_id in self._by_case or len(self._by_case) < MAX_CASES:
                for name, values in settings.items():
                    for value, attempts in values.items():
                        self._add(case_id, name, value, attempts)

    def __iter__(self) -> Iterator[Mapping[str, Values]]:
        return iter(self._by_case.values())

    def of(self, case_id: str) -> Mapping[str, Values]:
        """Return the values of each setting in a case's runs, by the setting's words."""
        return self._by_case.get(case_id, {})
