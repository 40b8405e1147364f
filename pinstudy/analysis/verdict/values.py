"""The measured values of each case, run by run or as means, and how two cases differ in them.

Runs are compared in pairs where they were made in the blocks of one attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pinstudy.analysis.measures import Stats
from pinstudy.analysis.objectives import EDP, ENERGY, OBJECTIVES, Objective
from pinstudy.analysis.records.runs import good_runs
from pinstudy.analysis.results.baselines import Made, are_in_turn
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.statistics.modes import Modes, hide_what_is_typical, modes_of, within_units
from pinstudy.analysis.statistics.sample import Array, Sample
from pinstudy.analysis.statistics.unlike import spread_times_of_means
from pinstudy.runners.records.status import INTERRUPTED, SKIPPED

# Times, energies and products beyond these (s, J, J s) are not used: squares could overflow.
MIN_VALUE, MAX_VALUE = 1e-30, 1e30
# Pairs are used when they are at least this share of the runs that the smaller case has.
MIN_PAIRED = 2 / 3
# Mean, sd and n.
Published = tuple[float, float, int]
# An attempt that begins so long after the one before it in the same boot is of another day.
PAUSE_S = 8 * 3600.0


@dataclass(frozen=True)
class Values:
    """One case's good runs in the order of their blocks; `numbers` has NaN where none was measured.

    `block`, `order` and `attempt` are NaN for runs that were made without a plan. `unit` is the
    boot or day.
    """

    block: Array
    order: Array
    attempt: Array
    started_s: Array
    repetition: Array
    unit: NDArray[np.intp]
    numbers: Mapping[Objective, Array]

    @property
    def made(self) -> Made:
        """When the runs were made."""
        return Made(self.attempt, self.order, self.started_s)

    def known(self, objective: Objective) -> NDArray[np.intp]:
        """Return the positions of the runs with a value of the objective; none is 0 or less."""
        values = self.numbers[objective]
        return np.flatnonzero((values > MIN_VALUE) & (values < MAX_VALUE))

    def measured(self, objective: Objective) -> Array:
        """Return the known values of the objective."""
        return self.numbers[objective][self.known(objective)]

    def logs(self, objective: Objective) -> tuple[Array, NDArray[np.intp]]:
        """Return the logarithms of the known values, with the unit of each."""
        return np.log(self.measured(objective)), self.unit[self.known(objective)]


def values_by_case(
    frame: pd.DataFrame, objectives: Sequence[Objective] = OBJECTIVES
) -> dict[str, Values]:
    """Return the good runs' values by case_id; warm-up runs and others are not among them."""
    good = good_runs(frame)
    codes, case_ids = pd.factorize(good["case_id"])
    known = ("block", "order", "attempt", "started_s", "repetition")
    names = (*known, *(objective.field for objective in objectives))
    numbers = {name: _numbers(good, name) for name in names}
    units = units_of(good)
    # One sort and one cut for all cases, of which there may be thousands.
    by_case = np.lexsort((numbers["repetition"], numbers["block"], codes))
    cuts = np.flatnonzero(np.diff(codes[by_case])) + 1
    parts = {name: np.split(column[by_case], cuts) for name, column in numbers.items()}
    unit_parts = np.split(units[by_case], cuts)
    return {
        str(case_id): Values(
            parts["block"][at],
            parts["order"][at],
            parts["attempt"][at],
            parts["started_s"][at],
            parts["repetition"][at],
            unit_parts[at],
            {
                objective: _for_ratios(parts[objective.field][at], objective)
                for objective in objectives
            },
        )
        for at, case_id in enumerate(case_ids)
    }


def _numbers(runs: pd.DataFrame, name: str) -> Array:
    if name not in runs:
        return np.full(len(runs), np.nan)
    return runs[name].to_numpy(dtype=float, na_value=np.nan)


def _for_ratios(values: Array, objective: Objective) -> Array:
    """Return a case's values; none where one that the program prints can be in no ratio.

    To leave out the runs that printed 0 would choose runs by their outcome.
    """
    if objective in OBJECTIVES or not np.any((values <= MIN_VALUE) | (values >= MAX_VALUE)):
        return values
    return np.full(len(values), np.nan)


@dataclass(frozen=True)
class Logs:
    """The logarithms of two cases' values, with the boot or day of each.

    The values at one position are a pair, of one block, where they are `paired`.
    """

    a: Array
    b: Array
    units_a: NDArray[np.intp]
    units_b: NDArray[np.intp]
    paired: bool

    @property
    def hide_what_is_typical(self) -> bool:
        """Whether modes within boots leave it to chance which ratio is typical."""
        a, b = within_units(self.a, self.units_a), within_units(self.b, self.units_b)
        return hide_what_is_typical(a, b, paired=self.paired)


def logs_of(case: Values, baseline: Values, objective: Objective) -> Logs:
    """Return the logarithms by which two cases are compared, in pairs where their runs have blocks.

    Runs of one block that different attempts made are no pair: a boot, or days, lie between them.
    Where few are left of the runs, all are compared unpaired.
    """
    together = in_common_blocks([case, baseline], objective)
    if together is not None:
        (a, b), units = together
        return Logs(a, b, units, units, paired=True)
    (a, units_a), (b, units_b) = case.logs(objective), baseline.logs(objective)
    return Logs(a, b, units_a, units_b, paired=False)


def in_common_blocks(
    cases: Sequence[Values], objective: Objective
) -> tuple[list[Array], NDArray[np.intp]] | None:
    """Return the logarithms of cases' values block by block, with the boot or day of each block.

    A block counts where one attempt made a run of every case in it. None where few blocks are left
    of the runs, and where the runs of a block were not made together.
    """
    known = [case.known(objective) for case in cases]
    common = reduce(np.intersect1d, [case.block[at] for case, at in zip(cases, known, strict=True)])
    runs = []
    for case, at in zip(cases, known, strict=True):
        blocks, first = np.unique(case.block[at], return_index=True)
        runs.append(at[first[np.searchsorted(blocks, common)]])
    attempts = [case.attempt[at] for case, at in zip(cases, runs, strict=True)]
    together = np.logical_and.reduce([_same(attempts[0], attempt) for attempt in attempts])
    runs = [at[together] for at in runs]
    least = max(2, MIN_PAIRED * min(map(len, known)))
    orders = [case.order[at] for case, at in zip(cases, runs, strict=True)]
    made_by = np.nan_to_num(np.fmax.reduce(attempts))[together]
    if len(runs[0]) < least or not _are_blocks(orders, made_by):
        return None
    logs = [np.log(case.numbers[objective][at]) for case, at in zip(cases, runs, strict=True)]
    return logs, cases[0].unit[runs[0]]


def difference_of(case: Values, baseline: Values, objective: Objective) -> Difference | None:
    """Return how the typical values of two cases differ.

    None when one of them has fewer than two values, or modes of which none is typical, and where
    their runs were not made in turn.
    """
    if not are_in_turn(case.made, baseline.made):
        return None
    return difference_in(logs_of(case, baseline, objective))


def difference_in(logs: Logs) -> Difference | None:
    """Return the difference of two cases' logarithms; None as `difference_of` says."""
    if min(len(logs.a), len(logs.b)) < 2 or logs.hide_what_is_typical:
        return None
    if logs.paired:
        return Difference.of_pairs(logs.a, logs.b, logs.units_a)
    return Difference.of_runs(logs.a, logs.b)


def unclear_between(
    case: Values, baseline: Values, objectives: Iterable[Objective]
) -> dict[str, Modes | None]:
    """Return the objectives in which modes leave it to chance what is typical of two cases.

    The modes are those of the pairs' ratios, None where the ratios have one or there are no pairs.
    """
    if not are_in_turn(case.made, baseline.made):
        return {}
    found: dict[str, Modes | None] = {}
    for objective in objectives:
        logs = logs_of(case, baseline, objective)
        if min(len(logs.a), len(logs.b)) >= 2 and logs.hide_what_is_typical:
            ratios = within_units(logs.a - logs.b, logs.units_a) if logs.paired else None
            found[objective] = None if ratios is None else modes_of(ratios)
    return found


def _same(attempts_a: Array, attempts_b: Array) -> NDArray[np.bool_]:
    """Return which attempts are the same; unknown attempts count as the same."""
    return np.asarray((attempts_a == attempts_b) | np.isnan(attempts_a) | np.isnan(attempts_b))


def share_no_attempt(case: Values, baseline: Values) -> bool:
    """Return whether no attempt made runs of both: the node may have changed between them."""
    if np.isnan(case.attempt).any() or np.isnan(baseline.attempt).any():
        return False
    return set(case.attempt).isdisjoint(baseline.attempt)


def _are_blocks(orders: Sequence[Array], attempts: Array) -> bool:
    """Return whether the runs of each block were made before those of its attempt's next one.

    They were not in a study that makes all runs of a case before the next case's, nor between boots
    of a guest: there a block's number does not mean that its runs shared the machine's state.
    Attempts count their orders anew where they repeat some cases, or divide a study.
    """
    by_attempt = np.argsort(attempts, kind="stable")
    first, last = (made.reduce(orders)[by_attempt] for made in (np.minimum, np.maximum))
    goes_on = attempts[by_attempt][1:] == attempts[by_attempt][:-1]
    return bool(np.all((last[:-1] < first[1:]) | ~goes_on))


def by_objective(values: Values) -> Iterator[tuple[Objective, Array]]:
    """Yield the objectives that have a value, with their values."""
    for objective in values.numbers:
        if len(measured := values.measured(objective)):
            yield objective, measured


def units_of(runs: pd.DataFrame) -> NDArray[np.intp]:
    """Return the number of each run's boot or day; 0 for runs of no known attempt.

    Attempts of one boot that follow each other within eight hours are of one unit: a study that was
    killed and continued at once has not seen another state of the node.
    """
    attempts = runs["attempt"].to_numpy(dtype=float, na_value=np.nan)
    started = runs["started_s"].to_numpy(dtype=float, na_value=np.nan)
    boots = runs["boot_id"].astype(object).to_numpy()
    units = np.zeros(len(runs), dtype=np.intp)
    last: dict[object, tuple[int, float]] = {}
    count = 0
    for attempt in np.unique(attempts[np.isfinite(attempts)]):
        at = attempts == attempt
        times = started[at][np.isfinite(started[at])]
        begin, end = (times.min(), times.max()) if len(times) else (np.nan, np.nan)
        boot = next((boot for boot in boots[at] if isinstance(boot, str)), None)
        unit, until = last.get(boot, (0, np.nan))
        if not unit or begin - until > PAUSE_S:
            count += 1
            unit = count
        last[boot] = unit, end if np.isfinite(end) else until
        units[at] = unit
    return units


def units_in(frame: pd.DataFrame) -> int:
    """Return in how many boots or days the good runs were made."""
    return len(np.unique(units_of(good_runs(frame))))


def interim_analysis_of(frame: pd.DataFrame, after: int = 0) -> int:
    """Return the number of a study's current look (interim analysis): 1 if it was not continued.

    Looks are counted from the end of the attempt `after` on.
    The end of an attempt counts as a look if every case then had the same repetitions from the
    first on and a later attempt made more. A study that was killed within a block was not looked
    at: its continuation does not depend on its results. Nor was a study whose blocks several
    workers divide, until all of a submission had ended, of which each worker is an attempt.
    """
    runs = frame[~frame["warmup"] & ~frame["status"].isin([INTERRUPTED, SKIPPED])]
    runs = runs[runs["attempt"].notna() & runs["repetition"].notna()]
    if runs.empty:
        return 1
    start = runs["submission"].fillna(runs["attempt"]).rename("start")
    by_case = runs.groupby([start, "case_id"], observed=True).size()
    # A frame has each repetition once, so that as many as the largest number are all of them.
    fewest = by_case.unstack("case_id", fill_value=0).cumsum().min(axis=1)
    last = runs.groupby(start)["repetition"].max().cummax()
    complete = last[(fewest == last) & (last < last.iloc[-1])]
    return 1 + int(complete[complete.index > after].nunique())


def difference_of_summaries(
    case: Case, baseline: Case, objective: Objective, sd_is_error: bool = False
) -> Difference | None:
    """Return how two cases differ by their means; None where no spread was published.

    With `sd_is_error` the published deviations are read as standard errors of the mean.
    """
    both = _published(case, baseline, objective)
    if both is None:
        return None
    (mean_a, sd_a, n_a), (mean_b, sd_b, n_b) = both
    if sd_is_error:
        sd_a, sd_b = sd_a * n_a**0.5, sd_b * n_b**0.5
    return Difference.from_summary(mean_a, sd_a, n_a, mean_b, sd_b, n_b)


def spread_times_of_summaries(case: Case, baseline: Case, objective: Objective) -> float | None:
    """Return how many times the baseline's spread a case's is, by published deviations.

    None where no difference is shown, or where a deviation is not known.
    """
    both = _published(case, baseline, objective)
    if both is None:
        return None
    (mean_a, sd_a, n_a), (mean_b, sd_b, n_b) = both
    return spread_times_of_means(sd_a / mean_a, n_a, sd_b / mean_b, n_b)


def _published(
    case: Case, baseline: Case, objective: Objective
) -> tuple[Published, Published] | None:
    mine, theirs = (published_of(either.stat(objective.field)) for either in (case, baseline))
    return (mine, theirs) if mine and theirs else None


def published_of(stats: Stats) -> Published | None:
    """Return mean, sd and n; None where one is missing or has no use for logarithms."""
    # A rounded deviation of "0.000" may have been up to 0.0005.
    sd = max(stats.sd, 0.5 * 10.0**-stats.sd_decimals if stats.sd_decimals else 0.0)
    usable = all(MIN_VALUE < value < MAX_VALUE for value in (stats.mean, sd))
    if not usable or stats.n is None or not 2 <= stats.n < MAX_VALUE:
        return None
    return stats.mean, sd, stats.n


def sample_of_summary(case: Case, objective: Objective) -> Sample | None:
    """Return a case's statistics from its summary, without intervals, which need runs.

    The energy-delay product is that of the means where none is given. `n` is 0 where the summary
    does not say how many runs there were.
    """
    stats = case.stat(objective.field)
    n, mean = stats.n, stats.mean
    if objective == EDP and np.isnan(mean):
        energy = case.stat(ENERGY.field)
        n, mean = energy.n, case.time.mean * energy.mean
    if not MIN_VALUE < mean < MAX_VALUE:
        return None
    return Sample(n or 0, mean, stats.sd, float("nan"))
