"""What a node's own files tell of core kinds, CPUs, energy, frequencies and heat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runners.doctor.capability import Capability, worst_first
from runners.doctor.report import EVERY_NAME, probe
from runners.host import software as host_software
from runners.node.node import open_node
from tests.runners.fake_commands import install
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    add_core_pmu,
    core_row,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
    set_permission,
)
from tests.runners.powercap_trees import INTEL_CLIENT, powercap_tree, zone_folder
from tests.support.limits import only_cpus
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.power_supplies import SUPPLIES, plug_in, unplug
from tests.support.studies import two_cpus
from tests.support.trees import CPU, build_tree, spoilt, write

PROFILE = "sys/firmware/acpi/platform_profile"
POLICY = "/sys/devices/system/cpu/cpufreq/policy"


def ask(root: Path, name: str, live: bool = False) -> dict[str, Capability]:
    return {found.name: found for found in probe(open_node(root), live, [name])}


def test_mains_and_battery_are_told_with_the_platform_profile(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    plug_in(root)
    write(root, PROFILE, "balanced")
    told = Capability("power-supply", "ok", "mains; platform profile balanced")
    assert ask(root, "power-supply") == {"power-supply": told}
    unplug(root)
    (root / PROFILE).unlink()
    told = ask(root, "power-supply")["power-supply"]
    assert (told.state, told.hinders) == ("limited", True)
    assert told.why == (
        "battery: the limits of power and turbo are often lower than on mains; connect the "
        "adapter before you measure"
    )


def test_a_node_without_a_battery_needs_none(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    (root / SUPPLIES).mkdir(parents=True)
    told = ask(root, "power-supply")["power-supply"]
    assert (told.state, told.grant) == ("ok", "")
    assert "no battery of the node" in told.reason


def test_a_guest_says_once_that_its_host_has_supply_and_profile(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    found = probe(open_node(root), False, EVERY_NAME)
    (told,) = (item for item in found if "platform profile" in item.why or "EPP" in item.why)
    assert (told.name, told.state, told.hinders) == ("power-supply", "missing", False)
    assert told.why == (
        "a virtual machine: supply, platform profile and dynamic EPP are its host's"
    )


def test_dynamic_epp_is_named_with_what_turns_it_off(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    switch = f"{CPU}/amd_pstate/dynamic_epp"
    write(root, switch, "enabled")
    told = ask(root, "governor")["governor"]
    assert (told.state, told.grant) == ("limited", f"echo disabled | sudo tee /{switch}")
    assert "amd-pstate's dynamic EPP is on: it moves the EPP during runs" in told.reason
    write(root, switch, "disabled")
    assert ask(root, "governor")["governor"].state == "ok"


@pytest.mark.parametrize(
    ("file", "state", "said"),
    [
        ("isolated", "limited", "CPUs 4-7 are isolated"),
        ("nohz_full", "ok", "CPUs 4-7 are without the timer's tick"),
    ],
)
def test_cpus_that_the_kernel_treats_apart_are_told(
    tmp_path: Path, file: str, state: str, said: str
) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, f"{CPU}/{file}", "4-7")
    found = ask(root, "cpus")["cpus"]
    assert found.state == state and said in found.reason
    # A mask does not make the kernel balance threads.
    assert "taskset" not in found.grant and ("isolcpus" in found.grant) == (state == "limited")


@pytest.mark.parametrize(
    ("allowed", "grant"),
    [
        # A login shell: no mask helps.
        ((0, 1, 2, 3), "start the node without the boot option isolcpus"),
        # A job that has fewer of the other CPUs, too.
        ((0, 1), "taskset -pc 0-3,8-15 $$"),
    ],
)
def test_a_mask_is_no_remedy_for_isolated_cpus(
    tmp_path: Path, allowed: tuple[int, ...], grant: str
) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, f"{CPU}/isolated", "4-7" if len(allowed) < 4 else "4-15")
    node = open_node(root)
    restricted = replace(node, topology=replace(node.topology, allowed=allowed))
    (found,) = probe(restricted, False, ["cpus"])
    assert found.state == "limited" and "isolated" in found.reason
    assert found.grant.startswith(grant)


@pytest.mark.parametrize(
    ("machine", "name", "state", "said", "grant"),
    [
        ("mtl-m-2", "core-kinds", "ok", "P 0-3: the cpu_core PMU lists", ""),
        ("mtl-m-2", "core-kinds", "ok", "LP-E 12-13: ", ""),
        # One kind is all that a node has which is no guest.
        ("synthetic-server", "core-kinds", "ok", "", ""),
        ("synthetic-forest", "cpus", "ok", "online: 0-8; offline: 9-11", ""),
        ("adl0", "governor", "ok", "powersave (intel_pstate); offered: performance powersave;", ""),
        ("adl0", "turbo", "ok", "on", ""),
        ("kvm-guest", "governor", "missing", "", "set governors on the virtual machine's host"),
        ("kvm-guest", "turbo", "missing", "", ""),
        # Only where it would help.
        ("i9-14900k", "energy:perf", "missing", "", "sudo modprobe rapl"),
        ("kvm-guest", "energy:perf", "missing", "", ""),
        ("gb10", "energy:perf", "missing", "", ""),
    ],
)
def test_what_a_recorded_node_has_is_told_with_what_would_help(
    tmp_path: Path, machine: str, name: str, state: str, said: str, grant: str
) -> None:
    question = "energy-sources" if name.startswith("energy:") else name
    found = ask(build_tree(tmp_path, machine), question)[name]
    assert (found.state, found.grant) == (state, grant)
    assert said in found.reason


def test_governors_that_only_some_cpus_can_have_are_told_with_these(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    for cpu in range(8, 16):
        write(root, f"{POLICY[1:]}{cpu}/scaling_available_governors", "powersave")
    only_some = "offered: performance powersave on CPUs 0-7, powersave on CPUs 8-15; "
    found = ask(root, "governor")["governor"]
    assert (found.state, only_some in found.reason) == ("ok", True)
    rmtree(root / f"{POLICY[1:]}3")
    found = ask(root, "governor")["governor"]
    assert (found.state, found.reason.partition("on CPUs 8-15; ")[2]) == (
        "limited",
        "no policy covers CPUs 3",
    )


def test_instructions_that_only_some_cpus_have_are_told_with_the_programs_built_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    assert ask(root, "instruction-sets")["instruction-sets"] == Capability(
        "instruction-sets", "ok", "the same on all CPUs"
    )
    blocks = [
        f"processor\t: {cpu}\nflags\t: fpu{' avx512f avx512vl' if cpu < 8 else ''}\n"
        for cpu in range(24)
    ]
    write(root, "proc/cpuinfo", "\n".join(blocks))
    differ = "CPUs 0-7 also have avx512f avx512vl; CPUs 8-23 have nothing more: -march=native"
    recorded = ask(root, "instruction-sets")["instruction-sets"]
    assert (recorded.state, recorded.hinders) == ("limited", True)
    assert recorded.reason == f"{differ} is the CPU that a compiler ran on"
    assert recorded.grant.startswith("build programs for what all CPUs have: PINSTUDY_MARCH")
    folder = tmp_path / "build/bin"
    folder.mkdir(parents=True)
    install(folder, "lu-serial", "echo 'lu-serial 0.1.0'; echo 'flags: -O3 -march=native'")
    install(folder, "lu-libgomp", "echo 'lu-libgomp 0.1.0'; echo 'flags: -O3 -march=x86-64-v3'")
    monkeypatch.setattr(host_software, "program_folders", lambda: (folder,))
    live = ask(root, "instruction-sets", live=True)["instruction-sets"]
    assert live.reason == f"{recorded.reason}, and so were built: lu-serial"


@pytest.mark.parametrize("flags", ["", "flags\t: \x1b[31m\n"])
def test_instructions_of_unknown_cpus_are_not_compared(tmp_path: Path, flags: str) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    write(root, "proc/cpuinfo", f"processor\t: 0\n{flags}")
    found = ask(root, "instruction-sets")["instruction-sets"]
    assert (found.state, found.hinders) == ("missing", False)
    assert found.reason == "not compared: /proc/cpuinfo has no flags of CPU 0"


def test_a_guest_of_one_kind_is_limited_until_kinds_are_declared(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    found = ask(root, "core-kinds")["core-kinds"]
    assert (found.state, found.hinders) == ("limited", True)
    assert "--kinds" in found.grant
    (declared,) = probe(open_node(root, "P=0,E=1"), False, ["core-kinds"])
    assert declared.state == "ok"
    assert declared.reason.startswith("P 0: declared by --kinds P=0,E=1; E 1: ")


def test_an_affinity_mask_names_the_cpus_that_are_missing() -> None:
    first, second = two_cpus()
    with only_cpus({first}):
        found = ask(Path("/"), "cpus", live=True)["cpus"]
    assert found.state == "limited"
    assert found.why.startswith(f"this process may use {first}, and not ")
    assert str(second) in found.why.partition("not ")[2]
    assert "taskset -pc " in found.why


def test_energy_without_permission_has_a_command_for_now_and_a_rule_for_good(
    reachable: Path,
) -> None:
    root = powercap_tree(reachable / "node", {"intel-rapl:0": ("package-0", 1)})
    (zone_folder(root, "intel-rapl:0") / "energy_uj").chmod(0)
    with ordinary_user():
        source = ask(root, "energy-sources", live=True)["energy:powercap"]
    assert source.state == "missing"
    assert source.grant == "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"
    assert source.lasting == (
        """echo 'SUBSYSTEM=="powercap", KERNEL=="intel-rapl*:*", """
        """RUN+="/bin/chmod a+r /sys/%p/energy_uj"' """
        "| sudo tee /etc/udev/rules.d/70-pinstudy.rules"
    )


def test_one_source_of_energy_makes_the_other_optional(tmp_path: Path) -> None:
    root = powercap_tree(tmp_path, INTEL_CLIENT)
    sources = ask(root, "energy-sources")
    assert sources["energy:powercap"].state == "ok"
    assert sources["energy:perf"].state == "missing"
    assert not sources["energy:perf"].hinders
    assert ask(root, "energy")["energy"].state == "ok"


def test_perfs_power_pmu_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = power_pmu_tree(tmp_path, ("energy-pkg", "energy-ram"))
    monkeypatch.setenv("PATH", str(tmp_path))
    install_perf(tmp_path, joules_row("energy-pkg", "0.02"), joules_row("energy-ram", "0.01"))
    found = ask(root, "energy-sources", live=True)
    assert found["energy:perf"].state == "ok"
    assert found["energy:perf"].reason == "package, dram, by perf's power PMU"
    assert not found["energy:powercap"].hinders
    assert ask(root, "energy", live=True)["energy"].state == "ok"
    install_perf(tmp_path, "<not supported>;Joules;power/energy-pkg/;0;100.00;;")
    refused = ask(root, "energy-sources", live=True)["energy:perf"]
    assert (refused.state, refused.grant) == ("missing", "")
    assert refused.reason == "energy-pkg is not supported"
    set_permission(root, "2", NO_CAPABILITIES)
    forbidden = ask(root, "energy-sources", live=True)["energy:perf"]
    assert forbidden.state == "missing"
    assert forbidden.grant == "sudo sysctl kernel.perf_event_paranoid=0"
    assert "sysctl" not in forbidden.reason
    assert forbidden.lasting.endswith("| sudo tee /etc/sysctl.d/70-pinstudy.conf")


def test_the_counters_of_single_cores_are_tried_and_never_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cores() -> Capability:
        return ask(root, "energy-sources", live=True)["energy:cores"]

    root = add_core_pmu(build_tree(tmp_path, "hx370"), "0-11")
    monkeypatch.setenv("PATH", str(tmp_path))
    install_perf(tmp_path, *(core_row(cpu, "0.000000") for cpu in range(12)))
    assert (cores().state, cores().reason) == ("ok", "P, E, by perf's power_core PMU")

    write(root, "sys/bus/event_source/devices/power_core/cpumask", "0-10")
    limited = cores()
    assert limited.state == "limited"
    assert limited.reason.startswith("P, by perf's power_core PMU; the core of CPUs 11,23 has no")
    assert not limited.hinders

    install_failing_perf(tmp_path, "Operation not permitted")
    assert cores().reason == "perf could not attach: Operation not permitted"
    set_permission(root, "2", NO_CAPABILITIES)
    assert cores().state == "missing"
    assert cores().grant == "sudo sysctl kernel.perf_event_paranoid=0"
    assert not cores().hinders


def test_a_power_pmu_of_a_recorded_tree_is_not_tried(tmp_path: Path) -> None:
    found = ask(power_pmu_tree(tmp_path), "energy-sources")["energy:perf"]
    assert found.reason.startswith("not tried")
    assert not found.hinders


def test_a_governor_that_may_not_be_set_has_the_exact_grant(reachable: Path) -> None:
    root = build_tree(reachable, "i9-14900k-noht")
    assert ask(root, "governor", live=True)["governor"].state == "ok"
    (root / CPU / "cpufreq/policy3/scaling_governor").chmod(0o444)
    with ordinary_user():
        found = ask(root, "governor", live=True)["governor"]
    assert found.state == "limited"
    assert f"no permission to write {POLICY}" in found.why
    assert found.grant.startswith(f'sudo chown "$USER" {POLICY}*/scaling_governor ')
    assert f"{POLICY}*/energy_performance_preference" in found.grant
    assert found.lasting.endswith("| sudo tee /etc/tmpfiles.d/pinstudy.conf")


def test_a_governor_whose_preference_may_not_be_put_back_may_not_be_set(reachable: Path) -> None:
    root = build_tree(reachable, "i9-14900k-noht")
    for file in (root / CPU / "cpufreq").glob("policy*/scaling_governor"):
        file.chmod(0o666)
    with ordinary_user():
        found = ask(root, "governor", live=True)["governor"]
    assert found.state == "limited"
    assert f"no permission to write {POLICY}0/energy_performance_preference" in found.why


def test_temperatures_and_throttle_counters_are_read(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    assert ask(root, "temperatures")["temperatures"].state == "missing"
    assert ask(root, "throttle-counters")["throttle-counters"].state == "missing"
    write(root, "sys/class/hwmon/hwmon3/name", "coretemp")
    write(root, "sys/class/hwmon/hwmon3/temp1_label", "Package id 0")
    write(root, "sys/class/hwmon/hwmon3/temp1_input", "45000")
    for cpu in range(16):
        write(root, f"{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count", "0")
    assert ask(root, "temperatures")["temperatures"].reason == "package 0 45 °C"
    assert ask(root, "throttle-counters")["throttle-counters"].reason == "core_count"


def test_the_worst_come_first_and_else_the_order_stays() -> None:
    found = (
        Capability("a", "ok", ""),
        Capability("b", "limited", ""),
        Capability("c", "missing", ""),
        Capability("d", "ok", ""),
        Capability("e", "missing", ""),
    )
    assert [capability.name for capability in worst_first(found)] == ["c", "e", "b", "a", "d"]


GARBAGE = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"", b"\n", b"0-65535\n", b"-1\n", b"9" * 30])
)


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A tree with something for every question to read."""
    root = build_tree(tmp_path_factory.mktemp("hybrid"), "adl0")
    for key, (name, energy_uj) in INTEL_CLIENT.items():
        write(root, f"sys/class/powercap/{key}/name", name)
        write(root, f"sys/class/powercap/{key}/energy_uj", energy_uj)
    for name, text in (("cpumask", "0"), ("events/energy-pkg", "event=0x02")):
        write(root, f"sys/bus/event_source/devices/power/{name}", text)
    write(root, "sys/class/hwmon/hwmon0/name", "coretemp")
    write(root, "sys/class/hwmon/hwmon0/temp1_label", "Package id 0")
    write(root, "sys/class/hwmon/hwmon0/temp1_input", "45000")
    write(root, f"{CPU}/cpu0/thermal_throttle/core_throttle_count", "0")
    return root, sorted(file for file in root.rglob("*") if file.is_file())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data())
def test_no_missing_file_and_no_garbage_raises(
    hybrid: tuple[Path, list[Path]], data: st.DataObject
) -> None:
    root, files = hybrid
    chosen = data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=12, unique=True))
    contents = {file: data.draw(st.none() | GARBAGE) for file in chosen}
    with spoilt(contents):
        found = probe(open_node(root), False, EVERY_NAME)
    assert all(capability.reason for capability in found)
    assert all(capability.why.isprintable() for capability in found)


@pytest.fixture
def reachable() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder
