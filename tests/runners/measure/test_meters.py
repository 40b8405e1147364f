"""Meters beside RAPL: what is found, what it says of itself, and the energy of its samples."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pinstudy.base.command import STOPPING
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable
from pinstudy.configs.site import EnergyRule
from pinstudy.runners.measure.energy.commands import command_meter, read_dcmi
from pinstudy.runners.measure.energy.sampled import FoundMeter, SampledMeter, trapezoid
from pinstudy.runners.measure.energy.source import AskedMeter, choose_energy, find_meters
from tests.runners.meter_trees import battery, chip, ina226, zones
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree
from tests.support.power_supplies import add_supply
from tests.support.studies import write_program
from tests.support.trees import write
from tests.support.wait import HANG_S

Tree = Callable[[Path], object]
INA, CORE = "hwmon:ina226/power1", "intel-rapl:0:0"


def ina228(root: Path) -> None:
    chip(root, 3, "ina228", update_interval=10, energy1_input=7_500_000)


def acpi(root: Path) -> None:
    folder = chip(root, 0, "power_meter", power1_average=215_000_000, power1_input=1)
    write(root, f"{folder}/power1_average_interval", 1000)


def apple(root: Path) -> None:
    chip(root, 0, "macsmc_hwmon", power1_input=8_000_000, power1_label="Total System Power")


def by_current(root: Path) -> None:
    add_supply(root, "AC0", "Mains", online=0)
    battery(root, current_now=-1_500_000, voltage_now=12_000_000)


def two_batteries(root: Path) -> None:
    # The kernel shows a battery as a chip as well.
    chip(root, 0, "BAT0", power1_input=9_000_000)
    battery(root, power_now=9_000_000)
    battery(root, "BAT1", "Not charging", power_now=4_000_000)


def plugged_in(root: Path) -> None:
    add_supply(root, "AC0", "Mains", online=1)
    battery(root, power_now=1)


FOUND: dict[str, tuple[Tree, str, str, str, float | Unavailable, float | None]] = {
    "ina226": (ina226, "hwmon:ina226/power1", "board", "W", 6.25, 0.035),
    "ina228": (ina228, "hwmon:ina228/energy1", "board", "J", 7.5, 0.01),
    "acpi": (acpi, "hwmon:power_meter/power1", "system", "W", 215.0, 1.0),
    "apple": (apple, "hwmon:macsmc_hwmon/power1", "system", "W", 8.0, None),
    "scmi": (
        lambda root: zones(
            root, "arm-scmi", 4_000_000, 1_500_000, constraint_0_time_window_us=50_000
        ),
        "scmi", "board", "W", 5.5, 0.05,
    ),
    "battery": (
        lambda root: battery(root, power_now=14_250_000),
        "battery:BAT0", "system", "W", 14.25, 5.0,
    ),
    "by current": (by_current, "battery:BAT0", "system", "W", 18.0, 5.0),
    "two": (two_batteries, "battery:BAT0+BAT1", "system", "W", 9.0, 5.0),
    # 50 Wh are left: what is used is counted from there.
    "energy left": (
        lambda root: battery(root, energy_now=50_000_000),
        "battery:BAT0", "system", "J", -180_000.0, 5.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_a_meter_is_found_with_its_scope_unit_and_update_period(tmp_path: Path, name: str) -> None:
    make, expected, scope, unit, value, update_s = FOUND[name]
    make(tmp_path)

    (meter,) = find_meters(tmp_path)

    assert (meter.name, meter.scope, meter.unit, meter.update_s) == (
        expected, scope, unit, update_s,
    )  # fmt: skip
    assert meter.read() == value
    assert (meter.problem, meter.by_name) == ("", "")
    # It is chosen where there is no RAPL, which is told.
    source = choose_energy(tmp_path, None)
    assert (source.name, source.scope) == (expected, scope)
    assert "powercap" in source.reasons["package"]


def test_chips_of_one_name_are_told_apart_by_their_addresses_not_their_numbers(
    tmp_path: Path,
) -> None:
    ina226(tmp_path, 5, "1-0041", power1_label="VDD_BIG", power1_input=2_000_000)
    ina226(tmp_path, 2, "1-0040", power1_label="VDD_CPU")

    names = {meter.name: meter.label for meter in find_meters(tmp_path)}

    assert names == {
        "hwmon:ina226@1-0040/power1": "VDD_CPU",
        "hwmon:ina226@1-0041/power1": "VDD_BIG",
    }
    # Neither is all of the board: one has to be named.
    source = choose_energy(tmp_path, None)
    assert source.meter is None
    assert "measure parts of it: name the one that is meant" in source.reasons["package"]
    named = choose_energy(tmp_path, None, AskedMeter("hwmon:ina226@1-0041/power1"))
    assert isinstance(named.meter, SampledMeter)
    assert named.meter.found.read() == 2.0


REFUSED: dict[str, tuple[Tree, str]] = {
    "a graphics card's": (
        lambda root: chip(root, 0, "amdgpu", power1_average=30_000_000),
        "what a chip amdgpu measures, its wiring decides",
    ),
    "a model's": (
        lambda root: zones(root, "dtpm", 3_000_000),
        "dtpm computes power from the energy model and load",
    ),
    "a firmware without measurements": (
        lambda root: zones(root, "arm-scmi", None),
        "/sys/class/powercap/arm-scmi:0/power_uw is missing",
    ),
    "mains": (
        plugged_in,
        "the adapter feeds the node",
    ),
    "a full battery": (
        lambda root: battery(root, status="Full", power_now=0),
        "the adapter feeds the node",
    ),
    "an unknown status": (
        lambda root: battery(root, status="Unknown", power_now=5),
        "no battery is discharging",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_measures_nothing_of_the_kind_is_not_chosen_and_says_why(
    tmp_path: Path, name: str
) -> None:
    make, reason = REFUSED[name]
    make(tmp_path)

    source = choose_energy(tmp_path, None)

    assert source.meter is None
    assert reason in source.reasons["package"]


def test_the_order_is_powercap_scmi_hwmon_battery(tmp_path: Path) -> None:
    battery(tmp_path, power_now=10_000_000)
    assert choose_energy(tmp_path, None).name == "battery:BAT0"
    ina226(tmp_path)
    assert choose_energy(tmp_path, None).name == "hwmon:ina226/power1"
    zones(tmp_path, "arm-scmi", 1_000_000)
    assert choose_energy(tmp_path, None).name == "scmi"
    # Cores alone are none of a board, and less than it.
    alone = powercap_tree(tmp_path / "core", {"intel-rapl:0": ("package-0", 1), CORE: ("core", 2)})
    (alone / "sys/class/powercap/intel-rapl:0/energy_uj").unlink()
    ina226(alone)
    cores = choose_energy(alone, None)
    assert (cores.name, cores.reasons["core"]) == (INA, f"energy comes from {INA} here")
    powercap_tree(tmp_path, INTEL_CLIENT)
    assert choose_energy(tmp_path, None).name == "powercap"
    named = choose_energy(tmp_path, None, AskedMeter("battery:BAT0"))
    assert (named.name, named.scope) == ("battery:BAT0", "system")
    assert named.reasons["package"] == "the energy of battery:BAT0 is asked for"
    with pytest.raises(UserError, match=r"'dcmi' is not on this node; expected one of powercap, p"):
        choose_energy(tmp_path, None, AskedMeter("dcmi"))


def test_a_site_says_what_a_named_meter_takes_in_and_how_often_it_is_renewed(
    tmp_path: Path,
) -> None:
    chip(tmp_path, 0, "ucd9000", power2_input=3_000_000)
    rule = EnergyRule("hwmon:ucd9000/power2", scope="package", update_s=0.25)

    source = choose_energy(tmp_path, None, AskedMeter(rule.meter or "", rule))

    assert isinstance(source.meter, SampledMeter)
    assert (source.scope, source.meter.found.update_s) == ("package", 0.25)
    assert "package" not in source.reasons


def test_powers_are_integrated_by_trapezoids() -> None:
    # 10 to 20 W in one second, 20 W for two.
    assert trapezoid([(5.0, 10.0), (6.0, 20.0), (8.0, 20.0)]) == 15.0 + 40.0


class Made:
    """A meter whose readings take some time by a clock of their own, and rise by 1 W a second."""

    def __init__(self, step_s: float = 1.0, most: int = 1000, late: int = 0) -> None:
        """Each reading takes `step_s`, that of number `late` 500 s more; the bus dies at `most`."""
        self.now_s, self.step_s = 0.0, step_s
        self.readings, self.most, self.late = 0, most, late
        self.enough = threading.Event()

    def read(self) -> float | Unavailable:
        self.readings += 1
        if self.readings >= 30:
            self.enough.set()
        if self.readings == self.late:
            self.now_s += 500.0
        if self.readings > self.most:
            return Unavailable("the bus does not answer")
        self.now_s += self.step_s
        return 10.0 + self.now_s

    def measured(self) -> SampledMeter:
        found = FoundMeter("made", "board", self.read, update_s=0.02)
        meter = SampledMeter(found, lambda: self.now_s)
        meter.start()
        assert self.enough.wait(HANG_S)
        meter.stop()
        return meter


def test_a_thread_samples_a_power_between_start_and_stop() -> None:
    fields = Made().measured().reading().fields

    n = fields["energy_samples"]
    assert n >= 30
    # Samples at 0.5, 1.5, … s, of 11, 12, … W: the mean of the first and the last power.
    assert fields["energy_window_s"] == n - 1
    assert fields["energy_board_j"] == pytest.approx((n - 1) * (11.0 + 10.0 + n) / 2)
    assert (fields["energy_period_s"], fields["energy_source"]) == (1.0, "made")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (Made(step_s=0.001), "a run has to last 0.4 s, 20 of its update periods"),
        (Made(most=29), "the bus does not answer"),
        (Made(late=10), "no sample in 4 min"),
    ],
    ids=["few update periods", "a failure", "no CPU for the thread"],
)
def test_energy_that_samples_do_not_tell_is_absent_with_its_reason(made: Made, reason: str) -> None:
    reading = made.measured().reading()
    assert reading.fields == {}
    assert reason in reading.unavailable["energy_board_j"]


def test_a_power_is_followed_by_a_thread_that_takes_no_signal() -> None:
    blocked: set[int] = set()
    followed = threading.Event()

    def read() -> float:
        if threading.current_thread() is not threading.main_thread():
            blocked.update(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
            followed.set()
        return 1.0

    meter = SampledMeter(FoundMeter("x", "board", read, update_s=0.0))
    meter.start()
    try:
        assert followed.wait(HANG_S)
    finally:
        meter.stop()
    assert blocked.issuperset(STOPPING)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()).intersection(STOPPING)


def counted(tmp_path: Path, *values: int) -> SampledMeter:
    """Return a meter of a counter that had these values, in microjoules, a second apart."""
    folder = chip(tmp_path, 0, "ina228", update_interval=10, energy1_input=0)
    (found,) = find_meters(tmp_path)
    times: Iterator[float] = iter([at / 2 for at in range(2 * len(values) + 2)])
    meter = SampledMeter(found, lambda: next(times))
    for at, value in enumerate(values):
        write(tmp_path, f"{folder}/energy1_input", value)
        (meter.start if at == 0 else meter.sample if at < len(values) - 1 else meter.stop)()
    return meter


def test_a_counter_is_read_without_a_thread_and_may_not_go_back(tmp_path: Path) -> None:
    reading = counted(tmp_path / "a", 1_000_000, 3_000_000, 8_000_000).reading()
    assert reading.fields["energy_board_j"] == 7.0
    assert reading.fields["energy_window_s"] == 2.0
    assert "energy_samples" not in reading.fields
    back = counted(tmp_path / "b", 5_000_000, 1_000_000, 9_000_000).reading()
    assert back.unavailable == {"energy_board_j": "hwmon:ina228/energy1: the counter went back"}
    still = counted(tmp_path / "c", 5_000_000, 5_000_000).reading()
    assert "which cannot be" in still.unavailable["energy_board_j"]


READING = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 10 Watts
    Average power reading over sample period:      218 Watts
    Power reading state is:                   {state}
"""


def test_dcmi_is_read_from_what_ipmitool_prints(tmp_path: Path) -> None:
    def said(text: str, status: int = 0) -> float | Unavailable:
        tool = write_program(
            tmp_path / "ipmitool", f"#!/bin/sh\ncat <<'X'\n{text}\nX\nexit {status}"
        )
        return read_dcmi((str(tool), "dcmi", "power", "reading"), {"PATH": "/usr/bin:/bin"})

    assert said(READING.format(state="activated")) == 220.0
    off = said(READING.format(state="deactivated"))
    assert isinstance(off, Unavailable)
    assert off.reason.endswith("power reading is deactivated")
    refused = said("DCMI request failed because: Invalid command (c1)", 1)
    assert isinstance(refused, Unavailable)
    assert "ended with status 1: DCMI request failed" in refused.reason


def test_a_site_s_command_prints_a_number_alone_or_one_that_its_pattern_picks(
    tmp_path: Path,
) -> None:
    def meter(text: str, unit: str, pattern: str | None = None) -> FoundMeter:
        tool = write_program(tmp_path / "read-pdu", f"#!/bin/sh\necho '{text}'")
        rule = EnergyRule(None, (str(tool),), pattern, unit, "system", 1.0)
        return command_meter(rule, {"PATH": "/usr/bin:/bin"})

    assert meter("12.5", "W").read() == 12.5
    assert (meter("0.5", "kWh").unit, meter("0.5", "kWh").read()) == ("J", 1.8e6)
    redfish = '{"PowerControl": [{"PowerConsumedWatts": 344}]}'
    assert meter(redfish, "W", r'"PowerConsumedWatts":\s*([0-9.]+)').read() == 344.0
    for text in ("12 W", "-3", "nan", ""):
        assert "expected a number of 0 or more alone" in meter(text, "W").problem
    assert "finds no number of 0 or more" in meter("off", "W", r"([0-9]+) W").problem
