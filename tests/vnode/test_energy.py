"""Energy read through counters that wrap during the run, against one that does not."""

from __future__ import annotations

import pytest

from runners.measure.energy.powercap import MAX_POWER_W
from vnode.commands import STUDIES, pinstudy, records, study
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

# At the most power that pinstudy reckons with, the counters wrap every four seconds.
RANGE_J = 4 * MAX_POWER_W


def test_energy_is_right_although_its_counter_wraps_many_times(node: VirtualNode) -> None:
    node.set_parameters(energy_range_uj=int(RANGE_J * 1e6), idle_mw=850_000)

    # A program's path is relative to where pinstudy is started.
    ended = pinstudy(node, *study("energy"), cwd=str(STUDIES / "apps"))

    assert ended.status == 0, ended
    (run,) = records(node, "energy")
    assert run["status"] == "ok", run
    assert "energy_pkg_j" in run, run["unavailable"]
    assert run["power_pkg_w"] < MAX_POWER_W
    inside_j = (run["metrics"]["last"] - run["metrics"]["first"]) / 1e6
    assert inside_j > 3 * RANGE_J
    # The window begins before the program's first reading and ends after its last.
    assert inside_j <= run["energy_pkg_j"] < inside_j + RANGE_J
