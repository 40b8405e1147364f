"""Clauses on mechanisms whose work at start-up is part of the program's measured time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.findings import CaseFinding
from analysis.verdict.phrases import name, names
from configs.mapping import WITHIN_THE_RUN


def start_up(facts: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """Return what differs in how two cases start, as a clause; empty where nothing does."""
    mine, theirs = (_within(of) for of in (facts, others))
    if mine == theirs:
        return ""
    which = f"{mine} is loaded into it" if mine else f"{theirs} is loaded into the other"
    return f"{which}, and what that does at start and for each thread is in the numbers"


def start_ups(cases: Sequence[CaseFinding], baseline: CaseFinding) -> str:
    """Say which cases start otherwise than their baseline; empty where none does."""
    unlike = [case for case in cases if _within(case.facts) != _within(baseline.facts)]
    if not unlike:
        return ""
    tools = {_within(case.facts) or _within(baseline.facts) for case in unlike}
    return (
        f"Between {name(baseline)} and {names(unlike)} the start differs as well: "
        f"{' and '.join(sorted(tools))} is loaded into the program, and what that does at start "
        "and for each thread is in the numbers."
    )


def _within(facts: Mapping[str, Any]) -> str:
    """Return the mechanism that does a part of its work within the program's time, or nothing."""
    mechanism = facts.get("mechanism")
    return str(mechanism) if mechanism in WITHIN_THE_RUN else ""
