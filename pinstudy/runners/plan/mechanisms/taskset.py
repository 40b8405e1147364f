"""taskset: one affinity mask, which all threads of the program inherit."""

from __future__ import annotations

from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms.base import Mechanism


class Taskset(Mechanism):
    """`taskset -c CPUS`."""

    name = launcher = "taskset"

    def problem(self, node: Topology, case: Case) -> str | None:
        if case.mapping.binding == "pin" and case.threads > 1:
            return (
                f"{self.name} sets one mask for all threads and cannot pin {case.threads} of them"
            )
        return None
