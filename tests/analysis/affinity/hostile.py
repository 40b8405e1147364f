"""Results of the affinity experiments whose every text wants to run in the reader's browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.analysis.affinity.made_results import Affinity
from tests.analysis.report.hostile import CONTROLS, EVIL, SCRIPT, STYLE
from tests.analysis.report.made_results import DIGEST
from tests.support.results import write

# Names that the experiments are told apart by stay as they are; every other text is hostile.
_KEPT = ("app", "status", "node_digest", "case_id")
# Alike in all records but for two wait policies: drawing a table takes half a second.
_OF_TABLES = ("build", "size", "governor", "schedule")


def make_hostile_affinity(folder: Path) -> Path:
    """Write results in which every text but the programs' names is hostile; return the folder."""
    records = []
    for at, made in enumerate(Affinity(repetitions=1).records()):
        evil = EVIL[at % len(EVIL)]
        hostile: dict[str, Any] = {
            name: STYLE if name in _OF_TABLES else evil
            for name, value in made.items()
            if isinstance(value, str) and name not in (*_KEPT, "started_at", "boot_id")
        }
        hostile |= {"wait_policy": EVIL[at % 2]}
        hostile |= {"study": SCRIPT, "node_id": SCRIPT, "study_digest": SCRIPT}
        if "placement" in made:
            threads = [{"process": 0, "allowed": evil, "seen": {evil: 3, "0": 1}}, evil]
            hostile["placement"] = {"verdict": "proved", "threads": threads}
        metrics = {**made.get("metrics", {}), evil: 1.0}
        hostile |= {"metrics": metrics, "unavailable": {"l1d_miss_rate": evil, evil: evil}}
        records.append(made | hostile | {"mapping": f"{evil}{at % 8}"})
    write(folder, records)
    (folder / "nodes").mkdir()
    kinds = [{"name": CONTROLS, "cpus": "0-11"}, {"name": SCRIPT, "cpus": "12-15"}]
    cores = [{"cpus": "0-15", "kind": STYLE, "package": 0}]
    cpus = {"online": "0-15", "offline": "", "allowed": "0-15"}
    node = {"topology": {"kinds": kinds, "cores": cores, "caches": [], "numa": []} | cpus}
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node))
    (folder / "latency.json").write_text(json.dumps({"schema": 1, "kind": SCRIPT}))
    (folder / "c2c").mkdir()
    lines = [{"address": SCRIPT, "hitm": 3, "cpus": {SCRIPT: 1}, "symbols": [STYLE]}]
    (folder / "c2c" / "0123456789abcdef.json").write_text(
        json.dumps({"schema": 1, "case_id": SCRIPT, "lines": lines, "perf": STYLE})
    )
    (folder / "c2c" / "unavailable.json").write_text(
        json.dumps({"schema": 1, "unavailable": {"lines": SCRIPT}})
    )
    return folder
