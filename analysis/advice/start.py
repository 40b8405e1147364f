"""How a case starts its program, by one of its records: what a ready line is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from analysis.results.case_summary import CaseSummary
from analysis.results.columns import member
from base.cpulist import MAX_CPU, parse_cpulist
from configs.app import SCHEDULE_KINDS, kind_of

# The words that stand before the program, by mechanism (runners.plan.command_line.launcher_of).
_LAUNCHERS: Mapping[str | None, int] = {
    None: 0,
    "taskset": 3,
    "omp-places": 3,
    "program": 3,
    "numactl": 3,
    "likwid-pin": 6,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")
# A CPU a thread, as OMP_PLACES has them or likwid-pin.
_ORDERED = re.compile(r"\{\d{1,5}\}(?:,\{\d{1,5}\})*|\d{1,5}(?:,\d{1,5})*", re.ASCII)
MAX_WORDS = 10_000


@dataclass(frozen=True)
class Start:
    """What it takes to start the program as a case did.

    `cpus` are in the order in which pinned threads take them. `openmp` says whether the program is
    known to use OpenMP, so that places pin its threads; `counted` whether it may use it, so that
    OMP_NUM_THREADS is set. `schedule`, `wait_policy` and `governor` are None where they are not
    changed. `before` is the governor that was in force before it was
    changed. `removed` are variables that the user has set, and the runs had not. `program` has its
    arguments with it. `node_cpus` is how many CPUs the node has, 0 when that is not known.
    """

    program: tuple[str, ...]
    threads: int
    binding: str
    mechanism: str | None
    cpus: tuple[int, ...]
    openmp: bool
    counted: bool = True
    schedule: str | None = None
    wait_policy: str | None = None
    governor: str | None = None
    before: str | None = None
    removed: tuple[str, ...] = ()
    node_cpus: int = 0

    @property
    def mask(self) -> tuple[int, ...]:
        """The CPUs ascending, each once."""
        return tuple(sorted(set(self.cpus)))

    @property
    def is_shared(self) -> bool:
        """Whether two pinned threads have the same CPU."""
        return self.binding == "pin" and len(self.mask) < len(self.cpus)


def start_of(case: CaseSummary, record: Mapping[str, Any]) -> Start | None:
    """Return how a case was started, by the record of one of its runs; None where that is unclear.

    The record's fields may have any JSON values.
    """
    command, environment = _words(record.get("command")), record.get("environment")
    if case.mechanism not in _LAUNCHERS or case.binding not in ("none", "set", "pin"):
        return None
    program = command[_launcher_words(command, case.mechanism) :]
    cpus = _cpus(case, command, member(member(environment, "set"), "OMP_PLACES"))
    if case.table.threads < 1 or not program or not program[0] or not cpus:
        return None
    schedule, policy = case.table.schedule, case.table.wait_policy
    return Start(
        program=program,
        threads=case.table.threads,
        binding=case.binding,
        mechanism=case.mechanism,
        cpus=cpus,
        openmp=case.mechanism == "omp-places" or isinstance(record.get("runtime"), dict),
        schedule=schedule if kind_of(schedule) in SCHEDULE_KINDS else None,
        wait_policy=policy if policy in ("active", "passive") else None,
        removed=_removed(member(environment, "removed")),
    )


def _words(command: object) -> tuple[str, ...]:
    if not isinstance(command, list) or len(command) > MAX_WORDS:
        return ()
    # A NUL, which JSON can hold, is in no command.
    if not all(isinstance(word, str) and "\0" not in word for word in command):
        return ()
    return tuple(command)


def _launcher_words(command: Sequence[str], mechanism: str | None) -> int:
    """Return how many words stand before the program; likwid-pin may have a taskset after it."""
    words = _LAUNCHERS[mechanism]
    behind = command[words : words + 2]
    if mechanism == "likwid-pin" and len(behind) == 2:
        is_taskset = PurePath(behind[0]).name == "taskset" and behind[1] == "-c"
        return words + 3 if is_taskset else words
    return words


def _cpus(case: CaseSummary, command: Sequence[str], places: object) -> tuple[int, ...]:
    """Return the CPUs in the threads' order, which the case's sorted `cpus` do not keep."""
    ordered = {"omp-places": places, "likwid-pin": command[5] if len(command) > 5 else ""}
    text = ordered.get(str(case.mechanism)) if case.binding == "pin" else None
    if isinstance(text, str) and _ORDERED.fullmatch(text):
        cpus = tuple(map(int, re.findall(r"\d+", text)))
        return cpus if max(cpus) <= MAX_CPU else ()
    try:
        return parse_cpulist(case.cpus or "")
    except ValueError:
        return ()


def _removed(names: object) -> tuple[str, ...]:
    return tuple(
        name
        for name in (names if isinstance(names, list) else ())[:100]
        if isinstance(name, str) and _NAME.fullmatch(name)
    )
