"""A verdict in sentences that may be quoted one by one, hedged as much as its numbers demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.format.numbers import in_percent, mean_count, rounded
from analysis.objectives import EDP, ENERGY, TIME, Objective
from analysis.statistics.decision import (
    ALPHA,
    MIN_TO_DECIDE,
    Look,
    Outcome,
)
from analysis.verdict.causes import causes
from analysis.verdict.caveats import (
    hedge,
    lost_by_case,
    lost_too_many,
    mean_change,
    means_disagree,
    of_units,
    order_tells_nothing,
    out_of_turn,
    rests_on,
    several_modes,
    slow,
    spreads,
    start_up,
    start_ups,
    unusable,
)
from analysis.verdict.model import CaseFinding, Comparison
from analysis.verdict.phrases import (
    FRACTIONS_TO,
    MAX_NAMED,
    TIMES_FROM,
    best_change,
    change,
    do,
    each_case,
    fraction,
    listed,
    name,
    names,
    needed,
    sentence,
)
from base.text import one_line, plural
from configs.core_kinds import KIND_ORDER

# Values whose relative difference is smaller count as equal: no clock tells them apart.
SAME = 1e-12


@dataclass(frozen=True)
class Evidence:
    """The evidence for a verdict: the baseline, and the cases compared with it in one objective.

    `others` are the other objectives that cases are compared by. `lacking` are the cases that could
    not be compared; `look` is the interim analysis.
    """

    objective: Objective
    others: tuple[Objective, ...]
    baseline: CaseFinding
    compared: tuple[CaseFinding, ...]
    lacking: tuple[CaseFinding, ...]
    margin: float
    look: Look

    def with_outcome(self, outcome: Outcome) -> list[CaseFinding]:
        """Return the cases with that outcome, the best first."""
        cases = [case for case in self.compared if self.comparison(case).outcome == outcome]
        return sorted(
            cases,
            key=lambda case: self.objective.loss(self.comparison(case).difference.log_ratio),
        )

    def comparison(self, case: CaseFinding) -> Comparison:
        """Return the case's comparison in this objective."""
        return case.comparisons[self.objective]

    def change(self, case: CaseFinding) -> str:
        """Return a case's row and its change: `#4 ecores-set 41.2 % more time (…)`."""
        difference = self.comparison(case).difference
        return f"{name(case)} {change(difference, self.objective)}"

    def changes(self, cases: Sequence[CaseFinding]) -> str:
        """Return the rows and changes of some cases, and how many more there are."""
        return "; ".join(each_case(cases, self.change))

    @property
    def noun(self) -> str:
        """What is compared, with what of it: `typical time`, or `mean time` of published means."""
        estimands = {self.comparison(case).difference.estimand for case in self.compared}
        estimand = "typical" if "typical" in estimands else "mean"
        return f"{estimand} {self.objective.noun}"

    @property
    def within(self) -> str:
        """The margin in words."""
        return f"within {in_percent(self.margin, 6)} %"


def recommended(
    evidence: Evidence, best: CaseFinding, as_good: Mapping[Outcome, Sequence[CaseFinding]]
) -> tuple[str, ...]:
    """Return the recommendation, what else would do, its price, and what goes with it."""
    sentences = (
        _recommendation(evidence, best),
        _would_do(evidence, best, as_good),
        _price(evidence, best),
        explanation(best, evidence.baseline),
        _open(evidence),
        *_caveats(evidence, [best]),
    )
    return tuple(filter(None, sentences))


def _recommendation(evidence: Evidence, best: CaseFinding) -> str:
    """Return what to do and what it gains."""
    gain = best_change(evidence.comparison(best), len(evidence.compared))
    return (
        f"{sentence(do(best.summary))} ({name(best)}): {gain.under(name(evidence.baseline))} "
        f"({gain.with_level}; {_basis(evidence, best)}){hedge(evidence.objective, [best])}."
    )


def _basis(evidence: Evidence, case: CaseFinding) -> str:
    """Return how many runs a comparison rests on."""
    difference = evidence.comparison(case).difference
    mine, theirs = (of.samples[evidence.objective].n for of in (case, evidence.baseline))
    runs = f"{mine} runs of each" if mine == theirs else f"{mine} runs against {theirs}"
    if difference.paired:
        runs = f"{difference.n} pairs of runs"
    return "; ".join(filter(None, (runs, start_up(case.summary, evidence.baseline.summary))))


def _would_do(
    evidence: Evidence, best: CaseFinding, as_good: Mapping[Outcome, Sequence[CaseFinding]]
) -> str:
    parts = []
    if same := as_good.get("equivalent"):
        parts.append(f"{names(same)} would do as well as {name(best)} ({evidence.within})")
    if open_ := as_good.get("undecided"):
        parts.append(f"{names(open_)} cannot be told from {name(best)}")
    if ahead := as_good.get("better"):
        parts.append(f"{names(ahead)}, undecided as yet, may do better than {name(best)}")
    return f"{'; '.join(parts)}." if parts else ""


def _price(evidence: Evidence, best: CaseFinding) -> str:
    parts = [_other_objective(best, evidence, objective) for objective in evidence.others]
    if not parts:
        return ""
    return f"Beside that, {name(best)} against {name(evidence.baseline)}: {'; '.join(parts)}."


def _other_objective(case: CaseFinding, evidence: Evidence, objective: Objective) -> str:
    comparison = case.comparisons.get(objective)
    noun = objective.noun
    if comparison is not None:
        difference = change(comparison.difference, objective)
        sized = f"{difference.size} ({difference.with_level})"
        return {
            "better": f"{noun} {sized}",
            "worse": f"{noun} {sized}",
            "equivalent": f"{noun} the same {evidence.within}",
            "undecided": f"{noun} undecided, {sized}",
        }[comparison.outcome]
    by_means = mean_change(case, evidence.baseline, objective)
    if by_means is None:
        both = (case, evidence.baseline)
        if lost := unusable(both, objective):
            return f"{noun} not compared: {lost_by_case(lost, objective)}"
        measured = all(of.summary.stat(objective.field).n for of in both)
        return f"{noun} {'not compared: 0 or less in some runs' if measured else 'not measured'}"
    return f"{noun} {by_means.size} by the means alone"


def _open(evidence: Evidence) -> str:
    """Return what is still open about other cases: those nearest to a decision first."""
    cases = evidence.with_outcome("undecided")
    if not cases:
        return ""
    cases.sort(key=lambda case: _nearness(evidence.comparison(case)))
    changes = "; ".join(each_case(cases, partial(_in_doubt, evidence)))
    spread = any(evidence.comparison(case).difference.standard_error > 0 for case in cases)
    intervals = ", with 95 % intervals" if spread else ""
    return f"Undecided against {name(evidence.baseline)}{intervals}: {changes}."


def _nearness(comparison: Comparison) -> float:
    return comparison.more.most if comparison.more else math.inf


def _in_doubt(evidence: Evidence, case: CaseFinding) -> str:
    """Return a row, its change, why it is still undecided, and what would decide it."""
    comparison = evidence.comparison(case)
    difference = comparison.difference
    shown = change(difference, evidence.objective)
    if not difference.standard_error > 0:
        return f"{name(case)} {shown.what} ({_without_spread(evidence, case)})"
    why = [shown.bracket]
    if difference.n < MIN_TO_DECIDE:
        why.append("two runs decide nothing")
    elif 1.0 not in difference.interval():
        why[0] += f", not enough {_at_what_level(evidence)}"
    why += needed(comparison)
    return f"{name(case)} {shown.what} ({'; '.join(why)})"


def _at_what_level(evidence: Evidence) -> str:
    """Return why a test that 5 % would satisfy is not enough: other comparisons, or the look."""
    count = len(evidence.compared)
    among = f"among {plural(count, 'comparison')} (Holm)" if count > 1 else ""
    look = f"at look {evidence.look.number}" if evidence.look.number > 1 else ""
    of = "a first look" if evidence.look.planned == 1 else f"each of {evidence.look.planned} looks"
    first = f"at the {ALPHA * Look(1, evidence.look.planned).share * 100:.2g} % of {of}"
    return " ".join(filter(None, (among, look))) or first


# What one objective's values are, and what tells them apart; of others it is what is printed.
_GAUGES: Mapping[str, tuple[str, str]] = {
    TIME: ("times", "clock"),
    ENERGY: ("values", "counter"),
    EDP: ("values", "counter"),
}


def _without_spread(evidence: Evidence, case: CaseFinding) -> str:
    """Say of values without spread that they are equal, which no test can use."""
    mine, theirs = (of.samples[evidence.objective] for of in (case, evidence.baseline))
    if mine.sd > SAME * mine.mean or theirs.sd > SAME * theirs.mean:
        if not evidence.comparison(case).difference.paired:
            return "no interval: most runs of each have the very same value"
        return "no interval: most pairs of runs have the very same ratio"
    values, gauge = _GAUGES.get(evidence.objective, ("values", "output"))
    of_mine, of_theirs = (
        f"{_positional(of.mean)} {evidence.objective.unit}" for of in (mine, theirs)
    )
    if abs(mine.mean - theirs.mean) <= SAME * theirs.mean:
        return (
            f"{of_mine} in each of {mine.n} and of {theirs.n} runs: equal, as far as the {gauge} "
            "tells them apart"
        )
    return (
        f"{of_mine} in each of {mine.n} runs against {of_theirs} in each of {theirs.n}: equal "
        f"{values} have no spread to test by, and a coarse {gauge} makes them"
    )


def _positional(value: float) -> str:
    """Return a number with six digits that count, and without an exponent."""
    return np.format_float_positional(value, precision=6, fractional=False, trim="-")


def undecided(evidence: Evidence) -> tuple[str, ...]:
    """Return that there is no answer yet, and what would decide it."""
    sentences = (
        _open(evidence),
        *causes([evidence.baseline, *evidence.with_outcome("undecided")]),
        _known(evidence, "equivalent"),
        _known(evidence, "worse"),
        _why_worse(evidence),
        *_caveats(evidence, []),
    )
    return tuple(filter(None, sentences))


def _known(evidence: Evidence, outcome: Outcome) -> str:
    cases = evidence.with_outcome(outcome)
    if not cases:
        return ""
    reference = name(evidence.baseline)
    if outcome == "equivalent":
        start = f"The same {evidence.noun} as under {reference} {evidence.within}"
    else:
        start = f"{sentence(outcome)} than {reference}"
    return f"{start}, with 95 % intervals: {evidence.changes(cases)}."


def no_difference(evidence: Evidence) -> tuple[str, ...]:
    """Return that some mappings are equivalent to the baseline, and none is better."""
    same = sorted(evidence.with_outcome("equivalent"), key=lambda case: case.number)
    take = ("takes", "take") if evidence.objective in (TIME, ENERGY) else ("has", "have")
    first = (
        f"No mapping gains: {names(same)} {take[len(same) > 1]} "
        f"the same {evidence.noun} as {name(evidence.baseline)}, {evidence.within}"
        f"{hedge(evidence.objective, same)}."
    )
    sentences = (first, _known(evidence, "worse"), _why_worse(evidence), *_caveats(evidence, same))
    return tuple(filter(None, sentences))


def leave(evidence: Evidence) -> tuple[str, ...]:
    """Return that every other mapping is worse than the baseline."""
    worse = evidence.with_outcome("worse")
    what = sentence(do(evidence.baseline.summary))
    count = {1: "the only other case", 2: "both other cases"}.get(
        len(worse), f"all {len(worse)} other cases"
    )
    all_ = f"{count} that {'were' if worse[1:] else 'was'} compared {'are' if worse[1:] else 'is'}"
    first = (
        f"{what} ({name(evidence.baseline)}): {all_} worse, with 95 % intervals: "
        f"{evidence.changes(worse)}{hedge(evidence.objective, worse)}."
    )
    return tuple(filter(None, (first, _why_worse(evidence), *_caveats(evidence, []))))


def _why_worse(evidence: Evidence) -> str:
    """Return what goes with the smallest loss; empty where nothing is worse."""
    worse = evidence.with_outcome("worse")
    return explanation(worse[0], evidence.baseline) if worse else ""


def beyond(evidence: Evidence, best: CaseFinding | None) -> tuple[str, ...]:
    """Return what no table of means and ratios shows: what limits the comparisons."""
    cases = [best] if best else evidence.with_outcome("equivalent")
    return _caveats(evidence, cases)


def _caveats(evidence: Evidence, cases: Sequence[CaseFinding]) -> tuple[str, ...]:
    """Return what limits a verdict: excluded runs, other attempts, cases that are not compared."""
    comparisons = [evidence.comparison(case) for case in evidence.compared]
    caveats = (
        several_modes(
            evidence.objective, evidence.baseline, (*evidence.compared, *evidence.lacking)
        ),
        means_disagree(evidence.objective, evidence.margin, evidence.baseline, evidence.compared),
        spreads(evidence.objective, evidence.baseline, evidence.compared),
        slow(evidence.baseline, evidence.compared) if evidence.objective == TIME else "",
        _lost(evidence, cases),
        rests_on([evidence.baseline, *cases[:MAX_NAMED]]),
        start_ups(evidence.compared, evidence.baseline),
        _across_attempts(evidence),
        of_units(comparisons),
        _lacking(evidence),
        order_tells_nothing(evidence.lacking, evidence.baseline, evidence.objective),
        lost_too_many(evidence.lacking, evidence.objective),
    )
    return tuple(filter(None, caveats))


def _lost(evidence: Evidence, cases: Sequence[CaseFinding]) -> str:
    parts = []
    for case in (evidence.baseline, *cases[:MAX_NAMED]):
        excluded = case.summary.circumstances.excluded
        lost = sum(excluded.values())
        if lost:
            how = ", ".join(f"{count} {status}" for status, count in excluded.items())
            of = plural(lost, "run")
            if case.summary.n is not None:
                of = f"{lost} of {plural(case.summary.n + lost, 'run')}"
            parts.append(one_line(f"{of} of {name(case)} ({how})"))
    if not parts:
        return ""
    return f"Not in these numbers, which may flatter a case: {listed(parts)}."


def _across_attempts(evidence: Evidence) -> str:
    cases = [case for case in evidence.compared if evidence.comparison(case).across_attempts]
    if not cases:
        return ""
    return (
        f"No attempt at the study made runs of {name(evidence.baseline)} together with "
        f"{names(cases)}: a change of the node between attempts would look like a difference."
    )


def _lacking(evidence: Evidence) -> str:
    # What was left out is said of all settings together.
    run = [case for case in evidence.lacking if not case.summary.was_skipped]
    explained = [*unusable(run, evidence.objective), *out_of_turn(run)]
    cases = [
        case for case in run if case not in explained and evidence.objective not in case.unclear
    ]
    if not cases:
        return ""
    noun = evidence.objective.noun
    return f"Not compared with {name(evidence.baseline)} in {noun}: {names(cases)}."


# Smaller differences of shares of CPU time are not mentioned.
MIN_SHARE = 0.001
# Relative differences of means below this are none: of counts, whose spread is large, and of
# frequencies, whose is small.
MIN_COUNT_CHANGE = 0.05
MIN_FREQUENCY_CHANGE = 0.005


def explanation(case: CaseFinding, baseline: CaseFinding) -> str:
    """Return what else differs than the objectives, in a sentence; empty when nothing does.

    Only measures that both cases have are compared, by their means and without a test.
    """
    parts = [
        *_migrations(case, baseline),
        *_residency(case, baseline),
        *_frequency(case, baseline),
        *_cache_misses(case, baseline),
    ]
    text = "; ".join(parts)
    return f"What goes with {name(case)}, not proved to be a cause: {text}." if parts else ""


def _mean(case: CaseFinding, measure: str) -> float:
    return case.summary.stats[measure].mean


def _differ(mine: float, theirs: float, least: float) -> bool:
    """Return whether two means differ by that share of the larger one; False where one is NaN."""
    return abs(mine - theirs) >= least * max(abs(mine), abs(theirs)) > 0


def _migrations(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    for measure, what in (("migrations", "threads"), ("vcpu_migrations", "virtual CPUs")):
        mine, theirs = _mean(case, measure), _mean(baseline, measure)
        if _differ(mine, theirs, MIN_COUNT_CHANGE) and mean_count(mine) != mean_count(theirs):
            yield (
                f"{what} were moved {_times(theirs)} a run under #{baseline.number} and "
                f"{_times(mine)} under #{case.number}"
            )


def _times(count: float) -> str:
    text = mean_count(count)
    return f"{text} time" if text == "1" else f"{text} times"


def _residency(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = (of.summary.means_by_kind("residency") for of in (case, baseline))
    known = [kind for kind in reversed(KIND_ORDER) if kind in mine and kind in theirs]
    # The share of the last kind, the best cores, follows from the others; alone it is named.
    for kind in known[:-1] or known:
        a, b = mine[kind], theirs[kind]
        if abs(a - b) >= MIN_SHARE:
            yield (
                f"{b * 100:.1f} % of CPU time was on {kind}-cores under #{baseline.number} and "
                f"{a * 100:.1f} % under #{case.number}"
            )


def _frequency(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _mean(case, "freq_mean_ghz"), _mean(baseline, "freq_mean_ghz")
    if _differ(mine, theirs, MIN_FREQUENCY_CHANGE):
        decimals = 2 if f"{mine:.2f}" != f"{theirs:.2f}" else 3
        yield (
            f"the mean frequency was {theirs:.{decimals}f} GHz under #{baseline.number} and "
            f"{mine:.{decimals}f} GHz under #{case.number}"
        )


def _cache_misses(case: CaseFinding, baseline: CaseFinding) -> Iterator[str]:
    mine, theirs = _mean(case, "cache_misses"), _mean(baseline, "cache_misses")
    if not (_differ(mine, theirs, MIN_COUNT_CHANGE) and theirs > 0):
        return
    ratio, under = mine / theirs, f"under #{baseline.number}"
    if not mine:
        yield f"no cache misses under #{case.number}, some {under}"
    elif ratio >= TIMES_FROM:
        yield f"{rounded(ratio, 0)} times as many cache misses under #{case.number} as {under}"
    elif ratio <= FRACTIONS_TO:
        yield f"{fraction(ratio)} as many cache misses under #{case.number} as {under}"
    else:
        share, comparative = abs(ratio - 1) * 100, "fewer" if ratio < 1 else "more"
        yield f"{share:.0f} % {comparative} cache misses under #{case.number} than {under}"
