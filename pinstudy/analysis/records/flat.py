"""Records made flat: the groups `ranks` and `guest` as columns, regions as rows of their own.

Frames, tables and files are flat. Only this module knows both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pinstudy.base.reading import table_in
from pinstudy.configs.values import is_name
from pinstudy.runners.records.line import without_impossible_values
from pinstudy.runners.records.record import ENGINES, WHOLE_NUMBERS, names_by_group

# The engine of cases in guests, as studies name it.
ENGINE, VM = "engine", "vm"
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "ranks": {
        "number": "ranks",
        "mpi": "mpi",
        "by": "ranks_by",
        "cpus": "rank_cpus",
        "launcher_cpu_s": "launcher_cpu_s",
    },
    "guest": {
        "vcpus": "vm_cpus",
        "memory_mib": "vm_memory_mib",
        "accelerator": "vm_accelerator",
        "mapping": "vcpu_mapping",
        "selection": "vcpu_selection",
        "binding": "vcpu_binding",
        "cpus": "vcpu_cpus",
        "placement": "vcpu_placement",
        "migrations": "vcpu_migrations",
        "context_switches": "vcpu_context_switches",
    },
}
# By a column the record's field, `guest.vcpus`.
RECORD_FIELDS = {
    column: f"{group}.{name}"
    for group, columns in _COLUMNS.items()
    for name, column in columns.items()
}
COLUMN_OF = {field: column for column, field in RECORD_FIELDS.items()}
COUNTS = tuple(column for column, field in RECORD_FIELDS.items() if field in WHOLE_NUMBERS)
TEXTS = (
    ENGINE, "vm_accelerator", "vcpu_mapping", "vcpu_selection", "vcpu_binding", "vcpu_cpus", "mpi",
    "ranks_by",
)  # fmt: skip
RANK_CPUS, VCPU_PLACEMENT = "rank_cpus", "vcpu_placement"
_NAMED = COLUMN_OF.keys() | ENGINES.keys()


def in_columns(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with the columns of its engine beside its fields.

    Reasons are by column, too; that of a whole group is given for all of its columns.
    """
    removed = record.get("unavailable") or {}
    if record.keys().isdisjoint(ENGINES) and removed.keys().isdisjoint(_NAMED):
        return record
    found = {name: value for name, value in record.items() if name not in RECORD_FIELDS}
    for group, columns in _COLUMNS.items():
        values = record.get(group) or {}
        found |= {columns[name]: value for name, value in values.items() if name in columns}
    if record.get("guest"):
        found[ENGINE] = VM
    reasons: dict[str, str] = {}
    for name, why in removed.items():
        named = _COLUMNS[name].values() if name in ENGINES else (COLUMN_OF.get(name, name),)
        reasons |= dict.fromkeys(named, why)
    return found | {"unavailable": reasons}


REGION = "region"
# As many as an app may name.
_MAX_REGIONS = 16


def _names(*groups: str) -> frozenset[str]:
    by_group = names_by_group()
    return frozenset(name for group in groups for name in by_group[group])


# What a region has of its own; what a whole run has and a region has not.
_OF_REGION = _names("time", "counters", "energy") | {
    "temperature_before_c",
    "temperature_after_c",
    "executions",
    "mark_s",
}
_OF_CO_RUNNER = {
    "co_runner_alone",
    "co_runner_completed",
    "co_runner_elapsed_s",
    "co_runner_rate_hz",
    "co_runner_cpu_s",
}
_OF_RUN = (
    _OF_REGION
    | _names("work")
    | _OF_CO_RUNNER
    | {"metrics", "metric_units", "metric_better", "region_marks"}
)


def region_records(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record for each region of a run, named in `region`.

    Its case has a name of its own; its numbers are checked like those of a run. A region that was
    not measured has the reason at its time.
    """
    measured, absent = table_in(record, "regions"), table_in(record, "unavailable")
    named = dict.fromkeys(
        [
            *measured,
            *(name.removeprefix("regions.") for name in absent if name.startswith("regions.")),
        ]
    )
    case_id = record.get("case_id")
    if not isinstance(case_id, str):
        return
    shared = {name: value for name, value in record.items() if name not in _OF_RUN}
    for name in list(named)[:_MAX_REGIONS]:
        if not is_name(name):
            continue
        identity = {"case_id": f"{case_id}:{name}", REGION: name}
        found = _measured(measured.get(name), absent.get(f"regions.{name}"))
        yield without_impossible_values(shared | identity | found)


def _measured(region: object, why: object) -> dict[str, Any]:
    if not isinstance(region, dict):
        reason = why if isinstance(why, str) else "not measured"
        return {"unavailable": dict.fromkeys(_OF_REGION, reason)}
    found = {name: value for name, value in region.items() if name in _OF_REGION}
    return found | {"unavailable": table_in(region, "unavailable")}
