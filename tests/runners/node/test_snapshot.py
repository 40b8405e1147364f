"""A snapshot, unpacked, is the node that it was taken of, and tells nobody whose it is."""

from __future__ import annotations

import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinstudy.base.errors import UserError
from pinstudy.runners.doctor.report import EVERY_NAME, probe
from pinstudy.runners.measure.energy.source import find_meters
from pinstudy.runners.node import snapshot
from pinstudy.runners.node.node import open_node, read_state
from pinstudy.runners.node.snapshot import take_snapshot
from pinstudy.runners.node.topology import topology_json
from tests.runners.meter_trees import ina226, zones
from tests.runners.powercap_trees import INTEL_CLIENT
from tests.support.machines import intel_hybrid, l2, l3
from tests.support.power_supplies import SUPPLIES, add_supply, unplug
from tests.support.trees import CPU, RECORDINGS, Machine, build_tree, singles, spoilt, write

RECORDED = [path.name.partition(".")[0] for path in RECORDINGS.glob("*.tar.xz")]
SMALL = intel_hybrid(
    singles("0-3"),
    l2("0", "1", "2-3") + l3("0-3"),
    {"cpu_core": "0-1", "cpu_atom": "2-3"},
    {"0-1": (3400000, 1900000, 59, 24), "2-3": (2400000, 1400000, 34, 19)},
)
SECRET = "S3CR3T"
# What tells that a test models the node.
VIRTUAL = (
    "sys/module/pinstudy_vnode/initstate",
    "sys/firmware/devicetree/base/pinstudy-virtual-node/name",
)


def unpack(data: bytes, folder: Path) -> Path:
    """Return the root of the unpacked node."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            assert member.isdir() or member.isreg()
            assert not member.name.startswith("/") and ".." not in member.name.split("/")
            path = folder / member.name
            (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
    for name, content in contents(data).items():
        (folder / name).write_bytes(content)
    return folder / "node"


def contents(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = {member.name: archive.extractfile(member) for member in archive if member.isreg()}
        return {name: file.read() for name, file in files.items() if file}


def described(data: bytes) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(contents(data)["snapshot.json"])
    return found


def assert_same_node(root: Path, copy: Path) -> None:
    first, second = open_node(root), open_node(copy)
    assert topology_json(second.topology) == topology_json(first.topology)
    assert second.digest == first.digest
    assert probe(second, False, EVERY_NAME) == probe(first, False, EVERY_NAME)


@pytest.mark.parametrize("machine", [*RECORDED, "gb10", "hx370", "k3", "synthetic-forest"])
def test_a_snapshot_of_every_machine_is_the_same_node(tmp_path: Path, machine: str) -> None:
    root = build_tree(tmp_path, machine)
    copy = unpack(take_snapshot(root).data, tmp_path / "copy")
    assert_same_node(root, copy)


HWMON = "sys/class/hwmon/hwmon"
POWER = "sys/bus/event_source/devices/power"
# Counters of energy, sensors, limits, and settings of the kernel.
FILES: dict[str, object] = {
    "sys/class/powercap/intel-rapl:0/constraint_0_name": "long_term",
    "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw": 65000000,
    "sys/class/powercap/intel-rapl:0/constraint_0_time_window_us": 27983872,
    f"{POWER}/events/energy-pkg": "event=0x02",
    f"{POWER}/events/energy-pkg.unit": "Joules",
    f"{POWER}/events/energy-pkg.scale": "2.3e-10",
    f"{POWER}/cpumask": "0",
    f"{HWMON}1/name": "nvme",
    f"{HWMON}1/temp1_input": 45000,
    f"{HWMON}4/name": "coretemp",
    f"{HWMON}4/temp1_label": "Package id 0",
    f"{HWMON}4/temp1_input": 45000,
    "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp",
    "sys/class/thermal/thermal_zone0/temp": 46000,
    **dict.fromkeys(VIRTUAL, "live"),
    "sys/class/dmi/id/product_name": "Workstation 7",
    "sys/class/dmi/id/bios_version": "1.2.3",
    "sys/firmware/acpi/platform_profile": "balanced",
    f"{CPU}/amd_pstate/dynamic_epp": "disabled",
    "sys/kernel/debug/sched/llc_balancing/enabled": "N",
    "proc/sys/kernel/sched_energy_aware": 1,
    "sys/kernel/sched_ext/state": "enabled",
    "sys/kernel/sched_ext/root/ops": "lavd",
    f"{CPU}/intel_uncore_frequency/package_00_die_00/min_freq_khz": 800000,
    f"{CPU}/amd_pstate/prefcore": "enabled",
    f"{CPU}/cpufreq/policy0/amd_pstate_hw_prefcore": "enabled",
    f"{CPU}/cpufreq/policy0/amd_pstate_prefcore_ranking": 166,
    "proc/meminfo": "MemTotal:       32603440 kB",
    "proc/sys/kernel/perf_event_paranoid": 2,
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": 3,
    f"{CPU}/cpu0/thermal_throttle/package_throttle_count": 5,
}


def full_node(folder: Path) -> Path:
    """A hybrid on battery that has these files, too."""
    root = build_tree(folder, SMALL)
    for key, (name, energy_uj) in INTEL_CLIENT.items():
        write(root, f"sys/class/powercap/{key}/name", name)
        write(root, f"sys/class/powercap/{key}/energy_uj", energy_uj)
        write(root, f"sys/class/powercap/{key}/max_energy_range_uj", 262143328850)
    for path, text in FILES.items():
        write(root, path, text)
    ina226(root, 7, "", power1_label="VDD_CPU")
    zones(root, "arm-scmi", 5_000_000)
    unplug(root)
    write(root, f"{SUPPLIES}/BAT0/power_now", 9_000_000)
    add_supply(root, "hid-00:1f:20:ab:cd:ef-battery", "Battery", scope="Device", status="Full")
    return root


def test_what_the_doctor_reads_is_all_in_it(tmp_path: Path) -> None:
    root = full_node(tmp_path)
    copy = unpack(take_snapshot(root).data, tmp_path / "copy")
    assert_same_node(root, copy)
    found = {shown.name: shown for shown in probe(open_node(copy), False, EVERY_NAME)}
    for name in ("energy:powercap", "governor", "turbo", "temperatures", "throttle-counters"):
        assert found[name].state == "ok", name
    meters = {meter.name: (meter.read(), meter.label) for meter in find_meters(copy)}
    assert meters["hwmon:ina226/power1"] == (6.25, "VDD_CPU")
    assert (meters["scmi"][0], meters["battery:BAT0"][0]) == (5.0, 9.0)
    assert open_node(copy).facts == open_node(root).facts | {"node_id": "node"}
    assert open_node(copy).facts["node"] == "virtual"
    assert open_node(copy).facts["uncore_limits"] == {"package_00_die_00": {"min_khz": 800000}}
    assert open_node(copy).facts["cpufreq"]["prefcore_ranking"] == {"166": "0"}
    state = read_state(open_node(copy), (0,)).fields
    assert (state["sched_energy_aware"], state["sched_ext_scheduler"]) == ("on", "lavd")
    assert (state["power_supply"], state["platform_profile"]) == ("battery", "balanced")
    assert (copy / CPU / "amd_pstate/dynamic_epp").is_file()
    assert not list((copy / SUPPLIES).glob("hid*")), "its name is an address"
    assert all((copy / mark).parent.is_dir() for mark in VIRTUAL)
    assert not (copy / "sys/class/hwmon/hwmon1/temp1_input").exists()


def test_this_machine_is_the_same_node_in_its_snapshot(tmp_path: Path) -> None:
    live = open_node(Path("/"))
    shown = topology_json(live.topology)
    copy = open_node(unpack(take_snapshot(Path("/")).data, tmp_path))
    # The process may be kept to fewer CPUs; a recorded node has no processes.
    assert topology_json(copy.topology) == shown | {"allowed": shown["online"]}
    assert copy.digest == live.digest


def test_nothing_names_the_machine_its_owner_or_its_boot(tmp_path: Path) -> None:
    root = full_node(tmp_path)
    write(root, "proc/cpuinfo", f"processor\t: 0\nHardware\t: Board\nSerial\t\t: {SECRET}")
    serials = (f"{name}_serial" for name in ("product", "board", "chassis"))
    kernel = ("hostname", "domainname", "random/boot_id")
    for path in (
        *(f"proc/sys/kernel/{name}" for name in kernel),
        *("etc/machine-id", "etc/hostname", f"{CPU}/cpu0/topology/ppin"),
        *(f"sys/class/dmi/id/{name}" for name in ("product_uuid", *serials)),
        *(f"{HWMON}{number}/device/serial" for number in (1, 4)),
    ):
        write(root, path, SECRET)
    built = f"Linux version 6.12.1 ({SECRET}@{SECRET}.example.org) (gcc 12) #1 SMP"
    write(root, "proc/version", built)
    write(root, "proc/sys/kernel/version", f"#1 SMP {SECRET}@{SECRET}")
    write(root, "proc/cmdline", f"root=UUID={SECRET} nosmt={SECRET}@ mitigations=off -- {SECRET}")
    taken = take_snapshot(root)
    files = contents(taken.data)
    assert not [name for name, content in files.items() if SECRET.encode() in content]
    assert files["node/proc/version"] == b"Linux version 6.12.1 (removed) (gcc 12) #1 SMP\n"
    assert files["node/proc/cpuinfo"] == b"processor\t: 0\nHardware\t: Board\n"
    assert files["node/proc/cmdline"] == b"mitigations=off\n"
    removed = ("cmdline", "cpuinfo", "version", "sys/kernel/version")
    assert set(described(taken.data)["removed"]) == {f"/proc/{name}" for name in removed}
    assert open_node(unpack(taken.data, tmp_path / "copy")).node_id == "node"
    named = unpack(take_snapshot(root, with_names=True).data, tmp_path / "named")
    assert open_node(named).node_id == SECRET


def test_equal_nodes_give_equal_bytes(tmp_path: Path) -> None:
    first = full_node(tmp_path / "first")
    second = full_node(tmp_path / "second")
    for file in second.rglob("*"):
        os.utime(file, (1, 1))
    assert take_snapshot(first).data == take_snapshot(second).data
    with tarfile.open(fileobj=io.BytesIO(take_snapshot(first).data)) as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(member.mtime, member.uid, member.gid) for member in members} == {(0, 0, 0)}


def test_files_that_cannot_be_read_are_named_with_the_reason(tmp_path: Path) -> None:
    root = full_node(tmp_path)
    broken = root / "sys/class/powercap/intel-rapl:0/energy_uj"
    broken.unlink()
    broken.mkdir()
    (root / CPU / "cpu3/topology/die_id").write_text("9" * 70000)
    taken = take_snapshot(root)
    assert described(taken.data)["unavailable"] == taken.unavailable
    assert set(taken.unavailable) == {
        "/sys/class/powercap/intel-rapl:0/energy_uj",
        "/sys/devices/system/cpu/cpu3/topology/die_id",
    }
    assert "larger than 65536 bytes" in taken.unavailable[f"/{CPU}/cpu3/topology/die_id"]


def test_links_are_packed_as_what_they_lead_to_and_loops_end(tmp_path: Path) -> None:
    root = full_node(tmp_path)
    zone = root / "sys/devices/virtual/powercap/intel-rapl:0"
    zone.parent.mkdir(parents=True)
    (root / "sys/class/powercap/intel-rapl:0").rename(zone)
    (root / "sys/class/powercap/intel-rapl:0").symlink_to(
        "/sys/devices/virtual/powercap/intel-rapl:0"
    )
    (zone / "subsystem").symlink_to("/sys/class/powercap")
    (zone / "intel-rapl:0").symlink_to(".")
    (root / CPU / "cpu0/cache/index0/loop").symlink_to("/")
    (root / CPU / "cpu1/acpi_cppc/self_perf").symlink_to("self_perf")
    (root / "sys/class/dmi/id/bios_version").unlink()
    (root / "sys/class/dmi/id/bios_version").symlink_to("/proc/../../../../../etc/hostname")
    copy = unpack(take_snapshot(root).data, tmp_path / "copy")
    assert_same_node(root, copy)
    assert not (copy / "sys/class/dmi/id/bios_version").exists()


def test_intels_core_types_are_packed_where_they_can_be_read(tmp_path: Path) -> None:
    root = build_tree(tmp_path, replace(SMALL, pmus={}))
    for cpu in range(4):
        content = bytearray(64)
        content[0x7 + 12 : 0x7 + 16] = (1 << 15).to_bytes(4, "little")
        content[0x1A : 0x1A + 4] = (0x40000001 if cpu < 2 else 0x20000001).to_bytes(4, "little")
        write(root, f"dev/cpu/{cpu}/cpuid", "")
        (root / f"dev/cpu/{cpu}/cpuid").write_bytes(content)
    copy = unpack(take_snapshot(root).data, tmp_path / "copy")
    assert "CPUID leaf 0x1a" in open_node(copy).topology.kinds[0].evidence
    assert_same_node(root, copy)


def test_a_root_without_a_node_or_with_more_files_than_one_has_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="is not a recorded node"):
        take_snapshot(tmp_path)
    root = build_tree(tmp_path, SMALL)
    monkeypatch.setattr(snapshot, "MAX_FILES", 50)
    with pytest.raises(UserError, match="more than 50 files"):
        take_snapshot(root)


GARBAGE = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"\n", b"Serial\t: 1\n", b"a@b\n", b"\xff" * 9, b"0-65535\n"]),
)


@pytest.fixture(scope="module")
def spoilable(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    root = full_node(tmp_path_factory.mktemp("spoilable"))
    return root, sorted(file for file in root.rglob("*") if file.is_file())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(data=st.data())
def test_whatever_the_files_hold_the_snapshot_reads_as_they_do(
    spoilable: tuple[Path, list[Path]],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    root, files = spoilable
    # What is taken out of these may change what they say.
    sound = [file for file in files if file.name not in ("cpuinfo", "version")]
    chosen = data.draw(st.lists(st.sampled_from(sound), min_size=1, max_size=10, unique=True))
    contents = {file: data.draw(st.none() | GARBAGE) for file in chosen}
    with spoilt(contents):
        copy = unpack(take_snapshot(root).data, tmp_path_factory.mktemp("copy"))
        assert_same_node(root, copy)


@pytest.mark.parametrize(
    ("own", "of_others"),
    [("/", {4, 5, 7}), (f"/{SECRET}.slice/job", {7}), ("/user.slice", {4, 5, 7})],
)
def test_cpuset_partitions_are_kept_without_their_names(
    tmp_path: Path, own: str, of_others: set[int]
) -> None:
    root = build_tree(tmp_path, Machine(singles("0-7")))
    write(root, "proc/self/cgroup", f"0::{own}")
    groups = (
        (f"{SECRET}.slice", "root", "4-5"),
        ("a", "isolated", "7"),
        ("user.slice", "member", "0"),
    )
    for name, kind, cpus in groups:
        write(root, f"sys/fs/cgroup/{name}/cpuset.cpus.partition", kind)
        write(root, f"sys/fs/cgroup/{name}/cpuset.cpus.effective", cpus)
    data = take_snapshot(root).data
    copy = unpack(data, tmp_path / "copy")
    found = open_node(copy)
    assert topology_json(found.topology) == topology_json(open_node(root).topology)
    assert set(range(8)) - set(found.topology.allowed) == of_others
    assert found.facts["cpuset_partitions"] == {"root": "4-5", "isolated": "7"}
    assert SECRET not in str(contents(data))
