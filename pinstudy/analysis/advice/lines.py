"""Ready lines: how a case started its program, as a command line of each tool. Pure.

Sources: taskset(1), likwid-pin(1), srun(1) of Slurm 22.05, mpirun(1) of Open MPI, mpiexec of MPICH
(Hydra), systemd-run(1), cpupower-frequency-set(1), OpenMP 5.2 section 21. Units are quoted as
systemd does it: systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers"; systemd.exec(5),
Environment=; systemd.service(5), "Command lines".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.node_files import cpus_of
from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import MAX_CPU, format_cpulist
from pinstudy.base.text import as_typed, word_as_typed
from pinstudy.configs.app import SCHEDULE_KINDS, kind_of
from pinstudy.configs.mapping import places_of
from pinstudy.configs.settings import (
    AS_IT_IS,
    BASE,
    HIGHEST,
    KERNEL,
    LOWEST,
    OFF,
    ON,
    SCHED_EXT,
    Settings,
    frequency_khz,
    power_w,
)
from pinstudy.configs.variables import NAME, OMP_NUM_THREADS, OWN, nested_counts

# The words that stand before the program, by mechanism (runners.plan.mechanisms).
_LAUNCHERS: Mapping[str | None, int] = {
    None: 0,
    "taskset": 3,
    "omp-places": 3,
    "program": 3,
    "numactl": 3,
    "likwid-pin": 6,
}
# A CPU a thread, as OMP_PLACES has them or likwid-pin.
_ORDERED = re.compile(r"\{\d{1,5}\}(?:,\{\d{1,5}\})*|\d{1,5}(?:,\d{1,5})*", re.ASCII)
MAX_WORDS = 10_000
_GOVERNOR = re.compile(r"[A-Za-z0-9_-]{1,40}")
# The governors that srun --cpu-freq takes alone.
_SLURM_GOVERNORS = {
    "conservative": "Conservative",
    "ondemand": "OnDemand",
    "performance": "Performance",
    "powersave": "PowerSave",
}
# Only likwid-pin pins several threads of a program without OpenMP.
_ONE_MASK = "sets one mask for all threads; only likwid-pin pins each one of this program"
_PLAIN = re.compile(r"[A-Za-z0-9_=,.:/+@{}%-]*")


@dataclass(frozen=True)
class Start:
    """The parameters with which a case started its program.

    `cpus` are in the threads' order if they are pinned. `openmp` says whether the program is known
    to use OpenMP, so that places pin its threads; `counted` whether it may use it, so that
    OpenMP's other variables are set. `others` are variables that the study's files set, and those
    that told the program its thread count where that was not OMP_NUM_THREADS (`told_by_openmp`).
    `nested` is what OMP_NUM_THREADS said of regions within others, such as `,2`.
    `schedule`, `wait_policy` and `governor` are None where they are not changed. `before` is the
    governor in force before the change. `removed` are variables that the runs did not have.
    `program` includes its arguments. `node_cpus` is the node's number of CPUs, 0 when it is
    unknown.
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
    settings: Settings = AS_IT_IS
    before: str | None = None
    removed: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    told_by_openmp: bool = True
    nested: str = ""
    node_cpus: int = 0

    @property
    def mask(self) -> tuple[int, ...]:
        """The CPUs ascending, each once."""
        return tuple(sorted(set(self.cpus)))


def start_of(case: Case, record: Mapping[str, Any]) -> Start | None:
    """Return how a case was started, by the record of one of its runs; None where that is unclear.

    The record's fields may have any JSON values.
    """
    command, environment = _words(record.get("command")), record.get("environment") or {}
    variables = environment.get("set")
    if case.key.mechanism not in _LAUNCHERS or case.key.binding not in ("none", "set", "pin"):
        return None
    program = command[_launcher_words(command, case.key.mechanism) :]
    cpus = _cpus(case, command, (variables or {}).get("OMP_PLACES"))
    if case.key.table.threads < 1 or not program or not program[0] or not cpus:
        return None
    # The program stands behind the words of the MPI launcher, which differ from one to the next.
    if not case.key.table.is_one_process:
        return None
    policy = case.key.table.wait_policy
    # As it was set; the table's name of it may lack the modifier.
    schedule = str((variables or {}).get("OMP_SCHEDULE") or case.key.table.schedule)
    return Start(
        program=program,
        threads=case.key.table.threads,
        binding=case.key.binding,
        mechanism=case.key.mechanism,
        cpus=cpus,
        openmp=case.key.mechanism == "omp-places" or isinstance(record.get("runtime"), dict),
        schedule=schedule if kind_of(schedule) in SCHEDULE_KINDS else None,
        wait_policy=policy if policy in ("active", "passive") else None,
        removed=_removed(environment.get("removed")),
        others=_others(variables),
        told_by_openmp=not isinstance(variables, dict) or OMP_NUM_THREADS in variables,
        nested=nested_counts(str((variables or {}).get(OMP_NUM_THREADS))),
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


def _cpus(case: Case, command: Sequence[str], places: object) -> tuple[int, ...]:
    """Return the CPUs in the threads' order, which the case's sorted `cpus` do not keep."""
    ordered = {"omp-places": places, "likwid-pin": command[5] if len(command) > 5 else ""}
    text = ordered.get(str(case.key.mechanism)) if case.key.binding == "pin" else None
    if isinstance(text, str) and _ORDERED.fullmatch(text):
        cpus = tuple(map(int, re.findall(r"\d+", text)))
        return cpus if max(cpus) <= MAX_CPU else ()
    return cpus_of(case.key.cpus)


def _removed(names: object) -> tuple[str, ...]:
    return tuple(
        name
        for name in (names if isinstance(names, list) else ())[:100]
        if isinstance(name, str) and NAME.fullmatch(name)
    )


def _others(variables: object) -> tuple[tuple[str, str], ...]:
    """Return the variables of a run that pinstudy does not set for every program."""
    return tuple(
        (name, value)
        for name, value in islice(variables.items() if isinstance(variables, dict) else (), 1000)
        if isinstance(value, str) and value.isprintable()
        if isinstance(name, str) and NAME.fullmatch(name) and name not in OWN
    )


@dataclass(frozen=True)
class Line:
    """A line to paste, for a tool; `text` may have several lines, or none if the tool cannot do it.

    `note` explains the line, or why there is none.
    """

    tool: str
    text: str
    note: str = ""


def no_lines(case: Case) -> tuple[Line, ...]:
    """Return that there are no lines, and why, for a case that has no start; nothing if unknown."""
    if case.key.table.is_one_process:
        return ()
    why = f"lines are of one process, and this case has {case.key.table.threads_in_words}"
    return (Line(case.key.mpi or "MPI", "", why),)


def ready_lines(start: Start) -> tuple[Line, ...]:
    """Return the lines that start the program in this way, the plainest first."""
    if start.binding == "pin" and start.mechanism == "likwid-pin" and not start.openmp:
        return (
            _environment(start),
            Line("taskset", "", _ONE_MASK),
            _likwid_pin(start),
            *(Line(tool, "", _ONE_MASK) for tool in ("srun", "mpirun", "systemd")),
            *_governor(start),
            *_settings(start),
        )
    return (
        _environment(start),
        *_taskset(start),
        *_numactl(start),
        _likwid_pin(start),
        *_slurm(start),
        *_mpirun(start),
        *_systemd(start),
        *_governor(start),
        *_settings(start),
    )


def as_started(start: Start) -> str:
    """Return the line of a case that asks for nothing: with the variables of the study alone."""
    return _env(start, dict(start.others), _program(start))


def variables_of(start: Start, *, places: bool = True) -> dict[str, str]:
    """Return the variables to set for the program; none of OpenMP's if it reads none.

    With `places` they include those that pin or confine threads, if the program is known to read
    them.
    """
    variables = dict(start.others)
    if not start.openmp and not start.counted:
        return variables
    if start.told_by_openmp:
        variables[OMP_NUM_THREADS] = f"{start.threads}{start.nested}"
    if start.schedule is not None:
        variables["OMP_SCHEDULE"] = start.schedule
    if start.wait_policy is not None:
        variables["OMP_WAIT_POLICY"] = start.wait_policy
    if places and start.openmp and start.binding != "none" and start.mechanism != "program":
        variables["OMP_PLACES"] = places_of(start.binding, start.cpus)
        variables["OMP_PROC_BIND"] = "close"
    return variables


def _pinned(start: Start) -> dict[str, str]:
    """Return the variables to set where a tool confines the program: places only to pin."""
    return variables_of(start, places=start.binding == "pin")


def _environment(start: Start) -> Line:
    if start.binding != "none" and not start.openmp and start.mechanism != "program":
        why = "the program is not known to use OpenMP, and no other variable binds threads"
        return Line("environment", "", why)
    return Line("environment", _env(start, variables_of(start), _program(start)))


def _taskset(start: Start) -> Iterator[Line]:
    if start.binding == "none":
        return
    note = "OMP_PLACES pins each thread, taskset confines what else the program does"
    yield Line(
        "taskset",
        _env(start, _pinned(start), f"{_taskset_words(start)} {_program(start)}"),
        note if start.binding == "pin" and start.openmp else "",
    )


def _numactl(start: Start) -> Iterator[Line]:
    if start.mechanism == "numactl":
        command = f"numactl --physcpubind={format_cpulist(start.mask)} -- {_program(start)}"
        yield Line("numactl", _env(start, _pinned(start), command))


def _likwid_pin(start: Start) -> Line:
    if start.binding != "pin":
        why = "it gives each thread one CPU, and here threads share a set of CPUs"
        why = "threads are left to the OS scheduler" if start.binding == "none" else why
        return Line("likwid-pin", "", why)
    if len(start.mask) < len(start.cpus):
        return Line("likwid-pin", "", "it does not put two threads on one CPU")
    if start.mechanism == "program":
        return Line("likwid-pin", "", "the program pins its threads itself")
    if any(not word or word.split() != [word] for word in start.program):
        return Line("likwid-pin", "", "it takes the program's words apart at blanks")
    ordered = ",".join(map(str, start.cpus))
    return Line(
        "likwid-pin",
        _env(
            start,
            variables_of(start, places=False),
            f"likwid-pin -q -s 0x0 -c {ordered} {_taskset_words(start)} {_program(start)}",
        ),
        "not inside a restricted set of CPUs, where it takes CPU numbers as logical ones",
    )


def _slurm(start: Start) -> Iterator[Line]:
    """Yield the step within an allocation, and the job that makes it."""
    step = _srun(start)
    yield step
    job = f"sbatch --nodes=1 --exclusive --wrap={word_as_typed(step.text)}"
    yield Line("sbatch", job, step.note)


def _srun(start: Start) -> Line:
    mask = f"mask_cpu:0x{sum(1 << cpu for cpu in start.mask):x}"
    bind = "none" if start.binding == "none" else mask
    # A mask is honoured only in a step that was given every CPU of the node.
    cpus = max(start.node_cpus, start.mask[-1] + 1)
    words = [
        *("srun", "--nodes=1", "--ntasks=1", "--exclusive"),
        *(f"--cpus-per-task={cpus}", f"--cpu-bind={bind}"),
    ]
    note = "--cpus-per-task are all CPUs of the node, not those of the program"
    if start.governor in _SLURM_GOVERNORS:
        words.append(f"--cpu-freq={_SLURM_GOVERNORS[start.governor]}")
        note += "; --cpu-freq needs CpuFreqGovernors of the site"
    command = _env(start, _pinned(start), _program(start))
    return Line("srun", " ".join([*words, command]), note)


def _mpirun(start: Start) -> Iterator[Line]:
    variables = _pinned(start)
    before = "" if start.binding == "none" else f"{_taskset_words(start)} "
    program = f"{before}{_program(start)}"
    exported = [f"-x {name}={word_as_typed(value)}" for name, value in variables.items()]
    yield Line(
        "mpirun (Open MPI)",
        _env(start, {}, " ".join(["mpirun -np 1 --bind-to none", *exported, program])),
        "one rank a node: it binds ranks to cores unless told not to",
    )
    options = [f"-genv {name} {word_as_typed(value)}" for name, value in variables.items()]
    yield Line(
        "mpiexec (MPICH, Hydra)",
        _env(start, {}, " ".join(["mpiexec -n 1 -bind-to none", *options, program])),
    )


def _systemd(start: Start) -> Iterator[Line]:
    variables = _pinned(start)
    affinity = [] if start.binding == "none" else [f"CPUAffinity={format_cpulist(start.mask)}"]
    items = " ".join(_item(f"{name}={value}") for name, value in variables.items())
    environment = [f"Environment={items}"] if variables else []
    if affinity or environment:
        yield Line("systemd unit", "\n".join(["[Service]", *affinity, *environment]))
    properties = [f"--property={line}" for line in affinity]
    options = [f"--setenv={word_as_typed(f'{n}={value}')}" for n, value in variables.items()]
    # systemd-run expands variables in arguments.
    arguments = [word_as_typed(word.replace("$", "$$")) for word in start.program[1:]]
    yield Line(
        "systemd-run",
        " ".join(
            [
                "systemd-run --quiet --wait --pipe --collect --same-dir",
                *properties,
                *options,
                as_typed(start.program[0]),
                *arguments,
            ]
        ),
        "as root; add --user to run it as a service of your own, and other variables it needs by "
        "--setenv",
    )


def _governor(start: Start) -> Iterator[Line]:
    """Yield how to set the governor and restore it; nothing where it does not change."""
    name, before = start.governor, start.before
    if name is None or not _GOVERNOR.fullmatch(name):
        return
    yield Line(
        "governor",
        f"{PINSTUDY} tune --governor {name}",
        f"as root; undo it with `{PINSTUDY} restore`. It also switches off what interrupts "
        "programs (NMI watchdog, NUMA balancing, automatic task groups); --dry-run shows what",
    )
    back = f"undo it with `cpupower frequency-set -g {before}`"
    known = before is not None and _GOVERNOR.fullmatch(before)
    yield Line(
        "governor by cpupower",
        f"cpupower frequency-set -g {name}",
        f"as root; {back}" if known else "as root; note first what `cpupower frequency-info` says",
    )


def _settings(start: Start) -> Iterator[Line]:
    """Yield how to have each setting beside the governor; nothing where they do not change."""
    for name, value in start.settings.pairs:
        known = _LINES_OF_SETTINGS.get(name)
        line = known(value) if known else None
        yield line or Line(name, "", f"set {name} to {value}; no line is known for it")


def _scheduler(value: str) -> Line | None:
    if value == KERNEL:
        return Line(SCHED_EXT, "", "end the scheduler of sched_ext, if one is loaded")
    return Line(
        SCHED_EXT,
        " ".join(map(word_as_typed, value.split())),
        "as root, in another terminal: it is in force as long as it runs, and Ctrl-C ends it",
    )


def _switch(name: str, command: str, note: str = "") -> Callable[[str], Line | None]:
    """Return what makes the line of a switch; the command has 1 for {on}, 0 for {off}."""

    def line(value: str) -> Line | None:
        if value not in (ON, OFF):
            return None
        digits = {"on": int(value == ON), "off": int(value == OFF)}
        return Line(name, command.format(**digits), _NOTE_FIRST + note.format(**digits))

    return line


def _epp(value: str) -> Line:
    return Line(
        "epp",
        f"echo {word_as_typed(value)} | tee {_CPUFREQ}/energy_performance_preference",
        f"{_NOTE_FIRST}; a change of the governor may change it",
    )


def _frequency_limit(name: str, kernel_file: str) -> Callable[[str], Line | None]:
    def line(value: str) -> Line | None:
        khz = frequency_khz(value)
        if khz is not None:
            return Line(name, f"echo {khz} | tee {_CPUFREQ}/{kernel_file}", _NOTE_FIRST)
        if value not in _OWN_FREQUENCIES:
            return None
        copy = f"cat $cpu/{_OWN_FREQUENCIES[value]} > $cpu/{kernel_file}"
        return Line(name, f"for cpu in {_CPUFREQ}; do {copy}; done", _NOTE_FIRST)

    return line


def _power_limit(value: str) -> Line | None:
    try:
        microwatts = round(power_w(value) * 1e6)
    except (ValueError, OverflowError):
        return None
    write = f"echo {microwatts} > $zone/constraint_0_power_limit_uw"
    # Of both interfaces to a package the lower limit counts.
    zones = "/sys/class/powercap/intel-rapl:? /sys/class/powercap/intel-rapl-mmio:?"
    return Line(
        "power_limit",
        f"for zone in {zones}; do grep -qs package $zone/name && {write}; done",
        _NOTE_FIRST,
    )


_NOTE_FIRST = "as root; note first what it is"
_CPUFREQ = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq"
# The kernel's files of each CPU's own frequencies.
_OWN_FREQUENCIES = {HIGHEST: "cpuinfo_max_freq", BASE: "base_frequency", LOWEST: "cpuinfo_min_freq"}
# Paths as in the files of pinstudy/runners/settings. What has no line here is told in words.
_LINES_OF_SETTINGS: Mapping[str, Callable[[str], Line | None]] = {
    "epp": _epp,
    "max_frequency": _frequency_limit("max_frequency", "scaling_max_freq"),
    "min_frequency": _frequency_limit("min_frequency", "scaling_min_freq"),
    "turbo": _switch(
        "turbo",
        "echo {off} > /sys/devices/system/cpu/intel_pstate/no_turbo",
        "; under other drivers: echo {on} > /sys/devices/system/cpu/cpufreq/boost",
    ),
    "power_limit": _power_limit,
    "cache_aware": _switch(
        "cache_aware", "echo {on} > /sys/kernel/debug/sched/llc_balancing/enabled"
    ),
    "energy_aware": _switch("energy_aware", "sysctl kernel.sched_energy_aware={on}"),
    "itmt": _switch(
        "itmt",
        "sysctl kernel.sched_itmt_enabled={on}",
        "; since Linux 6.13: echo {on} > /sys/kernel/debug/x86/sched_itmt_enabled",
    ),
    SCHED_EXT: _scheduler,
}


def _program(start: Start) -> str:
    return " ".join([as_typed(start.program[0]), *map(word_as_typed, start.program[1:])])


def _taskset_words(start: Start) -> str:
    return f"taskset -c {format_cpulist(start.mask)}"


def _env(start: Start, variables: Mapping[str, str], command: str) -> str:
    """Return a command behind `env`, which also unsets what the runs did not have, where needed."""
    words = [
        *(f"-u {name}" for name in start.removed if name not in variables),
        *(f"{name}={word_as_typed(value)}" for name, value in variables.items()),
    ]
    if not words:
        return command
    if "=" in start.program[0] and command.startswith(as_typed(start.program[0])):
        # env(1) would take its name for one more variable.
        command = f"""sh -c 'exec "$0" "$@"' {command}"""
    return " ".join(["env", *words, command])


def _item(text: str) -> str:
    """Return one item of a list in a unit: specifiers doubled, quoted where it has to be."""
    text = text.replace("%", "%%")
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
