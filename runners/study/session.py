"""One attempt at a study at a workplace: from the plan to the records of a results folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from base.errors import StudyError, UserError
from base.files import write_atomically
from base.text import as_typed
from configs.library import study_argument
from configs.study import Study
from runners.execution.engine import Engine, LocalEngine, check_emulation
from runners.host.lock import NodeLock
from runners.host.orphans import end_orphans
from runners.host.privileges import invoking_uid
from runners.host.software import (
    WITNESS,
    find_emulated_program,
    find_program,
    for_guests,
    for_programs,
)
from runners.host.tree import Tree
from runners.node.lstopo import keep_picture, picture_path
from runners.node.state import read_state
from runners.records.reader import Part, parts_of
from runners.records.shard import Shard
from runners.settings.governor import Governors
from runners.settings.recovery import told_problems
from runners.study.assignment import ALL, Share
from runners.study.crash_notice import AttemptMarker, describe_crashes
from runners.study.loop import Bench, Progress, run_study, set_aside
from runners.study.machine import APPS, STUDY_FILE, Machine, results_folder
from runners.study.precision import repetition_rule
from runners.study.preflight import Fitting
from runners.study.programs import StudyPrograms
from runners.study.race_course import entrants_of, limited
from runners.study.record import Origin
from runners.study.summary import PlanSummary

if TYPE_CHECKING:
    from runners.execution.collectors import Collectors
    from runners.plan.case import Case
    from runners.study.c2c import ContendedLines

# Makes the node ready for a case, or says why that is not possible.
Settle = Callable[["Case"], "str | None"]


@dataclass
class Session:
    """One attempt at a study: what it runs and where it writes.

    `read` is what there was of the shards when they were read; `aside` is where earlier results
    were moved to begin anew. `describe_crashes` says in lines how
    earlier attempts ended that could not say so themselves. `left_changed` says after a run which
    settings could not be put back; empty when all were.
    """

    workplace: Machine
    outline: PlanSummary
    folder: Path
    share: Share = ALL
    aside: Path | None = None
    read: list[Part] = field(default_factory=list)
    describe_crashes: list[str] = field(default_factory=list)
    left_changed: str = ""

    @classmethod
    def begin(
        cls,
        workplace: Machine,
        study: Study,
        results: Path,
        fresh: bool,
        allow_emulation: bool = False,
        share: Share = ALL,
    ) -> Session:
        """Look at the node, the plan and earlier results; nothing is run yet.

        `allow_emulation` accepts guests whose times are not this node's. Of several workers each
        has its `share` of the study. Raises UserError when
        earlier results do not fit or guests cannot be had, StudyError when nothing can run here.
        """
        if not workplace.live:
            root = workplace.node.root
            raise UserError(
                f"--sysroot {root}: a recorded node runs nothing; see what it would run with "
                f"`pinstudy plan {as_typed(study.path)} --sysroot {as_typed(root)}`"
            )
        if study.vm:
            check_emulation(workplace.without_kvm, allow_emulation)
        folder = share.folder or results_folder(results, study, workplace.node)
        aside = set_aside(folder) if fresh else None
        read = parts_of(folder / "records")
        outline = workplace.outline(study, results, share)
        if not outline.plan.cases:
            reasons = dict.fromkeys(item.reason for item in outline.plan.left_out)
            raise StudyError(f"nothing of study {study.name} can run here: {'; '.join(reasons)}")
        if study.race:
            entrants_of(outline.plan)
        told = describe_crashes(folder / "records", workplace.node, outline)
        return cls(workplace, outline, folder, share, aside, read, told)

    def run(self, progress: Progress) -> None:
        """Make every run that is left; each is recorded before the next one starts.

        What the study collects beside its runs comes after them.

        Raises StudyError when another study is at work on the node, or what one that was killed has
        left running cannot be ended.
        """
        lines = self._contended_lines()
        if not (self.outline.left or lines.left):
            if self.outline.study.race:
                # It may have ended because it is given less now, of which no record tells.
                self._keep_study()
            return
        with NodeLock(self.workplace.node.root, self.share.wait_for_node_s):
            for line in end_orphans():
                progress.warned(line)
            governors = self.workplace.governors()
            settle = partial(self._settle, Fitting(self.workplace.node), governors)
            try:
                with AttemptMarker(Tree(self.workplace.node.root)) as under_way:
                    if self.outline.left:
                        self._run(progress, settle, under_way)
                    lines.make(
                        self._witness(),
                        self.outline.launch,
                        settle,
                        self.share.may_start,
                        progress,
                    )
            finally:
                self._restore(governors)

    @staticmethod
    def _settle(fitting: Fitting, governors: Governors, case: Case) -> str | None:
        """Make the node ready for a case; return why that is not possible."""
        return fitting.why_not(case) or governors.settle(case.governor, case.host_cpus)

    def raise_if_failed(self) -> None:
        """Raise StudyError when settings stay changed, or the study has not a single good run."""
        if self.left_changed:
            raise StudyError(self.left_changed)
        if not self.outline.history.times:
            raise StudyError(
                f"no run of study {self.outline.study.name} was good; {self.folder / 'records'} "
                "has the reason of each"
            )

    def _run(self, progress: Progress, settle: Settle, under_way: AttemptMarker) -> None:
        node = self.workplace.node
        share = self.share
        shard = Shard(self.folder / "records", node.node_id, share.attempt, share.fenced)
        under_way.begin(shard.path, node.node_id)
        engine: Engine | None = None
        try:
            self._catch_up()
            programs = self.workplace.programs_of(self.outline.plan)
            programs.check_earlier(self.folder, self.outline.history.programs)
            self._keep_sources()
            programs.keep(self.folder)
            self._measure_latency(progress)
            collectors = self._collectors()
            engine = self._engine(collectors, shard.attempt)
            run_study(
                self.outline.plan,
                self.outline.history,
                shard,
                self._origin(shard.attempt),
                self._bench(engine, collectors, programs, settle),
                progress,
            )
        finally:
            if engine:
                engine.close()
            shard.close()

    def _catch_up(self) -> None:
        """Read what another attempt has still recorded before this one's shard fenced it."""
        if parts_of(self.folder / "records") != self.read:
            share = replace(self.share, folder=self.folder)
            self.outline = self.workplace.outline(self.outline.study, self.folder, share)

    def _measure_latency(self, progress: Progress) -> None:
        if self.outline.study.latency:
            # Imported here for the reason in _collectors.
            from runners.study.latency import measure_once_a_boot

            which, node = self.outline.study.latency, self.workplace.node
            measure_once_a_boot(node, which, self.folder, progress)

    def _contended_lines(self) -> ContendedLines:
        # Imported here for the reason in _collectors.
        from runners.study.c2c import FOLDER, ContendedLines

        return ContendedLines(self.outline.plan, self.workplace.node, self.folder / FOLDER)

    def _restore(self, governors: Governors) -> None:
        done = governors.restore()
        if done and done.problems:
            self.left_changed = told_problems(governors.journal, done.entry, done.problems)

    def _origin(self, attempt: int) -> Origin:
        study, node = self.outline.study, self.workplace.node
        return Origin(
            study=study.name,
            study_digest=study.digest,
            seed=study.seed,
            node_id=node.node_id,
            node_digest=node.digest,
            boot_id=node.boot_id,
            attempt=attempt,
            kinds_declared=any(kind.declared for kind in node.topology.kinds),
            node=node.facts.get("node"),
            repetition_rule=self._repetition_rule(),
            pool=self.share.pool or None,
            program_uid=invoking_uid(),
            study_file=None if study.spread else study_argument(study),
        )

    def _repetition_rule(self) -> dict[str, Any] | None:
        rule = repetition_rule(self.outline.study)
        if rule and "race" in rule:
            # Of cases that there is no time for, nothing else is recorded.
            rule["race"]["cases"] = len(self.outline.plan.cases)
        return rule

    def _collectors(self) -> Collectors:
        # Imported here, as in findings: planning needs none of what measures.
        from runners.execution.collectors import Collectors

        plan, place = self.outline.plan, self.workplace
        return Collectors(plan.study, place.node, self._witness(), plan.programs, place.tools)

    def _engine(self, collectors: Collectors, attempt: int) -> Engine:
        study = self.outline.study
        if study.vm is None:
            return LocalEngine(collectors)
        from runners.vm.engine import open_engine

        consoles = self.folder / "consoles"
        return open_engine(study.vm, self.workplace.without_kvm, collectors, consoles, attempt)

    def _bench(
        self, engine: Engine, collectors: Collectors, programs: StudyPrograms, settle: Settle
    ) -> Bench:
        return Bench(
            launch=self.outline.launch,
            program=programs.measured,
            execute=engine.execute,
            collect=engine.measured,
            settle=settle,
            may_start=self.share.may_start,
            state=lambda case: read_state(self.workplace.node, case.host_cpus),
            idle=collectors.idle,
            baselines=collectors.baselines,
            gate=collectors.gate,
            warnings=collectors.warnings,
            limited=partial(limited, self.outline.plan, self.outline.history),
        )

    def _witness(self) -> Path:
        emulated = self.workplace.emulates(self.outline.study)
        witness = find_emulated_program(WITNESS) if emulated else find_program(WITNESS)
        if witness is None:
            remedy = for_guests() if emulated else for_programs()
            raise StudyError(f"{WITNESS} is not built; {remedy.sentence}")
        return witness

    def _keep_study(self) -> None:
        """Put the files that say what is run beside the records, as they were read."""
        study = self.outline.study
        write_atomically(self.folder / STUDY_FILE, study.source)
        for app in {choice.app.name: choice.app for choice in study.apps}.values():
            write_atomically(self.folder / APPS / f"{app.name}.yaml", app.source)

    def _keep_sources(self) -> None:
        """Put what is run, and the node's facts and picture, beside the records."""
        node = self.workplace.node
        self._keep_study()
        absent = node.facts["unavailable"] | keep_picture(picture_path(self.folder, node.digest))
        facts = node.facts | {"unavailable": absent}
        text = json.dumps(facts, indent=2, sort_keys=True) + "\n"
        write_atomically(self.folder / "nodes" / f"{node.digest}.json", text.encode())
