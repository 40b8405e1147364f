"""What is in force while a run goes on: frequencies, scheduler and supply, and what changed it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import (
    Cpufreq,
    dynamic_epp,
    dynamic_epp_off,
    governor_label,
    read_cpufreq,
)
from pinstudy.runners.node.node import open_node, read_state, state_changes
from pinstudy.runners.node.power import read_power_supply
from tests.support.machines import INTEL, policy
from tests.support.power_supplies import add_supply, plug_in, unplug
from tests.support.trees import CPU, Machine, build_tree, singles, write

POLICIES = f"{CPU}/cpufreq"
FOUR = Machine(
    singles("0-3"),
    policies={"0-1": policy(5000000, 3000000), "2-3": policy(4000000, 2000000)},
    block=INTEL,
)


def state(folder: Path, files: Mapping[str, object]) -> Reading:
    """Return the state of a node that has these files, too."""
    root = folder / "node" if (folder / "node").exists() else build_tree(folder, FOUR)
    for path, text in files.items():
        write(root, path, text)
    return read_state(open_node(root), (0, 3))


def cpufreq_of(folder: Path, files: dict[str, object], machine: Machine = FOUR) -> Cpufreq:
    root = build_tree(folder, machine)
    for path, text in files.items():
        write(root, path, text)
    return read_cpufreq(root)


def test_a_policy_has_its_driver_governor_and_limits_in_khz(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "mtl-m-2")
    cpufreq = read_cpufreq(root)
    first = cpufreq.policies[0]
    assert (first.name, first.cpus) == ("policy0", (0,))
    assert governor_label(first) == "powersave (intel_pstate)"
    assert first.governors == ("performance", "powersave")
    assert first.epp == "balance_performance"
    assert (first.highest_khz, first.base_khz, first.floor_khz) == (4800000, 1100000, None)
    assert first.unavailable == {"floor_khz": "the driver has no floor"}
    assert (cpufreq.mode, cpufreq.turbo) == ("active", True)
    # In the order of their numbers, of all or of some CPUs.
    assert [policy.cpus for policy in cpufreq.policies] == [(cpu,) for cpu in range(14)]
    some = read_cpufreq(root, cpus=(3, 12))
    assert [(policy.name, policy.highest_khz) for policy in some.policies] == [
        ("policy3", 4800000),
        ("policy12", 2100000),
    ]


def test_a_policy_may_scale_several_cpus_and_leave_others(tmp_path: Path) -> None:
    machine = Machine(singles("0-3"), policies={"0": policy(3000000)})
    cpufreq = cpufreq_of(tmp_path, {f"{POLICIES}/policy0/affected_cpus": "0 1"}, machine)
    assert cpufreq.policies[0].cpus == (0, 1)
    assert cpufreq.in_force_problem("powersave", (0, 1)) is None
    reason = cpufreq.offer_problem("powersave", (1, 2, 3))
    assert reason is not None and "no policy covers CPUs 2-3" in reason


def test_a_governor_that_is_not_in_force_or_not_offered_is_told_with_what_is(
    tmp_path: Path,
) -> None:
    # A governor in force need not be offered.
    files = {"policy3/scaling_governor": "performance", "policy2/scaling_available_governors": "x"}
    cpufreq = cpufreq_of(tmp_path, {f"{POLICIES}/{name}": text for name, text in files.items()})
    assert cpufreq.offer_problem("powersave", (2,)) is None
    assert cpufreq.offer_problem("performance", (0, 1, 3)) is None
    assert cpufreq.offer_problem("ondemand", (0, 1)) == (
        "intel_pstate does not offer the governor ondemand on CPUs 0 "
        "(but performance and powersave)"
    )
    assert cpufreq.in_force_problem("performance", (3,)) is None
    not_in_force = "the governor performance is not in force (but"
    for cpus, instead in (((2, 3), "powersave on 2, performance on 3"), ((1, 2), "powersave")):
        assert cpufreq.in_force_problem("performance", cpus) == f"{not_in_force} {instead})"


def test_a_node_without_frequency_scaling_says_so(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    cpufreq = read_cpufreq(root)
    assert (cpufreq.policies, cpufreq.mode, cpufreq.turbo) == ((), None, None)
    for why in (cpufreq.offer_problem, cpufreq.in_force_problem):
        reason = why("performance", (0,))
        assert reason is not None and "no frequency scaling here" in reason
    found = cpufreq.state_of((0, 1))
    assert found.fields == {}
    assert set(found.unavailable) == {
        *("governor_read", "driver", "driver_mode", "epp", "turbo", "min_khz", "max_khz"),
        *("highest_khz", "floor_khz"),
    }
    assert isinstance(dynamic_epp(Tree(root)), Unavailable)
    assert {"power_supply", "platform_profile"} <= set(
        read_state(open_node(root), (0,)).unavailable
    )


def test_the_state_of_a_run_is_that_of_its_cpus(tmp_path: Path) -> None:
    files: dict[str, object] = {
        f"{POLICIES}/policy3/scaling_governor": "performance",
        f"{CPU}/intel_pstate/status": "active",
        f"{CPU}/intel_pstate/no_turbo": "0",
    }
    cpufreq = cpufreq_of(tmp_path, files)
    assert cpufreq.state_of((0, 1)).fields == {
        "governor_read": "powersave",
        "driver": "intel_pstate",
        "driver_mode": "active",
        "epp": "balance_performance",
        "turbo": True,
        "min_khz": {"400000": "0-1"},
        "max_khz": {"5000000": "0-1"},
        "highest_khz": {"5000000": "0-1"},
    }
    mixed = cpufreq.state_of((1, 2, 3)).fields
    assert mixed["governor_read"] == "powersave on 1-2, performance on 3"
    assert mixed["max_khz"] == {"5000000": "1", "4000000": "2-3"}


def test_a_run_has_the_floor_of_amds_firmware_and_the_capacities_of_its_cpus(
    tmp_path: Path,
) -> None:
    floor, capacity = f"{POLICIES}/policy{{}}/amd_pstate_floor_freq", f"{CPU}/cpu{{}}/cpu_capacity"
    capacities = {capacity.format(cpu): text for cpu, text in enumerate((1009, 1024, 600, 623))}
    files: dict[str, object] = {floor.format(0): "1800000", floor.format(3): "400000"}
    before = state(tmp_path, files | capacities)
    assert before.fields["floor_khz"] == {"1800000": "0", "400000": "3"}
    assert before.fields["cpu_capacity"] == {"P": [1009, 1009], "E": [623, 623]}
    more = read_state(open_node(tmp_path / "node"), (0, 1, 3)).fields
    assert more["cpu_capacity"] == {"P": [1009, 1024], "E": [623, 623]}
    # The kernel may move a capacity at any time; somebody has to move a floor.
    after = state(tmp_path, {floor.format(3): "800000", capacity.format(3): 611}).fields
    assert after["cpu_capacity"] == {"P": [1009, 1009], "E": [611, 611]}
    assert state_changes(before.fields, after) == (
        "floor_khz was 1800000 kHz on 0, 400000 kHz on 3 before the run and "
        "1800000 kHz on 0, 800000 kHz on 3 after it"
    )
    (tmp_path / "node" / CPU / "cpu0/cpu_capacity").unlink()
    assert "not all" in state(tmp_path, {}).unavailable["cpu_capacity"]


PREEMPTION, VERSION = "sys/kernel/debug/sched/preempt", "proc/sys/kernel/version"


@pytest.mark.parametrize(
    ("version", "modes", "expected"),
    [
        # Linux up to 6.12, from 6.13 on, from 7.0 on, and with PREEMPT_RT.
        ("#1 SMP PREEMPT_DYNAMIC Mon", "none (voluntary) full ", "voluntary"),
        ("#1 SMP PREEMPT_DYNAMIC Mon", "none voluntary full (lazy) ", "lazy"),
        ("#1 SMP PREEMPT_DYNAMIC Mon", "(full) lazy ", "full"),
        ("#1 SMP PREEMPT_RT Mon", "full (lazy) ", "real-time, lazy"),
        ("#1 SMP PREEMPT_RT Mon", None, "real-time"),
        ("#1 SMP PREEMPT_DYNAMIC Mon", None, "absent: sched/preempt is missing"),
        ("#1 SMP PREEMPT_DYNAMIC Mon", "full lazy", "absent: sched/preempt marks no mode"),
        ("#1 SMP PREEMPT_DYNAMIC Mon", "(\x1b[31m)", "absent: sched/preempt marks no mode"),
        # One mode, but which? Linux 7.0 builds `lazy` under this word, too.
        ("#1 SMP PREEMPT Mon", None, "absent: the kernel was built for one mode"),
        ("#1 SMP Mon", None, "absent: the kernel was built for one mode"),
        (None, None, "absent: sched/preempt is missing"),
    ],
)
def test_the_mode_of_preemption_is_known_of_kernels_that_can_switch_it(
    tmp_path: Path, version: str | None, modes: str | None, expected: str
) -> None:
    files = {path: text for path, text in ((VERSION, version), (PREEMPTION, modes)) if text}
    found = state(tmp_path, files)
    reason = found.unavailable.get("preemption", "")
    shown = found.fields.get("preemption", f"absent: {reason.removeprefix('/sys/kernel/debug/')}")
    assert shown.startswith(expected) and (expected.startswith("absent") or shown == expected)


def test_kernels_with_the_real_time_patches_say_so_in_a_file(tmp_path: Path) -> None:
    files = {VERSION: "#1 SMP PREEMPT RT Mon", "sys/kernel/realtime": "1"}
    assert state(tmp_path, files).fields["preemption"] == "real-time"


SWITCH = f"{CPU}/amd_pstate/dynamic_epp"
PREFERENCE = f"{POLICIES}/policy{{}}/energy_performance_preference"
OFF = "echo {} | sudo tee /{}"
BY_SWITCH = OFF.format("disabled", SWITCH)
BY_PREFERENCE = OFF.format("balance_performance", PREFERENCE.format("*"))


@pytest.mark.parametrize(
    ("epp", "switch", "off"),
    [
        ("balance_performance", "disabled", None),
        ("balance_performance", None, None),
        ("128", None, None),
        ("performance", "enabled", BY_SWITCH),
        # As Linux 7.3 prints it; Linux 7.1 and 7.2 have a switch.
        ("dynamic(profile:balance_performance)", None, BY_PREFERENCE),
    ],
)
def test_dynamic_epp_is_known_of_old_and_new_kernels(
    tmp_path: Path, epp: str, switch: str | None, off: str | None
) -> None:
    own = policy(5_000_000, driver="amd-pstate-epp") | {"energy_performance_preference": epp}
    files: dict[str, object] = {f"{CPU}/amd_pstate/status": "active"}
    files |= {} if switch is None else {SWITCH: switch}
    cpufreq = cpufreq_of(tmp_path, files, Machine(singles("0-1"), policies={"0-1": own}))
    tree = Tree(tmp_path / "node")
    assert cpufreq.dynamic_epp == dynamic_epp(tree) == (off is not None)
    assert cpufreq.mode == "active", "the mode of the driver is a fact of the boot"
    fields = cpufreq.state_of((0, 1)).fields
    assert (fields["driver_mode"], fields["epp"]) == ("active" + ", dynamic EPP" * bool(off), epp)
    refused = cpufreq.offer_problem("performance", (0,)) or ""
    assert ("the EPP of the governor performance cannot be" in refused) == bool(off)
    assert off is None or dynamic_epp_off(tree) == off
    # What is in force needs no change.
    assert cpufreq.offer_problem("powersave", (0, 1)) is None


@pytest.mark.parametrize("spoil", ["", "garbage", "-1", "1e6", "5.2", "5_000", "\u0663"])
def test_what_cannot_be_read_is_absent_with_its_reason(tmp_path: Path, spoil: str) -> None:
    cpufreq_of(tmp_path, {f"{POLICIES}/policy0/cpuinfo_max_freq": spoil})
    (tmp_path / "node" / POLICIES / "policy0/scaling_governor").unlink()
    cpufreq = read_cpufreq(tmp_path / "node")
    first = cpufreq.policies[0]
    assert (first.highest_khz, first.governor) == (None, None)
    assert set(first.unavailable) == {"highest_khz", "governor", "floor_khz"}
    found = cpufreq.state_of((0,))
    assert found.fields["driver"] == "intel_pstate"
    assert "governor_read" not in found.fields
    assert "policy0/scaling_governor is missing" in found.unavailable["governor_read"]


@pytest.mark.parametrize(
    ("files", "turbo", "mode"),
    [
        ({f"{CPU}/intel_pstate/no_turbo": "0"}, True, None),
        ({f"{CPU}/intel_pstate/no_turbo": "1"}, False, None),
        ({f"{POLICIES}/boost": "1", f"{CPU}/amd_pstate/status": "guided"}, True, "guided"),
        ({f"{POLICIES}/boost": "0"}, False, None),
        ({f"{POLICIES}/boost": "?"}, None, None),
        ({}, None, None),
    ],
)
def test_turbo_and_mode_are_read_from_whichever_driver_has_them(
    tmp_path: Path, files: dict[str, object], turbo: bool | None, mode: str | None
) -> None:
    cpufreq = cpufreq_of(tmp_path, files)
    assert (cpufreq.turbo, cpufreq.mode) == (turbo, mode)


ENERGY_AWARE = "proc/sys/kernel/sched_energy_aware"
SCHED_EXT = "sys/kernel/sched_ext"
STATE, NAME = f"{SCHED_EXT}/state", f"{SCHED_EXT}/root/ops"
LOADED = f"{SCHED_EXT}/enable_seq"
LAVD = {STATE: "enabled", NAME: "lavd_1.0.19_x86_64"}
NO_WORD = f"/{NAME} holds no single word"
NEITHER = f"/{ENERGY_AWARE} holds neither 0 nor 1 and is not empty"


@pytest.mark.parametrize(
    ("files", "energy_aware", "sched_ext", "scheduler"),
    [
        ({ENERGY_AWARE: "1"} | LAVD, "on", "enabled", "lavd_1.0.19_x86_64"),
        ({ENERGY_AWARE: "0", STATE: "disabled"}, "off", "disabled", "none"),
        # An empty file means that energy-aware scheduling is impossible.
        ({ENERGY_AWARE: "", STATE: "disabled"}, "impossible", "disabled", "none"),
        ({}, f"/{ENERGY_AWARE} is missing", f"/{STATE} is missing", f"/{STATE} is missing"),
        *(
            ({ENERGY_AWARE: "2"} | LAVD | {NAME: name}, NEITHER, "enabled", NO_WORD)
            for name in ("lavd\x1b[31m", "two words", "a" * 128, "<b>")
        ),
    ],
)
def test_a_run_has_the_scheduler_that_placed_its_threads(
    tmp_path: Path, files: dict[str, object], energy_aware: str, sched_ext: str, scheduler: str
) -> None:
    found = state(tmp_path, files)
    told = found.unavailable | found.fields
    names = ("sched_energy_aware", "sched_ext", "sched_ext_scheduler")
    assert [told[name] for name in names] == [energy_aware, sched_ext, scheduler]


PROFILE = "sys/firmware/acpi/platform_profile"
DYNAMIC = {f"{CPU}/amd_pstate/status": "active", SWITCH: "enabled"}


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        (
            LAVD | {LOADED: "3"},
            {LOADED: "4"},
            "sched_ext_loaded was 3 before the run and 4 after it",
        ),
        (
            {PROFILE: "balanced"},
            {PROFILE: "low-power"},
            "platform_profile was balanced before the run and low-power after it",
        ),
        (
            DYNAMIC | {PREFERENCE.format(cpu): "performance" for cpu in (0, 3)},
            {PREFERENCE.format(cpu): "balance_power" for cpu in (0, 3)},
            "epp was performance before the run and balance_power after it, by amd-pstate's "
            "dynamic EPP",
        ),
    ],
)
def test_what_changed_within_a_run_is_told_with_its_cause(
    tmp_path: Path, before: dict[str, object], after: dict[str, object], cause: str
) -> None:
    first = state(tmp_path, before).fields
    assert state_changes(first, state(tmp_path, after).fields) == cause


def test_a_run_during_which_the_node_was_unplugged_has_that_cause(tmp_path: Path) -> None:
    root = build_tree(tmp_path, FOUR)
    plug_in(root)
    before = state(tmp_path, {}).fields
    unplug(root)
    after = state(tmp_path, {}).fields
    assert (before["power_supply"], after["power_supply"]) == ("mains", "battery")
    assert state_changes(before, after) == "the node went from mains to battery power"
    assert state_changes(after, before) == "the node went from battery to mains power"


OFFLINE, ONLINE = {"type_": "Mains", "online": 0}, {"type_": "Mains", "online": 1}
PORT_OFFLINE = {"type_": "USB", "online": 0, "usb_type": "[C] PD PD_PPS"}
PORT_ONLINE = {"type_": "USB", "online": 1, "usb_type": "C [PD] PD_PPS"}
MOUSE = {"type_": "Battery", "scope": "Device", "status": "Discharging", "present": 1}
NO_BATTERY = "/sys/class/power_supply has no battery of the node"


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
        ([{"type_": "USB", "online": 2}, battery("Discharging")], "mains"),
        # Firmware that lists no adapter, or one that charges as offline.
        ([battery("Discharging")], "battery"),
        ([OFFLINE, battery("Charging")], "mains"),
        ([battery("Not charging")], "mains"),
        # Of two batteries one is used at a time.
        ([OFFLINE, battery("Not charging"), battery("Discharging")], "battery"),
        # A mouse feeds no node, nor does an empty bay, and a desktop's port feeds others.
        ([MOUSE, ONLINE, battery("Full")], "mains"),
        ([OFFLINE, battery("Unknown", present=0), battery("Discharging")], "battery"),
        ([], NO_BATTERY),
        ([MOUSE], NO_BATTERY),
        ([PORT_OFFLINE], NO_BATTERY),
        ([OFFLINE, battery("Discharging", present=0)], NO_BATTERY),
        ([battery("Unknown")], "tells whether it discharges"),
    ],
)
def test_a_node_with_a_battery_says_what_it_runs_from(
    tmp_path: Path, supplies: list[dict[str, Any]], runs_from: str
) -> None:
    (tmp_path / "sys/class/power_supply").mkdir(parents=True)
    for number, files in enumerate(supplies):
        add_supply(tmp_path, f"supply{number}", **files)
    found = read_power_supply(Tree(tmp_path))
    if isinstance(found, Unavailable):
        assert runs_from in found.reason
    else:
        assert found == runs_from
