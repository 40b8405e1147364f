"""One attempt at a study on a machine: from the plan to the records of a results folder."""

from __future__ import annotations

import datetime
import os
from contextlib import AbstractContextManager, ExitStack
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pinstudy.base import PINSTUDY
from pinstudy.base.command import without_interruption
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import write_atomically, write_json
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import as_typed, first_of
from pinstudy.configs.library import study_argument
from pinstudy.configs.results_folder import APPS, C2C, RACE_FILE, STUDY_FILE
from pinstudy.configs.study import Study
from pinstudy.runners.execution.collectors import Collectors, LocalEngine, launchers_of
from pinstudy.runners.host.interference import end_orphans
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.host.privileges import invoking_uid
from pinstudy.runners.host.processes import inherited_priority
from pinstudy.runners.host.software import (
    WITNESS,
    find_emulated_program,
    find_program,
    for_guests,
    for_programs,
)
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.node import save_node
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.prove.proof import keep, keep_for_node, latest_proof
from pinstudy.runners.records.instruments import path_beside
from pinstudy.runners.records.reader import sizes_of
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.study.agenda import repetition_rule
from pinstudy.runners.study.continuity import Preflight
from pinstudy.runners.study.crash_notice import attempt_marker, describe_crashes
from pinstudy.runners.study.extras import ContendedLines, measure_once_a_boot
from pinstudy.runners.study.machine import WHOLE_STUDY, Assignment, Machine, results_folder
from pinstudy.runners.study.remedy import LEFT_OUT, no_race
from pinstudy.runners.study.runner import Engine, NodeControl, Progress, Runner

_MAX_REASONS = 3


class NothingRunsError(StudyError):
    """No run can be made here; `has_results` is whether earlier ones are there."""

    def __init__(self, reason: str, has_results: bool) -> None:
        super().__init__(reason)
        self.has_results = has_results


class Session:
    """One attempt at a study: what it runs and where it writes.

    `aside` is the folder to which `fresh` moved earlier results. `crashes` has a line for each
    earlier attempt that did not end well. `restore_problem` says, after the runs, which
    settings could not be put back; empty when all were.
    """

    def __init__(
        self,
        machine: Machine,
        study: Study,
        results: Path,
        fresh: bool,
        allow_emulation: bool = False,
        assignment: Assignment = WHOLE_STUDY,
    ) -> None:
        """Read the plan and earlier results; nothing is run yet.

        `fresh` moves earlier results aside. `allow_emulation` accepts guests whose times are not
        this node's. Each of several workers has its own `assignment`. Raises UserError when earlier
        results do not fit or guests cannot run, NothingRunsError when nothing can run here, and
        StoppedError when results cannot be moved because another study runs on the node.
        """
        if not machine.live:
            root = machine.node.root
            raise UserError(
                f"--sysroot {root}: a recorded node runs nothing; see what it would run with "
                f"`{PINSTUDY} plan {as_typed(study.path)} --sysroot {as_typed(root)}`"
            )
        if machine.emulates(study) and not allow_emulation:
            raise UserError(
                "guests would be emulated here, instruction by instruction: "
                f"{machine.without_kvm}. Their times say nothing of this node; to try it all the "
                "same add --allow-emulation"
            )
        self.machine, self.assignment = machine, assignment
        self.folder = assignment.folder or results_folder(results, study, machine.node)
        records = self.folder / "records"
        # The shards with the lengths that they had when they were read.
        self._sizes_read = {} if fresh else sizes_of(records)
        self.summary = machine.summary(study, results, assignment, fresh)
        plan = self.summary.plan
        if problem := self._problem():
            raise NothingRunsError(problem, has_results=bool(self._sizes_read))
        _check_root(plan)
        self.crashes = [] if fresh else describe_crashes(records, machine.node, self.summary)
        self.aside: Path | None = None
        self.restore_problem = ""
        if fresh:
            # A study that runs here would lose the folder of its next record.
            with self._node_lock():
                self.aside = set_aside(self.folder)

    @property
    def _is_worker(self) -> bool:
        return self.assignment.folder is not None

    def _problem(self) -> str:
        """Return why no run can be made here; empty where runs can."""
        machine, plan = self.machine, self.summary.plan
        reasons = [item.reason for item in plan.skipped]
        if plan.cases:
            if plan.study.race and (problem := no_race(plan)):
                return problem
            # Workers report each case; whoever continues a study has its results to show.
            if self._is_worker or self.summary.done or machine.startable(plan):
                return ""
            reasons = machine.waiting_reasons(plan)
        why = first_of(list(dict.fromkeys(reasons)), _MAX_REASONS) or LEFT_OUT
        return f"nothing of study {plan.study.name} can run here: {why}"

    def run(self, progress: Progress) -> None:
        """Make every pending run; each is recorded before the next one starts.

        Contended cache lines are sampled after the runs. Raises StudyError when another study runs
        on the node, or when processes that a killed study left behind cannot be ended.
        """
        lines = ContendedLines(self.summary.plan, self.machine.node, self.folder / C2C)
        if not (self.summary.left or lines.pending):
            if self.summary.study.race:
                # A lower limit may have ended the race; no record shows it.
                self._keep_study()
            return
        node = self.machine.node
        with self._node_lock(), ExitStack() as at_end:
            for line in end_orphans():
                progress.warned(line)
            settings = self.machine.settings()
            plan = self.summary.plan
            control = NodeControl(
                plan, self.machine, settings, Preflight(node, plan.asked_settings)
            )
            at_end.callback(self._restore, settings)
            if self.summary.left:
                self._run(progress, control, at_end)
            lines.make(self._witness(), control, self.assignment.may_start, progress)

    def raise_if_failed(self) -> None:
        """Raise StudyError when settings stay changed, or the study has not a single good run."""
        if self.restore_problem:
            raise StudyError(self.restore_problem)
        if not self.summary.history.times:
            raise StudyError(
                f"no run of study {self.summary.study.name} was good; {self.folder / 'records'} "
                "has the reason of each"
            )

    def _node_lock(self) -> AbstractContextManager[None]:
        assignment = self.assignment
        return node_lock(self.machine.node.root, assignment.wait_for_node_s, assignment.waiting)

    def _run(self, progress: Progress, control: NodeControl, at_end: ExitStack) -> None:
        study, node, assignment = self.summary.study, self.machine.node, self.assignment
        records = self.folder / "records"
        shard = Shard(
            *(records, node.node_id, assignment.attempt, assignment.fenced),
            option=assignment.folder_option,
        )
        # A stop before it is known who removes the marker would pass for a kill.
        with without_interruption():
            at_end.enter_context(attempt_marker(shard.path, node.node_id, Tree(node.root)))
        engine: Engine | None = None
        try:
            self._catch_up()
            programs = self.machine.programs_of(self.summary.plan)
            environment = self.machine.environment_of(self.summary.plan)
            control.plan, control.programs = self.summary.plan, programs
            control.environment, control.folder = environment, self.folder
            control.earlier = deepcopy(self.summary.history.settings)
            programs.check_earlier(self.folder, self.summary.history.programs)
            self._keep_study()
            save_node(self.folder, node)
            self._keep_proof(progress)
            programs.keep(self.folder)
            environment.keep(self.folder)
            if study.latency:
                measure_once_a_boot(node, study.latency, self.folder, progress)
            plan = self.summary.plan
            launchers = {name for case in plan.cases for name in launchers_of(case)}
            tools = self.machine.tools_of(study)
            # Each is asked for its version.
            used = {name: path for name, path in tools.items() if name in launchers}
            site = self.machine.site
            collectors = Collectors(study, node, self._witness(), plan.programs, used, site)
            engine = self._engine(collectors, shard.attempt)
            Runner(
                self.summary.agenda,
                shard,
                self._origin(shard.attempt),
                control,
                engine,
                collectors,
                assignment.may_start,
                progress,
            ).run()
        finally:
            if engine:
                engine.close()
            shard.close()

    def _keep_proof(self, progress: Progress) -> None:
        """Keep what was last found of the node's instruments; test them if the study asks for it.

        They are tested once a boot. What keeps them from it is told, and the study goes on.
        """
        node = self.machine.node
        proof = latest_proof(node)
        if self.summary.study.prove and (proof is None or proof.boot_id != node.boot_id):
            # Few studies ask for it.
            from pinstudy.runners.prove.prove import prove

            try:
                proof = prove(node, self.machine.site, True, progress.waiting)
                keep_for_node(proof, node.root)
            except StudyError as error:
                progress.warned(f"the instruments are not tested: {error}")
            if proof and proof.off:
                progress.warned(f"instruments that are off: {proof.names_off}")
        if proof:
            keep(proof, path_beside(self.folder, node.digest))

    def _catch_up(self) -> None:
        """Read the records that another attempt wrote before this one's shard fenced it."""
        if sizes_of(self.folder / "records") != self._sizes_read:
            assignment = replace(self.assignment, folder=self.folder)
            self.summary = self.machine.summary(self.summary.study, self.folder, assignment)

    def _restore(self, settings: NodeSettings) -> None:
        done = settings.restore()
        if done and done.message:
            self.restore_problem = done.message

    def _origin(self, attempt: int) -> dict[str, Any]:
        """Return the fields that all records of an attempt share."""
        study, node = self.summary.study, self.machine.node
        fields = {
            "schema": SCHEMA,
            "study": study.name,
            "study_digest": study.digest,
            "seed": study.seed,
            "node_id": node.node_id,
            "node_digest": node.digest,
            "boot_id": node.boot_id,
            "attempt": attempt,
            "kinds_declared": any(kind.declared for kind in node.topology.kinds),
        }
        optional = {
            # `virtual` for a test's model.
            "node": node.facts.get("node"),
            "repetition_rule": repetition_rule(self.summary.plan),
            "pool": self.assignment.pool,
            "submission": self.assignment.submission,
            "program_uid": invoking_uid(),
            "priority": inherited_priority(),
            # Not of workers: `pinstudy run` does not continue what a batch system runs.
            "study_file": None if study.spread or self._is_worker else study_argument(study),
        }
        return fields | {name: value for name, value in optional.items() if value}

    def _engine(self, collectors: Collectors, attempt: int) -> Engine:
        study = self.summary.study
        if study.vm is None:
            return LocalEngine(collectors)
        from pinstudy.runners.vm.engine import VmEngine

        consoles = self.folder / "consoles"
        return VmEngine(study.vm, self.machine.without_kvm, collectors, consoles, attempt)

    def _witness(self) -> Path:
        emulated = self.machine.emulates(self.summary.study)
        witness = find_emulated_program(WITNESS) if emulated else find_program(WITNESS)
        if witness is None:
            remedy = for_guests() if emulated else for_programs()
            raise StudyError(f"{WITNESS} is not built; {remedy.sentence}")
        return witness

    def _keep_study(self) -> None:
        """Write the study file and its apps beside the records, as they were read; and its race."""
        study = self.summary.study
        if study.race:
            write_json(self.folder / RACE_FILE, asdict(study.race))
        write_atomically(self.folder / STUDY_FILE, study.source)
        for app in study.all_apps.values():
            write_atomically(self.folder / APPS / f"{app.name}.yaml", app.source)


def _check_root(plan: Plan) -> None:
    """Raise UserError when root started a study with programs that are not started for root."""
    for case in plan.cases if os.geteuid() == 0 else ():
        if problem := case.engine.starting_problem(case, os.environ):
            raise UserError(f"{plan.study.path}: {problem}")


def set_aside(folder: Path) -> Path | None:
    """Rename a results folder so that a fresh one can take its place; return its new name."""
    if not folder.exists():
        return None
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%S")
    aside = folder.with_name(f"{folder.name}.{stamp}")
    number = 0
    while aside.exists():
        number += 1
        aside = folder.with_name(f"{folder.name}.{stamp}-{number}")
    with OpenFolder(folder.parent) as parent:
        parent.rename(folder.name, aside.name)
    return aside
