"""Core kinds of machines whose kinds are known: tests/data/nodes/README.md has the sources."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from base.cpulist import format_cpulist
from configs.core_kinds import KIND_ORDER
from runners.node.discovery import read_topology
from runners.node.topology import Topology
from tests.support.machines import (
    AMD_ZEN4,
    AMD_ZEN5,
    GUEST,
    INTEL,
    MACHINES,
    arm_part,
    l2,
    l3,
    own_l1,
    perf,
    policy,
)
from tests.support.trees import CPU, Machine, build_tree, pairs, siblings_apart, singles, write

P_AND_E = {"P": "0-7", "E": "8-15"}


def kinds(topology: Topology) -> dict[str, str]:
    return {kind.name: format_cpulist(kind.cpus) for kind in topology.kinds}


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
        ("k3", {"P": "0-7", "E": "8-15"}),
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
    for file in root.glob("sys/devices/system/cpu/cpu3/cache/index*/level"):
        if file.read_text().strip() == str(level):
            file.with_name("shared_cpu_list").write_text("0-4\n")
    topology = read_topology(root)
    assert sorted(cpu for kind in topology.kinds for cpu in kind.cpus) == list(topology.online)


@pytest.mark.parametrize("machine", ["kvm-guest", *(m for m in MACHINES if "synthetic" in m)])
def test_nodes_of_equal_cores_have_one_kind_and_say_why(tmp_path: Path, machine: str) -> None:
    topology = read_topology(build_tree(tmp_path, machine))
    (kind,) = topology.kinds
    assert kind.name == "P"
    assert kind.cpus == topology.online
    assert kind.evidence.startswith("one kind: ")


def test_risc_v_cores_are_told_by_their_instructions_and_architecture(tmp_path: Path) -> None:
    p, e = read_topology(build_tree(tmp_path, "k3")).kinds
    assert p.evidence == (
        "CPUs 0-7: mvendorid 0x710, marchid 0x8000000058000002, isa with h (/proc/cpuinfo); "
        "cpuinfo_max_freq 2400000"
    )
    assert e.evidence == (
        "CPUs 8-15: mvendorid 0x710, marchid 0x8000000041000003, isa that all have "
        "(/proc/cpuinfo); cpuinfo_max_freq 2000000"
    )


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"marchid": "0x1"}, {"marchid": "0x2"}, "marchid 0x1, isa that all have"),
        ({"hart isa": "rv64imacv_zvl256b"}, {"hart isa": "rv64imacv_zvl1024b"}, "with zvl256b"),
        ({"isa": "rv64imac"}, {"isa": "rv64imacv"}, "isa with v"),
    ],
)
def test_risc_v_cores_that_nothing_ranks_are_one_kind_with_a_note(
    tmp_path: Path, first: dict[str, str], second: dict[str, str], told: str
) -> None:
    machine = Machine(
        cores=singles("0-3"), block={"isa": "rv64imac"}, blocks={"0-1": first, "2-3": second}
    )
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == {"P": "0-3"}
    (note,) = (note for note in topology.notes if "--kinds" in note)
    assert told in note and "treated as one kind" in note


def test_vectors_of_unlike_length_are_ranked_by_capacity(tmp_path: Path) -> None:
    machine = Machine(
        cores=singles("0-3"),
        cpus={"0-1": {"cpu_capacity": 1024}, "2-3": {"cpu_capacity": 400}},
        block={"isa": "rv64imacv"},
        blocks={
            "0-1": {"hart isa": "rv64imacv_zvl256b"},
            "2-3": {"hart isa": "rv64imacv_zvl1024b"},
        },
    )
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == {"P": "0-1", "E": "2-3"}
    assert topology.kinds[1].evidence == (
        "CPUs 2-3: isa with zvl1024b (/proc/cpuinfo); cpu_capacity 400"
    )


def test_equal_risc_v_cores_may_still_differ_in_frequency(tmp_path: Path) -> None:
    same = {"isa": "rv64imafdcv", "mvendorid": "0x710", "marchid": "0x0"}
    slow: dict[str, object] = {"cpuinfo_max_freq": 1000000}
    fast: dict[str, object] = {"cpuinfo_max_freq": 1600000}
    machine = Machine(cores=singles("0-3"), block=same, policies={"0-1": slow, "2-3": fast})
    assert kinds(read_topology(build_tree(tmp_path / "unlike", machine))) == {
        "P": "2-3",
        "E": "0-1",
    }
    equal = read_topology(build_tree(tmp_path / "equal", replace(machine, policies={"0-3": fast})))
    assert kinds(equal) == {"P": "0-3"}
    assert "mvendorid 0x710, marchid 0x0, isa that all have" in equal.kinds[0].evidence


@pytest.mark.parametrize(
    "spoilt", [{"isa": "", "marchid": "0x2"}, {"isa": "\x1b", "marchid": "0x2"}]
)
def test_a_hart_without_instructions_is_no_evidence(tmp_path: Path, spoilt: dict[str, str]) -> None:
    machine = Machine(cores=singles("0-3"), block={"isa": "rv64imac"}, blocks={"3": spoilt})
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == {"P": "0-3"}
    assert any("has no isa of some CPUs" in note for note in topology.notes)


def test_numbers_that_no_register_holds_are_not_shown(tmp_path: Path) -> None:
    huge = {"marchid": "0x" + "f" * 40}
    machine = Machine(cores=singles("0-1"), block={"isa": "rv64imac"}, blocks={"0": huge})
    assert "f" * 17 not in read_topology(build_tree(tmp_path, machine)).kinds[0].evidence


def test_evidence_names_the_file_that_a_reviewer_can_look_at(tmp_path: Path) -> None:
    p, e, low_power = read_topology(build_tree(tmp_path, "mtl-m-2")).kinds
    assert p.evidence == "the cpu_core PMU lists CPUs 0-3 (/sys/devices/cpu_core/cpus)"
    for kind in (e, low_power):
        assert "the cpu_atom PMU lists CPUs 4-13 (/sys/devices/cpu_atom/cpus)" in kind.evidence
        assert "CPUs 12-13 have no L3 cache" in kind.evidence


ZEN4_AND_4C = Machine(
    cores=siblings_apart("0-5", 6),
    cpus={"0-1,6-7": perf(196), "2-5,8-11": perf(140)},
    policies={"0-1,6-7": policy(4900000), "2-5,8-11": policy(3500000)},
    block=AMD_ZEN4,
)


def test_a_step_between_amds_cores_of_one_family_is_told_with_the_words_that_name_them(
    tmp_path: Path,
) -> None:
    root = build_tree(tmp_path, ZEN4_AND_4C)
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-11"}
    (note,) = (note for note in topology.notes if "--kinds" in note)
    line = "P=0-1,6-7,E=2-5,8-11"
    assert "step" in note and note.endswith(f"--kinds {line}")
    assert line in topology.kinds[0].evidence
    declared = read_topology(root, line)
    assert kinds(declared) == {"P": "0-1,6-7", "E": "2-5,8-11"}
    assert not any("step" in note for note in declared.notes)


@pytest.mark.parametrize(
    "machine",
    [
        "synthetic-threadripper",
        # A smaller step, and one that only the firmware's grades have.
        replace(MACHINES["synthetic-x3d"], block=AMD_ZEN4),
        replace(ZEN4_AND_4C, policies={"0-11": policy(4900000)}),
    ],
    ids=["threadripper", "x3d", "grades alone"],
)
def test_graded_cores_of_amd_are_not_told_to_be_two_kinds(
    tmp_path: Path, machine: str | Machine
) -> None:
    assert not any("--kinds" in note for note in read_topology(build_tree(tmp_path, machine)).notes)


@pytest.mark.parametrize(
    ("machine", "types"),
    [
        ("adl0", {"Core": "0-7", "Atom": "8-15"}),
        # LP-E-cores are Atoms, wherever the kernel lists them.
        ("mtl-m-2", {"Core": "0-3", "Atom": "4-13"}),
        ("arl-h", {"Core": "0-3", "Atom": "4-13"}),
        ("lnl0", {"Core": "0-3", "Atom": "4-7"}),
        ("i7-1370p", {"Core": "0-11", "Atom": "12-19"}),
        ("lakefield", {"Core": "4", "Atom": "0-3"}),
        ("hx370", {}),
        ("gb10", {}),
        ("k3", {}),
        ("synthetic-server", {}),
        ("synthetic-favoured", {}),
        ("kvm-guest", {}),
        (replace(MACHINES["lakefield"], block=GUEST), {}),
        (replace(MACHINES["lakefield"], block={}), {}),
        (replace(MACHINES["i9-14900k"], block={}), {"Core": "0-15", "Atom": "16-31"}),
    ],
)
def test_intels_hybrids_alone_tell_programs_their_core_types(
    tmp_path: Path, machine: str | Machine, types: dict[str, str]
) -> None:
    assert core_types(read_topology(build_tree(tmp_path, machine))) == types


def test_declared_kinds_are_not_what_programs_are_told(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    declared = read_topology(root, "E=0-3,P=4-15")
    assert kinds(declared) == {"P": "4-15", "E": "0-3"}
    assert core_types(declared) == {"Core": "0-7", "Atom": "8-15"}


def test_atoms_alone_are_of_one_type_though_of_two_kinds(tmp_path: Path) -> None:
    """A Core Ultra 7 164U whose P-cores are offline: the kernel's list of Cores is empty."""
    root = build_tree(tmp_path, "mtl-m-2")
    for name in ("online", "present"):
        write(root, f"{CPU}/{name}", "4-13")
    for folder in ("sys/devices", "sys/bus/event_source/devices"):
        if (root / folder / "cpu_core").exists():
            write(root, f"{folder}/cpu_core/cpus", "")
    topology = read_topology(root)
    assert kinds(topology) == {"E": "4-11", "LP-E": "12-13"}
    assert core_types(topology) == {}


def core_types(topology: Topology) -> dict[str, str]:
    return {found.name: format_cpulist(found.cpus) for found in topology.core_types}


Removed = tuple[str, ...]
PMUS = ("cpu_core", "cpu_atom", "bus/event_source/devices/cpu_*")
FREQUENCIES = ("system/cpu/cpufreq", "system/cpu/cpu*/acpi_cppc")


@pytest.mark.parametrize(
    ("machine", "removed", "evidence"),
    [
        ("i9-14900k", PMUS[:2], "/sys/bus/event_source/devices/cpu_core/cpus"),
        (
            "adl0",
            PMUS,
            "base_frequency 2100000, acpi_cppc/highest_perf 60, cpuinfo_max_freq 4700000",
        ),
        # Low-power cores are those without L3.
        ("mtl-m-2", PMUS, "cpuinfo_max_freq 4800000"),
        ("adl0", (*PMUS, *FREQUENCIES), "L2 cache"),
        ("i7-1370p", FREQUENCIES, "L2 cache"),
    ],
)
def test_what_one_file_told_the_next_best_evidence_tells(
    tmp_path: Path, machine: str, removed: Removed, evidence: str
) -> None:
    root = build_tree(tmp_path, machine)
    known = kinds(read_topology(root))
    for pattern in removed:
        for folder in root.glob(f"sys/devices/{pattern}"):
            shutil.rmtree(folder)
    topology = read_topology(root)
    assert kinds(topology) == known
    assert evidence in topology.kinds[0].evidence


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


@pytest.mark.parametrize(
    ("machine", "online", "pmus", "expected"),
    [
        ("adl0", "0-7", {"cpu_atom": ""}, {"P": "0-7"}),
        ("adl0", "8-15", {"cpu_core": ""}, {"E": "8-15"}),
        ("i9-14900k-noht", "0-2,5-9,16-23", {}, {"P": "0-2,5-7", "E": "8-9,16-23"}),
    ],
)
def test_offline_cpus_are_in_no_kind(
    tmp_path: Path, machine: str, online: str, pmus: dict[str, str], expected: dict[str, str]
) -> None:
    root = build_tree(tmp_path, machine)
    for name, cpus in pmus.items():
        write(root, f"sys/devices/{name}/cpus", cpus)
    write(root, f"{CPU}/online", online)
    assert kinds(read_topology(root)) == expected


def test_overlapping_pmu_lists_are_not_believed(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    write(root, "sys/devices/cpu_core/cpus", "0-9")
    topology = read_topology(root)
    assert kinds(topology) == P_AND_E
    assert any("overlap" in note for note in topology.notes)


@pytest.mark.parametrize(
    ("machine", "lacking", "expected"),
    [("adl0", "cpu*", P_AND_E), ("synthetic-server", "cpu3", {"P": "0-15"})],
    ids=["no CPU has one", "a CPU among equals has none"],
)
def test_a_missing_l3_cache_alone_makes_no_low_power_cores(
    tmp_path: Path, machine: str, lacking: str, expected: dict[str, str]
) -> None:
    root = build_tree(tmp_path, machine)
    for index in (root / CPU).glob(f"{lacking}/cache/index3"):
        shutil.rmtree(index)
    assert kinds(read_topology(root)) == expected


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
    for midr in (root / CPU).glob("cpu*/regs/identification/midr_el1"):
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


def test_parts_that_nothing_ranks_are_one_kind_with_a_note(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "gb10")
    for name in ("cpu_capacity", "acpi_cppc/highest_perf"):
        for file in (root / CPU).glob(f"cpu*/{name}"):
            file.unlink()
    shutil.rmtree(root / "sys/devices/system/cpu/cpufreq")
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-19"}
    assert any("nothing tells which are the faster" in note for note in topology.notes)


CAPACITIES = {"0-1": 200, "2-3": 400, "4-5": 800, "6-7": 1024}
STEPS = {"0-1": policy(4000000), "2-3": policy(3000000)}
ARM_STEPS = {"0-1": policy(3000000, driver="cppc_cpufreq"), "2-3": policy(2000000)}
FOUR = singles("0-3")


@pytest.mark.parametrize(
    ("machine", "expected", "evidence"),
    [
        # 800/1024 = 0.78 is closer than 400/800 and 200/400.
        (
            Machine(
                singles("0-7"),
                cpus={
                    cpus: arm_part(0xD00 + number, capacity)
                    for number, (cpus, capacity) in enumerate(CAPACITIES.items())
                },
            ),
            {"P": "4-7", "E": "2-3", "LP-E": "0-1"},
            "",
        ),
        # One part is one kind, whatever its capacities.
        (
            Machine(FOUR, cpus={"0-1": arm_part(0xD0C, 700), "2-3": arm_part(0xD0C, 1024)}),
            {"P": "0-3"},
            "",
        ),
        # L2 modules of four tell E-cores where nothing else does.
        (
            Machine(
                cores=pairs("0-3") + singles("4-11"),
                caches=own_l1(pairs("0-3"), "48K")
                + own_l1(singles("4-11"), "32K")
                + l2("0-1", "2-3", "4-7", "8-11")
                + l3("0-11"),
                block=INTEL,
            ),
            {"P": "0-3", "E": "4-11"},
            "L2 cache",
        ),
        # One value that differs makes no kinds, alone or where another is equal.
        (
            Machine(FOUR, cpus={"0-3": perf(50)}, policies=STEPS, block=INTEL),
            {"P": "0-3"},
            "no two signs agree",
        ),
        (
            Machine(FOUR, policies=STEPS, block=INTEL),
            {"P": "0-3"},
            "cpuinfo_max_freq, but no two signs agree",
        ),
        # The highest performance of overclocked CPUs is no value.
        (
            Machine(
                FOUR,
                cpus={"0-3": perf(255)},
                policies={"0-1": policy(5000000, 3000000), "2-3": policy(4000000, 2000000)},
                block=INTEL,
            ),
            {"P": "0-1", "E": "2-3"},
            "base_frequency",
        ),
        # CPUs of equal performance are one kind, whatever their frequencies.
        (
            Machine(FOUR, cpus={"0-3": perf(100)}, policies=ARM_STEPS),
            {"P": "0-3"},
            "; no step of more than 10 % in acpi_cppc/highest_perf 100",
        ),
    ],
)
def test_values_make_kinds_where_they_agree(
    tmp_path: Path, machine: Machine, expected: dict[str, str], evidence: str
) -> None:
    topology = read_topology(build_tree(tmp_path, machine))
    assert kinds(topology) == expected
    assert evidence in topology.kinds[0].evidence


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
    machine = Machine(FOUR, cpus=cpus, policies=policies)
    assert kinds(read_topology(build_tree(tmp_path, machine))) == {"P": "0-1", "E": "2-3"}


def test_capacities_make_no_kinds_of_x86_because_they_move(tmp_path: Path) -> None:
    policies = {"0-1": policy(5000000), "2-3": policy(4000000)}
    found = []
    for number, capacity in enumerate((1024, 700)):
        cpus: dict[str, dict[str, object]] = {
            "0-1": {"cpu_capacity": 1024},
            "2-3": {"cpu_capacity": capacity},
        }
        machine = Machine(FOUR, cpus=cpus, policies=policies, block=INTEL)
        found.append(kinds(read_topology(build_tree(tmp_path / str(number), machine))))
    assert found[0] == found[1] == {"P": "0-3"}


def cpuid_files(root: Path, leaves: dict[int, dict[int, tuple[int, int, int, int]]]) -> None:
    """Write each CPU's leaves where the device has them: 16 bytes at the leaf's number."""
    for cpu, answers in leaves.items():
        device = root / f"dev/cpu/{cpu}/cpuid"
        device.parent.mkdir(parents=True)
        with device.open("wb") as file:
            for leaf, registers in answers.items():
                file.seek(leaf)
                file.write(struct.pack("<4I", *registers))


HYBRID, CORE, ATOM = (0, 0, 0, 1 << 15), (0x40000001, 0, 0, 0), (0x20000001, 0, 0, 0)


def test_intels_core_type_leaf_tells_kinds(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(FOUR, block=INTEL))
    cpuid_files(root, {cpu: {0x7: HYBRID, 0x1A: CORE if cpu < 2 else ATOM} for cpu in range(4)})
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-1", "E": "2-3"}
    assert core_types(topology) == {"Core": "0-1", "Atom": "2-3"}
    assert "CPUID leaf 0x1a" in topology.kinds[1].evidence


@pytest.mark.parametrize(
    ("leaves", "noted"),
    [
        ({0: {0x7: (0, 0, 0, 0), 0x1A: CORE}, 1: {0x7: (0, 0, 0, 0), 0x1A: ATOM}}, False),
        ({0: {0x7: HYBRID, 0x1A: CORE}}, True),
    ],
    ids=["no hybrid", "of one CPU only"],
)
def test_a_core_type_that_means_nothing_or_is_not_known_of_all_is_not_guessed(
    tmp_path: Path, leaves: dict[int, dict[int, tuple[int, int, int, int]]], noted: bool
) -> None:
    root = build_tree(tmp_path, Machine(singles("0-1"), block=INTEL))
    cpuid_files(root, leaves)
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-1"}
    assert any("CPUID leaf 0x1A" in note for note in topology.notes) is noted


def test_amds_core_type_leaf_tells_kinds(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(singles("0-2"), block=AMD_ZEN5))
    extended = (0x80000028, 0, 0, 0)
    # EBX of a Ryzen AI 9 HX 370: 0x2 on Zen 5, 0x10000002 on Zen 5c; type 2 is low power.
    types = {0: 0x2, 1: 0x10000002, 2: 0x20000002}
    leaves = {cpu: {0x80000026: (1 << 30, ebx, 0, 0)} for cpu, ebx in types.items()}
    cpuid_files(root, {cpu: {0x80000000: extended} | found for cpu, found in leaves.items()})
    assert kinds(read_topology(root)) == {"P": "0", "E": "1", "LP-E": "2"}


def test_a_guest_of_one_kind_is_told_that_the_host_may_have_more(tmp_path: Path) -> None:
    topology = read_topology(build_tree(tmp_path, "kvm-guest"))
    assert any("virtual machine" in note and "--kinds" in note for note in topology.notes)
