"""What cases are compared with: baselines, programs alone; and whether runs were made in turn.

Where all runs of a case come before those of another, a node that becomes slower meanwhile looks
like a slow mapping, and no test of the runs tells the two apart. What counts is the order in which
runs were made, by the records, not the word in the study: a case that was added later, or guests
that each booted once, are no better than `order: sequential`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.case import Case
from pinstudy.base.errors import UserError
from pinstudy.configs.mapping import unknown_mapping


def baselines_of(cases: Sequence[Case], mapping: str | None = None) -> dict[str, Case]:
    """Return the baseline of each case that has one, by case_id.

    A baseline leaves its threads, and a guest's virtual CPUs, to the OS scheduler, or has the
    mapping that is named. Of several under the first settings that have one (a mapping that was
    run on two sets of CPUs) the one with most runs is taken. Raises UserError when no case has the
    named mapping.
    """
    known = dict.fromkeys(case.key.mapping for case in cases)
    if mapping is not None and mapping not in known:
        raise UserError(unknown_mapping(mapping, known, " in these results"))
    by_configuration: dict[tuple[object, ...], Case] = {}
    for case in sorted(cases, key=lambda case: case.key.number):
        is_baseline = leaves_all(case) if mapping is None else case.key.mapping == mapping
        if not is_baseline or not _runs(case):
            continue
        first = by_configuration.setdefault(case.key.configuration, case)
        if case.key.setting_words == first.key.setting_words and _runs(case) > _runs(first):
            by_configuration[case.key.configuration] = case
    return {
        case.key.case_id: by_configuration[case.key.configuration]
        for case in cases
        if case.key.configuration in by_configuration
    }


def leaves_all(case: Case) -> bool:
    """Return whether a case leaves its threads, and a guest's virtual CPUs, to the OS scheduler."""
    placings = filter(None, (case.key.of_threads, case.key.of_vcpus))
    return all((placing.selection, placing.binding) == ("all", "none") for placing in placings)


def _runs(case: Case) -> int:
    """Return how many runs a case has; one where a publication does not say how many."""
    return 1 if case.n is None else case.n


@dataclass(frozen=True)
class Alone:
    """The case with nothing beside it, and the co-runner alone; None where there is no such case.

    The slowdowns are ratios of means, without an interval; None where a mean is not known, or where
    too many runs were lost for a comparison.
    """

    case: Case
    program: Case | None
    co_runner: Case | None

    @property
    def slowdown(self) -> float | None:
        """The program's mean time over that alone."""
        return self._ratio(self.case.time.mean, self.program)

    @property
    def co_runner_slowdown(self) -> float | None:
        """The co-runner's mean time over that alone."""
        return self._ratio(self.case.stats["co_runner_elapsed_s"].mean, self.co_runner)

    def _ratio(self, mean: float, alone: Case | None) -> float | None:
        if not (alone and alone.lost.usable and self.case.lost.usable):
            return None
        # NaN is not above 0.
        return mean / alone.time.mean if mean > 0 and alone.time.mean > 0 else None


def alone_of(cases: Iterable[Case]) -> Mapping[str, Alone]:
    """Return the cases alone of each case that something ran beside, by its case_id."""
    everyone = list(cases)
    by_id = {case.key.case_id: case for case in everyone}
    by_placing = {_placing(case): case for case in everyone if not case.key.co_runner}
    return {
        case.key.case_id: Alone(
            case, by_placing.get(_placing(case)), by_id.get(case.key.co_runner_alone or "")
        )
        for case in everyone
        if case.key.co_runner
    }


def only_alone(cases: Iterable[Case], alone_by_case: Mapping[str, Alone]) -> bool:
    """Return whether all cases are co-runners, which are there to be compared with."""
    co_runners = {
        alone.co_runner.key.case_id for alone in alone_by_case.values() if alone.co_runner
    }
    return all(case.key.case_id in co_runners for case in cases)


def _placing(case: Case) -> Hashable:
    where = (
        case.key.mapping,
        case.key.mechanism,
        case.key.binding,
        case.key.cpus,
        case.key.rank_cpus,
    )
    settings = case.key.governor, case.key.setting_words
    return case.key.study, case.key.node_id, case.key.table, case.key.mpi, settings, where


Array = NDArray[np.float64]

# Randomised blocks change between two cases once a block or oftener. Runs are lost, so
# that fewer changes do: as many as there must be pairs in analysis.verdict.values.
MIN_TURNS = 2 / 3
ORDER = "the order does not tell a drift from a mapping"
OUT_OF_TURN = (
    f"{ORDER}: cases not made in turn with their baseline (sequential, added later, or guests of "
    "other boots) are not compared"
)


class Made(NamedTuple):
    """When the good runs of a case were made: attempt, place in the study, and seconds since 1970.

    Each is NaN where it is not known.
    """

    attempt: Array
    order: Array
    started_s: Array


def are_in_turn(a: Made, b: Made) -> bool:
    """Return whether two cases' runs were made in turn, by the study's order and by the clock.

    Runs whose order is not known count for nothing. Where that is all of a case's, as in imported
    logs, they are taken to have been made in turn.
    """
    a, b = _known(a), _known(b)
    if not len(a.order) or not len(b.order):
        return True
    orders = np.concatenate([a.order, b.order])
    is_b = np.arange(len(orders)) >= len(a.order)
    attempts = np.concatenate([a.attempt, b.attempt])
    attempts[np.isnan(attempts)] = 0.0
    least = MIN_TURNS * min(len(a.order), len(b.order))
    by_order = np.lexsort((orders, attempts))
    is_b, started_s = is_b[by_order], np.concatenate([a.started_s, b.started_s])[by_order]
    if _changes(is_b) < least:
        return False
    # Somebody may have set the clock back: it counts where it went on with each case's runs.
    if not (_goes_on(started_s[is_b]) and _goes_on(started_s[~is_b])):
        return True
    return _changes(is_b[np.argsort(started_s, kind="stable")]) >= least


def _known(made: Made) -> Made:
    known = ~np.isnan(made.order)
    return Made(*(values[known] for values in made))


def _changes(is_b: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(is_b[1:] != is_b[:-1]))


def _goes_on(times_s: Array) -> bool:
    """Return whether no time is before the one ahead of it; False where any is not known."""
    return not np.isnan(times_s).any() and bool((times_s[1:] >= times_s[:-1]).all())


def with_turns(cases: Sequence[Case], frame: pd.DataFrame) -> list[Case]:
    """Return the cases, those marked whose runs were not made in turn with their baseline's."""
    made = _made_by_case(frame)
    baselines = baselines_of(cases)
    return [
        replace(case, circumstances=replace(case.circumstances, out_of_turn=True))
        if case.key.case_id in made
        and case.key.case_id in baselines
        and baselines[case.key.case_id].key.case_id in made
        and not are_in_turn(made[case.key.case_id], made[baselines[case.key.case_id].key.case_id])
        else case
        for case in cases
    ]


def _made_by_case(frame: pd.DataFrame) -> dict[str, Made]:
    good = good_runs(frame)
    numbers, case_ids = pd.factorize(good["case_id"])
    columns = [
        good[name].to_numpy(dtype=float, na_value=np.nan)
        for name in ("attempt", "order", "started_s")
    ]
    by_case = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[by_case])) + 1
    parts = [np.split(column[by_case], cuts) for column in columns]
    return {
        str(case_id): Made(*(part[at] for part in parts)) for at, case_id in enumerate(case_ids)
    }
