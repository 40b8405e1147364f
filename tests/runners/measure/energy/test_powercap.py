"""Joules around a run, or the reason why there are none; no counter is added twice."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.reading import Reading
from runners.measure.energy.powercap import PowercapMeter, Zones, find_zones
from runners.records.energy import DOMAINS
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

ONE_ZONE = {"intel-rapl:0": ("package-0", 0)}


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


def test_each_domain_is_the_difference_in_joules(client: Path) -> None:
    after = {"intel-rapl:0": 26_000_000, "intel-rapl:0:0": 10_600_000, "intel-rapl:1": 59_000_000}
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


def test_a_counter_that_goes_back_without_a_known_range_is_not_believed(client: Path) -> None:
    (zone_folder(client, "intel-rapl:0") / "max_energy_range_uj").write_text("\n")
    reading = measured(client, {"intel-rapl:0": 0})
    assert "energy_pkg_j" not in reading.fields
    assert "went back" in reading.unavailable["energy_pkg_j"]


@pytest.mark.parametrize(
    ("first_uj", "last_uj", "joules"),
    [
        # 100 J before the range's end and 900 J after it.
        (INTEL_RANGE_UJ - 100_000_000, 900_000_000, 1000.0),
        # A wrap-around would mean 162 kJ in 2.5 s.
        (100_000_000_000, 100_000_000, None),
    ],
)
def test_a_counter_that_was_set_anew_has_not_wrapped_around(
    tmp_path: Path, first_uj: int, last_uj: int, joules: float | None
) -> None:
    root = powercap_tree(tmp_path, {"intel-rapl:0": ("package-0", first_uj)})
    reading = measured(root, {"intel-rapl:0": last_uj})
    assert reading.fields.get("energy_pkg_j") == joules
    assert joules or "set it anew" in reading.unavailable["energy_pkg_j"]


def test_a_counter_that_stands_still_is_no_zero(client: Path) -> None:
    reading = measured(client, {"intel-rapl:0": 1_500_000})
    assert reading.fields["energy_pkg_j"] == 0.5
    assert "did not move in 2.5 s" in reading.unavailable["energy_psys_j"]


def test_one_file_without_permission_is_a_reason_with_what_helps() -> None:
    with open_folder() as folder:
        root = powercap_tree(folder, INTEL_CLIENT)
        (zone_folder(root, "intel-rapl:0") / "energy_uj").chmod(stat.S_IWUSR)
        set_energy(root, "intel-rapl:1", 0)
        with ordinary_user():
            meter = PowercapMeter(find_zones(root))
            meter.start()
        set_energy(root, "intel-rapl:1", 1_000_000)
        with ordinary_user():
            meter.stop()
    reading = meter.reading()
    assert reading.fields["energy_psys_j"] == 1.0
    assert "energy_pkg_j" not in reading.fields
    assert "chmod a+r /sys/class/powercap" in reading.unavailable["energy_pkg_j"]


def test_a_node_without_counters_gives_reasons_only(tmp_path: Path) -> None:
    reading = measured(tmp_path, {})
    assert reading.fields == {}
    assert set(reading.unavailable) == {
        f"energy_{domain}_j" for domain in ("pkg", "core", "uncore", "dram", "psys")
    }
    assert "virtual machines" in reading.unavailable["energy_pkg_j"]
    (tmp_path / "sys/class/powercap/dtpm").mkdir(parents=True)
    assert "no RAPL zones" in find_zones(tmp_path).unavailable["psys"]


def test_how_often_to_sample_follows_from_the_smallest_range(tmp_path: Path) -> None:
    amd = powercap_tree(tmp_path / "a", ONE_ZONE, range_uj=AMD_RANGE_UJ)
    # 65532.610987 J at 1000 W.
    assert PowercapMeter(find_zones(amd)).sample_within_s == pytest.approx(65.532610987)
    assert PowercapMeter(find_zones(tmp_path / "none")).sample_within_s == float("inf")


def test_a_meter_starts_anew_for_every_run(client: Path) -> None:
    meter = PowercapMeter(find_zones(client))
    for energy_uj, expected in [(3_000_000, 2.0), (3_500_000, 0.5)]:
        meter.start()
        set_energy(client, "intel-rapl:0", energy_uj)
        meter.stop()
        assert meter.reading().fields["energy_pkg_j"] == expected


@settings(max_examples=40)
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
        zones = {"intel-rapl:0": ("package-0", first)}
        root = powercap_tree(Path(name), zones, "AuthenticAMD", AMD_RANGE_UJ)
        meter = PowercapMeter(find_zones(root), lambda: now_s)
        meter.start()
        for seconds, watts in gaps:
            now_s += seconds
            total_uj += int(seconds * watts * 1e6)
            set_energy(root, "intel-rapl:0", (first + total_uj) % AMD_RANGE_UJ)
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


@settings(max_examples=80)
@given(
    file=st.sampled_from(["name", "energy_uj", "max_energy_range_uj"]),
    key=st.sampled_from(sorted(TWO_SOCKETS)),
    how=st.sampled_from(sorted(DAMAGE)),
    moment=st.integers(0, 3),
)
def test_a_damaged_file_is_a_reason_and_never_a_wrong_sum(
    file: str, key: str, how: str, moment: int
) -> None:
    with open_folder() as folder:
        root = powercap_tree(folder, TWO_SOCKETS)

        def now(number: int) -> None:
            if number == moment:
                DAMAGE[how](zone_folder(root, key) / file)

        now(0)
        with ordinary_user():
            zones = find_zones(root)
        now(1)
        meter = PowercapMeter(zones)
        with ordinary_user():
            meter.start()
        for number, other in enumerate(sorted(TWO_SOCKETS)):
            if (other, file) != (key, "energy_uj") or moment == 3:
                set_energy(root, other, TWO_SOCKETS[other][1] + 2_000_000 * (number + 1))
        now(2)
        now(3)
        with ordinary_user():
            meter.stop()
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
    zones = find_zones(client)
    assert {domain: keys(zones, domain) for domain in DOMAINS} == {
        "package": ["intel-rapl:0"],
        "core": ["intel-rapl:0:0"],
        "uncore": ["intel-rapl:0:1"],
        "dram": [],
        "psys": ["intel-rapl:1"],
    }
    assert zones.unavailable == {"dram": "no dram energy counter on this node"}
    assert zones.chosen[0].range_uj == INTEL_RANGE_UJ


@pytest.mark.parametrize(
    ("zones", "vendor", "packages"),
    [
        ({"intel-rapl-mmio:0": ("package-0", 1)}, "GenuineIntel", ["intel-rapl-mmio:0"]),
        (TWO_SOCKETS, "GenuineIntel", ["intel-rapl:0", "intel-rapl:1"]),
        # Dies of Intel's count by themselves; those of AMD and of unknown vendors may repeat.
        (DIES, "GenuineIntel", ["intel-rapl:0", "intel-rapl:1"]),
        (DIES, "AuthenticAMD", ["intel-rapl:0"]),
        (DIES, "", ["intel-rapl:0"]),
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


def test_zones_that_a_recording_nested_are_found(client: Path) -> None:
    inner = zone_folder(client, "intel-rapl:0:0")
    shutil.move(inner, zone_folder(client, "intel-rapl:0") / inner.name)
    assert keys(find_zones(client), "core") == ["intel-rapl:0:0"]


def test_a_package_whose_name_is_lost_spoils_the_sum_and_a_sub_zone_s_its_own(
    tmp_path: Path,
) -> None:
    root = powercap_tree(tmp_path, TWO_SOCKETS)
    (zone_folder(root, "intel-rapl:1:0") / "name").unlink()
    zones = find_zones(root)
    assert len(keys(zones, "package")) == 2
    assert keys(zones, "dram") == []
    assert "intel-rapl:1:0/name" in zones.unavailable["dram"]
    (zone_folder(root, "intel-rapl:1:0") / "name").write_text("dram\n")
    (zone_folder(root, "intel-rapl:1") / "name").write_text("")
    zones = find_zones(root)
    assert zones.chosen == ()
    assert all("intel-rapl:1/name is empty" in zones.unavailable[domain] for domain in DOMAINS)


def test_files_where_folders_should_be_are_survived(tmp_path: Path) -> None:
    (tmp_path / "sys/class/powercap").mkdir(parents=True)
    zone_folder(tmp_path, "intel-rapl:0").write_text("")
    zones = find_zones(tmp_path)
    assert zones.chosen == ()
    assert "name is missing" in zones.unavailable["package"]
