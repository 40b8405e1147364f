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

from base.decoding import plain_type
from base.units import HIGHEST_C, LOWEST_C, MAX_DURATION_S, MAX_POWER_W

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
FromZero = Annotated[int, Meta(ge=0, le=_MAX_WHOLE)]
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
    """`proved`, `violated`, or `unproved` (reason in `unavailable.placement`); [how it is
    found](placement.md)"""
    threads: list[PlacedThread] | None = None
    """per thread: `process` (0 the program, 1… its descendants), `rank` if there are ranks,
    `allowed` CPUs when last seen, `seen`: CPU → looks, `cpu_s`: CPU time when last seen;
    `runnable_s`: how long it worked or waited for a CPU; `masks`: allowed CPUs → looks, if several;
    `settling_looks`, `released_looks`, `idle_looks`: looks that [do not count](placement.md)"""
    looks: Count | None = None
    """looks at the threads"""
    at_work: Count | None = None
    """threads at work side by side, if more than asked"""
    unmet: Count | None = None
    """number of new threads that no look has met; absent if the kernel does not report births"""
    in_ticks: bool | None = None
    """`true` where CPU times were known in clock ticks only"""
    others_cpus: str | None = None
    """where QEMU's other threads may run"""
    others_apart: bool | None = None
    """whether none of these is a virtual CPU's"""


class Ranks(Struct, kw_only=True):
    """The ranks of an MPI program."""

    number: FromOne | None = None
    """only of an MPI program: number of ranks, each of so many `threads`; their launcher"""
    mpi: str | None = None
    cpus: list[str] | None = None
    """the CPUs of each rank; how the mapping divides them, if it says so"""
    by: str | None = None
    launcher_cpu_s: CpuTime | None = None
    """CPU time of the launcher, no part of the ranks'"""


class Guest(Struct, kw_only=True):
    """The guest that a program ran in."""

    vcpus: FromOne | None = None
    """only in a guest: its virtual CPUs and memory; `cpus` above are the guest's"""
    memory_mib: FromOne | None = None
    accelerator: str | None = None
    """`kvm`, or `tcg` for emulation; emulated runs are cases and tables of their own"""
    mapping: str | None = None
    """where the virtual CPUs should be, how tightly they are bound, and the host's CPUs"""
    selection: str | None = None
    binding: str | None = None
    cpus: str | None = None
    kernel: str | None = None
    """the guest's; version of QEMU"""
    qemu: str | None = None
    boot_s: Seconds | None = None
    """seconds of its boot"""
    cpu_s: CpuTime | None = None
    """CPU seconds of all of QEMU during the run"""
    placement: Placement | None = None
    """as `placement`, of the virtual CPUs' threads on the host (`vcpu`: its number)"""
    migrations: Count | None = None
    """of the virtual CPUs' threads, counted by the host. `cycles`, `instructions`, `cache_misses`,
    `residency`, `freq_ghz` and `counters` are also of these threads; the record's own `migrations`,
    `context_switches`, `page_faults` and `task_clock_s` are of the program in its guest"""
    context_switches: Count | None = None
    clock: dict[str, Number] | None = None
    """`window_s`, `drift_s`, `uncertainty_s`: how far the guest's clock drifted from the host's
    around the run"""


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
    """checksum of the line up to its key, in eight hexadecimal digits"""
    study: str | None = None
    """name; SHA-256 of the study's content without comments and number of repetitions, as JSON with
    sorted keys, no spaces, and for each app its SHA-256"""
    study_digest: str | None = None
    study_file: str | None = None
    """the argument of `pinstudy run`: a study of the installation, or the path of its file; absent
    if a batch system ran the study"""
    case_id: str | None = None
    """stable digest of what defines the case, its CPUs included"""
    table_number: FromOne | None = None
    """number of the table in the study, and of the row in its table (`#1` …); both count the cases
    that are left out"""
    case_number: FromOne | None = None
    repetition: FromOne | None = None
    """number within the case from 1; pass over all cases (warm-up: 0); position in the study (with
    a `repetition_rule` the numbers of runs that were not needed are missing)"""
    block: Whole | None = None
    order: Whole | None = None
    repetition_rule: Object | None = None
    """what ends a case's repetitions; absent for a fixed number. Until decided `decide`: `first`,
    `max`, `time_budget_s`. In a [race](race.md) of `pinstudy advise` `race`: `of`, `better`,
    `margin`, `time_budget_s`, `runs` (a number, `any`, or none), and `cases`, the number of all,
    those without time too. Of `--undecided` `undecided`: `look`, its number"""
    race_value: RaceValue | None = None
    """only in a race: the number that rates a good run; if there is none, `unavailable` has the
    reason"""
    race_seen: RaceSeen | None = None
    """only in a race, for every run: `placement`, the verdict; `disturbed`, by heat, power limits
    or other tasks; `took_s`, the seconds of the run with what pinstudy did before and after it"""
    warmup: bool | None = None
    """a warm-up run: recorded, never averaged"""
    seed: Whole | None = None
    """seed of the order"""
    run_id: str | None = None
    """unique name; UTC, ISO 8601; number of the attempt"""
    started_at: str | None = None
    attempt: Whole | None = None
    clock_set_s: Number | None = None
    """seconds by which the node's clock was set since the attempt began, negative if back; absent
    if it was not set. `started_at` minus this is the time by the original clock"""
    node_id: str | None = None
    """the node; the digest names [its file](nodes.md#the-nodes-file), `nodes/<node_digest>.json`"""
    node_digest: str | None = None
    boot_id: str | None = None
    program_digest: str | None = None
    """identifies the program: SHA-256 over the digests of its files, listed in
    `programs/<program_digest>.json`. `unavailable.program_files` names files that could not be
    read"""
    environment_digest: str | None = None
    """the same of its [inherited variables](interruptions.md#the-inherited-variables)"""
    node: str | None = None
    """`virtual` in the [virtual node](../vnode/README.md) of the tests: the numbers are a model's,
    not hardware's; otherwise absent"""
    pool: str | None = None
    """if [interchangeable nodes](batch.md) divide the study's blocks: their common name and folder,
    `split-<site>`; `attempt` then counts over all of them. Otherwise absent"""
    kinds_declared: bool | None = False
    """whether `--kinds` declared the core kinds"""
    program_uid: Whole | None = None
    """only if pinstudy was started by [sudo](privileges.md): the number of the user as whom the
    program ran"""
    priority: str | None = None
    """the scheduling policy and nice value that programs inherited, such as `nice 10`; absent if
    usual"""
    imported: Object | None = None
    """only for an [imported](import.md) log of `perf stat`: its `file`, `line` and `digest`;
    `energy_file`, `energy_digest` if energy is from another"""


class CaseFields(Identity):
    """case."""

    app: str | None = None
    """the program as it was run"""
    build: str | None = None
    size: str | None = None
    threads: FromOne | None = None
    mapping: str | None = None
    """where threads should be, how tightly they are bound, and by what"""
    selection: str | None = None
    binding: str | None = None
    mechanism: str | None = None
    cpus: str | None = None
    """the CPUs of the mapping, as a list such as `0-7`"""
    governor: str | None = None
    """as the study asks; governor `current`: the one in force"""
    schedule: str | None = None
    wait_policy: str | None = None
    settings: dict[str, str] | None = None
    """[settings](settings.md#settings-as-factors) that the study asks for beside the governor:
    `{"epp": "power"}`"""
    algorithm: str | None = None
    """what the program computes, if the app has another name: `lulesh` for `lulesh-llnl`"""
    no_schedule: bool | None = None
    """`true` if the program has no loops that take `schedule`, which is set all the same; otherwise
    absent"""
    fixed_time: bool | None = None
    """`true` if the app runs for a given time, whatever the mapping; otherwise absent"""


class CoRunner(CaseFields):
    """co-runner."""

    co_runner: str | None = None
    """only of a case with a co-runner: its app, build, size, threads and mapping, as one name;
    the CPUs of that mapping"""
    co_runner_cpus: str | None = None
    co_runner_alone: str | None = None
    """the `case_id` of the co-runner when it runs alone"""
    co_runner_command: list[str] | None = None
    """its launcher and program; what identifies the program, as `program_digest`"""
    co_runner_program_digest: str | None = None
    co_runner_completed: Count | None = None
    """how many executions of it began and ended while the program ran"""
    co_runner_elapsed_s: Period | None = None
    """their mean time; absent if there was none"""
    co_runner_rate_hz: Rate | None = None
    """their number / seconds from the first one's start to the last one's end: the throughput,
    without the parts of executions at both ends of the run"""
    co_runner_cpu_s: CpuTime | None = None
    """CPU time of its processes while the program ran, no part of `cpu_s`"""
    co_runner_placement: Placement | None = None
    """as `placement`, of all its executions together; `threads` and `looks` of the one that used
    most CPU time"""


class Engine(CoRunner):
    """engine."""

    ranks: Ranks | None = None
    guest: Guest | None = None


class Launch(Engine):
    """launch."""

    command: list[str] | None = None
    """launcher and program, as typed"""
    environment: Environment | None = None
    """`set`: variables that were set; `removed`: inherited ones that were removed; `inherited`:
    those kept that affect programs: `OMP_…`, `KMP_…`, `GOMP_…`, `LD_…`, `GLIBC_TUNABLES`,
    `MALLOC_…` and those of OpenBLAS, MKL, BLIS and MPI"""
    perf_command: list[str] | None = None
    """the `perf stat`, without what attached it"""
    runtime: Object | None = None
    """`name`, `path`, `version` of the OpenMP runtime that the loader gives the program"""
    built_with: str | None = None
    """compiler and flags: printed by pinstudy's own programs, or written by `make originals` for a
    program that it built, with source, revision and git's tree id"""
    implementation: str | None = None
    """whose program it is, if several have the same algorithm: `pinstudy's own Lulesh`, `LULESH
    2.0.3 (LLNL, 3e01c40)`"""
    versions: dict[str, str] | None = None
    """of pinstudy, perf and the launcher"""


class Outcome(Launch):
    """outcome."""

    status: str | None = None
    """`ok`, `failed`, `timeout`, `check-failed`, `placement-violated`, `settings-changed`
    (governor, EPP, limits, turbo, scheduler or supply changed, or a CPU went offline or came back),
    `clock-drifted` (a guest's clock drifted from the host's), `suspended` (the node slept while it
    ran), `interrupted`, or `skipped` (below)"""
    reason: str | None = ""
    """in words"""
    exit_code: Whole | None = None
    """one of them is absent; observed by the program's parent, not perf"""
    signal: Whole | None = None
    stderr_tail: str | None = ""
    """the last 2000 characters the program wrote to stderr"""
    metrics: dict[str, Number] | None = None
    """the numbers found by the app's patterns; of more than 32 names, tables and figures take the
    first 32 in the alphabet"""
    metric_units: dict[str, str] | None = None
    """of each metric its unit, in the app's order; of those by which mappings are compared what is
    better, `lower` or `higher`"""
    metric_better: dict[str, str] | None = None


class Times(Outcome):
    """time."""

    elapsed_s: RunTime | None = None
    """from the program's `exec` to its death (CLOCK_MONOTONIC); launchers are outside; absent if
    the program did not start"""
    user_s: CpuTime | None = None
    """CPU time of the program and the children it waited for, from wait4(2)"""
    system_s: CpuTime | None = None
    max_rss_bytes: Count | None = None
    """the most memory that one of these had"""
    cpu_s: CpuTime | None = None
    """CPU time of the program and all its descendants, daemons included, after all had ended"""
    task_clock_s: CpuTime | None = None
    """CPU time that perf counted"""


class Counters(Times):
    """counters."""

    counters: list[Object] | None = []
    """a list: `pmu`, `kinds` (core kinds that the PMU counts, if any), `event`, `value` (as
    counted: perf's extrapolation is undone), `enabled_ns`, `running_ns` (if it was less),
    `multiplexed` (if `true`); not of events that have fields"""
    counted_modes: str | None = None
    """`user+kernel`, `user` or `mixed`"""
    migrations: Count | None = None
    """counted by the kernel for the program and its children"""
    context_switches: Count | None = None
    page_faults: Count | None = None
    cycles: Count | None = None
    """sums of raw counts over PMUs; absent if one PMU's part is unknown"""
    instructions: Count | None = None
    cache_misses: Count | None = None
    residency: dict[str, Share] | None = None
    """share of the program's CPU time by core kind"""
    residency_pmu: dict[str, Share] | None = None
    """share of that time by PMU, which may cover two kinds"""
    freq_ghz: dict[str, Gigahertz] | None = None
    """raw cycles per nanosecond on a CPU, by core kind"""
    freq_mean_ghz: Gigahertz | None = None
    """the same over all kinds"""
    l1d_miss_rate: dict[str, MissRate] | None = None
    """L1-dcache-load-misses / L1-dcache-loads by core kind; only where the study's `events` name
    both"""


class Energy(Counters):
    """energy."""

    energy_pkg_j: PackageJoules | None = None
    """joules, gross, sum over packages"""
    energy_core_j: Joules | None = None
    """joules of a package's parts, and of psys, which contains the package"""
    energy_uncore_j: Joules | None = None
    energy_dram_j: Joules | None = None
    energy_psys_j: Joules | None = None
    energy_by_kind_j: dict[str, Joules] | None = None
    """[joules of each kind's cores](energy-by-kind.md), gross"""
    energy_window_s: Seconds | None = None
    """seconds between the two readings"""
    energy_by_kind_window_s: Seconds | None = None
    energy_source: str | None = None
    """`powercap` or `perf`"""
    power_pkg_w: Watts | None = None
    """average package power: `energy_pkg_j` / `energy_window_s`"""
    edp_js: EnergyDelay | None = None
    """energy-delay product: `energy_pkg_j` x `elapsed_s`"""
    ed2p_js2: EnergyDelaySquared | None = None
    """`energy_pkg_j` x `elapsed_s` squared"""
    idle_power_w: Watts | None = None
    """package power of the latest idle measurement under the case's settings, in this attempt"""
    energy_net_j: Balance | None = None
    """`energy_pkg_j` - `idle_power_w` x `energy_window_s`"""


class Placed(Energy):
    """placement."""

    placement: Placement | None = None


class Work(Placed):
    """work."""

    imbalance: Fraction | None = None
    """[how the work was divided](imbalance.md): 1 - mean / largest CPU time of a thread"""
    waited: dict[str, Fraction] | None = None
    """by core kind, the share of the largest that threads lack"""
    cpu_share: dict[str, Share] | None = None
    """share of CPU time by core kind, by the looks"""
    team_cpu_s: list[dict[str, CpuTime]] | None = None
    """a list: CPU seconds of each thread by core kind"""
    course: list[dict[str, CpuTime]] | None = None
    """a list: the same for each quarter of the run"""
    thread_libraries: list[str] | None = None
    """OpenMP runtimes and libraries with threads that a program of unknown runtime had loaded"""


class Regions(Work):
    """regions."""

    regions: Object | None = None
    """by name, what was measured of each [region](regions.md#what-a-record-has-of-them); what
    marking took"""
    region_marks: Object | None = None


class State(Regions):
    """state."""

    governor_before: str | None = None
    """the governor in force, read before and after the run; with CPUs where they differ"""
    governor_read: str | None = None
    driver: str | None = None
    """the cpufreq driver; a pstate driver's `active`, `passive`, `guided` or `active, dynamic
    EPP`"""
    driver_mode: str | None = None
    epp: str | None = None
    """energy performance preference after the run"""
    min_khz: dict[str, str] | None = None
    """frequency limits in force: limit → CPUs"""
    max_khz: dict[str, str] | None = None
    turbo: bool | None = None
    """whether frequencies above the base may be used"""
    settings_read: dict[str, str] | None = None
    """the same and the governor, read back after the run; with CPUs where they differ"""
    sched_energy_aware: str | None = None
    """[energy-aware scheduling](nodes.md#the-scheduler): `on`, `off`, `impossible`"""
    sched_itmt: str | None = None
    """whether faster cores are preferred: `on`, `off`"""
    sched_cache_aware: str | None = None
    """whether threads that share data are put near each other, where it can be read: `on`, `off`"""
    sched_ext: str | None = None
    """its state; the loaded scheduler, or `none`; loads since the boot"""
    sched_ext_scheduler: str | None = None
    sched_ext_loaded: Whole | None = None
    scheduler_loaded_s: Seconds | None = None
    """only if pinstudy loaded the scheduler: seconds since then"""
    scheduler_cpu_s: CpuTime | None = None
    """CPU seconds of its process, without its part in the kernel"""
    power_supply: str | None = None
    """[`mains`, `battery`](nodes.md#mains-or-battery); the firmware's profile"""
    platform_profile: str | None = None
    power_limits: dict[str, dict[str, Number]] | None = None
    """after the run, per domain: `pl1_w` over `tau_s` and `pl2_w`, the long- and short-term limits
    in watts and seconds; `power_limits_before` only if they differed before it"""
    power_limits_before: dict[str, dict[str, Number]] | None = None
    smt: str | None = None
    """the same for all runs of a boot"""
    kernel: str | None = None
    microcode: str | None = None


class NodeAround(State):
    """node around."""

    temperature_before_c: dict[str, Celsius] | None = None
    """degrees Celsius by package, `{"package 0": 45.0}`, before the program's window"""
    temperature_after_c: dict[str, Celsius] | None = None
    """the same, after it"""
    throttle: dict[str, Count] | None = None
    """increase of the throttle counters: `core_count`, `core_ms`, `package_count`, `package_ms`,
    and `…_power_limit_count` where the kernel counts them; sums over the node"""
    power_limit_note: str | None = ""
    """text if average package power was at or above the long-term limit (PL1)"""
    temperature_reference_c: dict[str, Celsius] | None = None
    """only with a `temperature_gate`: the packages' temperatures at the study's start"""
    gate_wait_s: Seconds | None = None
    """seconds that this run waited for it"""
    gate_reached: bool | None = None
    """whether they were cool enough in time"""
    load_1min: Number | None = None
    """the load average before the run"""
    foreign_cpu_s: CpuTime | None = None
    """CPU seconds of the case's CPUs and their SMT siblings that neither the program nor its
    co-runner nor pinstudy used"""
    interrupts_s: CpuTime | None = None
    """of these, in interrupts"""
    steal_s: CpuTime | None = None
    """seconds that a hypervisor took from these CPUs"""
    quota_throttled_s: CpuTime | None = None
    """seconds, summed over CPUs, for which a CPU quota of pinstudy's control group or a group above
    it stopped threads"""
    foreign_tasks: list[ForeignTask] | None = None
    """up to five other processes that used CPU time during the run and ran on these CPUs:
    `{"command", "cpu_s"}`"""
    daemons: list[str] | None = []
    """known daemons that change frequencies, masks or interrupts, running when the attempt
    started"""
    harness: Object | None = None
    """pinstudy's own `cpu_s`, `context_switches` and `cpus` while the program ran"""


class IdleMeasurement(NodeAround):
    """idle measurement."""

    duration_s: Seconds | None = None
    """how long an idle measurement was asked to take"""
    power_core_w: Watts | None = None
    """the averages beside `power_pkg_w`"""
    power_uncore_w: Watts | None = None
    power_dram_w: Watts | None = None
    power_psys_w: Watts | None = None


class Record(IdleMeasurement):
    """absent."""

    unavailable: dict[str, str] | None = None
    """field → reason. `counts`, `energy`, `extension`, `frequency`, `temperature` and `work` have
    that of all their fields that are absent and have none of their own"""


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
        "turbo",
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
