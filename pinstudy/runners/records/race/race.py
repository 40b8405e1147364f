"""A race: its samples, and from its runs so far to the next block and to its state. Pure.

Successive halving (Karnin et al., "Almost optimal exploration in multi-armed bandits", 2013;
Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
2016): rounds of about as many runs each, after each of which the slower half of the cases makes no
more. Fresh pairs of runs then compare the case that is left with the reference. Everything is
decided at the end of a block from the runs alone, so that a resumed race decides as it did before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, exp, inf, log, log1p, log2, sqrt
from statistics import fmean, variance

from pinstudy.base.text import plural
from pinstudy.base.units import duration
from pinstudy.configs.repetitions import MAX_RACE_RUNS, RACE_REPETITIONS
from pinstudy.configs.repetitions import Race as Rule
from pinstudy.runners.records.placed_runs import UNPROVED, VIOLATED, PlacedRuns
from pinstudy.runners.records.race.confirmation import (
    MIN_PAIRS,
    InterimAnalysis,
    Typical,
    analyse,
    is_analysed,
)
from pinstudy.runners.records.race_state import OVERHEAD_S, Eliminated, Key, RaceRun, RaceState


@dataclass(frozen=True)
class Value:
    """A good run's value as a logarithm, less is better."""

    block: int
    repetition: int
    number: float


def took(run: RaceRun) -> float:
    """Return the seconds of a run with its overhead, estimated where it was not recorded."""
    return max(run.took_s, run.elapsed_s + OVERHEAD_S)


@dataclass
class RaceSamples:
    """The runs of a race; with `higher`, higher values are better."""

    higher: bool
    runs: int = 0
    spent_s: float = 0.0
    _values: dict[str, list[Value]] = field(default_factory=dict)
    _times: dict[str, list[float]] = field(default_factory=dict)
    _took: dict[str, list[float]] = field(default_factory=dict)
    _run_counts: dict[str, int] = field(default_factory=dict)
    _placed: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, case_id: str, block: int, repetition: int, run: RaceRun) -> None:
        """Add a run of a block."""
        self.runs += 1
        self._run_counts[case_id] = repetition
        # Good runs, and those whose only fault is their placement.
        if run.placed and (run.value is not None or run.placed == VIOLATED):
            self._placed.setdefault(case_id, Counter())[run.placed] += 1
        self.add_time(case_id, run)
        if run.value is not None:
            number = -log(run.value) if self.higher else log(run.value)
            self._values.setdefault(case_id, []).append(Value(block, repetition, number))

    def add_time(self, case_id: str, run: RaceRun) -> None:
        """Add the time of a run, which may be a warm-up run."""
        took_s = took(run)
        self.spent_s += took_s
        if run.elapsed_s > 0:
            self._took.setdefault(case_id, []).append(took_s)
            self._times.setdefault(case_id, []).append(run.elapsed_s)

    def run_count(self, case_id: str) -> int:
        """Return how many runs a case has made, good or not."""
        return self._run_counts.get(case_id, 0)

    def placed(self, case_id: str) -> PlacedRuns:
        """Return how many of a case's runs had their placement proved, unproved and violated."""
        return PlacedRuns(**self._placed.get(case_id, Counter()))

    def values(self, case_id: str) -> Sequence[Value]:
        """Return a case's values, in the order of its runs."""
        return self._values.get(case_id, [])

    def typical(self, case_id: str) -> Typical:
        """Return a case's typical logarithm; it has one value at least."""
        return Typical.of(value.number for value in self.values(case_id))

    def rank(self, case_id: str) -> float:
        """Return what cases are ranked by: the typical value and its standard error.

        The error prefers the steadier of two cases that cannot be told apart; two values have none
        to speak of. Infinite without a value.
        """
        if not self.values(case_id):
            return inf
        typical = self.typical(case_id)
        return typical.mean + (typical.error if len(self.values(case_id)) > 2 else 0.0)

    def one_s(self, case_id: str) -> float:
        """Return the mean seconds of a case's runs with their overhead, 0 when unknown."""
        times = self._took.get(case_id, [])
        return fmean(times) if times else 0.0

    def shortest_s(self) -> float | None:
        """Return the seconds of the shortest run of all; None before there is one."""
        return min(map(min, self._times.values()), default=None)

    def noise(self) -> float | None:
        """Return the deviation of one value, pooled over cases; None without two of any."""
        several = [[run.number for run in runs] for runs in self._values.values() if len(runs) > 1]
        df = sum(len(numbers) - 1 for numbers in several)
        squares = sum((len(numbers) - 1) * variance(numbers) for numbers in several)
        return sqrt(squares / df) if df else None


# The confirmation has the pairs that it needs, and at least this share of what one run of each case
# leaves of runs and time.
CONFIRMATION_SHARE = 0.5
# A race may make a third of the runs of a study that repeats every case RACE_REPETITIONS times, and
# at least so many,
FULL_SHARE = 3
FEWEST_RUNS = 30
# and these for the confirmation: of 50 pairs, rare slow runs may hide a gain of 2 %.
CONFIRMATION_RUNS = 100
# Short runs vary more, so a race may make as many as take this time.
SHORT_S = 10.0
MAX_SHORT_RUNS = 1000


class Race:
    """Follows a race block by block: `next_block` returns the runs to make, `take` adds them."""

    def __init__(
        self, entrants: Sequence[str], rule: Rule, warmups: Iterable[RaceRun] = ()
    ) -> None:
        """`entrants` are case_ids, the reference first; `warmups` are its warm-up runs."""
        self.reference = entrants[0]
        self._cases = len(entrants)
        self._alive = list(entrants[1:])
        self._rule = rule
        self._margin = log1p(rule.margin)
        self._samples = RaceSamples(rule.higher)
        self._decision = "unfinished"
        self.eliminated: list[Eliminated] = []
        self._best: str | None = None
        # The block after which the best was taken, and the latest interim analysis.
        self._taken_after = 0
        self._latest = InterimAnalysis("")
        self._looks = self._blocks = 0
        # The block with which the round of the halving ends.
        self._round_ends = 1
        warmups = list(warmups)
        for run in warmups:
            self._samples.add_time(self.reference, run)
        failed = any(run.reason for run in warmups)
        if failed or (len(warmups) > 1 and not any(map(is_placed, warmups))):
            self._decision = "no reference"
        self._reference_s = self._samples.one_s(self.reference)
        self.most_runs = most_runs(rule, len(entrants), self._reference_s)
        self._eliminate_beyond_room()
        if self._decision == "unfinished":
            self._start_round()

    def next_block(self) -> list[Key]:
        """Return the runs of the next block, in no order; nothing when the race has ended."""
        if self._decision != "unfinished":
            return []
        if self._best:
            running = [self._best, self.reference]
        else:
            # One run shows that the reference works; the halving is among the others.
            running = [self.reference, *self._alive] if self._blocks == 0 else self._again()
        return [(case_id, self._samples.run_count(case_id) + 1) for case_id in running]

    def take(self, block: Iterable[Key], runs: Mapping[Key, RaceRun]) -> None:
        """Add a block's runs; a case without a run in `runs` could not run, and is eliminated."""
        self._blocks += 1
        # Always in the same order, so that sums round alike.
        results = [(key, runs.get(key)) for key in sorted(block)]
        for (case_id, repetition), run in results:
            if run is not None:
                self._samples.add(case_id, self._blocks, repetition, run)
        for (case_id, _), run in results:
            self._check_run(case_id, run)
        if self._decision == "unfinished":
            self._analyse_confirmation(self._best) if self._best else self._end_block()

    def state(self) -> RaceState:
        """Return how the race stands."""
        return RaceState(
            decision=self._decision,
            reference=self.reference,
            best=self._best,
            eliminated=tuple(self.eliminated),
            confirmation={
                case_id: tuple(value.repetition for value in values)
                for case_id, values in (self._pairs(self._best) if self._best else {}).items()
            },
            p=self._latest.p,
            level=self._latest.level,
            looks=self._looks,
            blocks=self._blocks,
            runs=self._samples.runs,
            most_runs=self.most_runs,
            spent_s=self._samples.spent_s,
            noise=self._samples.noise(),
        )

    @property
    def expected_runs(self) -> int:
        """How many runs there will be at most, as far as is known."""
        return expected_runs(self._rule, self._cases, self._reference_s)

    def _check_run(self, case_id: str, run: RaceRun | None) -> None:
        """Eliminate a case that could not run, or whose run is bad by the case's own fault."""
        if run is None:
            self._remove(Eliminated(case_id, self._blocks, "cannot run"))
        elif run.cut:
            shortest_s = self._samples.shortest_s()
            behind = run.elapsed_s / shortest_s - 1 if shortest_s else None
            self._remove(Eliminated(case_id, self._blocks, "cut", behind, reason=run.reason))
        elif run.value is None and run.reason:
            self._remove(Eliminated(case_id, self._blocks, "failed", reason=run.reason))
        elif (placed := self._samples.placed(case_id)).lost > 1 and not placed.usable:
            self._remove(Eliminated(case_id, self._blocks, "not placed", reason=placed.summary))

    def _remove(self, case: Eliminated) -> None:
        """Take a case out of the race, which ends if it is the reference."""
        if case.case_id == self.reference:
            self._decision = "no reference"
        elif case.case_id in self._alive:
            self._alive.remove(case.case_id)
            self.eliminated.append(case)
        if case.case_id == self._best:
            self._best, self._latest = None, InterimAnalysis("")

    def _again(self) -> list[str]:
        """Return which cases make a run in the round's next block; none where it has ended.

        All of them, then those whose runs were disturbed until none is without a value.
        """
        if self._blocks < self._round_ends:
            return self._alive
        return [case_id for case_id in self._alive if not self._samples.values(case_id)]

    def _end_block(self) -> None:
        """Halve the cases where the round is at its end, or where there is no room for a block."""
        slower = [case for case in self.eliminated if case.why == "slower"]
        if slower and not self._alive:
            # Those before it went by their own fault: it is the next of the ranking.
            self.eliminated.remove(slower[-1])
            self._alive = [slower[-1].case_id]
        while len(self._alive) > 1:
            if self._room() >= len(self._alive) and self._again():
                return
            self._drop_slower_half()
            self._start_round()
        if not self._alive:
            placed = self._samples.placed(self.reference).usable
            known = self._samples.values(self.reference)
            self._decision = ("no gain" if placed else "undecided") if known else "no reference"
        elif not self._has_room_for_pair(self._alive[0]):
            self._take_best()
            self._decision = "undecided"
        elif self._samples.values(self._alive[0]):
            self._take_best()

    def _take_best(self) -> None:
        (self._best,) = self._alive
        self._taken_after = self._blocks

    def _start_round(self) -> None:
        """Share what is left of the race's runs evenly over the rounds to come."""
        rounds = max(1, ceil(log2(max(1, len(self._alive)))))
        blocks = self._room() / (rounds * max(1, len(self._alive)))
        self._round_ends = self._blocks + max(1, round(min(blocks, MAX_RACE_RUNS)))

    def _drop_slower_half(self) -> None:
        ranked = sorted(self._alive, key=self._samples.rank)
        for case_id in reversed(ranked[ceil(len(ranked) / 2) :]):
            behind = None
            if self._samples.values(case_id):
                best, typical = map(self._samples.typical, (ranked[0], case_id))
                behind = exp(typical.mean - best.mean) - 1
            self._remove(Eliminated(case_id, self._blocks, "slower", behind))

    def _analyse_confirmation(self, best: str) -> None:
        last, made = not self._has_room_for_pair(best), self._blocks - self._taken_after
        if not last and not is_analysed(made, self._looks):
            return
        pairs = self._pairs(best)
        mine, other = ([value.number for value in pairs[case]] for case in (best, self.reference))
        if not last and not is_analysed(len(mine), self._looks):
            return
        interim = analyse(
            mine, other, self._margin, self._looks, last=last, higher=self._rule.higher
        )
        if interim.level is not None:
            self._looks += 1
            self._latest = interim
        self._decision = interim.decision or "unfinished"
        if interim.decision and not all(
            self._samples.placed(case_id).usable for case_id in (best, self.reference)
        ):
            # Too many runs are not placed; more runs may bring their share below the limit.
            self._decision = "undecided" if last else "unfinished"

    def _pairs(self, best: str) -> Mapping[str, Sequence[Value]]:
        """Return the values of the best and of the reference in the blocks since it was taken.

        Only blocks in which both have one count.
        """
        values = {
            case_id: {
                value.block: value
                for value in self._samples.values(case_id)
                if value.block > self._taken_after
            }
            for case_id in (best, self.reference)
        }
        blocks = sorted(values[best].keys() & values[self.reference].keys())
        return {case_id: [found[block] for block in blocks] for case_id, found in values.items()}

    def _room(self) -> float:
        """Return how many more runs the halving may make, so that a confirmation has its share."""
        time_budget_s, samples = self._rule.time_budget_s, self._samples
        room = inf
        if self.most_runs is not None:
            share = CONFIRMATION_SHARE * (self.most_runs - self._cases)
            least = 2 * MIN_PAIRS if self._rule.runs else CONFIRMATION_RUNS
            room = self.most_runs - max(least, ceil(share)) - samples.runs
        else:
            room = RACE_REPETITIONS * self._cases - samples.runs
        one_s = max(map(samples.one_s, self._alive), default=0.0) or self._reference_s
        if time_budget_s is not None and one_s:
            first_s = self._reference_s * self._cases
            reserved_s = max(CONFIRMATION_SHARE * (time_budget_s - first_s), 2 * MIN_PAIRS * one_s)
            room = min(room, (time_budget_s - reserved_s - samples.spent_s) / one_s)
        return room

    def _has_room_for_pair(self, best: str) -> bool:
        pair_s = sum(map(self._samples.one_s, (best, self.reference)))
        has_runs = self.most_runs is None or self._samples.runs + 2 <= self.most_runs
        time_budget_s = self._rule.time_budget_s
        return has_runs and (
            time_budget_s is None or self._samples.spent_s + pair_s <= time_budget_s
        )

    def _eliminate_beyond_room(self) -> None:
        """Eliminate the last, least promising cases until there is room for a confirmation."""
        room = self._cases * RACE_REPETITIONS if self.most_runs is None else self.most_runs
        if self._rule.time_budget_s is not None and self._reference_s:
            left_s = self._rule.time_budget_s - self._samples.spent_s
            room = min(room, int(left_s / self._reference_s))
        for case_id in self._alive[max(1, room - 2 * MIN_PAIRS - 1) :]:
            self._remove(Eliminated(case_id, 0, "no time"))


def is_placed(run: RaceRun) -> bool:
    """Return whether a run's placement is proved or unknown."""
    return run.placed not in (UNPROVED, VIOLATED)


def replay(
    entrants: Sequence[str], rule: Rule, runs: Mapping[Key, RaceRun], skipped: Collection[Key] = ()
) -> RaceState:
    """Return the state of a race after these runs.

    `entrants` are case_ids, the reference first. `skipped` are runs that could not be made.
    """
    race = Race(entrants, rule, warmup_runs(entrants[0], runs))
    while block := race.next_block():
        if any(key not in runs and key not in skipped for key in block):
            break
        race.take(block, runs)
    return race.state()


def warmup_runs(reference: str, runs: Mapping[Key, RaceRun]) -> list[RaceRun]:
    """Return the reference's warm-up runs, in their order."""
    keys = [key for key in runs if key[0] == reference and key[1] < 0]
    return [runs[key] for key in sorted(keys, key=lambda key: -key[1])]


def most_runs(rule: Rule, cases: int, one_s: float = 0.0) -> int | None:
    """Return how many runs a race of so many cases may make, beside warm-up runs.

    `one_s` is the seconds of a run of the reference, 0 when unknown. None where time alone limits.
    """
    if isinstance(rule.runs, int):
        return rule.runs
    return None if rule.timed else _few_runs(cases, one_s)


def expected_runs(rule: Rule, cases: int, one_s: float) -> int:
    """Return about how many runs a race may make, also where time alone limits it."""
    most = most_runs(rule, cases, one_s)
    if most is not None:
        return most
    if rule.time_budget_s is None or not one_s:
        return _few_runs(cases, one_s)
    return min(MAX_RACE_RUNS, int(rule.time_budget_s / one_s))


def _few_runs(cases: int, one_s: float) -> int:
    short = min(MAX_SHORT_RUNS, int(SHORT_S / one_s)) if one_s else 0
    race = max(FEWEST_RUNS, cases * RACE_REPETITIONS // FULL_SHARE)
    return max(race + CONFIRMATION_RUNS, short)


def describe_limit(rule: Rule, cases: int) -> str:
    """Return in words how many runs a race of so many cases may make."""
    most = most_runs(rule, cases)
    if most is None:
        return f"as many runs as fit into {duration(rule.time_budget_s)}"
    runs = f"at most {plural(most, 'run')}"
    return runs if rule.runs else f"{runs}, or as many as take {SHORT_S:g} s"
