"""Names of what is kept of a record: what a run is of, and what was measured of it."""

from __future__ import annotations

from analysis.results.case_summary import TableKey

# What identifies a table; what identifies a row in it; what a row says beside its numbers.
TABLE_KEYS = TableKey._fields[1:]
ROW_KEYS = ("case_number", "mapping", "governor")
ROW_FACTS = (
    "study", "node_id", "selection", "binding", "mechanism", "cpus",
    "engine", "vcpu_mapping", "vcpu_selection", "vcpu_binding", "vcpu_cpus",
    "vm_cpus", "vm_memory_mib", "vm_accelerator", "algorithm",
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
)
# Columns of a frame that only some records have: by core kind, and by the names of an app's own
# metrics. No study of pinstudy's own has as many metrics as are kept.
L1D_MISS_RATE = "l1d_miss_rate_{}"
METRIC = "metric_{}"
MAX_METRICS = 32
_UNITS = ("_s", "_j", "_js", "_js2", "_w", "_ghz", "_bytes")


def with_unit_last(measure: str, statistic: str) -> str:
    """Return `elapsed_sd_s` for the sd of `elapsed_s`, `freq_sd_ghz` for that of a mean's."""
    stem, _, unit = measure.rpartition("_") if measure.endswith(_UNITS) else (measure, "", "")
    return "_".join(filter(None, (stem.removesuffix("_mean"), statistic, unit)))
