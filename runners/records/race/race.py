"""A race: from its runs so far to the next block, and to its state. Pure.

All cases make a run, and those that are far behind make no more. The others go on, block by block,
until one may be taken for the best, or until the rest is reserved for the confirmation. Fresh pairs
of runs then compare the best with the reference. Everything is decided at the end of a block from
the runs alone, so that a resumed race decides as it did before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil, exp, log1p

from base.text import plural
from base.units import duration
from configs.repetitions import MAX_RACE_RUNS, RACE_REPETITIONS
from configs.repetitions import Race as Rule
from runners.records.placed_runs import PROVED, UNPROVED, VIOLATED
from runners.records.race.confirmation import MIN_PAIRS, InterimAnalysis, analyse, is_analysed
from runners.records.race.elimination import (
    Worse,
    far_behind,
    may_be_taken,
    upper_bound_of_mean,
    worse_cases,
)
from runners.records.race.samples import RaceSamples, Value
from runners.records.race.student_t import Moments
from runners.records.race_state import BY_COMPARISON, Eliminated, Key, RaceRun, RaceState

# The confirmation has the pairs that it needs, and at least this share of what the first block
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
# Where time alone limits a race of short runs, there are many blocks. Up to this one an analysis
# follows each, then once they have grown by a share of one in so many: it reads all runs again.
ANALYSES_EACH = 16


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
        self._looks = self._blocks = self._first_runs = 0
        self._first_spent_s = 0.0
        # The numbers of threads that a run of the reference was to start, and that it started.
        self._team = (0, 0)
        # Cases whose only run so far was disturbed.
        self._in_doubt: set[str] = set()
        warmups = list(warmups)
        for run in warmups:
            self._samples.add_time(self.reference, run)
            self._note_team(run)
            if run.reason:
                self._decision = "no reference"
        if len(warmups) > 1 and not any(is_placed(run) for run in warmups):
            self._decision = "no reference"
        one_s = self._samples.one_s(self.reference)
        self.most_runs = most_runs(rule, len(entrants), one_s)
        self._eliminate_beyond_room()

    def next_block(self) -> list[Key]:
        """Return the runs of the next block, in no order; nothing when the race has ended."""
        if self._decision != "unfinished":
            return []
        running = [self._best, self.reference] if self._best else self._running
        return [(case_id, self._samples.run_count(case_id) + 1) for case_id in running]

    def take(self, block: Iterable[Key], runs: Mapping[Key, RaceRun]) -> None:
        """Add a block's runs; a case without a run in `runs` could not run, and is eliminated."""
        self._blocks += 1
        # Always in the same order, so that sums round alike.
        results = [(key, runs.get(key)) for key in sorted(block)]
        for (case_id, repetition), run in results:
            if run is not None:
                self._samples.add(case_id, self._blocks, repetition, run)
                if case_id == self.reference:
                    self._note_team(run)
                if run.disturbed and repetition == 1:
                    self._in_doubt.add(case_id)
                else:
                    self._in_doubt.discard(case_id)
        for (case_id, _), run in results:
            self._check_run(case_id, run)
        if self._blocks == 1:
            self._first_runs, self._first_spent_s = self._samples.runs, self._samples.spent_s
        if self._decision == "unfinished":
            self._analyse_confirmation(self._best) if self._best else self._analyse_race()

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
        one_s = self._samples.one_s(self.reference)
        return expected_runs(self._rule, self._cases, one_s)

    @property
    def _running(self) -> list[str]:
        return [self.reference, *self._alive]

    def _check_run(self, case_id: str, run: RaceRun | None) -> None:
        """Eliminate a case that could not run, or whose run is bad by the case's own fault."""
        if run is None:
            self._remove(Eliminated(case_id, self._blocks, "cannot run"))
        elif self._starts_same_team(run):
            self._eliminate_same_team(case_id, run)
        elif run.cut and case_id in self._in_doubt:
            return
        elif run.cut:
            shortest_s = self._samples.shortest_s()
            behind = run.elapsed_s / shortest_s - 1 if shortest_s else None
            self._remove(Eliminated(case_id, self._blocks, "far worse", behind, reason=run.reason))
        elif run.value is None and run.reason:
            self._remove(Eliminated(case_id, self._blocks, "failed", reason=run.reason))
        elif (placed := self._samples.placed(case_id)).lost > 1 and not placed.usable:
            self._remove(Eliminated(case_id, self._blocks, "not placed", reason=placed.summary))

    def _note_team(self, run: RaceRun) -> None:
        if run.placed == PROVED and run.started:
            self._team = run.requested, run.started

    def _starts_same_team(self, run: RaceRun) -> bool:
        """Return whether a run starts as many threads as the reference with another request."""
        requested, started = self._team
        seen = run.placed in (PROVED, VIOLATED) and run.started == started
        return seen and started > 0 and run.requested != requested

    def _eliminate_same_team(self, case_id: str, run: RaceRun) -> None:
        """Eliminate a case that starts as many threads as the reference, whatever was requested.

        There is no reference if it starts another number than was requested, too.
        """
        requested, started = self._team
        if requested != started:
            self._decision = "no reference"
        else:
            asked = f"{run.requested} {'was' if run.requested == 1 else 'were'} requested"
            reason = f"{plural(run.started, 'thread')}, where {asked}"
            self._remove(Eliminated(case_id, self._blocks, "same threads", reason=reason))

    def _remove(self, case: Eliminated) -> None:
        """Take a case out of the race, which ends if it is the reference."""
        if case.case_id == self.reference:
            self._decision = "no reference"
        elif case.case_id in self._alive:
            self._alive.remove(case.case_id)
            self.eliminated.append(case)
            if case.why not in BY_COMPARISON:
                self._let_back(case.case_id)
            if case.case_id == self._best:
                self._best, self._latest = None, InterimAnalysis("")

    def _let_back(self, gone: str) -> None:
        """Let cases race again that were eliminated beside a best one that is out by its fault.

        Those that were told from it, and did no better than the reference, stay out.
        """
        values = self._samples.values
        if not values(gone) or any(
            values(case_id) and self._mean(case_id) < self._mean(gone) for case_id in self._alive
        ):
            return
        back = [
            one
            for one in self.eliminated
            if one.why == "not best"
            or (one.why in BY_COMPARISON and self._promises_gain(one.case_id))
        ]
        self.eliminated = [one for one in self.eliminated if one not in back]
        self._alive += [one.case_id for one in back]

    def _promises_gain(self, case_id: str) -> bool:
        """Return whether the runs of a case are better than the reference's on average."""
        known = all(map(self._samples.values, (case_id, self.reference)))
        return known and self._mean(case_id) < self._mean(self.reference)

    def _analyse_race(self) -> None:
        first = self._samples.first_values(self._running, self._blocks)
        # With enough runs for all cases, one run of each decides nothing.
        if first and self.expected_runs - CONFIRMATION_RUNS < self._cases * RACE_REPETITIONS:
            behind = far_behind(first)
            self._eliminate_worse(one for one in behind if one.case_id not in self._in_doubt)
        if self._is_analysed:
            field = self._samples.field(self._alive)
            if field:
                self._eliminate_worse(worse_cases(field, self._cases, self._blocks - 1))
            self._eliminate_worse_than_reference()
        if not self._alive:
            known = self._samples.values(self.reference)
            self._decision = "no gain" if known else "no reference"
            if known and not self._samples.placed(self.reference).usable:
                self._decision = "undecided"
        elif self._may_take_best():
            self._take_best()

    def _eliminate_worse(self, worse: Iterable[Worse]) -> None:
        """Eliminate cases, the furthest behind first; the last one left is tried all the same.

        So few runs would end the race on the strength of a rare slow one.
        """
        for one in sorted(worse, key=lambda one: -one.behind):
            if one.case_id != self.reference and len(self._alive) > 1:
                why = "far worse" if one.p is None else "worse"
                behind = exp(one.behind) - 1
                self._remove(Eliminated(one.case_id, self._blocks, why, behind, one.p))

    def _eliminate_worse_than_reference(self) -> None:
        """Compare each case with the reference alone, whose runs often vary most of all."""
        for case_id in list(self._alive):
            field = self._samples.field([self.reference, case_id])
            if field and field.best == self.reference:
                self._eliminate_worse(worse_cases(field, self._cases, self._blocks - 1))

    def _may_take_best(self) -> bool:
        if len(self._alive) == 1 and self._samples.values(self._alive[0]):
            return True
        field = self._samples.field(self._alive) if self._is_analysed else None
        if field and may_be_taken(field, self._margin):
            return True
        return not self._has_room_for_race()

    def _take_best(self) -> None:
        """Take the most promising case as the best; the others make no more runs."""
        numbers = self._samples.numbers
        best = min(self._alive, key=lambda case_id: upper_bound_of_mean(numbers(case_id)))
        if not self._samples.values(best):
            # No case has a good run, and there is no room for more runs.
            self._decision = "undecided"
            return
        mean = self._mean(best)
        for case_id in [case_id for case_id in self._alive if case_id != best]:
            known = bool(self._samples.values(case_id))
            behind = exp(self._mean(case_id) - mean) - 1 if known else None
            self._remove(Eliminated(case_id, self._blocks, "not best", behind))
        self._best, self._taken_after = best, self._blocks
        if not self._has_room_for_pair(best):
            self._decision = "undecided"

    @property
    def _is_analysed(self) -> bool:
        """Whether an analysis of all running cases follows this block."""
        return not self._rule.timed or self._blocks % max(1, self._blocks // ANALYSES_EACH) == 0

    def _mean(self, case_id: str) -> float:
        return Moments.of(self._samples.numbers(case_id)).mean

    def _analyse_confirmation(self, best: str) -> None:
        last, made = not self._has_room_for_pair(best), self._blocks - self._taken_after
        if not last and not is_analysed(made, self._looks):
            return
        pairs = self._pairs(best)
        mine, other = ([value.number for value in pairs[of]] for of in (best, self.reference))
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
        return {case_id: [of[block] for block in blocks] for case_id, of in values.items()}

    def _has_room_for_race(self) -> bool:
        """Return whether one more block of all running cases leaves enough for a confirmation."""
        one_s, within_s = self._samples.one_s, self._rule.within_s
        reserved_s = MIN_PAIRS * (one_s(self.reference) + min(map(one_s, self._alive)))
        if within_s is not None:
            share_s = CONFIRMATION_SHARE * (within_s - self._first_spent_s)
            reserved_s = max(reserved_s, share_s)
        if not self._fits(sum(map(one_s, self._running)) + reserved_s):
            return False
        if self.most_runs is None:
            return True
        left = self.most_runs - self._samples.runs - len(self._running)
        share = CONFIRMATION_SHARE * (self.most_runs - self._first_runs)
        return left >= max(2 * MIN_PAIRS if self._rule.runs else CONFIRMATION_RUNS, ceil(share))

    def _has_room_for_pair(self, best: str) -> bool:
        pair_s = sum(map(self._samples.one_s, (best, self.reference)))
        has_runs = self.most_runs is None or self._samples.runs + 2 <= self.most_runs
        return has_runs and self._fits(pair_s)

    def _fits(self, seconds: float) -> bool:
        within_s = self._rule.within_s
        return within_s is None or self._samples.spent_s + seconds <= within_s

    def _eliminate_beyond_room(self) -> None:
        """Eliminate the last, least promising cases until there is room for a confirmation."""
        room = self._cases * RACE_REPETITIONS if self.most_runs is None else self.most_runs
        one_s = self._samples.one_s(self.reference)
        if self._rule.within_s is not None and one_s:
            room = min(room, int((self._rule.within_s - self._samples.spent_s) / one_s))
        for case_id in self._alive[max(1, room - 2 * MIN_PAIRS - 1) :]:
            self._remove(Eliminated(case_id, 0, "no time"))


def is_placed(run: RaceRun) -> bool:
    """Return whether a run's placement is proved or unknown."""
    return run.placed not in (UNPROVED, VIOLATED)


def replay(
    entrants: Sequence[str],
    rule: Rule,
    runs: Mapping[Key, RaceRun],
    skipped: Collection[Key] = (),
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
    if rule.within_s is None or not one_s:
        return _few_runs(cases, one_s)
    return min(MAX_RACE_RUNS, int(rule.within_s / one_s))


def _few_runs(cases: int, one_s: float) -> int:
    short = min(MAX_SHORT_RUNS, int(SHORT_S / one_s)) if one_s else 0
    race = max(FEWEST_RUNS, cases * RACE_REPETITIONS // FULL_SHARE)
    return max(race + CONFIRMATION_RUNS, short)


def describe_limit(rule: Rule, cases: int) -> str:
    """Return in words how many runs a race of so many cases may make."""
    most = most_runs(rule, cases)
    if most is None:
        return f"as many runs as fit into {duration(rule.within_s)}"
    runs = f"at most {plural(most, 'run')}"
    return runs if rule.runs else f"{runs}, or as many as take {SHORT_S:g} s"
