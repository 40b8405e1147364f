"""The advice in sentences: what to do, what it gains, what else it does, what was ruled out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from analysis.advice.model import Advice, Candidate, Elimination
from analysis.format.numbers import percent, rounded
from analysis.objectives import OBJECTIVES
from analysis.records.metrics import Metric
from analysis.results.case import grouped
from analysis.results.metrics import objective_of
from analysis.results.node_files import cpus_of
from analysis.statistics.sample import Interval
from analysis.statistics.unlike import SlowRuns
from analysis.verdict.caveats import start_up
from analysis.verdict.phrases import (
    Quantity,
    change,
    change_of_means,
    change_within,
    do,
    listed,
    quantity,
    sentence,
)
from base import PINSTUDY
from base.cpulist import named_cpus
from base.text import first_of, one_line, plural
from base.units import duration
from runners.records.race.confirmation import (
    ALPHA,
    EARLY_ALPHA,
    FEW_UNSEEN,
    MAX_EARLY_ANALYSES,
    MIN_PAIRS,
    RARE_UNSEEN,
    SEEN_PAIRS,
)

# How many candidates a sentence names before it counts the others.
MAX_NAMED = 4
_GROUPS = {
    "not best": "Not told from the best when that was chosen",
    "worse": "Reliably worse than the best",
    "far worse": "Far worse than the best after one run",
    "failed": "Failed",
    "not placed": "Lost more than a tenth of their runs to placement",
    "cannot run": "Could not run any more",
}


def headline(advice: Advice) -> tuple[str, ...]:
    """Return the answer, and what it rests on, in some sentences."""
    sentences = list(_HEADLINES[advice.state.decision](advice))
    if advice.state.decision not in ("unfinished", "no reference"):
        sentences += _caveats(advice)
    if advice.state.decision == "undecided" or _may_hold_both(advice):
        sentences.append(more(advice))
    return tuple(sentences)


def _gain(advice: Advice) -> Iterator[str]:
    assert advice.best is not None
    yield f"Recommended{', for now' if advice.for_now else ''}: {described(advice.best)}."
    yield f"Doing nothing is {described(advice.reference)}."
    if free := _left_free(advice.best, advice.reference):
        yield f"{named_cpus(free)} {'is' if len(free) == 1 else 'are'} left to other programs."
    if advice.difference:
        yield f"The gain: {_tried(advice, f', {_p(advice)}')}"
        yield from _by_mean(advice)


def _split(advice: Advice) -> Iterator[str]:
    assert advice.best is not None
    holds, not_shown = "typically", "by the mean"
    if not _gains_typically(advice):
        holds, not_shown = not_shown, holds
    yield f"Recommended: do nothing, for now. That is {described(advice.reference)}."
    yield (
        f"The best case, {described(advice.best)}, is better {holds} and not {not_shown}, as far "
        f"as these runs tell: {_tried(advice, f'; {_p(advice)}')}"
    )
    yield from _by_mean(advice)


def _gains_typically(advice: Advice) -> bool:
    """Return whether the typical gain is shown, and more than the margin."""
    gain, difference = advice.confirmation and advice.confirmation.gain, advice.difference
    size = abs(difference.log_ratio) if difference else 0.0
    return bool(gain and gain.typical.low >= 0 and size > math.log1p(advice.rule.margin))


def _may_hold_both(advice: Advice) -> bool:
    """Return whether more runs may show a gain that now holds typically, or by the mean, alone."""
    gain = advice.confirmation.gain if advice.confirmation else None
    if advice.state.decision != "split" or gain is None:
        return False
    return gain.mean > 0 and gain.typical.high > 0


def _by_mean(advice: Advice) -> Iterator[str]:
    """Yield the gain of the mean with its lower limit, and the slow runs behind it."""
    made = advice.confirmation
    if made is None or made.gain is None:
        return
    gain = made.gain
    ratio = math.exp(gain.mean if gain.higher else -gain.mean)
    size = percent(abs(gain.share(gain.least_mean)))
    limit = f"a loss of up to {size} is not excluded" if gain.least_mean < 0 else f"at least {size}"
    longer = percent(FEW_UNSEEN if made.pairs < SEEN_PAIRS else RARE_UNSEEN)
    yield (
        f"By the mean it is {change_of_means(ratio, _raced_for(advice)).what}; {limit} (95 %, with "
        f"rare slow runs that so few do not show, each up to {longer} slower)."
    )
    if made.slow_runs and any(side.count for side in made.slow_runs):
        best, reference = made.slow_runs
        yield f"Slow runs: {_counted(best)} of it, {_counted(reference)} of doing nothing."


def _counted(slow: SlowRuns) -> str:
    """Return how many runs were slow: `3 of 20 runs (28 to 31 % above the median)`."""
    counts = f"{slow.count} of {plural(slow.n, 'run')}"
    if not slow.count:
        return counts
    least, most = (rounded(share * 100, share * 100) for share in (slow.least, slow.most))
    return f"{counts} ({least if least == most else f'{least} to {most}'} % above its median)"


def _left_free(best: Candidate, reference: Candidate) -> list[int]:
    """Return the CPUs that doing nothing may use and the best case, bound to its own, does not."""
    if best.summary.key.binding == "none":
        return []
    return sorted(set(cpus_of(reference.summary.key.cpus)) - set(cpus_of(best.summary.key.cpus)))


def _no_gain(advice: Advice) -> Iterator[str]:
    for_now = ", for now" if advice.for_now else ""
    yield f"Recommended: do nothing{for_now}. That is {described(advice.reference)}."
    margin, others = percent(advice.rule.margin), advice.compared
    if not others:
        yield "No other case could be compared with it; why, is said below."
        return
    among = "the one other case is not" if others == 1 else f"of {others} other cases none is"
    if advice.best and advice.difference:
        the_best = advice.best.name if others == 1 else f"the best of them, {advice.best.name},"
        gain = gain_bounds(advice)
        excluded = (
            f", and a typical gain of more than {percent(gain.high)} is excluded (95 %)"
            if gain
            else ""
        )
        yield (
            f"This is a result: {among} better by more than {margin}. {sentence(the_best)} was "
            f"tried against it{excluded}: {_tried(advice)}"
        )
    else:
        yield f"This is a result: {among} better, and none was left to try against it."
    if lacking := advice.entrants - 1 - others:
        verb = "was" if lacking == 1 else "were"
        yield f"{plural(lacking, 'case')} {verb} not compared, as is said below."


def _caveats(advice: Advice) -> Iterator[str]:
    """Yield why an answer is provisional, and in how many runs its placement is proved."""
    if advice.for_now:
        yield (
            f"This is for now, because {advice.for_now}: what disturbs them may fall on one case "
            f"more than on the other. On a quiet node `{advice.next_command} --fresh` tells more."
        )
    cases = [case for case in (advice.best, advice.reference) if case and case.placed.lost]
    if cases:
        counts = "; ".join(f"{case.name}: {case.placed.summary}" for case in cases)
        unproved = any(case.placed.unproved for case in cases)
        note = ". Runs of which it is not provable are averaged" if unproved else ""
        yield f"What is known of where threads ran: {counts}{note}."


def _undecided(advice: Advice) -> Iterator[str]:
    yield (
        f"Recommended: do nothing, for now. That is {described(advice.reference)}. It is undecided "
        f"whether anything is better by more than {percent(advice.rule.margin)}: "
        f"{_why_open(advice)}."
    )
    if advice.best and advice.difference:
        yield (
            f"The best case, {described(advice.best)}, was tried against doing nothing: "
            f"{_tried(advice, f'; {_p(advice)}')}"
        )
    elif advice.best and (made := advice.confirmation):
        yield (
            f"There was room for too few runs to try the best case, {advice.best.name}, against "
            f"doing nothing: {plural(made.pairs, 'pair')}, where {MIN_PAIRS} are needed."
        )
    elif advice.best:
        yield f"There was no room to try the best case, {advice.best.name}, against doing nothing."


def _why_open(advice: Advice) -> str:
    lost = [case for case in (advice.best, advice.reference) if case and not case.placed.usable]
    if lost:
        of = "; ".join(case.name for case in lost)
        return f"more than a tenth of the runs were lost to placement, of {of}"
    if advice.difference and advice.difference.standard_error == 0:
        return "equal values have no spread to test by; longer runs or more printed digits help"
    limit = (
        "time that the race may take was"
        if advice.rule.timed
        else "runs that the race may make were"
    )
    return f"the {limit} not enough to tell"


def _unfinished(advice: Advice) -> Iterator[str]:
    verb = "was" if advice.runs_made == 1 else "were"
    most = "" if advice.state.most_runs is None else f" of at most {advice.state.most_runs}"
    time = duration(advice.state.spent_s), duration(advice.rule.within_s)
    within = f" in {time[0]} of at most {time[1]}" if advice.rule.timed else ""
    yield f"Unfinished: {plural(advice.runs_made, 'run')}{most} {verb} made{within}."
    if advice.best:
        yield f"The best case so far, {advice.best.name}, is being tried against doing nothing."
    yield f"Go on with `{advice.next_command}`."


def _no_reference(advice: Advice) -> Iterator[str]:
    why = f": {advice.why_no_reference}" if advice.why_no_reference else ""
    yield (
        f"No answer: doing nothing ({advice.reference.name}) had no good run, so that there is "
        f"nothing to compare with{why}."
    )
    yield f"When the program runs, start anew with `{advice.next_command} --fresh`."


_HEADLINES: Mapping[str, Callable[[Advice], Iterator[str]]] = {
    "gain": _gain,
    "split": _split,
    "no gain": _no_gain,
    "undecided": _undecided,
    "unfinished": _unfinished,
    "no reference": _no_reference,
}


def described(candidate: Candidate) -> str:
    """Return a case's name with what it does: `8 threads, pcores-pin: pin … (CPUs 0-7)`."""
    cpus = cpus_of(candidate.summary.key.cpus)
    where = f" ({named_cpus(cpus)})" if cpus else ""
    if candidate.summary.key.rank_cpus:
        where = one_line(f" (CPUs of each rank: {candidate.summary.key.shown_cpus})")
    return f"{candidate.name}: {do(candidate.summary)}{where}"


def _tried(advice: Advice, also: str = "") -> str:
    """Return the confirmed change, with what `also` follows from it, and the number of runs."""
    assert advice.best is not None
    assert advice.confirmation is not None
    assert advice.confirmation.difference is not None
    raced_for = _raced_for(advice)
    typical = replace(raced_for, noun=f"typical {raced_for.noun}")
    made = advice.confirmation
    found = advice.confirmation.difference
    gain = change_within(found, typical, made.interval or found.interval())
    interval = f"{gain.interval}, 95 % interval" if gain.interval else gain.bracket
    starts = start_up(advice.best.summary, advice.reference.summary)
    return (
        f"{gain.what} ({'; '.join(filter(None, (interval, starts)))}){also}. That is from "
        f"{plural(made.pairs, 'pair')} of runs, of it and of doing nothing, made after it was "
        "chosen."
    )


def _raced_for(advice: Advice) -> Quantity:
    rule, metrics = advice.rule, advice.reference.summary.metrics
    metric = next((of for of in metrics if of.name == rule.of), Metric(rule.of))
    objective = next((known for known in OBJECTIVES if known == rule.of), objective_of(metric))
    found = quantity(objective)
    return replace(found, noun=f"{found.noun} of region {rule.region}") if rule.region else found


def gain_bounds(advice: Advice) -> Interval | None:
    """Return the least and the greatest typical gain that the confirmation leaves possible, shares.

    An end of 0 is no gain. None without a confirmation, and where its pairs show no spread, from
    which no bound follows.
    """
    ratio = advice.confirmation.interval if advice.confirmation else None
    if ratio is None:
        return None
    least, most = ratio.low - 1, ratio.high - 1
    if not advice.rule.higher:
        least, most = 1 - ratio.high, 1 - ratio.low
    return Interval(max(0.0, least), max(0.0, most))


def _p(advice: Advice) -> str:
    p = advice.state.p
    if p is None:
        return "too few runs to test it"
    shown = f"p = {p:.2g}" if p >= EARLY_ALPHA / 10 else f"p < {EARLY_ALPHA / 10:g}"
    looks = plural(advice.state.looks, "look")
    return f"{shown} after {looks} at the trial"


def extent(advice: Advice) -> str:
    """Return how much was run."""
    return (
        f"The race took {plural(advice.runs_made, 'run')} of "
        f"{plural(advice.entrants - advice.no_time, 'case')}, "
        f"about {duration(advice.spent_s)} in all."
    )


def more(advice: Advice) -> str:
    """Return what would decide, and the command that goes on."""
    state, within_s = advice.state, advice.rule.within_s
    # A confirmation continues by at least a pair of runs.
    if state.most_runs is not None and (within_s is None or state.runs + 2 > state.most_runs):
        limit = f"`runs` ({state.most_runs} now)"
    else:
        limit = f"`within` ({duration(within_s)} now)"
    return (
        f"More runs would tell: raise {limit} in the study's file, or by the option of the same "
        f"name of `{PINSTUDY} advise`, and go on with `{advice.next_command}`; what was measured "
        "counts."
    )


def p_meaning() -> str:
    """Return the levels that the confirmation's p-value is compared with."""
    return (
        f"The trial is looked at after {MIN_PAIRS}, {SEEN_PAIRS}, {2 * SEEN_PAIRS}, "
        f"{4 * SEEN_PAIRS}, … pairs, at most {MAX_EARLY_ANALYSES} times before its end. A gain is "
        f"told early where an interval of {100 * (1 - EARLY_ALPHA):g} % excludes that there is "
        f"none, and at the end where one of at least {percent(1 - ALPHA)} does, typically and by "
        f"the mean. So of 100 searches in which nothing gains, at most about {round(100 * ALPHA)} "
        "tell a gain. p is that of no typical gain, one-sided."
    )


def trade_off(advice: Advice) -> list[str]:
    """Return time against energy in sentences, for the confirmation and for all cases."""
    if advice.no_energy:
        return [f"Energy: n/a, because {advice.no_energy}."]
    sentences = []
    if advice.confirmation and advice.confirmation.other_objectives and advice.best:
        parts = [
            str(change(difference, objective))
            for objective, difference in advice.confirmation.other_objectives.items()
        ]
        sentences.append(
            f"What goes with {advice.best.name}, against doing nothing (95 % intervals, each by "
            f"itself): {listed(parts)}."
        )
    front = [point.candidate.name for point in advice.points if point.on_front]
    sentences.append(
        f"Time and energy together, by the means of {plural(len(advice.points), 'case')}: none is "
        f"as good as one of these in one and better in the other (Pareto front): "
        f"{first_of(front, MAX_NAMED)}. Cases that were ruled out early have few runs, and their "
        "means are rough."
    )
    return sentences


def eliminations_in_short(advice: Advice, most: int = MAX_NAMED) -> list[str]:
    """Return what was ruled out, a line a reason, the nearest to the best first."""
    lines = [
        f"{_heading(group[0].eliminated.why, advice)} ({len(group)}): "
        f"{first_of(list(map(_short, group)), most)}."
        for group in grouped(advice.eliminations, lambda each: each.eliminated.why)
    ]
    if advice.no_time:
        lines.append(f"Not tried, for want of time or runs: {plural(advice.no_time, 'case')}.")
    return lines + [
        f"Cannot be done here ({len(cases)}), because {reason}: "
        f"{first_of([case.name for case in cases], most)}."
        for reason, cases in advice.skipped.items()
    ]


def _heading(why: str, advice: Advice) -> str:
    """Return the heading of the cases that were ruled out for one reason."""
    if why != "same threads":
        return _GROUPS.get(why, why)
    # The race rules no case out so unless the reference started as many threads as it was told.
    started = plural(advice.reference.summary.key.table.threads, "thread")
    return (
        f"It starts {started} whatever it is told; write {{threads}} where it takes the number. "
        "Cases that were told another one"
    )


def _short(elimination: Elimination) -> str:
    by = elimination.eliminated.worse_by
    if by is None:
        return elimination.candidate.name
    return f"{elimination.candidate.name} ({behind(by)})"


def behind(share: float) -> str:
    """Return by how much a case was behind: `3 % behind`, or `behind by a factor of 2.4`.

    A negative share is `3 % ahead`: the case lost because it had fewer or noisier runs.
    """
    if share < 0:
        return f"{percent(-share)} ahead"
    if share >= 1:
        return f"behind by a factor of {rounded(1 + share, 0.1)}"
    return f"{percent(share)} behind"
