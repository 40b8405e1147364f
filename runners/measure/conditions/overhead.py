"""What pinstudy itself used while a program ran: CPU time and context switches, from getrusage(2).

perf and pinstudy-witness are processes of their own, asleep from the program's start to its end.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Any

from base.cpulist import format_cpulist


@dataclass(frozen=True)
class HarnessCost:
    """CPU seconds and context switches of all threads of pinstudy, and the CPUs they could use."""

    cpu_s: float
    context_switches: int
    cpus: tuple[int, ...]

    def fields(self) -> dict[str, Any]:
        """Return the record's field `harness`."""
        return {
            "cpu_s": self.cpu_s,
            "context_switches": self.context_switches,
            "cpus": format_cpulist(self.cpus),
        }


class CostClock:
    """Counts from its creation to `stop`."""

    def __init__(self, cpus: tuple[int, ...]) -> None:
        self._cpus = cpus
        self._before = resource.getrusage(resource.RUSAGE_SELF)

    def stop(self) -> HarnessCost:
        """Return what pinstudy has used since the clock was created."""
        now, before = resource.getrusage(resource.RUSAGE_SELF), self._before
        return HarnessCost(
            # getrusage(2) counts microseconds.
            cpu_s=round(now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime, 6),
            context_switches=now.ru_nvcsw + now.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
            cpus=self._cpus,
        )
