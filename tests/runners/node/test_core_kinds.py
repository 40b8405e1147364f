"""Core kinds of machines whose kinds are known: tests/data/nodes/README.md has the sources."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import UserError
from pinstudy.runners.node.core_kinds.declared import parse_kinds
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.topology import KIND_ORDER, Topology, topology_json
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
FOUR = singles("0-3")
CpuidLeaves = dict[int, dict[int, tuple[int, int, int, int]]]


def kinds(topology: Topology) -> dict[str, str]:
    return {kind.name: format_cpulist(kind.cpus) for kind in topology.kinds}


def core_types(topology: Topology) -> dict[str, str]:
    return {found.name: format_cpulist(found.cpus) for found in topology.core_types}


def topology_of(folder: Path, machine: str | Machine) -> Topology:
    return read_topology(build_tree(folder, machine))


def remove(root: Path, *patterns: str) -> None:
    """Remove files and folders below /sys/devices."""
    for pattern in patterns:
        for path in root.glob(f"sys/devices/{pattern}"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def noted(topology: Topology, *words: str) -> bool:
    return any(all(word in note for word in words) for note in topology.notes)


@pytest.mark.parametrize(
    ("machine", "expected", "types"),
    [
        ("adl0", P_AND_E, {"Core": "0-7", "Atom": "8-15"}),
        # LP-E-cores are Atoms, wherever the kernel lists them.
        ("mtl-m-2", {"P": "0-3", "E": "4-11", "LP-E": "12-13"}, {"Core": "0-3", "Atom": "4-13"}),
        ("rpl0", P_AND_E, {"Core": "0-7", "Atom": "8-15"}),
        ("i7-1370p", {"P": "0-11", "E": "12-19"}, {"Core": "0-11", "Atom": "12-19"}),
        ("arl-h", {"P": "0-3", "E": "4-11", "LP-E": "12-13"}, {"Core": "0-3", "Atom": "4-13"}),
        ("lnl0", {"P": "0-3", "LP-E": "4-7"}, {"Core": "0-3", "Atom": "4-7"}),
        ("ptl-h", {"P": "0-1", "E": "2-5", "LP-E": "6-9"}, {"Core": "0-1", "Atom": "2-9"}),
        ("lakefield", {"P": "4", "E": "0-3"}, {"Core": "4", "Atom": "0-3"}),
        ("i9-14900k-noht", {"P": "0-7", "E": "8-23"}, {"Core": "0-7", "Atom": "8-23"}),
        ("i9-14900k", {"P": "0-15", "E": "16-31"}, {"Core": "0-15", "Atom": "16-31"}),
        # Programs are told core types by Intel's hybrids alone.
        ("hx370", {"P": "0-3,12-15", "E": "4-11,16-23"}, {}),
        ("gb10", {"P": "5-9,15-19", "E": "0-4,10-14"}, {}),
        ("phone", {"P": "7", "E": "3-6", "LP-E": "0-2"}, {}),
        ("k3", P_AND_E, {}),
        (replace(MACHINES["lakefield"], block=GUEST), {"P": "4", "E": "0-3"}, {}),
        (replace(MACHINES["lakefield"], block={}), {"P": "4", "E": "0-3"}, {}),
        (replace(MACHINES["rpl0"], block={}), P_AND_E, {"Core": "0-7", "Atom": "8-15"}),
    ],
)
def test_hybrid_nodes_have_the_kinds_they_are_known_to_have(
    tmp_path: Path, machine: str | Machine, expected: dict[str, str], types: dict[str, str]
) -> None:
    topology = topology_of(tmp_path, machine)
    assert kinds(topology) == expected
    assert [kind.name for kind in topology.kinds] == [n for n in KIND_ORDER if n in expected]
    assert all(topology.kind_of(cpu) == core.kind for core in topology.cores for cpu in core.cpus)
    assert core_types(topology) == types


@pytest.mark.parametrize("machine", ["kvm-guest", *(m for m in MACHINES if "synthetic" in m)])
def test_nodes_of_equal_cores_have_one_kind_and_say_why(tmp_path: Path, machine: str) -> None:
    topology = topology_of(tmp_path, machine)
    (kind,) = topology.kinds
    assert (kind.name, kind.cpus, core_types(topology)) == ("P", topology.online, {})
    assert kind.evidence.startswith("one kind: ")
    # Graded cores of AMD, among others, are not told to be two kinds; a guest may be of more.
    assert noted(topology, "--kinds") == noted(topology, "virtual machine")
    assert noted(topology, "virtual machine") == (machine == "kvm-guest")


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


def halves(
    block: dict[str, str] | None = None, khz: tuple[int, ...] = (), **files: tuple[object, object]
) -> Machine:
    """Return four CPUs: of each file's two values 0-1 have the first, and 2-3 the second.

    `khz` are the highest frequencies, and behind them the base ones; `block`, `hart isa` and the
    like are fields of /proc/cpuinfo.
    """
    halves, blocks = ("0-1", "2-3"), files.pop("blocks", ({}, {}))
    paths = {"capacity": "cpu_capacity", "highest": "acpi_cppc/highest_perf", "midr": MIDR}
    return Machine(
        FOUR,
        cpus={
            cpus: {paths[name]: values[half] for name, values in files.items()}
            for half, cpus in enumerate(halves)
        },
        policies={
            cpus: policy(khz[half], (*khz, None, None)[half + 2])
            for half, cpus in enumerate(halves)
            if khz
        },
        block=block or {},
        blocks=dict(zip(halves, blocks, strict=True)),  # type: ignore[arg-type]
    )


def zen5_with_5c(*khz: int, highest: tuple[int, int] = (200, 140)) -> Machine:
    """Return two Zen 5 and two Zen 5c that show these highest frequencies at present."""
    machine = halves(AMD_ZEN5, khz, highest=highest)
    fixed = zip(machine.policies.items(), (5100000, 3300000), strict=True)
    return replace(
        machine,
        policies={cpus: files | {"amd_pstate_max_freq": of} for (cpus, files), of in fixed},
    )


def midr(part: int) -> object:
    return arm_part(part, 0)[MIDR]


MIDR = "regs/identification/midr_el1"
IMAC, IMACV = {"isa": "rv64imac"}, {"isa": "rv64imacv"}
VECTORS = ({"hart isa": "rv64imacv_zvl256b"}, {"hart isa": "rv64imacv_zvl1024b"})
HART = {"isa": "rv64imafdcv", "mvendorid": "0x710", "marchid": "0x0"}
PARTS = ({"CPU part": "0xd0a"}, {"CPU part": "0xd05"})
TIERS = {"0-1": 200, "2-3": 400, "4-5": 800, "6-7": 1024}
STEP = (4000000, 3000000)
TWO_KINDS, ONE_KIND = {"P": "0-1", "E": "2-3"}, {"P": "0-3"}


@pytest.mark.parametrize(
    ("machine", "expected", "evidence"),
    [
        # 800/1024 = 0.78 is closer than 400/800 and 200/400.
        (
            Machine(
                singles("0-7"),
                cpus={cpus: arm_part(0xD00 + tier // 8, tier) for cpus, tier in TIERS.items()},
            ),
            {"P": "4-7", "E": "2-3", "LP-E": "0-1"},
            "",
        ),
        # One part is one kind, whatever its capacities.
        (halves(midr=(midr(0xD0C), midr(0xD0C)), capacity=(1024, 700)), ONE_KIND, ""),
        # PMUs of Arm are ranked by capacity; parts are found in /proc/cpuinfo as well.
        (
            replace(
                halves(capacity=(1024, 400)),
                pmus={"armv8_cortex_x3": "0-1", "armv8_cortex_a510": "2-3"},
            ),
            TWO_KINDS,
            "armv8_cortex_x3",
        ),
        (
            halves({"CPU implementer": "0x41"}, blocks=PARTS, capacity=(1024, 400)),
            TWO_KINDS,
            "/proc/cpuinfo",
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
        # CPUs missing from the list of P-cores are E-cores in the last resort.
        (Machine(FOUR, pmus={"cpu_core": "0-1", "cpu_atom": ""}, block=INTEL), TWO_KINDS, ""),
        # Without turbo, the kernel shows Zen 5 and Zen 5c sharing an L3 cache one frequency alone.
        (zen5_with_5c(2000000, 2000000), TWO_KINDS, "amd_pstate_max_freq 5100000, more than"),
        (zen5_with_5c(5100000, 3300000), TWO_KINDS, "amd_pstate_max_freq 5100000, more than"),
        # Two names of one frequency are one sign.
        (zen5_with_5c(5100000, 3300000, highest=(200, 200)), ONE_KIND, "no two signs agree"),
        # One value that differs makes no kinds, alone or where another is equal.
        (halves(INTEL, STEP, highest=(50, 50)), ONE_KIND, "no two signs agree"),
        (halves(INTEL, STEP), ONE_KIND, "cpuinfo_max_freq, but no two signs agree"),
        # Capacities make no kinds of x86, because they move.
        (halves(INTEL, STEP, capacity=(1024, 1024)), ONE_KIND, ""),
        (halves(INTEL, STEP, capacity=(1024, 700)), ONE_KIND, ""),
        # The highest performance of overclocked CPUs is no value.
        (
            halves(INTEL, (5000000, 4000000, 3000000, 2000000), highest=(255, 255)),
            TWO_KINDS,
            "base_frequency",
        ),
        (halves(INTEL, STEP, highest=(255, 50)), ONE_KIND, "no two signs agree"),
        # CPUs of equal performance are one kind, whatever their frequencies.
        (
            halves(khz=STEP, highest=(100, 100)),
            ONE_KIND,
            "; no step of more than 10 % in acpi_cppc/highest_perf 100",
        ),
        # Without a vendor the first value that tells anything tells the kinds. Kernels that know
        # nothing of the cores report one capacity for all.
        (halves(capacity=(1024, 512)), TWO_KINDS, ""),
        (halves(capacity=(1024, 1024), highest=(100, 50)), TWO_KINDS, ""),
        (halves(khz=STEP, capacity=(1024, 1024)), TWO_KINDS, ""),
        (halves(khz=STEP, midr=(midr(0xD0B), midr(0xD05)), capacity=(1024, 1024)), TWO_KINDS, ""),
        (halves(khz=STEP), TWO_KINDS, ""),
        # RISC-V: vectors of unlike length are ranked by capacity, equal cores by frequency.
        (
            halves(IMACV, blocks=VECTORS, capacity=(1024, 400)),
            TWO_KINDS,
            "CPUs 0-1: isa with zvl256b (/proc/cpuinfo); cpu_capacity 1024",
        ),
        (halves(HART, STEP), TWO_KINDS, ""),
        (
            halves(HART, (4000000, 4000000)),
            ONE_KIND,
            "mvendorid 0x710, marchid 0x0, isa that all have",
        ),
        # A number that no register holds is not shown.
        (halves(IMAC, blocks=({"marchid": "0x" + "f" * 40}, {})), ONE_KIND, "one kind"),
    ],
)
def test_values_make_kinds_where_they_agree(
    tmp_path: Path, machine: Machine, expected: dict[str, str], evidence: str
) -> None:
    topology = topology_of(tmp_path, machine)
    assert kinds(topology) == expected
    assert evidence in topology.kinds[0].evidence
    assert "f" * 17 not in topology.kinds[0].evidence


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (
            halves(IMAC, blocks=({"marchid": "0x1"}, {"marchid": "0x2"})),
            "marchid 0x1, isa that all",
        ),
        (halves(IMAC, blocks=VECTORS), "with zvl256b"),
        (halves(IMAC, blocks=({}, IMACV)), "isa with v"),
        (halves(midr=(midr(0xD0B), midr(0xD05))), "nothing tells which are the faster"),
        # A hart without instructions is no evidence.
        (halves(IMAC, blocks=({}, {"isa": "", "marchid": "0x2"})), "has no isa of some CPUs"),
        (halves(IMAC, blocks=({}, {"isa": "\x1b", "marchid": "0x2"})), "has no isa of some CPUs"),
    ],
)
def test_cores_that_differ_and_that_nothing_ranks_are_one_kind_with_a_note(
    tmp_path: Path, machine: Machine, told: str
) -> None:
    topology = topology_of(tmp_path, machine)
    assert kinds(topology) == ONE_KIND
    assert noted(topology, told)
    assert "no isa" in told or noted(topology, told, "--kinds", "treated as one kind")


def test_evidence_names_the_file_that_a_reviewer_can_look_at(tmp_path: Path) -> None:
    p, e, low_power = topology_of(tmp_path, "mtl-m-2").kinds
    assert p.evidence == "the cpu_core PMU lists CPUs 0-3 (/sys/devices/cpu_core/cpus)"
    for kind in (e, low_power):
        assert "the cpu_atom PMU lists CPUs 4-13 (/sys/devices/cpu_atom/cpus)" in kind.evidence
        assert "CPUs 12-13 have no L3 cache" in kind.evidence
    p, e = topology_of(tmp_path, "k3").kinds
    assert p.evidence == (
        "CPUs 0-7: mvendorid 0x710, marchid 0x8000000058000002, isa with h (/proc/cpuinfo); "
        "cpuinfo_max_freq 2400000"
    )
    assert "isa that all have (/proc/cpuinfo); cpuinfo_max_freq 2000000" in e.evidence


ZEN4_AND_4C = Machine(
    cores=siblings_apart("0-5", 6),
    cpus={"0-1,6-7": perf(196), "2-5,8-11": perf(140)},
    policies={"0-1,6-7": policy(4900000), "2-5,8-11": policy(3500000)},
    block=AMD_ZEN4,
)


def test_a_step_between_amds_cores_of_one_family_is_told_with_the_option(tmp_path: Path) -> None:
    root = build_tree(tmp_path, ZEN4_AND_4C)
    topology = read_topology(root)
    assert kinds(topology) == {"P": "0-11"}
    line = "P=0-1,6-7,E=2-5,8-11"
    assert [note.endswith(f"--kinds {line}") for note in topology.notes if "step" in note] == [True]
    assert line in topology.kinds[0].evidence
    declared = read_topology(root, line)
    assert kinds(declared) == {"P": "0-1,6-7", "E": "2-5,8-11"}
    assert not noted(declared, "step")
    # A smaller step, and one that only the firmware's grades have.
    x3d = replace(MACHINES["synthetic-x3d"], block=AMD_ZEN4)
    assert not noted(topology_of(tmp_path / "x3d", x3d), "--kinds")
    grades = replace(ZEN4_AND_4C, policies={"0-11": policy(4900000)})
    assert not noted(topology_of(tmp_path / "grades", grades), "--kinds")


def test_atoms_alone_are_of_one_type_though_of_two_kinds(tmp_path: Path) -> None:
    """A Core Ultra 7 164U whose P-cores are offline: the kernel's list of Cores is empty."""
    root = build_tree(tmp_path, "mtl-m-2")
    for path in (f"{CPU}/online", f"{CPU}/present"):
        write(root, path, "4-13")
    for listed in root.glob("sys/**/cpu_core/cpus"):
        listed.write_text("\n")
    topology = read_topology(root)
    assert kinds(topology) == {"E": "4-11", "LP-E": "12-13"}
    assert core_types(topology) == {}


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
        # Without part numbers capacities are taken in steps.
        ("gb10", (f"system/cpu/cpu*/{MIDR}",), "cpu_capacity"),
        # A missing L3 cache alone makes no low-power cores.
        ("adl0", ("system/cpu/cpu*/cache/index3",), "cpu_core PMU"),
        ("synthetic-server", ("system/cpu/cpu3/cache/index3",), "one kind"),
    ],
)
def test_what_one_file_told_the_next_best_evidence_tells(
    tmp_path: Path, machine: str, removed: tuple[str, ...], evidence: str
) -> None:
    root = build_tree(tmp_path, machine)
    known = kinds(read_topology(root))
    remove(root, *removed)
    topology = read_topology(root)
    assert kinds(topology) == known
    assert evidence in topology.kinds[0].evidence


@pytest.mark.parametrize(
    ("machine", "files", "expected", "note"),
    [
        # Lists of E-cores that are empty or broken are made up for by other evidence.
        *(
            ("adl0", {"cpu_atom/cpus": text}, P_AND_E, "no core PMU lists CPUs 8-15")
            for text in ("", "all of them", "0-99999999")
        ),
        ("adl0", {"cpu_core/cpus": "0-9"}, P_AND_E, "overlap"),
        # Offline CPUs are in no kind.
        ("adl0", {"cpu_atom/cpus": "", "system/cpu/online": "0-7"}, {"P": "0-7"}, ""),
        ("adl0", {"cpu_core/cpus": "", "system/cpu/online": "8-15"}, {"E": "8-15"}, ""),
        (
            "i9-14900k-noht",
            {"system/cpu/online": "0-2,5-9,16-23"},
            {"P": "0-2,5-7", "E": "8-9,16-23"},
            "",
        ),
    ],
)
def test_lists_that_contradict_each_other_or_the_cpus_online_are_not_believed(
    tmp_path: Path, machine: str, files: dict[str, str], expected: dict[str, str], note: str
) -> None:
    root = build_tree(tmp_path, machine)
    for path, text in files.items():
        write(root, f"sys/devices/{path}", text)
    topology = read_topology(root)
    assert kinds(topology) == expected
    assert not note or noted(topology, note)


def cpuid_node(folder: Path, block: dict[str, str], leaves: CpuidLeaves) -> Topology:
    """Return a node of four CPUs whose leaves are where the device has them: at their numbers."""
    root = build_tree(folder, Machine(FOUR, block=block))
    for cpu, answers in leaves.items():
        device = root / f"dev/cpu/{cpu}/cpuid"
        device.parent.mkdir(parents=True)
        with device.open("wb") as file:
            for leaf, registers in answers.items():
                file.seek(leaf)
                file.write(struct.pack("<4I", *registers))
    return read_topology(root)


NONE, HYBRID = (0, 0, 0, 0), (0, 0, 0, 1 << 15)
CORE, ATOM = (0x40000001, 0, 0, 0), (0x20000001, 0, 0, 0)


def test_core_type_leaves_tell_kinds(tmp_path: Path) -> None:
    leaves: CpuidLeaves = {cpu: {0x7: HYBRID, 0x1A: CORE if cpu < 2 else ATOM} for cpu in range(4)}
    topology = cpuid_node(tmp_path / "intel", INTEL, leaves)
    assert kinds(topology) == {"P": "0-1", "E": "2-3"}
    assert core_types(topology) == {"Core": "0-1", "Atom": "2-3"}
    assert "CPUID leaf 0x1a" in topology.kinds[1].evidence
    # EBX of a Ryzen AI 9 HX 370: 0x2 on Zen 5, 0x10000002 on Zen 5c; type 2 is low power.
    types = (0x2, 0x10000002, 0x20000002, 0x20000002)
    leaves = {
        cpu: {0x80000000: (0x80000028, 0, 0, 0), 0x80000026: (1 << 30, ebx, 0, 0)}
        for cpu, ebx in enumerate(types)
    }
    topology = cpuid_node(tmp_path / "amd", AMD_ZEN5, leaves)
    assert kinds(topology) == {"P": "0", "E": "1", "LP-E": "2-3"}


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ({cpu: {0x7: NONE, 0x1A: CORE if cpu else ATOM} for cpu in range(4)}, False),
        ({0: {0x7: HYBRID, 0x1A: CORE}}, True),
    ],
    ids=["no hybrid", "of one CPU only"],
)
def test_a_core_type_that_means_nothing_or_is_not_known_of_all_is_not_guessed(
    tmp_path: Path, leaves: CpuidLeaves, expected: bool
) -> None:
    topology = cpuid_node(tmp_path, INTEL, leaves)
    assert kinds(topology) == {"P": "0-3"}
    assert noted(topology, "CPUID leaf 0x1A") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P=0-7,E=8-23", {"P": "0-7", "E": "8-23"}),
        ("E=4-11,LP-E=12-13,P=0-3", {"P": "0-3", "E": "4-11", "LP-E": "12-13"}),
        ("P=0-3,12-15,E=4-11,16-23", {"P": "0-3,12-15", "E": "4-11,16-23"}),
        (" P = 0-1 , E = 2 ", {"P": "0-1", "E": "2"}),
        ("E=0-7", {"E": "0-7"}),
    ],
)
def test_declared_kinds_are_parsed_best_first(text: str, expected: dict[str, str]) -> None:
    found = {name: format_cpulist(cpus) for name, cpus in parse_kinds(text).items()}
    assert list(found.items()) == list(expected.items())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p=0", "'p' is not known; did you mean 'P'?"),
        ("LPE=0", "did you mean 'LP-E'?"),
        ("X=0", "(known: P, E, LP-E)"),
        ("0-7", "does not start with a kind"),
        ("", "does not start with a kind"),
        ("P=", "P has no CPUs"),
        ("P=0,P=1", "P is named twice"),
        ("P=0-3,E=3-7", "CPUs 3 are given to both P and E"),
        ("P=a-b", "'a-b' is not a CPU number or a range"),
        ("P=7-0", "not an ascending range"),
    ],
)
def test_mistakes_say_what_is_wrong_and_how_to_write_it(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_kinds(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("--kinds: ")
    assert "\n" not in str(caught.value)


def test_declared_kinds_replace_what_the_node_shows_and_are_marked(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    topology = read_topology(root, "E=0-3,P=4-13")
    assert kinds(topology) == {"P": "4-13", "E": "0-3"}
    assert topology.kinds[0].evidence == "declared by --kinds E=0-3,P=4-13"
    assert topology_json(topology)["kinds"][0]["declared"] is True
    assert noted(topology, "not those that the node shows: P 0-7, E 8-15")
    # CPUs that are not named are in no kind, and programs are told of others.
    assert topology.kind_of(14) is None and topology.cores[-1].kind == ""
    assert topology.online == tuple(range(16))
    assert noted(topology, "CPUs 14-15; they are in no kind")
    assert core_types(topology) == {"Core": "0-7", "Atom": "8-15"}
    same = read_topology(root, "P=0-7,E=8-15")
    assert all(kind.declared for kind in same.kinds) and not noted(same, "not those that")
    # Siblings declared to be of two kinds are two cores.
    parted = read_topology(root, "P=0,2,4,6,E=1,3,5,7")
    assert [(core.cpus, core.kind) for core in parted.cores][:2] == [((0,), "P"), ((1,), "E")]


@pytest.mark.parametrize(
    ("declared", "message"),
    [("P=0-8,E=9-11", "CPUs 9-11 are offline"), ("P=0,E=40", "40 are not there")],
)
def test_cpus_that_cannot_be_used_cannot_be_declared(
    tmp_path: Path, declared: str, message: str
) -> None:
    root = build_tree(tmp_path, "synthetic-forest")
    with pytest.raises(UserError, match=message):
        read_topology(root, declared)


@given(st.text(alphabet="PELX-=,0123456789 \n\x00é", max_size=40))
def test_any_text_is_kinds_or_a_mistake_of_one_line(text: str) -> None:
    try:
        declared = parse_kinds(text)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert declared and set(declared) <= set(KIND_ORDER)
        listed = [cpu for cpus in declared.values() for cpu in cpus]
        assert len(listed) == len(set(listed))
