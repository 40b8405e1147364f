"""The record of a run: each field with its type, its bounds and, below it, its meaning.

The check on load, the tables of docs/records.md and the JSON schema of records come from here
(`make schema`). A record is one flat JSON object. Its groups are classes, each with the fields of
those before it, because msgspec joins no two Structs; a field without a text shares the one above.
Units are in the names. A value that was not measured is absent, and `unavailable` has the reason.
What is absent without one is null, or the default below.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import get_annotations
from math import ulp
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields

from pinstudy.base.decoding import plain_type
from pinstudy.base.units import HIGHEST_C, LOWEST_C, MAX_DURATION_S, MAX_POWER_W

# The version of the format. A reader refuses every other one: nobody can tell there what its fields
# mean.
SCHEMA = 6

_ABOVE_0 = ulp(0.0)
_MAX_J = MAX_POWER_W * MAX_DURATION_S
# Values beyond these have no useful logarithm.
MIN_RACE_VALUE, MAX_RACE_VALUE = 1e-30, 1e30
# From here on, floats cannot represent every whole number.
_MAX_WHOLE = 2**53 - 1

Whole = Annotated[int, Meta(ge=-_MAX_WHOLE, le=_MAX_WHOLE)]
FromOne = Annotated[int, Meta(ge=1, le=_MAX_WHOLE)]
# A program may print any number, as long as sums of squares over runs stay finite.
Number = Annotated[float, Meta(ge=-1e100, le=1e100)]
RaceValue = Annotated[float, Meta(ge=MIN_RACE_VALUE, le=MAX_RACE_VALUE)]
Count = Annotated[float, Meta(ge=0, le=2.0**64)]
Seconds = Annotated[float, Meta(ge=0, le=MAX_DURATION_S)]
Period = Annotated[float, Meta(ge=_ABOVE_0, le=MAX_DURATION_S)]
# Times are read from a clock that counts nanoseconds.
RunTime = Annotated[float, Meta(ge=1e-9, le=MAX_DURATION_S)]
# More CPUs than any node has, all busy.
CpuTime = Annotated[float, Meta(ge=0, le=MAX_DURATION_S * 65_536)]
Rate = Annotated[float, Meta(ge=_ABOVE_0, le=1e9)]
Joules = Annotated[float, Meta(ge=0, le=_MAX_J)]
# A package always takes some energy; a part of it that is switched off takes none.
PackageJoules = Annotated[float, Meta(ge=_ABOVE_0, le=_MAX_J)]
Balance = Annotated[float, Meta(ge=-_MAX_J, le=_MAX_J)]
EnergyDelay = Annotated[float, Meta(ge=_ABOVE_0, le=_MAX_J * MAX_DURATION_S)]
EnergyDelaySquared = Annotated[float, Meta(ge=_ABOVE_0, le=_MAX_J * MAX_DURATION_S**2)]
Watts = Annotated[float, Meta(ge=0, le=MAX_POWER_W)]
Gigahertz = Annotated[float, Meta(ge=_ABOVE_0, le=1000)]
# Parts of a run's CPU time, each rounded separately.
Share = Annotated[float, Meta(ge=0, le=1.01)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
MissRate = Annotated[float, Meta(ge=0, le=1000)]
Celsius = Annotated[float, Meta(ge=LOWEST_C, le=HIGHEST_C)]
Object = dict[str, Any]


class PlacedThread(Struct, kw_only=True):
    """A thread of `placement.threads`."""

    process: Whole | None = None
    rank: Whole | None = None
    vcpu: Whole | None = None
    allowed: str | None = None
    seen: dict[str, Count] | None = None
    masks: dict[str, Count] | None = None
    cpu_s: CpuTime | None = None
    runnable_s: CpuTime | None = None
    settling_looks: Count | None = None
    released_looks: Count | None = None
    idle_looks: Count | None = None


class Placement(Struct, kw_only=True):
    """Where threads were seen."""

    verdict: str | None = None
    """[`proved`, `violated`, or `unproved`](placement.md)"""
    threads: list[PlacedThread] | None = None
    """per thread: `process` (0 the program, 1… descendants), `rank`; `allowed` CPUs when last
    seen; `seen`: CPU → looks; `masks`: allowed CPUs → looks, if several; `cpu_s`; `runnable_s`:
    worked or waited for a CPU; `settling_looks`, `released_looks`, `idle_looks`, which do not
    count"""
    looks: Count | None = None
    """looks at the threads"""
    at_work: Count | None = None
    """threads at work side by side, if more than asked"""
    unmet: Count | None = None
    """new threads that no look has met; absent if births are not reported"""
    in_ticks: bool | None = None
    """`true` if CPU times were known in clock ticks only"""
    others_cpus: str | None = None
    """where QEMU's other threads may run; whether none is a virtual CPU's"""
    others_apart: bool | None = None


class Ranks(Struct, kw_only=True):
    """The ranks of an MPI program."""

    number: FromOne | None = None
    """[MPI](ranks.md): ranks, each of `threads`; their launcher"""
    mpi: str | None = None
    cpus: list[str] | None = None
    """CPUs of each rank; how the mapping divides them"""
    by: str | None = None
    launcher_cpu_s: CpuTime | None = None
    """CPU time of the launcher alone"""


class Guest(Struct, kw_only=True):
    """The guest that a program ran in."""

    vcpus: FromOne | None = None
    """[guests](vm.md): virtual CPUs, which `cpus` above are of; memory"""
    memory_mib: FromOne | None = None
    accelerator: str | None = None
    """`kvm`, or `tcg` (emulation: cases and tables of their own)"""
    mapping: str | None = None
    """where the virtual CPUs should be on the host"""
    selection: str | None = None
    binding: str | None = None
    cpus: str | None = None
    kernel: str | None = None
    """the guest's; version of QEMU"""
    qemu: str | None = None
    boot_s: Seconds | None = None
    """of its boot"""
    cpu_s: CpuTime | None = None
    """all of QEMU's during the run"""
    placement: Placement | None = None
    """as `placement`, of virtual CPUs' threads (`vcpu`: number)"""
    migrations: Count | None = None
    """of virtual CPUs' threads, by the host, as are `cycles`, `instructions`, `cache_misses`,
    `residency`, `freq_ghz` and `counters`; others are the program's in its guest"""
    context_switches: Count | None = None
    clock: dict[str, Number] | None = None
    """`window_s`, `drift_s`, `uncertainty_s`: the guest's clock against the host's"""


class RaceSeen(Struct, kw_only=True):
    """What a race knows of a run beside its value."""

    placement: Literal["proved", "unproved", "violated"] | None = None
    disturbed: bool | None = None
    took_s: Seconds | None = None


class Environment(Struct, kw_only=True):
    """The variables of a program."""

    set: dict[str, str] | None = None
    removed: list[str] | None = None
    inherited: dict[str, str] | None = None


class ForeignTask(Struct, kw_only=True):
    """Another process that used CPU time during a run."""

    command: str | None = None
    cpu_s: CpuTime | None = None


class Identity(Struct, kw_only=True):
    """identity."""

    schema: Whole | None = None
    """version of this format: 6"""
    crc32: str | None = None
    """checksum of the line up to its key"""
    study: str | None = None
    """name; SHA-256 of its content, without comments and number of repetitions, and of its
    apps"""
    study_digest: str | None = None
    study_file: str | None = None
    """the argument of `pinstudy run`; absent if a batch system ran it"""
    case_id: str | None = None
    """digest of what defines the case, its CPUs included"""
    table_number: FromOne | None = None
    """number of the table, and of the row in it (`#1` …), left-out cases counted"""
    case_number: FromOne | None = None
    repetition: FromOne | None = None
    """within the case, from 1; pass over all cases (warm-up: 0); position in the plan"""
    block: Whole | None = None
    order: Whole | None = None
    repetition_rule: Object | None = None
    """absent for a fixed number. `decide`: `first`, `max`, `time_budget_s`. In a
    [race](race.md) `race`: `of`, `better`, `margin`, `time_budget_s`, `runs`, `cases`. Of
    `--undecided` `undecided`: `look`"""
    race_value: RaceValue | None = None
    """only in a race: the number that rates the run"""
    race_seen: RaceSeen | None = None
    """only in a race: `placement`; `disturbed`; `took_s`, with pinstudy's own work"""
    warmup: bool | None = None
    """recorded, never averaged"""
    seed: Whole | None = None
    """of the order"""
    run_id: str | None = None
    """unique name; UTC, ISO 8601; attempt's number"""
    started_at: str | None = None
    attempt: Whole | None = None
    clock_set_s: Number | None = None
    """seconds by which the clock was set since the attempt began, negative if back;
    `started_at` minus this is by the original clock"""
    node_id: str | None = None
    """the node; digest of [its file](nodes.md#the-nodes-file); the boot"""
    node_digest: str | None = None
    boot_id: str | None = None
    program_digest: str | None = None
    """SHA-256 over its files' digests, in [its file](#the-programs-file)"""
    environment_digest: str | None = None
    """the same of [inherited variables](interruptions.md#the-inherited-variables)"""
    node: str | None = None
    """`virtual` in the [virtual node](../vnode/README.md): a model's numbers"""
    pool: str | None = None
    """`split-<site>` if [interchangeable nodes](batch.md) divide the study; the submission;
    `attempt` counts over them"""
    submission: Whole | None = None
    kinds_declared: bool | None = False
    """`--kinds` declared the core kinds"""
    program_uid: Whole | None = None
    """after [sudo](privileges.md): the program's user"""
    priority: str | None = None
    """inherited scheduling policy and nice value, if unusual: `nice 10`"""
    imported: Object | None = None
    """of an [imported](import.md) log: `file`, `line` or `place`, `digest`, `energy_file`,
    `energy_digest`"""


class CaseFields(Identity):
    """case."""

    app: str | None = None
    """the program as it was run"""
    build: str | None = None
    size: str | None = None
    threads: FromOne | None = None
    mapping: str | None = None
    """where threads should be, how bound, by what"""
    selection: str | None = None
    binding: str | None = None
    mechanism: str | None = None
    cpus: str | None = None
    """the mapping's, such as `0-7`"""
    governor: str | None = None
    """as the study asks; for `current` the one in force"""
    schedule: str | None = None
    wait_policy: str | None = None
    settings: dict[str, str] | None = None
    """[settings](settings.md#settings-as-factors) asked beside the governor: `{"epp":
    "power"}`"""
    algorithm: str | None = None
    """what the program computes, if not its name: `lulesh`"""
    no_schedule: bool | None = None
    """`true` if no loop takes `schedule`"""
    fixed_time: bool | None = None
    """`true` if the app runs for a given time"""


class CoRunnerFields(CaseFields):
    """co-runner."""

    co_runner: str | None = None
    """its app, build, size, threads and mapping, as one name; the CPUs of that mapping"""
    co_runner_cpus: str | None = None
    co_runner_alone: str | None = None
    """the `case_id` of the co-runner when it runs alone"""
    co_runner_command: list[str] | None = None
    """its launcher and program; what identifies the program, as `program_digest`"""
    co_runner_program_digest: str | None = None
    co_runner_completed: Count | None = None
    """executions of it that began and ended while the program ran"""
    co_runner_elapsed_s: Period | None = None
    """their mean time; absent if there was none"""
    co_runner_rate_hz: Rate | None = None
    """throughput: their number / seconds from the first one's start to the last one's end"""
    co_runner_cpu_s: CpuTime | None = None
    """CPU time of its processes while the program ran, no part of `cpu_s`"""
    co_runner_placement: Placement | None = None
    """as `placement`, of all its executions together; `threads` and `looks` of the one that used
    most CPU time"""


class EngineFields(CoRunnerFields):
    """engine."""

    ranks: Ranks | None = None
    guest: Guest | None = None


class LaunchFields(EngineFields):
    """launch."""

    command: list[str] | None = None
    """launcher and program, as typed"""
    environment: Environment | None = None
    """variables that were `set`, `removed`, or `inherited`: `OMP_…`, `KMP_…`, `GOMP_…`, `LD_…`,
    `GLIBC_TUNABLES`, `MALLOC_…`, and those of OpenBLAS, MKL, BLIS, MPI"""
    perf_command: list[str] | None = None
    """without what attached it"""
    runtime: Object | None = None
    """OpenMP runtime by the loader: `name`, `path`, `version`"""
    built_with: str | None = None
    """compiler and flags, where the program or `make originals` tells them"""
    implementation: str | None = None
    """whose program, of an algorithm with several: `LULESH 2.0.3 (LLNL, 3e01c40)`"""
    versions: dict[str, str] | None = None
    """pinstudy, perf, launcher"""


class Outcome(LaunchFields):
    """outcome."""

    status: str | None = None
    """`ok`, `failed`, `timeout`, `check-failed`, `placement-violated`, `settings-changed` (a
    setting, the supply, or which CPUs are online), `clock-drifted` (a guest's), `suspended` (the
    node slept), `interrupted`, `skipped`"""
    reason: str | None = ""
    """in words"""
    exit_code: Whole | None = None
    """one of them, as the program's parent saw it"""
    signal: Whole | None = None
    stderr_tail: str | None = ""
    """the last 2000 characters"""
    metrics: dict[str, Number] | None = None
    """by the [app's patterns](metrics.md); tables take 32 at most"""
    metric_units: dict[str, str] | None = None
    """of each metric; `lower` or `higher` of those that are compared"""
    metric_better: dict[str, str] | None = None


class Times(Outcome):
    """time."""

    elapsed_s: RunTime | None = None
    """from the program's `exec` to its death (CLOCK_MONOTONIC), without launchers"""
    user_s: CpuTime | None = None
    """CPU time of the program and children it waited for: wait4(2)"""
    system_s: CpuTime | None = None
    max_rss_bytes: Count | None = None
    """the most memory of one of these"""
    cpu_s: CpuTime | None = None
    """CPU time of the program and all descendants"""
    task_clock_s: CpuTime | None = None
    """CPU time by perf"""


class Counters(Times):
    """counters."""

    counters: list[Object] | None = []
    """of events without a field: `pmu`, `kinds`, `event`, `value` (as counted, not
    extrapolated), `enabled_ns`, `running_ns`, `multiplexed`"""
    counted_modes: str | None = None
    """`user+kernel`, `user` or `mixed`"""
    migrations: Count | None = None
    """by the kernel, of program and children"""
    context_switches: Count | None = None
    page_faults: Count | None = None
    cycles: Count | None = None
    """sums over PMUs; absent if a part is unknown"""
    instructions: Count | None = None
    cache_misses: Count | None = None
    residency: dict[str, Share] | None = None
    """share of the program's CPU time by core kind"""
    residency_pmu: dict[str, Share] | None = None
    """by PMU, which may cover two kinds"""
    freq_ghz: dict[str, Gigahertz] | None = None
    """cycles per nanosecond on a CPU, by core kind"""
    freq_mean_ghz: Gigahertz | None = None
    """over all kinds"""
    l1d_miss_rate: dict[str, MissRate] | None = None
    """L1-dcache-load-misses / L1-dcache-loads by core kind, if the study names both"""


class Energy(Counters):
    """energy."""

    energy_pkg_j: PackageJoules | None = None
    """gross, over all packages"""
    energy_core_j: Joules | None = None
    """of a package's parts; psys contains the package"""
    energy_uncore_j: Joules | None = None
    energy_dram_j: Joules | None = None
    energy_psys_j: Joules | None = None
    energy_board_j: PackageJoules | None = None
    """gross, of a board or of rails of it, or of a whole node, by a [meter](energy-meters.md) of
    that scope"""
    energy_system_j: PackageJoules | None = None
    energy_by_kind_j: dict[str, Joules] | None = None
    """gross, of [each kind's cores](energy-by-kind.md)"""
    energy_window_s: Seconds | None = None
    """between the two readings"""
    energy_by_kind_window_s: Seconds | None = None
    energy_source: str | None = None
    """`powercap`, `perf`, or the name of [another meter](energy-meters.md); of
    imported logs also `likwid`, `powermetrics` and what it calls the power"""
    energy_samples: Count | None = None
    """readings of a power that was integrated; the mean time between them"""
    energy_period_s: Seconds | None = None
    power_pkg_w: Watts | None = None
    """the scope's energy / `energy_window_s`"""
    power_board_w: Watts | None = None
    power_system_w: Watts | None = None
    edp_js: EnergyDelay | None = None
    """the scope's energy x `elapsed_s`"""
    ed2p_js2: EnergyDelaySquared | None = None
    """the scope's energy x `elapsed_s` squared"""
    idle_power_w: Watts | None = None
    """the scope's, last idle measurement under the case's settings in this attempt"""
    energy_net_j: Balance | None = None
    """the scope's energy - `idle_power_w` x `energy_window_s`"""


class Placed(Energy):
    """placement."""

    placement: Placement | None = None


class Work(Placed):
    """work."""

    imbalance: Fraction | None = None
    """[1 - mean / largest CPU time](imbalance.md) of a thread"""
    waited: dict[str, Fraction] | None = None
    """by core kind, the share of the largest that threads lack"""
    cpu_share: dict[str, Share] | None = None
    """of CPU time by core kind, by the looks"""
    team_cpu_s: list[dict[str, CpuTime]] | None = None
    """by core kind: of each thread; of each quarter of the run"""
    course: list[dict[str, CpuTime]] | None = None
    thread_libraries: list[str] | None = None
    """OpenMP runtimes and thread libraries of a program of unknown runtime"""


class RegionFields(Work):
    """regions."""

    regions: Object | None = None
    """of each [region](regions.md#what-a-record-has-of-them); cost of marking"""
    region_marks: Object | None = None


class State(RegionFields):
    """state."""

    governor_before: str | None = None
    """in force before and after the run; with CPUs where they differ"""
    governor_read: str | None = None
    driver: str | None = None
    """cpufreq's; `active`, `passive`, `guided` or `active, dynamic EPP`"""
    driver_mode: str | None = None
    epp: str | None = None
    """energy performance preference after the run"""
    min_khz: dict[str, str] | None = None
    """frequency limit → CPUs"""
    max_khz: dict[str, str] | None = None
    highest_khz: dict[str, str] | None = None
    floor_khz: dict[str, str] | None = None
    """to which AMD's firmware lowers frequencies first → CPUs"""
    cpu_capacity: dict[str, list[Whole]] | None = None
    """by core kind: the scheduler's lowest and highest capacity of the case's CPUs"""
    turbo: bool | None = None
    """frequencies above the base are allowed"""
    settings_read: dict[str, str] | None = None
    """`settings` and the governor, read back after the run"""
    sched_energy_aware: str | None = None
    """[energy-aware scheduling](nodes.md#the-scheduler): `on`, `off`, `impossible`"""
    sched_itmt: str | None = None
    """faster cores are preferred: `on`, `off`"""
    sched_cache_aware: str | None = None
    """threads that share data are kept near: `on`, `off`"""
    preemption: str | None = None
    """[mode](nodes.md#the-scheduler): `none`, `voluntary`, `full`, `lazy`"""
    sched_ext: str | None = None
    """state; loaded scheduler, or `none`; loads since boot"""
    sched_ext_scheduler: str | None = None
    sched_ext_loaded: Whole | None = None
    scheduler_loaded_s: Seconds | None = None
    """seconds since pinstudy loaded the scheduler"""
    scheduler_cpu_s: CpuTime | None = None
    """of its process, without its part in the kernel"""
    isolated_cpus: str | None = None
    """onto which the [scheduler moves no threads](nodes.md#isolated-cpus), or `none`; type and CPUs
    of pinstudy's own cpuset partition, or `none`"""
    cpuset_partition: str | None = None
    power_supply: str | None = None
    """[`mains`, `battery`](nodes.md#mains-or-battery); the firmware's profile"""
    platform_profile: str | None = None
    power_limits: dict[str, dict[str, Number]] | None = None
    """per domain: `pl1_w` over `tau_s`, `pl2_w`: long- and short-term limits in watts; before
    the run if they differed"""
    power_limits_before: dict[str, dict[str, Number]] | None = None
    smt: str | None = None
    """of a boot"""
    kernel: str | None = None
    microcode: str | None = None


class NodeAround(State):
    """node around."""

    temperature_before_c: dict[str, Celsius] | None = None
    """by package: `{"package 0": 45.0}`"""
    temperature_after_c: dict[str, Celsius] | None = None
    throttle: dict[str, Count] | None = None
    """increase of `{core,package}_{count,ms,power_limit_count}`; CPUs' cooling states above 0"""
    cpu_cooling: dict[str, Count] | None = None
    power_limit_note: str | None = ""
    """average package power was at or above PL1"""
    temperature_reference_c: dict[str, Celsius] | None = None
    """with `temperature_gate`: temperatures at the study's start; wait; whether reached in
    time"""
    gate_wait_s: Seconds | None = None
    gate_reached: bool | None = None
    power_before_w: Watts | None = None
    """mean power of the packages over tau of the long-term limit, or `over`, before the run"""
    power_before_window_s: Period | None = None
    power_gate_wait_s: Seconds | None = None
    """with `power_gate`: wait; whether reached in time"""
    power_gate_reached: bool | None = None
    load_1min: Number | None = None
    """before the run"""
    foreign_cpu_s: CpuTime | None = None
    """CPU seconds of others on the case's CPUs and their SMT siblings; of these in
    interrupts"""
    interrupts_s: CpuTime | None = None
    steal_s: CpuTime | None = None
    """taken from these CPUs by a hypervisor"""
    quota_throttled_s: CpuTime | None = None
    """for which a CPU quota stopped threads, over all CPUs"""
    foreign_tasks: list[ForeignTask] | None = None
    """up to five other processes on these CPUs: `{"command", "cpu_s"}`"""
    daemons: list[str] | None = []
    """known ones that change frequencies, masks or interrupts"""
    harness: Object | None = None
    """pinstudy's own `cpu_s`, `context_switches`, `cpus` during the run"""


class IdleMeasurement(NodeAround):
    """idle measurement."""

    duration_s: Seconds | None = None
    """asked duration"""
    power_core_w: Watts | None = None
    """beside `power_pkg_w`"""
    power_uncore_w: Watts | None = None
    power_dram_w: Watts | None = None
    power_psys_w: Watts | None = None


class Record(IdleMeasurement):
    """absent."""

    unavailable: dict[str, str] | None = None
    """field → reason; `counts`, `energy`, `extension`, `frequency`, `temperature`, `work` stand
    for all of theirs"""


# The fields that a word in `unavailable` stands for: one reason is often that of all, and would be
# most of a record otherwise.
STANDS_FOR: Mapping[str, tuple[str, ...]] = {
    "counts": (
        "cycles", "instructions", "cache_misses", "residency", "freq_ghz", "freq_mean_ghz",
    ),
    "energy": (
        "energy_pkg_j", "energy_core_j", "energy_uncore_j", "energy_dram_j", "energy_psys_j",
        "power_pkg_w", "edp_js", "ed2p_js2", "idle_power_w", "energy_net_j",
    ),
    "extension": ("sched_ext", "sched_ext_scheduler", "sched_ext_loaded"),
    "frequency": (
        "governor_before", "governor_read", "driver", "driver_mode", "epp", "min_khz", "max_khz",
        "highest_khz", "floor_khz", "turbo",
    ),
    "temperature": ("temperature_before_c", "temperature_after_c"),
    "work": ("imbalance", "waited", "cpu_share", "team_cpu_s", "course"),
}  # fmt: skip

FIELDS = fields(Record)
NAMES = frozenset(field.name for field in FIELDS)
# The groups that only runs of an engine have; each of their fields is checked by itself, and named
# `ranks.number` where it is absent with a reason.
ENGINES: dict[str, type[Struct]] = {"ranks": Ranks, "guest": Guest}

_PLAIN_TYPES = {field.name: plain_type(field.type) for field in FIELDS} | {
    f"{group}.{field.name}": plain_type(field.type)
    for group, declared in ENGINES.items()
    for field in fields(declared)
}
WHOLE_NUMBERS = frozenset(name for name, (plain, _) in _PLAIN_TYPES.items() if plain is int)


def names_by_group() -> dict[str, list[str]]:
    """Return the names of the fields by their group, in the order of docs/records.md."""
    groups: dict[str, list[str]] = {}
    known: set[str] = set()
    for group in reversed(Record.__mro__):
        if not issubclass(group, Identity):
            continue
        names = [name for name in get_annotations(group) if name not in known]
        known.update(names)
        groups.setdefault(str(group.__doc__).rstrip("."), []).extend(names)
    return groups


def largest_numbers() -> dict[str, float]:
    """Return the largest possible number of each field that holds one number."""
    return {
        name: float(bounds[-1].le)
        for name, (plain, bounds) in _PLAIN_TYPES.items()
        if plain in (int, float) and bounds and bounds[-1].le is not None
    }
