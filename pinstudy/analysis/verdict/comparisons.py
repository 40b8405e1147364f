"""Every case against its baseline, in every objective; those of a question tested together.

A baseline is in the case's table, under its governor and beside the same co-runner. Of several
settings the first one of the study has it, so that the others are compared with that, too.

How often outcomes are false where nothing differs, and what so many runs cannot show, is for as
many comparisons as a question has, and for the fewest runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.decision import (
    MIN_TO_DECIDE,
    ONLY_LOOK,
    Look,
    Outcome,
    decide,
    holm,
    more_repetitions,
)
from pinstudy.analysis.statistics.difference import Difference, Estimand
from pinstudy.analysis.statistics.modes import share_of_unseen_modes
from pinstudy.analysis.statistics.sample import Sample
from pinstudy.analysis.statistics.unlike import (
    SlowRuns,
    least_to_see,
    p_of_shares,
    share_of_unseen_slow_runs,
    spread_times,
    unseen,
)
from pinstudy.analysis.verdict.model import Comparison, Findings
from pinstudy.analysis.verdict.values import (
    Values,
    difference_of,
    difference_of_summaries,
    sample_of_summary,
    spread_times_of_summaries,
)
from pinstudy.base.text import one_line

Key = tuple[str, Objective]

# The share of questions with a false difference: by the level, and, by the simulations of
# docs/error-rates.md, what lognormal noise on one side alone makes of it for typical values.
ALIKE, LOGNORMAL = 0.05, 0.09


def differences_from_baselines(
    cases: Sequence[Case],
    baselines: Mapping[str, Case],
    values: Mapping[str, Values],
    objectives: Mapping[str, Sequence[Objective]],
    sd_is_error: bool = False,
) -> dict[Key, Difference]:
    """Return the difference of each case and objective that has one, from runs or from summaries.

    `objectives` are what each case is compared by, by case_id. `sd_is_error` reads the deviations
    of summaries as standard errors.
    """
    differences: dict[Key, Difference] = {}
    for case in cases:
        case_id, baseline = case.key.case_id, baselines.get(case.key.case_id)
        if baseline is None or baseline.key.case_id == case_id:
            continue
        for objective in objectives[case_id]:
            difference = difference_between(case, baseline, values, objective, sd_is_error)
            if difference is not None:
                differences[case_id, objective] = difference
    return differences


def difference_between(
    a: Case, b: Case, values: Mapping[str, Values], objective: Objective, sd_is_error: bool = False
) -> Difference | None:
    """Return how two cases differ: from their runs, as a card states it, or from their summaries.

    None where one of them lost so many runs, or values, that it is not compared, or where their
    runs were not made in turn.
    """
    if not all(case.lost_of(objective.field).usable for case in (a, b)):
        return None
    mine, theirs = values.get(a.key.case_id), values.get(b.key.case_id)
    if mine and theirs:
        return difference_of(mine, theirs, objective)
    stated = a.circumstances.stated.get(objective)
    if stated and stated.against == b.key.case_id:
        known = all(sample_of_summary(case, objective) for case in (a, b))
        return stated.difference if known else None
    # Of a card nobody knows more than that each of them has no outcome against its baseline.
    if (
        a.circumstances.out_of_turn
        or b.circumstances.out_of_turn
        or objective in {*a.circumstances.unclear, *b.circumstances.unclear}
    ):
        return None
    return difference_of_summaries(a, b, objective, sd_is_error)


def compare_all(
    differences: Mapping[Key, Difference],
    margin: float,
    question: Callable[[Key], Hashable],
    across_attempts: Collection[str] = (),
    look: Look = ONLY_LOOK,
) -> dict[Key, Comparison]:
    """Return the comparisons of differences, those of one question tested together.

    `across_attempts` are the case_ids that share no attempt with their baseline. `look`
    is this interim analysis: later ones share what the first leaves of the level.
    """
    return {
        key: comparison
        for keys in grouped(differences, question)
        for key, comparison in _of_question(
            {key: differences[key] for key in keys}, margin, across_attempts, look
        )
    }


def questions_by(baselines: Mapping[str, Case]) -> Callable[[Key], tuple[str, Objective]]:
    """Return a function from a comparison to its question: its baseline and objective.

    One answer chooses among the comparisons of a question.
    """
    return lambda key: (baselines[key[0]].key.case_id, key[1])


def _of_question(
    differences: Mapping[Key, Difference],
    margin: float,
    across_attempts: Collection[str],
    look: Look,
) -> Iterator[tuple[Key, Comparison]]:
    different = holm([difference.p_different for difference in differences.values()])
    outside = holm([difference.p_outside(margin) for difference in differences.values()])
    for (key, difference), *p_values in zip(differences.items(), different, outside, strict=True):
        p_different, p_outside = (min(1.0, p / look.share) for p in p_values)
        outcome: Outcome = "undecided"
        if difference.n >= MIN_TO_DECIDE:
            outcome = decide(key[1].loss(difference.log_ratio), p_different, p_outside)
        more = None
        if outcome == "undecided":
            more = more_repetitions(difference, margin, len(differences), look)
        yield (
            key,
            Comparison(
                key[1], difference, p_different, p_outside, outcome, more, key[0] in across_attempts
            ),
        )


def with_shapes(
    cases: Sequence[Case],
    comparisons: Mapping[Key, Comparison],
    baselines: Mapping[str, Case],
    values: Mapping[str, Values],
    samples: Mapping[Key, Sample],
    slow: Mapping[str, SlowRuns],
) -> dict[Key, Comparison]:
    """Return the comparisons with what else differs: means, spreads and shares of slow runs."""
    rows = {case.key.case_id: case for case in cases}
    others = {case_id: baselines[case_id].key.case_id for case_id, _ in comparisons}
    of_shares = _p_of_shares(comparisons, others, slow)
    extended: dict[Key, Comparison] = {}
    for (case_id, objective), comparison in comparisons.items():
        other = others[case_id]
        sample, theirs = samples.get((case_id, objective)), samples.get((other, objective))
        ratio = sample.mean / theirs.mean if sample and theirs else None
        times = None
        if case_id in values and other in values:
            logs = (np.log(values[either].measured(objective)) for either in (case_id, other))
            times = spread_times(*logs)
        elif comparison.difference.estimand == "mean":
            times = spread_times_of_summaries(rows[case_id], baselines[case_id], objective)
        extended[case_id, objective] = replace(
            comparison,
            mean_ratio=ratio,
            spread_times=times,
            p_slow=of_shares.get((case_id, objective)),
        )
    return extended


def _p_of_shares(
    keys: Iterable[Key], others: Mapping[str, str], slow: Mapping[str, SlowRuns]
) -> dict[Key, float]:
    """Return the p-values of equal shares of slow runs, corrected within each question (Holm).

    `others` maps each case_id to that of its baseline.
    """
    p_values: dict[Key, float] = {}
    for case_id, objective in keys:
        mine, theirs = slow.get(case_id), slow.get(others[case_id])
        if objective == TIME and mine and theirs and (mine.count or theirs.count):
            p_values[case_id, objective] = p_of_shares(mine, theirs)
    corrected: dict[Key, float] = {}
    for of_question in grouped(p_values, lambda key: others[key[0]]):
        p_corrected = holm([p_values[key] for key in of_question])
        corrected |= zip(of_question, p_corrected, strict=True)
    return corrected


def other_reading(
    cases: Sequence[Case],
    baselines: Mapping[str, Case],
    comparisons: Mapping[Key, Comparison],
    objectives: Mapping[str, Sequence[Objective]],
    margin: float,
) -> tuple[str, ...]:
    """Return which outcomes change when a publication's deviations are read as standard errors.

    perf's "+-" under `-r` is the standard error of the mean, not the standard deviation (Linux,
    tools/perf/util/stat.c, stddev_stats). A publication that took its deviations from there has
    understated its spread by the square root of its repetitions, and may not say where it took
    them. Nothing is returned without comparisons.
    """
    if not comparisons:
        return ()
    differences = differences_from_baselines(cases, baselines, {}, objectives, sd_is_error=True)
    other = compare_all(differences, margin, questions_by(baselines))
    rows = {case.key.case_id: case for case in cases}
    changed = [
        f"{_row(rows[key[0]])}: {comparison.outcome} -> {other[key].outcome}"
        for key, comparison in comparisons.items()
        if other[key].outcome != comparison.outcome
    ]
    start = (
        "deviations are read as standard deviations; read as standard errors, which is what "
        f"perf's +- is, {len(changed)} of {len(comparisons)} words change"
    )
    return (f"{start}: {'; '.join(changed)}" if changed else start,)


def _row(case: Case) -> str:
    app = " ".join(filter(None, (case.key.table.app, case.key.table.region)))
    return one_line(f"{app} {case.key.table.threads_label} #{case.key.number}")


@dataclass(frozen=True)
class FalseRate:
    """The share of questions in which a difference is told where there is none.

    `share_unlike`: where slow runs are on one side alone, one in four for typical values, one in
    ten for means.
    """

    estimand: Estimand
    comparisons: int
    n: int
    share_unlike: float


def false_rates(findings: Findings) -> Iterator[FalseRate]:
    """Yield the rates of typical values and of means, of those with runs enough for an outcome."""
    of_question = Counter(
        (at, table.baseline_of(case).case_id, objective)
        for at, table in enumerate(findings.tables)
        for case in table.cases
        for objective in case.comparisons
    )
    count = max(of_question.values(), default=0)
    rates = {"typical": share_of_unseen_modes, "mean": share_of_unseen_slow_runs}
    for estimand in ("typical", "mean"):
        runs = [
            comparison.difference.n
            for comparison in findings.compared
            if comparison.difference.estimand == estimand
            and comparison.difference.n >= MIN_TO_DECIDE
        ]
        if runs:
            n = min(runs)
            yield FalseRate(estimand, count, n, rates[estimand](n, count))


@dataclass(frozen=True)
class UnseenSlowRuns:
    """In which share of studies `n` runs hold none of a mode of one run in ten.

    `enough` runs do so in a twentieth.
    """

    n: int
    share: float
    enough: int


def unseen_slow_runs(findings: Findings) -> UnseenSlowRuns | None:
    """Return what the fewest runs of a comparison of typical times may hide; None without any."""
    # Slow runs are those of time; energy may be known of fewer.
    runs = [
        comparison.difference.n
        for comparison in findings.compared
        if comparison.objective == TIME and comparison.difference.estimand == "typical"
    ]
    return UnseenSlowRuns(min(runs), unseen(min(runs)), least_to_see()) if runs else None
