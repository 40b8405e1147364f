"""Looks up the apps and mappings that a study names, and finds what does not fit together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import Any

from pinstudy.base.errors import ConfigError, Problem, UserError
from pinstudy.base.text import shown, unknown_word
from pinstudy.configs.app import MPI_LAUNCHERS, App, Build, schedule_problem
from pinstudy.configs.decoding import Mistake, Mistakes, Path
from pinstudy.configs.mapping import (
    KIND_OF_SELECTION,
    UNPINNED,
    Mapping,
    never_pins_problem,
    unknown_mapping,
)
from pinstudy.configs.repetitions import Repetitions
from pinstudy.configs.settings import GOVERNOR, NAMES, SettingFactors, combinations
from pinstudy.configs.study import (
    MAX_REGIONS,
    NO_CO_RUNNER,
    SEQUENTIAL,
    TRACE,
    AppChoice,
    CoRunner,
    Exclusion,
    Study,
)
from pinstudy.configs.variables import thread_count_mistakes

# A million runs of a second take 12 days; a longer study is a mistake.
MAX_RUNS = 1_000_000
# Cases are planned, shown and kept in memory: some 5000 of them take a second and 10 MB.
MAX_CASES = 100_000

# Keys that one engine requires and the others refuse: the engine, what the key is for, an example.
_OF_AN_ENGINE = {
    "vm": ("vm", "guests", ""),
    "vcpu_mapping": ("vm", "guests", ""),
    "batch": ("batch", "batch systems", ", such as batch: {site: example-slurm}"),
}

# What is done on nodes only, by key, and the mistake where runs are made in guests.
_NOT_IN_GUESTS = {
    "prove": "instruments are the node's, and engine is vm",
    "latency": "latency is measured on the node, and engine is vm",
    "bound": "cores are the node's, and engine is vm",
    "regions": "regions are not measured in guests; write engine: local",
    "co_runners": "co-runners run on the node itself; write engine: local",
    "trace": "threads in guests have no traces; write engine: local",
    "ranks": "ranks are started on the node itself; write engine: local",
    "decide": "the runs of a guest's boot are no blocks of all cases; engine is vm",
    "writes": "app {app!r} writes files, which are not read in guests; engine: local",
    "check": "app {app!r} is checked by a command, which is not run for guests; write "
    "engine: local, or a check without command",
}


@dataclass
class Resolver:
    """Looks up the apps and mappings that a study names, and collects every mistake.

    `data` are a study's valid values by field; `keys` are all keys of its file. `find_app` returns
    the app of a name or file, and raises UserError when there is none; `known` are the mappings
    that have a name. `mistakes` are (path in the study's file, message); `elsewhere` are problems
    of other files.
    """

    data: dict[str, Any]
    keys: Collection[str]
    find_app: Callable[[str], App]
    known: dict[str, Mapping]
    mistakes: Mistakes = field(default_factory=list)
    elsewhere: list[Problem] = field(default_factory=list)

    @property
    def engine(self) -> str | None:
        """The study's engine; None when the file names an unknown one."""
        return self.data.get("engine", None if "engine" in self.keys else Study.engine)

    @property
    def in_guests(self) -> bool:
        """Whether the study's runs are made in guests."""
        return self.engine == "vm"

    def resolve(self) -> dict[str, Any]:
        """Return the apps and mappings that were found: all of them if there are no mistakes."""
        choices = self._choices()
        vcpu_mappings = self._vcpu_mappings()
        mappings = self._study_mappings(choices)
        co_runners = self._co_runners(choices)
        apps = [choice.app for choice in choices] + [
            runner.app for runner in co_runners or () if runner
        ]
        self._check_variables(apps)
        self._check_bound(choices)
        rows = 0
        for choice in choices:
            its_mappings = mappings if choice.mappings is None else choice.mappings
            # A case of each core kind may be added to tell its speed.
            added = len(KIND_OF_SELECTION) if self.data.get("bound") else 0
            rows += self._count_tables(choice) * (len(its_mappings) + added)
        guests = len(vcpu_mappings) if self.in_guests else 1
        # A table with mistakes is none yet.
        factors = self.data.get("settings")
        factors = factors if isinstance(factors, SettingFactors) else None
        governors = (factors and factors.governor) or self.data.get("governors", Study.governors)
        # Each co-runner also runs alone.
        alone = sum(co_runner is not None for co_runner in co_runners or ())
        cases = rows * guests * len(co_runners or (None,)) + alone
        cases *= len(governors) * len(combinations(factors))
        runs = cases * (self._repetitions() + self.data.get("warmup", Study.warmup))
        if cases > MAX_CASES:
            self._mistake((), f"the study asks for {cases} cases; expected at most {MAX_CASES}")
        elif runs > MAX_RUNS:
            request = f"the study asks for {runs} runs, warm-up runs included"
            self._mistake((), f"{request}; expected at most {MAX_RUNS}")
        found = {"apps": choices, "mappings": mappings, "vcpu_mappings": vcpu_mappings}
        return found if co_runners is None else found | {"co_runners": co_runners}

    def _repetitions(self) -> int:
        """Return how often a case is run at most; 1 where the file's value is invalid."""
        rule = self.data.get("repetitions")
        if not isinstance(rule, Repetitions):
            return 1
        if rule.decide:
            if self.data.get("order", Study.order) == SEQUENTIAL:
                message = f"comparisons are decided block by block; write order: {Study.order}"
                self._mistake(("order",), message)
            self._refuse_in_guests("decide", ("engine",))
        return rule.most

    def _vcpu_mappings(self) -> tuple[Mapping, ...]:
        """Return the mappings of the guest's CPUs; none unless the engine is vm."""
        self._check_engine()
        if not self.in_guests:
            return ()
        for key in ("prove", "latency", "bound"):
            if self.data.get(key, False) is not False:
                self._refuse_in_guests(key, (key,))
        if TRACE in self.data.get("collect", ()):
            self._refuse_in_guests(TRACE, ("collect",))
        items = self.data.get("vcpu_mappings", ())
        return self._mappings(items, ("vcpu_mapping",), _mechanism_problem)

    def _check_engine(self) -> None:
        """Refuse a missing key that the engine requires, and a key of another engine."""
        engine = self.engine
        for key, (needed, purpose, example) in _OF_AN_ENGINE.items():
            if engine == needed and key not in self.keys:
                self._mistake(("engine",), f"engine {engine} needs the key {key!r}{example}")
            elif engine not in (needed, None) and key in self.keys:
                instead = "beside it" if engine == "local" else f"instead of {engine}"
                self._mistake((key,), f"{key!r} is for {purpose}: write engine: {needed} {instead}")

    def _study_mappings(self, choices: tuple[AppChoice, ...]) -> tuple[Mapping, ...]:
        """Return the mappings of all choices that have none of their own.

        The default is UNPINNED, which is usual in a guest.
        """
        shared = [choice for choice in choices if choice.mappings is None]
        on_nodes = self.engine is not None and not self.in_guests
        if on_nodes and "mappings" not in self.keys and (shared or not choices):
            self._mistake((), "'mappings' is missing; expected the names of mappings")
        if choices and not shared and "mappings" in self.keys:
            self._mistake(("mappings",), "every entry of 'apps' has mappings of its own")
        threads = tuple(count for choice in shared for count in choice.threads)
        items = self.data.get("mappings", (UNPINNED,))
        by_any = {name for choice in shared for name in choice.app.threads_by_any}
        ranks = not shared or any(choice.ranks for choice in shared)
        refuse = partial(_mapping_problem, threads=threads, threads_by=by_any, ranks=ranks)
        return self._mappings(items, ("mappings",), refuse)

    def _mistake(self, path: Path, message: str) -> None:
        self.mistakes.append((path, message))

    def _refuse_in_guests(self, key: str, path: Path, app: str = "") -> None:
        if self.in_guests:
            self._mistake(path, _NOT_IN_GUESTS[key].format(app=app))

    def _choices(self) -> tuple[AppChoice, ...]:
        choices: list[AppChoice] = []
        by_name: dict[str, App] = {}
        rows: set[tuple[object, ...]] = set()
        for index, entry in enumerate(self.data.get("apps", ())):
            path: Path = ("apps", index)
            if not isinstance(entry, dict):
                continue
            app = self._app(entry.get("app"), (*path, "app"))
            if app is None:
                continue
            if by_name.setdefault(app.name, app) != app:
                self._mistake((*path, "app"), f"another app is already named {app.name!r}")
            self._check_for_guests(entry, app, (*path, "app"))
            choice = self._choice(entry, app, path)
            choices.append(choice)
            if len(rows) + self._count_tables(choice) > MAX_CASES:
                # So many cases are a mistake by themselves, and their rows would fill the memory.
                continue
            again = rows & (new := set(product([app.name], *self._table_parts(choice))))
            if again:
                *parts, _policy = min(again, key=str)
                row = " ".join(str(part) for part in parts if part)
                self._mistake(path, f"asks again for what an entry before it asks for: {row}")
            rows |= new
        return tuple(choices)

    def _table_parts(self, choice: AppChoice) -> tuple[Sequence[object], ...]:
        """Return what distinguishes the tables of an app."""
        builds = [build.name for build in choice.builds]
        sizes = [size.name for size in choice.sizes]
        of_study = self.data.get("wait_policies", Study.wait_policies)
        policies = choice.wait_policies or of_study
        ranks = choice.ranks or [""]
        return builds, sizes, ranks, choice.threads, choice.schedules or [""], policies

    def _count_tables(self, choice: AppChoice) -> int:
        return prod(map(len, self._table_parts(choice)))

    def _check_bound(self, choices: Collection[AppChoice]) -> None:
        """Refuse to add cases that tell the speeds of cores where no team is told anything."""
        teams = (
            not choice.ranks
            and max(choice.threads, default=2) > 1
            and any(build.runtime != "none" for build in choice.builds)
            for choice in choices
        )
        if self.data.get("bound") and choices and not any(teams):
            message = "no entry of 'apps' has a team of several threads; ranks have no bound"
            self._mistake(("bound",), message)

    def _check_variables(self, apps: Iterable[App]) -> None:
        """Refuse variables of the study that tell an app its thread count."""
        by_any = {name for app in apps for name in app.threads_by_any}
        for step, message in thread_count_mistakes(self.data.get("variables"), by_any):
            self._mistake(("variables", *step), message)

    def _check_for_guests(self, entry: dict[str, Any], app: App, path: Path) -> None:
        """Refuse what is not done in guests: a check by a command, and reading written files."""
        if app.writes:
            self._refuse_in_guests("writes", path, app.name)
        if app.check.command:
            written_out: Path = ("check", "command") if isinstance(entry["app"], App) else ()
            self._refuse_in_guests("check", (*path, *written_out), app.name)

    def _choice(self, entry: dict[str, Any], app: App, path: Path) -> AppChoice:
        builds = self._named(entry, "builds", app.builds, app, path)
        threads = tuple(count for count in entry.get("threads", ()) if count is not None)
        for build in builds:
            if build.runtime == "none" and max(threads, default=1) > 1:
                self._mistake(
                    (*path, "threads"),
                    f"build {build.name!r} runs one thread; ask for it in an entry of its "
                    "own, with threads 1",
                )
        for index, schedule in enumerate(entry.get("schedules", ())):
            problem = schedule_problem(app, schedule) if schedule else None
            if problem:
                self._mistake((*path, "schedules", index), problem)
        regions = tuple(filter(None, entry.get("regions", ()))) or None
        self._check_regions(app, regions or (), (*path, "regions"))
        ranks = tuple(count for count in entry.get("ranks", ()) if count is not None) or None
        if "ranks" in entry:
            self._check_ranks(builds, (*path, "ranks"))
        mappings = None
        if "mappings" in entry:
            by_any = app.threads_by_any
            refuse = partial(
                _mapping_problem, threads=threads, threads_by=by_any, ranks="ranks" in entry
            )
            mappings = self._mappings(entry["mappings"], (*path, "mappings"), refuse)
        return AppChoice(
            app=app,
            builds=builds,
            sizes=self._named(entry, "sizes", app.sizes, app, path),
            threads=threads,
            ranks=ranks,
            schedules=tuple(filter(None, entry.get("schedules", ()))),
            wait_policies=tuple(filter(None, entry.get("wait_policies", ()))) or None,
            mappings=mappings,
            oversubscribe=entry.get("oversubscribe", False),
            regions=regions,
        )

    def _check_regions(self, app: App, regions: tuple[str, ...], path: Path) -> None:
        """Refuse regions that the app does not mark, too many of them, and those in guests."""
        for index, name in enumerate(regions):
            if name not in app.marked_regions:
                problem = unknown_word("region", name, app.marked_regions, f" of app {app.name!r}")
                self._mistake((*path, index), problem)
        if len(regions) > MAX_REGIONS:
            self._mistake(path, f"{len(regions)} regions; expected at most {MAX_REGIONS}")
        if regions:
            self._refuse_in_guests("regions", path)

    def _co_runners(self, choices: tuple[AppChoice, ...]) -> tuple[CoRunner | None, ...] | None:
        """Return the co-runners, None for a program alone; None where the study has no such key."""
        if "co_runners" not in self.keys:
            return None
        self._refuse_in_guests("co_runners", ("co_runners",))
        apps = {choice.app.name: choice.app for choice in choices}
        co_runners: dict[str, CoRunner | None] = {}
        for index, entry in enumerate(self.data.get("co_runners", ())):
            path: Path = ("co_runners", index)
            if entry == NO_CO_RUNNER:
                co_runners[NO_CO_RUNNER] = None
            elif isinstance(entry, dict) and (runner := self._co_runner(entry, apps, path)):
                words = (runner.app.name, runner.build.name, runner.size.name, runner.threads)
                # Mappings that are written out may share a name, which is all that tables show.
                name = " ".join(map(str, (*words, runner.mapping.name)))
                if name in co_runners:
                    self._mistake(path, f"co-runner {shown(name)} is repeated")
                co_runners[name] = runner
        return tuple(co_runners.values())

    def _co_runner(
        self, entry: dict[str, Any], apps: dict[str, App], path: Path
    ) -> CoRunner | None:
        """Return the co-runner of an entry; None where a part of it is missing or not found."""
        app = self._app(entry.get("app"), (*path, "app"))
        if app is None:
            return None
        if apps.setdefault(app.name, app) != app:
            self._mistake((*path, "app"), f"another app is already named {app.name!r}")
        build = self._one_named(entry.get("build"), "build", app.builds, app, (*path, "build"))
        size = self._one_named(entry.get("size"), "size", app.sizes, app, (*path, "size"))
        threads = entry.get("threads")
        if threads and threads > 1 and build and build.runtime == "none":
            self._mistake((*path, "threads"), f"build {build.name!r} runs one thread")
        refuse = partial(
            _mapping_problem,
            threads=(threads,) if threads else (),
            threads_by=app.threads_by_any,
            ranks=False,
        )
        mapping = self._mapping(entry.get("mapping"), (*path, "mapping"), refuse)
        if not (build and size and threads and mapping):
            return None
        return CoRunner(app, build, size, threads, mapping)

    def _check_ranks(self, builds: tuple[Build, ...], path: Path) -> None:
        """Refuse ranks of builds that nothing starts as ranks, and ranks in guests."""
        self._refuse_in_guests("ranks", path)
        for build in builds:
            if build.mpi is None:
                known = ", ".join(MPI_LAUNCHERS)
                self._mistake(
                    path,
                    f"build {build.name!r} does not say what starts its ranks; give it the key "
                    f"'mpi' with one of: {known}",
                )

    def _named(
        self, entry: dict[str, Any], key: str, known: dict[str, Any], app: App, path: Path
    ) -> tuple[Any, ...]:
        """Return the app's builds or sizes that the entry names."""
        named = (
            self._one_named(name, key[:-1], known, app, (*path, key, index))
            for index, name in enumerate(entry.get(key, ()))
        )
        return tuple(part for part in named if part is not None)

    def _one_named(
        self, name: str | None, noun: str, known: dict[str, Any], app: App, path: Path
    ) -> Any:  # noqa: ANN401 - a Build or a Size
        """Return the app's build or size of a name; None where there is none."""
        if name is not None and name not in known:
            self._mistake(path, unknown_word(noun, name, known, f" to app {app.name!r}"))
        return known.get(name) if name is not None else None

    def _mappings(
        self, items: Iterable[object], place: Path, problem: Callable[[Mapping], str | None]
    ) -> tuple[Mapping, ...]:
        """Return the mappings that the list at a place names; `problem` refuses some."""
        by_name: dict[str, Mapping] = {}
        for index, item in enumerate(items):
            mapping = self._mapping(item, (*place, index), problem)
            if mapping is None:
                continue
            if mapping.name in by_name:
                self._mistake((*place, index), f"mapping {shown(mapping.name)} is repeated")
            by_name[mapping.name] = mapping
        return tuple(by_name.values())

    def _mapping(
        self, item: object, path: Path, problem: Callable[[Mapping], str | None]
    ) -> Mapping | None:
        """Return the mapping that an item names, or the item itself where it is written out."""
        if isinstance(item, str) and item not in self.known:
            self._mistake(path, unknown_mapping(item, self.known))
        mapping = self.known.get(item) if isinstance(item, str) else item
        if not isinstance(mapping, Mapping):
            return None
        if reason := problem(mapping):
            self._mistake(path, reason)
        return mapping

    def _app(self, item: object, path: Path) -> App | None:
        """Return the app that an item names, or the item itself where it is written out."""
        if not isinstance(item, str):
            return item if isinstance(item, App) else None
        try:
            return self.find_app(item)
        except ConfigError as error:
            self.elsewhere.extend(error.problems)
        except UserError as error:
            self._mistake(path, str(error))
        return None


def _mapping_problem(
    mapping: Mapping, threads: tuple[int, ...], threads_by: Collection[str], *, ranks: bool
) -> str | None:
    """Return why a mapping cannot be one of apps with these thread counts, or None.

    `ranks` is whether any of the apps has ranks.
    """
    if mapping.ranks_by and not ranks:
        return (
            f"mapping {shown(mapping.name)} divides CPUs among ranks, of which there are none; "
            "give an entry of 'apps' the key 'ranks'"
        )
    for _, message in thread_count_mistakes(mapping.variables, threads_by):
        return f"mapping {shown(mapping.name)}: {message}"
    return never_pins_problem(mapping, threads)


def _mechanism_problem(mapping: Mapping) -> str | None:
    """Return why a mapping cannot be one of a guest's CPUs, or None."""
    if mapping.variables:
        return (
            f"mapping {shown(mapping.name)} sets variables, which virtual CPUs do not have; set "
            "them in 'mappings'"
        )
    if mapping.mechanism is None:
        return None
    return (
        f"mapping {shown(mapping.name)} names the mechanism {mapping.mechanism}; pinstudy itself "
        "places virtual CPUs"
    )


_NOUNS = {
    "apps": "app",
    "builds": "build",
    "sizes": "size",
    "threads": "thread count",
    "schedules": "schedule",
    "mappings": "mapping",
    "wait_policies": "wait policy",
    "governors": GOVERNOR,
}
_KEYS = {"wait_policies": "wait_policy"}


def exclusion_mistakes(values: dict[str, Any]) -> Iterator[Mistake]:
    """Yield the words of a study's exclusions that none of its cases has, with their places.

    `values` are those of the study by field, its apps and mappings looked up.
    """
    known = _values_of_cases(values)
    exclusions: Sequence[Exclusion] = values.get("exclude") or ()
    for index, exclusion in enumerate(exclusions):
        for name, words in exclusion.factors.items():
            path = _path(exclusion, name)
            for word in words:
                if word not in known[name]:
                    message = unknown_word(
                        _NOUNS.get(name, name), str(word), known[name].values(), " to this study"
                    )
                    yield ("exclude", index, *path), message


def _path(exclusion: Exclusion, name: str) -> tuple[str, ...]:
    if name in NAMES or (name == "governors" and exclusion.governors is None):
        return "settings", GOVERNOR if name == "governors" else name
    return (_KEYS.get(name, name),)


def _values_of_cases(values: dict[str, Any]) -> dict[str, dict[Any, str]]:
    """Return what cases have of each key, each value with how it is written."""
    choices: Sequence[AppChoice] = values["apps"]
    factors: SettingFactors = values.get("settings") or SettingFactors()
    governors = factors.governor or values.get("governors", Study.governors)
    of_study = values.get("wait_policies", Study.wait_policies)
    named: dict[str, Iterable[Any]] = {
        "apps": (choice.app.name for choice in choices),
        "builds": (build.name for choice in choices for build in choice.builds),
        "sizes": (size.name for choice in choices for size in choice.sizes),
        "threads": (count for choice in choices for count in choice.threads),
        "schedules": (
            schedule
            for choice in choices
            for schedule in choice.schedules or (choice.app.usual_schedule,)
        ),
        "mappings": (
            mapping.name
            for choice in choices
            for mapping in (values["mappings"] if choice.mappings is None else choice.mappings)
        ),
        "wait_policies": (
            policy for choice in choices for policy in choice.wait_policies or of_study
        ),
        "governors": governors,
    }
    named |= {name: getattr(factors, name) or () for name in NAMES}
    return {name: {value: str(value) for value in found} for name, found in named.items()}
