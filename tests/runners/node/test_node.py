"""What a node is: facts with reasons for what is absent, its digest, its file and its picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from pinstudy.base.decoding import decoded
from pinstudy.runners.node.cpuinfo import flags_of
from pinstudy.runners.node.node import Node, open_node, read_state, save_node, save_picture
from pinstudy.runners.records.node_file import NodeFile
from tests.runners.fake_commands import install
from tests.support.machines import INTEL, PSTATE, policy
from tests.support.tools import need_tool
from tests.support.trees import CPU, Machine, build_tree, singles, write

POWERCAP = "sys/class/powercap"
RAPL = f"{POWERCAP}/intel-rapl:0"
UNCORE = f"{CPU}/intel_uncore_frequency"
SYSCTL = "proc/sys/kernel"
AMD = f"{CPU}/cpufreq/policy{{}}/amd_pstate"
FOUR = Machine(
    singles("0-3"),
    pmus={"cpu_core": "0-1", "cpu_atom": "2-3"},
    policies={"0-1": policy(5000000, 3000000), "2-3": policy(4000000, 2000000)},
    block=INTEL,
    files=PSTATE,
)


def node_of(folder: Path, files: dict[str, Any], kinds: str | None = None) -> Node:
    """Return a node of two P- and two E-cores that has these files, too."""
    root = folder / "node" if (folder / "node").exists() else build_tree(folder, FOUR)
    for path, text in files.items():
        write(root, path, text)
    return open_node(root, kinds)


def named(facts: dict[str, Any], name: str) -> object:
    """Return the fact of a dotted name, None where there is none."""
    for word in name.split("."):
        facts = facts.get(word)  # type: ignore[assignment]
    return facts


def test_facts_are_json_and_name_what_is_absent(tmp_path: Path) -> None:
    facts = open_node(build_tree(tmp_path, "mtl-m-2")).facts
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpu_model"] == "Intel(R) Core(TM) Ultra 7 164U"
    assert facts["microcode"] == "0x13"
    assert facts["kernel"] == "6.18.8-200.fc43.x86_64"
    assert facts["virtual_machine"] is False
    assert facts["topology"]["online"] == "0-13"
    assert {"avx2", "avx_vnni", "hfi"} <= set(facts["cpu_flags"].split())
    assert facts["cpufreq"]["drivers"] == {"intel_pstate": "0-13"}
    assert facts["cpufreq"]["mode"] == "active"
    assert facts["cpufreq"]["base_khz"] == {"1100000": "0-3", "700000": "4-11", "400000": "12-13"}
    assert facts["unavailable"]["memory_bytes"] == "/proc/meminfo is missing"
    assert "memory_bytes" not in facts


def test_facts_of_this_machine_are_read() -> None:
    node = open_node(Path("/"))
    assert node.facts["kernel"]
    assert node.facts["memory_bytes"] > 2**20
    assert node.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert len(node.digest) == 64
    assert node.digest == open_node(Path("/")).digest


# By fact: the kernel's file, what it holds, and the fact's value where it is another.
SETTINGS: dict[str, tuple[str, object, object]] = {
    "memory_bytes": ("proc/meminfo", "MemTotal:       32603440 kB\nMemFree: 1 kB", 32603440 * 1024),
    "kernel": (f"{SYSCTL}/osrelease", "6.12.107", "6.12.107"),
    "nmi_watchdog": (f"{SYSCTL}/nmi_watchdog", 1, 1),
    "perf_event_paranoid": (f"{SYSCTL}/perf_event_paranoid", -1, -1),
    "sched_autogroup": (f"{SYSCTL}/sched_autogroup_enabled", 1, 1),
    "numa_balancing": (f"{SYSCTL}/numa_balancing", 0, 0),
    "address_randomisation": (f"{SYSCTL}/randomize_va_space", 2, 2),
    "platform_profile": ("sys/firmware/acpi/platform_profile", "balanced", "balanced"),
    "cache_aware_scheduling": ("sys/kernel/debug/sched/llc_balancing/enabled", "Y", "Y"),
    "idle_driver": (f"{CPU}/cpuidle/current_driver", "intel_idle", "intel_idle"),
    "idle_governor": (f"{CPU}/cpuidle/current_governor", "menu", "menu"),
    "clock_source": (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        *("tsc", "tsc"),
    ),
    "transparent_hugepages": (
        "sys/kernel/mm/transparent_hugepage/enabled",
        *("always [madvise] never", "madvise"),
    ),
    "smt": (f"{CPU}/smt/control", "on", "on"),
    "isolated": (f"{CPU}/isolated", "0-1", "0-1"),
    "cpufreq.max_perf_pct": (f"{CPU}/intel_pstate/max_perf_pct", 80, 80),
    "cpufreq.hwp_dynamic_boost": (f"{CPU}/intel_pstate/hwp_dynamic_boost", 0, 0),
}


def test_system_settings_are_facts_with_units_in_their_names(tmp_path: Path) -> None:
    facts = node_of(tmp_path, {path: text for path, text, _ in SETTINGS.values()}).facts
    assert {name: named(facts, name) for name in SETTINGS} == {
        name: value for name, (_, _, value) in SETTINGS.items()
    }


PROFILE = "sys/firmware/acpi/platform_profile"
BOOT = (
    "BOOT_IMAGE=/vmlinuz root=UUID=1-2 ro intel_pstate=no_cas quiet isolcpus=domain,2-3 nosmt "
    "password=x mitigations=\x1b[31m -- nohz=off"
)
ZONE = {"zone": "intel-rapl:0", "domain": "package-0"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # A setting that is no word of the kernel's has its reason.
        *(
            ({PROFILE: text}, {"platform_profile": None, "unavailable.platform_profile": why})
            for text, why in (
                *((text, f"/{PROFILE} holds no single word") for text in ("a b", "\x1b[31m")),
                ("b" * 128, f"/{PROFILE} holds no single word"),
                ("", f"/{PROFILE} is empty"),
            )
        ),
        # Boot options that decide how programs run, and no others.
        ({}, {"unavailable.boot_options": "/proc/cmdline is missing"}),
        ({"proc/cmdline": BOOT}, {"boot_options": "intel_pstate=no_cas isolcpus=domain,2-3 nosmt"}),
        # Uncore limits of each die.
        ({}, {"unavailable.uncore_limits": f"/{UNCORE} is missing"}),
        (
            {
                f"{UNCORE}/package_00_die_00/min_freq_khz": 800000,
                f"{UNCORE}/package_00_die_00/max_freq_khz": 2400000,
                f"{UNCORE}/uncore01/max_freq_khz": 1800000,
                f"{UNCORE}/\x1b[31m/max_freq_khz": 1,
            },
            {
                "uncore_limits.package_00_die_00": {"min_khz": 800000, "max_khz": 2400000},
                "uncore_limits.uncore01": {"max_khz": 1800000},
            },
        ),
        # What differs between CPUs is told with the CPUs of each value.
        ({}, {"cpufreq.highest_khz": {"5000000": "0-1", "4000000": "2-3"}}),
        (
            {f"{CPU}/cpu{cpu}/power/energy_perf_bias": 6 if cpu < 2 else 8 for cpu in range(4)},
            {"cpufreq.energy_perf_bias": {"6": "0-1", "8": "2-3"}},
        ),
        (
            {f"{CPU}/cpu{cpu}/acpi_cppc/highest_perf": 67 if cpu else 64 for cpu in range(4)},
            {"highest_perf": {"64": "0", "67": "1-3"}},
        ),
        # AMD's preferred cores.
        ({}, {"cpufreq.prefcore": None, "cpufreq.hw_prefcore": None}),
        (
            {
                f"{CPU}/amd_pstate/prefcore": "enabled",
                **{AMD.format(cpu) + "_hw_prefcore": "enabled" for cpu in range(4)},
                **{AMD.format(cpu) + "_prefcore_ranking": 166 + cpu // 3 for cpu in range(4)},
            },
            {
                "cpufreq.prefcore": "enabled",
                "cpufreq.hw_prefcore": {"enabled": "0-3"},
                "cpufreq.prefcore_ranking": {"166": "0-2", "167": "3"},
            },
        ),
        # Power limits of each top zone in watts and seconds, or their reason.
        (
            {
                f"{RAPL}/name": "package-0",
                f"{RAPL}/constraint_0_name": "long_term",
                f"{RAPL}/constraint_0_power_limit_uw": 65000000,
                f"{RAPL}/constraint_0_time_window_us": 27983872,
                f"{POWERCAP}/intel-rapl:0:0/constraint_0_power_limit_uw": 1,
            },
            {
                "power_limits": [
                    ZONE | {"name": "long_term", "power_w": 65.0, "window_s": 27.983872}
                ]
            },
        ),
        # A node that a test models is a virtual one.
        ({}, {"node": None}),
        ({"sys/module/pinstudy_vnode/initstate": "live"}, {"node": "virtual"}),
        ({"sys/firmware/devicetree/base/pinstudy-virtual-node/name": "live"}, {"node": "virtual"}),
    ],
)
def test_facts_are_what_the_kernels_files_say(
    tmp_path: Path, files: dict[str, object], expected: dict[str, object]
) -> None:
    facts = node_of(tmp_path, files).facts
    assert {name: named(facts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("path", "text", "means"),
    [
        ("proc/sys/kernel/sched_itmt_enabled", "1", "on"),
        ("proc/sys/kernel/sched_itmt_enabled", "0", "off"),
        ("sys/kernel/debug/x86/sched_itmt_enabled", "Y", "on"),
        ("sys/kernel/debug/x86/sched_itmt_enabled", "N", "off"),
    ],
)
def test_itmt_is_found_where_old_and_new_kernels_have_it(
    tmp_path: Path, path: str, text: str, means: str
) -> None:
    assert "itmt_enabled" in node_of(tmp_path, {}).facts["unavailable"]
    node = node_of(tmp_path, {path: text})
    assert node.facts["itmt_enabled"] == int(means == "on")
    assert read_state(node, (0, 2)).fields["sched_itmt"] == means


@pytest.mark.parametrize(
    ("by_msr", "by_mmio", "in_force"),
    [
        ((65000000, 28000000), (125000000, 2440000), {"pl1_w": 65.0, "tau_s": 28.0}),
        ((125000000, 2440000), (65000000, 28000000), {"pl1_w": 65.0, "tau_s": 28.0}),
        ((65000000, 28000000), (65000000, 2440000), {"pl1_w": 65.0, "tau_s": 2.44}),
        ((65000000, ""), (125000000, 2440000), {"pl1_w": 65.0}),
        (("", 2440000), (125000000, 28000000), {"pl1_w": 125.0, "tau_s": 28.0}),
        ((125000000, 28000000), (0, 976), {"pl1_w": 125.0, "tau_s": 28.0}),
    ],
)
def test_the_lower_of_two_limits_of_a_package_counts_with_its_own_window(
    tmp_path: Path,
    by_msr: tuple[object, object],
    by_mmio: tuple[object, object],
    in_force: dict[str, float],
) -> None:
    files: dict[str, object] = {}
    for zone, limit in (("intel-rapl:0", by_msr), ("intel-rapl-mmio:0", by_mmio)):
        names = ("constraint_0_power_limit_uw", "constraint_0_time_window_us")
        values = {"name": "package-0", "constraint_0_name": "long_term"}
        for name, text in (values | dict(zip(names, limit, strict=True))).items():
            files[f"{POWERCAP}/{zone}/{name}"] = text
    node = node_of(tmp_path, files)
    assert read_state(node, (0,)).fields["power_limits"] == {"package-0": in_force}
    if by_msr[0] == "":
        limit = node.facts["power_limits"][-1]
        assert limit["power_w"] is None
        assert limit["reason"].endswith("constraint_0_power_limit_uw is empty")


@pytest.mark.parametrize(
    ("enabled", "counts_w"), [(("1", "0"), 125.0), (("0", "1"), 28.0), (("0", "0"), 28.0)]
)
def test_a_limit_that_may_be_disabled_counts_only_where_no_other_is_in_force(
    tmp_path: Path, enabled: tuple[str, str], counts_w: float
) -> None:
    files: dict[str, object] = {}
    zones = zip(("intel-rapl:0", "intel-rapl-mmio:0"), (125000000, 28000000), enabled, strict=True)
    for zone, microwatts, text in zones:
        files |= {
            f"{POWERCAP}/{zone}/name": "package-0",
            f"{POWERCAP}/{zone}/enabled": text,
            f"{POWERCAP}/{zone}/constraint_0_name": "long_term",
            f"{POWERCAP}/{zone}/constraint_0_power_limit_uw": microwatts,
        }
    node = node_of(tmp_path, files)
    assert read_state(node, (0,)).fields["power_limits"] == {"package-0": {"pl1_w": counts_w}}
    reasons = {limit["zone"]: limit.get("reason", "") for limit in node.facts["power_limits"]}
    for zone, text in zip(("intel-rapl:0", "intel-rapl-mmio:0"), enabled, strict=True):
        assert reasons[zone].startswith("PL1 of package-0 is disabled, or locked") == (text == "0")


def test_a_guest_says_that_it_is_one(tmp_path: Path) -> None:
    node = open_node(build_tree(tmp_path, "kvm-guest"))
    assert node.facts["virtual_machine"] is True
    assert node.facts["cpu_capacity"] == {"1024": "0-1"}
    assert "no frequency scaling" in node.facts["cpufreq"]["reason"]


def test_a_node_is_named_by_its_host_or_by_its_tree(tmp_path: Path) -> None:
    assert node_of(tmp_path, {}).node_id == "node"
    assert node_of(tmp_path, {"proc/sys/kernel/hostname": "workstation\n"}).node_id == "workstation"


# What the kernel computes anew, and other permissions, governors and words of evidence.
UNLIKE = {
    "proc/sys/kernel/random/boot_id": "another",
    "proc/sys/kernel/hostname": "renamed",
    "proc/sys/kernel/perf_event_paranoid": "2",
    f"{RAPL}/constraint_0_power_limit_uw": "1000000",
    f"{CPU}/cpufreq/policy0/scaling_governor": "performance",
    f"{CPU}/amd_pstate/prefcore": "enabled",
    AMD.format(0) + "_prefcore_ranking": "166",
}


@pytest.mark.parametrize("path", UNLIKE)
def test_a_reboot_and_other_permissions_leave_the_node_the_same(tmp_path: Path, path: str) -> None:
    before = node_of(tmp_path, {}).digest
    assert node_of(tmp_path, {path: UNLIKE[path]}).digest == before


def test_the_words_of_evidence_and_flags_are_no_part_of_the_digest(tmp_path: Path) -> None:
    before = node_of(tmp_path, {}).digest
    for name in ("cpu_core", "cpu_atom"):
        (tmp_path / "node/sys/devices" / name / "cpus").unlink()
    flags = "".join(
        f"processor: {cpu}\nvendor_id: GenuineIntel\nflags: fpu {flag}\n\n"
        for cpu, flag in enumerate(("sse", "sse", "avx", "avx"))
    )
    node = node_of(tmp_path, {"proc/cpuinfo": flags})
    assert node.facts["isa_by_kind"] == {"P": "sse", "E": "avx"}
    assert "sys/bus" in node.topology.kinds[0].evidence
    assert node.digest == before


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("proc/sys/kernel/osrelease", "6.13.0"),
        ("proc/cmdline", "intel_pstate=no_cas"),
        (f"{CPU}/smt/control", "off"),
        (f"{CPU}/online", "0-2"),
        (f"{CPU}/intel_pstate/status", "passive"),
        (f"{CPU}/intel_pstate/no_turbo", "1"),
        ("sys/devices/cpu_atom/cpus", "3"),
        ("sys/class/dmi/id/bios_version", "1.2"),
    ],
)
def test_what_changes_results_makes_another_node(tmp_path: Path, path: str, content: str) -> None:
    before = node_of(tmp_path, {}).digest
    moved = {"sys/devices/cpu_core/cpus": "0-2"} if "cpu_atom" in path else {}
    assert node_of(tmp_path, {path: content, **moved}).digest != before


def test_capacities_that_the_kernel_computes_anew_are_facts_of_the_same_node(
    tmp_path: Path,
) -> None:
    digests = set()
    for slow in (1024, 720, 500):
        capacities = {f"{CPU}/cpu{cpu}/cpu_capacity": (1024, slow)[cpu // 2] for cpu in range(4)}
        node = node_of(tmp_path, capacities)
        digests.add(node.digest)
    assert node.facts["cpu_capacity"] == {"1024": "0-1", "500": "2-3"}
    assert len(digests) == 1


def test_declared_kinds_make_another_node_than_found_ones(tmp_path: Path) -> None:
    declared = (None, "P=0-1,E=2-3", "E=0-1,P=2-3")
    assert len({node_of(tmp_path, {}, kinds).digest for kinds in declared}) == 3


@pytest.mark.parametrize(
    ("flags", "by_kind"),
    [
        # Only what differs between kinds is kept, and sorted.
        (("fpu b a", "fpu b a", "fpu c", "fpu c"), {"P": "a b", "E": "c"}),
        (("fpu a", "fpu a", "fpu", "fpu"), {"P": "a", "E": ""}),
        # A difference within a kind is no flag of that kind.
        (("fpu a", "fpu", "fpu", "fpu"), {"P": "", "E": ""}),
        # Sensors and sleep states are no instructions.
        (("fpu hwp_epp hfi", "fpu", "fpu", "fpu"), {}),
        (("fpu", "fpu", "fpu", "fpu"), {}),
        (("fpu", "fpu"), None),
    ],
)
def test_only_instructions_that_differ_between_kinds_are_told(
    tmp_path: Path, flags: tuple[str, ...], by_kind: dict[str, str] | None
) -> None:
    blocks = (f"processor: {cpu}\nflags: {words}\n" for cpu, words in enumerate(flags))
    facts = node_of(tmp_path, {"proc/cpuinfo": "\n".join(blocks)}).facts
    assert facts.get("isa_by_kind") == by_kind
    if by_kind is None:
        assert facts["unavailable"]["isa_by_kind"] == "/proc/cpuinfo has no flags of CPU 2"


def test_risc_v_kinds_have_the_instructions_of_their_own_harts(tmp_path: Path) -> None:
    facts = open_node(build_tree(tmp_path, "k3")).facts
    assert facts["isa_by_kind"] == {"P": "h", "E": ""}


@pytest.mark.parametrize(
    ("block", "flags"),
    [
        ({"flags": "fpu sse2"}, {"fpu", "sse2"}),
        ({"Features": "asimd sve"}, {"asimd", "sve"}),
        (
            {"isa": "rv64imafdcv_zba_zvl256b"},
            {"rv64", "i", "m", "a", "f", "d", "c", "v", "zba", "zvl256b"},
        ),
        ({"isa": "rv64ima", "hart isa": "rv64imac_zvl1024b"}, {"rv64", *"imac", "zvl1024b"}),
        ({"isa": "unknown"}, {"unknown"}),
        ({"flags": "fpu \x1b[31m <b> " + "x" * 41}, {"fpu"}),
        ({"model name": "none"}, set()),
    ],
)
def test_every_vendors_flags_are_understood(block: dict[str, str], flags: set[str]) -> None:
    assert flags_of(block) == flags


def test_hwloc_draws_this_machine_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tool("lstopo-no-graphics")
    monkeypatch.setenv("HWLOC_SYNTHETIC", "pack:7 core:1 pu:1")
    assert save_picture(tmp_path / "nodes" / "n.lstopo.svg") == {}
    drawn = (tmp_path / "nodes" / "n.lstopo.svg").read_text()
    assert "</svg>" in drawn
    assert "Package L#6" not in drawn


def test_a_picture_is_drawn_once(tmp_path: Path, commands: Path) -> None:
    install(commands, "lstopo-no-graphics", f"echo once >>{tmp_path}/calls; echo '<svg></svg>'")
    for _ in range(2):
        assert save_picture(tmp_path / "n.lstopo.svg") == {}
    assert (tmp_path / "calls").read_text() == "once\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("", "lstopo is not installed"),
        ("exit 1", "drew nothing"),
        ("echo no picture", "drew nothing"),
    ],
)
def test_an_lstopo_that_is_not_there_or_draws_nothing_leaves_a_reason(
    tmp_path: Path, commands: Path, script: str, reason: str
) -> None:
    if script:
        install(commands, "lstopo-no-graphics", script)
    assert save_picture(tmp_path / "n.lstopo.svg")["picture"].endswith(reason)
    assert not (tmp_path / "n.lstopo.svg").exists()


@pytest.mark.parametrize("machine", ["i9-14900k", "gb10", "k3", "kvm-guest", "adl0", "mtl-m-2"])
@pytest.mark.usefixtures("commands")
def test_a_nodes_file_is_what_readers_declare(tmp_path: Path, machine: str) -> None:
    node = open_node(build_tree(tmp_path, machine))
    save_node(tmp_path / "results", node)
    file = decoded((tmp_path / "results/nodes" / f"{node.digest}.json").read_bytes(), NodeFile)
    assert to_builtins(file.topology) == node.facts["topology"]
    for name in ("cpu_model", "kernel", "memory_bytes", "itmt_enabled", "smt", "boot_options"):
        assert getattr(file, name) == node.facts.get(name), name
    for name, absent in (("mode", None), ("turbo", None), ("drivers", {}), ("highest_khz", {})):
        assert getattr(file.cpufreq, name) == node.facts["cpufreq"].get(name, absent), name
    assert len(file.power_limits) == len(node.facts.get("power_limits", []))
