"""Where a run was made: the columns that its record's groups `ranks` and `guest` have in frames.

Frames, tables and files are flat. Only this module knows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinstudy.runners.records.record import ENGINES, WHOLE_NUMBERS

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
