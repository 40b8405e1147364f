"""A node as one archive: the files that `--sysroot` reads, to plan elsewhere or report a mistake.

Equal nodes give equal bytes: members are sorted and have no times and no owners. The archive holds
only files that describe the node and its abilities. It has no serial number (`/proc/cpuinfo` of ARM
boards, dmi/id, the CPU's ppin), no identifier of the machine or its boot, and not the name of who
built its kernel. The host's name is left out unless asked for.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.control_groups import GROUPS, OWN_GROUPS, read_partitions
from pinstudy.runners.host.tree import TEXT_LIMIT, Tree
from pinstudy.runners.node import cpuinfo, facts, scheduler
from pinstudy.runners.node.core_kinds.pmus import EVENT_SOURCES
from pinstudy.runners.node.cpufreq import CPUS
from pinstudy.runners.node.discovery import NODES, check_root
from pinstudy.runners.node.power import (
    HWMON,
    POWER_CHANNEL,
    POWERCAP,
    SCMI,
    SUPPLIES,
    supply_directories,
)
from pinstudy.runners.node.scheduler import BOOT_OPTIONS

FORMAT = 1
FOLDER = "node"
SUFFIX = ".tar.gz"
# A node of 1024 CPUs has some 70000 of these files.
MAX_FILES = 200_000
MAX_BYTES = 64 * 1024 * 1024
_HOST_NAME = "/proc/sys/kernel/hostname"
_VERSIONS = ("/proc/version", "/proc/sys/kernel/version")
# Directories, and the names of the files to take there; both with the wildcards of fnmatch. The
# fixed depth avoids the loops that links form in /sys.
_FILES = (
    *(tuple(path.rsplit("/", 1)) for path in (*facts.FACT_FILES, *scheduler.FILES)),
    (CPUS, "online offline present possible"),
    (f"{CPUS}/smt", "active"),
    (f"{CPUS}/cpu[0-9]*", "online cpu_capacity"),
    (f"{CPUS}/cpu[0-9]*/power", "energy_perf_bias"),
    (
        f"{CPUS}/cpu[0-9]*/topology",
        "core_cpus_list thread_siblings_list core_cpus thread_siblings core_id "
        "physical_package_id die_id cluster_id package_cpus_list die_cpus_list cluster_cpus_list",
    ),
    (f"{CPUS}/cpu[0-9]*/cache/index[0-9]*", "level type size shared_cpu_list shared_cpu_map id"),
    (f"{CPUS}/cpu[0-9]*/acpi_cppc", "*_perf *_freq"),
    (f"{CPUS}/cpu[0-9]*/regs/identification", "midr_el1"),
    (f"{CPUS}/cpu[0-9]*/thermal_throttle", "*_count *_ms"),
    (f"{CPUS}/cpufreq", "boost"),
    (
        f"{CPUS}/cpufreq/policy[0-9]*",
        "affected_cpus related_cpus scaling_driver scaling_governor scaling_available_governors "
        "scaling_min_freq scaling_max_freq cpuinfo_min_freq cpuinfo_max_freq base_frequency boost "
        "energy_performance_preference energy_performance_available_preferences "
        f"amd_pstate_floor_freq amd_pstate_max_freq {' '.join(facts.PREFCORE_OF_POLICY.values())}",
    ),
    (f"{facts.UNCORE}/*", "min_freq_khz max_freq_khz"),
    (f"{CPUS}/intel_pstate", "status no_turbo hwp_dynamic_boost min_perf_pct max_perf_pct"),
    (f"{CPUS}/amd_pstate", "status dynamic_epp"),
    (NODES, "online"),
    (f"{NODES}/node[0-9]*", "cpulist cpumap"),
    ("/sys/devices/*", "cpus"),
    (f"{EVENT_SOURCES}/*", "type cpus cpumask"),
    (f"{EVENT_SOURCES}/power*/events", "*"),
    (POWERCAP, ""),
    *(
        (
            f"{POWERCAP}/{zone}",
            "name enabled energy_uj power_uw max_energy_range_uj constraint_[0-9]_name "
            "constraint_[0-9]_power_limit_uw constraint_[0-9]_time_window_us "
            "constraint_[0-9]_max_power_uw",
        )
        for zone in ("intel-rapl*", "intel-rapl*/intel-rapl*", f"{SCMI}:*", "dtpm:*")
    ),
    (SUPPLIES, ""),
    ("/sys/class/thermal/thermal_zone[0-9]*", "type temp"),
    ("/sys/class/thermal/cooling_device[0-9]*", "type cur_state"),
    *((directory, "") for directory in facts.VIRTUAL_NODES),
    ("/proc", "cmdline cpuinfo meminfo version"),
    ("/proc/sys/kernel", "osrelease"),
)
# Drivers of processor sensors; other sensors (disks, batteries) do not matter to a study.
_CPU_SENSORS = ("coretemp", "k10temp")
_OF_BATTERIES = "power_now current_now voltage_now energy_now"
# Names that the kernel gives its files and directories.
_NAME = re.compile(r"[A-Za-z0-9_.:,+-]{1,200}", re.ASCII)
_SERIAL = re.compile(r"^[^:\n]*serial[^:\n]*:.*\n?", re.IGNORECASE | re.MULTILINE)
_BUILDER = re.compile(r"[^\s()@]+@[^\s()@]+")
# The leaves that pinstudy/runners/node/core_kinds/identification.py reads of an Intel CPU.
_CPUID_LEAVES = (0x7, 0x1A)


@dataclass
class Snapshot:
    """A node's files by their paths, its directories, and why other files could not be read.

    `removed` says what was removed from which file.
    """

    with_names: bool
    files: dict[str, bytes] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    unavailable: dict[str, str] = field(default_factory=dict)
    removed: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def add(self, path: str, content: bytes) -> None:
        """Add a file; raises UserError above MAX_FILES files or MAX_BYTES bytes."""
        self.files[path] = content
        self.size += len(content)
        if len(self.files) > MAX_FILES or self.size > MAX_BYTES:
            raise UserError(
                f"more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB at {path}: this is no "
                "node; give the root of a recorded tree"
            )

    @cached_property
    def data(self) -> bytes:
        """The archive: the files below `node/` at the node's own paths, and `snapshot.json`."""
        described = {
            "format": FORMAT,
            "with_names": self.with_names,
            "removed": self.removed,
            "unavailable": self.unavailable,
        }
        text = json.dumps(described, indent=2, sort_keys=True) + "\n"
        contents = {f"{FOLDER}{path}": content for path, content in self.files.items()}
        contents["snapshot.json"] = text.encode()
        directories = {f"{FOLDER}{path}" for path in self.directories}
        packed = io.BytesIO()
        with (
            gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w") as archive,
        ):
            for path in sorted({*contents, *directories}):
                member = tarfile.TarInfo(path)
                if path in contents:
                    member.size = len(contents[path])
                    archive.addfile(member, io.BytesIO(contents[path]))
                else:
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(member)
        return packed.getvalue()


def take_snapshot(root: Path, with_names: bool = False) -> Snapshot:
    """Return the files that `--sysroot` reads of the node below `root`, as far as they can be read.

    Raises UserError when `root` holds no node, and above MAX_FILES files or MAX_BYTES bytes.
    """
    tree = Tree(root)
    check_root(tree)
    snapshot = Snapshot(with_names)
    # Not those of devices beside the node, whose names may be addresses.
    files = f"type online present status {_OF_BATTERIES}"
    supplies = [(path, files) for path in supply_directories(tree)]
    for pattern, names in (*_FILES, *_sensors(tree), *supplies):
        for directory in _matching(tree, pattern):
            if not pattern.endswith("/*"):
                snapshot.directories.add(directory)
            for name in _names(tree, directory, names.split()):
                _take(tree, f"{directory}/{name}", snapshot)
    _take_cpuid(tree, snapshot)
    _add_partitions(tree, snapshot)
    if with_names:
        _take(tree, _HOST_NAME, snapshot)
    return snapshot


def _matching(tree: Tree, pattern: str) -> Iterator[str]:
    """Yield the directories whose paths match a pattern, sorted."""
    paths = [""]
    for part in pattern.split("/")[1:]:
        paths = [f"{parent}/{name}" for parent in paths for name in _names(tree, parent, [part])]
    return (directory for directory in paths if tree.is_directory(directory))


def _names(tree: Tree, directory: str, wanted: list[str]) -> list[str]:
    """Return the wanted names; the directory is listed only for wildcards."""
    if not any(wildcard in name for name in wanted for wildcard in "*["):
        return wanted
    return [
        name
        for name in known(tree.names(directory or "/")) or ()
        if _NAME.fullmatch(name)
        and any(fnmatchcase(name, pattern) for pattern in wanted)
        # Servers have hundreds of uncore PMUs; none of them counts what cores do.
        and not name.startswith("uncore_")
    ]


def _sensors(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the directories of the processor's sensors, and of power, with the files to take."""
    for number in tree.numbered(HWMON, "hwmon"):
        directory = f"{HWMON}/hwmon{number}"
        if tree.text(f"{directory}/name") in _CPU_SENSORS:
            yield directory, "name temp*_label temp*_input"
            yield f"{directory}/device", "uevent"
        elif any(map(POWER_CHANNEL.fullmatch, known(tree.names(directory)) or ())):
            yield directory, "name update_interval energy*_input energy*_label power*_*"


def _take(tree: Tree, path: str, snapshot: Snapshot) -> None:
    text = tree.content(path, cpuinfo.WHOLE_BYTES if path == cpuinfo.PATH else TEXT_LIMIT)
    if isinstance(text, Unavailable):
        if not text.missing:
            snapshot.unavailable[path] = text.reason
        return
    kept = text
    if path == cpuinfo.PATH:
        kept = _SERIAL.sub("", text)
        hidden = "serial numbers"
    elif path in _VERSIONS:
        kept = _BUILDER.sub("removed", text)
        hidden = "who built the kernel, and where"
    elif path == BOOT_OPTIONS:
        kept = f"{facts.relevant_options(text)}\n"
        hidden = "boot options that do not decide how programs run"
    if kept != text:
        snapshot.removed[path] = hidden
    snapshot.add(path, kept.encode())


def _add_partitions(tree: Tree, snapshot: Snapshot) -> None:
    """Add the valid cpuset partitions, in groups of neutral names: real ones tell who uses them."""
    for number, partition in enumerate(read_partitions(tree)):
        name = f"partition{number:03}"
        texts = {
            f"{GROUPS}/{name}/cpuset.cpus.partition": partition.type,
            f"{GROUPS}/{name}/cpuset.cpus.effective": format_cpulist(partition.cpus),
        }
        if partition.own:
            texts[OWN_GROUPS] = f"0::/{name}"
        for path, text in texts.items():
            snapshot.add(path, f"{text}\n".encode())


def _take_cpuid(tree: Tree, snapshot: Snapshot) -> None:
    """Add Intel's core types, but not AMD's leaf 0x80000026: it would lie 2 GiB into a file."""
    if cpuinfo.first_block(tree).get("vendor_id") != "GenuineIntel":
        return
    for directory in _matching(tree, "/dev/cpu/[0-9]*"):
        path = f"{directory}/cpuid"
        leaves = {leaf: tree.block(path, leaf, 16) for leaf in _CPUID_LEAVES}
        content = bytearray()
        for leaf, registers in leaves.items():
            if not isinstance(registers, Unavailable):
                content.extend(bytes(leaf - len(content)) + registers)
            elif not registers.missing:
                snapshot.unavailable[path] = registers.reason
        if content:
            snapshot.add(path, bytes(content))
