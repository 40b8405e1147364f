"""The result of a race as data: the case to take, its gain, what was ruled out, and their names.

The race has decided by the pairs of its confirmation whether there is a gain. What it tells was
selected by that, so that its intervals are those of selected gains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pinstudy.analysis.advice.lines import Line, Start
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.node_files import cpus_of
from pinstudy.analysis.statistics.decision import tail_of_selected
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.sample import Interval, named_ends
from pinstudy.analysis.statistics.unlike import SlowRuns
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import one_line
from pinstudy.configs.repetitions import Race
from pinstudy.configs.settings import CURRENT, NAMES, settings_in_words
from pinstudy.runners.records.placed_runs import PlacedRuns
from pinstudy.runners.records.race.confirmation import EARLY_ALPHA, Means, typical_gain
from pinstudy.runners.records.race_state import Eliminated, RaceState

# Why a case that began was not compared with the reference.
NOT_COMPARED = ("failed", "cannot run", "not placed")
Outcome = Literal["worse", "undecided", "not compared"]
# Why an answer is to be taken with care, and the numbers of each:
AdviceCaveatCode = Literal[
    # most runs of the answer were disturbed: `count`, `runs`
    "mostly disturbed",
    # runs were disturbed, the names say by what: `count`
    "disturbed",
    # there are more threads than CPUs: `threads`, `cpus`
    "oversubscribed",
    # the runs had not the user's variables, which are the names
    "unset",
    # the governor or another setting, a name, has to be set first by the line in `text`
    "setting",
    # what the name says is loaded into the program of one of both cases
    "loaded",
    # a case, the name, lost runs to placement: `lost`, `runs`
    "placement",
    # a run differs from the next: `deviation`, a share
    "noise",
    # the runs were made in several attempts: `attempts`
    "attempts",
    # runs changed from first to last, or between attempts: `change`, `low`, `high`
    "drift",
    # runs were slow: `best`, `best_runs`, `reference`, `reference_runs`
    "slow runs",
]
# Nobody should paste the command without these.
MUST_KNOW = ("setting", "mostly disturbed", "oversubscribed", "unset")
# The parts of a case's name before its threads and mapping, and after.
_BEFORE = ("app", "build", "size")
_AFTER = ("schedule", "wait_policy", "governor")


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
    gain: ConfirmedGain | None = None
    slow_runs: tuple[SlowRuns, SlowRuns] | None = None

    @property
    def interval(self) -> Interval | None:
        """The interval of the typical ratio; None without any spread."""
        if self.gain:
            return self.gain.ratio
        return self.difference.known_interval() if self.difference else None


@dataclass(frozen=True)
class Elimination:
    """A candidate that was ruled out, and how it did against the best case.

    `ratio` is its typical value over the best one's, in the `pairs` of runs that both made in the
    same blocks of the race; None where there is no pair. Its `interval` has 95 % for all candidates
    together, and is None where the noise of a run is not known. `at_least`: its run was cut short,
    so that it is slower still.
    """

    candidate: Candidate
    eliminated: Eliminated
    outcome: Outcome
    pairs: int = 0
    ratio: float | None = None
    interval: Interval | None = None
    at_least: bool = False


@dataclass(frozen=True)
class AdviceCaveat:
    """A reason to take an answer with care: what it is about, in names, and its numbers."""

    code: AdviceCaveatCode
    names: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class CasePoint:
    """A case's mean time and energy over all its good runs."""

    candidate: Candidate
    time_s: float
    energy_j: float
    on_front: bool


@dataclass(frozen=True)
class Advice:
    """The answer of a race.

    `objective` is what is raced for. `best` is the case that the confirmation compares with the
    `reference`, None without one. `eliminations` begin with the nearest to the best. `skipped` are
    the cases that the node cannot run, by reason. `points` are the cases whose time and energy were
    measured; without any `no_energy` says why. `command` starts the program in the recommended way,
    `lines` do so by other tools; there are none to leave it as it is. `next_command` continues the
    race. `entrants` counts the cases that took part, `no_time` those without a run for lack of
    time, `runs_made` the recorded runs without warm-ups, `spent_s` the time of all. `trial_runs`
    are those behind the answer, of which `disturbed_runs` were disturbed.
    """

    rule: Race
    state: RaceState
    objective: Objective
    reference: Candidate
    best: Candidate | None
    confirmation: Confirmation | None
    eliminations: tuple[Elimination, ...]
    skipped: Mapping[str, tuple[Candidate, ...]]
    points: tuple[CasePoint, ...]
    no_energy: str
    command: str
    lines: tuple[Line, ...]
    next_command: str
    why_no_reference: str
    caveats: tuple[AdviceCaveat, ...]
    entrants: int
    no_time: int
    runs_made: int
    spent_s: float
    trial_runs: int
    disturbed_runs: int

    @property
    def limited_by(self) -> Literal["runs", "time_budget", ""]:
        """What ended the race before it was decided; empty where more would not decide it."""
        state, gain = self.state, self.confirmation.gain if self.confirmation else None
        may_hold = state.decision == "split" and gain and gain.mean > 0 and gain.typical.high > 0
        if state.decision != "undecided" and not may_hold:
            return ""
        # A confirmation continues by at least a pair of runs.
        if state.most_runs is not None and (
            self.rule.time_budget_s is None or state.runs + 2 > state.most_runs
        ):
            return "runs"
        return "time_budget"

    @property
    def gains(self) -> Interval | None:
        """The least and the greatest typical gain that the confirmation leaves possible, shares.

        An end of 0 is no gain. None where no interval is known.
        """
        ratio = self.confirmation.interval if self.confirmation else None
        if ratio is None:
            return None
        shares = [end - 1 if self.rule.higher else 1 - end for end in (ratio.low, ratio.high)]
        low, high = sorted(max(0.0, share) for share in shares)
        return Interval(low, high)

    @property
    def difference(self) -> Difference | None:
        """The confirmed difference in what is raced for; None with too few runs."""
        return self.confirmation.difference if self.confirmation else None

    @property
    def left_free(self) -> tuple[int, ...]:
        """The CPUs that the recommended case leaves to other programs, and the reference not."""
        if self.recommended is None or self.recommended.summary.key.binding == "none":
            return ()
        mine, now = (case.summary.key.cpus for case in (self.recommended, self.reference))
        return tuple(sorted(set(cpus_of(now)) - set(cpus_of(mine))))

    @property
    def compared(self) -> int:
        """How many cases were compared with the reference: those that began, and did not fail."""
        failed = sum(case.eliminated.why in NOT_COMPARED for case in self.eliminations)
        return max(0, self.entrants - 1 - self.no_time - failed)

    @property
    def recommended(self) -> Candidate | None:
        """The case that is shown to be the one to take; None when nothing is decided."""
        if self.state.decision == "gain":
            return self.best
        return self.reference if self.state.decision == "no gain" else None

    def caveat(self, code: AdviceCaveatCode) -> AdviceCaveat | None:
        """Return the caveat of a code; None where there is none."""
        return next((caveat for caveat in self.caveats if caveat.code == code), None)


def names_of(cases: Sequence[Case]) -> dict[str, str]:
    """Return the name of each case by its case_id: `8 threads, pcores-pin, schedule dynamic`."""
    facts = {
        case.key.case_id: case.key.table._asdict()
        | {"governor": case.key.governor}
        | {name: case.key.settings[name] for name in NAMES}
        for case in cases
    }
    differ = {
        name
        for name in (*_BEFORE, *_AFTER, *NAMES)
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
    asked = {name: value for name, value in case.key.settings.pairs if name in differ}
    settings = settings_in_words(asked)
    parts = [before, case.key.table.threads_in_words, case.key.full_mapping, *after, settings]
    return one_line(", ".join(filter(None, parts)))


@dataclass(frozen=True)
class ConfirmedGain:
    """Gains as logarithms: the interval of the typical one, that of the mean, and its least one.

    Of the gains that are told, the interval or the least gain is false in a share `level`, that of
    the analysis that ended the race. `higher` says that more is better.
    """

    typical: Interval
    mean: float
    least_mean: float
    level: float
    higher: bool = False

    @property
    def ratio(self) -> Interval:
        """The interval of the typical ratio of the best to the reference."""
        ends = (self.typical.low, self.typical.high)
        low, high = ends if self.higher else (-ends[1], -ends[0])
        return Interval(math.exp(low), math.exp(high))

    def share(self, gain: float) -> float:
        """Return a gain as a share of the reference."""
        return math.expm1(gain) if self.higher else -math.expm1(-gain)


def gain_of(
    best: Sequence[float], reference: Sequence[float], level: float, higher: bool
) -> ConfirmedGain:
    """Return the gain of ten pairs or more, given as logarithms of which less is better."""
    typical, means = typical_gain(best, reference), Means(best, reference, higher)
    low, high = typical.bounds(level)
    # What is told of both sizes is true together, so that each has half of the level. An early
    # analysis has so little of it that a selection needs no correction: it is in its wide interval.
    half, p, early = level / 2, means.p(), level <= EARLY_ALPHA
    if low > 0:
        tail = half / 2 if early else tail_of_selected(typical.p, level / 2, half / 2)
        low = max(0.0, typical.bounds(2 * tail)[0]) if tail else 0.0
        high = typical.bounds(half)[1]
    if p > level:
        return ConfirmedGain(Interval(low, high), means.gain, means.least_gain(half), level, higher)
    tail = half if early else tail_of_selected(p, level, half)
    least = max(0.0, means.least_gain(tail)) if tail else 0.0
    return ConfirmedGain(Interval(low, high), means.gain, least, level, higher)


def as_data(advice: Advice) -> dict[str, Any]:
    """Return the advice by names; None for what is not known."""
    state = advice.state
    return {
        "decision": state.decision,
        "command": advice.command or None,
        "objective": advice.rule.of,
        "region": advice.rule.region,
        "better": "higher" if advice.rule.higher else "lower",
        "margin": advice.rule.margin,
        "quiet": {"runs": advice.trial_runs, "runs_disturbed": advice.disturbed_runs},
        "cpus_left_free": format_cpulist(advice.left_free) or None,
        "recommended": _candidate_data(advice.recommended),
        "reference": _candidate_data(advice.reference),
        "best": _candidate_data(advice.best),
        "confirmation": _confirmation_data(advice),
        "cases": advice.entrants,
        "cases_without_time": advice.no_time,
        "runs": advice.runs_made,
        "most_runs": state.most_runs,
        "time_budget_s": advice.rule.time_budget_s,
        "spent_s": advice.spent_s,
        "blocks": state.blocks,
        "noise": state.noise,
        "eliminated": list(map(_elimination_data, advice.eliminations)),
        "skipped": [
            _case_data(candidate) | {"reason": reason}
            for reason, candidates in advice.skipped.items()
            for candidate in candidates
        ],
        "time_and_energy": list(map(_point_data, advice.points)),
        "no_energy": advice.no_energy or None,
        "lines": [{"tool": line.tool, "line": line.text} for line in advice.lines if line.text],
        "next_command": advice.next_command,
        "limited_by": advice.limited_by or None,
        "no_reference": advice.why_no_reference or None,
        "caveats": [
            {
                "code": caveat.code,
                "names": list(caveat.names),
                "numbers": dict(caveat.numbers),
                "command": caveat.text or None,
            }
            for caveat in advice.caveats
        ],
    }


def _case_data(candidate: Candidate) -> dict[str, Any]:
    case = candidate.summary
    return {
        "case_id": candidate.case_id,
        "name": candidate.name,
        "table_number": case.key.table.number,
        "case_number": case.key.number,
        "ranks": case.key.table.ranks,
        "threads": case.key.table.threads,
        "mapping": case.key.mapping,
        "binding": case.key.binding,
        "schedule": case.key.table.schedule,
        "wait_policy": case.key.table.wait_policy,
        "governor": case.key.governor,
        "settings": case.key.settings.asked or None,
        "runs": candidate.runs,
        "runs_proved": candidate.placed.proved,
        "runs_unproved": candidate.placed.unproved,
        "runs_violated": candidate.placed.violated,
    }


def _candidate_data(candidate: Candidate | None) -> dict[str, Any] | None:
    if candidate is None:
        return None
    start = candidate.start
    if start is None:
        return _case_data(candidate)
    return _case_data(candidate) | {
        "cpus": format_cpulist(start.mask),
        "cpus_by_thread": list(start.cpus) if start.binding == "pin" else None,
        "program": list(start.program),
    }


def _confirmation_data(advice: Advice) -> dict[str, Any] | None:
    confirmation = advice.confirmation
    if confirmation is None:
        return None
    bounds, gain = advice.gains, confirmation.gain
    return {
        "runs_of_best": confirmation.pairs,
        "runs_of_reference": confirmation.pairs,
        "level": advice.state.level,
        "looks": advice.state.looks,
        "p": advice.state.p,
        "ratio": _difference(confirmation.difference, confirmation.interval),
        "least_gain": bounds.low if bounds else None,
        "most_gain": bounds.high if bounds else None,
        "mean_gain": gain.share(gain.mean) if gain else None,
        "least_mean_gain": gain.share(gain.least_mean) if gain else None,
        "other_objectives": {
            objective: _difference(difference, difference.known_interval())
            for objective, difference in confirmation.other_objectives.items()
        },
    }


def _difference(
    difference: Difference | None, interval: Interval | None
) -> Mapping[str, Any] | None:
    """Return a typical ratio best / reference and its interval, which needs spread."""
    if difference is None:
        return None
    return {"ratio": difference.ratio, **named_ends("ratio", interval), "df": difference.df}


def _elimination_data(elimination: Elimination) -> dict[str, Any]:
    eliminated = elimination.eliminated
    return _case_data(elimination.candidate) | {
        "outcome": elimination.outcome,
        "why": eliminated.why,
        "after_block": eliminated.block,
        "pairs": elimination.pairs,
        "ratio": elimination.ratio,
        **named_ends("ratio", elimination.interval),
        "at_least": elimination.at_least,
        "reason": eliminated.reason or None,
    }


def _point_data(point: CasePoint) -> dict[str, Any]:
    return {
        "case_id": point.candidate.case_id,
        "name": point.candidate.name,
        "runs": point.candidate.runs,
        "time_mean_s": point.time_s,
        "energy_mean_j": point.energy_j,
        "on_front": point.on_front,
    }
