"""pinstudy's topology of virtual nodes of several shapes, from their kernels' files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from base.cpulist import format_cpulist
from vnode.commands import pinstudy
from vnode.node import VirtualNode
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
