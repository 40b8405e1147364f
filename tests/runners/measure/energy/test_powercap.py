"""Joules around a run, or the reason why there are none."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.reading import Reading
from runners.measure.energy.powercap import PowercapMeter, find_zones
from tests.runners.powercap_trees import (
    AMD_RANGE_UJ,
    INTEL_CLIENT,
    INTEL_RANGE_UJ,
    TWO_SOCKETS,
    powercap_tree,
    set_energy,
    zone_folder,
)
from tests.support.ordinary_user import open_folder, ordinary_user


class Clock:
    """Seconds that pass when a test says so."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(tmp_path: Path) -> Path:
    return powercap_tree(tmp_path, INTEL_CLIENT)


def measure_after(root: Path, clock: Clock, changes: dict[str, int]) -> Reading:
    meter = PowercapMeter(find_zones(root), clock)
    meter.start()
    clock.now_s += 2.5
    for key, energy_uj in changes.items():
        set_energy(root, key, energy_uj)
    meter.stop()
    return meter.reading()


def test_each_domain_is_the_difference_in_joules(client: Path, clock: Clock) -> None:
    reading = measure_after(
        client,
        clock,
        {"intel-rapl:0": 26_000_000, "intel-rapl:0:0": 10_600_000, "intel-rapl:1": 59_000_000},
    )
    assert reading.fields == {
        "energy_pkg_j": 25.0,
        "energy_core_j": 10.0,
        "energy_uncore_j": 0.0,  # an idle graphics unit
        "energy_psys_j": 50.0,
        "energy_window_s": 2.5,
        "energy_source": "powercap",
    }
    assert reading.unavailable == {"energy_dram_j": "no dram energy counter on this node"}


def test_packages_are_added_up(tmp_path: Path, clock: Clock) -> None:
    root = powercap_tree(tmp_path, TWO_SOCKETS)
    reading = measure_after(root, clock, {"intel-rapl:0": 13_000_000, "intel-rapl:1": 24_000_000})
    assert reading.fields["energy_pkg_j"] == 7.0


def test_a_wrap_is_counted_on_by_the_counters_range(client: Path, clock: Clock) -> None:
    set_energy(client, "intel-rapl:0", INTEL_RANGE_UJ - 1_000_000)
    reading = measure_after(client, clock, {"intel-rapl:0": 2_000_000})
    assert reading.fields["energy_pkg_j"] == 3.0


def test_a_counter_that_goes_back_without_a_known_range_is_not_believed(
    client: Path, clock: Clock
) -> None:
    (zone_folder(client, "intel-rapl:0") / "max_energy_range_uj").write_text("\n")
    reading = measure_after(client, clock, {"intel-rapl:0": 0})
    assert "energy_pkg_j" not in reading.fields
    assert "went back" in reading.unavailable["energy_pkg_j"]


def test_a_counter_that_stands_still_is_no_zero(client: Path, clock: Clock) -> None:
    reading = measure_after(client, clock, {"intel-rapl:0": 1_500_000})
    assert reading.fields["energy_pkg_j"] == 0.5
    assert "did not move in 2.5 s" in reading.unavailable["energy_psys_j"]


@pytest.mark.parametrize("text", ["", "\n", "none", "-5", "1.5", "9" * 400, "\x00\xff"])
def test_a_counter_that_turns_into_nonsense_is_a_reason(
    client: Path, clock: Clock, text: str
) -> None:
    meter = PowercapMeter(find_zones(client), clock)
    meter.start()
    (zone_folder(client, "intel-rapl:0") / "energy_uj").write_text(text)
    set_energy(client, "intel-rapl:1", 10_000_000)
    meter.stop()
    assert "intel-rapl:0/energy_uj" in meter.reading().unavailable["energy_pkg_j"]
    assert meter.reading().fields["energy_psys_j"] == 1.0


def test_a_counter_that_vanishes_is_a_reason_and_one_package_is_not_the_sum(
    tmp_path: Path, clock: Clock
) -> None:
    root = powercap_tree(tmp_path, TWO_SOCKETS)
    meter = PowercapMeter(find_zones(root), clock)
    meter.start()
    (zone_folder(root, "intel-rapl:0") / "energy_uj").unlink()
    set_energy(root, "intel-rapl:1", 30_000_000)
    meter.stop()
    assert "energy_pkg_j" not in meter.reading().fields
    assert "is missing" in meter.reading().unavailable["energy_pkg_j"]


def test_one_file_without_permission_is_a_reason_with_what_helps(clock: Clock) -> None:
    with open_folder() as folder:
        root = powercap_tree(folder, INTEL_CLIENT)
        (zone_folder(root, "intel-rapl:0") / "energy_uj").chmod(stat.S_IWUSR)
        set_energy(root, "intel-rapl:1", 0)
        with ordinary_user():
            meter = PowercapMeter(find_zones(root), clock)
            meter.start()
        set_energy(root, "intel-rapl:1", 1_000_000)
        with ordinary_user():
            meter.stop()
    reading = meter.reading()
    assert reading.fields["energy_psys_j"] == 1.0
    assert "energy_pkg_j" not in reading.fields
    assert "chmod a+r /sys/class/powercap" in reading.unavailable["energy_pkg_j"]


def test_a_node_without_counters_gives_reasons_only(tmp_path: Path, clock: Clock) -> None:
    reading = measure_after(tmp_path, clock, {})
    assert reading.fields == {}
    assert set(reading.unavailable) == {
        f"energy_{domain}_j" for domain in ("pkg", "core", "uncore", "dram", "psys")
    }


def test_how_often_to_sample_follows_from_the_smallest_range(tmp_path: Path) -> None:
    amd = powercap_tree(tmp_path / "a", {"intel-rapl:0": ("package-0", 0)}, range_uj=AMD_RANGE_UJ)
    # 65532.610987 J at 1000 W.
    assert PowercapMeter(find_zones(amd)).sample_within_s == pytest.approx(65.532610987)
    assert PowercapMeter(find_zones(tmp_path / "none")).sample_within_s == float("inf")


def test_a_counter_left_alone_too_long_is_not_believed(client: Path, clock: Clock) -> None:
    meter = PowercapMeter(find_zones(client), clock)
    meter.start()
    clock.now_s += 1.01 * INTEL_RANGE_UJ / 1e9
    set_energy(client, "intel-rapl:0", 2_000_000)
    meter.stop()
    assert "may have wrapped" in meter.reading().unavailable["energy_pkg_j"]


def test_a_meter_starts_anew_for_every_run(client: Path, clock: Clock) -> None:
    meter = PowercapMeter(find_zones(client), clock)
    for energy_uj, expected in [(3_000_000, 2.0), (3_500_000, 0.5)]:
        meter.start()
        set_energy(client, "intel-rapl:0", energy_uj)
        meter.stop()
        assert meter.reading().fields["energy_pkg_j"] == expected


@settings(max_examples=20)  # each writes and reads some dozen files
@given(
    first=st.integers(0, AMD_RANGE_UJ - 1),
    steps=st.lists(st.tuples(st.floats(0.01, 60), st.integers(0, 900)), min_size=1, max_size=12),
)
def test_any_number_of_wraps_in_a_sampled_run_is_counted(
    first: int, steps: list[tuple[float, int]]
) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as name:
        root = powercap_tree(
            Path(name), {"intel-rapl:0": ("package-0", first)}, "AuthenticAMD", AMD_RANGE_UJ
        )
        meter = PowercapMeter(find_zones(root), clock)
        meter.start()
        total_uj = 0
        for seconds, watts in steps:
            for _ in range(4):  # four looks in at most 60 s, as a runner would
                clock.now_s += seconds / 4
                total_uj += int(seconds / 4 * watts * 1e6)
                set_energy(root, "intel-rapl:0", (first + total_uj) % AMD_RANGE_UJ)
                meter.sample()
        meter.stop()
        reading = meter.reading()
    if total_uj:
        assert reading.fields["energy_pkg_j"] == pytest.approx(total_uj / 1e6)
    else:
        assert "did not move" in reading.unavailable["energy_pkg_j"]


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=30), min_size=3, max_size=3))
def test_any_content_of_the_files_is_survived(contents: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = powercap_tree(Path(name), {"intel-rapl:0": ("package-0", 5)})
        for file, data in zip(("name", "energy_uj", "max_energy_range_uj"), contents, strict=True):
            (zone_folder(root, "intel-rapl:0") / file).write_bytes(data)
        meter = PowercapMeter(find_zones(root))
        meter.start()
        meter.stop()
        assert "energy_pkg_j" not in meter.reading().fields
        assert "energy_pkg_j" in meter.reading().unavailable


DAMAGE = ("no permission", "missing", "empty", "not a number", "huge")


def damage(path: Path, how: str) -> None:
    if how == "no permission":
        path.chmod(0)
    elif how == "missing":
        path.unlink()
    else:
        path.write_text({"empty": "", "not a number": "1.5 J", "huge": "9" * 400}[how])


@settings(max_examples=60)
@given(
    file=st.sampled_from(["name", "energy_uj", "max_energy_range_uj"]),
    key=st.sampled_from(sorted(TWO_SOCKETS)),
    how=st.sampled_from(DAMAGE),
    moment=st.integers(0, 3),
)
def test_a_damaged_file_is_a_reason_and_never_a_wrong_sum(
    file: str, key: str, how: str, moment: int
) -> None:
    with open_folder() as folder:
        root = powercap_tree(folder, TWO_SOCKETS)

        def now(number: int) -> None:
            if number == moment:
                damage(zone_folder(root, key) / file, how)

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
    harmed = "energy_dram_j" if key.count(":") == 2 else "energy_pkg_j"
    if file == "energy_uj":
        assert key in found.unavailable[harmed]


@settings(max_examples=30)
@given(
    first=st.integers(0, AMD_RANGE_UJ - 1),
    gaps=st.lists(st.tuples(st.floats(0.001, 200), st.floats(0, 1000)), min_size=1, max_size=8),
)
def test_however_it_is_sampled_the_energy_is_right_or_refused(
    first: int, gaps: list[tuple[float, float]]
) -> None:
    clock, total_uj = Clock(), 0
    with tempfile.TemporaryDirectory() as name:
        root = powercap_tree(
            Path(name), {"intel-rapl:0": ("package-0", first)}, "AuthenticAMD", AMD_RANGE_UJ
        )
        meter = PowercapMeter(find_zones(root), clock)
        meter.start()
        for seconds, watts in gaps:
            clock.now_s += seconds
            total_uj += int(seconds * watts * 1e6)
            set_energy(root, "intel-rapl:0", (first + total_uj) % AMD_RANGE_UJ)
            meter.sample()
        meter.stop()
        reading = meter.reading()
    if "energy_pkg_j" in reading.fields:
        assert reading.fields["energy_pkg_j"] == pytest.approx(total_uj / 1e6)
    else:
        # 65532.610987 J at 1000 W; looks less than a quarter of that apart are passed over.
        assert total_uj == 0 or max(seconds for seconds, _ in gaps) > 65.53 * 3 / 4
