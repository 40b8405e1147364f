"""Puts runs in order. Pure; the same seed gives the same order on every Python.

Randomised complete blocks: each repetition is a shuffled pass over all cases, so that drift of
the machine (temperature, other users) affects all cases alike and comparisons can be paired by
block. Cases are sorted by a hash of seed, block and case: in this shuffle the order of the other
cases does not change when a case joins or leaves a resumed study.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A case_id, whether it is a warm-up run, and the repetition.
RunKey = tuple[str, bool, int]


class PlannedRun(NamedTuple):
    """One run to be made: `order` counts from 0 over the study, `repetition` from 1 in its case.

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
    groups: Mapping[str, Sequence[str]], repetitions: int, warmup: int, order: str, seed: int
) -> list[PlannedRun]:
    """Return every run of a study whose cases come in named groups, one group after the other.

    A group is the cases of one guest boot, which cannot be mixed with others. The names and the
    seed give the order of groups; `plan_order` orders the cases of each group.
    """
    names = list(groups) if order == "sequential" else _shuffled(list(groups), f"{seed}/groups")
    runs = [
        planned
        for name in names
        for planned in plan_order(groups[name], repetitions, warmup, order, seed)
    ]
    if len(groups) == 1:
        return runs
    return [planned._replace(order=position) for position, planned in enumerate(runs)]


def plan_order(
    case_ids: Sequence[str], repetitions: int, warmup: int, order: str, seed: int
) -> list[PlannedRun]:
    """Return every run of these cases in the order in which it is to be made.

    `order` is `randomised-blocks`, or `sequential`, which keeps all runs of a case together.
    """
    passes = [(True, number) for number in range(1, warmup + 1)]
    passes += [(False, number) for number in range(1, repetitions + 1)]
    if order == "sequential":
        wanted = [(case, is_warmup, number) for case in case_ids for is_warmup, number in passes]
    else:
        wanted = [
            (case, is_warmup, number)
            for is_warmup, number in passes
            for case in _shuffled(case_ids, f"{seed}/{'w' if is_warmup else 'b'}{number}")
        ]
    return [
        PlannedRun(position, 0 if is_warmup else number, case, number, is_warmup)
        for position, (case, is_warmup, number) in enumerate(wanted)
    ]


def _shuffled(case_ids: Sequence[str], salt: str) -> list[str]:
    return sorted(case_ids, key=lambda case: hashlib.sha256(f"{salt}/{case}".encode()).digest())
