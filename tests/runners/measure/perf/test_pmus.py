"""Core PMUs are found as perf finds them and laid over the node's core kinds."""

from __future__ import annotations

from collections.abc import Collection
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
from tests.support.trees import write

EVENT_SOURCES = "sys/bus/event_source/devices"

ULTRA_PMUS = {"cpu_core": "0-3", "cpu_atom": "4-13"}


def tree(root: Path, cpus: dict[str, str | None], cpuinfo: str = "") -> Path:
    for name, text in cpus.items():
        write(root, f"{EVENT_SOURCES}/{name}/type", 4)
        if text is not None:
            write(root, f"{EVENT_SOURCES}/{name}/cpus", text)
    write(root, "proc/cpuinfo", cpuinfo)
    return root


@pytest.mark.parametrize(
    ("devices", "pmus"),
    [
        (ULTRA_PMUS | {"uncore_imc_0": None}, {"cpu_core": range(4), "cpu_atom": range(4, 14)}),
        ({"cpu": None, "msr": None}, {"cpu": None}),
        # A kind whose cores are all disabled.
        ({"cpu_core": "0-7", "cpu_atom": ""}, {"cpu_core": range(8)}),
        ({"cpu_core": "not a list"}, {}),
        ({"cpu_core": "0-99999999"}, {}),
        ({}, {}),
    ],
)
def test_pmus_with_a_list_of_cpus_and_the_one_named_cpu_are_core_pmus(
    tmp_path: Path, devices: dict[str, str | None], pmus: dict[str, range | None]
) -> None:
    found = read_core_pmus(tree(tmp_path, devices))
    assert found == {name: cpus and tuple(cpus) for name, cpus in pmus.items()}


def test_big_little_is_asked_by_the_names_that_each_pmu_lists(tmp_path: Path) -> None:
    names = {"big": ("cpu_cycles", "inst_retired"), "little": ("cpu_cycles", "stall_backend")}
    root = tree(tmp_path, {"armv8_big": "2-3", "armv8_little": "0-1"})
    for core, events in names.items():
        for event in events:
            write(root, f"{EVENT_SOURCES}/armv8_{core}/events/{event}", "event=0x11")
    assert events_by_pmu(root) == {
        "cycles": ("armv8_big/cpu_cycles/", "armv8_little/cpu_cycles/"),
        "instructions": ("armv8_big/inst_retired/",),
    }
    write(root, f"{EVENT_SOURCES}/armv8_big/cpus", "")
    assert events_by_pmu(root) == {}


def with_events(root: Path, pmu: str, *events: str) -> None:
    for event in events:
        write(root, f"{EVENT_SOURCES}/{pmu}/events/{event}", "event=0x3c")


def test_the_one_pmu_of_x86_is_named_for_the_events_that_it_lists(tmp_path: Path) -> None:
    root = tree(tmp_path, {"cpu": None, "msr": None, "uncore_imc_0": None})
    assert events_by_pmu(root) == {}
    with_events(root, "cpu", "cpu-cycles", "instructions", "slots")
    assert events_by_pmu(root) == {
        "cycles": ("cpu/cpu-cycles/",),
        "instructions": ("cpu/instructions/",),
    }


def test_arms_only_pmu_is_named_where_an_interconnect_has_cycles_too(tmp_path: Path) -> None:
    root = tree(tmp_path, {"armv8_pmuv3_0": "0-71", "nvidia_scf_pmu_0": None})
    with_events(root, "armv8_pmuv3_0", "cpu_cycles", "inst_retired")
    assert events_by_pmu(root) == {}
    with_events(root, "nvidia_scf_pmu_0", "cycles")
    assert events_by_pmu(root) == {"cycles": ("armv8_pmuv3_0/cpu_cycles/",)}


def test_perf_itself_splits_the_events_of_intels_pmus(tmp_path: Path) -> None:
    assert events_by_pmu(tree(tmp_path, ULTRA_PMUS | {"power": None})) == {}


@pytest.mark.parametrize(
    ("allowed", "kinds"),
    [
        (None, {"cpu_core": ("P",), "cpu_atom": ("E", "LP-E")}),
        (range(4, 12), {"cpu_core": ("P",), "cpu_atom": ("E",)}),
        ([3, 13], {"cpu_core": ("P",), "cpu_atom": ("LP-E",)}),
    ],
)
def test_lp_e_cores_are_counted_with_e_cores_where_a_program_may_use_both(
    allowed: Collection[int] | None, kinds: dict[str, tuple[str, ...]]
) -> None:
    pmus = {name: parse_cpulist(cpus) for name, cpus in ULTRA_PMUS.items()}
    assert kinds_of_pmus(pmus, core_ultra_7_164u().kinds, allowed) == kinds


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
