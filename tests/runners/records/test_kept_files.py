"""Facts and proofs beside the records: what has changed since is named, what is no file is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs, to_builtins

from pinstudy.base.errors import UserError
from pinstudy.configs.library import load_study
from pinstudy.runners.node.node import open_node
from pinstudy.runners.records.instruments import FILE_NAME, Finding, Proof, parse, read_proof
from pinstudy.runners.records.kept_facts import (
    EnvironmentFacts,
    ProgramFacts,
    kept_facts,
    what_changed,
)
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.study.history import read_history
from tests.support.trees import CPU, Machine, build_tree, write

STUDY = load_study("quick")
THEN, NOW = "6.1.0-55-amd64", "6.1.0-56-amd64"
KERNEL, OPTIONS = "proc/sys/kernel/osrelease", "proc/cmdline"
TURBO, SMT = f"{CPU}/intel_pstate/no_turbo", f"{CPU}/smt/control"
FACTS = "0" * 64


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = build_tree(tmp_path, Machine(cores=("0-1", "2-3")))
    texts = {KERNEL: THEN, OPTIONS: "BOOT_IMAGE=/vmlinuz mitigations=off quiet"}
    for path, text in (texts | {SMT: "on", TURBO: "0"}).items():
        write(made, path, text)
    return made


def began(folder: Path, root: Path) -> dict[str, Any]:
    """Write the node's facts as an attempt on it does; return a record of then."""
    node = open_node(root)
    (folder / "nodes").mkdir(exist_ok=True)
    (folder / "nodes" / f"{node.digest}.json").write_text(json.dumps(node.facts))
    return {"node_digest": node.digest, "node_id": node.node_id, "kernel": THEN}


@pytest.mark.parametrize(
    ("path", "text", "change"),
    [
        (KERNEL, NOW, f"kernel was '{THEN}', now '{NOW}'"),
        (OPTIONS, "nosmt quiet", "boot options lost 'mitigations=off' and got 'nosmt'"),
        (SMT, "off", "SMT was 'on', now 'off'"),
        # The kinds, cores and caches of the CPUs that are gone follow from it.
        (f"{CPU}/online", "0-2", "online CPUs were '0-3', now '0-2'"),
        (TURBO, "1", "turbo was on, now off"),
        ("sys/class/dmi/id/bios_version", "1.2", "firmware was unknown, now '1.2'"),
    ],
)
def test_changes_are_named(tmp_path: Path, root: Path, path: str, text: str, change: str) -> None:
    record = began(tmp_path, root)
    write(root, path, text)
    found = what_changed(tmp_path, open_node(root).facts, record)
    assert change in found
    assert len(found) < len(change) + 40


def test_a_study_goes_on_on_the_same_node_only(tmp_path: Path, root: Path) -> None:
    run = {"case_id": "a", "status": "ok", "warmup": False, "repetition": 1, "elapsed_s": 1.0}
    # As on x86, where capacities tell no kinds; the kernel computes them anew as it runs.
    write(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n")
    for slow in (720, 400):
        for cpu in range(4):
            write(root, f"{CPU}/cpu{cpu}/cpu_capacity", 1024 if cpu < 2 else slow)
        record = began(tmp_path, root) | run | {"schema": SCHEMA, "study_digest": STUDY.digest}
        shard = Shard(tmp_path / "records", record["node_id"])
        shard.append(record)
        shard.close()
        node = open_node(root)
        assert read_history(tmp_path, STUDY, node.digest, facts=node.facts).done
    write(root, KERNEL, NOW)
    node = open_node(root)
    with pytest.raises(UserError, match="kernel was") as refused:
        read_history(tmp_path, STUDY, node.digest, facts=node.facts)
    assert "--fresh" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("spoil", [b"", b"\0" * 4096, b"[]", b'{"topology": 7}', b"[" * 100_000])
def test_without_facts_the_record_is_compared(tmp_path: Path, root: Path, spoil: bytes) -> None:
    record = began(tmp_path, root)
    (tmp_path / "nodes" / f"{record['node_digest']}.json").write_bytes(spoil)
    write(root, KERNEL, NOW)
    change = what_changed(tmp_path, open_node(root).facts, record)
    assert change == f"kernel was '{THEN}', now '{NOW}'"


@pytest.mark.parametrize("digest", [None, "../elsewhere", "0" * 63])
def test_what_is_no_digest_opens_no_file(tmp_path: Path, root: Path, digest: str | None) -> None:
    facts = tmp_path / "nodes" / f"{began(tmp_path, root)['node_digest']}.json"
    facts.rename(tmp_path / "nodes" / f"{digest}.json")
    write(root, KERNEL, NOW)
    change = what_changed(tmp_path, open_node(root).facts, {"node_digest": digest})
    assert change == f"compare the files in {tmp_path / 'nodes'}"


def test_what_is_no_file_of_facts_is_none(tmp_path: Path) -> None:
    # Nobody writes to the FIFO: who reads it waits for ever.
    os.mkfifo(tmp_path / f"{FACTS}.json")
    assert kept_facts(tmp_path, FACTS, ProgramFacts) is None
    (tmp_path / "mine.json").write_text('{"files": {}}')
    (tmp_path / f"{'1' * 64}.json").symlink_to(tmp_path / "mine.json")
    assert kept_facts(tmp_path, "1" * 64, ProgramFacts) is None


def test_names_that_are_no_utf_8_are_kept(tmp_path: Path) -> None:
    facts = EnvironmentFacts({"OMP_PLACES": "\udcff"})
    (tmp_path / f"{FACTS}.json").write_text(json.dumps({"variables": facts.variables}))
    assert kept_facts(tmp_path, FACTS, EnvironmentFacts) == facts


FINDINGS = (
    Finding("instructions", "P", "ok", "1,000 in the loop", "1,000"),
    Finding("energy", "core", "off", "grows", "nothing", "stands still", ("energy_core_j",)),
)
PROOF = Proof("node", 64 * "a", "boot", "2026-11-28T12:00:00Z", 1.0, True, FINDINGS)
FIRST = to_builtins(FINDINGS[0])


@pytest.mark.parametrize(
    "spoil",
    [
        *({"schema": 2}, {"kind": "latency"}, {"findings": {}}, {"elapsed_s": -1}),
        {"findings": [{"instrument": "x"}]},
        *({"findings": [FIRST | {"state": "fine"}]}, {"findings": [FIRST | {"fields": [1]}]}),
        {"findings": [FIRST | {"why": "a\x1b[2Jb"}]},
        *({"proved_at": day} for day in (5, "2026-13-01T12:00:00Z", "")),
    ],
)
def test_what_is_no_proof_of_instruments_is_refused(tmp_path: Path, spoil: dict[str, Any]) -> None:
    content = json.loads(json.dumps(PROOF.content()))
    assert parse(json.dumps(content).encode()) == PROOF
    with pytest.raises(ValueError):
        parse(json.dumps(content | spoil).encode())
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps(content | spoil))
    assert read_proof(path) is None


def test_no_more_than_some_instruments_are_named() -> None:
    many = tuple(structs.replace(FINDINGS[1], of=str(number)) for number in range(6))
    proof = structs.replace(PROOF, findings=many)
    assert proof.names_off == "energy 0, energy 1, energy 2, energy 3 and 2 more"
