"""Cores, caches, NUMA nodes and CPUs that are apart, as the kernel's files tell them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.base.errors import UserError
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.node import open_node, read_state, state_changes
from pinstudy.runners.node.topology import (
    ACROSS_PACKAGES,
    SAME_NODE,
    SAME_PACKAGE,
    SHARED_L2,
    SHARED_L3,
    SIBLINGS,
    Cache,
    NumaNode,
    Topology,
    relations,
    topology_json,
)
from tests.runners.topologies import topology
from tests.support.machines import INTEL, l3
from tests.support.tools import need_tool
from tests.support.trees import CPU, Machine, build_tree, siblings_apart, singles, spoilt, write

LISTS = ("core_cpus_list", "thread_siblings_list")


def cores(topology: Topology) -> list[str]:
    return [format_cpulist(core.cpus) for core in topology.cores]


def shared(topology: Topology, level: int) -> list[str]:
    caches = (c for c in topology.caches if c.level == level and c.type != "Instruction")
    return [format_cpulist(cache.cpus) for cache in caches]


def noted(topology: Topology, words: str) -> bool:
    return any(words in note for note in topology.notes)


def test_siblings_that_are_not_listed_follow_from_caches_then_from_cpuinfo(tmp_path: Path) -> None:
    found = read_topology(build_tree(tmp_path, "mtl-m-2"))
    assert cores(found) == ["0-1", "2-3", *(str(cpu) for cpu in range(4, 14))]
    assert {core.package for core in found.cores} == {0}
    assert noted(found, "first-level data caches")
    # Levels that the recording lacks follow from the index.
    assert shared(found, 2) == ["0-1", "2-3", "4-7", "8-11", "12-13"]
    assert shared(found, 3) == ["0-11"]
    assert {cache.size_bytes for cache in found.caches} == {None}
    root = build_tree(tmp_path, "adl0")
    for cache in (root / CPU).glob("cpu*/cache"):
        shutil.rmtree(cache)
    found = read_topology(root)
    assert cores(found) == ["0-1", "2-3", "4-5", "6-7", *(str(cpu) for cpu in range(8, 16))]
    assert noted(found, "/proc/cpuinfo")
    write(tmp_path, f"{CPU}/online", "0-2")
    bare = read_topology(tmp_path)
    assert (cores(bare), bare.kinds[0].cpus) == (["0", "1", "2"], (0, 1, 2))


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        # On some guests every first-level cache is shown as shared by all CPUs.
        (Machine(singles("0-3"), caches=((1, "Data", "", "0-3"),), block=INTEL), singles("0-3")),
        # Numbers of cores repeat on Arm.
        ("phone", singles("0-7")),
        ("synthetic-server", siblings_apart("0-7", 8)),
    ],
    ids=["caches of all", "repeated numbers", "siblings apart"],
)
@pytest.mark.parametrize("name", ["core_cpus_list", "thread_siblings_list"])
def test_the_kernels_sibling_list_is_believed_under_both_its_names(
    tmp_path: Path, machine: str | Machine, expected: tuple[str, ...], name: str
) -> None:
    root = build_tree(tmp_path, machine)
    for file in (root / CPU).glob("cpu*/topology/*_list"):
        if file.name != name:
            file.unlink()
    topology = read_topology(root)
    assert tuple(cores(topology)) == expected
    assert not any("first-level" in note or "cpuinfo" in note for note in topology.notes)


@pytest.mark.parametrize("name", ["core_cpus", "thread_siblings"])
def test_masks_are_read_where_a_recording_has_no_lists(tmp_path: Path, name: str) -> None:
    root = build_tree(tmp_path, "synthetic-server")
    of_lists = read_topology(root)
    masks = {
        "core_cpus_list": name,
        "thread_siblings_list": name,
        "shared_cpu_list": "shared_cpu_map",
        "cpulist": "cpumap",
    }
    for file in [file for listed in masks for file in (root / "sys").rglob(listed)]:
        mask = sum(1 << cpu for cpu in parse_cpulist(file.read_text().strip()))
        file.with_name(masks[file.name]).write_text(f"00000000,{mask:08x}\n")
        file.unlink()
    assert read_topology(root) == of_lists


def test_a_server_has_its_packages_and_numa_nodes(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "synthetic-server")
    found = read_topology(root)
    assert [core.package for core in found.cores] == [0, 0, 0, 0, 1, 1, 1, 1]
    numa = [(n.node, format_cpulist(n.cpus)) for n in found.numa]
    assert numa == [(0, "0-3,8-11"), (1, "4-7,12-15")]
    # Offline CPUs are named, and in nothing else.
    write(root, f"{CPU}/online", "0-5,7-8,10-15")
    found = read_topology(root)
    assert found.offline == (6, 9)
    online = [cpu for cpu in range(16) if cpu not in (6, 9)]
    assert sorted(cpu for core in found.cores for cpu in core.cpus) == online
    parts: list[NumaNode | Cache] = [*found.numa, *found.caches]
    for part in parts:
        assert set(part.cpus) <= set(online)


def test_without_an_online_list_the_switches_and_folders_of_the_cpus_decide(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "synthetic-forest")
    (root / CPU / "online").unlink()
    found = read_topology(root)
    assert (format_cpulist(found.online), format_cpulist(found.offline)) == ("0-8", "9-11")
    assert noted(found, "/sys/devices/system/cpu/online is missing")
    root = build_tree(tmp_path, "kvm-guest")
    write(root, f"{CPU}/online", "0-4095")
    assert read_topology(root).online == (0, 1)


def test_a_numa_node_may_have_no_cpus_and_without_files_there_is_one(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    write(root, "sys/devices/system/node/node2/cpulist", "")
    assert [(n.node, n.cpus) for n in read_topology(root).numa] == [(0, (0, 1)), (2, ())]
    shutil.rmtree(root / "sys/devices/system/node")
    found = read_topology(root)
    assert [(n.node, n.cpus) for n in found.numa] == [(0, (0, 1))]
    assert noted(found, "NUMA")


@pytest.mark.parametrize(
    ("files", "first_cores", "note"),
    [
        (
            {f"{CPU}/cpu0/topology/{name}": "0-3" for name in LISTS},
            ["0", "1", "2-3"],
            "SMT siblings of CPUs 0-1 name CPUs",
        ),
        (
            {"sys/devices/cpu_core/cpus": "0-6", "sys/devices/cpu_atom/cpus": "7-15"},
            ["0-1", "2-3", "4-5", "6", "7"],
            "CPUs 6-7 are SMT siblings of different kinds",
        ),
    ],
    ids=["lists that contradict each other", "siblings of two kinds"],
)
def test_siblings_that_cannot_be_are_parted_with_a_note(
    tmp_path: Path, files: dict[str, str], first_cores: list[str], note: str
) -> None:
    root = build_tree(tmp_path, "rpl0")
    assert not noted(read_topology(root), "SMT siblings")
    for path, text in files.items():
        write(root, path, text)
    found = read_topology(root)
    assert cores(found)[: len(first_cores)] == first_cores
    assert noted(found, note)


def test_this_machine_allows_what_the_process_may_use() -> None:
    topology = read_topology(Path("/"))
    assert set(topology.allowed) == os.sched_getaffinity(0)
    assert set(topology.allowed) <= set(topology.online)


def test_hwloc_sees_the_same_cores_of_this_machine() -> None:
    hwloc = need_tool("hwloc-calc")
    topology = read_topology(Path("/"))
    ours = {frozenset(core.cpus).intersection(topology.allowed) for core in topology.cores} - {
        frozenset()
    }
    theirs = set()
    for number in range(len(ours)):
        command = [hwloc, "--physical-output", "--intersect", "pu", f"core:{number}"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        theirs.add(frozenset(int(cpu) for cpu in listed.split(",")))
    assert theirs == ours


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("empty", r"has no sys/devices/system/cpu .*proc/cpuinfo"),
        (".", r"did you mean .*/adl0\?"),
        ("nowhere", "is not a directory"),
        ("file", "is not a directory"),
    ],
)
def test_a_root_without_a_node_is_a_mistake_that_says_what_was_expected(
    tmp_path: Path, root: str, message: str
) -> None:
    build_tree(tmp_path, "adl0")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=message):
        read_topology(tmp_path / root)


def test_json_has_the_documented_form(tmp_path: Path) -> None:
    shown = topology_json(read_topology(build_tree(tmp_path, "i9-14900k-noht")))
    assert list(shown)[:5] == ["kinds", "cores", "caches", "numa", "online"]
    assert shown["kinds"][1] == {
        "name": "E",
        "cpus": "8-23",
        "evidence": "the cpu_atom PMU lists CPUs 8-23 (/sys/devices/cpu_atom/cpus)",
    }
    assert shown["cores"][8] == {"cpus": "8", "kind": "E", "package": 0}
    assert {"level": 2, "size_bytes": 4194304, "cpus": "8-11"} in shown["caches"]
    assert {"level": 3, "size_bytes": 37748736, "cpus": "0-23"} in shown["caches"]
    first_level = [cache["cpus"] for cache in shown["caches"] if cache["level"] == 1]
    assert first_level == [str(cpu) for cpu in range(24)]
    assert shown["numa"] == [{"node": 0, "cpus": "0-23"}]
    assert shown["online"] == shown["allowed"] == "0-23"


def test_favoured_cores_of_a_kind_are_named(tmp_path: Path) -> None:
    found = read_topology(build_tree(tmp_path, "i7-1370p"))
    assert [note for note in found.notes if "alike" in note] == [
        "not all P-cores are alike: CPUs 4-5,8-9 are favoured (cpuinfo_max_freq 5200000, "
        "5000000 on 0-3,6-7,10-11); mappings take CPUs by number"
    ]
    assert shared(found, 2) == ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-15", "16-19"]


def test_how_near_two_cpus_are_is_what_they_share(tmp_path: Path) -> None:
    near = relations(
        topology(
            [("0-1", "P", 0), ("2", "P", 0), ("3", "P", 0), ("4", "P", 0), ("5", "P", 1)],
            [(2, "0-1"), (2, "2-3"), (2, "4"), (3, "0-3"), (3, "4"), (3, "5")],
        )
    )
    assert [near(0, 1), near(3, 2), near(1, 2)] == [SIBLINGS, SHARED_L2, SHARED_L3]
    assert [near(0, 4), near(0, 5)] == [SAME_NODE, ACROSS_PACKAGES]
    # NUMA nodes of a package are apart.
    server = Machine(
        cores=siblings_apart("0-7", 8),
        caches=tuple(cache for cpu in range(8) for cache in l3(f"{cpu},{cpu + 8}")),
        packages={0: "0-3,8-11", 1: "4-7,12-15"},
        nodes={0: "0-1,8-9", 1: "2-3,10-11", 2: "4-7,12-15"},
    )
    near = relations(read_topology(build_tree(tmp_path, server)))
    assert [near(0, 8), near(0, 1)] == [SIBLINGS, SAME_NODE]
    assert [near(0, 2), near(0, 4)] == [SAME_PACKAGE, ACROSS_PACKAGES]


ISOLATED, TICKLESS = f"{CPU}/isolated", f"{CPU}/nohz_full"
PARTITIONS, BOOT = "sys/fs/cgroup/cpuset.cpus.isolated", "proc/cmdline"
EIGHT = Machine(singles("0-7"))
OWN = "proc/self/cgroup"


def group(name: str, kind: str, cpus: str) -> dict[str, str]:
    """Return the files of a control group that is a cpuset partition."""
    base = f"sys/fs/cgroup/{name}".rstrip("/")
    return {f"{base}/cpuset.cpus.partition": kind, f"{base}/cpuset.cpus.effective": cpus}


@pytest.mark.parametrize(
    ("files", "isolated", "tickless"),
    [
        ({}, "", ""),
        ({ISOLATED: "", TICKLESS: "(null)"}, "", ""),
        ({ISOLATED: "0-3", BOOT: "ro isolcpus=0-3"}, "0-3", ""),
        # Isolated partitions, of which kernels before 7.0 tell in the root cgroup alone.
        ({ISOLATED: "", PARTITIONS: "4-5"}, "4-5", ""),
        ({ISOLATED: "0-1", PARTITIONS: "4-5"}, "0-1,4-5", ""),
        # Linux 6.1 to 6.7 tell in the partition alone; one that is not valid is none.
        (group("bench", "isolated", "6-7"), "6-7", ""),
        (group("bench", "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "6-7"), "", ""),
        (group("bench", "root", "6-7") | group("user.slice", "member", "0-5"), "", ""),
        # A container sees its own group alone.
        (group("", "isolated", "4-7") | {OWN: "0::/"}, "4-7", ""),
        (group("a/b", "isolated", "4-5") | {OWN: "1:cpu:/x\n0::/a/b/c"}, "4-5", ""),
        ({ISOLATED: "", TICKLESS: "2-3"}, "", "2-3"),
        # Without the kernel's files its command line tells, but for what init is told.
        ({BOOT: "isolcpus=0-3 nohz_full=5-N -- isolcpus=9"}, "0-3", "5-7"),
        ({BOOT: "isolcpus=domain,managed_irq,2,4"}, "2,4", ""),
        ({BOOT: "isolcpus=managed_irq,nohz,0-3"}, "", ""),
        ({BOOT: "isolcpus=some"}, "", ""),
        # What the kernel says counts, and CPUs that are not there count for nothing.
        ({ISOLATED: "", BOOT: "isolcpus=0-3"}, "", ""),
        ({ISOLATED: "6-99"}, "6-7", ""),
        ({ISOLATED: "x", BOOT: "isolcpus=1"}, "1", ""),
    ],
)
def test_cpus_that_are_apart_are_found_and_told(
    tmp_path: Path, files: dict[str, str], isolated: str, tickless: str
) -> None:
    root = build_tree(tmp_path, EIGHT)
    for path, text in files.items():
        write(root, path, text)
    found = read_topology(root)
    shown = topology_json(found)
    assert (shown["isolated"], shown["nohz_full"]) == (isolated, tickless)
    assert format_cpulist(found.isolated) == isolated
    told = [note for note in found.notes if "isolated" in note or "nohz_full" in note]
    assert len(told) == bool(isolated) + bool(tickless)
    assert all(cpus in " ".join(told) for cpus in (isolated, tickless))


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("0::/bench/job", "CPUs 6-7 are a cpuset partition (root), in which this process is"),
        ("0::/user.slice", "CPUs 6-7 are a cpuset partition (root) of other processes"),
    ],
)
def test_cpuset_partitions_are_told_and_those_of_others_are_not_allowed(
    tmp_path: Path, own: str, told: str
) -> None:
    root = build_tree(tmp_path, EIGHT)
    files = group("bench", "root", "6-7") | group("idle", "isolated", "5") | {OWN: own}
    for path, text in files.items():
        write(root, path, text)
    node = open_node(root)
    told_of_others = "CPU 5 is a cpuset partition (isolated) of other processes"
    for sentence in (told, told_of_others):
        assert [sentence in note for note in node.topology.notes].count(True) == 1
    assert not any("balances no threads" in note for note in node.topology.notes)
    assert set(range(8)) - set(node.topology.allowed) == ({5} if "bench" in own else {5, 6, 7})
    assert node.topology.isolated == (5,)
    assert node.facts["cpuset_partitions"] == {"root": "6-7", "isolated": "5"}
    run = read_state(node, (0, 1)).fields
    inside = "root 6-7" if "bench" in own else "none"
    assert (run["isolated_cpus"], run["cpuset_partition"]) == ("5", inside)
    # Partitions are made and ended while a study runs.
    write(root, "sys/fs/cgroup/idle/cpuset.cpus.partition", "member")
    now = read_state(node, (0, 1)).fields
    assert state_changes(run, now) == "isolated_cpus was 5 before the run and none after it"


GARBAGE = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"\n", b"0-65535\n", b"-1\n", b"9" * 30, b"0-7\n", b"3\n", b"0,0,0\n"]),
)
_DECISIVE = ("online", "present", "cpuinfo", "cpus", "cpulist", "midr_el1")
_MACHINES = ("mtl-m-2", "phone", "hx370", "synthetic-server")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[Path]]]:
    """A tree of each machine, and its files, to be spoilt and mended again."""
    found = {}
    for name in _MACHINES:
        root = build_tree(tmp_path_factory.mktemp("trees"), name)
        found[name] = (root, sorted(file for file in root.rglob("*") if file.is_file()))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_no_garbage_in_any_file_raises_or_loses_a_cpu(
    trees: dict[str, tuple[Path, list[Path]]], data: st.DataObject
) -> None:
    root, files = trees[data.draw(st.sampled_from(_MACHINES))]
    decisive = [file for file in files if file.name in _DECISIVE]
    some = st.sampled_from(decisive) | st.sampled_from(files)
    chosen = data.draw(st.lists(some, min_size=1, max_size=12, unique=True))
    contents = {file: data.draw(st.none() | GARBAGE) for file in chosen}
    with spoilt(contents):
        topology = read_topology(root)
    assert topology.online
    in_cores = sorted(cpu for core in topology.cores for cpu in core.cpus)
    in_kinds = sorted(cpu for kind in topology.kinds for cpu in kind.cpus)
    assert in_cores == in_kinds == list(topology.online)
    assert not set(topology.online) & set(topology.offline)
    assert all(topology.kind_of(core.cpus[0]) == core.kind for core in topology.cores)
    assert all(kind.evidence for kind in topology.kinds)
    assert len({kind.name for kind in topology.kinds}) == len(topology.kinds)
