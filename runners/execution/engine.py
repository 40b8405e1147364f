"""Where a case runs: on this node itself, or in a guest on it (runners/vm/engine.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from runners.plan.case import Case
from runners.plan.command_line import Launch

if TYPE_CHECKING:
    from base.reading import Reading
    from runners.execution.collectors import Collectors
    from runners.execution.execute import Observation


class Engine(Protocol):
    """Makes the runs of cases."""

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Execute a launch once; raises LaunchError, which fails this run only."""

    def measured(self, case: Case, seen: Observation) -> list[Reading]:
        """Return what was measured around the latest run."""

    def close(self) -> None:
        """Leave nothing running."""


@dataclass(frozen=True)
class LocalEngine:
    """Makes runs on this node itself."""

    collectors: Collectors

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Execute a launch once, and run the check command on the result of a good run."""
        from runners.execution.check import check_failure_of
        from runners.execution.execute import execute
        from runners.execution.outcome import failure_of

        harness, check = self.collectors.harness, case.app.check.command
        seen = execute(launch, case.app.limit_s, harness, cpus=case.mask)
        if not check or failure_of(case, seen):
            return seen
        check_failure = check_failure_of(check, seen.stdout, launch.environment, harness.witness)
        return replace(seen, check_failure=check_failure)

    def measured(self, case: Case, seen: Observation) -> list[Reading]:
        """Return the collectors' readings of the run."""
        return self.collectors.measured(case, seen)

    def close(self) -> None:
        """Do nothing: no process outlives a run."""
