"""`pinstudy prove` as a user meets it on this machine, and studies of a node that was tested."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from base import PINSTUDY
from runners.node.node import Node, open_node
from runners.prove.proof import keep_for_node, new_proof
from runners.prove.prove import GROUPS
from runners.records.instruments import FILE_NAME, Finding
from tests.support.cli import pinstudy, started, stop
from tests.support.processes import command_line, descendants
from tests.support.studies import write_app, write_program, write_study
from tests.support.trees import build_tree
from tests.support.wait import until

OFF = Finding("energy", "package", "off", "grows", "nothing", "stands still", ("energy_pkg_j",))
FINE = Finding("migrations", "", "ok", "200 moves", "200")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the state for this test alone."""
    folder = tmp_path / "state"
    monkeypatch.setenv("PINSTUDY_STATE", str(folder))
    return folder


@pytest.fixture
def node(state: Path) -> Node:  # noqa: ARG001 - the node's state is there
    return open_node(Path("/"))


def kept(state: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in state.rglob(FILE_NAME)]


def small_study(folder: Path, **keys: object) -> None:
    program = write_program(folder / "short.sh", "#!/bin/sh\nexit 0\n")
    write_app(folder, "short", program, {"s": {"arguments": ""}})
    write_study(folder, "st", "short", "s", **keys)


def test_a_part_is_told_line_by_line_and_not_kept(tmp_path: Path, state: Path) -> None:
    done = pinstudy(tmp_path, "prove", "--only", "caches", status=0)
    assert "cache misses near P" in done.stdout
    assert "placement" not in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" s")
    assert kept(state) == []


def test_the_parts_are_those_of_the_program(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "prove", "--only", "everything", status=2)
    assert all(name in done.stderr for name in GROUPS)


def test_a_recorded_node_is_refused(tmp_path: Path, state: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    done = pinstudy(tmp_path, "prove", "--sysroot", str(root))
    assert (done.returncode, done.stdout) == (2, "")
    assert "recorded node cannot be tested" in done.stderr
    assert kept(state) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_program_outlives_it_and_nothing_is_kept(
    tmp_path: Path, state: Path, number: signal.Signals
) -> None:
    with started(tmp_path, "prove", "--only", "resolution") as process:
        until(lambda: yardsticks(process.pid), what="a yardstick runs")
        stop(process, number)
    assert kept(state) == []


def yardsticks(pid: int) -> list[int]:
    return [of for of in descendants(pid) if "yardstick" in " ".join(command_line(of))]


def test_a_study_and_the_doctor_tell_what_was_off(tmp_path: Path, node: Node) -> None:
    keep_for_node(new_proof(node, [OFF, FINE], 60.0, quick=False), node.root)
    small_study(tmp_path)
    run = pinstudy(tmp_path, "run", "st.yaml", status=0)
    assert "instruments" in run.stdout
    assert "off: energy package" in " ".join(run.stdout.split())
    (copy,) = tmp_path.glob(f"results/st/*/nodes/{node.digest}.{FILE_NAME}")
    assert json.loads(copy.read_text())["findings"][0]["why"] == "stands still"
    tables = pinstudy(tmp_path, "tables", "results/st").stdout
    assert "by `pinstudy prove`: stands still" in tables
    doctor = json.loads(pinstudy(tmp_path, "doctor", "--json").stdout)
    (told,) = [of for of in doctor if of["name"] == "instruments"]
    assert (told["state"], told["optional"]) == ("limited", False)
    assert told["why"].endswith("1 ok, 1 off, 0 absent; off: energy package")


def test_a_node_that_was_not_tested_is_told_how(tmp_path: Path, node: Node) -> None:
    other = structs.replace(new_proof(node, [OFF], 1.0, quick=True), node_digest="0" * 64)
    keep_for_node(other, node.root)
    doctor = json.loads(pinstudy(tmp_path, "doctor", "--json").stdout)
    (told,) = [of for of in doctor if of["name"] == "instruments"]
    assert (told["state"], told["optional"]) == ("missing", True)
    assert told["grant"] == f"{PINSTUDY} prove"


def test_a_study_tests_the_instruments_once_a_boot_where_it_asks_for_it(
    tmp_path: Path, node: Node, state: Path
) -> None:
    old = structs.replace(new_proof(node, [OFF], 1.0, quick=True), boot_id="another boot")
    keep_for_node(old, node.root)
    small_study(tmp_path, prove=True)
    first = pinstudy(tmp_path, "run", "st.yaml", status=0)
    (proof,) = kept(state)
    assert proof["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert proof["quick"] is True
    assert "equal runs" in first.stderr
    assert "instruments that are off" not in first.stderr
    found = {(of["instrument"], of["of"]): of for of in proof["findings"]}
    assert {name: of for name, of in found.items() if of["state"] == "off"} == {}
    # These need neither hardware counters nor root.
    assert found["placement", "libgomp"]["state"] == "ok", found["placement", "libgomp"]
    assert found["placement", "libgomp, ignoring it"]["state"] == "ok"
    assert found["resolution", ""]["state"] == "ok"
    # What is absent has its reason.
    assert all(of["why"] for of in found.values() if of["state"] == "absent")

    again = pinstudy(tmp_path, "run", "st.yaml", "--repetitions", "2", status=0)
    assert kept(state) == [proof]
    assert "equal runs" not in again.stderr
