"""A study on its way: the loop that makes the runs which are left, and records each.

Everything known about progress is in the records themselves; a second start reads them and makes
what is missing, in the order that the seed gave from the beginning.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from base.errors import StoppedError, StudyError
from base.reading import Reading
from base.shortage import ShortageError
from base.units import duration, utc_now
from runners.execution.execute import Observation
from runners.execution.shutdown import execute_unless_shutting_down
from runners.execution.witness import LaunchError
from runners.measure.conditions.cooldown import Gate
from runners.measure.conditions.suspend import ClockWatch
from runners.measure.energy.idle import Baselines
from runners.plan.case import Case, LeftOut
from runners.plan.command_line import Launch
from runners.plan.order import PlannedRun
from runners.plan.plan import Plan
from runners.race.state import Eliminated
from runners.records.shard import Shard
from runners.records.status import FAILED, INTERRUPTED, SUSPENDED
from runners.study.course import pending_runs
from runners.study.history import History
from runners.study.outlook import RemainingWork
from runners.study.programs import ProgramChangedError
from runners.study.record import (
    Origin,
    baseline_record,
    left_out_record,
    run_record,
    unfinished_record,
)


class Progress(Protocol):
    """What a user is told while a study runs."""

    def starting(self, case: Case, planned: PlannedRun, left_s: float | None) -> None:
        """A run is about to start; `left_s` is the expected time of all that is left.

        Where a precision is asked for, it is the time that is left at most.
        """

    def finished(self, record: Mapping[str, Any]) -> None:
        """A run's record is on the disk."""

    def skipped(self, case: Case, reason: str) -> None:
        """A run is not made, because its case cannot run now, for this reason."""

    def ended(self, case: Case, saved: int) -> None:
        """A case makes no more runs, `saved` fewer than at most: it is known precisely enough."""

    def ruled_out(self, case: Case, out: Eliminated) -> None:
        """A case that races makes no more runs, for this reason."""

    def waiting(self, reason: str) -> None:
        """The next run is put off, for this reason."""

    def warned(self, warning: str) -> None:
        """Something about the node will disturb the runs that follow."""


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


@dataclass(frozen=True)
class Bench:
    """What the loop needs from an engine: how to settle, launch, run and measure a case.

    `execute` carries a launch through once; its LaunchError is a failed run. `settle` puts the
    case's governor in force, or returns why the case cannot be run now; `may_start` raises
    StoppedError when no further run of so many seconds must start; `state` reads what is in force;
    `idle` measures the node without a program under the case's governor, when `baselines` says
    that it is due. `gate` is what a run waits for, `warnings` are lines that a user should see
    before the first one, `clocks` notices that the node's clock is set or the node sleeps.
    `limited` gives the case with the time that one of its runs may take. `program` says of which
    program a case's run is, and raises ProgramChangedError when that is another than before.
    """

    launch: Callable[[Case], Launch]
    execute: Callable[[Case, Launch], Observation]
    collect: Callable[[Case, Observation], list[Reading]]
    settle: Callable[[Case], str | None]
    may_start: Callable[[float | None], None]
    state: Callable[[Case], Reading]
    idle: Callable[[Case], list[Reading]]
    baselines: Baselines
    gate: Gate | None = None
    warnings: tuple[str, ...] = ()
    clocks: ClockWatch = field(default_factory=ClockWatch)
    limited: Callable[[Case, PlannedRun], Case] = lambda case, _: case
    program: Callable[[Case], Reading] = lambda _: Reading()


def run_study(
    plan: Plan, history: History, shard: Shard, origin: Origin, bench: Bench, progress: Progress
) -> None:
    """Make every run that is left; returns when all are recorded.

    A launcher that refuses is one failed run. Raises StudyError when a record cannot be written or
    the host is short of what a run needs, StoppedError when no further run must start.
    KeyboardInterrupt passes through after the run in flight was recorded as interrupted.
    """
    _record_left_out(plan.left_out, history, shard, origin)
    for warning in bench.warnings:
        progress.warned(warning)
    cases = {case.case_id: case for case in plan.cases}
    outlook = RemainingWork(plan, history)

    def ended(case_id: str) -> None:
        saved = outlook.ended(case_id)
        if saved:
            progress.ended(cases[case_id], saved)

    def ruled_out(out: Eliminated) -> None:
        progress.ruled_out(cases[out.case_id], out)

    for planned in pending_runs(plan, history, ended, ruled_out):
        case = cases[planned.case_id]
        outlook.begins(planned)
        bench.may_start(outlook.one_s(planned.case_id))
        problem = bench.settle(case)
        if problem is not None:
            _record_left_out([LeftOut.of(case, problem)], history, shard, origin)
            history.skipped.add(planned.key)
            progress.skipped(case, problem)
        else:
            # A hot package leaks: its idle power would be taken for too much.
            waited = _wait(bench.gate, history, progress)
            _measure_idle(planned, case, shard, origin, bench, progress)
            left_s, idle_s = outlook.left_s, bench.baselines.left_s(outlook.under)
            progress.starting(case, planned, None if left_s is None else left_s + idle_s)
            _look_at_clocks(bench, progress)
            limited = bench.limited(case, planned)
            record = _one_run(planned, limited, shard, origin, bench, waited, history.known_with)
            history.add(record)
            progress.finished(record)
            bench.baselines.run_made(case.governor)
        outlook.made(planned)
    _look_at_clocks(bench, progress)


def _look_at_clocks(bench: Bench, progress: Progress) -> None:
    for line in bench.clocks.look():
        progress.warned(line)


def _measure_idle(
    before: PlannedRun, case: Case, shard: Shard, origin: Origin, bench: Bench, progress: Progress
) -> None:
    """Record the idle power under the case's governor, which is in force, if it is due."""
    due_s = bench.baselines.due_s(case.governor)
    if due_s is None:
        return
    progress.waiting(f"idle baseline, {duration(due_s)}, governor {case.governor}")
    started_at = utc_now("milliseconds")
    collected = [bench.state(case), *bench.idle(case)]
    shard.append(baseline_record(origin, before, case, started_at, due_s, collected))


def _wait(gate: Gate | None, history: History, progress: Progress) -> Reading:
    if gate is None:
        return Reading()
    gate.resume(history.temperature_reference_c)
    return gate.wait(progress.waiting)


def _one_run(
    planned: PlannedRun,
    case: Case,
    shard: Shard,
    origin: Origin,
    bench: Bench,
    waited: Reading,
    known: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    started_at = utc_now("milliseconds")
    launch, program = bench.launch(case), bench.program(case)

    def unfinished(status: str, reason: str) -> dict[str, Any]:
        record = unfinished_record(origin, planned, case, started_at, status, reason)
        record |= program.fields
        shard.append(record)
        return record

    before = bench.state(case)
    began = bench.clocks.now()
    try:
        seen = execute_unless_shutting_down(lambda: bench.execute(case, launch), bench.may_start)
        if slept_s := bench.clocks.now().slept_since(began):
            reason = f"the node slept for {duration(slept_s)} meanwhile"
            seen = replace(seen, objection=seen.objection or (SUSPENDED, reason))
        collected = [waited, bench.clocks.measured(), program, *bench.collect(case, seen)]
        after = bench.state(case)
        # A run during which its program changed may be of either.
        bench.program(case)
    except (KeyboardInterrupt, StoppedError):
        unfinished(INTERRUPTED, "stopped by the user or a signal while it ran")
        raise
    except ShortageError as error:
        unfinished(INTERRUPTED, error.problem)
        raise
    except ProgramChangedError as error:
        unfinished(INTERRUPTED, str(error))
        raise
    except LaunchError as error:
        return unfinished(FAILED, str(error))
    states = (before, after)
    record = run_record(origin, planned, case, launch, seen, started_at, states, collected)
    record |= known(record)
    shard.append(record)
    return record


def _record_left_out(
    left_out: Iterable[LeftOut], history: History, shard: Shard, origin: Origin
) -> None:
    for order, item in enumerate(left_out):
        if (item.case_id, item.reason) not in history.left_out:
            record = left_out_record(origin, item, order)
            shard.append(record)
            history.add(record)
