from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runners.node.node import open_node, read_state
from tests.support.trees import CPU, build_tree, write

RAPL = "sys/class/powercap/intel-rapl:0"


def digest(root: Path, kinds: str | None = None) -> str:
    return open_node(root, kinds).digest


def test_facts_are_json_and_name_what_is_absent(tmp_path: Path) -> None:
    facts = open_node(build_tree(tmp_path, "mtl-m-2")).facts
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpu_model"] == "Intel(R) Core(TM) Ultra 7 164U"
    assert facts["microcode"] == "0x13"
    assert facts["kernel"] == "6.18.8-200.fc43.x86_64"
    assert facts["virtual_machine"] is False
    assert facts["topology"]["online"] == "0-13"
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


SYSCTL = "proc/sys/kernel"
# By fact: the kernel's file, what it holds, and the fact's value.
SETTINGS = {
    "memory_bytes": ("proc/meminfo", "MemTotal:       32603440 kB\nMemFree: 1 kB", 32603440 * 1024),
    "kernel": (f"{SYSCTL}/osrelease", "6.12.107", "6.12.107"),
    "nmi_watchdog": (f"{SYSCTL}/nmi_watchdog", "1", 1),
    "perf_event_paranoid": (f"{SYSCTL}/perf_event_paranoid", "-1", -1),
    "sched_autogroup": (f"{SYSCTL}/sched_autogroup_enabled", "1", 1),
    "numa_balancing": (f"{SYSCTL}/numa_balancing", "0", 0),
    "address_randomisation": (f"{SYSCTL}/randomize_va_space", "2", 2),
    "platform_profile": ("sys/firmware/acpi/platform_profile", "balanced", "balanced"),
    "cache_aware_scheduling": ("sys/kernel/debug/sched/llc_balancing/enabled", "Y", "Y"),
    "idle_driver": (f"{CPU}/cpuidle/current_driver", "intel_idle", "intel_idle"),
    "idle_governor": (f"{CPU}/cpuidle/current_governor", "menu", "menu"),
    "clock_source": (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc",
        "tsc",
    ),
    "transparent_hugepages": (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never",
        "madvise",
    ),
    "smt": (f"{CPU}/smt/control", "on", "on"),
    "isolated": (f"{CPU}/isolated", "", ""),
}


def test_system_settings_are_facts_with_units_in_their_names(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    for path, text, _ in SETTINGS.values():
        write(root, path, text)
    write(root, f"{CPU}/intel_pstate/max_perf_pct", "80")
    for cpu in range(32):
        write(root, f"{CPU}/cpu{cpu}/power/energy_perf_bias", 6 if cpu < 16 else 8)
    facts = open_node(root).facts
    assert {name: facts[name] for name in SETTINGS} == {
        name: value for name, (_, _, value) in SETTINGS.items()
    }
    assert facts["cpufreq"]["max_perf_pct"] == 80
    assert facts["cpufreq"]["hwp_dynamic_boost"] == 0
    assert facts["cpufreq"]["energy_perf_bias"] == {"6": "0-15", "8": "16-31"}


@pytest.mark.parametrize("text", ["two words", "\x1b[31m", "b" * 128, ""])
def test_a_setting_that_is_no_word_of_the_kernels_has_its_reason(tmp_path: Path, text: str) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, "sys/firmware/acpi/platform_profile", text)
    facts = open_node(root).facts
    assert "platform_profile" not in facts
    assert facts["unavailable"]["platform_profile"].startswith("/sys/firmware/acpi/platform_pro")


def test_amds_preferred_cores_are_facts_with_the_cpus_of_each_rank(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    assert not {"prefcore", "hw_prefcore", "prefcore_ranking"} & set(
        open_node(root).facts["cpufreq"]
    )
    before = digest(root)
    write(root, f"{CPU}/amd_pstate/prefcore", "enabled")
    for cpu in range(24):
        policy = f"{CPU}/cpufreq/policy{cpu}"
        write(root, f"{policy}/amd_pstate_hw_prefcore", "enabled")
        write(root, f"{policy}/amd_pstate_prefcore_ranking", 236 if cpu in (4, 5) else 166)
    shown = open_node(root).facts["cpufreq"]
    assert shown["prefcore"] == "enabled"
    assert shown["hw_prefcore"] == {"enabled": "0-23"}
    assert shown["prefcore_ranking"] == {"166": "0-3,6-23", "236": "4-5"}
    assert digest(root) == before


def test_uncore_limits_are_in_khz_for_each_die(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    uncore = f"{CPU}/intel_uncore_frequency"
    assert open_node(root).facts["unavailable"]["uncore_limits"] == f"/{uncore} is missing"
    write(root, f"{uncore}/package_00_die_00/min_freq_khz", 800000)
    write(root, f"{uncore}/package_00_die_00/max_freq_khz", 2400000)
    write(root, f"{uncore}/uncore01/max_freq_khz", 1800000)
    write(root, f"{uncore}/\x1b[31m/max_freq_khz", 1)
    assert open_node(root).facts["uncore_limits"] == {
        "package_00_die_00": {"min_khz": 800000, "max_khz": 2400000},
        "uncore01": {"max_khz": 1800000},
    }


@pytest.mark.parametrize(
    ("path", "enabled"),
    [
        ("proc/sys/kernel/sched_itmt_enabled", 0),
        ("sys/kernel/debug/x86/sched_itmt_enabled", 1),
    ],
)
def test_itmt_is_found_where_old_and_new_kernels_have_it(
    tmp_path: Path, path: str, enabled: int
) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    assert "itmt_enabled" in open_node(root).facts["unavailable"]
    write(root, path, enabled)
    assert open_node(root).facts["itmt_enabled"] == enabled


def test_boot_options_that_decide_how_programs_run_are_facts_and_no_others(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    assert open_node(root).facts["unavailable"]["boot_options"] == "/proc/cmdline is missing"
    line = "BOOT_IMAGE=/vmlinuz root=UUID=1-2 ro intel_pstate=no_cas quiet isolcpus=domain,2-3"
    write(root, "proc/cmdline", f"{line} nosmt password=x mitigations=\x1b[31m -- nohz=off")
    assert open_node(root).facts["boot_options"] == "intel_pstate=no_cas isolcpus=domain,2-3 nosmt"


def test_favoured_cores_and_instruction_sets_can_be_looked_up(tmp_path: Path) -> None:
    facts = open_node(build_tree(tmp_path, "i7-1370p")).facts
    assert facts["highest_perf"] == {"64": "0-3,6-7,10-11", "67": "4-5,8-9", "39": "12-19"}
    assert facts["cpufreq"]["highest_khz"] == {
        "5000000": "0-3,6-7,10-11",
        "5200000": "4-5,8-9",
        "3900000": "12-19",
    }
    recorded = open_node(build_tree(tmp_path, "mtl-m-2")).facts
    assert {"avx2", "avx_vnni", "hfi"} <= set(recorded["cpu_flags"].split())


def test_power_limits_are_in_watts_and_seconds_for_each_top_zone(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    write(root, f"{RAPL}/name", "package-0")
    for number, name, microwatts, microseconds in (
        (0, "long_term", 65000000, 27983872),
        (1, "short_term", 117000000, 2440),
    ):
        write(root, f"{RAPL}/constraint_{number}_name", name)
        write(root, f"{RAPL}/constraint_{number}_power_limit_uw", microwatts)
        write(root, f"{RAPL}/constraint_{number}_time_window_us", microseconds)
    write(root, "sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "1")
    zone = {"zone": "intel-rapl:0", "domain": "package-0"}
    assert open_node(root).facts["power_limits"] == [
        zone | {"name": "long_term", "power_w": 65.0, "window_s": 27.983872},
        zone | {"name": "short_term", "power_w": 117.0, "window_s": 0.00244},
    ]


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
    root = build_tree(tmp_path, "i9-14900k")
    for zone, limit in (("intel-rapl:0", by_msr), ("intel-rapl-mmio:0", by_mmio)):
        write(root, f"sys/class/powercap/{zone}/name", "package-0")
        constraint = f"sys/class/powercap/{zone}/constraint_0"
        write(root, f"{constraint}_name", "long_term")
        write(root, f"{constraint}_power_limit_uw", limit[0])
        write(root, f"{constraint}_time_window_us", limit[1])
    assert read_state(open_node(root), (0,)).fields["power_limits"] == {"package-0": in_force}


def test_a_power_limit_that_cannot_be_read_has_its_reason(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    write(root, f"{RAPL}/constraint_0_power_limit_uw", "")
    (limit,) = open_node(root).facts["power_limits"]
    assert limit["power_w"] is None
    assert limit["reason"].endswith("constraint_0_power_limit_uw is empty")


def test_a_guest_says_that_it_is_one(tmp_path: Path) -> None:
    node = open_node(build_tree(tmp_path, "kvm-guest"))
    assert node.facts["virtual_machine"] is True
    assert node.facts["cpu_capacity"] == {"1024": "0-1"}
    assert "no frequency scaling" in node.facts["cpufreq"]["reason"]


@pytest.mark.parametrize(
    "mark",
    [
        "sys/module/pinstudy_vnode/initstate",
        "sys/firmware/devicetree/base/pinstudy-virtual-node/name",
    ],
)
def test_a_node_that_a_test_models_is_a_virtual_one(tmp_path: Path, mark: str) -> None:
    root = build_tree(tmp_path, "mtl-m-2")
    assert "node" not in open_node(root).facts
    write(root, mark, "live")
    assert open_node(root).facts["node"] == "virtual"


def test_a_reboot_and_other_permissions_leave_the_node_the_same(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    write(root, "proc/sys/kernel/random/boot_id", "one")
    before = digest(root)
    write(root, "proc/sys/kernel/random/boot_id", "another")
    write(root, "proc/sys/kernel/hostname", "renamed")
    write(root, "proc/sys/kernel/perf_event_paranoid", "2")
    write(root, f"{RAPL}/constraint_0_power_limit_uw", "1000000")
    for policy in (root / CPU / "cpufreq").iterdir():
        (policy / "scaling_governor").write_text("performance\n")
    assert digest(root) == before


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("proc/sys/kernel/osrelease", "6.13.0"),
        ("proc/cmdline", "intel_pstate=no_cas"),
        (f"{CPU}/smt/control", "off"),
        (f"{CPU}/online", "0-30"),
        (f"{CPU}/intel_pstate/status", "passive"),
        (f"{CPU}/intel_pstate/no_turbo", "1"),
        ("sys/devices/cpu_atom/cpus", "16-30"),
        ("sys/class/dmi/id/bios_version", "1.2"),
    ],
)
def test_what_changes_results_makes_another_node(tmp_path: Path, path: str, content: str) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    before = digest(root)
    write(root, path, content)
    if path == "sys/devices/cpu_atom/cpus":
        write(root, "sys/devices/cpu_core/cpus", "0-15,31")
    assert digest(root) != before


def test_capacities_that_the_kernel_computes_anew_are_facts_of_the_same_node(
    tmp_path: Path,
) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    digests = set()
    for of_e_cores in (1024, 720, 500):
        for cpu in range(24):
            write(root, f"{CPU}/cpu{cpu}/cpu_capacity", 1024 if cpu < 8 else of_e_cores)
        digests.add(digest(root))
    assert open_node(root).facts["cpu_capacity"] == {"1024": "0-7", "500": "8-23"}
    assert len(digests) == 1


def test_declared_kinds_make_another_node_than_found_ones(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    assert len({digest(root), digest(root, "P=0,E=1"), digest(root, "P=1,E=0")}) == 3


def test_the_words_of_evidence_are_no_part_of_the_digest(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    before = digest(root)
    for name in ("cpu_core", "cpu_atom"):
        shutil.rmtree(root / "sys/devices" / name)
    assert "sys/bus" in open_node(root).topology.kinds[0].evidence
    assert digest(root) == before


def test_a_node_is_named_by_its_host_or_by_its_tree(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    assert open_node(root).node_id == "adl0"
    write(root, "proc/sys/kernel/hostname", "workstation\n")
    assert open_node(root).node_id == "workstation"
