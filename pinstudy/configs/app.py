"""What an app is: a file of `pinstudy/configs/apps/`, or the same written out in a study."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, ClassVar

from pinstudy.base.text import nearest, shown, unknown_word
from pinstudy.configs.decoding import NO_KEY, InvalidError, Mistake, Path, called, written
from pinstudy.configs.values import (
    DIRECTIONS,
    RegionName,
    Text,
    command_line,
    count,
    duration,
    label,
    number_range,
    regex,
    text,
    word,
)
from pinstudy.configs.variables import BY_ARGUMENTS, ThreadsBy, Variables, thread_count_mistakes

OPENMP_RUNTIMES = ("libgomp", "libomp")
RUNTIMES = ("none", "pthreads", *OPENMP_RUNTIMES, "other")
# What starts the ranks of an MPI program.
MPI_LAUNCHERS = {
    "openmpi": "mpirun of Open MPI",
    "mpich": "mpiexec of MPICH (Hydra)",
    "srun": "srun of Slurm, within a job",
}
STREAMS = ("stdout", "stderr")
# Parts of an app's arguments that stand for the size's arguments and for the thread count.
SIZE_PLACE = "{size}"
THREADS_PLACE = "{threads}"
# Loop schedules as OMP_SCHEDULE takes them: `dynamic`, `static,1`, `nonmonotonic:dynamic,4`.
# Source: OpenMP 5.2, section 21.1.1 (OMP_SCHEDULE).
SCHEDULE_KINDS = ("static", "dynamic", "guided", "auto")
# Set for every program; it has no effect where no loop has schedule(runtime).
FALLBACK_SCHEDULE = "static"
_SCHEDULE = re.compile(r"(?:(?:non)?monotonic:)?([a-z]+)(?:,[1-9]\d{0,8})?", re.ASCII)
# A name or a pattern (glob(7)) within a directory.
_FILE = re.compile(r"[^/]+")


def _schedule(plain: str) -> str:
    """Refuse what has no kind of schedule, and others before or after it than OpenMP has."""
    if kind_of(plain) in SCHEDULE_KINDS and _SCHEDULE.fullmatch(plain):
        return plain
    if plain.isdecimal():
        raise InvalidError(
            f"{shown(plain)} is not a schedule; put one with a chunk in quotes: 'static,{plain}'"
        )
    near = nearest(kind_of(plain), SCHEDULE_KINDS)
    guess = f"; did you mean {near!r}?" if near and near != plain else ""
    raise InvalidError(f"{shown(plain)} is not {_SCHEDULES}{guess}")


_SCHEDULES = f"a schedule ({', '.join(SCHEDULE_KINDS)}; with a chunk: 'static,1')"
# A schedule's kind, with an optional modifier before and chunk size after it.
Schedule = Annotated[str, written(Text, to=_schedule, expected=_SCHEDULES)]


def kind_of(schedule: str) -> str:
    """Return the kind of a schedule: `dynamic` for `nonmonotonic:dynamic,4`."""
    match = _SCHEDULE.fullmatch(schedule)
    return match[1] if match else schedule


def in_order(schedule: str) -> str:
    """Return a schedule by which libomp divides loops in turns, unless the schedule says how.

    On Intel's hybrid CPUs it gives P-cores a larger share of a nonmonotonic loop, but only where
    threads are bound (LLVM review D152955, issue 69946). Without a modifier a dynamic or guided
    loop is nonmonotonic (OpenMP 5.2, section 11.5.3), so "pinned against unpinned" would compare
    two schedules.
    """
    divided = kind_of(schedule) in ("dynamic", "guided") and ":" not in schedule
    return f"monotonic:{schedule}" if divided else schedule


def _listed(by_name: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(by_name.values())


@dataclass(frozen=True)
class Build:
    """A build of an app."""

    expected: ClassVar[str] = "a program and its runtime"

    name: str
    program: Annotated[str, text("a program's name or path")]
    """a name (in `build/bin`, an installation's `bin`, on the PATH) or a path (from the working
    directory)"""
    runtime: Annotated[str, word("OpenMP runtime", RUNTIMES)]
    """the OpenMP runtime it is linked with; `pthreads`: threads without OpenMP"""
    variables: Variables | None = None
    """environment variables of this build ([which counts](#variables)). Without it: none"""
    threads_by: tuple[ThreadsBy, ...] | None = None
    """how this build is told its thread count. Without it: as the app says"""
    mpi: Annotated[str, word("launcher of ranks", MPI_LAUNCHERS)] | None = None
    """for a build with MPI, what starts its ranks ([how](ranks.md)): `openmpi`, `mpich`, `srun`.
    Without it: no ranks"""


@dataclass(frozen=True)
class Size:
    """A problem size; `expect` has both ends of the range in which each metric must be."""

    expected: ClassVar[str] = "the size's arguments"

    name: str
    arguments: Annotated[tuple[str, ...], command_line("the size's arguments, such as -s 10")]
    """what selects the size"""
    estimate_s: (
        Annotated[float, duration("the time of one thread, such as 2 s"), called("estimate")] | None
    ) = None
    """expected time of one thread on a P-core of 5 GHz; with `fixed_time`, of any number.
    Without it: not known"""
    quiet: bool = False
    """`true`: the arguments silence the program; metrics and the check's pattern are not looked
    for"""
    expect: dict[
        str,
        Annotated[
            tuple[float, float],
            number_range("a number, such as 575, or a range, such as 1.4 to 1.6"),
        ],
    ] = field(default_factory=dict)
    """metrics that must come out so: `{iterations: 575, area: 1.4 to 1.6}`"""


@dataclass(frozen=True)
class Metric:
    """A number that the program prints."""

    expected: ClassVar[str] = "a pattern and a unit"

    name: str
    pattern: Annotated[str, regex(picks=True)]
    """group 1 of its last match is the number"""
    unit: Annotated[str, text("a unit, such as s or J; 1 for a plain number")]
    """its unit"""
    stream: Annotated[str, word("stream", STREAMS)] = "stdout"
    """where it is printed"""
    better: Annotated[str, word("direction", DIRECTIONS)] | None = None
    """`lower` or `higher`: mappings are [compared by it](metrics.md), too. Without it: a column
    of the tables"""


@dataclass(frozen=True)
class Check:
    """How a run proves its result."""

    expected: ClassVar[str] = "a table with the keys failed_status, pattern, stream, command"

    failed_status: Annotated[int, count("an exit status", 1, 255)] | None = None
    """the exit status of a failed check of its own"""
    pattern: Annotated[str, regex(picks=False)] | None = None
    """what must be printed"""
    stream: Annotated[str, word("stream", STREAMS)] = "stdout"
    """where the pattern is looked for"""
    command: Annotated[
        tuple[str, ...], command_line("a command and its arguments, such as ./verify.sh")
    ] = ()
    """run after the program, on [what that printed](#a-check-by-a-command); must succeed"""

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a command that names no program."""
        command = values.get("command")
        if command is not None and not (command and command[0]):
            yield ("command",), "names no program; expected such as ./verify.sh"


@dataclass(frozen=True)
class OwnPlacement:
    """The arguments that pass its threads' CPUs to a program; empty where it takes none."""

    expected: ClassVar[str] = "a table with the keys pin and expect"

    pin: Annotated[
        tuple[str, ...],
        command_line("the arguments by which the program pins its threads, with {cpus}"),
    ] = ()
    """by which it pins its threads itself"""
    expect: Annotated[
        tuple[str, ...],
        command_line("the arguments by which the program checks its threads, with {cpus}"),
    ] = ()
    """by which it checks, thread by thread, that something else has pinned them"""

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse arguments without `{cpus}`, the place of the CPUs."""
        for key, arguments in values.items():
            if not any("{cpus}" in argument for argument in arguments):
                yield (key,), "has no {cpus}, the place of the CPU of each thread"


HelperCount = Annotated[int, count("a number of processes", 1, 64)]


@dataclass(frozen=True)
class App:
    """A program under study: how it is started, its sizes, how its output is read.

    `limit_s` is in seconds. `source` is its file as it was read.
    """

    expected: ClassVar[str] = "an app, written out"

    name: Annotated[str, label("the app's name")]
    """its name, which is that of its file"""
    title: Annotated[str, text("a title")]
    """one line for people"""
    builds: Annotated[dict[str, Build], called("builds", before="variants", file="app")]
    """its builds, by name"""
    sizes: dict[str, Size]
    """its sizes, by name"""
    arguments: Annotated[
        tuple[str, ...], command_line("the arguments, with {size} for those of the size")
    ] = (SIZE_PLACE,)
    """the program's arguments, with `{size}` for those of the size and `{threads}`"""
    variables: Variables | None = None
    """environment variables by name, with `{threads}`, `{cpus}`, `{places}` in values
    ([below](#variables)). Without it: none"""
    threads_by: tuple[ThreadsBy, ...] | None = None
    """what tells the program its thread count: variables, `arguments` or `affinity`
    ([below](#variables)). Without it: `OMP_NUM_THREADS`"""
    helper_threads: (
        Annotated[int, count("how many threads it has beside its team", 1, 64)] | None
    ) = None
    """at most how many [busy threads beside its team](placement.md#helper-threads), which may
    be anywhere. Without it: none"""
    helper_processes: HelperCount | None = None
    """the same of processes beside the one whose threads are placed. Without it: none"""
    metrics: Annotated[tuple[Metric, ...], written(dict[str, Metric], to=_listed)] = ()
    """numbers that it prints, by name; columns of its tables"""
    check: Check = field(default_factory=Check)
    """how a run proves its result. Without it: its exit status alone"""
    writes: (
        Annotated[
            str, text("the name of a file, or a pattern such as result-*.txt", _FILE, "no slashes")
        ]
        | None
    ) = None
    """files that it writes, such as `result-*.txt`: each run gets a directory of its own, and
    they are read after what it printed. Without it: it runs in yours"""
    schedules: tuple[Annotated[str, word("kind of schedule", SCHEDULE_KINDS)], ...] = ()
    """kinds of OMP_SCHEDULE that its `schedule(runtime)` loops take"""
    default_schedule: Schedule | None = None
    """the schedule, unless a study varies it"""
    limit_s: Annotated[
        float, duration("a time, such as 10 min"), called("timeout", before="limit", file="app")
    ] = 600.0
    """a longer run is ended (`timeout`). Without it: 10 min"""
    placement: OwnPlacement | None = None
    """`{pin: [--pin, '{cpus}'], expect: [--expect, '{cpus}']}`: last arguments by which it pins
    its threads (mechanism `program`), or checks them"""
    c2c: bool = False
    """`true`: its threads [share cache lines](threads-and-lines.md#contended-cache-lines) on
    purpose"""
    fixed_time: bool = False
    """`true`: it runs as long as it is told, and is not compared by time or energy"""
    marked_regions: Annotated[tuple[RegionName, ...], called("regions")] = ()
    """[regions](regions.md) that the program marks, such as `[assemble, solve]`"""
    implementation: Annotated[str, text("whose program it is, such as pinstudy's own Lulesh")] = ""
    """whose program it is, for captions"""
    algorithm: Annotated[str, label("the name of what several apps compute")] | None = None
    """what it computes; `compare` takes apps of one algorithm together. Without it: the app's
    name"""
    obtain: Annotated[
        str, text("the command that gets the programs, such as spack install stream")
    ] = ""
    """the command that gets it"""
    source: Annotated[bytes, NO_KEY] = field(default=b"", repr=False, compare=False)

    @property
    def usual_schedule(self) -> str:
        """OMP_SCHEDULE, unless a study varies it."""
        return self.default_schedule or FALLBACK_SCHEDULE

    @property
    def threads_by_any(self) -> frozenset[str]:
        """What tells any of its builds its thread count, where it is not OMP_NUM_THREADS."""
        return _threads_by_any(self.threads_by, self.builds.values())

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse arguments, schedules and expected metrics that do not fit the app's own tables."""
        if SIZE_PLACE not in values.get("arguments", App.arguments):
            yield ("arguments",), "has no {size}, the place of the size's arguments"
        yield from _threads_by_mistakes(values)
        default, kinds = values.get("default_schedule"), values.get("schedules", ())
        if default is not None and kind_of(default) not in kinds:
            listed = ", ".join(filter(None, kinds)) or "none"
            message = f"{shown(default)} is not among the app's schedules ({listed})"
            yield ("default_schedule",), message
        # If one metric is invalid, `metrics` is a table by name, not a tuple.
        known = [getattr(metric, "name", metric) for metric in values.get("metrics", ())]
        for name, size in values.get("sizes", {}).items():
            for metric in size.expect if isinstance(size, Size) else ():
                if metric not in known:
                    message = unknown_word("metric", metric, known)
                    yield ("sizes", name, "expect", metric), message


def _threads_by_mistakes(values: dict[str, Any]) -> Iterator[Mistake]:
    """Yield mistakes where the thread count has no place, or two."""
    builds = [build for build in values.get("builds", {}).values() if isinstance(build, Build)]
    by_any = _threads_by_any(values.get("threads_by"), builds)
    has_place = any(THREADS_PLACE in item for item in values.get("arguments", App.arguments))
    own = (values.get("threads_by"), values.get("variables"))
    tables: list[tuple[Path, Any, Any]] = [((), *own)]
    tables += [(("builds", build.name), build.threads_by, build.variables) for build in builds]
    for path, threads_by, variables in tables:
        if BY_ARGUMENTS in (threads_by or ()) and not has_place:
            message = "the app's arguments have no {threads}, the place of the thread count"
            yield (*path, "threads_by"), message
        for step, message in thread_count_mistakes(variables, by_any):
            yield (*path, "variables", *step), message


def _threads_by_any(own: tuple[str, ...] | None, builds: Iterable[Build]) -> frozenset[str]:
    return frozenset(chain(own or (), *(build.threads_by or () for build in builds)))


def schedule_problem(app: App, schedule: str) -> str | None:
    """Return why a study cannot run this app with a schedule, or None."""
    if not app.schedules:
        return f"app {app.name!r} has no loops that take a schedule; leave {schedule!r} out"
    if kind_of(schedule) not in app.schedules:
        return unknown_word("schedule", schedule, app.schedules, f" to app {app.name!r}")
    return None
