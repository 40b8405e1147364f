"""The program pins its threads itself, as its app's `placement.pin` asks it to."""

from __future__ import annotations

from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms.base import Mechanism, Words, instead


class Program(Mechanism):
    """An option of the program with a CPU a thread."""

    name = "program"
    launcher = "taskset"

    def refusal(self, case: Case) -> str | None:
        if not (case.app.placement and case.app.placement.pin):
            return f"{case.app.name} cannot pin its threads itself; {instead(case)}"
        return None

    def arguments(self, case: Case) -> Words:
        return case.app.placement.pin if case.app.placement else ()
