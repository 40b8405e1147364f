"""The fields of a run's record: what each means, and which numbers are possible.

docs/records.md has its table from here (`make schema`). Units are in the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import ulp

from base.units import HIGHEST_C, LOWEST_C, MAX_DURATION_S
from runners.records.shard import SCHEMA

# The least and the most that a number may be.
Range = tuple[float, float]


@dataclass(frozen=True)
class Field:
    """Fields of one meaning, which is Markdown as docs/records.md shows it.

    A dot in a name is followed by a key of the object that the field holds. `number` says which
    numbers are possible, `each` says it for an object from names to numbers; a field without
    either holds something else.
    """

    joined_names: str
    meaning: str
    number: Range | None = None
    each: Range | None = None

    @property
    def names(self) -> list[str]:
        """The names, in the order in which the meaning explains them."""
        return self.joined_names.split()


# More CPUs than any node has, all busy; more watts than any node takes, all the time.
_CPU_TIME = (0, MAX_DURATION_S * 65_536)
_MAX_W = 1e6
_MAX_J = _MAX_W * MAX_DURATION_S
_ABOVE_0 = ulp(0.0)
_DURATION = (0, MAX_DURATION_S)
_EVENTS = (0, 2**64)
_ENERGY = (0, _MAX_J)
_POWER = (0, _MAX_W)
# In GHz.
_FREQUENCY = (_ABOVE_0, 1000)
# Parts of a run's CPU time, each rounded separately.
_SHARE = (0, 1.01)
_TEMPERATURE = (LOWEST_C, HIGHEST_C)
# A program may print any number, as long as sums of squares over runs stay finite.
_ANY_NUMBER = (-1e100, 1e100)

# By group, in the order of the page.
FIELDS: Mapping[str, tuple[Field, ...]] = {
    "identity": (
        Field("schema", f"version of this format: {SCHEMA}"),
        Field(
            "crc32",
            "checksum of the line without this field, including the line end, in eight "
            "hexadecimal digits. The fields that show a study's progress come before it; if it "
            "agrees, `plan`, `run` and `status` read only those. Lines of schema 1 to 3 may "
            "lack it",
        ),
        Field(
            "study study_digest",
            "name; SHA-256 of the study's content without comments and number of repetitions, "
            "as JSON with sorted keys, no spaces, and for each app its SHA-256",
        ),
        Field(
            "study_file",
            "the argument of `pinstudy run`: a study of the installation, or the path of its "
            "file; absent if a batch system ran the study",
        ),
        Field("case_id", "stable digest of what defines the case, its CPUs included"),
        Field(
            "table_number case_number",
            "number of the table in the study, and of the row in its table (`#1` …); both count "
            "the cases that are left out",
        ),
        Field(
            "repetition block order",
            "number within the case from 1; pass over all cases (warm-up: 0); position in the "
            "study (with a `repetition_rule` the numbers of runs that were not needed are "
            "missing)",
        ),
        Field(
            "repetition_rule",
            "`min`, `max`, `ci_half_width` (a share of the mean), `of` (`time`, `energy`): what "
            "ends a case's repetitions; absent if the study gives their number. Until comparisons "
            "are decided `decide` alone: `first`, `max`, `within_s`. In a "
            "[race](repetitions.md#a-race) `race` alone: `of`, `better`, `margin`, `within_s`, "
            "`runs` (a number, `any`, or none), and `cases`, the number of its cases, including "
            "those that there was no time for",
        ),
        Field(
            "race_value",
            "only in a race: the number that rates a good run; if there is none, `unavailable` "
            "has the reason",
            number=_ANY_NUMBER,
        ),
        Field(
            "race_seen",
            "only in a race, for every run: `placement`, the verdict; `requested`, the number "
            "of threads that the program was told to start; `started`, the most threads seen in "
            "one process; `disturbed`, by heat, power limits or other tasks; `took_s`, the seconds "
            "of the run with what pinstudy did before and after it",
        ),
        Field(
            "ci_half_width",
            'only with a `repetition_rule`: `{"time": 0.012}`, half the 95 % confidence '
            "interval of the mean of the case's good runs so far, as a share of that mean; from "
            "the second good run on, not in warm-up runs. The last run has the precision that "
            "the case reached",
        ),
        Field("warmup", "a warm-up run: recorded, never averaged"),
        Field("seed", "seed of the order"),
        Field("run_id started_at attempt", "unique name; UTC, ISO 8601; number of the attempt"),
        Field(
            "clock_set_s",
            "seconds by which the node's clock was set since the attempt began, negative if "
            "back; absent if it was not set. `started_at` minus this is the time by the "
            "original clock",
        ),
        Field(
            "node_id node_digest boot_id",
            "the node; the digest names [its file](nodes.md#the-nodes-file), "
            "`nodes/<node_digest>.json`",
        ),
        Field(
            "program_digest",
            "identifies the program: SHA-256 over the digests of its files, listed in "
            "`programs/<program_digest>.json`. `unavailable.program_files` names files that "
            "could not be read",
        ),
        Field(
            "environment_digest",
            "the same of its [inherited variables](interruptions.md#the-inherited-variables)",
        ),
        Field(
            "node",
            "`virtual` in the [virtual node](../vnode/README.md) of the tests: the numbers are "
            "a model's, not hardware's; otherwise absent",
        ),
        Field(
            "pool",
            "if [interchangeable nodes](batch.md) divide the study's blocks: their common name "
            "and folder, `split-<site>`; `attempt` then counts over all of them. Otherwise "
            "absent",
        ),
        Field("kinds_declared", "whether `--kinds` declared the core kinds"),
        Field(
            "program_uid",
            "only if pinstudy was started by [sudo](privileges.md): the number of the user as "
            "whom the program ran",
        ),
        Field(
            "priority",
            "the scheduling policy and nice value that programs inherited, such as `nice 10`; "
            "absent if usual",
        ),
        Field(
            "imported",
            "only for an [imported](import.md) log of `perf stat`: its `file`, `line` and "
            "`digest`; `energy_file`, `energy_digest` if energy is from another",
        ),
    ),
    "case": (
        Field("app variant size threads", "the program as it was run"),
        Field(
            "mapping selection binding mechanism",
            "where threads should be, how tightly they are bound, and by what (`null`: nothing)",
        ),
        Field("cpus", "the CPUs of the mapping, as a list such as `0-7`"),
        Field(
            "governor schedule wait_policy",
            "as the study asks; governor `current`: the one in force",
        ),
        Field(
            "scheduler energy_aware itmt",
            "only if the study [asks for it](scheduling.md): `kernel` or a program of sched_ext; "
            "`on` or `off`",
        ),
        Field(
            "ranks mpi rank_cpus ranks_by",
            "only of an MPI program: number of ranks, each of so many `threads`; their launcher; "
            "CPUs of each rank; how the mapping divides them, if it says so",
        ),
        Field(
            "algorithm",
            "what the program computes, if the app has another name: `lulesh` for `lulesh-llnl`",
        ),
        Field(
            "no_schedule",
            "`true` if the program has no loops that take `schedule`, which is set all the same; "
            "otherwise absent",
        ),
        Field(
            "fixed_time",
            "`true` if the app runs for a given time, whatever the mapping; otherwise absent",
        ),
    ),
    "co-runner": (
        Field(
            "beside beside_cpus",
            "only of a case with a co-runner: its app, variant, size, threads and mapping, as one "
            "name; the CPUs of that mapping",
        ),
        Field("beside_alone", "the `case_id` of the co-runner when it runs alone"),
        Field(
            "beside_command beside_program_digest",
            "its launcher and program; what identifies the program, as `program_digest`",
        ),
        Field(
            "beside_completed",
            "how many executions of it began and ended while the program ran",
            number=_EVENTS,
        ),
        Field(
            "beside_elapsed_s",
            "their mean time; absent if there was none",
            number=(_ABOVE_0, MAX_DURATION_S),
        ),
        Field(
            "beside_rate_hz",
            "their number / seconds from the first one's start to the last one's end: the "
            "throughput, without the parts of executions at both ends of the run",
            number=(_ABOVE_0, 1e9),
        ),
        Field(
            "beside_cpu_s",
            "CPU time of its processes while the program ran, no part of `cpu_s`",
            number=_CPU_TIME,
        ),
        Field(
            "beside_placement",
            "as `placement`, of all its executions together; `threads` and `looks` of the one that "
            "used most CPU time",
        ),
    ),
    "case in a guest": (
        Field("engine", "`vm`; absent for runs on the node itself"),
        Field(
            "vm_cpus vm_memory_mib",
            "virtual CPUs and memory of the guest; `cpus` above are the guest's",
        ),
        Field(
            "vm_accelerator",
            "`kvm`, or `tcg` for emulation; emulated runs are cases and tables of their own",
        ),
        Field(
            "vcpu_mapping vcpu_selection vcpu_binding vcpu_cpus",
            "where the virtual CPUs should be, how tightly they are bound, and the host's CPUs",
        ),
    ),
    "launch": (
        Field("command", "launcher and program, as typed"),
        Field(
            "environment",
            "`set`: variables that were set; `removed`: inherited ones that were removed; "
            "`inherited`: those kept that affect programs: `OMP_…`, `KMP_…`, `GOMP_…`, `LD_…`, "
            "`GLIBC_TUNABLES`, `MALLOC_…` and those of OpenBLAS, MKL, BLIS and MPI",
        ),
        Field("perf_command", "the `perf stat` that was attached to the program"),
        Field(
            "runtime",
            "`name`, `path`, `version` of the OpenMP runtime that the loader gives the program",
        ),
        Field(
            "build",
            "compiler and flags: printed by pinstudy's own programs, or written by `make "
            "originals` for a program that it built, with source, revision and git's tree id",
        ),
        Field(
            "implementation",
            "whose program it is, if several have the same algorithm: `pinstudy's own Lulesh`, "
            "`LULESH 2.0.3 (LLNL, 3e01c40)`",
        ),
        Field("versions", "of pinstudy, perf and the launcher"),
    ),
    "outcome": (
        Field(
            "status",
            "`ok`, `failed`, `timeout`, `check-failed`, `placement-violated`, "
            "`settings-changed` (governor, EPP, limits, turbo or scheduler changed, or a CPU went "
            "offline or came back), `clock-drifted` (a guest's clock drifted from the host's), "
            "`suspended` (the node slept while it ran), "
            "`interrupted`, or `skipped` (below)",
        ),
        Field("reason", "in words; empty when `ok`"),
        Field(
            "exit_code signal",
            "one of them is `null`; observed by the program's parent, not perf",
        ),
        Field("stderr_tail", "the last 2000 characters the program wrote to stderr"),
        Field(
            "metrics",
            "the numbers found by the app's patterns; of more than 32 names, tables and figures "
            "take the first 32 in the alphabet",
            each=_ANY_NUMBER,
        ),
        Field(
            "metric_units metric_better",
            "of each metric its unit, in the app's order; of those by which mappings are compared "
            "what is better, `lower` or `higher`",
        ),
    ),
    "time": (
        Field(
            "elapsed_s",
            "from the program's `exec` to its death (CLOCK_MONOTONIC); launchers are outside; "
            "absent if the program did not start",
        ),
        Field(
            "user_s system_s",
            "CPU time of the program and the children it waited for, from wait4(2)",
            number=_CPU_TIME,
        ),
        Field(
            "max_rss_bytes",
            "the most memory that one of these had",
            number=_EVENTS,
        ),
        Field(
            "cpu_s",
            "CPU time of the program and all its descendants, daemons included, after all had "
            "ended",
            number=_CPU_TIME,
        ),
        Field("task_clock_s", "CPU time that perf counted", number=_CPU_TIME),
        Field(
            "launcher_cpu_s",
            "CPU time of the launcher of MPI ranks, no part of theirs",
            number=_CPU_TIME,
        ),
    ),
    "counters": (
        Field(
            "counters",
            "a list: `pmu`, `kinds` (core kinds that the PMU counts), `event`, `value` (as "
            "counted: perf's extrapolation is undone), `enabled_ns`, `running_ns`, "
            "`multiplexed`",
        ),
        Field("counted_modes", "`user+kernel`, `user` or `mixed`"),
        Field(
            "migrations context_switches page_faults",
            "counted by the kernel for the program and its children",
            number=_EVENTS,
        ),
        Field(
            "cycles instructions cache_misses",
            "sums of raw counts over PMUs; absent if one PMU's part is unknown",
            number=_EVENTS,
        ),
        Field("residency", "share of the program's CPU time by core kind", each=_SHARE),
        Field("residency_pmu", "share of that time by PMU, which may cover two kinds"),
        Field("freq_ghz", "raw cycles per nanosecond on a CPU, by core kind", each=_FREQUENCY),
        Field("freq_mean_ghz", "the same over all kinds", number=_FREQUENCY),
        Field(
            "l1d_miss_rate",
            "L1-dcache-load-misses / L1-dcache-loads by core kind; only where the study's "
            "`events` name both",
            each=(0, 1000),
        ),
    ),
    "guest": (
        Field(
            "vm",
            "`kernel`, `qemu`, `boot_s`; `cpu_s`: CPU seconds of all of QEMU during the run",
        ),
        Field(
            "vcpu_placement",
            "as `placement`, of the virtual CPUs' threads on the host (`vcpu`: its number); "
            "`others_cpus`: where QEMU's other threads may run; `others_apart`: whether none of "
            "these is a virtual CPU's",
        ),
        Field(
            "vcpu_migrations vcpu_context_switches",
            "of the virtual CPUs' threads, counted by the host. `cycles`, `instructions`, "
            "`cache_misses`, `residency`, `freq_ghz` and `counters` are also of these threads; "
            "`migrations`, `context_switches`, `page_faults` and `task_clock_s` are of the "
            "program in its guest",
            number=_EVENTS,
        ),
        Field(
            "clock",
            "`window_s`, `drift_s`, `uncertainty_s`: how far the guest's clock drifted from the "
            "host's around the run",
        ),
    ),
    "energy": (
        # A package always takes some energy; a part of it that is switched off takes none.
        Field("energy_pkg_j", "joules, gross, sum over packages", number=(_ABOVE_0, _MAX_J)),
        Field(
            "energy_core_j energy_uncore_j energy_dram_j energy_psys_j",
            "joules of a package's parts, and of psys, which contains the package",
            number=_ENERGY,
        ),
        Field(
            "energy_by_kind_j",
            "[joules of each kind's cores](energy-by-kind.md), gross",
            each=_ENERGY,
        ),
        Field(
            "energy_window_s energy_by_kind_window_s",
            "seconds between the two readings",
            number=_DURATION,
        ),
        Field("energy_source", "`powercap` or `perf`"),
        Field(
            "power_pkg_w",
            "average package power: `energy_pkg_j` / `energy_window_s`",
            number=_POWER,
        ),
        Field(
            "edp_js",
            "energy-delay product: `energy_pkg_j` x `elapsed_s`",
            number=(_ABOVE_0, _MAX_J * MAX_DURATION_S),
        ),
        Field(
            "ed2p_js2",
            "`energy_pkg_j` x `elapsed_s` squared",
            number=(_ABOVE_0, _MAX_J * MAX_DURATION_S**2),
        ),
        Field(
            "idle_power_w",
            "package power of the latest idle baseline under the case's governor, in this attempt",
            number=_POWER,
        ),
        Field(
            "energy_net_j",
            "`energy_pkg_j` - `idle_power_w` x `energy_window_s`",
            number=(-_MAX_J, _MAX_J),
        ),
    ),
    "placement": (
        Field(
            "placement.verdict",
            "`proved`, `violated`, or `unproved` (reason in `unavailable.placement`); [how it "
            "is found](placement.md)",
        ),
        Field(
            "placement.threads",
            "per thread: `process` (0 the program, 1… its descendants), `rank` if there are ranks, "
            "`allowed` CPUs when last seen, `seen`: CPU → number of looks, `cpu_s`: CPU time when "
            "last seen; `runnable_s`: how long it worked or waited for a CPU; `masks`: allowed "
            "CPUs → looks, if several; `settling_looks`, `released_looks`, `idle_looks`: looks "
            "that [do not count](placement.md)",
        ),
        Field("placement.looks", "looks at the threads"),
        Field("placement.at_work", "threads at work side by side, if more than asked"),
        Field(
            "placement.unmet",
            "number of new threads that no look has met; absent if the kernel does not report "
            "births",
        ),
        Field(
            "placement.in_ticks",
            "`true` where CPU times were known in clock ticks only",
        ),
    ),
    "work": (
        Field(
            "imbalance",
            "[how the work was divided](imbalance.md): 1 - mean / largest CPU time of a thread",
            number=(0, 1),
        ),
        Field("waited", "by core kind, the share of the largest that threads lack", each=(0, 1)),
        Field("cpu_share", "share of CPU time by core kind, by the looks", each=_SHARE),
        Field("team_cpu_s", "a list: CPU seconds of each thread by core kind"),
        Field("course", "a list: the same for each quarter of the run"),
        Field(
            "thread_libraries",
            "OpenMP runtimes and libraries with threads that a program of unknown runtime had "
            "loaded",
        ),
    ),
    "regions": (
        Field(
            "regions region_marks",
            "by name, what was measured of each [region](regions.md#what-a-record-has-of-them); "
            "what marking took",
        ),
    ),
    "state": (
        Field(
            "governor_before governor_read",
            "the governor in force, read before and after the run; with CPUs where they differ",
        ),
        Field(
            "driver driver_mode",
            "the cpufreq driver; `active`, `passive` or `guided` for a pstate driver",
        ),
        Field("epp", "the energy performance preference after the run"),
        Field("min_khz max_khz", "frequency limits in force: limit → CPUs"),
        Field("turbo", "whether frequencies above the base may be used"),
        Field(
            "sched_energy_aware",
            "[energy-aware scheduling](nodes.md#the-scheduler): `on`, `off`, `impossible`",
        ),
        Field("sched_itmt", "whether faster cores are preferred: `on`, `off`"),
        Field(
            "sched_ext sched_ext_scheduler sched_ext_loaded",
            "its state; the loaded scheduler, or `none`; number of loads since the boot",
        ),
        Field(
            "scheduler_loaded_s",
            "only if pinstudy loaded the scheduler: seconds since then",
            number=_DURATION,
        ),
        Field(
            "scheduler_cpu_s",
            "CPU seconds of its process, without its part in the kernel",
            number=_CPU_TIME,
        ),
        Field(
            "power_limits power_limits_before",
            "after the run, per domain: `pl1_w` over `tau_s` and `pl2_w`, the long- and "
            "short-term limits in watts and seconds; `power_limits_before` only if they "
            "differed before it",
        ),
        Field(
            "smt kernel microcode",
            "the same for all runs of a boot",
        ),
    ),
    "node around": (
        Field(
            "temperature_before_c",
            'degrees Celsius by package, `{"package 0": 45.0}`, before the program\'s window',
            each=_TEMPERATURE,
        ),
        Field("temperature_after_c", "the same, after it"),
        Field(
            "throttle",
            "increase of the throttle counters: `core_count`, `core_ms`, `package_count`, "
            "`package_ms`, and `…_power_limit_count` where the kernel counts them; sums over "
            "the node",
        ),
        Field(
            "power_limit_note",
            "a text if average package power was at or above the long-term limit (PL1); empty "
            "below it",
        ),
        Field(
            "temperature_reference_c",
            "only with a `temperature_gate`: the packages' temperatures at the study's start",
        ),
        Field("gate_wait_s", "seconds that this run waited for it", number=_DURATION),
        Field("gate_reached", "whether they were cool enough in time"),
        Field("load_1min", "the load average before the run"),
        Field(
            "foreign_cpu_s",
            "CPU seconds of the case's CPUs and their SMT siblings that neither the program nor "
            "its co-runner nor pinstudy used",
            number=_CPU_TIME,
        ),
        Field(
            "interrupts_s",
            "of these, in interrupts",
            number=_CPU_TIME,
        ),
        Field("steal_s", "seconds that a hypervisor took from these CPUs", number=_CPU_TIME),
        Field(
            "quota_throttled_s",
            "seconds, summed over CPUs, for which a CPU quota of pinstudy's control group or a "
            "group above it stopped threads",
            number=_CPU_TIME,
        ),
        Field(
            "foreign_tasks",
            "up to five other processes that used CPU time during the run and ran on these "
            'CPUs: `{"command", "cpu_s"}`',
        ),
        Field(
            "daemons",
            "known daemons that change frequencies, masks or interrupts, running when the "
            "attempt started",
        ),
        Field(
            "harness",
            "pinstudy's own `cpu_s`, `context_switches` and `cpus` while the program ran",
        ),
    ),
    "idle baseline": (
        Field("duration_s", "how long an idle baseline was asked to take", number=_DURATION),
        Field(
            "power_core_w power_uncore_w power_dram_w power_psys_w",
            "the averages beside `power_pkg_w`",
            number=_POWER,
        ),
    ),
    "absent": (Field("unavailable", "field → reason"),),
}
_ALL = tuple(chain.from_iterable(FIELDS.values()))
NUMBERS: Mapping[str, Range] = {
    name: field.number for field in _ALL if field.number for name in field.names
}
NUMBERS_BY_NAME: Mapping[str, Range] = {
    name: field.each for field in _ALL if field.each for name in field.names
}
# Of the record, without what stands inside a field.
NAMES = frozenset(name.partition(".")[0] for field in _ALL for name in field.names)
