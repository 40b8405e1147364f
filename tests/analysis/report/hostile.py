"""Results of somebody who wants the report's reader to run their code."""

from __future__ import annotations

import json
from pathlib import Path

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
