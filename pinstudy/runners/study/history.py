"""The history of a study, read from its records: the only state that a resume uses."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import shown
from pinstudy.configs.overrides import kept_options
from pinstudy.configs.repetitions import Race
from pinstudy.configs.results_folder import STUDY_FILE
from pinstudy.configs.study import Study
from pinstudy.runners.plan.runs import RunKey
from pinstudy.runners.records.energy import SCOPES
from pinstudy.runners.records.kept_facts import what_changed
from pinstudy.runners.records.line import InvalidLine
from pinstudy.runners.records.race.race import took
from pinstudy.runners.records.race_state import OVERHEAD_S, RaceRun, race_fields, race_run
from pinstudy.runners.records.reader import Line, read_lines, shards_of
from pinstudy.runners.records.status import FINAL, OK, SKIPPED
from pinstudy.runners.study.continuity import EarlierSettings


@dataclass
class ShardLines:
    """How many runs a shard has, and how many lines that are no records."""

    runs: int = 0
    torn: int = 0

    def add(self, line: Line) -> None:
        """Count a line."""
        if isinstance(line, InvalidLine):
            self.torn += 1
        else:
            self.runs += line.get("status") in FINAL


@dataclass
class History:
    """What was recorded so far: finished runs by key, and each case's good runs and seconds.

    `good` has the numbers by which good runs are compared, by case and repetition, without warm-up
    runs: times, energies, and metrics of programs that run for a given time. `race_runs` has the
    runs of a `race` by case and repetition, where warm-up runs count from -1 downwards. Of a race
    and of a study that goes on until its comparisons are decided, all runs may take `limit_s`, None
    without a limit, and took `spent_s`. `skipped` are the runs that cannot be made in this attempt.
    `repeated` are the repetitions in which `--undecided` made runs of some cases alone.
    `programs` and `environments` have the digests of the programs that each case ran, and of the
    variables that they inherited, `settings` those in force in its good runs; `meters` are those
    that told the energy of any run. `shards` are by their files' names.
    """

    done: set[RunKey] = field(default_factory=set)
    good: dict[str, dict[int, Mapping[str, Any]]] = field(default_factory=dict)
    skipped: set[RunKey] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    times: dict[str, tuple[int, float]] = field(default_factory=dict)
    skipped_cases: set[tuple[str, str]] = field(default_factory=set)
    temperature_reference_c: dict[str, float] | None = None
    race: Race | None = None
    race_runs: dict[tuple[str, int], RaceRun] = field(default_factory=dict)
    limit_s: float | None = None
    spent_s: float = 0.0
    programs: dict[str, set[str]] = field(default_factory=dict)
    environments: dict[str, set[str]] = field(default_factory=dict)
    settings: EarlierSettings = field(default_factory=EarlierSettings)
    meters: set[str] = field(default_factory=set)
    shards: dict[str, ShardLines] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> History:
        """Return the history of a study of which nothing was recorded yet."""
        rule = study.race or study.decide
        return cls(race=study.race, limit_s=rule.time_budget_s if rule else None)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one record; an interrupted run is still pending."""
        status, case_id = record.get("status"), record.get("case_id", "")
        if program := record.get("program_digest"):
            self.programs.setdefault(case_id, set()).add(program)
        if environment := record.get("environment_digest"):
            self.environments.setdefault(case_id, set()).add(environment)
        if meter := record.get("energy_source"):
            self.meters.add(meter)
        self.temperature_reference_c = self.temperature_reference_c or record.get(
            "temperature_reference_c"
        )
        if status == SKIPPED:
            self.skipped_cases.add((case_id, record.get("reason", "")))
        elif status in FINAL:
            key = (case_id, bool(record.get("warmup")), record["repetition"])
            # The first of several records of one run counts, as in the analysis.
            if key not in self.done:
                self._add_run(key, record)
                self.done.add(key)
                if "undecided" in (record.get("repetition_rule") or {}):
                    self.repeated.add(record["repetition"])

    def _add_run(self, key: RunKey, record: Mapping[str, Any]) -> None:
        case_id, warmup, repetition = key
        status, elapsed_s = record["status"], record.get("elapsed_s")
        if status == OK and not warmup:
            self.good.setdefault(case_id, {})[repetition] = _compared(record)
            self.settings.add(case_id, record)
        if self.race:
            of_race = (case_id, -repetition if warmup else repetition)
            run = self.race_runs[of_race] = race_run(record, self.race)
            self.spent_s += took(run)
        else:
            self.spent_s += OVERHEAD_S + (elapsed_s or 0.0)
        if status == OK and elapsed_s is not None:
            count, total_s = self.times.get(case_id, (0, 0.0))
            self.times[case_id] = (count + 1, total_s + elapsed_s)

    @property
    def last_repetition(self) -> int:
        """The last repetition that any case made, whatever became of it; 0 before the first."""
        return max((number for _, is_warmup, number in self.done if not is_warmup), default=0)

    def mean_s(self, case_id: str) -> float | None:
        """Return the mean seconds of a case's good runs, or None when there is none."""
        count, total_s = self.times.get(case_id, (0, 0.0))
        return total_s / count if count else None

    def within_limit_s(self, seconds: float | None) -> float | None:
        """Return `seconds`, but at most the time that is left."""
        if self.limit_s is None:
            return seconds
        left_s = max(0.0, self.limit_s - self.spent_s)
        return left_s if seconds is None else min(seconds, left_s)

    def add_new(self, record: dict[str, Any], took_s: float | None = None) -> None:
        """Add the record of a new run, and to it, in a race, what rates the run.

        `took_s` is its seconds with all that was done before and after it.
        """
        if self.race:
            record |= race_fields(record, self.race, took_s)
        self.add(record)


def _compared(record: Mapping[str, Any]) -> dict[str, Any]:
    metrics = ("metrics",) if record.get("fixed_time") else ()
    names = ("elapsed_s", *SCOPES.values(), *metrics)
    return {name: record[name] for name in names if record.get(name) is not None}


def read_history(
    folder: Path,
    study: Study,
    node_digest: str,
    node_id: str = "",
    pool: str = "",
    facts: Mapping[str, Any] | None = None,
) -> History:
    """Return the history of this study in a results folder.

    In the folder of a `pool` of interchangeable nodes, only the warm-up runs of `node_id` count.
    Raises UserError for runs of another version of the study, or of a changed or different node:
    such runs must not be mixed. `facts`, those of this node, serve to say what differs.
    """
    history = History.of(study)
    advice = (
        "start anew with --fresh (what was measured is kept beside it), or, as jobs have to, in "
        "another folder with --results"
    )
    for record in _records(folder / "records", history.shards):
        if record.get("study_digest") != study.digest:
            if (name := record.get("study")) != study.name:
                raise UserError(
                    f"{folder}: holds runs of study {shown(name)}, not of {study.name!r}; name "
                    "another folder"
                )
            differs = _version_differs(folder, study, record.get("repetition_rule"))
            raise UserError(
                f"{folder}: holds runs of another version of study {study.name} ({differs}); "
                f"{advice}"
            )
        if record.get("node_digest") != node_digest:
            differs = what_changed(folder, facts or {}, record)
            if pool:
                raise UserError(
                    f"{folder}: node {node_id} is not like {shown(record.get('node_id'))}, which "
                    f"made runs there: {differs}; a study is divided over interchangeable nodes "
                    "only: choose them by a feature, or use --spread per-node"
                )
            raise UserError(
                f"{folder}: the node has changed since this study began there: {differs}; "
                f"continue when it is as it was, or {advice}"
            )
        if not (pool and record.get("warmup") and record.get("node_id") != node_id):
            history.add(record)
    return history


def _records(folder: Path, shards: dict[str, ShardLines]) -> Iterator[dict[str, Any]]:
    """Yield the records of a folder, and count the lines of its shards."""
    for path in shards_of(folder):
        counted = shards.setdefault(path.name, ShardLines())
        for line in read_lines(path):
            counted.add(line)
            if not isinstance(line, InvalidLine):
                yield line


def _version_differs(folder: Path, study: Study, rule: object) -> str:
    """Return how a study differs from the one that has runs in a results folder, by their rule."""
    if isinstance(rule, dict) and "race" in rule and study.race is None:
        return f"those of `{PINSTUDY} advise`, whose command continues them"
    before, now = kept_options(folder / STUDY_FILE), study.overrides.of_version
    if before == now:
        return f"{study.path} has changed since"
    options = [shlex.join(words) or "no options" for words in (before, now)]
    return f"run with {options[0]}, and now with {options[1]}"
