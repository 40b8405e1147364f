"""The record of a run: each field with its type, its bounds and its meaning, declared once.

The check on load, the tables of docs/records.md and the JSON schema of records come from here
(`make schema`). A record is one flat JSON object. Its groups are classes, each with the fields of
those before it, because msgspec joins no two Structs. Units are in the names. A value that was not
measured is absent, and `unavailable` has the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ulp
from typing import Annotated, Any, get_type_hints

from msgspec import Meta, Struct
from msgspec.inspect import FloatType, IntType, Metadata, StructType, UnionType, type_info
from msgspec.structs import fields

from base.units import HIGHEST_C, LOWEST_C, MAX_DURATION_S

# The version of the format. A reader refuses every other one: nobody can tell there what its fields
# mean.
SCHEMA = 5

_ABOVE_0 = ulp(0.0)
# More watts than any node takes, all the time.
_MAX_W = 1e6
_MAX_J = _MAX_W * MAX_DURATION_S
# From here on, floats cannot represent every whole number.
_MAX_WHOLE = 2**53 - 1

Whole = Annotated[int, Meta(ge=-_MAX_WHOLE, le=_MAX_WHOLE)]
FromOne = Annotated[int, Meta(ge=1, le=_MAX_WHOLE)]
# A program may print any number, as long as sums of squares over runs stay finite.
Number = Annotated[float, Meta(ge=-1e100, le=1e100)]
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
Watts = Annotated[float, Meta(ge=0, le=_MAX_W)]
Gigahertz = Annotated[float, Meta(ge=_ABOVE_0, le=1000)]
# Parts of a run's CPU time, each rounded separately.
Share = Annotated[float, Meta(ge=0, le=1.01)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
MissRate = Annotated[float, Meta(ge=0, le=1000)]
Celsius = Annotated[float, Meta(ge=LOWEST_C, le=HIGHEST_C)]
Object = dict[str, Any]


def doc(meaning: str) -> Meta:
    """Return the meaning of a field, as Markdown; the fields after it without one share it."""
    return Meta(description=meaning)


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


class Placement(Struct, kw_only=True):
    """Where threads were seen."""

    verdict: Annotated[
        str | None,
        doc(
            "`proved`, `violated`, or `unproved` (reason in `unavailable.placement`); [how it is "
            "found](placement.md)"
        ),
    ] = None
    threads: Annotated[
        list[PlacedThread] | None,
        doc(
            "per thread: `process` (0 the program, 1… its descendants), `rank` if there are ranks, "
            "`allowed` CPUs when last seen, `seen`: CPU → number of looks, `cpu_s`: CPU time when "
            "last seen; `runnable_s`: how long it worked or waited for a CPU; `masks`: allowed "
            "CPUs → looks, if several; `settling_looks`, `released_looks`, `idle_looks`: looks "
            "that [do not count](placement.md)"
        ),
    ] = None
    looks: Annotated[Count | None, doc("looks at the threads")] = None
    at_work: Annotated[Count | None, doc("threads at work side by side, if more than asked")] = None
    unmet: Annotated[
        Count | None,
        doc(
            "number of new threads that no look has met; absent if the kernel does not report "
            "births"
        ),
    ] = None
    in_ticks: Annotated[
        bool | None, doc("`true` where CPU times were known in clock ticks only")
    ] = None


class RaceSeen(Struct, kw_only=True):
    """What a race knows of a run beside its value."""

    placement: str | None = None
    requested: Whole | None = None
    started: Whole | None = None
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

    schema: Annotated[Whole | None, doc("version of this format: 5")] = None
    crc32: Annotated[
        str | None,
        doc("checksum of the line up to its key, in eight hexadecimal digits"),
    ] = None
    study: Annotated[
        str | None,
        doc(
            "name; SHA-256 of the study's content without comments and number of repetitions, "
            "as JSON with sorted keys, no spaces, and for each app its SHA-256"
        ),
    ] = None
    study_digest: str | None = None
    study_file: Annotated[
        str | None,
        doc(
            "the argument of `pinstudy run`: a study of the installation, or the path of its "
            "file; absent if a batch system ran the study"
        ),
    ] = None
    case_id: Annotated[
        str | None,
        doc("stable digest of what defines the case, its CPUs included"),
    ] = None
    table_number: Annotated[
        FromOne | None,
        doc(
            "number of the table in the study, and of the row in its table (`#1` …); both "
            "count the cases that are left out"
        ),
    ] = None
    case_number: FromOne | None = None
    repetition: Annotated[
        FromOne | None,
        doc(
            "number within the case from 1; pass over all cases (warm-up: 0); position in the "
            "study (with a `repetition_rule` the numbers of runs that were not needed are "
            "missing)"
        ),
    ] = None
    block: Whole | None = None
    order: Whole | None = None
    repetition_rule: Annotated[
        Object | None,
        doc(
            "`min`, `max`, `ci_half_width` (a share of the mean), `of` (`time`, `energy`): "
            "what ends a case's repetitions; absent if the study gives their number. Until "
            "comparisons are decided `decide` alone: `first`, `max`, `within_s`. In a "
            "[race](repetitions.md#a-race) `race` alone: `of`, `better`, `margin`, `within_s`, "
            "`runs` (a number, `any`, or none), and `cases`, the number of its cases, "
            "including those that there was no time for"
        ),
    ] = None
    race_value: Annotated[
        Number | None,
        doc(
            "only in a race: the number that rates a good run; if there is none, `unavailable` "
            "has the reason"
        ),
    ] = None
    race_seen: Annotated[
        RaceSeen | None,
        doc(
            "only in a race, for every run: `placement`, the verdict; `requested`, the number "
            "of threads that the program was told to start; `started`, the most threads seen "
            "in one process; `disturbed`, by heat, power limits or other tasks; `took_s`, the "
            "seconds of the run with what pinstudy did before and after it"
        ),
    ] = None
    ci_half_width: Annotated[
        dict[str, Number] | None,
        doc(
            'only with a `repetition_rule`: `{"time": 0.012}`, half the 95 % confidence '
            "interval of the mean of the case's good runs so far, as a share of that mean; "
            "from the second good run on, not in warm-up runs. The last run has the precision "
            "that the case reached"
        ),
    ] = None
    warmup: Annotated[bool | None, doc("a warm-up run: recorded, never averaged")] = None
    seed: Annotated[Whole | None, doc("seed of the order")] = None
    run_id: Annotated[str | None, doc("unique name; UTC, ISO 8601; number of the attempt")] = None
    started_at: str | None = None
    attempt: Whole | None = None
    clock_set_s: Annotated[
        Number | None,
        doc(
            "seconds by which the node's clock was set since the attempt began, negative if "
            "back; absent if it was not set. `started_at` minus this is the time by the "
            "original clock"
        ),
    ] = None
    node_id: Annotated[
        str | None,
        doc(
            "the node; the digest names [its file](nodes.md#the-nodes-file), "
            "`nodes/<node_digest>.json`"
        ),
    ] = None
    node_digest: str | None = None
    boot_id: str | None = None
    program_digest: Annotated[
        str | None,
        doc(
            "identifies the program: SHA-256 over the digests of its files, listed in "
            "`programs/<program_digest>.json`. `unavailable.program_files` names files that "
            "could not be read"
        ),
    ] = None
    environment_digest: Annotated[
        str | None,
        doc("the same of its [inherited variables](interruptions.md#the-inherited-variables)"),
    ] = None
    node: Annotated[
        str | None,
        doc(
            "`virtual` in the [virtual node](../vnode/README.md) of the tests: the numbers are "
            "a model's, not hardware's; otherwise absent"
        ),
    ] = None
    pool: Annotated[
        str | None,
        doc(
            "if [interchangeable nodes](batch.md) divide the study's blocks: their common name "
            "and folder, `split-<site>`; `attempt` then counts over all of them. Otherwise "
            "absent"
        ),
    ] = None
    kinds_declared: Annotated[bool | None, doc("whether `--kinds` declared the core kinds")] = None
    program_uid: Annotated[
        Whole | None,
        doc(
            "only if pinstudy was started by [sudo](privileges.md): the number of the user as "
            "whom the program ran"
        ),
    ] = None
    priority: Annotated[
        str | None,
        doc(
            "the scheduling policy and nice value that programs inherited, such as `nice 10`; "
            "absent if usual"
        ),
    ] = None
    imported: Annotated[
        Object | None,
        doc(
            "only for an [imported](import.md) log of `perf stat`: its `file`, `line` and "
            "`digest`; `energy_file`, `energy_digest` if energy is from another"
        ),
    ] = None


class CaseFields(Identity):
    """case."""

    app: Annotated[str | None, doc("the program as it was run")] = None
    variant: str | None = None
    size: str | None = None
    threads: FromOne | None = None
    mapping: Annotated[
        str | None,
        doc("where threads should be, how tightly they are bound, and by what (`null`: nothing)"),
    ] = None
    selection: str | None = None
    binding: str | None = None
    mechanism: str | None = None
    cpus: Annotated[str | None, doc("the CPUs of the mapping, as a list such as `0-7`")] = None
    governor: Annotated[
        str | None,
        doc("as the study asks; governor `current`: the one in force"),
    ] = None
    schedule: str | None = None
    wait_policy: str | None = None
    scheduler: Annotated[
        str | None,
        doc(
            "only if the study [asks for it](scheduling.md): `kernel` or a program of "
            "sched_ext; `on` or `off`"
        ),
    ] = None
    energy_aware: str | None = None
    itmt: str | None = None
    ranks: Annotated[
        FromOne | None,
        doc(
            "only of an MPI program: number of ranks, each of so many `threads`; their "
            "launcher; CPUs of each rank; how the mapping divides them, if it says so"
        ),
    ] = None
    mpi: str | None = None
    rank_cpus: list[str] | None = None
    ranks_by: str | None = None
    algorithm: Annotated[
        str | None,
        doc("what the program computes, if the app has another name: `lulesh` for `lulesh-llnl`"),
    ] = None
    no_schedule: Annotated[
        bool | None,
        doc(
            "`true` if the program has no loops that take `schedule`, which is set all the "
            "same; otherwise absent"
        ),
    ] = None
    fixed_time: Annotated[
        bool | None,
        doc("`true` if the app runs for a given time, whatever the mapping; otherwise absent"),
    ] = None


class CoRunner(CaseFields):
    """co-runner."""

    beside: Annotated[
        str | None,
        doc(
            "only of a case with a co-runner: its app, variant, size, threads and mapping, as "
            "one name; the CPUs of that mapping"
        ),
    ] = None
    beside_cpus: str | None = None
    beside_alone: Annotated[
        str | None,
        doc("the `case_id` of the co-runner when it runs alone"),
    ] = None
    beside_command: Annotated[
        list[str] | None,
        doc("its launcher and program; what identifies the program, as `program_digest`"),
    ] = None
    beside_program_digest: str | None = None
    beside_completed: Annotated[
        Count | None,
        doc("how many executions of it began and ended while the program ran"),
    ] = None
    beside_elapsed_s: Annotated[
        Period | None,
        doc("their mean time; absent if there was none"),
    ] = None
    beside_rate_hz: Annotated[
        Rate | None,
        doc(
            "their number / seconds from the first one's start to the last one's end: the "
            "throughput, without the parts of executions at both ends of the run"
        ),
    ] = None
    beside_cpu_s: Annotated[
        CpuTime | None,
        doc("CPU time of its processes while the program ran, no part of `cpu_s`"),
    ] = None
    beside_placement: Annotated[
        Placement | None,
        doc(
            "as `placement`, of all its executions together; `threads` and `looks` of the one "
            "that used most CPU time"
        ),
    ] = None


class GuestCase(CoRunner):
    """case in a guest."""

    engine: Annotated[str | None, doc("`vm`; absent for runs on the node itself")] = None
    vm_cpus: Annotated[
        FromOne | None,
        doc("virtual CPUs and memory of the guest; `cpus` above are the guest's"),
    ] = None
    vm_memory_mib: FromOne | None = None
    vm_accelerator: Annotated[
        str | None,
        doc("`kvm`, or `tcg` for emulation; emulated runs are cases and tables of their own"),
    ] = None
    vcpu_mapping: Annotated[
        str | None,
        doc("where the virtual CPUs should be, how tightly they are bound, and the host's CPUs"),
    ] = None
    vcpu_selection: str | None = None
    vcpu_binding: str | None = None
    vcpu_cpus: str | None = None


class Launch(GuestCase):
    """launch."""

    command: Annotated[list[str] | None, doc("launcher and program, as typed")] = None
    environment: Annotated[
        Environment | None,
        doc(
            "`set`: variables that were set; `removed`: inherited ones that were removed; "
            "`inherited`: those kept that affect programs: `OMP_…`, `KMP_…`, `GOMP_…`, `LD_…`, "
            "`GLIBC_TUNABLES`, `MALLOC_…` and those of OpenBLAS, MKL, BLIS and MPI"
        ),
    ] = None
    perf_command: Annotated[
        list[str] | None,
        doc("the `perf stat` that was attached to the program"),
    ] = None
    runtime: Annotated[
        Object | None,
        doc("`name`, `path`, `version` of the OpenMP runtime that the loader gives the program"),
    ] = None
    build: Annotated[
        str | None,
        doc(
            "compiler and flags: printed by pinstudy's own programs, or written by `make "
            "originals` for a program that it built, with source, revision and git's tree id"
        ),
    ] = None
    implementation: Annotated[
        str | None,
        doc(
            "whose program it is, if several have the same algorithm: `pinstudy's own Lulesh`, "
            "`LULESH 2.0.3 (LLNL, 3e01c40)`"
        ),
    ] = None
    versions: Annotated[dict[str, str] | None, doc("of pinstudy, perf and the launcher")] = None


class Outcome(Launch):
    """outcome."""

    status: Annotated[
        str | None,
        doc(
            "`ok`, `failed`, `timeout`, `check-failed`, `placement-violated`, "
            "`settings-changed` (governor, EPP, limits, turbo or scheduler changed, or a CPU "
            "went offline or came back), `clock-drifted` (a guest's clock drifted from the "
            "host's), `suspended` (the node slept while it ran), `interrupted`, or `skipped` "
            "(below)"
        ),
    ] = None
    reason: Annotated[str | None, doc("in words; empty when `ok`")] = None
    exit_code: Annotated[
        Whole | None,
        doc("one of them is `null`; observed by the program's parent, not perf"),
    ] = None
    signal: Whole | None = None
    stderr_tail: Annotated[
        str | None,
        doc("the last 2000 characters the program wrote to stderr"),
    ] = None
    metrics: Annotated[
        dict[str, Number] | None,
        doc(
            "the numbers found by the app's patterns; of more than 32 names, tables and "
            "figures take the first 32 in the alphabet"
        ),
    ] = None
    metric_units: Annotated[
        dict[str, str] | None,
        doc(
            "of each metric its unit, in the app's order; of those by which mappings are "
            "compared what is better, `lower` or `higher`"
        ),
    ] = None
    metric_better: dict[str, str] | None = None


class Times(Outcome):
    """time."""

    elapsed_s: Annotated[
        RunTime | None,
        doc(
            "from the program's `exec` to its death (CLOCK_MONOTONIC); launchers are outside; "
            "absent if the program did not start"
        ),
    ] = None
    user_s: Annotated[
        CpuTime | None,
        doc("CPU time of the program and the children it waited for, from wait4(2)"),
    ] = None
    system_s: CpuTime | None = None
    max_rss_bytes: Annotated[Count | None, doc("the most memory that one of these had")] = None
    cpu_s: Annotated[
        CpuTime | None,
        doc(
            "CPU time of the program and all its descendants, daemons included, after all had ended"
        ),
    ] = None
    task_clock_s: Annotated[CpuTime | None, doc("CPU time that perf counted")] = None
    launcher_cpu_s: Annotated[
        CpuTime | None,
        doc("CPU time of the launcher of MPI ranks, no part of theirs"),
    ] = None


class Counters(Times):
    """counters."""

    counters: Annotated[
        list[Object] | None,
        doc(
            "a list: `pmu`, `kinds` (core kinds that the PMU counts, if any), `event`, `value` "
            "(as counted: perf's extrapolation is undone), `enabled_ns`, `running_ns` (if it was "
            "less), `multiplexed` (if `true`)"
        ),
    ] = None
    counted_modes: Annotated[str | None, doc("`user+kernel`, `user` or `mixed`")] = None
    migrations: Annotated[
        Count | None,
        doc("counted by the kernel for the program and its children"),
    ] = None
    context_switches: Count | None = None
    page_faults: Count | None = None
    cycles: Annotated[
        Count | None,
        doc("sums of raw counts over PMUs; absent if one PMU's part is unknown"),
    ] = None
    instructions: Count | None = None
    cache_misses: Count | None = None
    residency: Annotated[
        dict[str, Share] | None,
        doc("share of the program's CPU time by core kind"),
    ] = None
    residency_pmu: Annotated[
        dict[str, Share] | None,
        doc("share of that time by PMU, which may cover two kinds"),
    ] = None
    freq_ghz: Annotated[
        dict[str, Gigahertz] | None,
        doc("raw cycles per nanosecond on a CPU, by core kind"),
    ] = None
    freq_mean_ghz: Annotated[Gigahertz | None, doc("the same over all kinds")] = None
    l1d_miss_rate: Annotated[
        dict[str, MissRate] | None,
        doc(
            "L1-dcache-load-misses / L1-dcache-loads by core kind; only where the study's "
            "`events` name both"
        ),
    ] = None


class Guest(Counters):
    """guest."""

    vm: Annotated[
        Object | None,
        doc("`kernel`, `qemu`, `boot_s`; `cpu_s`: CPU seconds of all of QEMU during the run"),
    ] = None
    vcpu_placement: Annotated[
        Placement | None,
        doc(
            "as `placement`, of the virtual CPUs' threads on the host (`vcpu`: its number); "
            "`others_cpus`: where QEMU's other threads may run; `others_apart`: whether none "
            "of these is a virtual CPU's"
        ),
    ] = None
    vcpu_migrations: Annotated[
        Count | None,
        doc(
            "of the virtual CPUs' threads, counted by the host. `cycles`, `instructions`, "
            "`cache_misses`, `residency`, `freq_ghz` and `counters` are also of these threads; "
            "`migrations`, `context_switches`, `page_faults` and `task_clock_s` are of the "
            "program in its guest"
        ),
    ] = None
    vcpu_context_switches: Count | None = None
    clock: Annotated[
        dict[str, Number] | None,
        doc(
            "`window_s`, `drift_s`, `uncertainty_s`: how far the guest's clock drifted from "
            "the host's around the run"
        ),
    ] = None


class Energy(Guest):
    """energy."""

    energy_pkg_j: Annotated[PackageJoules | None, doc("joules, gross, sum over packages")] = None
    energy_core_j: Annotated[
        Joules | None,
        doc("joules of a package's parts, and of psys, which contains the package"),
    ] = None
    energy_uncore_j: Joules | None = None
    energy_dram_j: Joules | None = None
    energy_psys_j: Joules | None = None
    energy_by_kind_j: Annotated[
        dict[str, Joules] | None,
        doc("[joules of each kind's cores](energy-by-kind.md), gross"),
    ] = None
    energy_window_s: Annotated[Seconds | None, doc("seconds between the two readings")] = None
    energy_by_kind_window_s: Seconds | None = None
    energy_source: Annotated[str | None, doc("`powercap` or `perf`")] = None
    power_pkg_w: Annotated[
        Watts | None,
        doc("average package power: `energy_pkg_j` / `energy_window_s`"),
    ] = None
    edp_js: Annotated[
        EnergyDelay | None,
        doc("energy-delay product: `energy_pkg_j` x `elapsed_s`"),
    ] = None
    ed2p_js2: Annotated[EnergyDelaySquared | None, doc("`energy_pkg_j` x `elapsed_s` squared")] = (
        None
    )
    idle_power_w: Annotated[
        Watts | None,
        doc("package power of the latest idle baseline under the case's governor, in this attempt"),
    ] = None
    energy_net_j: Annotated[
        Balance | None,
        doc("`energy_pkg_j` - `idle_power_w` x `energy_window_s`"),
    ] = None


class Placed(Energy):
    """placement."""

    placement: Placement | None = None


class Work(Placed):
    """work."""

    imbalance: Annotated[
        Fraction | None,
        doc("[how the work was divided](imbalance.md): 1 - mean / largest CPU time of a thread"),
    ] = None
    waited: Annotated[
        dict[str, Fraction] | None,
        doc("by core kind, the share of the largest that threads lack"),
    ] = None
    cpu_share: Annotated[
        dict[str, Share] | None,
        doc("share of CPU time by core kind, by the looks"),
    ] = None
    team_cpu_s: Annotated[
        list[dict[str, CpuTime]] | None,
        doc("a list: CPU seconds of each thread by core kind"),
    ] = None
    course: Annotated[
        list[dict[str, CpuTime]] | None,
        doc("a list: the same for each quarter of the run"),
    ] = None
    thread_libraries: Annotated[
        list[str] | None,
        doc(
            "OpenMP runtimes and libraries with threads that a program of unknown runtime had "
            "loaded"
        ),
    ] = None


class Regions(Work):
    """regions."""

    regions: Annotated[
        Object | None,
        doc(
            "by name, what was measured of each "
            "[region](regions.md#what-a-record-has-of-them); what marking took"
        ),
    ] = None
    region_marks: Object | None = None


class State(Regions):
    """state."""

    governor_before: Annotated[
        str | None,
        doc("the governor in force, read before and after the run; with CPUs where they differ"),
    ] = None
    governor_read: str | None = None
    driver: Annotated[
        str | None,
        doc("the cpufreq driver; `active`, `passive` or `guided` for a pstate driver"),
    ] = None
    driver_mode: str | None = None
    epp: Annotated[
        str | None,
        doc("the energy performance preference after the run"),
    ] = None
    min_khz: Annotated[dict[str, str] | None, doc("frequency limits in force: limit → CPUs")] = None
    max_khz: dict[str, str] | None = None
    turbo: Annotated[bool | None, doc("whether frequencies above the base may be used")] = None
    sched_energy_aware: Annotated[
        str | None,
        doc("[energy-aware scheduling](nodes.md#the-scheduler): `on`, `off`, `impossible`"),
    ] = None
    sched_itmt: Annotated[str | None, doc("whether faster cores are preferred: `on`, `off`")] = None
    sched_ext: Annotated[
        str | None,
        doc("its state; the loaded scheduler, or `none`; number of loads since the boot"),
    ] = None
    sched_ext_scheduler: str | None = None
    sched_ext_loaded: Whole | None = None
    scheduler_loaded_s: Annotated[
        Seconds | None,
        doc("only if pinstudy loaded the scheduler: seconds since then"),
    ] = None
    scheduler_cpu_s: Annotated[
        CpuTime | None,
        doc("CPU seconds of its process, without its part in the kernel"),
    ] = None
    power_limits: Annotated[
        dict[str, dict[str, Number]] | None,
        doc(
            "after the run, per domain: `pl1_w` over `tau_s` and `pl2_w`, the long- and "
            "short-term limits in watts and seconds; `power_limits_before` only if they "
            "differed before it"
        ),
    ] = None
    power_limits_before: dict[str, dict[str, Number]] | None = None
    smt: Annotated[str | None, doc("the same for all runs of a boot")] = None
    kernel: str | None = None
    microcode: str | None = None


class NodeAround(State):
    """node around."""

    temperature_before_c: Annotated[
        dict[str, Celsius] | None,
        doc('degrees Celsius by package, `{"package 0": 45.0}`, before the program\'s window'),
    ] = None
    temperature_after_c: Annotated[dict[str, Celsius] | None, doc("the same, after it")] = None
    throttle: Annotated[
        dict[str, Count] | None,
        doc(
            "increase of the throttle counters: `core_count`, `core_ms`, `package_count`, "
            "`package_ms`, and `…_power_limit_count` where the kernel counts them; sums over "
            "the node"
        ),
    ] = None
    power_limit_note: Annotated[
        str | None,
        doc(
            "a text if average package power was at or above the long-term limit (PL1); empty "
            "below it"
        ),
    ] = None
    temperature_reference_c: Annotated[
        dict[str, Celsius] | None,
        doc("only with a `temperature_gate`: the packages' temperatures at the study's start"),
    ] = None
    gate_wait_s: Annotated[Seconds | None, doc("seconds that this run waited for it")] = None
    gate_reached: Annotated[bool | None, doc("whether they were cool enough in time")] = None
    load_1min: Annotated[Number | None, doc("the load average before the run")] = None
    foreign_cpu_s: Annotated[
        CpuTime | None,
        doc(
            "CPU seconds of the case's CPUs and their SMT siblings that neither the program "
            "nor its co-runner nor pinstudy used"
        ),
    ] = None
    interrupts_s: Annotated[CpuTime | None, doc("of these, in interrupts")] = None
    steal_s: Annotated[CpuTime | None, doc("seconds that a hypervisor took from these CPUs")] = None
    quota_throttled_s: Annotated[
        CpuTime | None,
        doc(
            "seconds, summed over CPUs, for which a CPU quota of pinstudy's control group or a "
            "group above it stopped threads"
        ),
    ] = None
    foreign_tasks: Annotated[
        list[ForeignTask] | None,
        doc(
            "up to five other processes that used CPU time during the run and ran on these "
            'CPUs: `{"command", "cpu_s"}`'
        ),
    ] = None
    daemons: Annotated[
        list[str] | None,
        doc(
            "known daemons that change frequencies, masks or interrupts, running when the "
            "attempt started"
        ),
    ] = None
    harness: Annotated[
        Object | None,
        doc("pinstudy's own `cpu_s`, `context_switches` and `cpus` while the program ran"),
    ] = None


class IdleBaseline(NodeAround):
    """idle baseline."""

    duration_s: Annotated[Seconds | None, doc("how long an idle baseline was asked to take")] = None
    power_core_w: Annotated[Watts | None, doc("the averages beside `power_pkg_w`")] = None
    power_uncore_w: Watts | None = None
    power_dram_w: Watts | None = None
    power_psys_w: Watts | None = None


class Record(IdleBaseline):
    """absent."""

    unavailable: Annotated[
        dict[str, str] | None,
        doc(
            "field → reason. `counts`, `energy`, `extension`, `frequency`, `temperature` and "
            "`work` have that of all their fields that are absent and have none of their own"
        ),
    ] = None


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


def names_by_group() -> dict[str, list[str]]:
    """Return the names of the fields by their group, in the order of docs/records.md."""
    groups: dict[str, list[str]] = {}
    known: set[str] = set()
    for group in reversed(Record.__mro__):
        if not issubclass(group, Identity):
            continue
        names = [name for name in get_type_hints(group) if name not in known]
        known.update(names)
        groups.setdefault(str(group.__doc__).rstrip("."), []).extend(names)
    return groups


def largest_numbers() -> dict[str, float]:
    """Return the largest possible number of each field that holds one number."""
    largest = {}
    declared = type_info(Record)
    assert isinstance(declared, StructType)
    for field in declared.fields:
        kind = field.type.type if isinstance(field.type, Metadata) else field.type
        for option in kind.types if isinstance(kind, UnionType) else (kind,):
            if isinstance(option, (FloatType, IntType)) and option.le is not None:
                largest[field.name] = float(option.le)
    return largest
