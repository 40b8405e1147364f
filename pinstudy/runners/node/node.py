"""The node: its name, its topology, its facts for the records, and its state during a run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pinstudy.base.command import output_of
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.files import sha256_of_json, write_atomically, write_json
from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.base.text import safe_name
from pinstudy.configs.results_folder import NODES, picture_path
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.core_kinds.ranking import CAPACITY, read_sign
from pinstudy.runners.node.cpufreq import DYNAMIC_EPP, Cpufreq, read_cpufreq
from pinstudy.runners.node.cpuinfo import first_block, is_guest
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.node.facts import SMT, read_facts
from pinstudy.runners.node.power import (
    PLATFORM_PROFILE,
    limits_by_domain,
    read_power_limits,
    read_power_supply,
)
from pinstudy.runners.node.scheduler import read_isolation, read_scheduler
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.records.kept_facts import digest_facts
from pinstudy.runners.records.settings_of_runs import is_unlimited

# The same for every run of a boot; every record repeats them, because it may be copied alone.
_FACTS = ("kernel", "microcode")
# A run during which one of these changed belongs to no case.
_UNCHANGED = (
    *("power_supply", "platform_profile"),
    *("governor_read", "driver_mode", "epp", "min_khz", "max_khz", "floor_khz", "turbo"),
    *("sched_energy_aware", "sched_itmt", "sched_cache_aware", "preemption"),
    *("sched_ext", "sched_ext_scheduler", "sched_ext_loaded"),
    *("isolated_cpus", "cpuset_partition"),
)
# As a field of the state, and as a setting that a case asks for.
_MOVED_BY_ITSELF = frozenset({"max_khz", "max_frequency"})
# No lower limit is in force above the upper one.
_MOVED_BY_HEAT = _MOVED_BY_ITSELF | {"min_khz", "min_frequency"}


@dataclass(frozen=True)
class Node:
    """One machine, from the files below `root`; its facts and cpufreq are read at first use."""

    root: Path
    topology: Topology

    @cached_property
    def tree(self) -> Tree:
        """The node's files."""
        return Tree(self.root)

    @cached_property
    def node_id(self) -> str:
        """The host's name, else that of the tree's folder, safe as a part of file names."""
        return safe_name(known(self.tree.text("/proc/sys/kernel/hostname")) or self.root.name)

    @cached_property
    def boot_id(self) -> str | None:
        """The kernel's identifier of the current boot."""
        boot_id: str | None = self.facts.get("boot_id")
        return boot_id

    @cached_property
    def block(self) -> dict[str, str]:
        """The first CPU's fields in /proc/cpuinfo."""
        return first_block(self.tree)

    @property
    def guest(self) -> bool:
        """Whether it is a virtual machine (known on x86 only)."""
        return is_guest(self.block)

    @cached_property
    def cpufreq(self) -> Cpufreq:
        """The state of frequency scaling at first use."""
        return read_cpufreq(self.root)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts that are the same for every run of a boot; docs/records.md describes them."""
        read = read_facts(self.tree, self.topology, self.cpufreq)
        return {"node_id": self.node_id} | read

    @cached_property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of the facts that must not change during a study."""
        return sha256_of_json(digest_facts(self.facts))


def open_node(root: Path, kinds: str | None = None) -> Node:
    """Return the node whose files are below `root`, with core kinds declared by `kinds` if given.

    Raises UserError for a root that holds no node, and for invalid kinds.
    """
    return Node(root, read_topology(root, kinds))


def whole_node(node: Node, reserved: Collection[int] = ()) -> Node:
    """Return the node with all online CPUs allowed, except the reserved ones.

    Raises UserError when none is left.
    """
    topology = node.topology
    allowed = tuple(cpu for cpu in topology.online if cpu not in reserved)
    if not allowed:
        raise UserError(
            f"node {node.node_id}: all its CPUs ({format_cpulist(topology.online)}) are reserved; "
            "mend reserved_cpus in the site's file"
        )
    return Node(node.root, replace(topology, allowed=allowed))


def read_state(node: Node, cpus: Sequence[int]) -> Reading:
    """Return how these CPUs are scaled, the scheduler, power, SMT, kernel and microcode.

    `cpu_capacity` is that of each core kind's CPUs, the lowest and the highest: kernels compute
    it anew while a study runs (pinstudy/runners/records/kept_facts.py).
    """
    scaling = read_cpufreq(node.root, cpus).state_of(cpus)
    absent = node.facts["unavailable"]
    of_boot = Reading(
        {name: node.facts[name] for name in _FACTS if name in node.facts},
        {name: absent[name] for name in _FACTS if name in absent},
    )
    now = reading_of(
        {
            "smt": node.tree.text(SMT),
            "power_limits": _power_limits(node.tree),
            "power_supply": read_power_supply(node.tree),
            "platform_profile": node.tree.word(PLATFORM_PROFILE),
            "cpu_capacity": _capacities(node, cpus),
        }
    )
    isolation = read_isolation(node.tree, node.topology.online)
    return scaling | read_scheduler(node.tree) | isolation | of_boot | now


def _capacities(node: Node, cpus: Iterable[int]) -> dict[str, list[int]] | Unavailable:
    values = read_sign(node.tree, CAPACITY, tuple(cpus))
    found: dict[str, list[int]] = {}
    for cpu, value in values.items():
        if kind := node.topology.kind_of(cpu):
            low, high = found.get(kind, (value, value))
            found[kind] = [min(low, value), max(high, value)]
    return found or Unavailable(f"not all of these CPUs have a {CAPACITY}")


def _power_limits(tree: Tree) -> dict[str, dict[str, float]] | Unavailable:
    limits = read_power_limits(tree)
    if isinstance(limits, Unavailable):
        return limits
    if found := limits_by_domain(limits):
        return found
    reasons = (limit.get("reason") for limit in limits)
    return Unavailable(next(filter(None, reasons), "none is named PL1 or PL2"))


def state_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], *, cooled: bool = False
) -> str:
    """Return in words which settings differ between two states; empty when none do.

    While the kernel has `cooled` CPUs, it has moved their limits of frequency itself (Linux
    drivers/thermal/cpufreq_cooling.c): that alone is heat, as the run's throttling tells, and no
    setting. A slow run would else be lost for being slow. Nor is it one where nobody limits CPUs
    and the firmware has moved the hardware's own limit.
    """
    names = _differing(_UNCHANGED, before, after)
    by_itself: frozenset[str] = frozenset()
    if cooled:
        by_itself = _MOVED_BY_HEAT
    elif is_unlimited(before) and is_unlimited(after):
        by_itself = _MOVED_BY_ITSELF
    if by_itself.issuperset(names):
        # What a case asks for, and no other field tells.
        before, after = (state.get("settings_read", {}) for state in (before, after))
        names = [name for name in _differing(before, before, after) if name not in by_itself]
    return "; ".join(_change(name, before, after) for name in names)


def _differing(
    names: Iterable[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[str]:
    return [name for name in names if before.get(name) != after.get(name)]


def _change(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    was, now = _shown(before.get(name)), _shown(after.get(name))
    if name == "power_supply" and name in before and name in after:
        return f"the node went from {was} to {now} power"
    text = f"{name.removesuffix('_read')} was {was} before the run and {now} after it"
    if name == "epp" and DYNAMIC_EPP in (before.get("driver_mode") or ""):
        return f"{text}, by amd-pstate's {DYNAMIC_EPP}"
    return text


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{khz} kHz on {cpus}" for khz, cpus in value.items())
    return "unreadable" if value is None else str(value)


_COMMANDS = ("lstopo-no-graphics", "lstopo")
# No legend: it contains the host's name and the date. No devices: only cores matter.
_OPTIONS = ("--of", "svg", "--no-legend", "--no-io")
# Nodes with a thousand CPUs take seconds, and their pictures less than a megabyte.
_LIMIT_S = 20.0
_MAX_CHARACTERS = 4_000_000


def save_node(folder: Path, node: Node) -> None:
    """Write the node's facts and its picture into a results folder; raises StudyError."""
    absent = node.facts["unavailable"] | save_picture(picture_path(folder, node.digest))
    path = folder / NODES / f"{node.digest}.json"
    write_json(path, node.facts | {"unavailable": absent}, sort_keys=True)


def save_picture(path: Path) -> dict[str, str]:
    """Draw this node into a file, unless it exists; return the reason of a failure, by field."""
    if path.exists():
        return {}
    command = next(filter(None, map(shutil.which, _COMMANDS)), None)
    if command is None:
        return {"picture": "lstopo is not installed"}
    # hwloc's variables could make it draw another machine.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("HWLOC_")
    }
    drawn = output_of([command, *_OPTIONS], environment, limit_s=_LIMIT_S)
    if drawn is None or "<svg" not in drawn or len(drawn) > _MAX_CHARACTERS:
        return {"picture": f"{command} {' '.join(_OPTIONS)} drew nothing"}
    write_atomically(path, drawn.encode())
    return {}
