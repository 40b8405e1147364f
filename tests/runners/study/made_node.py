"""What a runner needs of a node and its meters, for studies whose node is made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from base.reading import Reading
from runners.execution.execute import Observation
from runners.measure.conditions.temperature import Gate
from runners.measure.energy.idle import Baselines
from runners.measure.energy.source import no_energy
from runners.plan.case import Case
from runners.plan.command_line import Launch


@dataclass
class MadeNode:
    """A node on which every case can run, unless `settle` says why not."""

    launch: Callable[[Case], Launch]
    settle: Callable[[Case], str | None] = lambda _: None
    state: Callable[[Case], Reading] = lambda _: Reading({"governor_read": "powersave"})
    program: Callable[[Case], Reading] = lambda _: Reading()


@dataclass
class MadeEngine:
    """An engine of which every run shows the same."""

    seen: Observation

    def execute(self, _case: Case, _launch: Launch) -> Observation:
        return self.seen

    def measured(self, _case: Case, _seen: Observation) -> list[Reading]:
        return []

    def close(self) -> None: ...


@dataclass
class NothingBetween:
    """Nothing is measured or waited for between runs."""

    baselines: Baselines = field(default_factory=lambda: Baselines(None, no_energy("not asked")))
    gate: Gate | None = None
    warnings: tuple[str, ...] = ()

    def idle(self, _case: Case) -> list[Reading]:
        return []
