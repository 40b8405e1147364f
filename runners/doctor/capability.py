"""One thing that a study may need of its node: whether it is there, why not, what grants it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "limited", "missing"]
STATES: tuple[State, ...] = ("missing", "limited", "ok")

NOT_TRIED = "not tried: the node is a recorded tree"


@dataclass(frozen=True)
class Capability:
    """What was found, in one line, and what would change it.

    `grant` is the command, or the change, that helps until the next boot or for good; `lasting`
    what makes it last where `grant` does not. Both are empty where nothing is needed or known.
    What is `optional` is good to have, and no measurement is worse without it.
    """

    name: str
    state: State
    reason: str
    grant: str = ""
    lasting: str = ""
    optional: bool = False

    @property
    def why(self) -> str:
        """The reason, ended by the grant if there is one: for where there is one line."""
        return f"{self.reason}; {self.grant}" if self.grant else self.reason

    @property
    def hinders(self) -> bool:
        """Whether a measurement is worse for it; what was not tried speaks against nothing."""
        return self.state != "ok" and not self.optional and self.reason != NOT_TRIED

    def fields(self) -> dict[str, Any]:
        """Return it as `pinstudy doctor --json` prints it."""
        return {
            "name": self.name,
            "state": self.state,
            "why": self.reason,
            "grant": self.grant,
            "lasting": self.lasting,
            "optional": self.optional,
        }


def worst_first(found: tuple[Capability, ...]) -> list[Capability]:
    """Return them by state, the missing ones first; within a state in the order given."""
    return sorted(found, key=lambda capability: STATES.index(capability.state))
