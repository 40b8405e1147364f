"""Power before a run, from recorded powercap trees, and waiting until it is low."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.configs.study import PowerGate
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.power_before import PowerBefore, wait_for_power
from pinstudy.runners.measure.energy.powercap import find_zones
from pinstudy.runners.node.power import long_term_window_s
from tests.runners.powercap_trees import INTEL_CLIENT, TWO_SOCKETS, powercap_tree, set_energy
from tests.support.trees import write

TAU_S = 28.0
SHORT = "energy was read for less than 28 s before"


class Package:
    """A package whose counter rises while time passes."""

    def __init__(self, root: Path, zones: dict[str, tuple[str, int]] = INTEL_CLIENT) -> None:
        self.root = powercap_tree(root, zones)
        self.now_s = 1000.0
        self.idle_w = 5.0
        self.uj = {key: uj for key, (name, uj) in zones.items() if name.startswith("package")}

    def clock(self) -> float:
        return self.now_s

    def takes(
        self, watts: float, seconds: float, keys: tuple[str, ...] = ("intel-rapl:0",)
    ) -> None:
        self.now_s += seconds
        for key in keys:
            self.uj[key] += round(watts * seconds * 1e6)
            set_energy(self.root, key, self.uj[key])

    def idles(self, seconds: float) -> None:
        self.takes(self.idle_w, seconds)

    def power(self, window_s: float | Unavailable = TAU_S) -> PowerBefore:
        return PowerBefore(find_zones(self.root), window_s, self.clock)


def run(package: Package, power: PowerBefore, watts: float, seconds: float) -> Reading:
    """Return what is recorded of a run that takes so much."""
    power.start()
    package.takes(watts, seconds)
    power.stop()
    return power.reading()


def test_the_power_before_a_run_is_that_of_the_last_tau_seconds(tmp_path: Path) -> None:
    package = Package(tmp_path)
    power = package.power()
    first = run(package, power, 100.0, 40.0)
    assert first.fields == {}
    assert first.unavailable == {"power_before_w": SHORT}
    package.takes(10.0, 8.0)
    # Of 28 s 20 are of the run of 100 W, and 8 of the pause: 2080 J.
    second = run(package, power, 50.0, 2.0)
    assert second.fields == {
        "power_before_w": pytest.approx(2080 / 28),
        "power_before_window_s": 28.0,
    }
    # 18 s of 100 W, 8 of 10, 2 of 50: 1980 J.
    assert run(package, power, 1.0, 1.0).fields["power_before_w"] == pytest.approx(1980 / 28)


def test_all_packages_count_and_each_reading_of_a_short_run(tmp_path: Path) -> None:
    package = Package(tmp_path, TWO_SOCKETS)
    power = package.power(4.0)
    for watts in (30.0, 50.0, 70.0):
        power.start()
        package.takes(watts, 2.0, ("intel-rapl:0", "intel-rapl:1"))
        power.stop()
    assert power.mean_w() == pytest.approx(120.0)


def test_a_pause_in_which_a_counter_may_wrap_around_begins_anew(tmp_path: Path) -> None:
    package = Package(tmp_path)
    power = package.power()
    run(package, power, 20.0, 60.0)
    package.takes(20.0, 3600.0)
    assert run(package, power, 20.0, 30.0).unavailable == {"power_before_w": SHORT}
    assert run(package, power, 20.0, 1.0).fields["power_before_w"] == pytest.approx(20.0)


def test_a_long_run_is_sampled_before_its_counter_wraps_around(tmp_path: Path) -> None:
    package = Package(tmp_path)
    power = package.power()
    power.start()
    for _ in range(700):
        package.takes(200.0, 1.0)
        power.sample()
    power.stop()
    assert power.mean_w() == pytest.approx(200.0)


@pytest.mark.parametrize(
    ("zones", "window_s", "reason"),
    [({}, TAU_S, "/sys/class/powercap"), (INTEL_CLIENT, Unavailable("no tau"), "no tau")],
)
def test_without_counters_or_tau_there_is_a_reason_and_no_waiting(
    tmp_path: Path, zones: dict[str, tuple[str, int]], window_s: float | Unavailable, reason: str
) -> None:
    package = Package(tmp_path, zones)
    power = package.power(window_s)
    power.start()
    power.stop()
    assert reason in power.reading().unavailable["power_before_w"]
    waited = wait_for_power(PowerGate(20.0, 60.0), power, pytest.fail, package.clock, package.idles)
    assert waited.fields == {}
    assert all(reason in why for why in waited.unavailable.values())


def wait(package: Package, power: PowerBefore, limit_s: float) -> tuple[Reading, list[str]]:
    told: list[str] = []
    rule = PowerGate(20.0, limit_s)
    return wait_for_power(rule, power, told.append, package.clock, package.idles), told


def test_a_run_waits_until_the_mean_power_is_below_the_gate(tmp_path: Path) -> None:
    package = Package(tmp_path)
    power = package.power()
    run(package, power, 62.0, 40.0)
    # 62 - 57 t / 28 W after t seconds of 5 W: at most 20 W from 20.63 s on.
    found, told = wait(package, power, 120.0)
    assert found.fields == {"power_gate_wait_s": 21.0, "power_gate_reached": True}
    assert told == ["waiting 2 min 00 s at most for mean power to fall from 62.0 to 20 W"]
    assert wait(package, power, 120.0) == (
        Reading({"power_gate_wait_s": 0.0, "power_gate_reached": True}),
        [],
    )


def test_waiting_ends_at_the_limit_and_says_so(tmp_path: Path) -> None:
    package = Package(tmp_path)
    power = package.power()
    run(package, power, 62.0, 40.0)
    found, _ = wait(package, power, 10.5)
    assert found.fields == {"power_gate_wait_s": 10.5, "power_gate_reached": False}


def test_the_first_run_waits_until_power_is_known(tmp_path: Path) -> None:
    package = Package(tmp_path)
    found, told = wait(package, package.power(), 60.0)
    assert found.fields == {"power_gate_wait_s": 28.0, "power_gate_reached": True}
    assert len(told) == 1


def test_tau_is_that_of_the_packages_and_not_of_the_platform(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, INTEL_CLIENT)
    assert "has no zone with a power limit" in str(long_term_window_s(Tree(root)))
    for key, window_us in (("intel-rapl:0", 27_983_872), ("intel-rapl:1", 99_000_000)):
        limit = f"sys/class/powercap/{key}/constraint_0"
        write(root, f"{limit}_name", "long_term")
        write(root, f"{limit}_power_limit_uw", 125_000_000)
        write(root, f"{limit}_time_window_us", window_us)
    assert long_term_window_s(Tree(root)) == 27.983872
