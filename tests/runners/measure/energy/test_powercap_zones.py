"""Of the counters that a node shows, those are added that count something no other counts."""

from __future__ import annotations

import shutil
from pathlib import Path

from runners.measure.energy.figures import DOMAINS
from runners.measure.energy.powercap import Zones, find_zones
from tests.runners.powercap_trees import (
    AMD_RANGE_UJ,
    DIES,
    INTEL_CLIENT,
    INTEL_RANGE_UJ,
    TWO_SOCKETS,
    powercap_tree,
    zone_folder,
)


def keys(zones: Zones, domain: str) -> list[str]:
    return [zone.path.rpartition("/")[2] for zone in zones.chosen if zone.domain == domain]


def test_domains_are_known_by_name_and_the_mmio_copy_is_left_out(tmp_path: Path) -> None:
    zones = find_zones(powercap_tree(tmp_path, INTEL_CLIENT))
    assert {domain: keys(zones, domain) for domain in DOMAINS} == {
        "package": ["intel-rapl:0"],
        "core": ["intel-rapl:0:0"],
        "uncore": ["intel-rapl:0:1"],
        "dram": [],
        "psys": ["intel-rapl:1"],
    }
    assert zones.unavailable == {"dram": "no dram energy counter on this node"}
    assert zones.chosen[0].range_uj == INTEL_RANGE_UJ


def test_the_mmio_zone_serves_where_it_is_the_only_one(tmp_path: Path) -> None:
    zones = find_zones(powercap_tree(tmp_path, {"intel-rapl-mmio:0": ("package-0", 1)}))
    assert keys(zones, "package") == ["intel-rapl-mmio:0"]


def test_every_package_is_counted_whatever_its_index(tmp_path: Path) -> None:
    zones = find_zones(powercap_tree(tmp_path, TWO_SOCKETS))
    assert keys(zones, "package") == ["intel-rapl:0", "intel-rapl:1"]
    assert keys(zones, "dram") == ["intel-rapl:0:0", "intel-rapl:1:0"]


def test_dies_of_amd_repeat_the_socket_and_are_counted_once(tmp_path: Path) -> None:
    zones = find_zones(powercap_tree(tmp_path, DIES, "AuthenticAMD", AMD_RANGE_UJ))
    assert keys(zones, "package") == ["intel-rapl:0"]
    assert "one core" in zones.unavailable["core"]


def test_dies_of_intel_count_by_themselves(tmp_path: Path) -> None:
    zones = find_zones(powercap_tree(tmp_path, DIES))
    assert keys(zones, "package") == ["intel-rapl:0", "intel-rapl:1"]
    assert keys(zones, "core") == ["intel-rapl:0:0", "intel-rapl:1:0"]


def test_dies_of_an_unknown_vendor_are_not_added_up(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, DIES)
    (root / "proc/cpuinfo").unlink()
    assert keys(find_zones(root), "package") == ["intel-rapl:0"]


def test_zones_that_a_recording_nested_are_found(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, INTEL_CLIENT)
    inner = zone_folder(root, "intel-rapl:0:0")
    shutil.move(inner, zone_folder(root, "intel-rapl:0") / inner.name)
    assert keys(find_zones(root), "core") == ["intel-rapl:0:0"]


def test_a_package_whose_name_is_lost_spoils_the_sum(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, TWO_SOCKETS)
    (zone_folder(root, "intel-rapl:1") / "name").write_text("")
    zones = find_zones(root)
    assert zones.chosen == ()
    assert all("intel-rapl:1/name is empty" in zones.unavailable[domain] for domain in DOMAINS)


def test_a_sub_zone_whose_name_is_lost_leaves_the_package(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, TWO_SOCKETS)
    (zone_folder(root, "intel-rapl:1:0") / "name").unlink()
    zones = find_zones(root)
    assert len(keys(zones, "package")) == 2
    assert keys(zones, "dram") == []
    assert "intel-rapl:1:0/name" in zones.unavailable["dram"]


def test_a_node_without_counters_says_so(tmp_path: Path) -> None:
    assert "virtual machines" in find_zones(tmp_path).unavailable["package"]
    (tmp_path / "sys/class/powercap/dtpm").mkdir(parents=True)
    assert "no RAPL zones" in find_zones(tmp_path).unavailable["psys"]


def test_files_where_folders_should_be_are_survived(tmp_path: Path) -> None:
    (tmp_path / "sys/class/powercap").mkdir(parents=True)
    zone_folder(tmp_path, "intel-rapl:0").write_text("")
    zones = find_zones(tmp_path)
    assert zones.chosen == ()
    assert "name is missing" in zones.unavailable["package"]
