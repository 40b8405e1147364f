"""Mains or battery by the kernel's supplies, and what a change of them does to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from base.reading import Unavailable
from runners.host.tree import Tree
from runners.node.node import open_node, read_state, state_changes
from runners.node.power_supply import read_power_supply
from tests.support.power_supplies import add_supply, plug_in, unplug
from tests.support.trees import build_tree, write

OFFLINE, ONLINE = {"type_": "Mains", "online": 0}, {"type_": "Mains", "online": 1}
PORT_OFFLINE = {"type_": "USB", "online": 0, "usb_type": "[C] PD PD_PPS"}
PORT_ONLINE = {"type_": "USB", "online": 1, "usb_type": "C [PD] PD_PPS"}
MOUSE = {"type_": "Battery", "scope": "Device", "status": "Discharging", "present": 1}


def battery(status: str, present: int = 1) -> dict[str, Any]:
    return {"type_": "Battery", "status": status, "present": present}


@pytest.mark.parametrize(
    ("supplies", "runs_from"),
    [
        ([ONLINE, battery("Full")], "mains"),
        ([OFFLINE, battery("Discharging")], "battery"),
        # A weak adapter lets the battery discharge under load.
        ([ONLINE, battery("Discharging")], "mains"),
        ([PORT_ONLINE, battery("Charging")], "mains"),
        # Any one of several adapters, whatever its place.
        ([OFFLINE, PORT_OFFLINE, PORT_ONLINE, battery("Charging")], "mains"),
        ([OFFLINE, PORT_OFFLINE, PORT_OFFLINE, battery("Discharging")], "battery"),
        # 2 means online, too: an adapter of programmable voltage.
        ([{"type_": "USB", "online": 2}, battery("Charging")], "mains"),
        # Firmware that lists no adapter, or one that charges as offline.
        ([battery("Discharging")], "battery"),
        ([OFFLINE, battery("Charging")], "mains"),
        ([battery("Not charging")], "mains"),
        # Of two batteries one is used at a time.
        ([OFFLINE, battery("Not charging"), battery("Discharging")], "battery"),
        # A mouse feeds no node, nor does an empty bay.
        ([MOUSE, ONLINE, battery("Full")], "mains"),
        ([OFFLINE, battery("Unknown", present=0), battery("Discharging")], "battery"),
    ],
)
def test_a_node_with_a_battery_says_what_it_runs_from(
    tmp_path: Path, supplies: list[dict[str, Any]], runs_from: str
) -> None:
    for number, files in enumerate(supplies):
        add_supply(tmp_path, f"supply{number}", **files)
    assert read_power_supply(Tree(tmp_path)) == runs_from


@pytest.mark.parametrize(
    "supplies",
    [
        [],
        [MOUSE],
        # A desktop's port, which feeds others.
        [PORT_OFFLINE],
        [OFFLINE, battery("Discharging", present=0)],
    ],
)
def test_a_node_without_a_battery_runs_from_nobody_knows_what(
    tmp_path: Path, supplies: list[dict[str, Any]]
) -> None:
    (tmp_path / "sys/class/power_supply").mkdir(parents=True)
    for number, files in enumerate(supplies):
        add_supply(tmp_path, f"supply{number}", **files)
    found = read_power_supply(Tree(tmp_path))
    assert found == Unavailable("/sys/class/power_supply has no battery of the node")


def test_a_battery_that_says_nothing_is_neither(tmp_path: Path) -> None:
    add_supply(tmp_path, "BAT0", **battery("Unknown"))
    found = read_power_supply(Tree(tmp_path))
    assert isinstance(found, Unavailable) and "tells whether it discharges" in found.reason


def state(root: Path) -> dict[str, Any]:
    return read_state(open_node(root), (0,)).fields


def test_a_run_during_which_the_node_was_unplugged_has_that_cause(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "mtl-m-2")
    plug_in(root)
    before = state(root)
    unplug(root)
    after = state(root)
    assert (before["power_supply"], after["power_supply"]) == ("mains", "battery")
    assert state_changes(before, after) == "the node went from mains to battery power"
    assert state_changes(after, before) == "the node went from battery to mains power"


def test_another_platform_profile_is_a_change_too(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "mtl-m-2")
    write(root, "sys/firmware/acpi/platform_profile", "balanced")
    before = state(root)
    write(root, "sys/firmware/acpi/platform_profile", "low-power")
    assert state_changes(before, state(root)) == (
        "platform_profile was balanced before the run and low-power after it"
    )


def test_a_guest_has_neither_and_says_why(tmp_path: Path) -> None:
    found = read_state(open_node(build_tree(tmp_path, "kvm-guest")), (0,))
    assert {"power_supply", "platform_profile"} <= set(found.unavailable)
