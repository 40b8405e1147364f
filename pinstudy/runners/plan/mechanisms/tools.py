"""Tools that start a program on its CPUs, and programs that pin their threads themselves.

taskset and numactl set one affinity mask, which all threads of the program inherit; memory is left
to the kernel. likwid-pin pins each thread when the program creates it, by a preloaded library.
Until then the main thread is anywhere (5.2, with two threads or more), so likwid-pin is combined
with taskset on the same CPUs. taskset comes after it, since likwid-pin takes CPU numbers as logical
ones inside a restricted set.
"""

from __future__ import annotations

from collections.abc import Mapping as Table

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms.base import Mechanism, Words, confined, instead


class Taskset(Mechanism):
    """`taskset -c CPUS`."""

    name = launcher = "taskset"

    def problem(self, node: Topology, case: Case) -> str | None:
        if case.mapping.binding == "pin" and case.threads > 1:
            return (
                f"{self.name} sets one mask for all threads and cannot pin {case.threads} of them"
            )
        return None


class Numactl(Taskset):
    """`numactl --physcpubind=CPUS --`."""

    name = launcher = "numactl"

    def words(self, case: Case, tools: Table[str, str]) -> Words:
        return (tools[self.name], f"--physcpubind={format_cpulist(case.mask)}", "--")


class LikwidPin(Mechanism):
    """`likwid-pin -c CPUS`, by the kernel's numbers of CPUs."""

    name = launcher = "likwid-pin"
    # Up to 5.5 it sleeps a second before it starts the program.
    starts_in_s = 1.1
    own_prefix = "LIKWID_"

    def problem(self, node: Topology, case: Case) -> str | None:
        if case.mapping.selection == "same-cpu":
            return f"{self.name} does not put two threads on one CPU; use omp-places"
        if node.allowed != node.online:
            return (
                f"inside a restricted CPU set {self.name} takes CPU numbers as logical ones "
                f"(allowed {format_cpulist(node.allowed)} of {format_cpulist(node.online)})"
            )
        if case.engine.by_mpi:
            return f"{self.name} counts the threads that MPI starts in a rank, too; use omp-places"
        return None

    def words(self, case: Case, tools: Table[str, str]) -> Words:
        ordered = ",".join(map(str, case.cpus))
        by_mask = confined(case, tools) if "taskset" in tools else ()
        # `-s 0x0` skips no thread: its detection of threads to skip fails where libgomp has no
        # symbols (likwid issue 750).
        return (tools[self.name], "-q", "-s", "0x0", "-c", ordered, *by_mask)


class Program(Mechanism):
    """An option of the program with a CPU a thread, as its app's `placement.pin` asks for it."""

    name = "program"
    launcher = "taskset"

    def refusal(self, case: Case) -> str | None:
        if not (case.app.placement and case.app.placement.pin):
            return f"{case.app.name} cannot pin its threads itself; {instead(case)}"
        return None

    def arguments(self, case: Case) -> Words:
        return case.app.placement.pin if case.app.placement else ()
