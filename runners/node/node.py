"""The node: its name, its topology, and its facts for the records."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from base.cpulist import format_cpulist
from base.errors import UserError
from runners.host.tree import Tree, Unavailable
from runners.node.core_kinds.declared import parse_kinds
from runners.node.discovery import read_topology
from runners.node.topology import Topology

if TYPE_CHECKING:
    from runners.node.cpufreq import Cpufreq

_MAX_NAME = 64


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
        name = self.tree.text("/proc/sys/kernel/hostname")
        return safe_name(self.root.name if isinstance(name, Unavailable) else name)

    @cached_property
    def boot_id(self) -> str | None:
        """The kernel's identifier of the current boot."""
        boot_id: str | None = self.facts.get("boot_id")
        return boot_id

    @cached_property
    def cpufreq(self) -> Cpufreq:
        """The state of frequency scaling at first use."""
        from runners.node.cpufreq import read_cpufreq

        return read_cpufreq(self.root)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts that are the same for every run of a boot; docs/records.md describes them."""
        from runners.node.facts import read_facts

        read = read_facts(self.tree, self.topology, self.cpufreq)
        return {"node_id": self.node_id} | read

    @cached_property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of the facts that must not change during a study."""
        import hashlib
        import json

        from runners.node.facts import settled

        text = json.dumps(settled(self.facts), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def open_node(root: Path, kinds: str | None = None) -> Node:
    """Return the node whose files are below `root`, with core kinds declared by `kinds` if given.

    Raises UserError for a root that holds no node, and for invalid kinds.
    """
    declared = None if kinds is None else parse_kinds(kinds)
    return Node(root, read_topology(root, declared))


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


def safe_name(name: str) -> str:
    """Return a host name without characters that are special in a path or a pattern."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:_MAX_NAME]
    return safe or "node"
