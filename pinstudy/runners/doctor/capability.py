"""A capability: something that a study may need of its node, why it is missing, what grants it.

Expensive facts of a node are read once, and only when they are needed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from pinstudy.configs.site import EnergyRule
from pinstudy.runners.measure.perf.events import (
    PerfPermission,
    event_list,
    events_by_pmu,
    read_permission,
)
from pinstudy.runners.measure.perf.stat import PerfTrial, find_perf, try_perf
from pinstudy.runners.node.node import Node

State = Literal["ok", "limited", "missing"]
STATES: tuple[State, ...] = ("missing", "limited", "ok")

NOT_TRIED = "not tried: the node is a recorded tree"


@dataclass(frozen=True)
class Capability:
    """The state of something that studies need, its reason in one line, and its remedy.

    `grant` is the command, or the change, that helps until the next boot or for good; `lasting`
    makes it last where `grant` does not. Both are empty where nothing is needed or known. No
    measurement is worse without an `optional` capability.
    """

    name: str
    state: State
    reason: str
    grant: str = ""
    lasting: str = ""
    optional: bool = False

    @property
    def why(self) -> str:
        """The reason and the grant, if there is one, in one line."""
        return f"{self.reason}; {self.grant}" if self.grant else self.reason

    @property
    def hinders(self) -> bool:
        """Whether it makes measurements worse; False for what was not tried."""
        return self.state != "ok" and not self.optional and self.reason != NOT_TRIED

    def fields(self) -> dict[str, Any]:
        """Return the capability as `pinstudy doctor --json` prints it: the reason is its `why`."""
        return {"why" if name == "reason" else name: of for name, of in asdict(self).items()}


def worst_first(capabilities: tuple[Capability, ...]) -> list[Capability]:
    """Return capabilities by state, missing ones first; within a state in the order given."""
    return sorted(capabilities, key=lambda capability: STATES.index(capability.state))


@dataclass(frozen=True)
class ProbedNode(Node):
    """A node; its tools are tried only when it is this machine (`live`).

    `energy` is the meter that a site asks for.
    """

    live: bool
    energy: EnergyRule | None = None

    @cached_property
    def permission(self) -> PerfPermission:
        """What this process may count with perf."""
        return read_permission(self.root)

    @cached_property
    def perf(self) -> str | None:
        """The path of perf; None for a recorded tree or without perf."""
        return find_perf() if self.live else None

    @cached_property
    def trial(self) -> PerfTrial | None:
        """The rows of a trial run; None where there is no perf to try."""
        if self.perf is None:
            return None
        by_pmu = events_by_pmu(self.root)
        return try_perf(self.perf, event_list((), self.permission.user_only, by_pmu))
