"""What an app is: a file of `configs/apps/`, or the same written out in a study."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any

from base.structure import (
    ByName,
    Called,
    InvalidError,
    Listed,
    Mistake,
    OneOrMore,
    Path,
    Table,
    Without,
)
from base.text import nearest, shown, unknown_word
from configs.values import (
    DIRECTIONS,
    Arguments,
    Count,
    Duration,
    Flag,
    Name,
    Pattern,
    Range,
    Text,
    Word,
)
from configs.variables import (
    BY_ARGUMENTS,
    OMP_NUM_THREADS,
    Assignments,
    ThreadsBy,
    Variables,
    thread_count_mistakes,
)

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
_SCHEDULE = re.compile(r"(?:(?:non)?monotonic:)?([a-z]+)(?:,[1-9]\d{0,8})?", re.ASCII)
# A name or a pattern (glob(7)) within a directory.
_FILE = re.compile(r"[^/]+")


class Schedule(Text):
    """A schedule's kind, with an optional modifier before and chunk size after it."""

    def __init__(self) -> None:
        super().__init__(f"a schedule ({', '.join(SCHEDULE_KINDS)}; with a chunk: 'static,1')")

    def decode(self, value: Any) -> str:  # noqa: ANN401
        """Return the schedule."""
        text = super().decode(value)
        if kind_of(text) in SCHEDULE_KINDS and _SCHEDULE.fullmatch(text):
            return text
        if text.isdecimal():
            raise InvalidError(
                f"{shown(text)} is not a schedule; put one with a chunk in quotes: 'static,{text}'"
            )
        near = nearest(kind_of(text), SCHEDULE_KINDS)
        guess = f"; did you mean {near!r}?" if near and near != text else ""
        raise InvalidError(f"{shown(text)} is not {self.expected}{guess}")


def kind_of(schedule: str) -> str:
    """Return the kind of a schedule: `dynamic` for `nonmonotonic:dynamic,4`."""
    match = _SCHEDULE.fullmatch(schedule)
    return match[1] if match else schedule


def in_order(schedule: str) -> str:
    """Return a schedule by which libomp divides loops in turns, unless the schedule says how.

    On Intel's hybrid CPUs it gives P-cores a larger share of a nonmonotonic loop, but only where
    threads are bound (LLVM review D152955, issue 69946). Without a modifier a dynamic or guided
    loop is nonmonotonic (OpenMP 5.2, section 11.5.3), so "pinned against scheduler" would compare
    two schedules.
    """
    divided = kind_of(schedule) in ("dynamic", "guided") and ":" not in schedule
    return f"monotonic:{schedule}" if divided else schedule


@dataclass(frozen=True)
class Variant:
    """A build of an app."""

    name: str
    program: Annotated[
        str,
        Text("a program's name or path"),
        "a name (looked for in `build/bin`, or in `bin` of an installation, then on the PATH) or a "
        "path, best an absolute one (else relative to the working directory)",
    ]
    runtime: Annotated[
        str,
        Word("OpenMP runtime", RUNTIMES),
        "the OpenMP runtime it is linked with; `pthreads`: threads without OpenMP",
    ]
    variables: Annotated[
        Assignments | None,
        Variables(),
        "environment variables for this build; they count before those of the app",
        Without("none"),
    ] = None
    threads_by: Annotated[
        tuple[str, ...] | None,
        OneOrMore(ThreadsBy()),
        "how this build is told its thread count",
        Without("as the app says"),
    ] = None
    mpi: Annotated[
        str | None,
        Word("launcher of ranks", MPI_LAUNCHERS),
        "for a build with MPI, what starts its ranks ([how](ranks.md)): `openmpi`, `mpich`, `srun`",
        Without("no ranks"),
    ] = None


@dataclass(frozen=True)
class Size:
    """A problem size; `expect` has both ends of the range in which each metric must be."""

    name: str
    arguments: Annotated[
        tuple[str, ...], Arguments("the size's arguments, such as -s 10"), "what selects the size"
    ]
    estimate_s: Annotated[
        float | None,
        Called("estimate"),
        Duration("the time of one thread, such as 2 s"),
        "the time that one thread is expected to take, on a P-core of 5 GHz; with `fixed_time`, "
        "the time that any number takes",
        Without("not known"),
    ] = None
    quiet: Annotated[
        bool,
        Flag("true or false"),
        "`true` when the arguments silence the program: neither metrics nor the check's pattern "
        "are looked for then, and its exit status alone tells how the run ended",
    ] = False
    expect: Annotated[
        dict[str, tuple[float, float]],
        ByName(Range("a number, such as 575, or a range, such as 1.4 to 1.6")),
        "metrics that must come out so: `{iterations: 575, area: 1.4 to 1.6}`",
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A number that the program prints."""

    name: str
    pattern: Annotated[
        str,
        Pattern("a regular expression", picks=True),
        "group 1 of its last match is the number",
    ]
    unit: Annotated[str, Text("a unit, such as s or J; 1 for a plain number"), "its unit"]
    stream: Annotated[str, Word("stream", STREAMS), "where it is printed"] = "stdout"
    better: Annotated[
        str | None,
        Word("direction", DIRECTIONS),
        "`lower` or `higher`: mappings are compared by it, too, as by time and energy "
        "([how](metrics.md))",
        Without("a column of the tables"),
    ] = None


@dataclass(frozen=True)
class Check:
    """How a run proves its result."""

    failed_status: Annotated[
        int | None,
        Count("an exit status", 1, 255),
        "the exit status by which the program says that its own check failed",
    ] = None
    pattern: Annotated[
        str | None, Pattern("a regular expression", picks=False), "what must be printed"
    ] = None
    stream: Annotated[str, Word("stream", STREAMS), "where the pattern is looked for"] = "stdout"
    command: Annotated[
        tuple[str, ...],
        Arguments("a command and its arguments, such as ./verify.sh"),
        "run after the program, with what it printed on its stdin; must succeed",
    ] = ()

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse a command that names no program."""
        command = values.get("command")
        if command is not None and not (command and command[0]):
            yield ("command",), "names no program; expected such as ./verify.sh"


@dataclass(frozen=True)
class OwnPlacement:
    """The arguments that pass its threads' CPUs to a program; empty where it takes none."""

    pin: Annotated[
        tuple[str, ...],
        Arguments("the arguments by which the program pins its threads, with {cpus}"),
        "by which it pins its threads itself",
    ] = ()
    expect: Annotated[
        tuple[str, ...],
        Arguments("the arguments by which the program checks its threads, with {cpus}"),
        "by which it checks, thread by thread, that something else has pinned them",
    ] = ()

    @staticmethod
    def contradictions(values: dict[str, Any], _: Collection[str]) -> Iterator[Mistake]:
        """Refuse arguments without `{cpus}`, the place of the CPUs."""
        for key, arguments in values.items():
            if not any("{cpus}" in argument for argument in arguments):
                yield (key,), "has no {cpus}, the place of the CPU of each thread"


@dataclass(frozen=True)
class App:
    """A program under study: how it is started, its sizes, how its output is read.

    `limit_s` is in seconds. `source` is its file as it was read.
    """

    name: Annotated[str, Name("the app's name"), "its name, which is that of its file"]
    title: Annotated[str, Text("a title"), "one line for people"]
    variants: Annotated[
        dict[str, Variant],
        ByName(Table(Variant, "a program and its runtime")),
        "its builds, by name: `program` and `runtime`",
    ]
    sizes: Annotated[
        dict[str, Size],
        ByName(Table(Size, "the size's arguments")),
        "problem sizes by name: `arguments`, and what is known of them",
    ]
    arguments: Annotated[
        tuple[str, ...],
        Arguments("the arguments, with {size} for those of the size"),
        "the program's arguments; `{size}` stands for those of the size, `{threads}` for the "
        "thread count",
    ] = (SIZE_PLACE,)
    variables: Annotated[
        Assignments | None,
        Variables(),
        "environment variables for its runs, by name; `{threads}`, `{cpus}` and `{places}` in a "
        "value stand for those of the case ([below](#variables))",
        Without("none"),
    ] = None
    threads_by: Annotated[
        tuple[str, ...] | None,
        OneOrMore(ThreadsBy()),
        "the variable, or a list of them, that tells the program its thread count, such as "
        "`OPENBLAS_NUM_THREADS`; or `arguments`, where `{threads}` stands; or `affinity`, where it "
        "starts a thread for each CPU that it may use",
        Without(f"`{OMP_NUM_THREADS}`"),
    ] = None
    helper_threads: Annotated[
        int | None,
        Count("how many threads it has beside its team", 1, 64),
        "how many busy threads it has at most beside those of the thread count (for input and "
        "output, a watchdog): those with the least CPU time, which may be anywhere "
        "([how](placement.md#helper-threads))",
        Without("none"),
    ] = None
    metrics: Annotated[
        tuple[Metric, ...],
        Listed(Table(Metric, "a pattern and a unit")),
        "numbers that it prints, by name: `pattern`, `unit`, `stream`, `better`; columns of its "
        "tables",
    ] = ()
    check: Annotated[
        Check,
        Table(Check, "a table with the keys failed_status, pattern, stream, command"),
        "how a run proves its result: `failed_status`, `pattern`, `stream`, `command` "
        "([below](#a-check-by-a-command))",
        Without("its exit status alone"),
    ] = field(default_factory=Check)
    writes: Annotated[
        str | None,
        Text("the name of a file, or a pattern such as result-*.txt", _FILE, "no slashes"),
        "the files that it writes into its working directory, such as `result-*.txt`: each run "
        "gets a directory of its own, and these files are read after what it printed",
        Without("it runs in yours"),
    ] = None
    schedules: Annotated[
        tuple[str, ...],
        OneOrMore(Word("kind of schedule", SCHEDULE_KINDS)),
        "kinds of OMP_SCHEDULE that its `schedule(runtime)` loops take",
    ] = ()
    default_schedule: Annotated[
        str | None, Schedule(), "the schedule to use unless a study varies it"
    ] = None
    limit_s: Annotated[
        float,
        Called("limit"),
        Duration("a time, such as 10 min"),
        "a run that takes longer is ended and recorded as `timeout`",
        Without("10 min"),
    ] = 600.0
    placement: Annotated[
        OwnPlacement | None,
        Table(OwnPlacement, "a table with the keys pin and expect"),
        "`{pin: [--pin, '{cpus}'], expect: [--expect, '{cpus}']}`: the arguments, put last, by "
        "which the program pins its threads itself (mechanism `program`), and by which it checks "
        "that something else has; `{cpus}` stands for a CPU a thread, such as `0,0,1,1`",
    ] = None
    c2c: Annotated[
        bool,
        Flag("true or false"),
        "`true` for a program whose threads share cache lines on purpose: studies that collect "
        "`c2c` look for these lines ([how](threads-and-lines.md#contended-cache-lines))",
    ] = False
    fixed_time: Annotated[
        bool,
        Flag("true or false"),
        "`true` for a program that runs as long as it is told (a stress test for a minute): "
        "mappings are not compared by its time, energy or energy-delay product",
    ] = False
    marked_regions: Annotated[
        tuple[str, ...],
        Called("regions"),
        OneOrMore(Name("the name of a region")),
        "the regions that the program marks, such as `[assemble, solve]`, which studies may "
        "measure one by one ([how](regions.md))",
    ] = ()
    implementation: Annotated[
        str,
        Text("whose program it is, such as pinstudy's own Lulesh"),
        "whose program it is, where several have one algorithm: captions of tables begin with it",
    ] = ""
    algorithm: Annotated[
        str | None,
        Name("the name of what several apps compute"),
        "what the program computes, where another app does so too: `pinstudy compare` takes their "
        "results together",
        Without("the app's name"),
    ] = None
    obtain: Annotated[
        str,
        Text("the command that gets the programs, such as spack install stream"),
        "the command that gets the programs, for messages where they are missing",
    ] = ""
    source: bytes = field(default=b"", repr=False, compare=False)

    @property
    def threads_by_any(self) -> frozenset[str]:
        """What tells any of its builds its thread count, where it is not OMP_NUM_THREADS."""
        return _threads_by_any(self.threads_by, self.variants.values())

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
    variants = [of for of in values.get("variants", {}).values() if isinstance(of, Variant)]
    by_any = _threads_by_any(values.get("threads_by"), variants)
    has_place = any(THREADS_PLACE in item for item in values.get("arguments", App.arguments))
    own = (values.get("threads_by"), values.get("variables"))
    tables: list[tuple[Path, Any, Any]] = [((), *own)]
    tables += [(("variants", of.name), of.threads_by, of.variables) for of in variants]
    for path, threads_by, variables in tables:
        if BY_ARGUMENTS in (threads_by or ()) and not has_place:
            message = "the app's arguments have no {threads}, the place of the thread count"
            yield (*path, "threads_by"), message
        for step, message in thread_count_mistakes(variables, by_any):
            yield (*path, "variables", *step), message


def _threads_by_any(own: tuple[str, ...] | None, variants: Iterable[Variant]) -> frozenset[str]:
    return frozenset(chain(own or (), *(variant.threads_by or () for variant in variants)))


def schedule_problem(app: App, schedule: str) -> str | None:
    """Return why a study cannot run this app with a schedule, or None."""
    if not app.schedules:
        return f"app {app.name!r} has no loops that take a schedule; leave {schedule!r} out"
    if kind_of(schedule) not in app.schedules:
        return unknown_word("schedule", schedule, app.schedules, f" to app {app.name!r}")
    return None
