"""A race from its records: the cases that took part, its rule, its runs and its state.

A results folder may come from anybody, so every field of a record is checked before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from pinstudy.analysis.records.files import read_limited
from pinstudy.base.reading import number_or_nan
from pinstudy.base.text import one_line
from pinstudy.configs.repetitions import ANY, Race
from pinstudy.configs.results_folder import RACE_FILE
from pinstudy.configs.values import DIRECTIONS, is_name
from pinstudy.runners.records.race_state import Key, RaceRun, RaceState, race_run
from pinstudy.runners.records.status import FINAL, SKIPPED

MAX_NAME = 80
# No study has more cases.
MAX_CASES = 100_000
# A table's number and a case's.
_Row = tuple[int, int]
# The fields on how a run was started.
_LAUNCH = ("command", "environment", "runtime")


@dataclass(frozen=True)
class RaceRecords:
    """The records of a race.

    `entrants` are the case_ids of the cases that ran, the reference first, in the order in which
    they began. `unseen` is the number of further cases, which have no run yet or had no time.
    `runs` has each run once, by case and repetition; warm-up runs have repetitions below 0.
    `launches` are the fields of one run of each case on its start, unchecked. `withdrawn` has the
    cases that the node could run at first and later could not, with the reason.
    """

    rule: Race
    entrants: tuple[str, ...]
    unseen: int
    runs: Mapping[Key, RaceRun]
    launches: Mapping[str, Mapping[str, Any]]
    withdrawn: Mapping[str, str]

    @property
    def state(self) -> RaceState:
        """The state of the race, from its runs alone; unseen cases have numbers for names."""
        # Who only reads records does not need the rules of races.
        from pinstudy.runners.records.race.race import replay

        unseen = [str(number) for number in range(self.unseen)]
        return replay([*self.entrants, *unseen], self.rule, self.runs)


class RaceReader:
    """The parts of records that tell of a race, gathered while records are read."""

    def __init__(self) -> None:
        self._rule: Race | None = None
        self._cases = 0
        self._rows: dict[str, _Row] = {}
        self._runs: dict[Key, RaceRun] = {}
        self._launches: dict[str, Mapping[str, Any]] = {}
        # Rows that the latest attempt to reach them skipped, with the reason.
        self._skipped: dict[_Row, str] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record, of whatever study."""
        if record.get("status") == SKIPPED:
            if (row := _row(record)) is not None:
                self._skipped[row] = str(record.get("reason") or "")
        elif (rule := rule_of(record.get("repetition_rule"))) is not None:
            row, key = _row(record), _key(record)
            if row is not None and key is not None:
                self._rule, self._cases = rule, _cases(record["repetition_rule"]["race"])
                self._add_run(record, row, key, rule)

    def _add_run(self, record: Mapping[str, Any], row: _Row, key: Key, rule: Race) -> None:
        self._rows.setdefault(key[0], row)
        if record.get("command"):
            self._launches.setdefault(key[0], {name: record.get(name) for name in _LAUNCH})
        self._skipped.pop(row, None)
        # Of several records of a run that ended, the first counts.
        if record.get("status") in FINAL:
            self._runs.setdefault(key, race_run(record, rule))

    def race(self, folder: Path) -> RaceRecords | None:
        """Return the race in a results folder, whose records these are; None if none was run."""
        # In the order of runners.study.agenda.entrants_of.
        rows, skipped = self._rows, self._skipped
        ran = sorted(rows, key=lambda case_id: (*reversed(rows[case_id]), case_id))
        withdrawn = {case_id: skipped[rows[case_id]] for case_id in ran if rows[case_id] in skipped}
        entrants = tuple(case_id for case_id in ran if case_id not in withdrawn)
        if self._rule is None or not entrants:
            return None
        rule = _with_limits_of(folder, self._rule)
        unseen = max(0, self._cases - len(entrants))
        return RaceRecords(rule, entrants, unseen, self._runs, self._launches, withdrawn)


def rule_of(value: object) -> Race | None:
    """Return the race's rule in a record's `repetition_rule`; None when it is not a race."""
    race = value.get("race") if isinstance(value, dict) else None
    if not isinstance(race, dict):
        return None
    metric, better = race.get("of"), race.get("better")
    margin = number_or_nan(race.get("margin"))
    if not isinstance(metric, str) or not 0 < len(metric) <= MAX_NAME or not metric.isprintable():
        return None
    if better not in DIRECTIONS or not 0 < margin < 1:
        return None
    time_budget_s, runs = _limits(race.get("time_budget_s"), race.get("runs"))
    region = race.get("region")
    if region is not None and not (isinstance(region, str) and is_name(region)):
        return None
    return Race(
        region=region,
        of=metric,
        higher=better == "higher",
        margin=margin,
        time_budget_s=time_budget_s,
        runs=runs,
    )


def _cases(race: Mapping[str, Any]) -> int:
    cases = race.get("cases")
    return min(cases, MAX_CASES) if _is_count(cases) else 0


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31


def _row(record: Mapping[str, Any]) -> _Row | None:
    table, number = record.get("table_number"), record.get("case_number")
    return None if table is None or number is None else (table, number)


def _key(record: Mapping[str, Any]) -> Key | None:
    case_id, repetition = record.get("case_id"), record.get("repetition")
    if case_id is None or repetition is None:
        return None
    return case_id, -repetition if record.get("warmup") else repetition


def _with_limits_of(folder: Path, rule: Race) -> Race:
    """Return a rule with the limits and the command of the search's latest attempt.

    Where there is no such file, or it is of another race, the rule stays as it is.
    """
    data = read_limited(folder / RACE_FILE)
    try:
        now = msgspec.json.decode(data or b"", type=Race)
    except msgspec.DecodeError:
        return rule
    if (now.of, now.region, now.higher) != (rule.of, rule.region, rule.higher):
        return rule
    time_budget_s, runs = _limits(now.time_budget_s, now.runs)
    return replace(
        rule, time_budget_s=time_budget_s, runs=runs, resumed_by=one_line(now.resumed_by, None)
    )


def _limits(within: object, runs: object) -> tuple[float | None, int | str | None]:
    seconds = number_or_nan(within)
    time_budget_s = seconds if 0 < seconds < math.inf else None
    if runs == ANY and time_budget_s is not None:
        return time_budget_s, ANY
    return time_budget_s, runs if _is_count(runs) else None
