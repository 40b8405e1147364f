"""Commands about the node: topology, doctor, snapshot, tune, prove, demo."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from pinstudy.base import PINSTUDY
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.host.processes import waited_cpu_s
from pinstudy.runners.node.node import Node, open_node
from pinstudy.runners.prove.proof import keep_for_node, new_proof
from pinstudy.runners.records.instruments import FILE_NAME, Finding
from pinstudy.runners.records.reader import read_records
from tests.cli.hybrid_namespace import hybrid_namespace
from tests.support.cli import argv, pinstudy, pinstudy_without, started, stop
from tests.support.limits import only_cpus
from tests.support.processes import command_line, descendants
from tests.support.programs import built
from tests.support.studies import write_app, write_program, write_study
from tests.support.trees import CPU, build_tree, write
from tests.support.wait import HANG_S, until

KEYS = ["name", "state", "why", "grant", "lasting", "optional"]
ORDER = {"missing": 0, "limited": 1, "ok": 2}


def test_topology_names_cpus_that_are_offline_or_of_no_kind_and_small_caches_first(
    tmp_path: Path,
) -> None:
    shown = pinstudy(tmp_path, "topology", "--sysroot", str(build_tree(tmp_path, "gb10"))).stdout
    caches = shown.partition("Caches\n")[2].partition("NUMA nodes")[0].splitlines()
    sizes = [" ".join(line.split()[:3]) for line in caches]
    assert sizes == ["L2 512 KiB", "L2 2048 KiB", "L3 8192 KiB", "L3 16384 KiB"]

    node = build_tree(tmp_path, "synthetic-forest")
    write(node, "sys/devices/system/node/node1/cpulist", "")
    shown = pinstudy(tmp_path, "topology", "--sysroot", str(node), "--kinds", "E=0-6").stdout
    assert "  E: 0 1 2 3 4 5 6\n  of no kind: 7 8\n" in shown
    assert "Offline: CPUs 9-11\n" in shown
    assert "NUMA nodes\n  0  CPUs 0-8\n  1  no CPUs\n" in shown
    assert "This process may use" not in shown


def test_topology_is_one_json_object_as_documented(tmp_path: Path) -> None:
    node = build_tree(tmp_path, "i9-14900k-noht")
    topology = json.loads(
        pinstudy(tmp_path, "topology", "--sysroot", str(node), "--json", status=0).stdout
    )
    kinds = [(kind["name"], kind["cpus"]) for kind in topology["kinds"]]
    assert kinds == [("P", "0-7"), ("E", "8-23")]
    assert all(kind["evidence"] for kind in topology["kinds"])
    assert topology["cores"][0] == {"cpus": "0", "kind": "P", "package": 0}
    assert topology["numa"] == [{"node": 0, "cpus": "0-23"}]
    assert topology["online"] == "0-23"
    assert {"level", "size_bytes", "cpus"} <= set(topology["caches"][0])


def test_this_machine_is_listed_worst_first_in_under_two_seconds_of_cpu_time() -> None:
    before_s = waited_cpu_s()
    done = subprocess.run(argv("doctor", "--json"), capture_output=True, text=True, check=False)
    assert waited_cpu_s() - before_s < 2.0
    capabilities = json.loads(done.stdout)
    assert all(list(capability) == KEYS for capability in capabilities)
    states = [ORDER[capability["state"]] for capability in capabilities]
    assert states == sorted(states)
    needed = [c for c in capabilities if c["state"] != "ok" and not c["optional"]]
    assert done.returncode == (1 if needed else 0)
    assert done.stderr == ""


def test_a_recorded_node_is_well_or_worse_for_what_it_lacks(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    energy = "sys/class/powercap/intel-rapl:0"
    for name, value in (("name", "package-0"), ("energy_uj", 1), ("max_energy_range_uj", 9)):
        write(root, f"{energy}/{name}", value)
    doctor = ("doctor", "--sysroot", str(root))
    lines = pinstudy(tmp_path, *doctor, status=0).stdout.splitlines()
    assert lines[-1] == "Everything that measuring needs is here."
    (untried,) = [line for line in lines if line.startswith("not tried")]
    assert untried.startswith("not tried: the node is a recorded tree: perf, ")
    assert re.search(r"not tried: .*\btaskset\b", " ".join(lines))
    # What is optional does not decide the status.
    (root / CPU / "intel_pstate/no_turbo").unlink()
    done = pinstudy(tmp_path, *doctor, status=0)
    assert re.search(r"^missing +turbo +optional:", done.stdout, re.MULTILINE)
    (root / energy / "energy_uj").unlink()
    worse = pinstudy(tmp_path, *doctor, status=1)
    assert worse.stdout.splitlines()[-1] == "Measuring is worse for: energy:powercap, energy:perf"

    guest = ("doctor", "--sysroot", str(build_tree(tmp_path, "kvm-guest")))
    shown = pinstudy(tmp_path, *guest).stdout
    assert re.search(r"^limited +core-kinds ", shown, re.MULTILINE)
    declared = pinstudy(tmp_path, *guest, "--kinds", "P=0,E=1").stdout
    assert re.search(r"^ok +core-kinds +P 0: declared ", declared, re.MULTILINE)


def test_a_node_is_tuned_and_restored_once(tmp_path: Path) -> None:
    node = ("--sysroot", str(build_tree(tmp_path, "adl0")), "--json")
    packed = json.loads(pinstudy(tmp_path, "snapshot", "n.tar.gz", *node, status=0).stdout)
    assert packed["files"] > 0
    assert packed["bytes"] == (tmp_path / packed["snapshot"]).stat().st_size
    tuned = json.loads(pinstudy(tmp_path, "tune", *node, status=0).stdout)
    restored = json.loads(pinstudy(tmp_path, "restore", *node, status=0).stdout)
    (only,) = restored["restored"]
    assert only["settings"] >= len(tuned) > 0
    assert (only["problems"], only["given_up"], restored["leftovers"]) == ({}, False, [])
    again = json.loads(pinstudy(tmp_path, "restore", *node, status=0).stdout)
    assert again["restored"] == []


def test_writable_governors_are_reported(tmp_path: Path) -> None:
    with hybrid_namespace(tmp_path) as node:
        capabilities = {c["name"]: c for c in json.loads(node.run("doctor", "--json").stdout)}
        before = node.settings()
        node.run("snapshot", "node.tar.gz", status=0)
        assert node.settings() == before
    assert capabilities["governor"]["state"] == "ok"
    assert capabilities["governor"]["why"] == (
        "powersave (intel_pstate); offered: performance powersave; this process may set it"
    )
    subprocess.run(["tar", "-xzf", "node.tar.gz"], cwd=tmp_path, check=True)
    again = json.loads(pinstudy(tmp_path, "doctor", "--json", "--sysroot", "node").stdout)
    recorded = {c["name"]: c for c in again}
    assert recorded["governor"]["state"] == "ok"
    assert recorded["governor"]["why"].startswith("powersave (intel_pstate); ")


def test_the_commands_it_ends_with_plan_for_that_node(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "ptl-h")
    done = pinstudy(tmp_path, "snapshot", "my node.tar.gz", "--sysroot", str(root), status=0)
    unpack, plan = (line.strip() for line in done.stdout.splitlines()[-2:])
    assert subprocess.run(["sh", "-c", unpack], cwd=tmp_path, check=False).returncode == 0
    planned = pinstudy(tmp_path, *shlex.split(plan)[1:], status=0)
    assert "ecores-set" in planned.stdout
    topology = pinstudy(tmp_path, "topology", "--json", "--sysroot", "my node/node")
    assert {kind["name"]: kind["cpus"] for kind in json.loads(topology.stdout)["kinds"]} == {
        "P": "0-1",
        "E": "2-5",
        "LP-E": "6-9",
    }


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    root = str(build_tree(tmp_path, "kvm-guest"))
    file = tmp_path / "node.tar.gz"
    file.write_text("mine")
    refused = pinstudy(tmp_path, "snapshot", "node.tar.gz", "--sysroot", root, status=2)
    assert "--force" in refused.stderr
    assert file.read_text() == "mine"
    pinstudy(tmp_path, "snapshot", "node.tar.gz", "--sysroot", root, "--force", status=0)
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kvm-guest", "node.tar.gz"]


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_program_outlives_it_and_nothing_is_kept(
    tmp_path: Path, state: Path, number: signal.Signals
) -> None:
    with started(tmp_path, "prove", "--only", "resolution") as process:
        until(lambda: yardsticks(process.pid), what="a yardstick runs")
        stop(process, number)
    assert kept(state) == []


def yardsticks(pid: int) -> list[int]:
    return [below for below in descendants(pid) if "yardstick" in " ".join(command_line(below))]


def instruments(folder: Path) -> dict[str, Any]:
    """Return what the doctor says of the instruments."""
    capabilities = json.loads(pinstudy(folder, "doctor", "--json").stdout)
    (told,) = [capability for capability in capabilities if capability["name"] == "instruments"]
    return dict(told)


def test_a_study_and_the_doctor_tell_what_was_off(tmp_path: Path, node: Node) -> None:
    # A proof of another node is none.
    other = structs.replace(new_proof(node, [OFF], 1.0, quick=True), node_digest="0" * 64)
    keep_for_node(other, node.root)
    told = instruments(tmp_path)
    assert (told["state"], told["optional"]) == ("missing", True)
    assert told["grant"] == f"{PINSTUDY} prove"

    keep_for_node(new_proof(node, [OFF, FINE], 60.0, quick=False), node.root)
    small_study(tmp_path)
    run = pinstudy(tmp_path, "run", "st.yaml", status=0)
    assert "off: energy package" in " ".join(run.stdout.split())
    (copy,) = tmp_path.glob(f"results/st/*/nodes/{node.digest}.{FILE_NAME}")
    assert json.loads(copy.read_text())["findings"][0]["why"] == "stands still"
    tables = pinstudy(tmp_path, "tables", "results/st").stdout
    assert "by `pinstudy prove`: stands still" in tables
    told = instruments(tmp_path)
    assert (told["state"], told["optional"]) == ("limited", False)
    assert told["why"].endswith("1 ok, 1 off, 0 absent; off: energy package")


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
    states = {(row["instrument"], row["of"]): row["state"] for row in proof["findings"]}
    assert "off" not in states.values(), proof["findings"]
    # These need neither hardware counters nor root.
    for name in (
        ("placement", "libgomp"), ("placement", "libgomp, ignoring it"), ("resolution", ""),
    ):  # fmt: skip
        assert states[name] == "ok", proof["findings"]
    # What is absent has its reason.
    assert all(row["why"] for row in proof["findings"] if row["state"] == "absent")

    again = pinstudy(tmp_path, "run", "st.yaml", "--repetitions", "2", status=0)
    assert kept(state) == [proof]
    assert "equal runs" not in again.stderr


PROGRAMS = ("contention-libgomp", "smt-libgomp", "threadmap-libgomp", "pingpong-pthreads")


@pytest.fixture
def programs() -> None:
    """Skip where the programs are not built."""
    for name in PROGRAMS:
        built(name)


@pytest.mark.usefixtures("programs")
def test_a_demo_writes_its_page_goes_on_after_its_time_and_makes_a_card(tmp_path: Path) -> None:
    short = ("demo", "-o", "class", "--time-budget", "4 s")
    done = pinstudy(tmp_path, *short, "--json", status=0)
    data = json.loads(done.stdout)
    assert data["results"] == "class"
    assert len(data["rows"]) == 5
    assert all(row["sentence"] for row in data["rows"])
    assert {*data["files"]} >= {"class/demo.html", "class/demo.json"}
    made = len([*read_records(tmp_path / "class" / "records")])

    again = pinstudy(tmp_path, *short, status=0)

    assert "two threads on one core" in again.stdout
    assert "pictures for slides: class/demo.html" in again.stdout
    assert len([*read_records(tmp_path / "class" / "records")]) >= made
    pinstudy(tmp_path, "card", "class", "-o", "me.json", status=0)


@pytest.mark.usefixtures("programs")
def test_ctrl_c_ends_it_with_130_and_keeps_what_was_measured(tmp_path: Path) -> None:
    with started(tmp_path, "demo", "-o", "out", apart=True) as process:
        until(lambda: any((tmp_path / "out" / "records").glob("*.jsonl")), process)
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert "Nothing that was measured is lost" in rest
    assert "Traceback" not in rest


@pytest.mark.usefixtures("programs")
def test_without_the_libraries_one_line_says_what_shows_it(tmp_path: Path) -> None:
    done = pinstudy_without("matplotlib", tmp_path, "demo", "-o", "out", "--time-budget", "1 s")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert "where numpy, pandas, scipy and matplotlib are installed" in last
    assert last.endswith("pinstudy demo -o out")


@pytest.mark.usefixtures("programs")
def test_a_demo_that_cannot_measure_says_why(tmp_path: Path) -> None:
    short = ("demo", "--time-budget", "1 s")
    with only_cpus({min(os.sched_getaffinity(0))}):
        done = pinstudy(tmp_path, *short, "-o", "out", "--json", status=0)
    rows = {row["effect"]: row for row in json.loads(done.stdout)["rows"]}
    assert "needs two" in rows["latency"]["why_not"]
    assert rows["contention"]["why_not"]

    with node_lock(Path("/"), wait_s=HANG_S):
        done = pinstudy(tmp_path, "demo", status=1)
    assert "another pinstudy is at work" in done.stderr
    assert not list(tmp_path.glob("results/demo/*/records/*"))

    (tmp_path / "file").touch()
    done = pinstudy(tmp_path, *short, "-o", "file/out", status=2)
    assert done.stderr.strip().endswith("name a writable folder with --output")
