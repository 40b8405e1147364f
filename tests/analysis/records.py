"""Records as `pinstudy run` writes them, for the tests of what reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NOT_COUNTED = "cycles: this node refuses hardware counters"


def record(number: int = 1, repetition: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the record of a good run of row `number`, with some of its fields changed."""
    mappings = ("scheduler", "pcores-set", "pcores-pin", "ecores-set", "ecores-pin")
    base: dict[str, Any] = {
        "schema": 1,
        "study": "paper-serial",
        "study_digest": "d" * 64,
        "case_id": f"case{number:012d}",
        "table_number": 1,
        "case_number": number,
        "repetition": repetition,
        "block": repetition,
        "order": repetition,
        "warmup": False,
        "run_id": f"case{number}-{repetition}",
        "started_at": "2025-03-01T12:00:00Z",
        "node_id": "node1",
        "node_digest": "n1",
        "boot_id": "b",
        "attempt": 1,
        "kinds_declared": False,
        "app": "lulesh",
        "variant": "serial",
        "size": "paper",
        "threads": 1,
        "schedule": "static",
        "wait_policy": "runtime-default",
        "mapping": mappings[(number - 1) % 5],
        "selection": "all",
        "binding": "none",
        "mechanism": None,
        "cpus": "0-23",
        "governor": "performance" if number <= 5 else "powersave",
        "driver": "intel_pstate",
        "governor_read": "performance" if number <= 5 else "powersave",
        "status": "ok",
        "reason": "",
        "elapsed_s": 45.0,
        "task_clock_s": 45.0,
        "user_s": 44.0,
        "system_s": 1.0,
        "max_rss_bytes": 60_000_000,
        "freq_mean_ghz": 5.976,
        "freq_ghz": {"P": 5.976},
        "residency": {"P": 1.0, "E": 0.0},
        "migrations": 1,
        "context_switches": 40,
        "cache_misses": 1376989875,
        "energy_pkg_j": 2215.08,
        "placement": {"verdict": "proved"},
        "unavailable": {},
    }
    return base | fields


def without(names: Iterable[str], reason: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return a good run's record that lacks some measured fields for a reason."""
    names = list(names)
    kept = {key: value for key, value in record(**fields).items() if key not in names}
    return kept | {"unavailable": dict.fromkeys(names, reason)}


def left_out(number: int, reason: str) -> dict[str, Any]:
    """Return the record of a row that the node cannot do."""
    identity = record(number, cpus="")
    measured = [
        "elapsed_s",
        "task_clock_s",
        "user_s",
        "system_s",
        "max_rss_bytes",
        "freq_mean_ghz",
        "freq_ghz",
        "residency",
        "migrations",
        "context_switches",
        "cache_misses",
        "energy_pkg_j",
        "placement",
        "unavailable",
        "repetition",
        "block",
        "warmup",
        "run_id",
        "started_at",
    ]
    kept = {key: value for key, value in identity.items() if key not in measured}
    return kept | {"status": "skipped", "reason": reason}


def write(folder: Path, records: Iterable[dict[str, Any]], attempt: int = 1) -> Path:
    """Write records as one attempt's shard of a results folder; return the shard's path."""
    (folder / "records").mkdir(parents=True, exist_ok=True)
    path = folder / "records" / f"node1-{attempt:04d}.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
    return path
