"""Core PMUs are found as perf finds them and laid over the node's core kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.cpulist import parse_cpulist
from runners.measure.perf.events import (
    events_by_pmu,
    kinds_of_pmus,
    read_core_pmus,
    unsupported_reason,
)
from tests.runners.topologies import core_ultra_7_164u, i9_14900k_without_smt

CORE_ULTRA_7_164U_PMUS = {"cpu_core": "0-3\n", "cpu_atom": "4-13\n"}


def tree(root: Path, cpus: dict[str, str | None], cpuinfo: str = "") -> Path:
    for name, text in cpus.items():
        folder = root / "sys/bus/event_source/devices" / name
        folder.mkdir(parents=True)
        if text is not None:
            (folder / "cpus").write_text(text)
    (root / "proc").mkdir(parents=True)
    (root / "proc/cpuinfo").write_text(cpuinfo)
    return root


def test_pmus_with_a_cpu_list_and_the_one_named_cpu_are_core_pmus(tmp_path: Path) -> None:
    hybrid = tree(tmp_path / "a", CORE_ULTRA_7_164U_PMUS | {"uncore_imc_0": None, "power": None})
    assert read_core_pmus(hybrid) == {
        "cpu_atom": tuple(range(4, 14)),
        "cpu_core": (0, 1, 2, 3),
    }
    assert read_core_pmus(tree(tmp_path / "b", {"cpu": None, "msr": None})) == {"cpu": None}


def test_big_little_is_asked_by_the_names_that_each_pmu_lists(tmp_path: Path) -> None:
    names = {"big": ("cpu_cycles", "inst_retired"), "little": ("cpu_cycles", "stall_backend")}
    root = tree(tmp_path, {"armv8_big": "2-3\n", "armv8_little": "0-1\n"})
    for core, events in names.items():
        folder = root / f"sys/bus/event_source/devices/armv8_{core}/events"
        folder.mkdir()
        for event in events:
            (folder / event).write_text("event=0x11\n")
    assert events_by_pmu(root) == {
        "cycles": ("armv8_big/cpu_cycles/", "armv8_little/cpu_cycles/"),
        "instructions": ("armv8_big/inst_retired/",),
    }
    (root / "sys/bus/event_source/devices/armv8_big/cpus").write_text("\n")
    assert events_by_pmu(root) == {}


def test_perf_itself_splits_the_events_of_intels_pmus(tmp_path: Path) -> None:
    root = tree(tmp_path, CORE_ULTRA_7_164U_PMUS | {"power": None})
    assert events_by_pmu(root) == {}


def test_a_kind_whose_cores_are_all_disabled_has_no_pmu(tmp_path: Path) -> None:
    root = tree(tmp_path, {"cpu_core": "0-7\n", "cpu_atom": "\n"})
    assert read_core_pmus(root) == {"cpu_core": tuple(range(8))}


@pytest.mark.parametrize("text", ["not a list", "0-99999999", "\xff"])
def test_a_list_that_cannot_be_read_is_no_pmu(tmp_path: Path, text: str) -> None:
    assert read_core_pmus(tree(tmp_path, {"cpu_core": text})) == {}


def test_a_node_without_the_folder_has_none(tmp_path: Path) -> None:
    assert read_core_pmus(tmp_path) == {}


def test_lp_e_cores_are_counted_together_with_e_cores() -> None:
    pmus = {name: parse_cpulist(cpus) for name, cpus in CORE_ULTRA_7_164U_PMUS.items()}
    kinds = core_ultra_7_164u().kinds
    assert kinds_of_pmus(pmus, kinds) == {"cpu_core": ("P",), "cpu_atom": ("E", "LP-E")}


def test_a_program_that_may_only_use_e_cores_is_counted_on_them_alone() -> None:
    pmus = {name: parse_cpulist(cpus) for name, cpus in CORE_ULTRA_7_164U_PMUS.items()}
    kinds = core_ultra_7_164u().kinds
    assert kinds_of_pmus(pmus, kinds, range(4, 12)) == {"cpu_core": ("P",), "cpu_atom": ("E",)}
    assert kinds_of_pmus(pmus, kinds, [3, 13]) == {"cpu_core": ("P",), "cpu_atom": ("LP-E",)}


def test_one_pmu_for_all_cores_covers_every_kind() -> None:
    kinds = i9_14900k_without_smt().kinds
    assert kinds_of_pmus({"cpu": None}, kinds) == {"cpu": ("P", "E")}
    assert kinds_of_pmus({"cpu": None}, kinds, [0, 1]) == {"cpu": ("P",)}


def test_why_a_node_has_no_hardware_events(tmp_path: Path) -> None:
    guest = "processor\t: 0\nflags\t\t: fpu hypervisor ssse3\n\nprocessor\t: 1\nflags\t\t: fpu\n"
    metal = guest.replace(" hypervisor", "")
    assert "virtual machine" in unsupported_reason(tree(tmp_path / "a", {}, guest))
    assert "no driver" in unsupported_reason(tree(tmp_path / "b", {}, metal))
    assert "this event" in unsupported_reason(tree(tmp_path / "c", {"cpu": None}, guest))
