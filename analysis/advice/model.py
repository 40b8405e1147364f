"""The result of a race as data: the case to take, its gain, what was ruled out, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.advice.gain import Gain
from analysis.advice.lines import Line, Start
from analysis.objectives import Objective
from analysis.results.case import Case
from analysis.statistics.difference import Difference
from analysis.statistics.sample import Interval
from analysis.statistics.unlike import SlowRuns
from base.text import one_line
from configs.repetitions import Race
from configs.scheduling import CURRENT
from runners.records.placed_runs import PlacedRuns
from runners.records.race_state import Eliminated, RaceState

# Why a case that began was not compared with the reference.
NOT_COMPARED = ("failed", "cannot run", "not placed", "same threads")
# The parts of a case's name before its threads and mapping, and after.
_BEFORE = ("app", "variant", "size")
_AFTER = ("schedule", "wait_policy", "governor", "scheduling")


@dataclass(frozen=True)
class Candidate:
    """A case that took part; `name` distinguishes it from the others of the race.

    `start` is how it starts the program, None when no record has it.
    """

    name: str
    summary: Case
    start: Start | None = None

    @property
    def case_id(self) -> str:
        """The case's digest."""
        return self.summary.key.case_id

    @property
    def runs(self) -> int:
        """How many of its runs are averaged."""
        return self.summary.n or 0

    @property
    def placed(self) -> PlacedRuns:
        """In how many of its runs threads were where they belong, and whether it is compared."""
        return self.summary.circumstances.placed


@dataclass(frozen=True)
class Confirmation:
    """The fresh pairs of runs of the best case and of the reference, compared.

    `difference` is the typical one in what is raced for, best / reference; None below two pairs.
    `gain` is its size, None below ten pairs and without spread. `slow_runs` are those of the best
    and of the reference, None where more is better. `other_objectives` has the typical differences
    in others that enough pairs measured.
    """

    pairs: int
    difference: Difference | None
    other_objectives: Mapping[Objective, Difference]
    gain: Gain | None = None
    slow_runs: tuple[SlowRuns, SlowRuns] | None = None

    @property
    def interval(self) -> Interval | None:
        """The interval of the typical ratio; None without any spread."""
        if self.gain:
            return self.gain.ratio
        return self.difference.known_interval() if self.difference else None


@dataclass(frozen=True)
class Elimination:
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

    `best` is the case that the confirmation compares with the `reference`, None without one.
    `eliminations` begin with the nearest to the best. `skipped` are the cases that the node cannot
    run, by reason. `points` are the cases whose time and energy were measured; without any
    `no_energy` says why. `lines` start the program as the recommended case, none for doing nothing.
    `next_command` continues the race. `warnings` are reasons to doubt the answer. `entrants` counts
    the cases that took part, `no_time` those without a run for lack of time, `runs_made` the
    recorded runs without warm-ups, `spent_s` the time of all. `for_now` says why the answer is
    provisional, as on a disturbed node; empty when it is not.
    """

    rule: Race
    state: RaceState
    reference: Candidate
    best: Candidate | None
    confirmation: Confirmation | None
    eliminations: tuple[Elimination, ...]
    skipped: Mapping[str, tuple[Candidate, ...]]
    points: tuple[Point, ...]
    no_energy: str
    lines: tuple[Line, ...]
    next_command: str
    why_no_reference: str
    warnings: tuple[str, ...]
    entrants: int
    no_time: int
    runs_made: int
    spent_s: float
    for_now: str = ""

    @property
    def difference(self) -> Difference | None:
        """The confirmed difference in what is raced for; None with too few runs."""
        return self.confirmation.difference if self.confirmation else None

    @property
    def compared(self) -> int:
        """How many cases were compared with the reference: those that began, and did not fail."""
        failed = sum(each.eliminated.why in NOT_COMPARED for each in self.eliminations)
        return max(0, self.entrants - 1 - self.no_time - failed)

    @property
    def recommended(self) -> Candidate | None:
        """The case to take; None when nothing is decided."""
        if self.state.decision == "gain":
            return self.best
        return self.reference if self.state.decision == "no gain" else None


def names_of(cases: Sequence[Case]) -> dict[str, str]:
    """Return the name of each case by its case_id: `8 threads, pcores-pin, schedule dynamic`."""
    facts = {
        case.key.case_id: case.key.table._asdict()
        | {"governor": case.key.governor, "scheduling": case.key.scheduling or CURRENT}
        for case in cases
    }
    differ = {
        name
        for name in (*_BEFORE, *_AFTER)
        if len({of_case[name] for of_case in facts.values()}) > 1
    }
    return {case.key.case_id: _name(case, facts[case.key.case_id], differ) for case in cases}


def _name(case: Case, facts: Mapping[str, str], differ: set[str]) -> str:
    before = " ".join(facts[name] for name in _BEFORE if name in differ)
    # A case under what is in force asks for nothing.
    after = [
        f"{name.replace('_', ' ')} {facts[name]}"
        for name in _AFTER
        if name in differ and facts[name] != CURRENT
    ]
    parts = [before, case.key.table.threads_in_words, case.key.full_mapping, *after]
    return one_line(", ".join(filter(None, parts)))
