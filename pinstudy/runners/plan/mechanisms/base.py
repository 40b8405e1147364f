"""What every mechanism answers: what it needs and refuses, and what it adds to a launch. Pure."""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import ClassVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.configs.mapping import Mapping
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case

Places = tuple[tuple[int, ...], ...]
Words = tuple[str, ...]

WITHOUT_OPENMP = ("none", "pthreads")


class Mechanism:
    """A way to bind threads; this one binds none, and every other overrides what it does.

    `launcher` must be installed: what binds each thread is combined with taskset on the same CPUs,
    since the program's start and its serial phases belong to the selection too. `by_words` is
    whether the runtime itself finds the CPUs that a name, a list or a count describes; `in_order`
    whether thread i is known to get the case's CPU i. `starts_in_s` are the seconds that it takes
    before the program starts. `own_prefix` begins the variables of a shell that would change what
    it does.
    """

    name: ClassVar[str | None] = None
    launcher: ClassVar[str | None] = None
    by_words: ClassVar[bool] = False
    in_order: ClassVar[bool] = True
    starts_in_s: ClassVar[float] = 0.0
    own_prefix: ClassVar[str] = ""

    def needs(self, mapping: Mapping) -> str | None:
        """Return the launcher that a mapping needs, or None."""
        return self.launcher

    def refusal(self, case: Case) -> str | None:
        """Return why it cannot bind a program of this app and build on any node, or None."""
        return None

    def problem(self, node: Topology, case: Case) -> str | None:
        """Return why this node cannot bind the case's threads so, or None."""
        return None

    def places(self, node: Topology, case: Case) -> Places:
        """Return the places that the runtime makes by itself; none where the case's CPUs say it.

        Raises CannotMapError where the node's files do not show them.
        """
        return ()

    def resources(self, node: Topology, case: Case) -> str:
        """Return what the runtime is asked for in place of CPU numbers; empty for nothing.

        Raises CannotMapError for CPUs that it has no words for.
        """
        return ""

    def words(self, case: Case, tools: Table[str, str]) -> Words:
        """Return the words that precede the program; `tools` maps a launcher's name to its path."""
        return confined(case, tools) if self.needs(case.mapping) == "taskset" else ()

    def variables(self, case: Case) -> dict[str, str]:
        """Return the variables by which the runtime is asked to bind the threads."""
        return {}

    def arguments(self, case: Case) -> Words:
        """Return the program's arguments by which it checks where it was put, if it has any."""
        return case.app.placement.expect if case.app.placement and self.in_order else ()


def confined(case: Case, tools: Table[str, str]) -> Words:
    """Return the words that start a program on the case's CPUs."""
    return (tools["taskset"], "-c", format_cpulist(case.mask))


def instead(case: Case) -> str:
    """Return what can bind threads as the mapping says, where the program itself cannot."""
    if case.mapping.binding == "set" or case.build.runtime == "none":
        return "use taskset"
    if case.mapping.selection != "same-cpu":
        return "use likwid-pin"
    if case.build.runtime in WITHOUT_OPENMP:
        return "nothing else puts two of its threads on one CPU"
    return "use omp-places"
