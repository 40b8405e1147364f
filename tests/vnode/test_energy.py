"""Energy read through counters that wrap during the run, against one that does not."""

from __future__ import annotations

import pytest

from tests.vnode.commands import STUDIES, pinstudy, records, study
from tests.vnode.node import VirtualNode

pytestmark = pytest.mark.vnode


def test_energy_is_right_although_its_counter_wraps_many_times(node: VirtualNode) -> None:
    range_j = 50.0
    # More than 100 W: twice a second a wrap.
    node.set_parameters(energy_range_uj=int(range_j * 1e6), idle_mw=100_000)

    # A program's path is relative to where pinstudy is started.
    ended = pinstudy(node, *study("energy"), cwd=str(STUDIES / "apps"))

    assert ended.status == 0, ended
    for run in records(node, "energy"):
        assert run["status"] == "ok", run
        assert "energy_pkg_j" in run, run["unavailable"]
        inside_j = (run["metrics"]["last"] - run["metrics"]["first"]) / 1e6
        assert inside_j > 3 * range_j
        # The window begins before the program's first reading and ends after its last.
        outside_s = run["energy_window_s"] - inside_j / run["power_pkg_w"]
        assert inside_j <= run["energy_pkg_j"] < inside_j + range_j, outside_s
