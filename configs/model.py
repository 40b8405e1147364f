"""What a study, an app and a mapping are, once their YAML has been validated."""

from __future__ import annotations

from dataclasses import dataclass, field

# A selection names CPUs of the node. `{kind}cores` is one CPU a core, `{kind}cpus` all of them:
# "8 threads on P" would else mean 8 cores or 4 cores twice (SMT).
SELECTIONS = {
    "all": "every CPU the process may use: the OS scheduler's choice",
    "pcores": "one CPU of each P-core",
    "ecores": "one CPU of each E-core",
    "lpecores": "one CPU of each LP-E-core",
    "pcpus": "every CPU of the P-cores, SMT siblings too",
    "ecpus": "every CPU of the E-cores",
    "lpecpus": "every CPU of the LP-E-cores",
    "mixed": "one CPU of each P-core and E-core, the threads split evenly over the kinds",
    "cores": "one CPU of each core: P-cores, then E-cores, then LP-E-cores",
    "half-clusters": "one CPU of each core in half of each kind's clusters, which share a cache",
    "compact": "CPUs close together: SMT siblings, then shared caches, then packages",
    "spread": "CPUs far apart: packages in turn, then caches, SMT siblings last",
    "siblings": "both SMT siblings of a core, core by core",
    "same-cpu": "each CPU twice, one of each core: two threads take turns on it",
    "same-cluster": "neighbouring cores that share a cache which not all cores share",
    "across-kinds": "a P-core and an E-core in turn, or the first two kinds that the node has",
    "across-packages": "a core of one package and a core of the next in turn",
}
# Selections in which threads 2i and 2i + 1 are neighbours; the programs' own words for the same
# stand in apps/common/placements.hpp.
PAIRS = ("siblings", "same-cpu", "same-cluster", "across-kinds", "across-packages")
TIGHTNESSES = {
    "none": "threads are left to the OS scheduler",
    "set": "every thread may use every CPU of the selection",
    "pin": "each thread has one CPU of the selection for itself",
}
MECHANISMS = {
    "omp-places": "OMP_PLACES with explicit single-CPU places and OMP_PROC_BIND",
    "likwid-pin": "likwid-pin with physical CPU numbers",
    "taskset": "taskset: one CPU mask for the whole program",
    "numactl": "numactl --physcpubind: one CPU mask for the whole program",
    "program": "the program pins its threads itself, as its option asks",
}
RUNTIMES = ("none", "pthreads", "libgomp", "libomp", "other")
ORDERS = {
    "randomised-blocks": "each repetition is a shuffled pass over all cases",
    "sequential": "all repetitions of a case, then the next case",
}
ENGINES = {
    "local": "on this node",
    "vm": "in a guest on this node, whose virtual CPUs the node maps",
    "batch": "on nodes that a batch system gives",
}
BATCH_SYSTEMS = {
    "slurm": "Slurm, by sbatch, squeue and scancel",
    "pbs": "OpenPBS or PBS Professional, by qsub, qstat and qdel",
    "lsf": "IBM Spectrum LSF, by bsub, bjobs and bkill",
    "flux": "Flux, by flux submit, flux jobs and flux cancel",
}
# How a study is spread over the nodes of a site.
SPREADS = {
    "per-node": "the whole study on each node, to compare nodes",
    "split": "its blocks divided over interchangeable nodes",
}
DEFAULT_COLLECTORS = ("perf", "energy")
DEFAULT_WARMUP = 1
# `c2c` costs one further execution of each case of an app that says c2c, so it is asked for.
COLLECTORS = (*DEFAULT_COLLECTORS, "c2c")
# Which pairs of CPUs core-to-core latency is measured of.
LATENCY_PLANS = {
    "all": "every pair of CPUs",
    "representative": "some pairs of each relation: siblings, shared caches, kinds, packages",
}
WAIT_POLICIES = ("active", "passive", "runtime-default")

# What a study may want to know with a precision, and the field of a record that holds it.
PRECISION_OF = {"time": "elapsed_s", "energy": "energy_pkg_j"}
# What cases can race for, beside a metric of their app.
RACE_OF = {
    "time": "the time that a run takes",
    "energy": "the energy of the packages during a run",
    "edp": "the energy-delay product, energy times time",
}

# `current` measures under whatever governor is in force and changes nothing.
CURRENT_GOVERNOR = "current"


# Who sets governors at a site.
GOVERNOR_SETTERS = {
    "pinstudy": "pinstudy writes the kernel's files, where it may",
    "slurm": "Slurm does, by --cpu-freq",
    "nobody": "nobody: cases run under the governor that is in force",
}


@dataclass(frozen=True)
class GovernorRule:
    """Who sets governors: a word of GOVERNOR_SETTERS, or `command`.

    `set` are the arguments of that command, in which `{governor}` and `{cpus}` are replaced;
    `restore` are those of another that sets it back, when it is another.
    """

    by: str = "pinstudy"
    set: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()


@dataclass(frozen=True)
class Queue:
    """How a site's batch system is asked for whole nodes.

    `system` is a word of BATCH_SYSTEMS; `queue` is a partition where there are such. `cpus` is the
    number of CPUs of one node. `nodes` and `features` are those that a study may be spread over.
    `modules` are loaded, and `spack_view` is put on the paths, before a worker starts.
    `directives` are further options of the system's own, such as `--reservation=maintenance`.
    `reserved_cpus` are those that the system keeps for itself on every node. At most `most_at_once`
    workers run at the same time. `time_limit_s` is what each job asks for.
    """

    system: str
    time_limit_s: float
    queue: str | None = None
    account: str | None = None
    cpus: int | None = None
    nodes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    spack_view: str | None = None
    directives: tuple[str, ...] = ()
    reserved_cpus: tuple[int, ...] = ()
    most_at_once: int | None = None


@dataclass(frozen=True)
class Site:
    """What is special about a place with many nodes; nothing is submitted without a `queue`."""

    name: str
    title: str
    governor: GovernorRule = field(default_factory=GovernorRule)
    queue: Queue | None = None


@dataclass(frozen=True)
class Mapping:
    """Which CPUs (selection) x how tightly x by what; `mechanism` None is the default one."""

    name: str
    selection: str
    tightness: str
    mechanism: str | None = None
    summary: str = ""


@dataclass(frozen=True)
class Variant:
    """A build of an app: the program's name or path and the OpenMP runtime it is linked with."""

    name: str
    program: str
    runtime: str


@dataclass(frozen=True)
class Size:
    """A named problem size: the arguments that select it and the time it is expected to take.

    `estimate_s` is the one-thread time in seconds on a 5 GHz P-core, or None when not known.
    With `quiet` its arguments silence the program: neither metrics nor the check's pattern are
    looked for, and the exit status alone tells how the run ended. `expect` are the ends of the
    range in which a metric must come out, by the metric's name.
    """

    name: str
    arguments: tuple[str, ...]
    estimate_s: float | None = None
    quiet: bool = False
    expect: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A number that the program prints: group 1 of `pattern` in the named stream, as `unit`."""

    name: str
    pattern: str
    unit: str
    stream: str = "stdout"


@dataclass(frozen=True)
class Check:
    """How a run proves its result: an exit status, a pattern that must be there, a command.

    `failed_status` is the exit status by which the program says that its own check failed.
    `command` is run after the program, with what it printed on its stdin, and must succeed.
    """

    failed_status: int | None = None
    pattern: str | None = None
    stream: str = "stdout"
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnPlacement:
    """How a program is told about its threads' CPUs; `{cpus}` stands for them, one a thread.

    With `pin` it pins its threads itself; with `expect` it checks, thread by thread, that something
    else has. Either is empty for a program that cannot.
    """

    pin: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()


@dataclass(frozen=True)
class App:
    """A program under study: how it is started, its sizes, how its output is read.

    `command` follows the program's name; `{size}` stands for the size's arguments.
    `schedules` are the kinds of OMP_SCHEDULE that its loops take; none when it has no such loops.
    `limit_s` is the time in seconds after which a run is stopped. `c2c` says that its threads
    share cache lines on purpose, so that looking for these with `perf c2c` tells something.
    `fixed_time` says that it runs as long as it is told, so that no mapping makes it faster; its
    metrics are what it measures. `implementation` is whose program it is, for captions of tables,
    where several programs have one algorithm; empty where the name says it. Results of apps of one
    `algorithm` are compared with each other; None for the app's own name. `obtain` is the command
    that gets its programs, for who lacks them. `source` is its file as it was read.
    """

    name: str
    title: str
    variants: dict[str, Variant]
    sizes: dict[str, Size]
    arguments: tuple[str, ...] = ("{size}",)
    metrics: tuple[Metric, ...] = ()
    check: Check = field(default_factory=Check)
    schedules: tuple[str, ...] = ()
    default_schedule: str | None = None
    limit_s: float = 600.0
    placement: OwnPlacement | None = None
    c2c: bool = False
    fixed_time: bool = False
    implementation: str = ""
    algorithm: str | None = None
    obtain: str = ""
    source: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True)
class AppChoice:
    """What a study takes of one app; `mappings` are its own, None the study's.

    With `oversubscribe` more threads than CPUs are meant, where threads are not pinned.
    """

    app: App
    variants: tuple[Variant, ...]
    sizes: tuple[Size, ...]
    threads: tuple[int, ...]
    schedules: tuple[str, ...] = ()
    mappings: tuple[Mapping, ...] | None = None
    oversubscribe: bool = False


@dataclass(frozen=True)
class TemperatureGate:
    """Before each run every package cools to `within_k` kelvins above its start-of-study value.

    After `limit_s` seconds the run is made all the same.
    """

    within_k: float
    limit_s: float


@dataclass(frozen=True)
class Baseline:
    """The node's idle power is measured for `duration_s` seconds, once a governor and attempt.

    With `every`, again after that many runs under the governor.
    """

    duration_s: float
    every: int | None = None


@dataclass(frozen=True)
class Precision:
    """A case is repeated until the 95 % confidence intervals of its means are this narrow.

    `half_width` is a share of the mean, `least` the fewest repetitions, `of` words of PRECISION_OF.
    """

    least: int
    half_width: float
    of: tuple[str, ...] = ("time",)


@dataclass(frozen=True)
class Race:
    """Cases that are reliably worse end early, and the best of them is tried against the reference.

    The reference is the study's first case. `of` is what is compared: a word of RACE_OF, or the
    name of a metric of the app; `higher` says that more of it is better. Differences of up to
    `margin`, a share, do not matter. The runs take about `within_s` seconds at most, None for any
    time, and are at most `runs`, None for a third of ten repetitions of every case.
    """

    of: str = "time"
    higher: bool = False
    margin: float = 0.01
    within_s: float | None = None
    runs: int | None = None


@dataclass(frozen=True)
class Vm:
    """The guest that cases run in: its virtual CPUs and memory, and where the host puts the CPUs.

    The mappings are of virtual CPUs to CPUs of the host, and none names a mechanism. Cases that
    share one are run in the same boot of the guest.
    """

    cpus: int
    memory_mib: int
    vcpu_mappings: tuple[Mapping, ...]


@dataclass(frozen=True)
class Spread:
    """How a study is spread over the nodes of a site; what `pinstudy submit` is not told otherwise.

    `how` is a word of SPREADS. Under per-node there is a worker for each of `nodes`, or of
    `features`; under split there are `workers`, on nodes that have the first of `features`.
    """

    site: str
    how: str = "per-node"
    nodes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    workers: int | None = None


@dataclass(frozen=True)
class Study:
    """A validated study: its cases are the product of its apps, mappings and governors.

    `repetitions` is how often a case is run; with a `precision` or a `race`, how often at most.
    `latency` are the pairs of CPUs whose latency is measured beside the cases, a word of
    LATENCY_PLANS. `digest` identifies what the study asks for: the hexadecimal SHA-256 of its
    canonical form. `source` is its file as it was read.
    """

    name: str
    title: str
    apps: tuple[AppChoice, ...]
    mappings: tuple[Mapping, ...]
    governors: tuple[str, ...]
    repetitions: int
    warmup: int
    order: str
    seed: int
    wait_policies: tuple[str, ...]
    collect: tuple[str, ...]
    events: tuple[str, ...]
    path: str
    digest: str
    temperature_gate: TemperatureGate | None = None
    baseline: Baseline | None = None
    vm: Vm | None = None
    precision: Precision | None = None
    race: Race | None = None
    latency: str | None = None
    spread: Spread | None = None
    source: bytes = field(default=b"", repr=False, compare=False)

    @property
    def engine(self) -> str:
        """Where its cases are run: a word of ENGINES."""
        if self.spread:
            return "batch"
        return "vm" if self.vm else "local"
