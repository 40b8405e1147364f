"""The runs of a plan: their order, and how long they will take. Pure.

Complete blocks: each repetition is a pass over all cases, so that drift of the machine
(temperature, other users) affects all cases alike and comparisons can be paired by block. The same
seed gives the same order on every Python.

Blocks are `balanced` (pinstudy.runners.plan.balanced_order), or randomised: cases are sorted by a
hash of seed, block and case, and the order of the others does not change when a case joins or
leaves a resumed study.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from pinstudy.configs.settings import Settings
from pinstudy.configs.study import BALANCED, SEQUENTIAL
from pinstudy.runners.plan.balanced_order import balanced_blocks, shuffled
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.records.race_state import OVERHEAD_S

# A case_id, whether it is a warm-up run, and the repetition.
RunKey = tuple[str, bool, int]
# A boot takes seconds, with KVM as long as a short run. Two blocks a boot alternate guests often
# enough for analysis.results.baselines, from three repetitions on.
BLOCKS_OF_A_BOOT = 2


class PlannedRun(NamedTuple):
    """One run to be made: `order` counts from 0 over the plan, `repetition` from 1 in its case.

    Warm-up runs come before block 1 and have block 0.
    """

    order: int
    block: int
    case_id: str
    repetition: int
    warmup: bool

    @property
    def key(self) -> RunKey:
        """What identifies the run in a later attempt."""
        return (self.case_id, self.warmup, self.repetition)


def plan_groups(
    groups: Mapping[str, Sequence[str]],
    repetitions: int,
    warmup: int,
    order: str,
    seed: int,
    blocks: Container[int] | None = None,
) -> list[PlannedRun]:
    """Return every run of a study whose cases come in named groups, of these blocks or of all.

    A group is the cases of one guest, of which one is up at a time. Guests take turns: each makes
    two blocks and is booted anew for the next two, so that a drift of the node falls on all of
    them. Each boot begins with the warm-up runs. In sequence a group follows the other. The names
    and the seed give the order of groups; `plan_order` orders the cases of each group.
    """
    names = list(groups) if order == SEQUENTIAL else shuffled(list(groups), f"{seed}/groups")
    of_group = {
        name: plan_order(groups[name], repetitions, warmup, order, seed, blocks) for name in names
    }
    if order == SEQUENTIAL or len(names) < 2:
        runs = [planned for name in names for planned in of_group[name]]
    else:
        rounds = range(booted_times(repetitions))
        turns = (_turn(of_group[name], at, warmup) for at in rounds for name in names)
        runs = [planned for turn in turns for planned in turn]
    return [planned._replace(order=position) for position, planned in enumerate(runs)]


def booted_times(repetitions: int) -> int:
    """Return how often each of several guests is booted that take turns."""
    return -(-repetitions // BLOCKS_OF_A_BOOT)


def _turn(runs: Sequence[PlannedRun], at: int, warmup: int) -> list[PlannedRun]:
    """Return a guest's runs of one boot, warm-up runs first; none where no block is asked for."""
    measured = [
        run for run in runs if not run.warmup and (run.repetition - 1) // BLOCKS_OF_A_BOOT == at
    ]
    first = [run._replace(repetition=at * warmup + run.repetition) for run in runs if run.warmup]
    return [*first, *measured] if measured else []


def plan_order(
    case_ids: Sequence[str],
    repetitions: int,
    warmup: int,
    order: str,
    seed: int,
    blocks: Container[int] | None = None,
) -> list[PlannedRun]:
    """Return the runs of these cases, of these blocks or of all, in the order to make them.

    `order` is `randomised-blocks`, `balanced`, or `sequential`, which keeps all runs of a case
    together.
    """
    warmups = [(True, number) for number in range(1, warmup + 1)]
    numbers = [n for n in range(1, repetitions + 1) if blocks is None or n in blocks]
    passes = warmups + [(False, number) for number in numbers]
    if order == SEQUENTIAL:
        wanted = [(case, is_warmup, number) for case in case_ids for is_warmup, number in passes]
    else:
        rows = _balanced if order == BALANCED else _randomised
        wanted = [
            (case, is_warmup, number)
            for (is_warmup, number), row in zip(passes, rows(case_ids, passes, seed), strict=True)
            for case in row
        ]
    return [
        PlannedRun(position, 0 if is_warmup else number, case, number, is_warmup)
        for position, (case, is_warmup, number) in enumerate(wanted)
    ]


_Passes = Sequence[tuple[bool, int]]


def _randomised(case_ids: Sequence[str], passes: _Passes, seed: int) -> list[list[str]]:
    return [
        shuffled(case_ids, f"{seed}/{'w' if is_warmup else 'b'}{number}")
        for is_warmup, number in passes
    ]


def _balanced(case_ids: Sequence[str], passes: _Passes, seed: int) -> list[list[str]]:
    """Return the passes, consecutive blocks a chain, which each worker that divides them has.

    The last warm-up run is of the case that block 1 begins with: that, too, follows itself.
    """
    warmups = [a_pass for a_pass in passes if a_pass[0]]
    numbers = [number for is_warmup, number in passes if not is_warmup]
    chained = balanced_blocks(case_ids, f"{seed}/balanced/{numbers[0] if numbers else 0}")
    blocks = list(islice(chained, len(numbers)))
    first = blocks[0][0] if case_ids and blocks else None
    return [
        sorted(row, key=lambda case: case == first) for row in _randomised(case_ids, warmups, seed)
    ] + blocks


def _hint_s(case: Case, speeds: Mapping[int, float]) -> float | None:
    """Return the seconds of one run by the app's hint, or None without.

    The hint is for one thread on a fast CPU. It is divided by the speeds of the fastest CPUs that
    the threads may use, as if the program scaled perfectly: good enough for a forecast. Threads
    that share a CPU share its speed. A program that runs as long as it is told does so anywhere.
    """
    estimate_s = case.size.estimate_s
    if estimate_s is None or case.app.fixed_time:
        return estimate_s
    of_cpus = sorted((speeds.get(cpu, 1.0) for cpu in case.host_mask), reverse=True)
    return estimate_s / (sum(of_cpus[: case.all_threads]) or case.all_threads)


def set_to(case: Case) -> tuple[str, Settings]:
    """Return the governor and the other settings that a case asks for."""
    return case.governor, case.settings


class Forecast:
    """The pending runs: how many, under which settings, how long; corrected after every run."""

    def __init__(
        self,
        cases: Iterable[Case],
        pending: Iterable[str],
        means_s: Mapping[str, float | None],
        speeds: Mapping[int, float] | None = None,
    ) -> None:
        """`pending` has the case_id of each pending run, `means_s` the mean seconds by case_id.

        `speeds` are shares of the fastest CPU's; without them all are alike.
        """
        self._speeds = speeds or {}
        self._cases = {case.case_id: case for case in cases}
        self._pending = Counter(pending)
        self._means_s = dict(means_s)
        self._corrections = self._hint_corrections()

    @property
    def pending_s(self) -> float | None:
        """The expected seconds of all pending runs, or None while some case has no estimate."""
        total_s = 0.0
        for case_id, count in self._pending.items():
            if count > 0:
                run_s = self.run_s(case_id)
                if run_s is None:
                    return None
                total_s += count * run_s
        return total_s

    @property
    def runs_by_settings(self) -> Mapping[tuple[str, Settings], int]:
        """The number of pending runs by what the node is set to for them."""
        runs: Counter[tuple[str, Settings]] = Counter()
        for case_id, count in self._pending.items():
            runs[set_to(self._cases[case_id])] += count
        return runs

    def program_s(self, case_id: str) -> float | None:
        """Return the expected seconds of the program in one run of a case.

        They are the mean of its runs so far, or else its hint, corrected by how long other cases
        of the app took. None without both.
        """
        mean_s = self._means_s.get(case_id)
        if mean_s is not None:
            return mean_s
        case = self._cases[case_id]
        hint_s = _hint_s(case, self._speeds)
        return None if hint_s is None else hint_s * self._corrections.get(case.app.name, 1.0)

    def run_s(self, case_id: str) -> float | None:
        """Return the expected seconds of one run of a case, overhead included, or None."""
        program_s = self.program_s(case_id)
        if program_s is None:
            return None
        starts_in_s = mechanism_of(self._cases[case_id].mechanism).starts_in_s
        return program_s + OVERHEAD_S + starts_in_s

    def count_run(self, case_id: str, mean_s: float | None) -> None:
        """Count one run of the case as done or dropped; `mean_s` is the case's new mean time."""
        self._pending[case_id] -= 1
        self._means_s[case_id] = mean_s
        self._corrections = self._hint_corrections()

    def _hint_corrections(self) -> dict[str, float]:
        """Return by app the ratio of its cases' times so far to its hints."""
        measured_s: dict[str, float] = defaultdict(float)
        hinted_s: dict[str, float] = defaultdict(float)
        for case_id, mean_s in self._means_s.items():
            case = self._cases[case_id]
            hint_s = _hint_s(case, self._speeds)
            if mean_s is not None and hint_s:
                measured_s[case.app.name] += mean_s
                hinted_s[case.app.name] += hint_s
        return {name: measured_s[name] / hinted_s[name] for name in hinted_s}
