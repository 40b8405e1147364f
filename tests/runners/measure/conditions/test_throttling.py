"""Throttling is the difference of counters, each counted once for what it belongs to."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.reading import Reading
from runners.host.tree import Tree
from runners.measure.conditions.throttling import NO_COUNTERS, QuotaMeter, ThrottleMeter
from tests.runners.sensor_trees import TWO_PACKAGES, throttle
from tests.support.trees import CPU, write

COUNTERS = tuple(
    f"{of}_throttle_{what}" for of in ("core", "package") for what in ("count", "total_time_ms")
)
NO_LIMITS = {
    f"throttle.{level}_power_limit_count": (
        f"this kernel has no {level}_power_limit_count without the boot option int_pln_enable"
    )
    for level in ("core", "package")
}


def everywhere(root: Path, value: int) -> None:
    for cpu in range(6):
        throttle(root, cpu, **dict.fromkeys(COUNTERS, value))


def around(root: Path, changes: dict[int, dict[str, int]]) -> Reading:
    meter = ThrottleMeter(Tree(root), TWO_PACKAGES)
    meter.start()
    for cpu, values in changes.items():
        throttle(root, cpu, **values)
    meter.stop()
    return meter.reading()


def test_core_values_count_once_a_core_and_package_values_once_a_package(tmp_path: Path) -> None:
    everywhere(tmp_path, 7)
    # What did not throttle is a measured zero.
    assert set(around(tmp_path, {}).fields["throttle"].values()) == {0}
    # The first core (CPUs 0 and 1) throttled twice for 30 ms; its package five times for 80 ms,
    # which all of its CPUs repeat.
    package = {"package_throttle_count": 12, "package_throttle_total_time_ms": 87}
    core = {"core_throttle_count": 9, "core_throttle_total_time_ms": 37}
    reading = around(tmp_path, {0: core | package, 1: core | package, 2: package, 3: package})
    throttled = {"core_count": 2, "core_ms": 30, "package_count": 5, "package_ms": 80}
    assert reading == Reading({"throttle": throttled}, NO_LIMITS)


def test_power_limits_are_counted_where_the_kernel_was_asked_to(tmp_path: Path) -> None:
    everywhere(tmp_path, 0)
    for cpu in range(6):
        throttle(tmp_path, cpu, core_power_limit_count=1, package_power_limit_count=1)
    after = {5: {"core_power_limit_count": 4}, 4: {"package_power_limit_count": 3}}
    reading = around(tmp_path, after)
    assert reading.fields["throttle"]["core_power_limit_count"] == 3
    assert reading.fields["throttle"]["package_power_limit_count"] == 2
    assert reading.unavailable == {}


def test_a_node_that_does_not_count_says_so(tmp_path: Path) -> None:
    assert around(tmp_path, {}) == Reading({}, {"throttle": NO_COUNTERS})


def test_one_lost_counter_spoils_its_sum_and_no_other(tmp_path: Path) -> None:
    everywhere(tmp_path, 7)
    meter = ThrottleMeter(Tree(tmp_path), TWO_PACKAGES)
    meter.start()
    (tmp_path / CPU / "cpu5/thermal_throttle/core_throttle_count").unlink()
    throttle(tmp_path, 2, core_throttle_total_time_ms="many")
    throttle(tmp_path, 4, package_throttle_count=0)
    meter.stop()
    reading = meter.reading()
    assert reading.fields["throttle"] == {"package_ms": 0}
    lost = {name: reading.unavailable[f"throttle.{name}"] for name in ("core_count", "core_ms")}
    assert "cpu5/thermal_throttle/core_throttle_count is missing" in lost["core_count"]
    assert "'many', not a whole number" in lost["core_ms"]
    assert "went back from 7 to 0" in reading.unavailable["throttle.package_count"]


GROUPS = "sys/fs/cgroup"
V2 = "usage_usec 9\nnr_periods 4\nnr_throttled 2\nthrottled_usec {}\nnr_bursts 0"
V1 = "nr_periods 4\nnr_throttled 2\nthrottled_time {}"


def around_quota(root: Path, group: str, before: dict[str, str], after: dict[str, str]) -> Reading:
    write(root, "proc/self/cgroup", group)
    for path, text in before.items():
        write(root, f"{GROUPS}/{path}", text)
    meter = QuotaMeter(Tree(root))
    meter.start()
    for path, text in after.items():
        write(root, f"{GROUPS}/{path}", text)
    meter.stop()
    return meter.reading()


@pytest.mark.parametrize(
    ("group", "stat", "before", "after"),
    [
        ("0::/job/step", ("job/step/cpu.stat", V2), 1_000_000, 1_250_000),
        # The quota may be of a group above, or of a container, whose root is the host's group.
        ("0::/job/step", ("job/cpu.stat", V2), 0, 250_000),
        ("0::/", ("cpu.stat", V2), 0, 250_000),
        ("5:cpu,cpuacct:/job\n0::/", ("cpu,cpuacct/job/cpu.stat", V1), 0, 250_000_000),
        ("1:cpu:/", ("cpu/cpu.stat", V1), 0, 250_000_000),
    ],
)
def test_what_a_quota_took_is_told_in_seconds(
    tmp_path: Path, group: str, stat: tuple[str, str], before: int, after: int
) -> None:
    path, text = stat
    found = around_quota(tmp_path, group, {path: text.format(before)}, {path: text.format(after)})
    assert found == Reading({"quota_throttled_s": 0.25})


def test_the_longest_of_all_levels_counts_and_a_quiet_one_is_a_measured_zero(
    tmp_path: Path,
) -> None:
    files = {"a/b/cpu.stat": V2.format(7), "a/cpu.stat": V2.format(7)}
    assert around_quota(tmp_path, "0::/a/b", files, {}).fields == {"quota_throttled_s": 0.0}
    later = {"a/b/cpu.stat": V2.format(8), "a/cpu.stat": V2.format(1007)}
    assert around_quota(tmp_path, "0::/a/b", files, later).fields == {"quota_throttled_s": 0.001}


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/", {"cpu.stat": "usage_usec 9"}),
        ("0::/../../elsewhere", {}),
        ("", {}),
        ("4:memory:/x", {"cpu.stat": V2.format(1)}),
    ],
)
def test_a_group_that_counts_nothing_is_a_reason(
    tmp_path: Path, group: str, files: dict[str, str]
) -> None:
    found = around_quota(tmp_path, group, files, files)
    assert found.fields == {}
    assert "/proc/self/cgroup" in found.unavailable["quota_throttled_s"]


def test_time_that_goes_back_is_no_time(tmp_path: Path) -> None:
    before, after = ({"cpu.stat": V2.format(taken)} for taken in (9, 8))
    reason = "the control groups' throttled time went back"
    found = around_quota(tmp_path, "0::/", before, after)
    assert found.unavailable == {"quota_throttled_s": reason}


@settings(max_examples=30)  # each writes and reads files
@given(group=st.text(max_size=80), stat=st.text(max_size=80))
def test_any_text_is_survived(group: str, stat: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in (("proc/self/cgroup", group), (f"{GROUPS}/cpu.stat", stat)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode("utf-8", "surrogatepass"))
        meter = QuotaMeter(Tree(root))
        meter.start()
        meter.stop()
        found = meter.reading()
        assert found.fields == {"quota_throttled_s": 0.0} or found.unavailable
