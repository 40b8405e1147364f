"""No identity of a node or its users is on a card, wherever the results have one."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runners.prove.proof import keep
from runners.records.instruments import Finding, Proof, path_beside
from runners.records.line import sealed
from tests.analysis.latency.made_latency import Planted, content_of
from tests.analysis.report.made_results import DIGEST, make_results
from tests.support.cli import pinstudy
from tests.support.tools import ROOT

HOST, USER, SERIAL = "zeus17", "mmustermann", "SN4711"
MARK = f"{HOST} {USER} {SERIAL} /home/{USER}/secret/{HOST}"
NAMES = re.compile(f"{HOST}|{USER}|{SERIAL}|secret|/home|/scratch|b00t", re.IGNORECASE)
TITLE = f"Does the solver of {USER} want P-cores?"

# What identifies nobody, or is what a card is about: pinstudy's words, numbers, an author's names.
KEPT = (
    *("schema", "study", "study_digest", "case_id", "node_digest", "app", "build", "size"),
    *("schedule", "wait_policy", "mapping", "selection", "binding", "mechanism", "cpus"),
    *("governor", "driver", "governor_read", "status", "started_at"),
)
MORE = {
    "command": [f"/home/{USER}/bin/solver", f"--input=/scratch/{USER}/{HOST}.dat"],
    "environment": {"set": {"HOME": f"/home/{USER}"}, "removed": [f"{HOST}_X"]},
    "study_file": f"/home/{USER}/study.yaml",
    "runtime": {"name": "libgomp.so.1", "version": f"13.2.0-{HOST}", "path": f"/home/{USER}/l.so"},
    "built_with": f"g++ 13.2.0 -O3 -I/home/{USER}/include -DHOST={HOST}",
    "versions": {"pinstudy": "0.1.0", "perf": f"6.8.12-{HOST}", HOST: USER},
    "stderr_tail": MARK,
    "daemons": ["irqbalance", f"{USER}d"],
    "foreign_tasks": [{"command": USER, "cpu_s": 0.2}],
    "pool_of": HOST,
    "boot_id": "b00t",
    "node_id": HOST,
    "run_id": f"{HOST}-1",
    "power_limit_note": MARK,
    "reason": "",
}


def planted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value of JSON with the mark behind every text."""
    if isinstance(value, dict):
        return {key: planted(of) for key, of in value.items()}
    if isinstance(value, list):
        return [planted(of) for of in value]
    return f"{value} {MARK}" if isinstance(value, str) else value


def plant_in_records(folder: Path) -> None:
    """Put identities into every field of the records that is none of KEPT."""
    for path in (folder / "records").glob("*.jsonl"):
        lines = []
        for line in path.read_text().splitlines():
            record = json.loads(line)
            changed = {
                key: value if key in KEPT or key == "placement" else planted(value)
                for key, value in record.items()
            }
            changed["unavailable"] = planted(
                record.get("unavailable", {}) | {"cache_misses": "perf lacks the event"}
            )
            changed.pop("cache_misses", None)
            more = dict(MORE)
            if record["status"] != "ok":
                more["reason"] = f"left out: {record.get('reason')} {MARK}"
            changed.pop("crc32")
            lines.append(sealed(json.dumps(changed | more).encode()))
        path.rename(path.with_name(f"{HOST}-0001.jsonl"))
        path.with_name(f"{HOST}-0001.jsonl").write_bytes(b"".join(lines))


def plant_in_node(folder: Path) -> None:
    """Put identities into every text of the node's file but the facts of a card."""
    path = folder / "nodes" / f"{DIGEST}.json"
    node = json.loads(path.read_text())
    facts = ("cpu_model", "topology", "cpufreq", "highest_perf", "cpu_capacity", "isolated")
    changed = planted(node) | {name: node[name] for name in facts}
    changed["kernel"] = f"6.12.3-{HOST}+"
    changed |= dict.fromkeys(("product", "firmware", "kernel_build", "serial"), MARK)
    for kind in changed["topology"]["kinds"]:
        kind["evidence"] = MARK
    changed["topology"]["notes"] = [MARK]
    changed["cpufreq"] |= {"drivers": {"intel_pstate": "0-15", MARK: "0"}, "reason": MARK}
    path.write_text(json.dumps(changed))


def plant_in_proof(folder: Path) -> None:
    off = Finding("energy", "package", "off", MARK, MARK, MARK, ("energy_pkg_j",))
    proof = Proof(HOST, DIGEST, "b00t", "2026-11-26T09:12:00Z", 60.0, False, (off,))
    keep(proof, path_beside(folder, DIGEST))


def plant_in_latency(folder: Path) -> None:
    """Write latencies of two groups of four CPUs, measured on this host."""
    groups = range(4), range(4, 8)
    two = Planted(8, 90.0, near=((groups[0], 30.0), (groups[1], 35.0)), l3=groups)
    content = content_of(two) | {"node_id": HOST}
    (folder / "latency.json").write_text(json.dumps(content | {"program": MARK}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(USER) / "study" / HOST
    folder.mkdir(parents=True)
    make_results(folder, apps=(("lu", 3.0),), threads=(1, 4), repetitions=5)
    (folder / "study.yaml").write_text(f"title: {TITLE}\nnote: {MARK}\n")
    plant_in_records(folder)
    plant_in_node(folder)
    plant_in_proof(folder)
    plant_in_latency(folder)
    return folder


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    done = pinstudy(folder, "card", ".")
    assert done.returncode == 0, done.stderr
    return (folder / "card.json").read_text()


def test_the_results_themselves_name_them(folder: Path) -> None:
    every = [path for path in folder.rglob("*.json*") if path.name != "card.json"]
    assert len(every) == 4
    assert all(NAMES.search(path.read_text()) for path in every)


def test_no_name_is_on_the_card(text: str) -> None:
    found = [text[max(0, of.start() - 80) : of.end() + 20] for of in NAMES.finditer(text)]
    assert found == []


def test_the_folder_of_pinstudy_itself_is_not_on_it(folder: Path, tmp_path: Path) -> None:
    into = tmp_path / "card.json"
    command = [str(ROOT / "bin" / "pinstudy"), "card", str(folder), "--output", str(into)]
    subprocess.run(command, check=True, capture_output=True)
    (folder / "latency.json").rename(folder / "aside.json")
    try:
        subprocess.run(
            [*command[:-1], str(tmp_path / "less.json")], check=True, capture_output=True
        )
    finally:
        (folder / "aside.json").rename(folder / "latency.json")
    for path in (into, tmp_path / "less.json"):
        assert str(ROOT) not in path.read_text()
        assert str(tmp_path) not in path.read_text()


def test_the_facts_are_there_all_the_same(text: str) -> None:
    card = json.loads(text)
    node = card["node"]
    assert (node["cpu_model"], node["kernel"]) == ("Made-up Core i5-13600K", "6.12.3")
    assert [(kind["name"], kind["cpus"], kind["cores"]) for kind in node["kinds"]] == [
        ("P", "0-11", 6),
        ("E", "12-15", 4),
    ]
    assert (node["memory_gib"], node["drivers"]) == (32, ["intel_pstate"])
    assert card["instruments"] == {
        "day": "2026-11-26",
        "ok": 0,
        "absent": 0,
        "off": {"energy package": ["energy_pkg_j"]},
    }
    assert card["versions"] == {
        "pinstudy": ["0.1.0"],
        "perf": ["6.8.12"],
        "compiler": ["g++ 13.2.0"],
        "OpenMP runtime": ["libgomp 13.2.0"],
    }
    assert {near["cpus"]: near["median_ns"] for near in card["latency"]} == {
        "0-7": pytest.approx(90.0, rel=0.05),
        "0-3": pytest.approx(30.0, rel=0.05),
        "4-7": pytest.approx(35.0, rel=0.05),
    }


def test_what_was_not_measured_has_its_cause_in_pinstudys_own_words(text: str) -> None:
    measured = [case for case in json.loads(text)["cases"] if "skipped" not in case]
    lacking = ["no such counter, or perf lacks it"]
    assert [case["reasons"]["cache_misses"] for case in measured] == [lacking] * len(measured)
