"""Throttling is the difference of counters, each counted once for what it belongs to."""

from __future__ import annotations

from pathlib import Path

from base.reading import Reading
from runners.host.tree import Tree
from runners.measure.conditions.throttling import NO_COUNTERS, ThrottleMeter
from tests.runners.sensor_trees import TWO_PACKAGES, throttle
from tests.support.trees import CPU, build_tree

ALL = (
    "core_throttle_count",
    "core_throttle_total_time_ms",
    "package_throttle_count",
    "package_throttle_total_time_ms",
)
NO_LIMITS = {
    f"throttle.{level}_power_limit_count": (
        f"this kernel has no {level}_power_limit_count without the boot option int_pln_enable"
    )
    for level in ("core", "package")
}


def everywhere(root: Path, value: int) -> None:
    for cpu in range(6):
        throttle(root, cpu, **dict.fromkeys(ALL, value))


def around(root: Path, changes: dict[int, dict[str, int]]) -> Reading:
    meter = ThrottleMeter(Tree(root), TWO_PACKAGES)
    meter.start()
    for cpu, values in changes.items():
        throttle(root, cpu, **values)
    meter.stop()
    return meter.reading()


def test_core_values_count_once_a_core_and_package_values_once_a_package(tmp_path: Path) -> None:
    everywhere(tmp_path, 7)
    # The first core (CPUs 0 and 1) throttled twice for 30 ms; its package five times for 80 ms,
    # which all of its CPUs repeat.
    package = {"package_throttle_count": 12, "package_throttle_total_time_ms": 87}
    core = {"core_throttle_count": 9, "core_throttle_total_time_ms": 37}
    reading = around(tmp_path, {0: core | package, 1: core | package, 2: package, 3: package})
    assert reading.fields["throttle"] == {
        "core_count": 2,
        "core_ms": 30,
        "package_count": 5,
        "package_ms": 80,
    }
    assert reading.unavailable == NO_LIMITS


def test_what_did_not_throttle_is_a_measured_zero(tmp_path: Path) -> None:
    everywhere(tmp_path, 7)
    assert set(around(tmp_path, {}).fields["throttle"].values()) == {0}


def test_power_limits_are_counted_where_the_kernel_was_asked_to(tmp_path: Path) -> None:
    everywhere(tmp_path, 0)
    for cpu in range(6):
        throttle(tmp_path, cpu, core_power_limit_count=1, package_power_limit_count=1)
    reading = around(
        tmp_path,
        {5: {"core_power_limit_count": 4}, 4: {"package_power_limit_count": 3}},
    )
    assert reading.fields["throttle"]["core_power_limit_count"] == 3
    assert reading.fields["throttle"]["package_power_limit_count"] == 2
    assert reading.unavailable == {}


def test_a_node_that_does_not_count_says_so(tmp_path: Path) -> None:
    assert around(tmp_path, {}) == Reading({}, {"throttle": NO_COUNTERS})


def test_one_lost_counter_spoils_its_sum_and_no_other(tmp_path: Path) -> None:
    everywhere(tmp_path, 0)
    meter = ThrottleMeter(Tree(tmp_path), TWO_PACKAGES)
    meter.start()
    (tmp_path / CPU / "cpu5/thermal_throttle/core_throttle_count").unlink()
    throttle(tmp_path, 2, core_throttle_total_time_ms="many")
    meter.stop()
    reading = meter.reading()
    assert reading.fields["throttle"] == {"package_count": 0, "package_ms": 0}
    assert (
        "cpu5/thermal_throttle/core_throttle_count is missing"
        in (reading.unavailable["throttle.core_count"])
    )
    assert "'many', not a whole number" in reading.unavailable["throttle.core_ms"]


def test_a_counter_that_went_back_is_no_difference(tmp_path: Path) -> None:
    everywhere(tmp_path, 7)
    reading = around(tmp_path, {4: {"core_throttle_count": 0}})
    assert "went back from 7 to 0" in reading.unavailable["throttle.core_count"]
    assert "core_count" not in reading.fields["throttle"]


def test_a_recorded_hybrid_that_has_the_counters(tmp_path: Path) -> None:
    from runners.node.node import open_node

    root = build_tree(tmp_path, "i9-14900k-noht")
    everywhere(root, 0)
    meter = ThrottleMeter(Tree(root), open_node(root).topology)
    meter.start()
    throttle(root, 0, core_throttle_count=1)
    meter.stop()
    # Eighteen of its 24 cores have no counter here: their sum is not known.
    assert "is missing" in meter.reading().unavailable["throttle.core_count"]
    assert meter.reading().fields["throttle"]["package_count"] == 0
