"""The source of a study's energy: the first that has the packages, or the reasons of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.reading import Reading
from runners.measure.energy.source import choose_energy, no_energy
from runners.records.energy import FIELDS
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
    set_permission,
)
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree, set_energy, zone_folder


def a_perf(tmp_path: Path) -> str:
    return install_perf(tmp_path, *(joules_row(f"energy-{name}", "7.5") for name in ("pkg", "gpu")))


def lose_package(root: Path) -> None:
    (zone_folder(root, "intel-rapl:0") / "energy_uj").unlink()


@pytest.mark.parametrize(
    ("lost", "has_perf", "fields"),
    [
        (False, True, {"energy_pkg_j": 2.0, "energy_psys_j": 10.0, "energy_source": "powercap"}),
        # powercap could tell psys, which would be another window and another reading.
        (True, True, {"energy_pkg_j": 7.5, "energy_source": "perf"}),
        (True, False, {"energy_psys_j": 10.0, "energy_source": "powercap"}),
    ],
    ids=["powercap first", "perf for the packages", "other domains without either"],
)
def test_the_first_source_that_has_the_packages_serves_and_nothing_is_mixed(
    tmp_path: Path, lost: bool, has_perf: bool, fields: dict[str, object]
) -> None:
    root = powercap_tree(tmp_path / "node", INTEL_CLIENT)
    if has_perf:
        power_pmu_tree(root)
    if lost:
        lose_package(root)
    source = choose_energy(root, a_perf(tmp_path) if has_perf else None)
    assert source.meter
    source.meter.start()
    if not lost:
        set_energy(root, "intel-rapl:0", 3_000_000)
    set_energy(root, "intel-rapl:1", 19_000_000)
    source.meter.stop()
    reading = source.reading()
    names = ("energy_pkg_j", "energy_psys_j", "energy_source")
    assert {name: reading.fields[name] for name in names if name in reading.fields} == fields
    if lost and has_perf:
        reason = reading.unavailable["energy_psys_j"]
        assert reason == "perf printed no value of power/energy-psys/"
    elif lost:
        reason = reading.unavailable["energy_pkg_j"]
        assert "intel-rapl:0/energy_uj is missing" in reason and "no power PMU" in reason


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


def test_a_study_that_collects_no_energy_says_so_for_every_domain() -> None:
    reason = "the study does not collect energy"
    assert no_energy(reason).reading() == Reading({}, dict.fromkeys(FIELDS.values(), reason))
