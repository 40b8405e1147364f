"""The ranks of an MPI program, which its launcher starts on the node. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import team_in_words, team_label
from pinstudy.configs.app import MPI_LAUNCHERS
from pinstudy.configs.study import AppChoice, Study
from pinstudy.runners.host.software import for_mpi
from pinstudy.runners.node.topology import Topology
from pinstudy.runners.plan.case import Case, Engine
from pinstudy.runners.plan.launch import Launch, TeamLaunch
from pinstudy.runners.plan.mpi import mpi_launcher, root_problem
from pinstudy.runners.plan.ranks import rank_cpus


@dataclass(frozen=True)
class Ranks(Engine):
    """So many ranks of a case's threads, and the CPUs of each; none before it is mapped."""

    number: int
    cpus: tuple[tuple[int, ...], ...] = ()

    group: ClassVar[str] = "ranks"
    by_mpi: ClassVar[bool] = True

    @classmethod
    def tables(cls, study: Study, choice: AppChoice, *, emulated: bool) -> list[tuple[Engine, ...]]:
        return [(cls(number),) for number in choice.ranks or ()]

    @property
    def processes(self) -> int:
        return self.number

    @property
    def lacks(self) -> Table[str, str]:
        passed = "regions of MPI ranks are not measured: launchers pass no descriptors on"
        polled = "ranks that wait for one another use CPU time"
        return {"regions": passed} | ({"imbalance": polled} if self.number > 1 else {})

    def team_in_words(self, threads: int) -> str:
        return team_in_words(self.number, threads)

    def team_label(self, threads: int) -> str:
        return team_label(self.number, threads)

    def mapped(self, case: Case, topology: Topology, *, oversubscribe: bool) -> Case:
        mapping = case.mapping
        parts = rank_cpus(mapping, topology, self.number, case.threads, oversubscribe=oversubscribe)
        # Under `none` every rank may use all CPUs, otherwise ranks share none.
        cpus = parts[0] if mapping.binding == "none" else tuple(chain.from_iterable(parts))
        return replace(case, cpus=cpus, engine=replace(self, cpus=parts))

    def teams(self, case: Case) -> tuple[Case, ...]:
        return tuple(self._rank(case, cpus) for cpus in self.cpus) or (case,)

    def _rank(self, case: Case, own: tuple[int, ...]) -> Case:
        within = (tuple(cpu for cpu in place if cpu in own) for place in case.places)
        places = tuple(place for place in within if place)
        return replace(case, cpus=own, places=places, engine=Engine())

    def tools(self, case: Case) -> tuple[str, ...]:
        return (str(case.build.mpi),)

    def problem(self, case: Case, tools: Iterable[str]) -> str | None:
        mpi = str(case.build.mpi)
        if mpi in tools:
            return None
        return f"{MPI_LAUNCHERS[mpi]} was not found; {for_mpi().sentence}"

    def starting_problem(self, case: Case, environment: Table[str, str]) -> str:
        return root_problem(str(case.build.mpi), environment)

    def launch(
        self, case: Case, launch: Launch, teams: tuple[TeamLaunch, ...], tools: Table[str, str]
    ) -> Launch:
        mpi = str(case.build.mpi)
        return replace(launch, launcher=mpi_launcher(mpi, tools[mpi]), mpi=mpi, ranks=teams)

    def facts(self, case: Case) -> dict[str, Any]:
        by = case.mapping.ranks_by
        return {
            "number": self.number,
            "mpi": case.build.mpi,
            "cpus": [format_cpulist(cpus) for cpus in self.cpus],
            **({"by": by} if by else {}),
        }
