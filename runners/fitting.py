"""Whether this process may use the CPUs of a case: what a batch job asked for is not what it has.

An allocation narrower than the places of a case is silent: libgomp puts all its threads on the CPUs
that are left, and under a cpuset `taskset` is cut without a message.
"""

from __future__ import annotations

import os

from configs.cpulist import format_cpulist
from runners.case import Case
from runners.node import Node


def why_not_fitting(case: Case, node: Node) -> str | None:
    """Return why not, with node, wanted and found; None when the process may use all of them."""
    may_use = os.sched_getaffinity(0)
    missing = [cpu for cpu in case.host_mask if cpu not in may_use]
    if missing:
        return (
            f"node {node.node_id}: this process may use CPUs {format_cpulist(sorted(may_use))}, "
            f"the case needs {format_cpulist(case.host_mask)}; missing: {format_cpulist(missing)}. "
            "In a batch job ask for the whole node (Slurm: --exclusive)"
        )
    if case.mechanism == "likwid-pin" and not may_use.issuperset(node.topology.online):
        return (
            f"node {node.node_id}: inside a restricted CPU set "
            f"({format_cpulist(sorted(may_use))}) likwid-pin takes CPU numbers as logical ones"
        )
    return None
