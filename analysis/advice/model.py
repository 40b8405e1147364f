"""The result of a race as data: the case to take, its gain, what was ruled out, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.advice.lines import Line, Start
from analysis.objectives import Objective
from analysis.results.case_summary import CaseSummary
from analysis.statistics.difference import Difference
from base.text import one_line, plural
from configs.repetitions import Race
from configs.study import CURRENT_GOVERNOR
from runners.race.state import Eliminated, RaceState
from runners.records.placed_runs import PlacedRuns

# Why a case that began was not compared with the reference.
NOT_COMPARED = ("failed", "cannot run", "not placed", "same threads")
# What tells the cases of a race apart: before their threads and mapping, and after.
_BEFORE = ("app", "variant", "size")
_AFTER = ("schedule", "wait_policy", "governor")


@dataclass(frozen=True)
class Candidate:
    """A case that took part; `name` has what tells it from the others of the race.

    `start` is how it starts the program, None when no record tells it.
    """

    name: str
    summary: CaseSummary
    start: Start | None = None

    @property
    def case_id(self) -> str:
        """The case's digest."""
        return self.summary.case_id

    @property
    def runs(self) -> int:
        """How many of its runs are averaged."""
        return self.summary.n or 0

    @property
    def placed(self) -> PlacedRuns:
        """In how many of its runs threads were where they belong, and whether it is compared."""
        return self.summary.placed


@dataclass(frozen=True)
class Trial:
    """The fresh runs of the best case and of the reference, compared.

    `difference` compares what is raced for, best / reference; None with too few runs. `beside` has
    the other objectives that enough runs measured. `of_best` and `of_reference` count the runs.
    """

    of_best: int
    of_reference: int
    difference: Difference | None
    beside: Mapping[Objective, Difference]


@dataclass(frozen=True)
class Out:
    """A candidate that was ruled out, with the race's reason."""

    candidate: Candidate
    eliminated: Eliminated


@dataclass(frozen=True)
class Point:
    """A case's mean time and package energy over all its good runs."""

    candidate: Candidate
    time_s: float
    energy_j: float
    on_front: bool


@dataclass(frozen=True)
class Advice:
    """The answer of a race.

    `best` is the case that is, or is to be, tried against the `reference`; None where there is
    none. `outs` are those ruled out, the nearest to the best first. `left_out` are cases that the
    node cannot do, by reason. `points` are the cases of which time and energy were measured, where
    `no_energy` is empty. `lines` start the program as the recommended case does, none where that is
    to do nothing. `again` is the command that continues the race. `warnings` say where what was
    assumed does not hold. `entrants` counts the cases that took part, `no_time` those of them for
    which there was no time, `made` the runs on record without warm-up runs, `spent_s` what all of
    them took. `for_now` says why the answer is one for now, as on a disturbed node; empty when it
    is not.
    """

    rule: Race
    standing: RaceState
    reference: Candidate
    best: Candidate | None
    trial: Trial | None
    outs: tuple[Out, ...]
    left_out: Mapping[str, tuple[Candidate, ...]]
    points: tuple[Point, ...]
    no_energy: str
    lines: tuple[Line, ...]
    again: str
    why_no_reference: str
    warnings: tuple[str, ...]
    entrants: int
    no_time: int
    made: int
    spent_s: float
    for_now: str = ""

    @property
    def difference(self) -> Difference | None:
        """The trial's difference in what is raced for; None without one, or with too few runs."""
        return self.trial.difference if self.trial else None

    @property
    def compared(self) -> int:
        """How many cases were compared with the reference: those that began, and did not fail."""
        failed = sum(out.eliminated.why in NOT_COMPARED for out in self.outs)
        return max(0, self.entrants - 1 - self.no_time - failed)

    @property
    def recommended(self) -> Candidate | None:
        """The case to take; None when nothing is decided."""
        if self.standing.decision == "gain":
            return self.best
        return self.reference if self.standing.decision == "no gain" else None


def names_of(cases: Sequence[CaseSummary]) -> dict[str, str]:
    """Return the name of each case by its case_id: `8 threads, pcores-pin, schedule dynamic`."""
    facts = {case.case_id: case.table._asdict() | {"governor": case.governor} for case in cases}
    differ = {
        name
        for name in (*_BEFORE, *_AFTER)
        if len({of_case[name] for of_case in facts.values()}) > 1
    }
    return {case.case_id: _name(case, facts[case.case_id], differ) for case in cases}


def _name(case: CaseSummary, facts: Mapping[str, str], differ: set[str]) -> str:
    before = " ".join(facts[name] for name in _BEFORE if name in differ)
    # A case under the governor in force asks for none.
    after = [
        f"{name.replace('_', ' ')} {facts[name]}"
        for name in _AFTER
        if name in differ and facts[name] != CURRENT_GOVERNOR
    ]
    parts = [before, plural(case.table.threads, "thread"), case.mapping, *after]
    return one_line(", ".join(filter(None, parts)))
