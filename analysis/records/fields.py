"""The names of what is kept of each record, and of what identifies a table and a row."""

from __future__ import annotations

from typing import NamedTuple

from base.text import team_in_words, team_label
from configs.core_kinds import KIND_ORDER


class TableKey(NamedTuple):
    """What the cases of a table share; `number` is None where the source does not number tables.

    `ranks` is None of a program that no MPI launcher started, else `threads` are those of a rank.
    `region` is the part of the program that its rows tell of; None for whole runs. `vm_cpus` and
    `vm_memory_mib` are the guest's virtual CPUs and memory, and `vm_accelerator` is `kvm`, or `tcg`
    for an emulated one, whose times are not the node's; None without a guest.
    """

    number: int | None
    app: str
    variant: str
    size: str
    ranks: int | None
    threads: int
    schedule: str
    wait_policy: str
    region: str | None = None
    vm_cpus: int | None = None
    vm_memory_mib: int | None = None
    vm_accelerator: str | None = None

    @property
    def threads_in_words(self) -> str:
        """How many threads there are: `8 threads`, `2 ranks of 4 threads`."""
        return team_in_words(self.ranks, self.threads)

    @property
    def threads_label(self) -> str:
        """How many threads there are, in short: `x8`, `2x4`."""
        return team_label(self.ranks, self.threads)

    @property
    def is_emulated(self) -> bool:
        """Whether QEMU emulated the guest, so that its times are not the node's."""
        return self.vm_accelerator == "tcg"

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts tables; without number before numbered, without ranks before ranks.

        Whole runs come before their regions.
        """
        return tuple((value is not None, value) for value in self)


# What identifies a table; what identifies a row in it; what a row says beside its numbers.
TABLE_KEYS = TableKey._fields[1:]
# Without them a case is no rank of MPI's, of a whole run, and of no guest; without any other key it
# is of no table.
OPTIONAL_KEYS = ("ranks", "region", "vm_cpus", "vm_memory_mib", "vm_accelerator")
ROW_KEYS = ("case_number", "mapping", "governor")
# Who places threads, where a study asks for it.
OF_SCHEDULING = ("scheduler", "energy_aware", "itmt")
ROW_FACTS = (
    "study", "node_id", "selection", "binding", "mechanism", "cpus",
    "engine", "vcpu_mapping", "vcpu_selection", "vcpu_binding", "vcpu_cpus",
    "algorithm", "mpi", "ranks_by", "rank_cpus",
    "beside", "beside_cpus", "beside_alone",
    *OF_SCHEDULING,
)  # fmt: skip
# Measured numbers that are averaged, in the order of the published tables.
MEASURES = (
    "elapsed_s",
    "freq_mean_ghz",
    "migrations",
    "context_switches",
    "cache_misses",
    "energy_pkg_j",
)
# The only measure of ranks alone.
LAUNCHER_CPU_S = "launcher_cpu_s"
# The measures of what runs beside a program.
BESIDE_MEASURES = ("beside_elapsed_s", "beside_rate_hz", "beside_completed", "beside_cpu_s")
# More numbers for the machine-readable tables.
MORE_MEASURES = (
    "task_clock_s",
    "user_s",
    "system_s",
    "max_rss_bytes",
    "energy_core_j",
    "energy_uncore_j",
    "energy_dram_j",
    "energy_psys_j",
    "energy_net_j",
    "idle_power_w",
    "power_pkg_w",
    "edp_js",
    "ed2p_js2",
    "vcpu_migrations",
    "imbalance",
    LAUNCHER_CPU_S,
    *BESIDE_MEASURES,
)
# The record's field of what CaseSummary.energy_by_kind averages; a kind may lack it alone.
ENERGY_BY_KIND = "energy_by_kind_j"
ENERGY_OF_KIND = {kind: f"{ENERGY_BY_KIND}.{kind}" for kind in KIND_ORDER}
# Columns of a frame that only some records have: by core kind, by the names of an app's own
# metrics, by thread or quarter of the run, and core kind. No study of pinstudy's own has as many
# metrics as are kept, and a figure of more threads could not be read.
L1D_MISS_RATE = "l1d_miss_rate_{}"
METRIC = "metric_{}"
OF_METRIC = ("mean", "sd", "n", "unit", "better")
MAX_METRICS = 32
# The unit of a metric that has none.
PLAIN = "1"
TEAM_CPU_S = "team_cpu_s_{}"
MAX_TEAM = 64
COURSE = "course_{}"
# Between the CPUs of two ranks; a table shows those of no more ranks.
RANK_SEPARATOR = " | "
MAX_RANKS_SHOWN = 8
