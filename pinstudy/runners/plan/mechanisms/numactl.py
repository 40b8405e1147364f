"""numactl: one affinity mask, as by taskset; memory is left to the kernel."""

from __future__ import annotations

from collections.abc import Mapping as Table

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms.base import Words
from pinstudy.runners.plan.mechanisms.taskset import Taskset


class Numactl(Taskset):
    """`numactl --physcpubind=CPUS --`."""

    name = launcher = "numactl"

    def words(self, case: Case, tools: Table[str, str]) -> Words:
        return (tools[self.name], f"--physcpubind={format_cpulist(case.mask)}", "--")
