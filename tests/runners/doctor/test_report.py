"""What a node can do is tried, and every refusal comes with its reason and what would help."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.doctor.capability import Capability
from runners.doctor.report import EVERY_NAME, NAMES, probe
from runners.node.node import open_node
from tests.runners.fake_commands import install
from tests.runners.power_pmu_trees import NO_CAPABILITIES, ROOT_CAPABILITIES, set_permission
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree, zone_folder
from tests.support.studies import write_program
from tests.support.tools import DATA
from tests.support.trees import CPU

RECORDED = DATA / "perf"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A bare machine: no counters, no energy, no frequency scaling, root's permissions."""
    root = tmp_path / "node"
    (root / CPU).mkdir(parents=True)
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/cpuinfo").write_text("vendor_id\t: GenuineIntel\nflags\t\t: fpu\n")
    set_permission(root, paranoid="2", capabilities=ROOT_CAPABILITIES)
    return root


def add_pmus(root: Path, cpus: dict[str, str | None]) -> None:
    for name, text in cpus.items():
        folder = root / "sys/bus/event_source/devices" / name
        folder.mkdir(parents=True)
        if text is not None:
            (folder / "cpus").write_text(text)


def install_perf(folder: Path, version: str, stat_script: str) -> None:
    install(
        folder,
        "perf",
        f'if [ "$1" = --version ]; then echo "{version}"; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done; output=$2\n' + stat_script,
    )


def replay(name: str) -> str:
    """A perf that prints recorded rows."""
    return f"cat '{RECORDED / name}' > \"$output\""


def one(root: Path, name: str, live: bool = True) -> Capability:
    (found,) = probe(open_node(root), live, [name])
    return found


def test_every_state_has_one_line_that_ends_with_what_helps(node: Path, commands: Path) -> None:
    found = probe(open_node(node), live=True)
    assert [capability.name for capability in found] == list(NAMES)
    for capability in found:
        assert capability.state == "missing"
        assert capability.why
        assert capability.why.isprintable()
        assert capability.why.endswith(capability.grant)
    assert found[0] == Capability("perf", "missing", "perf is not installed", "make setup")
    assert not list(commands.iterdir())


def test_a_hybrid_nodes_counters_are_told_pmu_by_pmu(node: Path, commands: Path) -> None:
    add_pmus(node, {"cpu_atom": "16-31", "cpu_core": "0-15", "power": None})
    install_perf(commands, "perf version 6.8.12", replay("hybrid-6.8.csv"))
    assert one(node, "perf") == Capability("perf", "ok", "perf 6.8")
    atom, core = probe(open_node(node), True, ["hardware-counters"])
    assert atom == Capability(
        "hardware-counters:cpu_atom",
        "limited",
        "cycles, instructions; cpu_atom does not have cache-misses",
    )
    assert core == Capability(
        "hardware-counters:cpu_core", "ok", "cycles, instructions, cache-misses"
    )
    assert one(node, "migrations").state == "ok"


def test_events_that_a_pmu_does_not_list_are_said_to_be_lacking(node: Path, commands: Path) -> None:
    add_pmus(node, {"armv8_cortex_a55": "2-3", "armv8_cortex_a76": "0-1"})
    install_perf(commands, "perf version 6.1.192", replay("arm64-6.1.csv"))
    assert [
        capability.why for capability in probe(open_node(node), True, ["hardware-counters"])
    ] == [
        "cycles; armv8_cortex_a55 does not have instructions, cache-misses",
        "cycles; armv8_cortex_a76 does not have instructions, cache-misses",
    ]


def test_a_guest_without_counters_says_what_would_give_them(node: Path, commands: Path) -> None:
    (node / "proc/cpuinfo").write_text("vendor_id\t: GenuineIntel\nflags\t: hypervisor\n")
    install_perf(commands, "perf version 6.1.187", replay("guest.csv"))
    counters = one(node, "hardware-counters")
    assert counters.state == "missing"
    assert counters.why.startswith(
        "cycles, instructions, cache-misses: not supported by this node "
        "(no hardware PMU in this virtual machine); "
    )
    assert one(node, "migrations").state == "ok"


def test_a_recording_without_pmus_tells_nothing_of_counters(node: Path) -> None:
    assert not one(node, "hardware-counters", live=False).hinders
    add_pmus(node, {"msr": None})
    assert one(node, "hardware-counters", live=False).hinders


def test_a_pmu_that_refuses_every_event_is_missing(node: Path, commands: Path) -> None:
    add_pmus(node, {"cpu": None})
    install_perf(commands, "perf version 6.1.187", replay("guest.csv"))
    assert one(node, "hardware-counters").state == "missing"


def test_a_perf_older_than_the_hybrid_node_is_not_believed(node: Path, commands: Path) -> None:
    add_pmus(node, {"cpu_atom": "16-31", "cpu_core": "0-15"})
    install_perf(commands, "perf version 5.10.1", replay("guest.csv"))
    found = probe(open_node(node), True, ["hardware-counters"])
    assert [capability.state for capability in found] == ["missing", "missing"]
    assert "does not tell cpu_atom from other PMUs" in found[0].why


def test_an_ordinary_user_is_told_that_migrations_are_hidden(node: Path, commands: Path) -> None:
    set_permission(node, paranoid="2", capabilities=NO_CAPABILITIES)
    install_perf(commands, "perf version 6.1.187", replay("guest-user.csv"))
    assert one(node, "perf").state == "limited"
    migrations = one(node, "migrations")
    assert migrations.state == "missing"
    assert migrations.grant == "sudo sysctl kernel.perf_event_paranoid=1"


@pytest.mark.parametrize(
    ("version", "script", "said"),
    [
        ("6.8.12", "exit 255", "no performance events"),
        ("4.18.0-553.el8", "echo 'unknown option' >&2; exit 129", "version 5.10 can"),
        ("6.8.12", "printf 'Not\\npermitted' >&2; exit 1", "perf stat failed: Not permitted"),
    ],
)
def test_why_perf_cannot_count_is_told(
    node: Path, commands: Path, version: str, script: str, said: str
) -> None:
    if said == "no performance events":
        (node / "proc/sys/kernel/perf_event_paranoid").unlink()
    install_perf(commands, f"perf version {version}", script)
    perf = one(node, "perf")
    assert said in perf.why
    assert "permitted" not in said or "CAP_PERFMON" in perf.grant


@pytest.mark.parametrize(
    ("perf", "said"),
    [
        ("#!/bin/sh\necho 'perf not found for kernel 6.8' >&2; exit 2", "does not work: perf not"),
        ("#!/nowhere/interpreter\n", "does not run"),
    ],
)
def test_a_perf_that_is_none_is_told(node: Path, commands: Path, perf: str, said: str) -> None:
    write_program(commands / "perf", perf)
    assert said in one(node, "perf").why


def test_a_kernel_that_forbids_counting_is_named_with_its_level(node: Path, commands: Path) -> None:
    set_permission(node, paranoid="4", capabilities=NO_CAPABILITIES)
    install_perf(commands, "perf version 6.8.12", "echo 'Access is limited.' >&2; exit 255")
    for name in ("perf", "migrations"):
        assert one(node, name).state == "missing"
        assert "perf_event_paranoid is 4" in one(node, name).why


def test_energy_is_tried_domain_by_domain(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, INTEL_CLIENT)
    assert one(root, "energy") == Capability(
        "energy", "ok", "package, core, uncore, psys, by powercap"
    )
    (zone_folder(root, "intel-rapl:0") / "energy_uj").unlink()
    limited = one(root, "energy")
    assert limited.state == "limited"
    assert "core, uncore, psys only; " in limited.why


def test_tools_are_found_on_the_path_and_likwid_tells_its_version(
    node: Path, commands: Path
) -> None:
    install(commands, "taskset", "")
    install(commands, "lstopo-no-graphics", "echo 'lstopo-no-graphics 2.11.2'")
    install(commands, "likwid-pin", "echo 'likwid-pin -- Version 5.4.1 (commit: 0)'")
    assert one(node, "taskset") == Capability("taskset", "ok", str(commands / "taskset"))
    found = f"{commands}/lstopo-no-graphics, hwloc 2.11.2"
    assert one(node, "lstopo") == Capability("lstopo", "ok", found, optional=True)
    assert one(node, "likwid-pin") == Capability("likwid-pin", "ok", "likwid 5.4.1", optional=True)
    assert one(node, "numactl").grant == "make setup"


def test_a_tool_that_does_not_run_is_missing(node: Path, commands: Path) -> None:
    for name in ("likwid-pin", "lstopo"):
        install(commands, name, "echo 'error while loading shared libraries' >&2; exit 127")
        assert one(node, name).state == "missing"


def test_on_a_recorded_tree_nothing_is_run(node: Path, commands: Path) -> None:
    for name in ("perf", "taskset", "numactl", "likwid-pin", "lstopo", "sbatch", "qsub"):
        install(commands, name, f"touch '{commands}/ran'")
    add_pmus(node, {"cpu": None})
    states = {found.name: found.state for found in probe(open_node(node), False, EVERY_NAME)}
    assert states.pop("settings") == "ok", "no journal is in the tree"
    assert (states.pop("core-kinds"), states.pop("cpus")) == ("ok", "ok"), "files tell them"
    assert set(states.values()) == {"missing"}
    assert "recorded tree" in one(node, "perf", live=False).why
    assert not (commands / "ran").exists()


def test_only_what_is_asked_for_is_tried(node: Path, commands: Path) -> None:
    install(commands, "perf", f"touch '{commands}/ran'")
    probe(open_node(node), True, ["energy", "taskset"])
    assert not (commands / "ran").exists()
    with pytest.raises(KeyError):
        probe(open_node(node), True, ["telepathy"])


def test_perf_c2c_is_tried_and_what_grants_it_is_named(node: Path, commands: Path) -> None:
    refused = RECORDED.parent / "c2c" / "refused-guest.txt"
    assert one(node, "perf-c2c", live=False).reason == "not tried: the node is a recorded tree"
    assert one(node, "perf-c2c").reason == "perf is not installed"
    install(commands, "perf", "exit 0")
    assert one(node, "perf-c2c") == Capability(
        "perf-c2c", "ok", "samples accesses of user space", optional=True
    )
    install(commands, "perf", f"cat '{refused}' >&2; exit 255")
    (node / "proc/cpuinfo").write_text("vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n")
    found = one(node, "perf-c2c")
    assert (found.state, found.optional) == ("missing", True)
    assert "memory events not supported" in found.reason
    assert "pmu=on" in found.grant
    set_permission(node, paranoid="2", capabilities="0")
    assert one(node, "perf-c2c") == found
    denied = refused.with_name("refused-permission.txt")
    install(commands, "perf", f"cat '{denied}' >&2; exit 255")
    found = one(node, "perf-c2c")
    assert "CAP_PERFMON" in found.reason
    assert found.grant == "sudo sysctl kernel.perf_event_paranoid=1"
    assert found.lasting
    (node / "proc/cpuinfo").write_text("CPU implementer\t: 0x41\n")
    assert (one(node, "perf-c2c").state, one(node, "perf-c2c").grant) == ("missing", "")
