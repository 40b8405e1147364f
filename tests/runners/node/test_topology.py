"""How near two CPUs are, from what they share."""

from __future__ import annotations

from pathlib import Path

from runners.node.discovery import read_topology
from runners.node.topology import (
    ACROSS_PACKAGES,
    SAME_NODE,
    SAME_PACKAGE,
    SHARED_L2,
    SHARED_L3,
    SIBLINGS,
    relations,
)
from tests.runners.topologies import topology
from tests.support.machines import NUMA_BIG
from tests.support.trees import build_tree


def test_how_near_two_cpus_are_is_what_they_share() -> None:
    near = topology(
        [("0-1", "P", 0), ("2", "P", 0), ("3", "P", 0), ("4", "P", 0), ("5", "P", 1)],
        [(2, "0-1"), (2, "2-3"), (2, "4"), (3, "0-3"), (3, "4"), (3, "5")],
    )
    relation = relations(near)
    assert relation(0, 1) == SIBLINGS
    assert relation(3, 2) == SHARED_L2
    assert relation(1, 2) == SHARED_L3
    assert relation(0, 4) == SAME_NODE
    assert relation(0, 5) == ACROSS_PACKAGES


def test_numa_nodes_of_a_package_are_apart(tmp_path: Path) -> None:
    relation = relations(read_topology(build_tree(tmp_path, NUMA_BIG)))
    assert relation(0, 128) == SIBLINGS
    assert relation(0, 7) == SHARED_L3
    assert relation(0, 8) == SAME_NODE
    assert relation(0, 32) == SAME_PACKAGE
    assert relation(0, 64) == ACROSS_PACKAGES
