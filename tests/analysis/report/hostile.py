"""Results of somebody who wants the report's reader to run their code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.analysis.affinity.made_results import Affinity
from tests.analysis.report import made_results
from tests.support.results import left_out, record, write

SCRIPT = "<script>window.hacked=1</script>"
IMAGE = "\"'><img src=x onerror=window.hacked=1>"
STYLE = "</style></title></textarea><svg onload=window.hacked=1>"
TEMPLATE = "{{ 7*7 }}{% raw %}"
CONTROLS = "left\u202eright\x1b[31m\x00\u2066\u05d0"
URL = "javascript:window.hacked=1"
EVIL = (SCRIPT, IMAGE, STYLE, TEMPLATE, CONTROLS)
DIGEST = "e" * 64
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"
onload="parent.hacked=1">
<script>parent.hacked=1; fetch("http://127.0.0.1:9/leak")</script>
<image href="http://127.0.0.1:9/leak.png" width="9" height="9"/><rect width="50" height="40"/>
</svg>
"""


def make_hostile_results(folder: Path) -> Path:
    """Write results in which every text is hostile; return the folder."""
    identity = {
        "app": SCRIPT, "build": IMAGE, "size": STYLE, "schedule": TEMPLATE, "wait_policy": URL,
        "study": STYLE, "node_id": SCRIPT, "node_digest": DIGEST, "study_digest": IMAGE,
    }  # fmt: skip
    records = []
    for number, evil in enumerate(EVIL, 1):
        case = identity | {
            "case_id": f"{number}{evil}", "mapping": evil, "governor": STYLE, "driver": evil,
            "selection": evil, "binding": evil, "cpus": evil, "governor_read": evil,
            "freq_ghz": {evil: 1.0}, "residency": {evil: 1.0}, "kernel": evil,
            "versions": {evil: evil}, "runtime": {"name": evil, "version": evil},
            "built_with": evil, "command": [evil, URL], "environment": {"set": {evil: evil}},
        }  # fmt: skip
        for repetition in range(1, 6):
            records.append(
                record(number, repetition) | case | {"unavailable": {evil: evil, "edp_js": evil}}
            )
        records.append(record(number, 6) | case | {"status": "failed", "reason": evil})
    gone = left_out(9, STYLE) | identity | {"case_id": "gone", "mapping": SCRIPT}
    write(folder, [*records, gone])
    nodes = folder / "nodes"
    nodes.mkdir()
    node = {
        "node_id": SCRIPT, "cpu_model": IMAGE, "kernel": STYLE, "microcode": CONTROLS,
        "topology": {
            "kinds": [{"name": e, "cpus": "0", "evidence": e, "declared": True} for e in EVIL],
            "cores": [{"cpus": "0", "kind": SCRIPT, "package": 0}], "caches": [], "numa": [],
            "online": "0", "offline": "", "allowed": "0", "notes": [STYLE],
        },
        "cpufreq": {"drivers": {SCRIPT: "0"}, "governors": {STYLE: "0"}, "mode": IMAGE},
        "power_limits": [{"zone": SCRIPT, "domain": IMAGE, "name": STYLE, "power_w": 1.0}],
        "isa_by_kind": {SCRIPT: STYLE}, "boot_options": IMAGE, "product": SCRIPT,
        "unavailable": {SCRIPT: STYLE},
    }  # fmt: skip
    (nodes / f"{DIGEST}.json").write_text(json.dumps(node))
    (nodes / f"{DIGEST}.lstopo.svg").write_text(PICTURE)
    (folder / "study.yaml").write_text("\n".join(EVIL))
    return folder


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
    (folder / "nodes" / f"{made_results.DIGEST}.json").write_text(json.dumps(node))
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
