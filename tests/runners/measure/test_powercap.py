"""Joules around a run, or the reason why there are none; no counter is added twice.

Then the source of a study's energy, the idle power of its node, and the note on the power limit.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.configs.settings import AS_IT_IS, settings_of
from pinstudy.configs.study import IdlePower
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.surroundings import power_limit_note
from pinstudy.runners.measure.energy.powercap import PowercapMeter, Zones, find_zones
from pinstudy.runners.measure.energy.source import (
    EnergySource,
    IdleMeasurements,
    choose_energy,
    no_energy,
)
from pinstudy.runners.records.energy import DOMAINS, FIELDS
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
    set_permission,
)
from tests.runners.powercap_trees import (
    AMD_RANGE_UJ,
    DIES,
    INTEL_CLIENT,
    INTEL_RANGE_UJ,
    TWO_SOCKETS,
    powercap_tree,
    set_energy,
    zone_folder,
)
from tests.support.ordinary_user import open_folder, ordinary_user

PACKAGE = "intel-rapl:0"


@pytest.fixture
def client(tmp_path: Path) -> Path:
    return powercap_tree(tmp_path, INTEL_CLIENT)


def measured(root: Path, energy_uj: dict[str, int]) -> Reading:
    """Return what a meter reads while 2.5 s pass and counters get other values."""
    now_s = 100.0
    meter = PowercapMeter(find_zones(root), lambda: now_s)
    meter.start()
    now_s += 2.5
    for key, value in energy_uj.items():
        set_energy(root, key, value)
    meter.stop()
    return meter.reading()


def test_each_domain_is_the_difference_in_joules_of_every_run(client: Path) -> None:
    after = {PACKAGE: 26_000_000, "intel-rapl:0:0": 10_600_000, "intel-rapl:1": 59_000_000}
    reading = measured(client, after)
    assert reading.fields == {
        "energy_pkg_j": 25.0,
        "energy_core_j": 10.0,
        "energy_uncore_j": 0.0,  # an idle graphics unit
        "energy_psys_j": 50.0,
        "energy_window_s": 2.5,
        "energy_source": "powercap",
    }
    assert reading.unavailable == {"energy_dram_j": "no dram energy counter on this node"}
    assert measured(client, {PACKAGE: 28_000_000}).fields["energy_pkg_j"] == 2.0


@pytest.mark.parametrize(
    ("first_uj", "last_uj", "range_uj", "expected"),
    [
        # 100 J before the range's end and 900 J after it.
        (INTEL_RANGE_UJ - 100_000_000, 900_000_000, INTEL_RANGE_UJ, 1000.0),
        # A wrap-around would mean 162 kJ in 2.5 s.
        (100_000_000_000, 100_000_000, INTEL_RANGE_UJ, "set it anew"),
        (1_000_000, 0, "", "went back"),
    ],
)
def test_a_counter_that_goes_back_has_wrapped_around_or_was_set_anew(
    tmp_path: Path, first_uj: int, last_uj: int, range_uj: object, expected: float | str
) -> None:
    root = powercap_tree(tmp_path, {PACKAGE: ("package-0", first_uj)})
    (zone_folder(root, PACKAGE) / "max_energy_range_uj").write_text(f"{range_uj}\n")
    reading = measured(root, {PACKAGE: last_uj})
    if isinstance(expected, str):
        assert expected in reading.unavailable["energy_pkg_j"]
        assert "energy_pkg_j" not in reading.fields
    else:
        assert reading.fields["energy_pkg_j"] == expected


def test_a_counter_that_stands_still_is_no_zero(client: Path) -> None:
    reading = measured(client, {PACKAGE: 1_500_000})
    assert reading.fields["energy_pkg_j"] == 0.5
    assert "did not move in 2.5 s" in reading.unavailable["energy_psys_j"]


def test_one_file_without_permission_is_a_reason_with_what_helps() -> None:
    with open_folder() as folder:
        root = powercap_tree(folder, INTEL_CLIENT)
        (zone_folder(root, PACKAGE) / "energy_uj").chmod(stat.S_IWUSR)
        with ordinary_user():
            meter = PowercapMeter(find_zones(root))
            meter.start()
        set_energy(root, "intel-rapl:1", 10_000_000)
        with ordinary_user():
            meter.stop()
    reading = meter.reading()
    assert reading.fields["energy_psys_j"] == 1.0
    assert "energy_pkg_j" not in reading.fields
    assert "chmod a+r /sys/class/powercap" in reading.unavailable["energy_pkg_j"]


def test_a_node_without_counters_gives_reasons_only(tmp_path: Path) -> None:
    reading = measured(tmp_path, {})
    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS.values())
    assert "virtual machines" in reading.unavailable["energy_pkg_j"]
    (tmp_path / "sys/class/powercap/dtpm").mkdir(parents=True)
    assert "no RAPL zones" in find_zones(tmp_path).unavailable["psys"]
    # Files where folders should be.
    zone_folder(tmp_path, PACKAGE).write_text("")
    assert "name is missing" in find_zones(tmp_path).unavailable["package"]


def test_how_often_to_sample_follows_from_the_smallest_range(tmp_path: Path) -> None:
    zones = {PACKAGE: ("package-0", 0)}
    amd = powercap_tree(tmp_path / "a", zones, range_uj=AMD_RANGE_UJ)
    # 65532.610987 J at 1000 W.
    assert PowercapMeter(find_zones(amd)).sample_within_s == pytest.approx(65.532610987)
    assert PowercapMeter(find_zones(tmp_path / "none")).sample_within_s == float("inf")


@settings(max_examples=20)
@given(
    first=st.integers(0, AMD_RANGE_UJ - 1),
    gaps=st.lists(
        st.tuples(st.floats(0.001, 45) | st.floats(0.001, 200), st.floats(0, 1000)),
        min_size=1,
        max_size=8,
    ),
)
def test_however_it_is_sampled_the_energy_is_right_or_refused(
    first: int, gaps: list[tuple[float, float]]
) -> None:
    now_s, total_uj = 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        zones = {PACKAGE: ("package-0", first)}
        root = powercap_tree(Path(name), zones, "AuthenticAMD", AMD_RANGE_UJ)
        meter = PowercapMeter(find_zones(root), lambda: now_s)
        meter.start()
        for seconds, watts in gaps:
            now_s += seconds
            total_uj += int(seconds * watts * 1e6)
            set_energy(root, PACKAGE, (first + total_uj) % AMD_RANGE_UJ)
            meter.sample()
        meter.stop()
        reading = meter.reading()
    if "energy_pkg_j" in reading.fields:
        assert reading.fields["energy_pkg_j"] == pytest.approx(total_uj / 1e6)
        return
    why = reading.unavailable["energy_pkg_j"]
    # 65532.610987 J at 1000 W; looks less than a quarter of that apart are passed over.
    if "may have wrapped" in why:
        assert max(seconds for seconds, _ in gaps) > 65.53 * 3 / 4
    else:
        assert "did not move" in why
        assert total_uj == 0


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no permission": lambda path: path.chmod(0),
    "missing": Path.unlink,
    "empty": lambda path: path.write_text(""),
    "not a number": lambda path: path.write_text("1.5 J"),
    "negative": lambda path: path.write_text("-5"),
    "huge": lambda path: path.write_text("9" * 400),
    "bytes": lambda path: path.write_bytes(b"\x00\xff"),
}


@settings(max_examples=40)
@given(
    file=st.sampled_from(["name", "energy_uj", "max_energy_range_uj"]),
    key=st.sampled_from(sorted(TWO_SOCKETS)),
    how=st.sampled_from(sorted(DAMAGE)),
    moment=st.integers(0, 2),
)
def test_a_damaged_file_is_never_a_wrong_sum(file: str, key: str, how: str, moment: int) -> None:
    with open_folder() as folder:
        root = powercap_tree(folder, TWO_SOCKETS)

        def as_user(now: int, act: Callable[[], Any]) -> Any:  # noqa: ANN401
            if now == moment:
                DAMAGE[how](zone_folder(root, key) / file)
            with ordinary_user():
                return act()

        meter = PowercapMeter(as_user(0, lambda: find_zones(root)))
        as_user(1, meter.start)
        for number, other in enumerate(sorted(TWO_SOCKETS), 1):
            if (other, file) != (key, "energy_uj") or moment == 2:
                set_energy(root, other, TWO_SOCKETS[other][1] + 2_000_000 * number)
        as_user(2, meter.stop)
    found = meter.reading()
    # By their keys: package 0's 2 J, its dram's 4 J, package 1's 6 J, its dram's 8 J.
    for name, joules in {"energy_pkg_j": 2.0 + 6.0, "energy_dram_j": 4.0 + 8.0}.items():
        assert found.fields.get(name, joules) == joules
        assert (name in found.fields) != (name in found.unavailable)
    harmed, other = ("energy_pkg_j", "energy_dram_j")[:: -1 if key.count(":") == 2 else 1]
    if file == "energy_uj":
        assert key in found.unavailable[harmed]
        assert other in found.fields


def keys(zones: Zones, domain: str) -> list[str]:
    return [zone.path.rpartition("/")[2] for zone in zones.chosen if zone.domain == domain]


def test_domains_are_known_by_name_and_the_mmio_copy_is_left_out(client: Path) -> None:
    # A recording may have nested zones.
    inner = zone_folder(client, "intel-rapl:0:0")
    shutil.move(inner, zone_folder(client, PACKAGE) / inner.name)
    zones = find_zones(client)
    assert {domain: keys(zones, domain) for domain in DOMAINS} == {
        **{"package": [PACKAGE], "core": ["intel-rapl:0:0"], "uncore": ["intel-rapl:0:1"]},
        **{"dram": [], "psys": ["intel-rapl:1"]},
    }
    assert zones.unavailable == {"dram": "no dram energy counter on this node"}
    assert zones.chosen[0].range_uj == INTEL_RANGE_UJ


BOTH = [PACKAGE, "intel-rapl:1"]


@pytest.mark.parametrize(
    ("zones", "vendor", "packages"),
    [
        ({"intel-rapl-mmio:0": ("package-0", 1)}, "GenuineIntel", ["intel-rapl-mmio:0"]),
        (TWO_SOCKETS, "GenuineIntel", BOTH),
        # Dies of Intel's count by themselves; those of AMD and of unknown vendors may repeat.
        (DIES, "GenuineIntel", BOTH),
        (DIES, "AuthenticAMD", [PACKAGE]),
        (DIES, "", [PACKAGE]),
    ],
)
def test_every_package_is_counted_once(
    tmp_path: Path, zones: dict[str, tuple[str, int]], vendor: str, packages: list[str]
) -> None:
    found = find_zones(powercap_tree(tmp_path, zones, vendor))
    assert keys(found, "package") == packages
    if vendor == "AuthenticAMD":
        assert "one core" in found.unavailable["core"]
    elif (zones, vendor) == (DIES, "GenuineIntel"):
        assert keys(found, "core") == ["intel-rapl:0:0", "intel-rapl:1:0"]


def test_a_lost_name_spoils_the_sums_that_it_may_be_in(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, TWO_SOCKETS)
    (zone_folder(root, "intel-rapl:1:0") / "name").write_text("")
    zones = find_zones(root)
    assert (len(keys(zones, "package")), keys(zones, "dram")) == (2, [])
    assert "intel-rapl:1:0/name" in zones.unavailable["dram"]
    (zone_folder(root, "intel-rapl:1:0") / "name").write_text("dram\n")
    (zone_folder(root, "intel-rapl:1") / "name").write_text("")
    zones = find_zones(root)
    assert zones.chosen == ()
    assert all("intel-rapl:1/name is empty" in zones.unavailable[domain] for domain in DOMAINS)


def a_perf(tmp_path: Path) -> str:
    return install_perf(tmp_path, *(joules_row(f"energy-{name}", "7.5") for name in ("pkg", "gpu")))


@pytest.mark.parametrize("has_perf", [True, False])
@pytest.mark.parametrize("lost", [True, False])
def test_the_first_source_that_has_the_packages_serves_and_nothing_is_mixed(
    tmp_path: Path, lost: bool, has_perf: bool
) -> None:
    root = powercap_tree(tmp_path / "node", INTEL_CLIENT)
    if has_perf:
        power_pmu_tree(root)
    if lost:
        (zone_folder(root, PACKAGE) / "energy_uj").unlink()
    source = choose_energy(root, a_perf(tmp_path) if has_perf else None)
    assert source.meter
    source.meter.start()
    if not lost:
        set_energy(root, PACKAGE, 3_000_000)
    set_energy(root, "intel-rapl:1", 19_000_000)
    source.meter.stop()
    reading = source.reading()
    names = ("energy_pkg_j", "energy_psys_j", "energy_source")
    found = tuple(map(reading.fields.get, names))
    if not lost:
        assert found == (2.0, 10.0, "powercap")
    elif has_perf:
        # powercap could tell psys, which would be another window and another reading.
        assert found == (7.5, None, "perf")
        assert "no value of power/energy-psys/" in reading.unavailable["energy_psys_j"]
    else:
        assert found == (None, 10.0, "powercap")
        reason = reading.unavailable["energy_pkg_j"]
        assert f"{PACKAGE}/energy_uj is missing" in reason and "no power PMU" in reason


def test_without_a_source_both_reasons_are_told(tmp_path: Path) -> None:
    reading = choose_energy(tmp_path, "/usr/bin/perf").reading()
    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS.values())
    reason = reading.unavailable["energy_pkg_j"]
    assert "powercap: /sys/class/powercap is missing" in reason
    assert "perf: no power PMU here" in reason
    not_asked = "the study does not collect energy"
    assert no_energy(not_asked).reading() == Reading({}, dict.fromkeys(FIELDS.values(), not_asked))


def test_why_perf_has_no_energy_is_told_and_what_it_was_granted_is_used(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path / "node")

    def why(perf: str | None) -> str:
        return choose_energy(root, perf).reading().unavailable.get("energy_pkg_j", "")

    assert "not installed" in why(None)
    refused = install_perf(tmp_path, "<not supported>;Joules;power/energy-pkg/;0;100.00;;")
    assert "perf: energy-pkg is not supported" in why(refused)
    set_permission(root, "2", NO_CAPABILITIES)
    denied = install_failing_perf(tmp_path, "Access to performance monitoring is limited.")
    assert "as root: sysctl kernel.perf_event_paranoid=0" in why(denied)
    # perf itself may have rights that this process lacks.
    assert choose_energy(root, a_perf(tmp_path)).meter is not None


PERFORMANCE, POWERSAVE, CURRENT = (
    (governor, AS_IT_IS) for governor in ("performance", "powersave", "current")
)
SAVING = "powersave", settings_of(epp="power")


class IdleNode:
    """A node whose package draws a power while its clock runs; it remembers how long it slept."""

    def __init__(self, root: Path, watts: float, range_uj: int = INTEL_RANGE_UJ) -> None:
        self.root = powercap_tree(root, INTEL_CLIENT, range_uj=range_uj)
        self.watts, self.range_uj = watts, range_uj
        self.now_s, self.slept_s, self.energy_uj = 100.0, 0.0, 1_000_000
        self.interrupted_after_s = float("inf")
        self.source = EnergySource(PowercapMeter(find_zones(self.root), self.clock))

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        if self.slept_s >= self.interrupted_after_s:
            raise KeyboardInterrupt
        self.now_s += seconds
        self.slept_s += seconds
        self.energy_uj += round(seconds * self.watts * 1e6)
        set_energy(self.root, PACKAGE, self.energy_uj % self.range_uj)

    def idle(self, seconds: float, every: int | None = None) -> IdleMeasurements:
        return IdleMeasurements(IdlePower(seconds, every), self.source, self.clock, self.sleep)


def test_idle_power_is_the_average_over_the_duration(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 15.0)
    idle = node.idle(10.0)
    assert idle.due_s(POWERSAVE) == 10.0
    found = idle.measure(POWERSAVE)
    assert node.slept_s == pytest.approx(10.0)
    expected = {"energy_pkg_j": 150.0, "energy_window_s": 10.0, "power_pkg_w": 15.0}
    assert {name: found.fields[name] for name in expected} == pytest.approx(expected)
    assert found.fields["power_uncore_w"] == 0.0
    assert "did not move" in found.unavailable["power_psys_w"]
    assert idle.power_w(POWERSAVE) == pytest.approx(15.0)


def test_a_long_idle_measurement_follows_its_counter_around(tmp_path: Path) -> None:
    # 150 s at 900 W are 135 kJ: twice around the counter.
    found = IdleNode(tmp_path, 900.0, AMD_RANGE_UJ).idle(150.0).measure(CURRENT)
    assert found.fields["energy_pkg_j"] == pytest.approx(135_000.0)


def test_each_governor_has_its_own_and_each_attempt_begins_anew(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 30.0)
    idle = node.idle(5.0)
    idle.measure(PERFORMANCE)
    assert idle.due_s(PERFORMANCE) is None
    # So has each combination of settings.
    for watts, under in ((10.0, POWERSAVE), (5.0, SAVING)):
        assert idle.due_s(under) == 5.0
        assert idle.pending_s({PERFORMANCE: 3, under: 3}) == 5.0
        assert isinstance(idle.power_w(under), Unavailable)
        node.watts = watts
        idle.measure(under)
    found = [idle.power_w(under) for under in (PERFORMANCE, POWERSAVE, SAVING)]
    assert found == [pytest.approx(watts) for watts in (30.0, 10.0, 5.0)]
    assert node.idle(5.0).due_s(PERFORMANCE) == 5.0


def test_it_is_repeated_after_so_many_runs_of_the_governor(tmp_path: Path) -> None:
    idle = IdleNode(tmp_path, 30.0).idle(5.0, every=2)
    idle.measure(PERFORMANCE)
    due = []
    for under in (PERFORMANCE, POWERSAVE, PERFORMANCE, PERFORMANCE):
        due.append(idle.due_s(PERFORMANCE) is not None)
        idle.count_run(under)
    assert due == [False, False, False, True]
    idle.measure(PERFORMANCE)
    assert idle.due_s(PERFORMANCE) is None


def test_nothing_is_due_where_none_is_wanted_or_energy_cannot_be_measured(tmp_path: Path) -> None:
    node = IdleNode(tmp_path, 30.0)
    for idle, why in (
        (IdleMeasurements(None, node.source), "the study asks for no idle power"),
        (IdleMeasurements(IdlePower(5.0), no_energy("no counters here")), "no counters here"),
    ):
        assert idle.due_s(CURRENT) is None
        assert idle.power_w(CURRENT) == Unavailable(why)
        assert idle.pending_s({CURRENT: 10}) == 0.0


def test_a_failed_idle_measurement_takes_no_time_an_interrupted_one_stays_due(
    tmp_path: Path,
) -> None:
    node = IdleNode(tmp_path, 30.0)
    node.interrupted_after_s = 2.0
    idle = node.idle(5.0)
    with pytest.raises(KeyboardInterrupt):
        idle.measure(CURRENT)
    assert (node.slept_s, idle.due_s(CURRENT)) == (2.0, 5.0)
    assert isinstance(idle.power_w(CURRENT), Unavailable)
    (zone_folder(node.root, PACKAGE) / "energy_uj").unlink()
    found = idle.measure(CURRENT)
    assert node.slept_s == 2.0
    assert "energy_uj is missing" in found.unavailable["power_pkg_w"]
    assert "the idle measurement has no energy" in str(idle.power_w(CURRENT))


@settings(max_examples=50)
@given(every=st.none() | st.integers(1, 6), before=st.integers(0, 8), runs=st.integers(0, 20))
def test_the_forecast_is_what_happens(every: int | None, before: int, runs: int) -> None:
    naps_s = [0.0]
    source = EnergySource(PowercapMeter(Zones(Tree(Path("/")))))
    idle = IdleMeasurements(IdlePower(0.5, every), source, lambda: sum(naps_s), naps_s.append)
    forecast_s = slept_s = 0.0
    for run in range(before + runs):
        if run == before:
            forecast_s, slept_s = idle.pending_s({CURRENT: runs}), sum(naps_s)
        if idle.due_s(CURRENT):
            idle.measure(CURRENT)
        idle.count_run(CURRENT)
    assert not runs or forecast_s == sum(naps_s) - slept_s


def pl1(zone: str, domain: str, power_w: float | None, name: str = "long_term") -> dict[str, Any]:
    return {"zone": zone, "domain": domain, "name": name, "power_w": power_w, "window_s": 28.0}


# An i5-13500: PL1 65 W, PL2 117 W.
CLIENT = [
    pl1(PACKAGE, "package-0", 65.0),
    pl1(PACKAGE, "package-0", 117.0, "short_term"),
    pl1("intel-rapl:1", "psys", 10.0),
]
MMIO = pl1("intel-rapl-mmio:0", "package-0", 45.0)
# Its zone shows that it is disabled, or locked by the firmware.
DOUBTFUL = {"reason": "PL1) is not known to be in force"}
OTHER = pl1("intel-rapl:2", "package-1", 65.0)


@pytest.mark.parametrize(
    ("power_w", "limits", "words"),
    [
        # 97% of 65 W are 63.05 W.
        (63.0, CLIENT, ""),
        (63.1, CLIENT, "at PL1"),
        (65.0, CLIENT, "at PL1"),
        (65.1, CLIENT, "burst above PL1"),
        # The lowest limit of a package holds, and packages add up.
        (50.0, [*CLIENT, MMIO], "burst above PL1"),
        (100.0, [*CLIENT, OTHER], ""),
        # One that may be disabled does not count beside another, and alone it is no burst for sure.
        (50.0, [*CLIENT, MMIO | DOUBTFUL], ""),
        (70.0, [*CLIENT, MMIO | DOUBTFUL], "burst above PL1"),
        (63.0, [CLIENT[0] | DOUBTFUL], ""),
        (63.1, [CLIENT[0] | DOUBTFUL], None),
        (140.0, [*CLIENT, OTHER | DOUBTFUL], None),
        # What is not known is not judged.
        (60.0, [], None),
        (60.0, [pl1(PACKAGE, "package-0", None)], None),
        (60.0, [pl1(PACKAGE, "package-0", 0.0)], None),
        (60.0, [*CLIENT, OTHER | {"power_w": None}], None),
        (60.0, [pl1(PACKAGE, "psys", 65.0)], None),
    ],
)
def test_power_near_or_above_the_long_term_limit_is_said_in_words(
    power_w: float, limits: list[dict[str, Any]], words: str | None
) -> None:
    note = power_limit_note(power_w, limits)
    if words is None:
        assert note.fields == {}
        assert "PL1) is not known" in note.unavailable["power_limit_note"]
    else:
        assert note.fields["power_limit_note"].partition(":")[0] == words
    # The power itself has the reason.
    assert power_limit_note(None, limits) == Reading()
