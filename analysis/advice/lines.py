"""Ready lines: a case's thread count and placement, in the words of each tool. Pure.

Sources: taskset(1), likwid-pin(1), srun(1) of Slurm 22.05, mpirun(1) of Open MPI, mpiexec of MPICH
(Hydra), systemd-run(1), cpupower-frequency-set(1), OpenMP 5.2 section 21. Units are quoted as
systemd does it: systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers"; systemd.exec(5),
Environment=; systemd.service(5), "Command lines".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.advice.start import Start
from base.cpulist import format_cpulist
from base.text import as_typed, word_as_typed
from runners.plan.command_line import places_of

_GOVERNOR = re.compile(r"[A-Za-z0-9_-]{1,40}")
# The governors that srun --cpu-freq takes alone.
_OF_SLURM = {
    "conservative": "Conservative",
    "ondemand": "OnDemand",
    "performance": "Performance",
    "powersave": "PowerSave",
}
# Nothing but likwid-pin pins several threads of a program without OpenMP.
_NOT_ALONE = "sets one mask for all threads; only likwid-pin pins each one of this program"
_PLAIN = re.compile(r"[A-Za-z0-9_=,.:/+@{}%-]*")


@dataclass(frozen=True)
class Line:
    """A line to paste, for a tool; `text` is empty where the tool cannot do it.

    `text` may have several lines. `note` is what has to be known of it, or why there is none.
    """

    tool: str
    text: str
    note: str = ""


def ready_lines(start: Start) -> tuple[Line, ...]:
    """Return the lines that start the program in this way, the plainest first."""
    if start.binding == "pin" and start.mechanism == "likwid-pin" and not start.openmp:
        return (
            _environment(start),
            Line("taskset", "", _NOT_ALONE),
            _likwid_pin(start),
            *(Line(tool, "", _NOT_ALONE) for tool in ("srun", "mpirun", "systemd")),
            *_governor(start),
        )
    return (
        _environment(start),
        *_taskset(start),
        *_numactl(start),
        _likwid_pin(start),
        _srun(start),
        *_mpirun(start),
        *_systemd(start),
        *_governor(start),
    )


def variables_of(start: Start, *, places: bool = True) -> dict[str, str]:
    """Return the variables of OpenMP to set for the program; none if it reads none.

    With `places` they include those that pin or confine threads, if the program is known to read
    them.
    """
    if not start.openmp and not start.counted:
        return {}
    variables = {"OMP_NUM_THREADS": str(start.threads)}
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
    if start.is_shared:
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
    if start.governor in _OF_SLURM:
        words.append(f"--cpu-freq={_OF_SLURM[start.governor]}")
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
    given = [f"-genv {name} {word_as_typed(value)}" for name, value in variables.items()]
    yield Line(
        "mpiexec (MPICH, Hydra)",
        _env(start, {}, " ".join(["mpiexec -n 1 -bind-to none", *given, program])),
    )


def _systemd(start: Start) -> Iterator[Line]:
    variables = _pinned(start)
    affinity = [] if start.binding == "none" else [f"CPUAffinity={format_cpulist(start.mask)}"]
    items = " ".join(_item(f"{name}={value}") for name, value in variables.items())
    environment = [f"Environment={items}"] if variables else []
    if affinity or environment:
        yield Line("systemd unit", "\n".join(["[Service]", *affinity, *environment]))
    properties = [f"--property={line}" for line in affinity]
    given = [f"--setenv={word_as_typed(f'{n}={value}')}" for n, value in variables.items()]
    # systemd-run expands variables in arguments.
    arguments = [word_as_typed(word.replace("$", "$$")) for word in start.program[1:]]
    yield Line(
        "systemd-run",
        " ".join(
            [
                "systemd-run --quiet --wait --pipe --collect --same-dir",
                *properties,
                *given,
                as_typed(start.program[0]),
                *arguments,
            ]
        ),
        "as root; add --user to run it as a service of your own, and other variables it needs by "
        "--setenv",
    )


def _governor(start: Start) -> Iterator[Line]:
    """Yield how the governor is set before, and put back after; nothing where it stays."""
    name, before = start.governor, start.before
    if name is None or not _GOVERNOR.fullmatch(name):
        return
    yield Line(
        "governor",
        f"pinstudy tune --governor {name}",
        "as root; undo it with `pinstudy restore`. It also switches off what interrupts programs "
        "(NMI watchdog, NUMA balancing, automatic task groups); --dry-run shows what",
    )
    back = f"undo it with `cpupower frequency-set -g {before}`"
    known = before is not None and _GOVERNOR.fullmatch(before)
    yield Line(
        "governor by cpupower",
        f"cpupower frequency-set -g {name}",
        f"as root; {back}" if known else "as root; note first what `cpupower frequency-info` says",
    )


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
