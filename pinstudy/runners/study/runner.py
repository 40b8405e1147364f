"""Makes the pending runs of a study, and records each.

The records alone hold the progress: a resume reads them and makes the missing runs, in the order
that the seed gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pinstudy.base.errors import ShortageError, StoppedError, StudyError
from pinstudy.base.files import write_atomically
from pinstudy.base.reading import Reading
from pinstudy.base.units import duration, utc_now
from pinstudy.configs.results_folder import TRACES
from pinstudy.runners.execution.collectors import Collectors
from pinstudy.runners.execution.execute import Observation, execute_unless_shutting_down
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.measure.conditions.surroundings import ClockWatch
from pinstudy.runners.node.cpufreq import is_cooled
from pinstudy.runners.node.node import read_state
from pinstudy.runners.plan.case import Case, SkippedCase
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.plan.runs import Forecast, PlannedRun, set_to
from pinstudy.runners.records.race_state import Eliminated
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.records.status import FAILED, INTERRUPTED, SUSPENDED
from pinstudy.runners.records.trace_file import SUFFIX, packed
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.study.agenda import Agenda, Listener
from pinstudy.runners.study.continuity import (
    EarlierSettings,
    Preflight,
    StudyEnvironment,
    StudyPrograms,
)
from pinstudy.runners.study.machine import Machine, other_settings
from pinstudy.runners.study.record import (
    Origin,
    idle_record,
    run_record,
    skipped_record,
    unfinished_record,
)


class Progress(Protocol):
    """Callbacks that show a user the progress of a study."""

    def starting(self, case: Case, planned: PlannedRun, left_s: float | None) -> None:
        """A run is about to start; `left_s` is the expected time of all pending runs.

        Where results decide how many runs there are, it is the time at most.
        """

    def finished(self, record: Mapping[str, Any]) -> None:
        """A run's record is on the disk."""

    def skipped(self, case: Case, reason: str) -> None:
        """A run is skipped, because its case cannot run now, for this reason."""

    def eliminated(self, out: Sequence[tuple[Case, Eliminated]]) -> None:
        """Cases go out of the race together, each for its reason."""

    def decided(self, repetitions: int) -> bool:
        """Return whether all comparisons are decided after so many repetitions of each case."""

    def out_of_time(self, repetitions: int) -> None:
        """The study ends after so many repetitions of each case, because its time is up."""

    def waiting(self, reason: str) -> None:
        """The next run has to wait, for this reason."""

    def warned(self, warning: str) -> None:
        """Something about the node will disturb the runs that follow."""


@dataclass
class NodeControl:
    """What is done on the node before and after the runs of a case.

    `programs` and `environment` are None for executions that are not runs. `earlier` are the
    settings of the runs in the results folder `folder` that other attempts made.
    """

    plan: Plan
    machine: Machine
    settings: NodeSettings
    preflight: Preflight
    programs: StudyPrograms | None = None
    environment: StudyEnvironment | None = None
    earlier: EarlierSettings = field(default_factory=EarlierSettings)
    folder: Path = Path()

    def launch(self, case: Case) -> Launch:
        """Return the case's launch line."""
        return self.machine.launch(self.plan, case)

    def settle(self, case: Case) -> str | None:
        """Put the case's settings in force, or return why the case cannot be run now.

        Raises UserError when others are not as in the case's runs of earlier attempts.
        """
        if problem := self.preflight.problem(case):
            return problem
        if problem := self.settings.apply(case.governor, case.settings, case.all_cpus):
            # A CPU that has just gone offline explains why settings cannot be put in force.
            return self.preflight.problem(case) or problem
        # Once a case: what changes while the attempt runs, changes for all cases alike.
        if case.case_id in self.earlier.by_case:
            state, cooled = self.state(case).fields, is_cooled(self.machine.node.tree)
            if differ := self.earlier.before_run(case, state, cooled=cooled):
                raise other_settings(self.folder, differ)
            del self.earlier.by_case[case.case_id]
        return None

    def state(self, case: Case) -> Reading:
        """Read the settings in force."""
        read_back = self.settings.read_back(case.governor, case.settings, case.all_cpus)
        state = read_state(self.machine.node, case.all_cpus)
        return state | read_back | self.settings.scheduler_state()

    def thrown_out(self) -> str:
        """Return why the kernel has thrown the case's scheduler out; empty if it has not."""
        return self.settings.schedulers.thrown_out()

    def program(self, case: Case) -> Reading:
        """Return the digests of a case's programs and of the variables that they inherit.

        Raises StudyError when a program has changed.
        """
        assert self.programs and self.environment
        found = self.programs.measured(case)
        found.fields["environment_digest"] = self.environment.digest(case)
        if case.co_runner:
            digest = self.programs.measured(case.co_runner).fields["program_digest"]
            found.fields["co_runner_program_digest"] = digest
        return found


class Engine(Protocol):
    """Makes the runs of cases: on this node itself, or in a guest on it."""

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Execute a launch once; raises LaunchError, which fails this run only."""

    def measured(self, case: Case, observed: Observation) -> list[Reading]:
        """Return what was measured around the latest run."""

    def close(self) -> None:
        """Leave nothing running."""


@dataclass
class Runner:
    """Makes the runs of an agenda one by one: each is recorded before the next one starts.

    `may_start` is that of an Assignment. `clocks` detects a clock that was set, and a node that was
    suspended.
    """

    agenda: Agenda
    shard: Shard
    origin: Origin
    node: NodeControl
    engine: Engine
    collectors: Collectors
    may_start: Callable[[float | None], None]
    progress: Progress
    clocks: ClockWatch = field(default_factory=ClockWatch)

    def run(self) -> None:
        """Make every pending run; return when all are recorded.

        A launcher that fails makes a failed run. Raises StudyError when a record cannot be written
        or the host is short of what a run needs, StoppedError when no further run must start.
        KeyboardInterrupt passes through after the run in flight was recorded as interrupted.
        """
        plan = self.agenda.plan
        self._record_skipped(plan.skipped)
        for warning in self.collectors.warnings:
            self.progress.warned(warning)
        cases = {case.case_id: case for case in plan.cases}
        ahead = self.agenda.forecast(self.agenda.pending())

        def eliminated(out: Sequence[Eliminated]) -> None:
            self.progress.eliminated([(cases[case.case_id], case) for case in out])

        def expected(left: list[PlannedRun]) -> None:
            nonlocal ahead
            ahead = self.agenda.forecast(left)

        shown = self.progress
        listener = Listener(eliminated, expected, shown.decided, shown.out_of_time)
        for planned in self.agenda.pending(listener):
            self._make_run(planned, cases[planned.case_id], ahead)
            ahead.count_run(planned.case_id, self.agenda.history.mean_s(planned.case_id))
        self._check_clocks()

    def _make_run(self, planned: PlannedRun, case: Case, ahead: Forecast) -> None:
        """Make a run, or record why it cannot be made now; `ahead` are the pending runs."""
        history = self.agenda.history
        began_s = time.monotonic()
        self.may_start(ahead.run_s(planned.case_id))
        if problem := self.node.settle(case):
            self._record_skipped([SkippedCase(case, problem)])
            history.skipped.add(planned.key)
            self.progress.skipped(case, problem)
            return
        # A hot package leaks, which would make its idle power too high.
        waited = self._wait_to_cool() | self.collectors.wait_for_power(self.progress.waiting)
        idle = self.collectors.idle_measurements
        self._measure_idle(planned, case)
        left_s = self.agenda.at_most_s(ahead)
        idle_s = idle.pending_s(ahead.runs_by_settings)
        self.progress.starting(case, planned, None if left_s is None else left_s + idle_s)
        self._check_clocks()
        record = self._execute(planned, self.agenda.limited(case, planned), waited, began_s)
        self.progress.finished(record)
        idle.count_run(set_to(case))

    def _check_clocks(self) -> None:
        for line in self.clocks.look():
            self.progress.warned(line)

    def _wait_to_cool(self) -> Reading:
        gate = self.collectors.gate
        if gate is None:
            return Reading()
        gate.resume(self.agenda.history.temperature_reference_c)
        return gate.wait(self.progress.waiting)

    def _measure_idle(self, before: PlannedRun, case: Case) -> None:
        """Record the idle power under the case's settings, which are in force, if it is due."""
        due_s = self.collectors.idle_measurements.due_s(set_to(case))
        if due_s is None:
            return
        under = ", ".join(filter(None, (f"governor {case.governor}", case.settings.words)))
        self.progress.waiting(f"idle measurement, {duration(due_s)}, {under}")
        started_at = utc_now("milliseconds")
        collected = [self.node.state(case), *self.collectors.idle(case)]
        self.shard.append(idle_record(self.origin, before, case, started_at, due_s, collected))

    def _execute(
        self, planned: PlannedRun, case: Case, waited: Reading, began_s: float
    ) -> dict[str, Any]:
        """Make a run, add its record to the history, write it to the disk and return it.

        `began_s` is when its preparation began, on the monotonic clock.
        """
        history = self.agenda.history
        started_at = utc_now("milliseconds")
        launch, program = self.node.launch(case), self.node.program(case)

        def unfinished(status: str, reason: str) -> dict[str, Any]:
            record = unfinished_record(self.origin, planned, case, started_at, status, reason)
            record |= program.fields
            self._keep_trace(record, case)
            history.add(record)
            self.shard.append(record)
            return record

        before = self.node.state(case)
        self.collectors.begin()
        began = self.clocks.now()
        try:
            observed = execute_unless_shutting_down(
                lambda: self.engine.execute(case, launch), self.may_start
            )
            if slept_s := self.clocks.now().slept_since(began):
                slept = (SUSPENDED, f"the node slept for {duration(slept_s)} meanwhile")
                observed = replace(observed, invalid_reason=observed.invalid_reason or slept)
            collected = [waited, self.clocks.measured(), program]
            collected += self.engine.measured(case, observed)
            after = self.node.state(case)
            thrown_out = self.node.thrown_out()
            # A program that changed during the run may have run as either version.
            self.node.program(case)
        except LaunchError as error:
            return unfinished(FAILED, str(error))
        except (KeyboardInterrupt, StudyError) as error:
            unfinished(INTERRUPTED, _interruption_reason(error))
            raise
        record = run_record(
            self.origin,
            planned,
            case,
            launch,
            observed,
            started_at,
            (before, after),
            collected,
            thrown_out,
        )
        self._keep_trace(record, case, observed.window_ns)
        history.add_new(record, time.monotonic() - began_s)
        self.shard.append(record)
        return record

    def _keep_trace(
        self, record: Mapping[str, Any], case: Case, window_ns: tuple[int, int] = (0, 0)
    ) -> None:
        """Write the looks at a run, if the study collects them.

        They are written before its record, so that no record waits for them in vain.
        """
        log = self.collectors.log
        if log is None:
            return
        run_id, kinds = record["run_id"], {kind.name: kind.cpus for kind in self.collectors.kinds}
        if file := log.file(run_id, case.label, record["started_at"], kinds, window_ns):
            write_atomically(self.node.folder / TRACES / f"{run_id}{SUFFIX}", packed(file))

    def _record_skipped(self, skipped: Iterable[SkippedCase]) -> None:
        history = self.agenda.history
        for order, item in enumerate(skipped):
            if (item.case_id, item.reason) not in history.skipped_cases:
                record = skipped_record(self.origin, item, order)
                self.shard.append(record)
                history.add(record)


def _interruption_reason(error: KeyboardInterrupt | StudyError) -> str:
    if isinstance(error, (KeyboardInterrupt, StoppedError)):
        return "stopped by the user or a signal while it ran"
    return error.problem if isinstance(error, ShortageError) else str(error)
