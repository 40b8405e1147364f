"""Energy by core kind, against the powers of the module's model, its own sums, and its lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.vnode.test_prove import prove, states
from vnode.commands import STUDIES, pinstudy, records, study, without_pandas
from vnode.node import VirtualNode
from vnode.shape import Shape

# Of a busy CPU at its highest clock (vnode/module/energy.c).
BUSY_W = {"P": 20.0, "E": 5.0}
# Of its work: what else works on a kind's cores, the kernel and the host's own load, is in it.
MORE = 1.5


@pytest.fixture
def node(boot: Callable[[Shape], VirtualNode]) -> Iterator[VirtualNode]:
    """Give a guest whose cores have counters of their energy."""
    booted = boot(Shape(core_energy=True))
    with without_pandas(booted):
        yield booted


@pytest.mark.vnode
def test_a_kind_has_the_energy_of_the_work_on_it_and_all_kinds_that_of_the_cores(
    node: VirtualNode,
) -> None:
    ended = pinstudy(node, *study("core-energy"), cwd=str(STUDIES / "apps"))

    assert ended.status == 0, ended
    runs = {run["mapping"]: run for run in records(node, "core-energy")}
    for mapping, kind in (("pcores-set", "P"), ("ecores-set", "E")):
        run = runs[mapping]
        assert run["status"] == "ok", run
        assert "energy_by_kind_j" in run, run["unavailable"]
        by_kind = run["energy_by_kind_j"]
        assert by_kind.keys() == {"P", "E"}
        work_j = BUSY_W[kind] * run["cpu_s"]
        assert 0.95 * work_j < by_kind[kind] < MORE * work_j, run
        # powercap's own sum; its window is within that of the cores.
        assert sum(by_kind.values()) == pytest.approx(run["energy_core_j"], rel=0.1), run
        assert run["energy_by_kind_window_s"] >= run["energy_window_s"]
    # Each kind has more of the run that worked on it.
    on_p, on_e = (runs[of]["energy_by_kind_j"] for of in ("pcores-set", "ecores-set"))
    assert on_p["P"] > 2 * on_e["P"]
    assert on_e["E"] > 2 * on_p["E"]


@pytest.mark.prove
def test_the_counters_of_cores_are_proved_and_another_unit_is_found(node: VirtualNode) -> None:
    names = {"energy of cores P", "energy of cores E"}
    _, found = prove(node, "--only", "energy")
    assert states(found, "ok") >= names, found

    node.set_parameters(core_energy_permille=2000)
    try:
        ended, found = prove(node, "--only", "energy")
    finally:
        node.set_parameters(core_energy_permille=1000)
    assert ended.status == 1
    assert "energy of cores P" in states(found, "off"), found


@pytest.mark.vnode
def test_a_core_that_is_offline_leaves_no_sum(node: VirtualNode) -> None:
    node.shell("echo 0 >/sys/devices/system/cpu/cpu7/online")
    ended = pinstudy(node, "doctor")
    said = " ".join(ended.output.split())
    assert "CPUs are offline (7): the energy of their cores cannot be read" in said, said
