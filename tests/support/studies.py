"""Studies of small programs, written into a folder as a user would, and their records."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.record import STANDS_FOR


def write_program(path: Path, text: str) -> Path:
    """Write a script that can be executed; return its path."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def write_app(
    folder: Path, name: str, program: Path | str, sizes: Mapping[str, object], **keys: object
) -> None:
    """Write `apps/NAME.yaml` with the build `plain` of a program without OpenMP."""
    app = {
        "title": name,
        "builds": {"plain": {"program": str(program), "runtime": "none"}},
        "sizes": dict(sizes),
        **keys,
    }
    path = folder / "apps" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(_yaml(app))


def write_study(folder: Path, name: str, app: str, sizes: object, **keys: object) -> Path:
    """Write `NAME.yaml`, a study with one thread, one key a line in the order given."""
    study = {
        "title": name,
        "apps": [{"app": app, "builds": "plain", "sizes": sizes, "threads": 1}],
        "mappings": "unpinned",
        "repetitions": 1,
        "warmup": 0,
        **keys,
    }
    path = folder / f"{name}.yaml"
    path.write_text(_yaml(study))
    return path


def _yaml(table: object) -> str:
    return yaml.safe_dump(table, sort_keys=False, default_flow_style=None, width=10_000)


def records(folder: Path, study: str = "*") -> list[dict[str, Any]]:
    """Return the records of all results of a study in `results`, the usual place.

    Asserts that every field is declared, and so is on the page of records: others are not read.
    """
    shards = sorted(folder.glob(f"results/{study}/*/records"))
    runs = [record for each in shards for record in read_records(each)]
    written = [
        json.loads(line)
        for each in shards
        for shard in each.glob("*.jsonl")
        for line in shard.read_bytes().splitlines()
        if line.endswith(b"}")
    ]
    assert _names(written) - _names(runs) <= {
        "crc32",
        *(f"unavailable.{word}" for word in STANDS_FOR),
    }
    return runs


def _names(value: object, above: str = "") -> set[str]:
    """Return the dotted names of all fields, at any depth."""
    if isinstance(value, list):
        return {name for item in value for name in _names(item, above)}
    if not isinstance(value, dict):
        return set()
    names = {f"{above}{name}": item for name, item in value.items()}
    return {*names, *(deep for name, item in names.items() for deep in _names(item, f"{name}."))}


def keys_of(runs: list[dict[str, Any]]) -> Counter[tuple[str, bool, int]]:
    """Return how often each run is among the good records."""
    return Counter(
        (r["case_id"], r["warmup"], r["repetition"]) for r in runs if r["status"] == "ok"
    )


def two_cpus() -> tuple[int, int]:
    """Return the first two CPUs of this process; skips a test that has fewer."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    return cpus[0], cpus[1]


def two_kinds() -> tuple[str, str]:
    """Return the options that declare the first CPU a P-core and the second an E-core."""
    first, second = two_cpus()
    return "--kinds", f"P={first},E={second}"
