"""How a case starts its program, read from one of its records: what a ready line is made of."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, TypeGuard

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
_PLACES = re.compile(r"\{\d{1,5}\}(?:,\{\d{1,5}\})*", re.ASCII)
_LIST = re.compile(r"\d{1,5}(?:,\d{1,5})*", re.ASCII)
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

    def among(self, threads: Collection[int], node_cpus: int = 0) -> Start:
        """Return the start with what the thread counts of all cases, and the node's CPUs, tell."""
        return replace(self, counted=self.openmp or max(threads) > 1, node_cpus=node_cpus)

    def without_schedule(self) -> Start:
        """Return the start without its schedule, for races in which all cases have the same one."""
        return replace(self, schedule=None)

    def under(self, governor: str | None, before: str | None) -> Start:
        """Return the start with a governor that has to be set, and the one to put back."""
        return replace(self, governor=governor, before=before)


def start_of(record: Mapping[str, Any]) -> Start | None:
    """Return how the record's run was started; None when the record does not tell."""
    command, mechanism = _words(record.get("command")), record.get("mechanism")
    threads, binding = record.get("threads"), record.get("binding")
    if not (mechanism is None or isinstance(mechanism, str)) or mechanism not in _LAUNCHERS:
        return None
    if binding not in ("none", "set", "pin"):
        return None
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        return None
    program = command[_launcher_words(command, mechanism) :]
    cpus = _cpus(record, command, mechanism)
    if not program or not program[0] or not cpus:
        return None
    environment = record.get("environment")
    schedule, policy = record.get("schedule"), record.get("wait_policy")
    return Start(
        program=program,
        threads=threads,
        binding=binding,
        mechanism=mechanism,
        cpus=cpus,
        openmp=mechanism == "omp-places" or isinstance(record.get("runtime"), dict),
        schedule=schedule if _is_schedule(schedule) else None,
        wait_policy=policy if policy in ("active", "passive") else None,
        removed=_removed(environment if isinstance(environment, dict) else {}),
    )


def _is_schedule(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and kind_of(value) in SCHEDULE_KINDS


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


def _cpus(
    record: Mapping[str, Any], command: Sequence[str], mechanism: str | None
) -> tuple[int, ...]:
    """Return the CPUs in the threads' order, which the record's sorted `cpus` does not keep."""
    if record.get("binding") == "pin":
        environment = record.get("environment")
        variables = environment.get("set") if isinstance(environment, dict) else None
        places = variables.get("OMP_PLACES") if isinstance(variables, dict) else None
        if mechanism == "omp-places" and isinstance(places, str) and _PLACES.fullmatch(places):
            return _numbers(places)
        if mechanism == "likwid-pin" and len(command) > 5 and _LIST.fullmatch(command[5]):
            return _numbers(command[5])
    try:
        return parse_cpulist(str(record.get("cpus") or ""))
    except ValueError:
        return ()


def _numbers(text: str) -> tuple[int, ...]:
    cpus = tuple(int(number) for number in re.findall(r"\d+", text))
    return cpus if max(cpus) <= MAX_CPU else ()


def _removed(environment: Mapping[str, Any]) -> tuple[str, ...]:
    names = environment.get("removed")
    return tuple(
        name
        for name in (names if isinstance(names, list) else ())[:100]
        if isinstance(name, str) and _NAME.fullmatch(name)
    )
