"""The node: its topology, its frequency scaling, its name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runners.cpufreq import Cpufreq, read_cpufreq
from runners.declared import parse_kinds
from runners.discovery import read_topology
from runners.topology import Topology


@dataclass(frozen=True)
class Node:
    """One machine as its files show it; what is not asked for is not read."""

    root: Path
    topology: Topology

    @cached_property
    def cpufreq(self) -> Cpufreq:
        """The state of frequency scaling when it was first asked for."""
        return read_cpufreq(self.root)


def open_node(root: Path, kinds: str | None = None) -> Node:
    """Return the node whose files are below `root`, with core kinds declared by `kinds` if given.

    Raises UserError for a root that holds no node, and for kinds that cannot be.
    """
    declared = None if kinds is None else parse_kinds(kinds)
    return Node(root, read_topology(root, declared))
