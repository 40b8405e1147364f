"""The node's idle power is measured when it is due, under the settings that runs have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Unavailable
from configs.settings import AS_IT_IS, settings_of
from configs.study import IdlePower
from runners.host.tree import Tree
from runners.measure.energy.idle import IdleMeasurements
from runners.measure.energy.powercap import PowercapMeter, Zones, find_zones
from runners.measure.energy.source import EnergySource, no_energy
from tests.runners.powercap_trees import (
    AMD_RANGE_UJ,
    INTEL_CLIENT,
    INTEL_RANGE_UJ,
    powercap_tree,
    set_energy,
    zone_folder,
)

PERFORMANCE, POWERSAVE, CURRENT = (
    (governor, AS_IT_IS) for governor in ("performance", "powersave", "current")
)


class IdleNode:
    """A node whose package draws a power while its clock runs; it remembers how long it slept."""

    def __init__(self, root: Path, watts: float, range_uj: int = INTEL_RANGE_UJ) -> None:
        self.root = powercap_tree(root, INTEL_CLIENT, range_uj=range_uj)
        self.watts, self.range_uj = watts, range_uj
        self.now_s, self.slept_s, self.energy_uj = 100.0, 0.0, 1_000_000
        self.interrupted_after_s: float | None = None
        self.source = EnergySource(PowercapMeter(find_zones(self.root), self.clock))

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        if self.interrupted_after_s is not None and self.slept_s >= self.interrupted_after_s:
            raise KeyboardInterrupt
        self.now_s += seconds
        self.slept_s += seconds
        self.energy_uj += round(seconds * self.watts * 1e6)
        set_energy(self.root, "intel-rapl:0", self.energy_uj % self.range_uj)

    def idle_measurements(self, wanted: IdlePower | None) -> IdleMeasurements:
        return IdleMeasurements(wanted, self.source, self.clock, self.sleep)


def test_idle_power_is_the_average_over_the_duration(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 15.0)
    idle = node.idle_measurements(IdlePower(10.0))
    assert idle.due_s(POWERSAVE) == 10.0
    found = idle.measure(POWERSAVE)
    assert node.slept_s == pytest.approx(10.0)
    assert found.fields["energy_pkg_j"] == pytest.approx(150.0)
    assert found.fields["energy_window_s"] == pytest.approx(10.0)
    assert found.fields["power_pkg_w"] == pytest.approx(15.0)
    assert found.fields["power_uncore_w"] == 0.0
    assert "did not move" in found.unavailable["power_psys_w"]
    assert idle.power_w(POWERSAVE) == pytest.approx(15.0)


def test_a_long_idle_measurement_follows_its_counter_around(tmp_path: Path) -> None:
    # 300 s at 900 W are 270 kJ: four times around the counter.
    node = IdleNode(tmp_path, 900.0, AMD_RANGE_UJ)
    found = node.idle_measurements(IdlePower(300.0)).measure(CURRENT)
    assert found.fields["energy_pkg_j"] == pytest.approx(270_000.0)


def test_each_governor_has_its_own_and_each_attempt_begins_anew(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 30.0)
    idle = node.idle_measurements(IdlePower(5.0))
    idle.measure(PERFORMANCE)
    assert idle.due_s(PERFORMANCE) is None
    assert idle.due_s(POWERSAVE) == 5.0
    assert isinstance(idle.power_w(POWERSAVE), Unavailable)
    node.watts = 10.0
    idle.measure(POWERSAVE)
    assert idle.power_w(PERFORMANCE) == pytest.approx(30.0)
    assert idle.power_w(POWERSAVE) == pytest.approx(10.0)
    assert node.idle_measurements(IdlePower(5.0)).due_s(PERFORMANCE) == 5.0


def test_each_combination_of_settings_has_its_own(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 30.0)
    idle = node.idle_measurements(IdlePower(5.0))
    saving = "powersave", settings_of(epp="power")
    idle.measure(POWERSAVE)
    assert idle.due_s(saving) == 5.0
    assert isinstance(idle.power_w(saving), Unavailable)
    assert idle.pending_s({POWERSAVE: 3, saving: 3}) == 5.0
    node.watts = 10.0
    idle.measure(("powersave", settings_of(epp="power")))
    assert idle.power_w(saving) == pytest.approx(10.0)
    assert idle.power_w(POWERSAVE) == pytest.approx(30.0)


def test_it_is_repeated_after_so_many_runs_of_the_governor(tmp_path: Path) -> None:
    idle = IdleNode(tmp_path, 30.0).idle_measurements(IdlePower(5.0, every=2))
    idle.measure(PERFORMANCE)
    due = []
    for under in (PERFORMANCE, POWERSAVE, PERFORMANCE, PERFORMANCE):
        due.append(idle.due_s(PERFORMANCE) is not None)
        idle.count_run(under)
    assert due == [False, False, False, True]
    idle.measure(PERFORMANCE)
    assert idle.due_s(PERFORMANCE) is None


def test_nothing_is_due_where_none_is_wanted_or_energy_cannot_be_measured(tmp_path: Path) -> None:
    unwanted = IdleNode(tmp_path, 30.0).idle_measurements(None)
    assert unwanted.due_s(CURRENT) is None
    assert unwanted.power_w(CURRENT) == Unavailable("the study asks for no idle power")
    without = IdleMeasurements(IdlePower(5.0), no_energy("no counters here"))
    assert without.due_s(CURRENT) is None
    assert without.power_w(CURRENT) == Unavailable("no counters here")
    assert without.pending_s({CURRENT: 10}) == 0.0


def test_no_time_is_lost_on_a_counter_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 30.0)
    (zone_folder(node.root, "intel-rapl:0") / "energy_uj").unlink()
    idle = node.idle_measurements(IdlePower(5.0))
    found = idle.measure(CURRENT)
    assert node.slept_s == 0.0
    assert "energy_uj is missing" in found.unavailable["power_pkg_w"]
    power = idle.power_w(CURRENT)
    assert isinstance(power, Unavailable)
    assert "the idle measurement has no energy" in power.reason


def test_an_interrupted_idle_measurement_stays_due(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 30.0)
    node.interrupted_after_s = 2.0
    idle = node.idle_measurements(IdlePower(5.0))
    with pytest.raises(KeyboardInterrupt):
        idle.measure(CURRENT)
    assert node.slept_s == 2.0
    assert idle.due_s(CURRENT) == 5.0
    assert isinstance(idle.power_w(CURRENT), Unavailable)


@given(every=st.none() | st.integers(1, 6), before=st.integers(0, 8), runs=st.integers(0, 20))
def test_the_forecast_is_what_happens(every: int | None, before: int, runs: int) -> None:
    naps_s = [0.0]
    source = EnergySource(PowercapMeter(Zones(Tree(Path("/")))))
    idle = IdleMeasurements(IdlePower(0.5, every), source, lambda: sum(naps_s), naps_s.append)
    for _ in range(before):
        make_run(idle)
    forecast_s, slept_s = idle.pending_s({CURRENT: runs}), sum(naps_s)
    for _ in range(runs):
        make_run(idle)
    assert forecast_s == sum(naps_s) - slept_s


def make_run(idle: IdleMeasurements) -> None:
    if idle.due_s(CURRENT):
        idle.measure(CURRENT)
    idle.count_run(CURRENT)
