"""Core kinds of machines whose kinds are known: tests/data/nodes/README.md has the sources."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from base.cpulist import format_cpulist
from runners.node.discovery import read_topology
from runners.node.topology import KIND_ORDER, Topology
from tests.support.machines import AMD_ZEN5, INTEL, MACHINES, arm_part, l2, l3, own_l1, perf, policy
from tests.support.trees import Machine, build_tree, pairs, singles, write

P_AND_E = {"P": "0-7", "E": "8-15"}


def kinds(topology: Topology) -> dict[str, str]:
    return {kind.name: format_cpulist(kind.cpus) for kind in topology.kinds}


def kinds_of(tmp_path: Path, machine: str | Machine) -> dict[str, str]:
    return kinds(read_topology(build_tree(tmp_path, machine)))


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("adl0", {"P": "0-7", "E": "8-15"}),
        ("mtl-m-2", {"P": "0-3", "E": "4-11", "LP-E": "12-13"}),
        ("rpl0", {"P": "0-7", "E": "8-15"}),
        ("i7-1370p", {"P": "0-11", "E": "12-19"}),
        ("arl-h", {"P": "0-3", "E": "4-11", "LP-E": "12-13"}),
        ("lnl0", {"P": "0-3", "LP-E": "4-7"}),
        ("ptl-h", {"P": "0-1", "E": "2-5", "LP-E": "6-9"}),
        ("lakefield", {"P": "4", "E": "0-3"}),
        ("i9-14900k-noht", {"P": "0-7", "E": "8-23"}),
        ("i9-14900k", {"P": "0-15", "E": "16-31"}),
        ("hx370", {"P": "0-3,12-15", "E": "4-11,16-23"}),
        ("gb10", {"P": "5-9,15-19", "E": "0-4,10-14"}),
        ("phone", {"P": "7", "E": "3-6", "LP-E": "0-2"}),
    ],
)
def test_hybrid_nodes_have_the_kinds_they_are_known_to_have(
    tmp_path: Path, machine: str, expected: dict[str, str]
) -> None:
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == expected
    assert [kind.name for kind in topology.kinds] == [n for n in KIND_ORDER if n in expected]
    assert all(topology.kind_of(cpu) == core.kind for core in topology.cores for cpu in core.cpus)


@pytest.mark.parametrize(("machine", "level"), [("hx370", 3), ("lakefield", 2)])
def test_caches_that_contradict_each_other_give_no_cpu_two_kinds(
    tmp_path: Path, machine: str, level: int
) -> None:
    """CPU 3's list alone has CPU 4 in it, as in the middle of a hotplug; nothing else tells."""
    root = build_tree(tmp_path, machine)
    for other in ("cpu_*/cpus", "**/base_frequency", "**/highest_perf", "**/index0/size"):
        for file in root.glob(f"sys/devices/{other}"):
            file.unlink()
    for said in root.glob("sys/devices/system/cpu/cpu3/cache/index*/level"):
        if said.read_text().strip() == str(level):
            said.with_name("shared_cpu_list").write_text("0-4\n")
    topology = read_topology(root)
    assert sorted(cpu for kind in topology.kinds for cpu in kind.cpus) == list(topology.online)


@pytest.mark.parametrize("machine", ["kvm-guest", *(m for m in MACHINES if "synthetic" in m)])
def test_nodes_of_equal_cores_have_one_kind_and_say_why(tmp_path: Path, machine: str) -> None:
    topology = read_topology(build_tree(tmp_path, machine))
    (kind,) = topology.kinds
    assert kind.name == "P"
    assert kind.cpus == topology.online
    assert kind.evidence.startswith("one kind: ")


def test_evidence_names_the_file_that_a_reviewer_can_look_at(tmp_path: Path) -> None:
    p, e, low_power = read_topology(build_tree(tmp_path, "mtl-m-2")).kinds
    assert p.evidence == "the cpu_core PMU lists CPUs 0-3 (/sys/devices/cpu_core/cpus)"
    for kind in (e, low_power):
        assert "the cpu_atom PMU lists CPUs 4-13 (/sys/devices/cpu_atom/cpus)" in kind.evidence
        assert "CPUs 12-13 have no L3 cache" in kind.evidence


def test_without_pmu_files_two_agreeing_values_tell_the_kinds(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    shutil.rmtree(root / "sys/devices/cpu_core")
    shutil.rmtree(root / "sys/devices/cpu_atom")
    topology = read_topology(root)
    assert kinds(topology) == P_AND_E
    evidence = topology.kinds[0].evidence
    assert "base_frequency 2100000" in evidence and "cpuinfo_max_freq 4700000" in evidence


@pytest.mark.parametrize("machine", ["i7-1370p", "adl0"])
def test_without_pmu_and_frequency_files_shared_caches_tell_the_kinds(
    tmp_path: Path, machine: str
) -> None:
    root = build_tree(tmp_path, machine)
    with_frequencies = kinds(read_topology(root))
    for name in ("cpu_core", "cpu_atom", "system/cpu/cpufreq"):
        shutil.rmtree(root / "sys/devices" / name, ignore_errors=True)
    for cppc in (root / "sys/devices/system/cpu").glob("cpu*/acpi_cppc"):
        shutil.rmtree(cppc)
    topology = read_topology(root)
    assert kinds(topology) == with_frequencies
    assert "L2 cache" in topology.kinds[1].evidence


def test_without_pmu_files_low_power_cores_are_those_without_l3(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "mtl-m-2")
    for name in ("cpu_core", "cpu_atom"):
        shutil.rmtree(root / f"sys/devices/{name}")
    assert kinds(read_topology(root)) == {"P": "0-3", "E": "4-11", "LP-E": "12-13"}


def test_pmu_lists_are_found_below_the_bus_as_well(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    for name in ("cpu_core", "cpu_atom"):
        shutil.rmtree(root / f"sys/devices/{name}")
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-15", "E": "16-31"}
    assert "/sys/bus/event_source/devices/cpu_core/cpus" in topology.kinds[0].evidence


@pytest.mark.parametrize("content", ["", "\n", "all of them\n", "0-99999999\n"])
def test_an_empty_or_broken_list_of_e_cores_is_made_up_for_by_other_evidence(
    tmp_path: Path, content: str
) -> None:
    root = build_tree(tmp_path, "adl0")
    (root / "sys/devices/cpu_atom/cpus").write_text(content)
    topology = read_topology(root)
    assert kinds(topology) == P_AND_E
    assert any("no core PMU lists CPUs 8-15" in note for note in topology.notes)


def test_cpus_missing_from_the_list_of_p_cores_are_e_cores_in_the_last_resort(
    tmp_path: Path,
) -> None:
    root = build_tree(
        tmp_path,
        Machine(singles("0-5"), pmus={"cpu_core": "0-3", "cpu_atom": ""}, block=INTEL),
    )
    assert kinds(read_topology(root)) == {"P": "0-3", "E": "4-5"}


def test_a_hybrid_with_its_e_cores_offline_has_one_kind(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, "sys/devices/cpu_atom/cpus", "")
    write(root, "sys/devices/system/cpu/online", "0-7")
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-7"}
    assert topology.offline == tuple(range(8, 16))


def test_a_hybrid_with_its_p_cores_offline_has_e_cores_only(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, "sys/devices/cpu_core/cpus", "")
    write(root, "sys/devices/system/cpu/online", "8-15")
    assert kinds(read_topology(root)) == {"E": "8-15"}


def test_gaps_of_offline_cpus_are_in_no_kind(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    write(root, "sys/devices/system/cpu/online", "0-2,5-9,16-23")
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-2,5-7", "E": "8-9,16-23"}
    assert format_cpulist(topology.offline) == "3-4,10-15"


def test_overlapping_pmu_lists_are_not_believed(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, "sys/devices/cpu_core/cpus", "0-9")
    topology = read_topology(root)
    assert kinds(topology) == P_AND_E
    assert any("overlap" in note for note in topology.notes)


def test_a_node_where_no_cpu_has_an_l3_cache_has_no_low_power_cores(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    for index in (root / "sys/devices/system/cpu").glob("cpu*/cache/index3"):
        shutil.rmtree(index)
    assert kinds(read_topology(root)) == P_AND_E


def test_equal_cores_of_which_some_lack_an_l3_cache_stay_one_kind(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "synthetic-server")
    shutil.rmtree(root / "sys/devices/system/cpu/cpu3/cache/index3")
    assert kinds(read_topology(root)) == {"P": "0-15"}


def test_arm_pmus_are_ranked_by_capacity(tmp_path: Path) -> None:
    machine = replace(
        MACHINES["phone"],
        pmus={
            "armv8_cortex_a510": "0-2",
            "armv8_cortex_a715": "3-4",
            "armv8_cortex_a710": "5-6",
            "armv8_cortex_x3": "7",
        },
    )
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == {"P": "7", "E": "3-6", "LP-E": "0-2"}
    assert "armv8_cortex_x3" in topology.kinds[0].evidence


def test_without_part_numbers_capacities_are_taken_in_steps(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "gb10")
    for midr in (root / "sys/devices/system/cpu").glob("cpu*/regs/identification/midr_el1"):
        midr.unlink()
    assert kinds(read_topology(root)) == {"P": "5-9,15-19", "E": "0-4,10-14"}


def test_part_numbers_are_found_in_cpuinfo_as_well(tmp_path: Path) -> None:
    root = build_tree(
        tmp_path,
        Machine(singles("0-3"), cpus={"0-1": {"cpu_capacity": 400}, "2-3": {"cpu_capacity": 1024}}),
    )
    parts = {0: "0xd05", 1: "0xd05", 2: "0xd0a", 3: "0xd0a"}
    blocks = (
        f"processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n"
        for cpu, part in parts.items()
    )
    write(root, "proc/cpuinfo", "\n".join(blocks))
    topology = read_topology(root)
    assert kinds(topology) == {"P": "2-3", "E": "0-1"}
    assert "/proc/cpuinfo" in topology.kinds[0].evidence


def test_one_part_is_one_kind_whatever_its_capacities(tmp_path: Path) -> None:
    machine = Machine(
        singles("0-3"), cpus={"0-1": arm_part(0xD0C, 700), "2-3": arm_part(0xD0C, 1024)}
    )
    assert kinds_of(tmp_path, machine) == {"P": "0-3"}


def test_parts_that_nothing_ranks_are_one_kind_with_a_note(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "gb10")
    for name in ("cpu_capacity", "acpi_cppc/highest_perf"):
        for file in (root / "sys/devices/system/cpu").glob(f"cpu*/{name}"):
            file.unlink()
    shutil.rmtree(root / "sys/devices/system/cpu/cpufreq")
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-19"}
    assert any("nothing tells which are the faster" in note for note in topology.notes)


def test_more_ranks_than_names_share_a_name_with_the_closest(tmp_path: Path) -> None:
    capacities = {"0-1": 200, "2-3": 400, "4-5": 800, "6-7": 1024}
    machine = Machine(
        singles("0-7"),
        cpus={
            cpus: arm_part(0xD00 + i, value) for i, (cpus, value) in enumerate(capacities.items())
        },
    )
    # 800/1024 = 0.78 is closer than 400/800 and 200/400.
    assert kinds_of(tmp_path, machine) == {"P": "4-7", "E": "2-3", "LP-E": "0-1"}


def test_l2_modules_of_four_tell_e_cores_where_nothing_else_does(tmp_path: Path) -> None:
    machine = Machine(
        cores=pairs("0-3") + singles("4-11"),
        caches=own_l1(pairs("0-3"), "48K")
        + own_l1(singles("4-11"), "32K")
        + l2("0-1", "2-3", "4-7", "8-11")
        + l3("0-11"),
        block=INTEL,
    )
    assert kinds_of(tmp_path, machine) == {"P": "0-3", "E": "4-11"}


def test_one_differing_value_alone_makes_no_kinds_where_another_is_equal(tmp_path: Path) -> None:
    machine = Machine(
        singles("0-3"),
        cpus={"0-3": perf(50)},
        policies={"0-1": policy(4000000), "2-3": policy(3000000)},
        block=INTEL,
    )
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == {"P": "0-3"}
    assert "no two signs agree" in topology.kinds[0].evidence


def test_the_only_value_that_a_node_has_makes_no_kinds(tmp_path: Path) -> None:
    machine = Machine(
        singles("0-3"), policies={"0-1": policy(4000000), "2-3": policy(3000000)}, block=INTEL
    )
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == {"P": "0-3"}
    assert "cpuinfo_max_freq, but no two signs agree" in topology.kinds[0].evidence


ARM_STEPS = {"0-1": policy(3000000, driver="cppc_cpufreq"), "2-3": policy(2000000)}


@pytest.mark.parametrize(
    ("cpus", "policies"),
    [
        ({"0-1": {"cpu_capacity": 1024}, "2-3": {"cpu_capacity": 512}}, {}),
        # Kernels that know nothing of the cores report one capacity for all.
        ({"0-3": {"cpu_capacity": 1024}, "0-1": perf(100), "2-3": perf(50)}, {}),
        ({"0-3": {"cpu_capacity": 1024}}, ARM_STEPS),
        ({"0-1": arm_part(0xD0B, 1024), "2-3": arm_part(0xD05, 1024)}, ARM_STEPS),
        ({}, ARM_STEPS),
    ],
)
def test_without_a_vendor_the_first_value_that_tells_anything_tells_the_kinds(
    tmp_path: Path, cpus: dict[str, dict[str, object]], policies: dict[str, dict[str, object]]
) -> None:
    machine = Machine(singles("0-3"), cpus=cpus, policies=policies)
    assert kinds_of(tmp_path, machine) == {"P": "0-1", "E": "2-3"}


def test_cpus_of_equal_performance_are_one_kind_whatever_their_frequencies(tmp_path: Path) -> None:
    machine = Machine(singles("0-3"), cpus={"0-3": perf(100)}, policies=ARM_STEPS)
    (kind,) = read_topology(build_tree(tmp_path, machine)).kinds
    assert kind.evidence.endswith("; no step of more than 10 % in acpi_cppc/highest_perf 100")


def test_the_highest_performance_of_overclocked_cpus_is_no_value(tmp_path: Path) -> None:
    machine = Machine(
        singles("0-3"),
        cpus={"0-3": perf(255)},
        policies={"0-1": policy(5000000, 3000000), "2-3": policy(4000000, 2000000)},
        block=INTEL,
    )
    assert kinds_of(tmp_path, machine) == {"P": "0-1", "E": "2-3"}


def cpuid_files(root: Path, leaves: dict[int, dict[int, tuple[int, int, int, int]]]) -> None:
    """Write each CPU's leaves where the device has them: 16 bytes at the leaf's number."""
    for cpu, answers in leaves.items():
        device = root / f"dev/cpu/{cpu}/cpuid"
        device.parent.mkdir(parents=True)
        with device.open("wb") as file:
            for leaf, registers in answers.items():
                file.seek(leaf)
                file.write(struct.pack("<4I", *registers))


def test_intels_core_type_leaf_tells_kinds(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(singles("0-3"), block=INTEL))
    hybrid = (0, 0, 0, 1 << 15)
    core, atom = (0x40000001, 0, 0, 0), (0x20000001, 0, 0, 0)
    cpuid_files(root, {cpu: {0x7: hybrid, 0x1A: core if cpu < 2 else atom} for cpu in range(4)})
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-1", "E": "2-3"}
    assert "CPUID leaf 0x1a" in topology.kinds[1].evidence


def test_the_core_type_leaf_means_nothing_without_the_hybrid_bit(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(singles("0-1"), block=INTEL))
    types = ((0x40000001, 0, 0, 0), (0x20000001, 0, 0, 0))
    cpuid_files(root, {cpu: {0x7: (0, 0, 0, 0), 0x1A: types[cpu]} for cpu in range(2)})
    assert kinds(read_topology(root)) == {"P": "0-1"}


def test_a_core_type_that_cannot_be_read_on_one_cpu_is_not_guessed(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(singles("0-1"), block=INTEL))
    cpuid_files(root, {0: {0x7: (0, 0, 0, 1 << 15), 0x1A: (0x40000001, 0, 0, 0)}})
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-1"}
    assert any("CPUID leaf 0x1A" in note for note in topology.notes)


def test_amds_core_type_leaf_tells_kinds(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(singles("0-2"), block=AMD_ZEN5))
    extended = (0x80000028, 0, 0, 0)
    # EBX of a Ryzen AI 9 HX 370: 0x2 on Zen 5, 0x10000002 on Zen 5c; type 2 is low power.
    types = {0: 0x2, 1: 0x10000002, 2: 0x20000002}
    cpuid_files(
        root,
        {
            cpu: {0x80000000: extended, 0x80000026: (1 << 30, ebx, 0, 0)}
            for cpu, ebx in types.items()
        },
    )
    assert kinds(read_topology(root)) == {"P": "0", "E": "1", "LP-E": "2"}


def test_a_guest_of_one_kind_is_told_that_the_host_may_have_more(tmp_path: Path) -> None:
    topology = read_topology(build_tree(tmp_path, "kvm-guest"))
    assert any("virtual machine" in note and "--kinds" in note for note in topology.notes)
