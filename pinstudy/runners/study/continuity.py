"""Whether a study goes on as it began: its programs, variables and settings, and the node's CPUs.

An allocation without some of a case's CPUs causes no error: libgomp puts all its threads on the
others, and a cpuset cuts the mask of `taskset` without a message. During a study, CPUs may go
offline, and SMT and turbo may be switched; runs before and after that must not be mixed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import format_cpulist, named_cpus
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import sha256_of_json, write_json
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.base.text import first_of
from pinstudy.configs.inherited_variables import PATH, inherited_variables
from pinstudy.configs.results_folder import ENVIRONMENTS, PROGRAMS
from pinstudy.configs.study import CURRENT_GOVERNOR
from pinstudy.runners.host.processes import inherited_limits
from pinstudy.runners.host.program_files import ProgramFiles, ProgramReader, programs_in
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import CPUS
from pinstudy.runners.node.facts import SMT, read_switchable, smt_is_off, switchable
from pinstudy.runners.node.node import Node
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import program_arguments
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.records.kept_facts import (
    EnvironmentFacts,
    ProgramFacts,
    environment_changes,
    in_words,
    kept_facts,
    program_changes,
)
from pinstudy.runners.records.settings_of_runs import (
    SCALING,
    SCHEDULING,
    is_unlimited,
    power_limits_in,
    settings_in,
)

WAYS_ON = (
    "put it back and start the same command again to continue; or start anew with --fresh, which "
    f'keeps what was measured, as the "before" of `{PINSTUDY} compare`, or, as jobs have to, in '
    "another folder with --results"
)


@dataclass(frozen=True)
class StudyPrograms:
    """The programs of a study's cases when an attempt begins; `reader` reads them again."""

    reader: ProgramReader
    by_case: Mapping[str, tuple[Path, ...]]
    files: Mapping[tuple[Path, ...], ProgramFiles]

    @classmethod
    def of(cls, plan: Plan, reader: ProgramReader) -> StudyPrograms:
        """Read the programs of a plan's cases."""
        by_case = {
            case.case_id: programs_in(plan.programs[case.build.program], program_arguments(case))
            for case in plan.cases
        }
        files = {programs: reader.read(programs) for programs in set(by_case.values())}
        return cls(reader, by_case, files)

    def check_earlier(self, folder: Path, recorded: Mapping[str, Collection[str]]) -> None:
        """Raise UserError when a case's program is not that of its earlier records.

        `recorded` has the digests in these records by case. `folder` is the results folder, whose
        folder `programs` lists the files of each digest. Raises StudyError when a program cannot be
        read now.
        """
        for case_id, programs in self.by_case.items():
            now = self.files[programs]
            for digest in recorded.get(case_id, ()):
                if digest != now.digest:
                    before = kept_facts(folder / PROGRAMS, digest, ProgramFacts)
                    _check_known(programs[0], before, now)
                    raise UserError(
                        f"{folder}: {programs[0]} is not the program that made the runs there: "
                        f"{program_changes(before, now.facts())}; {WAYS_ON}"
                    )

    def measured(self, case: Case) -> Reading:
        """Read a case's program again; return the fields for the record of a run.

        Raises StudyError when the program has changed since the attempt began, or cannot be read
        now.
        """
        programs = self.by_case[case.case_id]
        before, now = self.files[programs], self.reader.read(programs)
        if now.digest != before.digest:
            _check_known(programs[0], before.facts(), now)
            raise StudyError(
                f"{programs[0]} has changed while the study ran: "
                f"{program_changes(before.facts(), now.facts())}; {WAYS_ON}"
            )
        absent = "; ".join(before.unavailable.values())
        return Reading({"program_digest": now.digest}, {"program_files": absent} if absent else {})

    def keep(self, folder: Path) -> None:
        """Write the programs' files and digests beside the records; raises StudyError."""
        for files in self.files.values():
            path = folder / PROGRAMS / f"{files.digest}.json"
            write_json(path, to_builtins(files.facts()), sort_keys=True)


def _check_known(program: Path, before: ProgramFacts | None, now: ProgramFiles) -> None:
    """Raise StudyError when files cannot be read that were readable before, as in a shortage."""
    known = before.unavailable if before else {}
    if new := [why for part, why in now.unavailable.items() if part not in known]:
        raise StudyError(
            f"{program}: whether it has changed cannot be told: {'; '.join(new)}; start the same "
            "command again when it can, it continues"
        )


# Among the variables, of which none has a blank in its name.
DIRECTORY = "working directory"
_ONLY_TOLD = (PATH, DIRECTORY)


@dataclass(frozen=True)
class StudyEnvironment:
    """The inherited variables and limits that count, by case, each with their digest."""

    by_case: Mapping[str, tuple[str, Mapping[str, str]]]

    @classmethod
    def of(cls, cases: Iterable[Case], launch: Callable[[Case], Launch]) -> StudyEnvironment:
        """Read the variables that `launch` gives the programs of these cases."""
        launches = {case.case_id: launch(case) for case in cases}
        beside = inherited_limits() | {DIRECTORY: str(Path.cwd())}
        kept = {
            case_id: inherited_variables(started.environment, started.set_variables) | beside
            for case_id, started in launches.items()
        }
        return cls({case_id: (sha256_of_json(found), found) for case_id, found in kept.items()})

    def digest(self, case: Case) -> str:
        """Return the digest of a case's variables, for the record of a run."""
        return self.by_case[case.case_id][0]

    def check_earlier(self, folder: Path, recorded: Mapping[str, Collection[str]]) -> None:
        """Raise UserError when a case's variables are not those of its earlier records.

        `recorded` has the digests in these records by case. `folder` is the results folder, whose
        folder `environments` has the variables of each digest. PATH may differ, because another
        terminal or sudo has another one, and programs are started by their own paths; so may the
        working directory: a footnote of the tables tells of them.
        """
        for case_id, (digest, now) in self.by_case.items():
            for other in sorted(set(recorded.get(case_id, ())) - {digest}):
                then = kept_facts(folder / ENVIRONMENTS, other, EnvironmentFacts)
                before = _without_told(then.variables) if then else None
                if changes := environment_changes(before, _without_told(now)):
                    raise UserError(
                        f"{folder}: the environment is not that of the runs there: {changes}; "
                        f"{WAYS_ON}"
                    )

    def keep(self, folder: Path) -> None:
        """Write the variables beside the records; raises StudyError."""
        for digest, variables in dict(self.by_case.values()).items():
            path = folder / ENVIRONMENTS / f"{digest}.json"
            write_json(path, {"variables": variables}, sort_keys=True)


def _without_told(variables: Mapping[str, str]) -> EnvironmentFacts:
    return EnvironmentFacts(
        {name: value for name, value in variables.items() if name not in _ONLY_TOLD}
    )


_MAX_NAMED = 6
_UPPER = SCALING["max_khz"]
# Heat lowers both: no lower limit is in force above the upper one.
_LIMITS = (_UPPER, SCALING["min_khz"])


@dataclass(frozen=True)
class EarlierSettings:
    """The values of each setting in the good runs of a case, by its `case_id`: up to two.

    A case asks for its governor and its scheduler. Others, such as the EPP and limits of frequency
    and power, it takes as they are, and somebody may change them between two attempts.

    Limits of frequency are not compared while heat has lowered them; where nobody limits the
    highest, all values that the firmware allows are the first one, in `unlimited`.

    A setting that had several values in the runs of one case is not compared: attempts agree in it,
    so that it moved while one ran, by itself (a daemon that sets power limits by temperature).
    Tables tell that it moved.
    """

    by_case: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    unlimited: dict[str, str] = field(default_factory=dict)

    def add(self, case_id: str, record: Mapping[str, Any]) -> None:
        """Add those of a run's record."""
        of_case = self.by_case.setdefault(case_id, {})
        found = settings_in(record)
        if record.get("cpu_cooling"):
            found = {name: found[name] for name in found if name not in _LIMITS}
        elif is_unlimited(record):
            found[_UPPER] = self.unlimited.setdefault(case_id, found[_UPPER])
        for name, value in found.items():
            values = of_case.setdefault(name, [])
            if len(values) < 2 and value not in values:
                values.append(value)

    def before_attempt(self, case: Case, state: Mapping[str, Any], *, cooled: bool = False) -> str:
        """Return in words which settings differ before an attempt; empty when none do.

        `state` has the fields of `pinstudy.runners.node.node.read_state`. What the case itself will
        change is not compared, and neither are limits of frequency while CPUs are `cooled`.
        """
        changed: set[str] = set()
        governor_stays = case.governor in (CURRENT_GOVERNOR, state.get("governor_read"))
        if case.settings.asked or not governor_stays:
            # The EPP and what the scheduler can do follow the governor; limits follow turbo.
            changed.update(SCALING.values(), SCHEDULING.values())
        if case.settings.asked:
            changed.update(power_limits_in(state))
        return self._differences(case, state, changed, cooled)

    def before_run(self, case: Case, state: Mapping[str, Any], *, cooled: bool = False) -> str:
        """Return the same when the case's settings are in force, power limits left out.

        These may move during an attempt.
        """
        return self._differences(case, state, power_limits_in(state), cooled)

    def _differences(
        self, case: Case, state: Mapping[str, Any], without: Container[str], cooled: bool
    ) -> str:
        earlier, now = self.by_case.get(case.case_id, {}), settings_in(state)
        unlimited = self.unlimited.get(case.case_id) if is_unlimited(state) else None
        moved = _LIMITS if cooled else ()
        if earlier.get(_UPPER) == [unlimited]:
            moved = (*moved, _UPPER)
        differ = [
            in_words(name, values[0], now[name])
            for name, values in earlier.items()
            if name in now.keys() - moved
            and name not in without
            and len(values) == 1
            and values[0] != now[name]
        ]
        return first_of(differ, _MAX_NAMED)


class Preflight:
    """Checks before each run that its case fits the node as it was when the study began."""

    def __init__(self, node: Node, set_by_cases: Collection[str] = ()) -> None:
        """Keep the affinity mask that this process has now, to restore it later.

        `set_by_cases` are the settings that the study's cases ask for, by name: it switches them
        itself, and reads them back.
        """
        self._node = node
        self._tree = Tree(node.root)
        self._own = os.sched_getaffinity(0)
        at_start = switchable(node.facts)
        self._at_start = {name: at_start[name] for name in at_start if name not in set_by_cases}

    def problem(self, case: Case) -> str | None:
        """Return why the case cannot run, with node, wanted and found; None when it can."""
        problem = self._changed() or self._offline(case) or self._not_allowed(case)
        return f"node {self._node.node_id}: {problem}" if problem else None

    def _changed(self) -> str | None:
        """Return which settings of the whole node were switched since the study began."""
        then, now = self._at_start, read_switchable(self._tree)
        changed = [
            in_words(name, then[name], now[name]) for name in then if then[name] != now[name]
        ]
        listed = "; ".join(changed)
        return f"it has changed since the study began: {listed}; put it back" if changed else None

    def _offline(self, case: Case) -> str | None:
        """Return which CPUs of the case's cores, SMT siblings included, are offline."""
        online = self._tree.cpulist(f"{CPUS}/online")
        if isinstance(online, Unavailable):
            return None
        used = set(case.all_cpus)
        cores = [core.cpus for core in self._node.topology.cores if used.intersection(core.cpus)]
        gone = sorted(used.union(*cores).difference(online))
        if not gone:
            return None
        path = f"{CPUS}/cpu{gone[0]}/online"
        back = f"echo 1 > {path}"
        if smt_is_off(self._tree):
            path, back = SMT, f"echo on > {SMT}"
        return (
            f"{named_cpus(gone)} {'is' if len(gone) == 1 else 'are'} offline, and the case runs on "
            f"CPUs {format_cpulist(case.all_cpus)} or their SMT siblings; bring back what is "
            f"missing (`{back}`)"
        )

    def _not_allowed(self, case: Case) -> str | None:
        may_use = os.sched_getaffinity(0)
        if not may_use.issuperset(case.all_cpus):
            may_use = _regained(may_use, self._own)
        missing = [cpu for cpu in sorted(set(case.all_cpus)) if cpu not in may_use]
        if missing:
            return (
                f"this process may use CPUs {format_cpulist(sorted(may_use))}, the case needs "
                f"{format_cpulist(case.all_cpus)}; missing: {format_cpulist(missing)}. "
                "In a batch job ask for the whole node (Slurm: --exclusive)"
            )
        topology = self._node.topology
        allowed = tuple(sorted(may_use.intersection(topology.online)))
        return mechanism_of(case.mechanism).problem(replace(topology, allowed=allowed), case)


def _regained(may_use: set[int], own: Iterable[int]) -> set[int]:
    """Restore this process's own affinity mask; return the CPUs that it may use then.

    Each run sets the mask, and a mask that was set while a CPU was offline lacks it for ever (Linux
    6.1 kernel/sched/core.c, __sched_setaffinity). A cpuset still cuts the restored mask.
    """
    with suppress(OSError):
        os.sched_setaffinity(0, may_use.union(own))
    return os.sched_getaffinity(0)
