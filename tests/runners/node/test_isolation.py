"""CPUs that the kernel balances no threads onto, or that have no tick."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.cpulist import format_cpulist
from runners.node.discovery import read_topology
from runners.node.node import open_node
from runners.node.topology import topology_json
from tests.support.trees import CPU, build_tree, write

ISOLATED, TICKLESS = f"{CPU}/isolated", f"{CPU}/nohz_full"
PARTITIONS, BOOT = "sys/fs/cgroup/cpuset.cpus.isolated", "proc/cmdline"


@pytest.mark.parametrize(
    ("files", "isolated", "tickless"),
    [
        ({}, "", ""),
        ({ISOLATED: "", TICKLESS: "(null)"}, "", ""),
        ({ISOLATED: "0-3", BOOT: "ro isolcpus=0-3"}, "0-3", ""),
        # Isolated partitions, of which kernels before 7.0 tell in the root cgroup alone.
        ({ISOLATED: "", PARTITIONS: "4-5"}, "4-5", ""),
        ({ISOLATED: "0-1", PARTITIONS: "4-5"}, "0-1,4-5", ""),
        ({ISOLATED: "", TICKLESS: "2-3"}, "", "2-3"),
        # Without the kernel's files its command line tells, but for what init is told.
        ({BOOT: "isolcpus=0-3 nohz_full=8-N -- isolcpus=9"}, "0-3", "8-15"),
        ({BOOT: "isolcpus=domain,managed_irq,2,4"}, "2,4", ""),
        ({BOOT: "isolcpus=managed_irq,nohz,0-3"}, "", ""),
        ({BOOT: "isolcpus=some"}, "", ""),
        # What the kernel says counts, and CPUs that are not there count for nothing.
        ({ISOLATED: "", BOOT: "isolcpus=0-3"}, "", ""),
        ({ISOLATED: "14-99"}, "14-15", ""),
        ({ISOLATED: "x", BOOT: "isolcpus=1"}, "1", ""),
    ],
)
def test_cpus_that_are_apart_are_found_and_told(
    tmp_path: Path, files: dict[str, str], isolated: str, tickless: str
) -> None:
    root = build_tree(tmp_path, "adl0")
    for path in (ISOLATED, TICKLESS, PARTITIONS, BOOT):
        (root / path).unlink(missing_ok=True)
    for path, text in files.items():
        write(root, path, text)
    topology = read_topology(root)
    shown = topology_json(topology)
    assert (shown["isolated"], shown["nohz_full"]) == (isolated, tickless)
    assert format_cpulist(topology.isolated) == isolated
    told = [note for note in topology.notes if "isolated" in note or "nohz_full" in note]
    assert len(told) == bool(isolated) + bool(tickless)
    assert all(cpus in " ".join(told) for cpus in (isolated, tickless))
    facts = open_node(root).facts
    assert facts.get("isolated", "") == isolated
