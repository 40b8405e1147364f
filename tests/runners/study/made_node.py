"""What a runner needs of a node and its meters, for studies whose node is made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinstudy.base.reading import Reading
from pinstudy.runners.execution.collectors import Collectors
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.measure.energy.source import IdleMeasurements, no_energy
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.race_state import Eliminated
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.study.runner import NodeControl


class MadeNode(NodeControl):
    """A node on which every case can run, unless `settle` says why not."""

    def __init__(
        self,
        launch: Callable[[Case], Launch],
        settle: Callable[[Case], str | None] = lambda _: None,
        state: Callable[[Case], Reading] = lambda _: Reading({"governor_read": "powersave"}),
    ) -> None:
        self._launch, self._settle, self._state = launch, settle, state

    def launch(self, case: Case) -> Launch:
        return self._launch(case)

    def settle(self, case: Case) -> str | None:
        return self._settle(case)

    def state(self, case: Case) -> Reading:
        return self._state(case)

    def thrown_out(self) -> str:
        return ""

    def program(self, case: Case) -> Reading:
        del case
        return Reading()


@dataclass
class MadeEngine:
    """An engine of which every run shows the same."""

    seen: Observation

    def execute(self, _case: Case, _launch: Launch) -> Observation:
        return self.seen

    def measured(self, _case: Case, _seen: Observation) -> list[Reading]:
        return []

    def close(self) -> None: ...


class NothingBetween(Collectors):
    """Nothing is measured or waited for between runs."""

    def __init__(self) -> None:
        self.idle_measurements = IdleMeasurements(None, no_energy("not asked"))
        self.gate = self.power_gate = None
        self.warnings = ()

    def begin(self) -> None:
        self.log = None


def origin_of(study: str, digest: str, attempt: int) -> dict[str, Any]:
    """Return the fields that all records of an attempt share."""
    return {
        "schema": SCHEMA,
        "study": study,
        "study_digest": digest,
        "seed": 1,
        "node_id": "node1",
        "node_digest": "n1",
        "boot_id": "boot",
        "attempt": attempt,
        "kinds_declared": False,
    }


class Quiet:
    """Progress that only remembers what it was told."""

    def __init__(self) -> None:
        self.waits: list[str] = []
        self.left_s: list[float | None] = []
        self.warnings: list[str] = []
        self.looks: list[int] = []
        self.decided_after = 10_000

    def starting(self, case: Case, planned: PlannedRun, left_s: float | None) -> None:
        del case, planned
        self.left_s.append(left_s)

    def finished(self, record: Mapping[str, Any]) -> None: ...

    def skipped(self, case: Case, reason: str) -> None: ...

    def eliminated(self, out: Sequence[tuple[Case, Eliminated]]) -> None: ...

    def out_of_time(self, repetitions: int) -> None: ...

    def decided(self, repetitions: int) -> bool:
        self.looks.append(repetitions)
        return repetitions >= self.decided_after

    def waiting(self, reason: str) -> None:
        self.waits.append(reason)

    def warned(self, warning: str) -> None:
        self.warnings.append(warning)
