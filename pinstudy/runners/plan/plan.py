"""Makes a study's cases for a node: those to run, and skipped ones with their reasons. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from pathlib import Path

from pinstudy.base.errors import StudyError
from pinstudy.base.text import shown
from pinstudy.configs.app import App, Build, Size
from pinstudy.configs.mapping import PINS_ONE_THREAD
from pinstudy.configs.mapping import Mapping as StudyMapping
from pinstudy.configs.repetitions import MAX_REPETITIONS
from pinstudy.configs.settings import NAMES as SETTING_NAMES
from pinstudy.configs.settings import Settings
from pinstudy.configs.study import SEQUENTIAL, AppChoice, CoRunner, Study
from pinstudy.configs.variables import SetVariable, merged
from pinstudy.runners.host.software import is_own, not_found
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case, Engine, SkippedCase
from pinstudy.runners.plan.command_line import (
    build_launch,
    check_count,
    check_mechanism,
    choose_mechanism,
)
from pinstudy.runners.plan.engines import tables_of
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.plan.runs import PlannedRun, booted_times, plan_groups
from pinstudy.runners.plan.selection import CannotMapError, check_balanced
from pinstudy.runners.plan.speeds import cases_of_speeds

# Returns why a governor and other settings can never be in force on these CPUs, or None.
SettingsProblem = Callable[[str, Settings, tuple[int, ...]], str | None]


@dataclass(frozen=True)
class Again:
    """How often undecided cases, and their baselines, are run once more.

    `last` is the last repetition of each, by case_id; the first one, which comes after the `made`
    ones, is the same for all, so that they are made in common blocks. `look` is the number of the
    look at the results with these runs.
    """

    last: Mapping[str, int]
    made: int
    look: int


@dataclass(frozen=True)
class Plan:
    """The cases of a study on a node, in table order, and those left out with their reasons.

    `programs` has the absolute path of each program by its name. `speeds` are shares of the fastest
    CPU's, to estimate times by; empty where all are alike, or not known. `again` is set where
    undecided cases alone are repeated. `added` are the case_ids of those that the study's `bound`
    adds.
    """

    study: Study
    cases: tuple[Case, ...]
    skipped: tuple[SkippedCase, ...]
    programs: dict[str, Path]
    blocks: frozenset[int] | None = None
    speeds: Mapping[int, float] = field(default_factory=dict)
    again: Again | None = None
    added: frozenset[str] = frozenset()

    @cached_property
    def runs(self) -> list[PlannedRun]:
        """Every run of the cases, in order, at most.

        With `blocks` only their repetitions, and the warm-up runs, which every node needs.
        """
        study = self.study
        groups: dict[str, list[str]] = {}
        for case in self.cases:
            groups.setdefault(case.engine.boot, []).append(case.case_id)
        repetitions, warmup, order = study.repetitions, study.warmup, study.order
        runs = plan_groups(groups, repetitions, warmup, order, study.seed, self.blocks)
        if self.again is None:
            return runs
        last = self.again.last
        return [run for run in runs if run.warmup or run.repetition <= last[run.case_id]]

    def repeated(self, more: Mapping[str, int], made: int, look: int) -> Plan:
        """Return the plan in which these cases alone are run so often more, by case_id.

        `made` is the last repetition that any case made. Raises StudyError where a case would have
        more repetitions than a study can have.
        """
        last = {case_id: made + number for case_id, number in more.items()}
        most = max(last.values(), default=made)
        if most > MAX_REPETITIONS:
            raise StudyError(f"a study cannot have more than {MAX_REPETITIONS} repetitions")
        # How often all cases are run, and until when, is no longer asked.
        study = replace(self.study, repetitions=most, decide=None)
        cases = tuple(case for case in self.cases if case.case_id in last)
        blocks, added = frozenset(range(made + 1, most + 1)), self.added.intersection(last)
        again = Again(last, made, look)
        return replace(
            self, study=study, cases=cases, skipped=(), blocks=blocks, again=again, added=added
        )

    @property
    def asked_settings(self) -> frozenset[str]:
        """The settings that any case asks for beside its governor, by name."""
        return frozenset(name for case in self.cases for name, _ in case.settings.pairs)

    @property
    def boots_take_turns(self) -> bool:
        """Whether several guests are booted for two blocks each, again and again."""
        boots = {case.engine.boot for case in self.cases}
        return len(boots) > 1 and self.study.order != SEQUENTIAL

    @property
    def boots(self) -> int:
        """How many guests are booted; 0 without guests."""
        boots = {case.engine.boot for case in self.cases} - {""}
        return len(boots) * (booted_times(self.study.repetitions) if self.boots_take_turns else 1)

    @property
    def sampled_cases(self) -> tuple[Case, ...]:
        """The cases that are executed once more, under perf c2c."""
        if "c2c" not in self.study.collect:
            return ()
        return tuple(case for case in self.cases if case.app.c2c and not case.co_runner)


def make_plan(
    study: Study,
    topology: Topology,
    find_program: Callable[[str], Path | None],
    tools: Iterable[str],
    settings_problem: SettingsProblem,
    emulated: bool = False,
) -> Plan:
    """Return the study's cases as this node can run them.

    `find_program` returns the path of a program's name or None, `tools` are the installed
    launchers. `emulated` is whether guests would run without KVM. A co-runner that is no case of
    the study by itself becomes one, in a table of its own after all others: what it loses is told
    from that case. So do cases that tell the speeds of core kinds, where the study asks for them.
    """
    names = {build.program for choice in study.apps for build in choice.builds}
    names |= {co_runner.build.program for co_runner in study.all_co_runners}
    apps = [
        *(choice.app for choice in study.apps),
        *(co_runner.app for co_runner in study.all_co_runners),
    ]
    names.update(chain.from_iterable(app.check.command[:1] for app in apps))
    programs = {name: path for name in sorted(names) if (path := find_program(name))}
    cases: list[Case] = []
    skipped: list[SkippedCase] = []
    alone = _Alone(study, topology, tools, programs, settings_problem)
    for choice, wanted, co_runner in _wanted(study, emulated):
        engine, engine_problem = wanted.engine.prepared(topology)
        case = replace(wanted, engine=engine)
        case, problem = _mapped(case, engine.topology(topology), tools, choice.oversubscribe)
        problem = f"{engine.inside}{problem}" if problem else engine_problem
        problem = problem or _skip_reason(case, programs, settings_problem)
        if co_runner:
            alone_case, why_not = alone.case(co_runner, case.governor, case.settings)
            case = replace(case, co_runner=alone_case)
            problem = problem or (f"its co-runner: {why_not}" if why_not else None)
        if problem is None:
            cases.append(case)
        else:
            skipped.append(SkippedCase(case, problem))
    if study.race:
        cases, same = _without_duplicates(cases)
    else:
        launchers = {name: name for name in tools}
        cases, same = _without_repeats(cases, programs, launchers)
    skipped += same
    known = {case.case_id for case in cases} | {item.case_id for item in skipped}
    more, left_out = alone.cases_of_co_runners(known, sum(1 for _ in _rows(study, emulated)))
    cases, skipped = [*cases, *more], [*skipped, *left_out]
    added: list[Case] = []
    for wanted in cases_of_speeds(study, topology, cases, [item.case for item in skipped]):
        excluded = _is_excluded(wanted, [exclusion.factors for exclusion in study.exclude or ()])
        variables = _variables(study, wanted.app, wanted.build, wanted.mapping)
        case = replace(wanted, variables=variables)
        case, problem = _mapped(case, topology, tools, oversubscribe=False)
        problem = problem or _skip_reason(case, programs, settings_problem)
        if problem is None and not excluded:
            added.append(case)
        elif not excluded:
            skipped.append(SkippedCase(case, problem or ""))
    ids = frozenset(case.case_id for case in added)
    return Plan(study, (*cases, *added), tuple(skipped), programs, added=ids)


@dataclass
class _Alone:
    """The cases of a study's co-runners when they run alone, each with why it cannot run.

    The reasons are None for cases that can.
    """

    study: Study
    topology: Topology
    tools: Iterable[str]
    programs: Mapping[str, Path]
    settings_problem: SettingsProblem
    _met: set[tuple[int, str, Settings]] = field(default_factory=set)

    @cached_property
    def _cases(self) -> dict[tuple[int, str, Settings], tuple[Case, str | None]]:
        """The cases by co-runner and settings; those of one build and team are one table."""
        tables: dict[tuple[object, ...], list[CoRunner]] = {}
        for co_runner in self.study.all_co_runners:
            key = co_runner.app.name, co_runner.build.name, co_runner.size.name, co_runner.threads
            tables.setdefault(key, []).append(co_runner)
        return {
            (id(of), governor, settings): self._made(of, governor, settings, table, number)
            for table, those in enumerate(tables.values(), 1)
            for number, (governor, settings, of) in enumerate(
                product(self.study.all_governors, self.study.other_settings, those), 1
            )
        }

    def _made(
        self, co_runner: CoRunner, governor: str, settings: Settings, table: int, number: int
    ) -> tuple[Case, str | None]:
        """Return the case as the study itself would have it, with this co-runner among its apps."""
        wanted = Case(
            *(table, number, co_runner.app, co_runner.build, co_runner.size, co_runner.threads),
            *(co_runner.mapping, co_runner.mapping.mechanism, (), governor),
            co_runner.app.usual_schedule,
            self.study.wait_policies[0],
            variables=_variables(self.study, co_runner.app, co_runner.build, co_runner.mapping),
            settings=settings,
        )
        case, problem = _mapped(wanted, self.topology, self.tools, oversubscribe=False)
        return case, problem or _skip_reason(case, self.programs, self.settings_problem)

    def case(
        self, co_runner: CoRunner, governor: str, settings: Settings
    ) -> tuple[Case, str | None]:
        """Return the case of a co-runner under these settings, and why it cannot run here."""
        key = id(co_runner), governor, settings
        self._met.add(key)
        return self._cases[key]

    def cases_of_co_runners(
        self, known: Collection[str], tables: int
    ) -> tuple[list[Case], list[SkippedCase]]:
        """Return the cases that are not `known` by their ids, to be run and skipped.

        Those that stand beside no case of the study, because it leaves these out, are none. Their
        tables come after those of the study, of which there are `tables`.
        """
        cases, skipped = [], []
        for key, (made, problem) in self._cases.items():
            if key not in self._met:
                continue
            case = replace(made, table=tables + made.table)
            out = SkippedCase(case, problem or "")
            if problem is None and case.case_id not in known:
                cases.append(case)
            elif problem is not None and out.case_id not in known:
                skipped.append(out)
        return cases, skipped


def _without_duplicates(cases: Iterable[Case]) -> tuple[list[Case], list[SkippedCase]]:
    """Separate the cases from those that repeat an earlier case's execution under another name.

    A race would favour an execution that takes part twice: the better of the two counts.
    """
    first: dict[object, Case] = {}
    same = []
    for case in cases:
        earlier = first.setdefault(_execution(case), case)
        if earlier is not case:
            reason = f"the same execution as {earlier.label}, which races"
            same.append(SkippedCase(case, reason))
    return list(first.values()), same


def _without_repeats(
    cases: Iterable[Case], programs: Mapping[str, Path], tools: Mapping[str, str]
) -> tuple[list[Case], list[SkippedCase]]:
    """Separate the cases of a table from those that an earlier row has under another name.

    They are the same only if command line, environment, affinity mask, binding and all settings
    are identical; else two rows might differ for a reason that nobody thought of.
    """

    def launch(case: Case) -> Launch:
        return build_launch(case, programs[case.build.program], {}, tools)

    alike: dict[object, list[Case]] = {}
    kept, same = [], []
    for case in cases:
        # Launch lines take longer to build than a plan of many cases has time for.
        group = alike.setdefault(_placed_and_set(case), [])
        earlier = next((other for other in group if launch(other) == launch(case)), None)
        if earlier is None:
            group.append(case)
            kept.append(case)
        else:
            reason = f"the same execution as #{earlier.number} {earlier.mapping.name}"
            same.append(SkippedCase(case, reason))
    return kept, same


def _placed_and_set(case: Case) -> tuple[object, ...]:
    """Return where a table's case runs and under which settings, without its launch line."""
    return (
        *(case.table, case.governor, case.settings, case.engine),
        *(case.mask, case.cpus, case.mapping.binding, case.mechanism),
        case.co_runner.case_id if case.co_runner else "",
    )


def _execution(case: Case) -> tuple[object, ...]:
    """Return a key that is equal for cases with equal command, environment, mask and settings.

    OpenMP's settings do not affect a program without OpenMP. taskset and numactl set equal masks.
    """
    openmp = (case.threads, case.schedule, case.wait_policy)
    pins = case.mapping.binding == "pin" and case.all_threads > 1
    by_mask = case.mechanism in (None, *PINS_ONE_THREAD)
    return (
        *(case.app.name, case.build.name, case.size.name, case.governor, case.engine),
        () if case.build.runtime == "none" else openmp,
        tuple((set_.name, set_.value) for set_ in case.variables),
        None if by_mask else (case.mechanism, case.mapping.binding, case.mapping.places),
        case.cpus if pins else case.mask,
        case.settings,
    )


def _wanted(study: Study, emulated: bool) -> Iterator[tuple[AppChoice, Case, CoRunner | None]]:
    """Yield the study's cases before they are mapped, each with its co-runner.

    Rows are numbered within a table before anything is left out: all mappings under the first
    governor, then all under the next, as in the published tables. Each governor has all mappings
    under the first of its other settings, then all under the next; with co-runners, these have all
    mappings beside the first of them, then beside the next; with several engines, all mappings in
    the first, then all in the next.
    """
    # A thousand exclusions are asked for every case.
    excluded = [exclusion.factors for exclusion in study.exclude or ()]
    for table, row in enumerate(_rows(study, emulated), 1):
        choice, size, engines, threads, build, schedule, wait_policy = row
        mappings = study.mappings if choice.mappings is None else choice.mappings
        factors = (
            study.all_governors,
            study.other_settings,
            study.co_runners or (None,),
            engines,
            mappings,
        )
        for number, factor in enumerate(product(*factors), 1):
            governor, settings, co_runner, engine, mapping = factor
            case = Case(
                *(table, number, choice.app, build, size, threads),
                *(mapping, mapping.mechanism, (), governor, schedule, wait_policy),
                variables=_variables(study, choice.app, build, mapping),
                engine=engine,
                regions=choice.regions or (),
                settings=settings,
            )
            if not _is_excluded(case, excluded):
                yield choice, case, co_runner


def _is_excluded(case: Case, excluded: Sequence[Mapping[str, Collection[object]]]) -> bool:
    """Whether a case has a value of every key of an exclusion."""
    values: dict[str, object] = {
        "apps": case.app.name,
        "builds": case.build.name,
        "sizes": case.size.name,
        "threads": case.threads,
        "schedules": case.schedule,
        "wait_policies": case.wait_policy,
        "mappings": case.mapping.name,
        "governors": case.governor,
    }
    values |= {name: case.settings[name] for name in SETTING_NAMES}
    return any(
        all(values[name] in found for name, found in factors.items()) for factors in excluded
    )


def _rows(
    study: Study, emulated: bool
) -> Iterator[tuple[AppChoice, Size, tuple[Engine, ...], int, Build, str, str]]:
    """Yield what is fixed for all rows of each table."""
    for choice in study.apps:
        schedules = choice.schedules or (choice.app.usual_schedule,)
        policies = choice.wait_policies or study.wait_policies
        yield from product(
            *((choice,), choice.sizes, tables_of(study, choice, emulated=emulated)),
            choice.threads,
            *(choice.builds, schedules, policies),
        )


def _variables(
    study: Study, app: App, build: Build, mapping: StudyMapping
) -> tuple[SetVariable, ...]:
    """Return the variables of a case; of two that set the same one, the later counts."""
    return merged(
        (
            (f"app {app.name}", app.variables),
            (f"build {build.name}", build.variables),
            (f"study {study.name}", study.variables),
            (f"mapping {mapping.name}", mapping.variables),
        )
    )


def _mapped(
    case: Case, topology: Topology, tools: Iterable[str], oversubscribe: bool
) -> tuple[Case, str | None]:
    """Return the case with its mechanism and CPUs, and the reason if it cannot be mapped."""
    mapping, threads, runtime = case.mapping, case.threads, case.build.runtime
    try:
        if runtime == "none" and threads > 1:
            raise CannotMapError(f"the build {case.build.name} has no threads")
        case = replace(case, mechanism=choose_mechanism(case))
        case = case.engine.mapped(case, topology, oversubscribe=oversubscribe)
        for team in case.teams:
            check_count(case.threads_by, team.cpus, threads)
        check_mechanism(case, topology, tools)
        mechanism = mechanism_of(case.mechanism)
        case = replace(case, places=mechanism.places(topology, case))
        check_balanced(mapping, _common_cpus(case), topology)
        case = replace(case, resources=mechanism.resources(topology, case))
    except CannotMapError as problem:
        return case, str(problem)
    return case, None


def _common_cpus(case: Case) -> Iterable[Collection[int]]:
    """Return the CPUs that threads of a case share: those of a place, else of a team's mask."""
    if case.mapping.binding == "pin":
        return case.places
    return (team.mask for team in case.teams)


def _skip_reason(
    case: Case, programs: Mapping[str, Path], settings_problem: SettingsProblem
) -> str | None:
    if case.build.program not in programs:
        program = case.build.program
        if obtain := case.app.obtain:
            remedy = case.engine.obtained(obtain)
        elif is_own(program):
            remedy = case.engine.built()
        else:
            return f"the program {program} {not_found(program)}"
        return f"the program {program} was not found; {remedy}"
    checks = case.app.check.command[:1] if case.engine.runs_checks else ()
    for check in checks:
        if check not in programs:
            return f"the check command {shown(check)} {not_found(check)}"
    return settings_problem(case.governor, case.settings, case.host_cpus)
