"""Energy and regions of programs, against the numbers of the virtual node that measured them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinstudy.runners.measure.energy.powercap import MAX_POWER_W
from vnode.commands import STUDIES, pinstudy, records, study
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

FOLDER = Path(__file__).resolve().parents[2] / "vnode" / "guest"
# The clocks of the module under the governor performance, in GHz; and a busy CPU's power, in W.
P_GHZ, E_GHZ = 5.6, 4.4
IDLE_W, P_W, E_W = 10, 20, 5


def test_each_region_has_the_numbers_of_its_own_core_kind(node: VirtualNode) -> None:
    pinstudy(node, *study("regions"), cwd=str(FOLDER))

    (run,) = records(node, "regions")
    # The program moves itself, which no mapping promises; what is measured is the same.
    assert run["status"] == "placement-violated", run
    regions = run["regions"]
    assert run["unavailable"]["regions.missing"] == "the program did not mark it"
    on_p, on_e, turn = (regions[name] for name in ("on-p", "on-e", "turn"))
    assert [of["executions"] for of in (on_p, on_e, turn)] == [2, 2, 2]
    # Each was counted by the PMU of its own kind, at that kind's clock.
    assert on_p["freq_ghz"] == pytest.approx({"P": P_GHZ}, rel=0.02)
    assert on_e["freq_ghz"] == pytest.approx({"E": E_GHZ}, rel=0.02)
    assert on_p["residency"]["P"] > 0.99
    assert on_e["residency"]["E"] > 0.99
    # Two and three seconds of CPU time at least, and nearly nothing between them.
    assert (on_p["task_clock_s"] >= 2, on_e["task_clock_s"] >= 3) == (True, True)
    for measure in ("task_clock_s", "cycles", "instructions"):
        found = (on_p, on_e, turn, run)
        lacking = [of["unavailable"].get(measure) for of in found if measure not in of]
        assert not lacking, lacking
        parts = on_p[measure] + on_e[measure]
        assert parts <= turn[measure] <= 1.1 * parts
        assert turn[measure] <= run[measure]
    # The model's: three instructions a cycle of a P-core, two of an E-core.
    assert on_p["instructions"] == pytest.approx(3 * on_p["cycles"], rel=0.01)
    assert on_e["instructions"] == pytest.approx(2 * on_e["cycles"], rel=0.01)
    # A busy P-CPU draws 15 W more than a busy E-CPU; other CPUs of the node may be busy, too.
    power_w = on_p["power_pkg_w"], on_e["power_pkg_w"]
    assert power_w[0] > power_w[1] + 0.5 * (P_W - E_W)
    assert power_w[1] >= 0.95 * IDLE_W
    # What the regions took is a part of the run, and what marks took is in none of them.
    inside_s = turn["elapsed_s"]
    assert on_p["elapsed_s"] + on_e["elapsed_s"] <= inside_s
    assert inside_s + run["region_marks"]["cost_s"] <= run["elapsed_s"]
    assert turn["energy_pkg_j"] <= run["energy_pkg_j"]
    assert sum(of["energy_pkg_j"] for of in (on_p, on_e)) <= turn["energy_pkg_j"] * 1.001
    assert run["region_marks"]["marks"] == 12


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
