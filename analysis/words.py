"""Findings in words: one short template each, for terminal and files. They decide nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from analysis.advice.model import Advice, Caveat, CaveatCode, names_of
from analysis.findings.answers import Answers
from analysis.findings.best_cases import BestCase
from analysis.findings.effects import Effect
from analysis.findings.levers import FACTORS, Factor, Level, Lever, LeverPair, range_of
from analysis.findings.one_for_all import Default, Loss, OneForAll
from analysis.format.numbers import (
    NOTHING,
    ends,
    in_percent,
    percent,
    percent_ends,
    signed_in_percent,
    three_digits,
)
from analysis.format.table import Column, Table, joined
from analysis.objectives import ENERGY, OBJECTIVES, TIME, Objective
from analysis.results.case import Case, grouped
from analysis.statistics.sample import Interval
from base.text import one_line, plural
from base.units import duration
from runners.records.race.confirmation import MIN_PAIRS

LEVERS, ONE_FOR_ALL, FASTEST, LEAST_ENERGY = "Levers", "One for all", "Fastest", "Least energy"
_BEST = {TIME: FASTEST, ENERGY: LEAST_ENERGY}
# What a case has that does not ask for a level of a factor.
_NOTHING_ASKED: Mapping[Factor, str] = {
    "co_runner": "alone",
    "sched_ext": "as it is",
    "energy_aware": "as it is",
    "itmt": "as it is",
    "schedule": "none",
}
# An end beyond says nothing that a reader could use.
_MOST_PERCENT = 999.0


def answer_lines(
    answers: Answers, cases: Sequence[Case], margin: float
) -> Iterator[tuple[str, list[str]]]:
    """Yield a label for the margin with its texts, a line each.

    `cases` are those of all results; a gain within the margin, a share, is none. A command line
    stands between backticks.
    """
    yield LEVERS, list(_lever_lines(answers.levers))
    yield ONE_FOR_ALL, list(_one_for_all_lines(answers.one_for_all))
    names = names_of(cases)
    for objective, label in _BEST.items():
        best = [of for of in answers.best if of.objective == objective]
        yield label, list(chain.from_iterable(_best_lines(of, names, margin) for of in best))


def _lever_lines(levers: Sequence[Lever]) -> Iterator[str]:
    for factor in FACTORS:
        mine = [lever for lever in levers if lever.factor == factor]
        if factor == "mapping":
            # The grid has each of them.
            for of in grouped(mine, lambda lever: lever.reference):
                pairs = [pair for lever in of for pair in lever.pairs]
                yield f"mapping against {_level(factor, of[0].reference)}: {_ranges(pairs)}"
            continue
        # What other mappings make of it is in the tables.
        for lever in [of for of in mine if of.is_default] or mine:
            where = "" if lever.is_default else " under other mappings"
            yield f"{_name(factor)} {_change(lever)}{where}: {_ranges(lever.pairs)}"


def _ranges(pairs: Sequence[LeverPair]) -> str:
    """Return between what time and energy change, and of how many pairs."""
    parts = [
        f"{objective.short} {_between(pairs, objective)}"
        for objective in (TIME, ENERGY)
        if range_of(pairs, objective) is not None
    ]
    compared = sum(bool(pair.effects) for pair in pairs)
    count = plural(len(pairs), "pair")
    if compared < len(pairs):
        count = f"{compared} of {count} compared"
    return f"{', '.join(parts) or 'not compared'}; {count}"


def _between(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    assert found is not None
    if found.interval is None:
        return f"{_percents(Interval(found.low, found.high))} (no interval)"
    return _percents(found.interval)


def _percents(interval: Interval) -> str:
    """Return two ratios as changes, with a word between: `+25 to +57 %`, `+45 %`."""
    low, high = (_signed(end) for end in (interval.low, interval.high))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _signed(ratio: float) -> str:
    """Return a ratio as a change in per cent, with its sign and two digits."""
    share = ratio - 1
    if share > _MOST_PERCENT / 100:
        return f"over +{_MOST_PERCENT:.0f}"
    return signed_in_percent(share, 2)


def _change(lever: Lever) -> str:
    level, reference = (_level(lever.factor, of) for of in (lever.level, lever.reference))
    return f"{level} against {reference}"


def _name(factor: Factor) -> str:
    return factor.replace("_", "-" if factor == "co_runner" else " ").replace(
        "sched ext", "sched_ext"
    )


def _level(factor: Factor, level: Level) -> str:
    return _NOTHING_ASKED.get(factor, "none") if level is None else one_line(str(level))


def _one_for_all_lines(found: Iterable[OneForAll]) -> Iterator[str]:
    for answer in found:
        if answer.objective not in _BEST or len(answer.configurations) < 2:
            continue
        best, where = answer.defaults[0], " in guests" if answer.in_guests else ""
        noun = "" if answer.objective == TIME else f" for {answer.objective.short}"
        yield (
            f"{one_line(best.mapping)}{noun}{where}: up to {_lost(best.worst.ratio)} behind the "
            f"best of each configuration ({_ends(best.worst)}), {_lost(best.mean.ratio)} on "
            f"average{_absent(best)}"
        )


def _lost(ratio: float) -> str:
    return f"{in_percent(ratio - 1, 2)} %"


def _ends(loss: Loss) -> str:
    """Return both ends of a loss's interval: `95 %: 12 to 14`."""
    if loss.interval is None:
        return "no interval"
    low, high = loss.interval.low - 1, loss.interval.high - 1
    both = ends(low, high, lambda end, more: in_percent(end, 2 + more))
    return f"95 %: {' to '.join(dict.fromkeys(both))}"


def _absent(default: Default) -> str:
    total = default.compared + sum(default.missing.values())
    parts = []
    if default.missing:
        reasons = ", ".join(f"{why} {count}" for why, count in default.missing.items())
        parts.append(f"compared in {default.compared} of {total} ({reasons})")
    if default.against_fewer:
        parts.append(f"another mapping is missing in {default.against_fewer}")
    return "".join(f"; {part}" for part in parts)


def _best_lines(best: BestCase, names: Mapping[str, str], margin: float) -> Iterator[str]:
    """Yield the best case and its command line; nothing where it gains nothing that matters."""
    if best.effect is None or best.reference is None or not best.gains(margin):
        return
    name = names[best.case.key.case_id]
    # Of the reference only what is different.
    reference = names_of([best.case, best.reference])[best.reference.key.case_id]
    value = f"{three_digits(best.value)} {best.objective.unit}"
    change = _effect(best.effect, best.interval)
    yield one_line(f"{name}: {value}, {change} against {reference}{_doubts(best)}", None)
    if best.line:
        yield f"`{one_line(best.line, None)}`"


def _effect(effect: Effect, interval: Interval | None) -> str:
    if interval is None:
        return f"{_signed(effect.ratio)} % by means alone"
    return _percents(interval)


def _doubts(best: BestCase) -> str:
    parts = []
    if best.also:
        parts.append(f"not shown to be worse: {plural(len(best.also), 'case')}")
    # What was never run is told elsewhere, and of means alone nothing is shown.
    lost = sum(count for why, count in best.missing.items() if why != "left out")
    lost += len(best.unknown) if best.interval else 0
    if lost:
        parts.append(f"{plural(lost, 'case')} not compared")
    return "".join(f"; {part}" for part in parts)


def levers_tables(levers: Sequence[Lever]) -> list[Table]:
    """Return a table of each lever: its pairs under the default mapping, others as one range.

    Those of mappings are in the grid.
    """
    of_changes = grouped(
        (lever for lever in levers if lever.factor != "mapping"),
        lambda lever: (lever.factor, lever.level, lever.reference),
    )
    return [_lever_table(of) for of in of_changes]


def _lever_table(levers: Sequence[Lever]) -> Table:
    """Return the table of one change, whose levers are those under the default mapping and not."""
    shown = [pair for lever in levers if lever.is_default for pair in lever.pairs]
    others = [pair for lever in levers if not lever.is_default for pair in lever.pairs]
    every = [*shown, *others]
    measured = [of for of in OBJECTIVES if range_of(every, of) is not None]
    with_interval = {of for of in measured if any(_interval([pair], of) for pair in every)}
    columns = [Column("with all else equal", right=False)]
    for objective in measured:
        columns.append(Column(objective.short, "%"))
        columns += [Column("95 % interval", "%")] * (objective in with_interval)
    # What all of them have is not named.
    names = names_of([pair.reference for pair in shown])
    rows = [(names[pair.reference.key.case_id], [pair]) for pair in shown]
    if others:
        rows.append((f"other mappings: {plural(len(others), 'pair')}", others))
    cells = [(name, *_cells(pairs, measured, with_interval)) for name, pairs in rows]
    title = f"{_name(levers[0].factor)}: {_change(levers[0])}"
    return Table(title, tuple(columns), tuple(cells))


def _cells(
    pairs: Sequence[LeverPair], measured: Sequence[Objective], with_interval: Collection[Objective]
) -> Iterator[str]:
    for objective in measured:
        found = range_of(pairs, objective)
        if found is None:
            yield pairs[0].missing[objective]
        else:
            yield _percents(Interval(found.low, found.high)).removesuffix(" %")
        if objective in with_interval:
            yield _interval(pairs, objective) or NOTHING


def _interval(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    if found is None or found.interval is None:
        return ""
    both = percent_ends(found.interval.low - 1, found.interval.high - 1)
    return " to ".join(end.removesuffix(" %") for end in both)


# Advice of a race.
NOW = "as you start it now"
# What stands before a command that has to be given first.
SETTING = "first, as root:"
_CAVEATS: Mapping[CaveatCode, str] = {
    "mostly disturbed": "for now: {count} of {runs} runs were disturbed; on a quiet node: "
    "`{next} --fresh`",
    "disturbed": "{count} of {runs} runs {names}",
    "oversubscribed": "{threads} threads on {cpus} CPUs: oversubscribed",
    "unset": "measured without your {names}",
    "setting": f"{SETTING} {{text}}",
    "loaded": "{names}: part of its work at start is in the numbers",
    "placement": "{names}: {lost} of {runs} runs lost to placement",
    "noise": "one run differs from the next by {deviation} (standard deviation)",
    "noisy first runs": "{cases} ruled out after one run: safe up to {most_deviation} of noise",
    "attempts": "runs of {attempts} attempts: what changed between them is in the change",
    "drift": "runs changed over {names}: {change} (95 %: {low} to {high})",
    "slow runs": "slow runs: {best} of {best_runs} of the best, {reference} of {reference_runs} "
    "of now",
}
# Why a case was ruled out, by the race's word for it.
RULED_OUT: Mapping[str, str] = {
    "not best": "another case promised more when the best was chosen",
    "worse": "worse than the best, with the confidence of all such decisions together",
    "far worse": "so far behind after one run that noise is not the reason",
    "not placed": "more than a tenth of its runs lost to placement",
    "same threads": "it starts as many threads as now, whatever it is told",
    "failed": "its run was not good",
    "cannot run": "the node cannot run it now",
    "no time": "no time or run was left for it",
}
_SHARES = ("deviation", "most_deviation")
_CHANGES = ("change", "low", "high")


def advice_headline(advice: Advice) -> str:
    """Return what to do in one line, with the case and its gain."""
    if advice.state.decision in ("unfinished", "no reference"):
        return advice_result(advice)
    case = advice.best if advice.state.decision == "gain" and advice.best else advice.reference
    return f"{case.name}: {advice_result(advice)}"


def advice_result(advice: Advice) -> str:
    """Return the gain of the command, or why it is left as it is, in one line."""
    state = advice.state
    if state.decision == "unfinished":
        most = "" if state.most_runs is None else f" of at most {state.most_runs}"
        limit = duration(advice.rule.within_s)
        within = f" in {duration(state.spent_s)} of at most {limit}" if advice.rule.timed else ""
        runs = plural(advice.runs_made, "run")
        return f"unfinished: {runs}{most}{within}; go on with `{advice.next_command}`"
    if state.decision == "no reference":
        why = f" ({advice.why_no_reference})" if advice.why_no_reference else ""
        again = f"`{advice.next_command} --fresh`"
        return f"no answer: {NOW} it had no good run{why}; mend it, then {again}"
    if state.decision == "gain":
        return joined([f"{_gain(advice)} than {NOW} ({_gain_ends(advice)})", *_of_trial(advice)])
    if not advice.compared:
        return f"{NOW}: no other case could be compared"
    margin = percent(advice.rule.margin)
    shown = f"{NOW}: nothing tried was shown to be better by more than {margin}"
    return joined([shown, *_of_trial(advice)])


def _of_trial(advice: Advice) -> Iterator[str]:
    """Yield how many runs the answer rests on, and whether the node was quiet."""
    if advice.confirmation:
        yield f"{plural(advice.confirmation.pairs, 'run')} of each"
    if advice.caveat("mostly disturbed"):
        yield "the node was not quiet"
    elif advice.disturbed_runs:
        yield f"{advice.disturbed_runs} of {plural(advice.trial_runs, 'run')} disturbed"
    elif advice.trial_runs:
        yield "the node was quiet"


def _gain(advice: Advice) -> str:
    """Return the typical change in words: `13 % less time`."""
    assert advice.difference is not None
    ratio = advice.difference.ratio
    less, more = ("less", "more") if advice.objective.counted else ("lower", "higher")
    return f"{percent(abs(ratio - 1))} {more if ratio > 1 else less} {advice_noun(advice)}"


def advice_noun(advice: Advice) -> str:
    """Return what was raced for in a word or two."""
    noun = advice.objective.noun
    return f"{noun} of region {advice.rule.region}" if advice.rule.region else noun


def _gain_ends(advice: Advice) -> str:
    """Return both ends of the interval of a gain: `95 %: 9 to 17 %`."""
    if advice.gains is None:
        return "no interval"
    both = ends(advice.gains.low, advice.gains.high, lambda end, more: in_percent(end, 2 + more))
    return f"95 %: {' to '.join(both)} %"


def advice_best_tried(advice: Advice) -> str:
    """Return how the best case did that is not recommended; empty without one."""
    if advice.best is None or advice.state.decision in ("gain", "unfinished", "no reference"):
        return ""
    name = f"best tried: {advice.best.name}"
    if advice.difference is None:
        return f"{name}: no room for enough runs"
    change = f"{name}: {advice_noun(advice)} {advice_change(advice.difference.ratio)}"
    if advice.state.p is None and advice.confirmation:
        return f"{change} in {advice.confirmation.pairs} of {MIN_PAIRS} runs that are needed"
    return f"{change}{_reach(advice)}"


def _reach(advice: Advice) -> str:
    interval = advice.confirmation.interval if advice.confirmation else None
    if interval is None:
        return " (no interval: equal values)"
    split = "; not both typically and by the mean" if advice.state.decision == "split" else ""
    return f" (95 %: {advice_interval(interval)}{split})"


def advice_change(ratio: float) -> str:
    """Return a ratio as a change in per cent with its sign: `-12 %`."""
    return f"{signed_in_percent(ratio - 1, 2)} %"


def advice_interval(interval: Interval) -> str:
    """Return both ends of the interval of a ratio as changes: `-17 to -9 %`."""
    low, high = percent_ends(interval.low - 1, interval.high - 1)
    return f"{low.removesuffix(' %')} to {high}"


def advice_more(advice: Advice) -> str:
    """Return what would decide, and the command that goes on; empty where more would not."""
    if not advice.limited_by:
        return ""
    now = advice.state.most_runs if advice.limited_by == "runs" else duration(advice.rule.within_s)
    return (
        f"undecided: raise `{advice.limited_by}` ({now} now) and go on with `{advice.next_command}`"
    )


def advice_caveat(caveat: Caveat, advice: Advice) -> str:
    """Return a caveat in one line."""
    numbers = {name: _number(name, value) for name, value in caveat.numbers.items()}
    names, text = ", ".join(caveat.names), caveat.text
    template = _CAVEATS[caveat.code]
    return one_line(
        template.format(names=names, text=text, next=advice.next_command, **numbers), None
    )


def _number(name: str, value: float) -> str:
    if name in _SHARES:
        return percent(value)
    return f"{signed_in_percent(value, 2)} %" if name in _CHANGES else f"{value:.0f}"
