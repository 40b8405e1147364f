"""What pinstudy finds in virtual nodes of several shapes, from their kernels' files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pinstudy.base.cpulist import format_cpulist
from vnode.commands import pinstudy
from vnode.node import KEPT, VirtualNode
from vnode.shape import Shape

pytestmark = pytest.mark.vnode


def kinds_of(node: VirtualNode) -> list[dict[str, Any]]:
    ended = pinstudy(node, "topology", "--json")
    assert ended.status == 0, ended
    kinds: list[dict[str, Any]] = json.loads(ended.output)["kinds"]
    return kinds


def test_p_and_e_cores_are_found_by_the_kernels_own_lists(node: VirtualNode) -> None:
    kinds = kinds_of(node)

    assert [(kind["name"], kind["cpus"]) for kind in kinds] == [("P", "0-3"), ("E", "4-7")]
    assert "/sys/devices/cpu_core/cpus" in kinds[0]["evidence"]
    assert "/sys/devices/cpu_atom/cpus" in kinds[1]["evidence"]


def test_smt_is_on_p_cores_only(node: VirtualNode) -> None:
    ended = pinstudy(node, "topology", "--json")

    cores = json.loads(ended.output)["cores"]
    assert [core["cpus"] for core in cores] == ["0-1", "2-3", "4", "5", "6", "7"]


def test_the_doctor_finds_everything_that_measuring_needs(node: VirtualNode) -> None:
    ended = pinstudy(node, "doctor", "--json")

    states = {capability["name"]: capability["state"] for capability in json.loads(ended.output)}
    for name in (
        *("core-kinds", "cpus", "perf", "migrations", "governor", "turbo", "temperatures"),
        *("hardware-counters:cpu_core", "hardware-counters:cpu_atom"),
        *("energy:powercap", "energy:perf", "throttle-counters", "programs", "likwid-pin"),
    ):
        assert states[name] == "ok", (name, ended.output)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(Shape(p=2, e=2, lpe=2, smt=False), id="P, E and LP-E"),
        pytest.param(Shape(p=2, e=0), id="homogeneous with SMT"),
        pytest.param(Shape(p=3, e=0, smt=False), id="homogeneous without SMT"),
    ],
)
def test_nodes_of_other_shapes_are_found_as_they_are(
    boot: Callable[[Shape], VirtualNode], shape: Shape
) -> None:
    kinds = kinds_of(boot(shape))

    expected = [(name, format_cpulist(cpus)) for name, cpus in shape.kinds().items() if cpus]
    assert [(kind["name"], kind["cpus"]) for kind in kinds] == expected


FOLDER = f"{KEPT}/demo"


def test_a_demo_in_a_guest_writes_its_page_and_says_of_each_row_what_it_is(
    node: VirtualNode,
) -> None:
    # An emulated processor takes long for each run: the time is up before all are made.
    ended = pinstudy(node, "demo", "-o", FOLDER, "--time-budget", "30 s", "--json")

    assert ended.status == 0, ended
    rows = json.loads(node.shell(f"cat {FOLDER}/demo.json"))["rows"]
    assert [row["effect"] for row in rows] == [
        *("contention", "false sharing", "one core", "latency", "who ran where")
    ]
    for row in rows:
        assert row["sentence"].endswith(".")
        assert row["why_not"] or row["pictures"], row
    # Two P-cores with two CPUs each, and four E-cores: 28 pairs of 8 CPUs. They take turns, so
    # that the time for the pairs is up before all are measured.
    assert 1 <= rows[3]["pairs"] <= rows[3]["pairs_of_node"] == 28
    assert "latency.svg" in rows[3]["pictures"]
    # No core lacks a second CPU.
    assert "no core has two" not in (rows[2]["why_not"] or "")
    page = node.shell(f"cat {FOLDER}/demo.html")
    assert page.count("<section ") == 5
