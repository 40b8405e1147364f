"""The programs and the plan mean the same CPUs by the same words, on every machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from base.cpulist import format_cpulist
from configs.mapping import Mapping
from runners.node.discovery import read_topology
from runners.node.topology import Topology
from runners.plan.selection import CannotMapError, resolve_cpus
from tests.machines import MACHINES
from tests.tools import ROOT, need_tool
from tests.trees import build_tree

# What the plan calls the placement `cores`, which is of the best kind's only.
SELECTIONS = {"cores": "pcores"}
RECORDED = ("adl0", "mtl-m-2")


def by_program(root: Path, topology: Topology, pairs: int) -> dict[str, tuple[int, ...]]:
    program = need_tool(str(ROOT / "build/bin/threadmap-pthreads"))
    kinds = ",".join(f"{kind.name}={format_cpulist(kind.cpus)}" for kind in topology.kinds)
    # Kinds found by other evidence than the kernel's lists of PMUs are not known to programs.
    declared = ["--kinds", kinds] if topology.hybrid else []
    ended = subprocess.run(
        [program, "--placements", str(pairs), "--json", "--sysroot", str(root), *declared],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["placements"]
    return {place["name"]: tuple(place.get("cpus", ())) for place in found}


def by_plan(topology: Topology, name: str, pairs: int) -> tuple[int, ...]:
    mapping = Mapping(name, SELECTIONS.get(name, name), "pin")
    try:
        return resolve_cpus(mapping, topology, 2 * pairs)
    except CannotMapError:
        return ()


@pytest.mark.parametrize("machine", [*RECORDED, *MACHINES])
def test_programs_and_plan_place_pairs_alike(machine: str, tmp_path: Path) -> None:
    root = build_tree(tmp_path, machine)
    topology = read_topology(root)

    for pairs in (1, 2, 5):
        found = by_program(root, topology, pairs)
        assert found == {name: by_plan(topology, name, pairs) for name in found}, pairs


def test_the_programs_tell_intel_s_kinds_apart_by_themselves(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "mtl-m-2")
    program = need_tool(str(ROOT / "build/bin/threadmap-pthreads"))

    said = subprocess.run(
        [program, "--placements", "2", "--sysroot", str(root)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    # P 0-3 in SMT pairs, E 4-11 in modules of four, LP-E 12-13 (hybrid-facts, 7).
    assert "across-kinds:     0,4,2,5" in said
    assert "same-cluster:     4,5,6,7" in said
