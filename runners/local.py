"""A study at its place: this node, its tools and a results folder make it runnable here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from configs.cpulist import format_cpulist
from configs.errors import StudyError, UserError
from configs.model import CURRENT_GOVERNOR, AppChoice, Site, Study
from runners.case import Case
from runners.governors import Governors
from runners.launch import Launch, build_launch
from runners.leftover import told_problems
from runners.node import Node, open_node
from runners.node_lock import NodeLock
from runners.outline import Outline, plural
from runners.plan import Plan, make_plan
from runners.programs import (
    LAUNCHERS,
    WITNESS,
    find_emulated_program,
    find_program,
    find_tools,
)
from runners.record import Origin
from runners.shards import Shard, write_atomically
from runners.state import read_state
from runners.study import Bench, History, Progress, read_history, run_study, set_aside

if TYPE_CHECKING:
    from runners.collect import Collectors
    from runners.execute import Observation
    from runners.measured import Measured

LIVE_ROOT = Path("/")


@dataclass(frozen=True)
class Workplace:
    """A node and what is installed on it; a recorded node is taken to have every tool.

    `site` says what is special about the place; None when nothing is.
    """

    node: Node
    tools: Mapping[str, str]
    site: Site | None = None

    @property
    def live(self) -> bool:
        """Whether the node is this machine."""
        return self.node.root == LIVE_ROOT

    def findings(self) -> list[tuple[str, str, str]]:
        """Return what was found, a line each: the name, its state, the evidence or the reason."""
        from runners.capabilities import probe

        return [
            (f"{kind.name}-cores", f"CPUs {format_cpulist(kind.cpus)}", kind.evidence)
            for kind in self.node.topology.kinds
        ] + [(found.name, found.state, found.why) for found in probe(self.node.root, self.live)]

    def plan(self, study: Study) -> Plan:
        """Return the study's cases as this node can run them."""
        emulated = study.vm is not None and bool(self.without_kvm)
        find = partial(self._find_program, find_emulated_program if emulated else find_program)
        asked = without_estimates(study) if emulated else study
        return make_plan(asked, self.node.topology, find, self.tools, self._governor_problem)

    @cached_property
    def without_kvm(self) -> str:
        """Why guests are emulated here; empty when KVM runs them, and for a recorded node."""
        from runners.capabilities.asked_node import AskedNode
        from runners.capabilities.virtual_machines import without_kvm

        return without_kvm(AskedNode(self.node.root, self.live))[0] if self.live else ""

    def engine_outlook(self, plan: Plan) -> list[str]:
        """Return in a line which guests the plan needs and what runs them; nothing without any."""
        vm = plan.study.vm
        if vm is None:
            return []
        mappings = {case.vcpus.mapping.name for case in plan.cases if case.vcpus}
        guest = f"{plural(vm.cpus, 'vCPU')} and {vm.memory_mib} MiB"
        by = "by KVM" if self.live else "by KVM, where it has that"
        if self.without_kvm:
            by = f"by emulation, so that its times are not this node's: {self.without_kvm}"
        return [f"a guest with {guest}, booted {plural(len(mappings), 'time')} and run {by}"]

    def outline(self, study: Study, results: Path) -> Outline:
        """Return the plan together with what earlier attempts have done of it."""
        from runners.energy import may_have_energy

        folder = results_folder(results, study, self.node)
        history = History()
        if self.live and folder.is_dir():
            history = read_history(folder, study, self.node.digest)
        plan = self.plan(study)
        energy = study.baseline is not None and may_have_energy(self.node.root)
        return Outline(plan, history, partial(self.launch, plan), energy)

    def governors(self) -> Governors:
        """Return the switch for this node's governors."""
        rule = self.site.governor if self.site else None
        environment = os.environ if self.live else {}
        return Governors(self.node.root, self.node.topology.cores, rule, environment)

    def governor_outlook(self, plan: Plan) -> list[str]:
        """Return in lines which governors will be set, and which cases wait for theirs."""
        governors, now = self.governors(), self.node.cpufreq
        asked = {(case.governor, case.host_cpus) for case in plan.cases}
        why_not = {key: governors.why_not(*key, now) for key in sorted(asked)}
        switched = {
            governor
            for (governor, cpus), reason in why_not.items()
            if governor != CURRENT_GOVERNOR
            and reason is None
            and now.why_not_in_force(governor, cpus) is not None
        }
        lines = []
        if switched:
            noun = "governor" if len(switched) == 1 else "governors"
            lines.append(
                f"{noun} {', '.join(sorted(switched))}: set for the CPUs of each case, and put "
                f"back at the end (journal: {governors.journal.path})"
            )
        waiting: dict[str, list[str]] = {}
        for case in plan.cases:
            if reason := why_not[case.governor, case.host_cpus]:
                waiting.setdefault(case.governor, []).append(reason)
        return lines + [
            f"{plural(len(reasons), 'case')} will be left out for now: {reasons[0]}; once "
            f"{governor} is in force, run again: the rest is made then"
            for governor, reasons in waiting.items()
        ]

    def launch(self, plan: Plan, case: Case) -> Launch:
        """Return the launch line of one of the plan's cases."""
        inherited = os.environ if self.live else {}
        return build_launch(case, plan.program_of(case), inherited, self.tools)

    def _find_program(self, find: Callable[[str], Path | None], name: str) -> Path | None:
        found = find(name)
        return found if found or self.live else Path(name)

    def _governor_problem(self, governor: str, cpus: tuple[int, ...]) -> str | None:
        if governor == CURRENT_GOVERNOR:
            return None
        return self.node.cpufreq.why_not_offered(governor, cpus)


def open_workplace(sysroot: Path, kinds: str | None, site: Site | None = None) -> Workplace:
    """Return this machine, or the node of a recorded tree; raises UserError when there is none."""
    node = open_node(sysroot, kinds)
    if sysroot == LIVE_ROOT:
        return Workplace(node, find_tools(), site)
    return Workplace(node, {name: name for name in LAUNCHERS}, site)


def results_folder(results: Path, study: Study, node: Node) -> Path:
    """Return where a study's results on a node are kept."""
    return results / study.name / node.node_id


class Engine(Protocol):
    """Where a case's runs are made."""

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Carry a launch through once; raises LaunchError for what is one failed run."""

    def measured(self, case: Case, seen: Observation) -> list[Measured]:
        """Return what was measured around the run that was made last."""

    def close(self) -> None:
        """Leave nothing running."""


@dataclass(frozen=True)
class LocalEngine:
    """Makes runs on this node itself."""

    collectors: Collectors

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Carry a launch through once."""
        from runners.execute import execute

        return execute(launch, case.app.limit_s, self.collectors.harness, cpus=case.mask)

    def measured(self, case: Case, seen: Observation) -> list[Measured]:
        """Return what the collectors say of the run."""
        return self.collectors.measured(case, seen)

    def close(self) -> None:
        """Nothing outlives a run."""


def without_estimates(study: Study) -> Study:
    """Return the study without its apps' times: an emulated processor takes many times as long."""

    def unknown(choice: AppChoice) -> AppChoice:
        return replace(choice, sizes=tuple(replace(size, estimate_s=None) for size in choice.sizes))

    return replace(study, apps=tuple(unknown(choice) for choice in study.apps))


def check_emulation(without_kvm: str, allowed: bool) -> None:
    """Raise UserError when guests would be emulated and nobody has allowed it."""
    if without_kvm and not allowed:
        raise UserError(
            f"guests would be emulated here, instruction by instruction: {without_kvm}. Their "
            "times say nothing of this node; to try it all the same add --allow-emulation"
        )


@dataclass
class Session:
    """One attempt at a study: what it runs and where it writes.

    `left_changed` says after a run which settings could not be put back; empty when all were.
    """

    workplace: Workplace
    outline: Outline
    folder: Path
    left_changed: str = ""

    @classmethod
    def begin(
        cls,
        workplace: Workplace,
        study: Study,
        results: Path,
        fresh: bool,
        allow_emulation: bool = False,
    ) -> Session:
        """Look at the node, the plan and earlier results; nothing is run yet.

        `allow_emulation` accepts guests whose times are not this node's. Raises UserError when
        earlier results do not fit or guests cannot be had, StudyError when nothing can run here.
        """
        if not workplace.live:
            root = workplace.node.root
            raise UserError(
                f"--sysroot {root}: a recorded node runs nothing; see what it would run with "
                f"`pinstudy plan {study.name} --sysroot {root}`"
            )
        if study.vm:
            check_emulation(workplace.without_kvm, allow_emulation)
        folder = results_folder(results, study, workplace.node)
        if fresh:
            set_aside(folder)
        outline = workplace.outline(study, results)
        if not outline.plan.cases:
            reasons = dict.fromkeys(item.reason for item in outline.plan.left_out)
            raise StudyError(f"nothing of study {study.name} can run here: {'; '.join(reasons)}")
        return cls(workplace, outline, folder)

    def run(self, progress: Progress) -> None:
        """Make every run that is left; each is recorded before the next one starts.

        Raises StudyError when another study is at work on the node.
        """
        if not self.outline.left:
            return
        with NodeLock(self.workplace.node.root):
            governors = self.workplace.governors()
            try:
                self._run(progress, governors)
            finally:
                self._restore(governors)

    def raise_if_failed(self) -> None:
        """Raise StudyError when settings stay changed, or the study has not a single good run."""
        if self.left_changed:
            raise StudyError(self.left_changed)
        if not self.outline.history.times:
            raise StudyError(
                f"no run of study {self.outline.study.name} was good; {self.folder / 'records'} "
                "has the reason of each"
            )

    def _run(self, progress: Progress, governors: Governors) -> None:
        node = self.workplace.node
        shard = Shard(self.folder / "records", node.node_id)
        engine: Engine | None = None
        try:
            self._keep_sources()
            collectors = self._collectors()
            engine = self._engine(collectors, shard.attempt)
            run_study(
                self.outline.plan,
                self.outline.history,
                shard,
                self._origin(shard.attempt),
                self._bench(engine, collectors, governors),
                progress,
            )
        finally:
            if engine:
                engine.close()
            shard.close()

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
        )

    def _collectors(self) -> Collectors:
        # Imported here, as in findings: planning needs none of what measures.
        from runners.collect import Collectors

        plan, place = self.outline.plan, self.workplace
        return Collectors(plan.study, place.node, self._witness(), plan.programs, place.tools)

    def _engine(self, collectors: Collectors, attempt: int) -> Engine:
        study = self.outline.study
        if study.vm is None:
            return LocalEngine(collectors)
        from runners.vm.engine import open_engine

        consoles = self.folder / "consoles"
        return open_engine(study.vm, self.workplace.without_kvm, collectors, consoles, attempt)

    def _bench(self, engine: Engine, collectors: Collectors, governors: Governors) -> Bench:
        return Bench(
            launch=self.outline.launch,
            execute=engine.execute,
            collect=engine.measured,
            settle=lambda case: governors.settle(case.governor, case.host_cpus),
            state=lambda case: read_state(self.workplace.node, case.host_cpus),
            idle=collectors.idle,
            baselines=collectors.baselines,
            gate=collectors.gate,
            warnings=collectors.warnings,
        )

    def _witness(self) -> Path:
        emulated = self.outline.study.vm and self.workplace.without_kvm
        witness = find_emulated_program(WITNESS) if emulated else find_program(WITNESS)
        if witness is None:
            target = "vm" if emulated else "setup"
            raise StudyError(f"{WITNESS} is not built; build it with `make {target}`")
        return witness

    def _keep_sources(self) -> None:
        """Put what the records refer to beside them: the study's file and the node's facts."""
        node = self.workplace.node
        study = Path(self.outline.study.path)
        write_atomically(self.folder / "study.yaml", study.read_bytes())
        facts = json.dumps(node.facts, indent=2, sort_keys=True) + "\n"
        write_atomically(self.folder / "nodes" / f"{node.digest}.json", facts.encode())
