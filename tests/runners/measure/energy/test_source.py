"""The source of a study's energy: the first that has the packages, or the reasons of all."""

from __future__ import annotations

from pathlib import Path

from runners.measure.energy.figures import FIELDS
from runners.measure.energy.source import choose_energy, no_energy
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
    set_permission,
)
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree, set_energy, zone_folder


def both_sources(tmp_path: Path) -> Path:
    root = powercap_tree(tmp_path / "node", INTEL_CLIENT)
    return power_pmu_tree(root)


def a_perf(tmp_path: Path) -> str:
    return install_perf(tmp_path, *(joules_row(f"energy-{name}", "7.5") for name in ("pkg", "gpu")))


def lose_package(root: Path) -> None:
    (zone_folder(root, "intel-rapl:0") / "energy_uj").unlink()


def test_powercap_comes_first(tmp_path: Path) -> None:
    root = both_sources(tmp_path)
    source = choose_energy(root, a_perf(tmp_path))
    assert source.meter
    source.meter.start()
    set_energy(root, "intel-rapl:0", 3_000_000)
    source.meter.stop()
    reading = source.reading()
    assert (reading.fields["energy_pkg_j"], reading.fields["energy_source"]) == (2.0, "powercap")


def test_perf_serves_where_powercap_lacks_the_packages_and_nothing_is_mixed(
    tmp_path: Path,
) -> None:
    root = both_sources(tmp_path)
    lose_package(root)
    source = choose_energy(root, a_perf(tmp_path))
    assert source.meter
    source.meter.start()
    set_energy(root, "intel-rapl:1", 59_000_000)
    source.meter.stop()
    reading = source.reading()
    assert (reading.fields["energy_pkg_j"], reading.fields["energy_source"]) == (7.5, "perf")
    # powercap could tell psys, which would be another window and another reading.
    assert reading.unavailable["energy_psys_j"] == "perf told nothing of power/energy-psys/"


def test_without_a_source_both_reasons_are_told(tmp_path: Path) -> None:
    reading = choose_energy(tmp_path, "/usr/bin/perf").reading()
    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS.values())
    reason = reading.unavailable["energy_pkg_j"]
    assert "powercap: /sys/class/powercap is missing" in reason
    assert "perf: no power PMU here" in reason


def test_a_missing_perf_is_told_where_it_would_help(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path)
    assert "not installed" in choose_energy(root, None).reading().unavailable["energy_pkg_j"]


def test_a_perf_that_may_not_is_told_with_what_grants_it(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path / "node")
    set_permission(root, "2", NO_CAPABILITIES)
    perf = install_failing_perf(tmp_path, "Access to performance monitoring is limited.")
    reason = choose_energy(root, perf).reading().unavailable["energy_pkg_j"]
    assert "as root: sysctl kernel.perf_event_paranoid=0" in reason


def test_a_perf_that_was_granted_what_we_were_not_is_used(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path / "node")
    set_permission(root, "2", NO_CAPABILITIES)
    assert choose_energy(root, a_perf(tmp_path)).meter is not None


def test_what_perf_says_is_the_reason_where_it_may_but_cannot(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path / "node")
    perf = install_perf(tmp_path, "<not supported>;Joules;power/energy-pkg/;0;100.00;;")
    reason = choose_energy(root, perf).reading().unavailable["energy_pkg_j"]
    assert "perf: energy-pkg is not supported" in reason


def test_other_domains_are_measured_where_no_source_has_the_packages(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, INTEL_CLIENT)
    lose_package(root)
    source = choose_energy(root, None)
    assert source.meter
    source.meter.start()
    set_energy(root, "intel-rapl:1", 19_000_000)
    source.meter.stop()
    reading = source.reading()
    assert reading.fields["energy_psys_j"] == 10.0
    reason = reading.unavailable["energy_pkg_j"]
    assert "intel-rapl:0/energy_uj is missing" in reason
    assert "no power PMU" in reason


def test_a_study_that_collects_no_energy_says_so_for_every_domain() -> None:
    reading = no_energy("the study does not collect energy").reading()
    assert reading.fields == {}
    assert reading.unavailable == dict.fromkeys(
        FIELDS.values(), "the study does not collect energy"
    )
