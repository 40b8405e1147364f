"""A node and what is installed on it: what studies can do there, and where results go."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path

from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import StoppedError, UserError
from pinstudy.base.text import as_typed, plural, word_as_typed
from pinstudy.base.units import duration
from pinstudy.configs.library import display_path, load_site, study_argument
from pinstudy.configs.overrides import kept_options
from pinstudy.configs.results_folder import STUDY_FILE
from pinstudy.configs.settings import AS_IT_IS, PREFIX, SCHED_EXT, Settings, settings_in_words
from pinstudy.configs.site import Site
from pinstudy.configs.study import CURRENT_GOVERNOR, Study
from pinstudy.runners.host.program_files import ProgramReader
from pinstudy.runners.host.software import (
    LAUNCHERS,
    MPI_NAMES,
    find_emulated_program,
    find_mpi,
    find_program,
    find_tools,
)
from pinstudy.runners.node.core_kinds.ranking import relative_speeds
from pinstudy.runners.node.cpufreq import is_cooled
from pinstudy.runners.node.node import Node, open_node, read_state, whole_node
from pinstudy.runners.node.scheduler import isolation_notes
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import build_launch
from pinstudy.runners.plan.engines import by_mpi, outlook
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.plan import Plan, make_plan
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.study.continuity import WAYS_ON, StudyEnvironment, StudyPrograms
from pinstudy.runners.study.history import History, read_history
from pinstudy.runners.study.summary import PlanSummary

LIVE_ROOT = Path("/")
_SettingKey = tuple[str, Settings, tuple[int, ...]]


@dataclass(frozen=True)
class MoreRuns:
    """How many more runs to make of undecided cases and their baselines, by case_id.

    `look` is the number of the look at the results with these runs.
    """

    of_case: Mapping[str, int]
    look: int


@dataclass(frozen=True)
class Assignment:
    """The part of a study that a session runs, and where its results go.

    `folder` is where results go, None for the node's own; a user names it by `folder_option`.
    `blocks` are the repetitions to make, None for all. `again` says how many more runs to make of
    which cases alone, None where all cases are run as often as the study says. `pool` names the
    interchangeable nodes that divide a study; empty when one node makes all of it. `submission` is
    the number of theirs, else 0. `attempt` is the number of the shard, None for the node's next
    one. `may_start` is called before each run with its expected seconds, None when unknown, and
    raises StoppedError when the run must not start. A session waits up to `wait_for_node_s` seconds
    for the node's lock, and calls `waiting` with who has it. `fenced` returns why records are no
    longer accepted; empty as long as they are.
    """

    folder: Path | None = None
    folder_option: str = "--results"
    blocks: frozenset[int] | None = None
    again: MoreRuns | None = None
    pool: str = ""
    submission: int = 0
    attempt: int | None = None
    may_start: Callable[[float | None], None] = lambda _: None
    fenced: Callable[[], str] = str
    wait_for_node_s: float = 0.0
    waiting: Callable[[str], None] = lambda _: None


WHOLE_STUDY = Assignment()


@dataclass(frozen=True)
class Machine:
    """A node and what is installed on it; a recorded node is taken to have every tool.

    `site` is the site's configuration, None without one.
    """

    node: Node
    tools: Mapping[str, str]
    site: Site | None = None

    @property
    def live(self) -> bool:
        """Whether the node is this machine."""
        return self.node.root == LIVE_ROOT

    def findings(self) -> list[tuple[str, str, str]]:
        """Return the findings, one a line: the name, its state, the evidence or the reason."""
        from pinstudy.runners.doctor.report import probe

        found = probe(self.node, self.live, site=self.site)
        return [
            (f"{kind.name}-cores", f"CPUs {format_cpulist(kind.cpus)}", kind.evidence)
            for kind in self.node.topology.kinds
        ] + [(capability.name, capability.state, capability.why) for capability in found]

    def plan(self, study: Study) -> Plan:
        """Return the study's cases as this node can run them."""
        emulated = self.emulates(study)
        find = partial(self._find_program, find_emulated_program if emulated else find_program)
        planned = _without_estimates(study) if emulated else study
        tools = self.tools_of(study)
        topology = self.node.topology
        impossible = cache(partial(self.settings().impossible, now=self.node.cpufreq))
        plan = make_plan(planned, topology, find, tools, impossible, emulated)
        return replace(plan, speeds=relative_speeds(self.node.tree, topology.kinds))

    def tools_of(self, study: Study) -> Mapping[str, str]:
        """Return the paths of the launchers, with those of the MPI ranks that a study has."""
        return {**self.tools, **self._mpi} if by_mpi(study) else self.tools

    @cached_property
    def _mpi(self) -> Mapping[str, str]:
        """The launchers of MPI ranks, which are asked for their versions."""
        return find_mpi() if self.live else MPI_NAMES

    def emulates(self, study: Study) -> bool:
        """Return whether the study's guests are emulated, for lack of KVM."""
        return study.vm is not None and bool(self.without_kvm)

    @cached_property
    def without_kvm(self) -> str:
        """Why guests are emulated here; empty when KVM runs them, and for a recorded node."""
        from pinstudy.runners.doctor.software import without_kvm

        return without_kvm(self.node)[0] if self.live else ""

    def outlook(self, plan: Plan) -> list[str]:
        """Return in lines what the plan will need, meet and change here.

        These are engines, CPUs that the kernel treats apart, and settings.
        """
        topology = self.node.topology
        apart = isolation_notes(topology.isolated, topology.tickless)
        engines = outlook(plan.study, plan.boots, live=self.live, without_kvm=self.without_kvm)
        return [*engines, *apart, *self._settings_outlook(plan)]

    def startable(self, plan: Plan) -> list[Case]:
        """Return the cases whose settings can be put in force now."""
        problems = self._setting_problems(plan)
        return [case for case in plan.cases if problems[_setting_key(case)] is None]

    def waiting_reasons(self, plan: Plan) -> list[str]:
        """Return why cases cannot start now, each reason once."""
        return list(dict.fromkeys(filter(None, self._setting_problems(plan).values())))

    def summary(
        self, study: Study, results: Path, assignment: Assignment = WHOLE_STUDY, fresh: bool = False
    ) -> PlanSummary:
        """Return the plan, or the assigned part of it, with the progress of earlier attempts.

        With `fresh` there is none. Raises UserError when something is not as it was in these.
        """
        from pinstudy.runners.measure.energy.source import asked_meter, check_meter, may_have_energy

        folder = assignment.folder or results_folder(results, study, self.node)
        history = History.of(study)
        if self.live and not fresh and folder.is_dir():
            node = self.node
            history = read_history(
                folder, study, node.digest, node.node_id, assignment.pool, node.facts
            )
        plan = replace(self.plan(study), blocks=assignment.blocks)
        if again := assignment.again:
            plan = plan.repeated(again.of_case, history.last_repetition, again.look)
            # It is that of the study's own runs.
            history.limit_s = None
        if history.programs:
            self.programs_of(plan).check_earlier(folder, history.programs)
        asked = asked_meter(study, self.site)
        if self.live:
            check_meter(self.node.root, asked)
        by_power = study.idle_power is not None or study.power_gate is not None
        energy = by_power and may_have_energy(self.node.root, asked)
        summary = PlanSummary(plan, history, partial(self.launch, plan), energy)
        # Who only asks again for the tables of a complete study may do so anywhere.
        if history.done and (study.race or summary.left):
            self.environment_of(plan).check_earlier(folder, history.environments)
            self._check_site(study, history, folder)
            self._check_settings(plan, history, folder)
        return summary

    def environment_of(self, plan: Plan) -> StudyEnvironment:
        """Return the variables that the programs of the plan's cases inherit."""
        return StudyEnvironment.of(plan.cases, partial(self.launch, plan))

    def _check_site(self, study: Study, history: History, folder: Path) -> None:
        """Raise UserError when a site's meter told the energy so far, and no site is named now."""
        from pinstudy.runners.measure.energy.commands import COMMAND

        if self.site is not None or study.meter:
            return
        kept, rule = "".join(kept_options(folder / STUDY_FILE, ("--site",))[1:]), None
        # Its file may be gone, which the command below tells then.
        with suppress(UserError):
            rule = load_site(kept).energy if kept else None
        if history.meters.isdisjoint({COMMAND, rule.meter if rule else None}):
            return
        words = [PINSTUDY, "run", as_typed(display_path(Path(study_argument(study))))]
        words += map(word_as_typed, study.overrides.options)
        words += ["--site", as_typed(display_path(Path(kept))) if kept else "SITE"]
        # Who searches typed another command.
        on = "name it with --site" if study.race else f"`{' '.join(words)}` goes on"
        raise UserError(
            f"{folder}: a site's meter told the energy of its runs, and no site is named now, so "
            f"that other runs would have none, or that of another meter; {on}; or start anew with "
            "--fresh, which keeps what was measured"
        )

    def _check_settings(self, plan: Plan, history: History, folder: Path) -> None:
        """Raise UserError when settings are not those of the earlier runs of a case."""
        read = cache(partial(read_state, self.node))
        for case in plan.cases:
            if case.case_id in history.settings.by_case:
                state = read(case.all_cpus).fields
                cooled = is_cooled(self.node.tree)
                if differ := history.settings.before_attempt(case, state, cooled=cooled):
                    raise other_settings(folder, differ)

    def settings(self) -> NodeSettings:
        """Return the switch for this node's settings."""
        environment = os.environ if self.live else {}
        return NodeSettings(self.node.root, self.node.topology, self.site, environment)

    def _settings_outlook(self, plan: Plan) -> list[str]:
        """Return in lines what will be set, and which cases wait for their settings."""
        settings, now = self.settings(), self.node.cpufreq
        problems = self._setting_problems(plan)
        possible = [key for key, reason in problems.items() if reason is None]
        switched = {
            governor
            for governor, _, cpus in possible
            if governor != CURRENT_GOVERNOR and now.in_force_problem(governor, cpus) is not None
        }
        lines = []
        # A recorded node's journal would be this machine's.
        journal = f" (journal: {settings.journal_path})" if self.live else ""
        if switched:
            noun = "governor" if len(switched) == 1 else "governors"
            lines.append(
                f"{noun} {', '.join(sorted(switched))}: set for the CPUs of each case, and put "
                f"back at the end{journal}"
            )
        lines += _setting_lines([asked for _, asked, _ in possible], journal)
        waiting: dict[str, list[str]] = {}
        for case in plan.cases:
            if reason := problems[_setting_key(case)]:
                alone = settings.problem(case.governor, AS_IT_IS, case.all_cpus, now)
                wanted = case.governor if alone else case.settings.words
                waiting.setdefault(wanted, []).append(reason)
        return lines + [
            f"{plural(len(reasons), 'case')} will be left out for now: {reasons[0]}; once "
            f"{wanted} is in force, run again: the rest is made then"
            for wanted, reasons in waiting.items()
        ]

    def _setting_problems(self, plan: Plan) -> dict[_SettingKey, str | None]:
        """Return why the settings of cases cannot be in force now, by settings and CPUs."""
        settings, now = self.settings(), self.node.cpufreq
        keys = dict.fromkeys(map(_setting_key, plan.cases))
        return {key: settings.problem(*key, now) for key in keys}

    def launch(self, plan: Plan, case: Case) -> Launch:
        """Return the launch line of one of the plan's cases."""
        program = plan.programs[case.build.program]
        launch = build_launch(case, program, self._inherited, self.tools_of(plan.study))
        return (
            replace(launch, co_runner=self.launch(plan, case.co_runner))
            if case.co_runner
            else launch
        )

    def programs_of(self, plan: Plan) -> StudyPrograms:
        """Return the programs of the plan's cases as they are now."""
        return StudyPrograms.of(plan, self._program_reader)

    @cached_property
    def _program_reader(self) -> ProgramReader:
        return ProgramReader(self._inherited)

    @cached_property
    def _inherited(self) -> Mapping[str, str]:
        # A copy, because each pass over os.environ decodes all of it.
        return dict(os.environ) if self.live else {}

    def _find_program(self, find: Callable[[str], Path | None], name: str) -> Path | None:
        path = find(name)
        return path if path or self.live else Path(name)


def open_machine(sysroot: Path, kinds: str | None, site: Site | None = None) -> Machine:
    """Return this machine, or the node of a recorded tree; raises UserError when there is none.

    Where a batch system gives whole nodes, plans are for all CPUs but the reserved ones. A job that
    may use fewer does not make the node smaller: the pre-flight check of each run reports it.
    """
    node = open_node(sysroot, kinds)
    if site and site.queue:
        node = whole_node(node, site.queue.reserved_cpus)
    if sysroot == LIVE_ROOT:
        return Machine(node, find_tools(), site)
    return Machine(node, {name: name for name in LAUNCHERS}, site)


def _setting_key(case: Case) -> _SettingKey:
    return case.governor, case.settings, case.all_cpus


def other_settings(folder: Path, differ: str) -> UserError:
    """Return the error that settings are not those of the earlier runs in a results folder."""
    return UserError(f"{folder}: settings are not those of the runs there: {differ}; {WAYS_ON}")


def results_folder(results: Path, study: Study, node: Node) -> Path:
    """Return where a study's results on a node are kept."""
    return results / study.name / node.node_id


def _setting_lines(asked: Iterable[Settings], journal: str) -> list[str]:
    """Return in lines which settings beside the governor will be set, and how they end."""
    values: dict[str, dict[str, None]] = {}
    for settings in asked:
        for name, value in settings.pairs:
            values.setdefault(name, {})[value] = None
    schedulers = [name for name in values.pop(SCHED_EXT, {}) if name.startswith(PREFIX)]
    lines = []
    if schedulers:
        noun = "scheduler" if len(schedulers) == 1 else "schedulers"
        lines.append(f"{noun} {', '.join(schedulers)}: started for its cases, and ended at the end")
    if values:
        words = settings_in_words({name: " and ".join(found) for name, found in values.items()})
        lines.append(f"{words}: set for each case, and put back at the end{journal}")
    return lines


def _without_estimates(study: Study) -> Study:
    """Return the study without its apps' time estimates: emulation takes many times as long."""
    apps = [
        replace(choice, sizes=tuple(replace(size, estimate_s=None) for size in choice.sizes))
        for choice in study.apps
    ]
    return replace(study, apps=tuple(apps))


class TimeIsUpError(StoppedError):
    """The budget is spent; what was measured is on the disk."""


class TimeBudget:
    """Seconds from now on, after which no run ends; an Assignment's `may_start`."""

    def __init__(self, budget_s: float) -> None:
        self._text = duration(budget_s)
        self._ends_s = time.monotonic() + budget_s
        self._started = False

    def __call__(self, expected_s: float | None) -> None:
        """Raise TimeIsUpError when a run of so many seconds would end too late.

        Never for the first one: an attempt that makes none would never come to an end.
        """
        first, self._started = not self._started, True
        if not first and time.monotonic() + (expected_s or 0.0) > self._ends_s:
            raise TimeIsUpError(f"the time is up ({self._text}); a second start goes on")
