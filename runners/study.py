"""A study on its way: what is done, what is left, and the loop that does it.

Everything known about progress is in the records themselves; a second start reads them and makes
what is missing, in the order that the seed gave from the beginning.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from configs.errors import StudyError, UserError
from configs.model import Study
from runners.baseline import Baselines
from runners.case import Case, LeftOut
from runners.execute import Observation
from runners.forecast import Forecast, duration
from runners.launch import Launch
from runners.measured import Measured
from runners.order import PlannedRun, plan_groups
from runners.plan import Plan
from runners.record import (
    Origin,
    baseline_record,
    left_out_record,
    run_record,
    unfinished_record,
)
from runners.shards import Shard, read_records
from runners.statuses import FAILED, FINAL, INTERRUPTED, LEFT_OUT, OK
from runners.temperature_gate import Gate, recorded_reference_c
from runners.witness_process import LaunchError


class Progress(Protocol):
    """What a user is told while a study runs."""

    def starting(self, case: Case, planned: PlannedRun, left_s: float | None) -> None:
        """A run is about to start; `left_s` is the expected time of all that is left."""

    def finished(self, record: Mapping[str, Any]) -> None:
        """A run's record is on the disk."""

    def skipped(self, case: Case, reason: str) -> None:
        """A run is not made, because its case cannot run now, for this reason."""

    def waiting(self, reason: str) -> None:
        """The next run is put off, for this reason."""

    def warned(self, warning: str) -> None:
        """Something about the node will disturb the runs that follow."""


@dataclass
class History:
    """What was recorded so far: finished runs by key, and each case's good runs and seconds."""

    done: set[tuple[str, bool, int]] = field(default_factory=set)
    times: dict[str, tuple[int, float]] = field(default_factory=dict)
    left_out: set[tuple[str, str]] = field(default_factory=set)
    temperature_reference_c: dict[str, float] | None = None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one record into account; an interrupted run stays to be made."""
        status, case_id = record.get("status"), str(record.get("case_id"))
        repetition, elapsed_s = record.get("repetition"), record.get("elapsed_s")
        if self.temperature_reference_c is None:
            self.temperature_reference_c = recorded_reference_c(record)
        if status == LEFT_OUT:
            self.left_out.add((case_id, str(record.get("reason"))))
        elif status in FINAL and isinstance(repetition, int):
            self.done.add((case_id, bool(record.get("warmup")), repetition))
            if status == OK and isinstance(elapsed_s, float):
                count, total_s = self.times.get(case_id, (0, 0.0))
                self.times[case_id] = (count + 1, total_s + elapsed_s)

    def mean_s(self, case_id: str) -> float | None:
        """Return the mean seconds of a case's good runs, or None when there is none."""
        count, total_s = self.times.get(case_id, (0, 0.0))
        return total_s / count if count else None


def read_history(folder: Path, study: Study, node_digest: str) -> History:
    """Return what a results folder already holds of this study.

    Raises UserError when it was made by another version of the study or on a changed node: such
    runs must not be mixed.
    """
    history = History()
    advice = "start anew with --fresh (what was measured is kept beside it)"
    for record in read_records(folder / "records"):
        if record.get("study_digest") != study.digest:
            raise UserError(
                f"{folder}: holds runs of another version of study {study.name} "
                f"({study.path} has changed since); {advice}"
            )
        if record.get("node_digest") != node_digest:
            raise UserError(
                f"{folder}: the node has changed since this study began there (kernel, core "
                f"kinds, firmware or settings: compare the files in {folder / 'nodes'}); {advice}"
            )
        history.add(record)
    return history


def set_aside(folder: Path) -> Path | None:
    """Rename a results folder so that a fresh one can take its place; return its new name."""
    if not folder.exists():
        return None
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%S")
    for number in range(1000):
        aside = folder.with_name(f"{folder.name}.{stamp}" + (f"-{number}" if number else ""))
        if not aside.exists():
            folder.rename(aside)
            return aside
    raise StudyError(f"{folder}: cannot be set aside; rename it by hand")


def runs_of(plan: Plan) -> list[PlannedRun]:
    """Return every run of the plan's cases, in order."""
    study = plan.study
    boots: dict[str, list[str]] = {}
    for case in plan.cases:
        boots.setdefault(case.vcpus.mapping.name if case.vcpus else "", []).append(case.case_id)
    return plan_groups(boots, study.repetitions, study.warmup, study.order, study.seed)


def runs_left(plan: Plan, history: History) -> list[PlannedRun]:
    """Return the runs that are still to be made, in order."""
    return [planned for planned in runs_of(plan) if planned.key not in history.done]


def forecast(plan: Plan, left: Iterable[PlannedRun], history: History) -> Forecast:
    """Return the forecast for these runs from the history's times and the apps' own hints."""
    means = {case.case_id: history.mean_s(case.case_id) for case in plan.cases}
    measured = {case_id: mean for case_id, mean in means.items() if mean is not None}
    return Forecast(plan.cases, (planned.case_id for planned in left), measured)


@dataclass(frozen=True)
class Bench:
    """What the loop needs from an engine: how to settle, launch, run and measure a case.

    `execute` carries a launch through once; its LaunchError is a failed run. `settle` puts the
    case's governor in force, or returns why it cannot be; `state` reads what is in force; `idle`
    measures the node without a program under the case's governor, when `baselines` says that it is
    due. `gate` is what a run waits for, `warnings` are lines that a
    user should see before the first one.
    """

    launch: Callable[[Case], Launch]
    execute: Callable[[Case, Launch], Observation]
    collect: Callable[[Case, Observation], list[Measured]]
    settle: Callable[[Case], str | None]
    state: Callable[[Case], Measured]
    idle: Callable[[Case], list[Measured]]
    baselines: Baselines
    gate: Gate | None = None
    warnings: tuple[str, ...] = ()


def run_study(
    plan: Plan, history: History, shard: Shard, origin: Origin, bench: Bench, progress: Progress
) -> None:
    """Make every run that is left; returns when all are recorded.

    A launcher that refuses is one failed run. Raises StudyError when a record cannot be written.
    KeyboardInterrupt passes through after the run in flight was recorded as interrupted.
    """
    _record_left_out(plan.left_out, history, shard, origin)
    for warning in bench.warnings:
        progress.warned(warning)
    cases = {case.case_id: case for case in plan.cases}
    left = runs_left(plan, history)
    ahead = forecast(plan, left, history)
    under = Counter(cases[planned.case_id].governor for planned in left)
    for planned in left:
        case = cases[planned.case_id]
        problem = bench.settle(case)
        if problem is not None:
            _record_left_out([LeftOut.of(case, problem)], history, shard, origin)
            progress.skipped(case, problem)
        else:
            # A hot package leaks: its idle power would be taken for too much.
            waited = _wait(bench.gate, history, progress)
            _measure_idle(planned, case, shard, origin, bench, progress)
            idle_s = bench.baselines.left_s(under)
            progress.starting(
                case, planned, None if ahead.left_s is None else ahead.left_s + idle_s
            )
            record = _one_run(planned, case, shard, origin, bench, waited)
            history.add(record)
            progress.finished(record)
            bench.baselines.run_made(case.governor)
        under[case.governor] -= 1
        ahead.made(planned.case_id, history.mean_s(planned.case_id))


def _measure_idle(
    before: PlannedRun, case: Case, shard: Shard, origin: Origin, bench: Bench, progress: Progress
) -> None:
    """Record the idle power under the case's governor, which is in force, if it is due."""
    due_s = bench.baselines.due_s(case.governor)
    if due_s is None:
        return
    progress.waiting(f"idle baseline, {duration(due_s)}, governor {case.governor}")
    started_at = _now()
    collected = [bench.state(case), *bench.idle(case)]
    shard.append(baseline_record(origin, before, case, started_at, due_s, collected))


def _wait(gate: Gate | None, history: History, progress: Progress) -> Measured:
    if gate is None:
        return Measured()
    gate.resume(history.temperature_reference_c)
    return gate.wait(progress.waiting)


def _one_run(
    planned: PlannedRun,
    case: Case,
    shard: Shard,
    origin: Origin,
    bench: Bench,
    waited: Measured,
) -> dict[str, Any]:
    started_at = _now()
    launch = bench.launch(case)
    before = bench.state(case)
    try:
        seen = bench.execute(case, launch)
        collected = [waited, *bench.collect(case, seen)]
        after = bench.state(case)
    except KeyboardInterrupt:
        reason = "stopped by the user or a signal while it ran"
        shard.append(unfinished_record(origin, planned, case, started_at, INTERRUPTED, reason))
        raise
    except LaunchError as error:
        record = unfinished_record(origin, planned, case, started_at, FAILED, str(error))
        shard.append(record)
        return record
    states = (before, after)
    record = run_record(origin, planned, case, launch, seen, started_at, states, collected)
    shard.append(record)
    return record


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def _record_left_out(
    left_out: Iterable[LeftOut], history: History, shard: Shard, origin: Origin
) -> None:
    for order, item in enumerate(left_out):
        if (item.case_id, item.reason) not in history.left_out:
            record = left_out_record(origin, item, order)
            shard.append(record)
            history.add(record)
