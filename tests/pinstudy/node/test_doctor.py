"""`pinstudy doctor` as a user meets it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from runners.host.processes import waited_cpu_s
from tests.pinstudy.hybrid_namespace import hybrid_namespace
from tests.support.cli import argv, pinstudy
from tests.support.trees import CPU, build_tree, write

KEYS = ["name", "state", "why", "grant", "lasting", "optional"]
ORDER = {"missing": 0, "limited": 1, "ok": 2}


def doctor(*arguments: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
    return pinstudy(Path.cwd(), "doctor", *arguments, status=status)


def whole_node(tmp_path: Path) -> Path:
    """A recorded node whose files lack nothing."""
    root = build_tree(tmp_path, "i9-14900k")
    for name, value in (("name", "package-0"), ("energy_uj", 1), ("max_energy_range_uj", 9)):
        write(root, f"sys/class/powercap/intel-rapl:0/{name}", value)
    return root


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


def test_a_recorded_node_that_lacks_nothing_is_well(tmp_path: Path) -> None:
    root = whole_node(tmp_path)
    done = doctor("--sysroot", str(root), status=0)
    assert done.stdout.splitlines()[-1] == "Everything that measuring needs is here."
    untried = [line for line in done.stdout.splitlines() if line.startswith("not tried")]
    assert len(untried) == 1
    assert untried[0].startswith("not tried: the node is a recorded tree: perf, ")
    assert re.search(r"not tried: .*\btaskset\b", " ".join(done.stdout.split()))
    (root / "sys/class/powercap/intel-rapl:0/energy_uj").unlink()
    worse = doctor("--sysroot", str(root), status=1)
    assert worse.stdout.splitlines()[-1] == ("Measuring is worse for: energy:powercap, energy:perf")


def test_optional_capabilities_do_not_decide_the_status(tmp_path: Path) -> None:
    root = whole_node(tmp_path)
    (root / CPU / "intel_pstate/no_turbo").unlink()
    done = doctor("--sysroot", str(root), status=0)
    assert re.search(r"^missing +turbo +optional:", done.stdout, re.MULTILINE)


def test_declared_kinds_are_the_help_of_a_guest(tmp_path: Path) -> None:
    root = str(build_tree(tmp_path, "kvm-guest"))
    assert re.search(r"^limited +core-kinds ", doctor("--sysroot", root).stdout, re.MULTILINE)
    declared = doctor("--sysroot", root, "--kinds", "P=0,E=1")
    assert re.search(r"^ok +core-kinds +P 0: declared ", declared.stdout, re.MULTILINE)


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
    again = json.loads(doctor("--json", "--sysroot", str(tmp_path / "node")).stdout)
    recorded = {c["name"]: c for c in again}
    assert recorded["governor"]["state"] == "ok"
    assert recorded["governor"]["why"].startswith("powersave (intel_pstate); ")
