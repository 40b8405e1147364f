"""A node that has changed since a study began is refused in one line that names what differs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from base.errors import UserError
from configs.library import load_study
from runners.node.node import Node, open_node
from runners.records.kept_facts import EnvironmentFacts, ProgramFacts, kept_facts, what_changed
from runners.records.record import SCHEMA
from runners.records.shard import Shard
from runners.study.history import read_history
from tests.support.trees import CPU, Machine, build_tree, write

STUDY = load_study("quick")
KERNEL = "proc/sys/kernel/osrelease"
OPTIONS = "proc/cmdline"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = build_tree(tmp_path, Machine(cores=("0-1", "2-3")))
    write(made, KERNEL, "6.1.0-55-amd64")
    write(made, OPTIONS, "BOOT_IMAGE=/vmlinuz mitigations=off quiet")
    write(made, f"{CPU}/smt/control", "on")
    return made


def began(folder: Path, node: Node) -> dict[str, Any]:
    """Write a record and the node's file as an attempt on this node does; return the record."""
    record = {
        "schema": SCHEMA,
        "study_digest": STUDY.digest,
        "node_digest": node.digest,
        "node_id": node.node_id,
        "kernel": "6.1.0-55-amd64",
        "case_id": "a",
        "status": "ok",
        "warmup": False,
        "repetition": 1,
        "elapsed_s": 1.0,
    }
    shard = Shard(folder / "records", node.node_id)
    shard.append(record)
    shard.close()
    (folder / "nodes").mkdir(exist_ok=True)
    (folder / "nodes" / f"{node.digest}.json").write_text(json.dumps(node.facts))
    return record


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        (KERNEL, "6.1.0-56-amd64", "kernel was '6.1.0-55-amd64', now '6.1.0-56-amd64'; continue"),
        (OPTIONS, "nosmt quiet", "boot options lost 'mitigations=off' and got 'nosmt'"),
        (f"{CPU}/smt/control", "off", "SMT was 'on', now 'off'"),
        (f"{CPU}/online", "0-2", "online CPUs were '0-3', now '0-2'; continue"),
        (f"{CPU}/intel_pstate/no_turbo", "1", "turbo was on, now off"),
        ("sys/class/dmi/id/bios_version", "1.2", "firmware was unknown, now '1.2'"),
    ],
)
def test_what_has_changed_is_named_with_its_values(
    tmp_path: Path, root: Path, path: str, text: str, reason: str
) -> None:
    write(root, f"{CPU}/intel_pstate/no_turbo", "0")
    began(tmp_path, open_node(root))
    write(root, path, text)
    now = open_node(root)
    with pytest.raises(UserError) as refused:
        read_history(tmp_path, STUDY, now.digest, facts=now.facts)
    assert reason in str(refused.value)
    assert "--fresh" in str(refused.value) and "\n" not in str(refused.value)


def test_the_same_node_goes_on_and_records_of_two_nodes_are_refused_on_both(
    tmp_path: Path, root: Path
) -> None:
    first = open_node(root)
    began(tmp_path, first)
    assert read_history(tmp_path, STUDY, first.digest, facts=first.facts).done
    write(root, KERNEL, "6.1.0-56-amd64")
    second = open_node(root)
    began(tmp_path, second)
    for node in (first, second):
        with pytest.raises(UserError, match="kernel was"):
            read_history(tmp_path, STUDY, node.digest, facts=node.facts)


def test_a_study_goes_on_when_the_kernel_has_computed_other_capacities(
    tmp_path: Path, root: Path
) -> None:
    for of_slow in (720, 400):
        for cpu in range(4):
            write(root, f"{CPU}/cpu{cpu}/cpu_capacity", 1024 if cpu < 2 else of_slow)
        # As on x86, where capacities tell no kinds.
        write(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n")
        node = open_node(root)
        if of_slow == 720:
            began(tmp_path, node)
    assert read_history(tmp_path, STUDY, node.digest, facts=node.facts).done


@pytest.mark.parametrize("spoil", [b"", b"\0" * 4096, b"[]", b'{"topology": 7}', b"[" * 100_000])
def test_without_the_facts_of_then_the_record_itself_is_compared(
    tmp_path: Path, root: Path, spoil: bytes
) -> None:
    record = began(tmp_path, open_node(root))
    (tmp_path / "nodes" / f"{record['node_digest']}.json").write_bytes(spoil)
    write(root, KERNEL, "6.1.0-56-amd64")
    change = what_changed(tmp_path, open_node(root).facts, record)
    assert change == "kernel was '6.1.0-55-amd64', now '6.1.0-56-amd64'"


@pytest.mark.parametrize("digest", [None, "../../etc/passwd", "0" * 63])
def test_a_digest_that_is_none_opens_no_file(
    tmp_path: Path, root: Path, digest: str | None
) -> None:
    change = what_changed(tmp_path, open_node(root).facts, {"node_digest": digest})
    assert change == f"compare the files in {tmp_path / 'nodes'}"


def test_what_is_no_file_of_facts_is_none(tmp_path: Path) -> None:
    # Nobody writes to the FIFO: who reads it waits for ever.
    os.mkfifo(tmp_path / f"{'0' * 64}.json")
    assert kept_facts(tmp_path, "0" * 64, ProgramFacts) is None
    (tmp_path / "mine.json").write_text('{"files": {}}')
    (tmp_path / f"{'1' * 64}.json").symlink_to(tmp_path / "mine.json")
    assert kept_facts(tmp_path, "1" * 64, ProgramFacts) is None


def test_names_that_are_no_utf_8_are_kept(tmp_path: Path) -> None:
    facts = EnvironmentFacts({"OMP_PLACES": "\udcff"})
    (tmp_path / f"{'0' * 64}.json").write_text(json.dumps({"variables": facts.variables}))
    assert kept_facts(tmp_path, "0" * 64, EnvironmentFacts) == facts
