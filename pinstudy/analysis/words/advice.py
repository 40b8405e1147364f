"""The answer of a race in words: its gain, what else is to be known, what was ruled out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pinstudy.analysis.advice.model import Advice, AdviceCaveat, AdviceCaveatCode
from pinstudy.analysis.format.numbers import ends_in_percent, percent, percent_range, signed_percent
from pinstudy.analysis.format.table import joined
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.base.text import one_line, plural
from pinstudy.base.units import duration
from pinstudy.runners.records.race.confirmation import MIN_PAIRS

NOW = "as you start it now"
# What stands before a command that has to be given first.
SETTING = "first, as root:"
_CAVEATS: Mapping[AdviceCaveatCode, str] = {
    "mostly disturbed": "for now: {count} of {runs} runs were disturbed; on a quiet node: `{anew}`",
    "disturbed": "{count} of {runs} runs {names}",
    "oversubscribed": "{threads} threads on {cpus} CPUs: oversubscribed",
    "unset": "measured without your {names}",
    "setting": f"{SETTING} {{text}}",
    "loaded": "{names}: part of its work at start is in the numbers",
    "placement": "{names}: {lost} of {runs} runs lost to placement",
    "noise": "one run differs from the next by {deviation} (standard deviation)",
    "attempts": "runs of {attempts} attempts: what changed between them is in the change",
    "drift": "runs changed over {names}: {change} (95 %: {low} to {high})",
    "slow runs": "slow runs: {best} of {best_runs} of the best, {reference} of {reference_runs} "
    "of now",
}
# Why a case was ruled out, by the race's word for it.
RULED_OUT: Mapping[str, str] = {
    "slower": "in the slower half at the end of a round",
    "cut": "its first run took more than twice as long as the shortest one",
    "not placed": "more than a tenth of its runs lost to placement",
    "failed": "its run was not good",
    "cannot run": "the node cannot run it now",
    "no time": "no time or run was left for it",
}
_SHARES = ("deviation",)
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
        limit = duration(advice.rule.time_budget_s)
        within = f" in {duration(state.spent_s)} of at most {limit}" if advice.rule.timed else ""
        runs = plural(advice.runs_made, "run")
        return f"unfinished: {runs}{most}{within}; go on with `{advice.next_command}`"
    if state.decision == "no reference":
        why = f" ({advice.why_no_reference})" if advice.why_no_reference else ""
        return f"no answer: {NOW} it had no good run{why}; mend it, then `{_anew(advice)}`"
    if state.decision == "gain":
        return joined([f"{_gain(advice)} than {NOW} ({_gain_ends(advice)})", *_of_trial(advice)])
    if not advice.compared:
        return f"{NOW}: no other case could be compared"
    margin = percent(advice.rule.margin)
    shown = f"{NOW}: nothing tried was shown to be better by more than {margin}"
    return joined([shown, *_of_trial(advice)])


def _anew(advice: Advice) -> str:
    """Return the command that begins the search anew: its options stand before the program."""
    return advice.next_command.replace(" advise", " advise --fresh", 1)


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
    both = ends_in_percent(advice.gains.low, advice.gains.high)
    return f"95 %: {' to '.join(both)} %"


def advice_best_tried(advice: Advice) -> str:
    """Return how the best case did that is not recommended; empty without one."""
    if advice.best is None or advice.state.decision in ("gain", "unfinished", "no reference"):
        return ""
    if advice.difference is None:
        return f"best tried: {advice.best.name}: no room for enough runs"
    # What was best while cases raced may be worse when it is confirmed.
    label = "best tried" if advice.difference.ratio <= 1 else "nearest tried"
    name = f"{label}: {advice.best.name}"
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
    return signed_percent(ratio - 1)


def advice_interval(interval: Interval) -> str:
    """Return both ends of the interval of a ratio as changes: `-17 to -9 %`."""
    return percent_range(interval.low - 1, interval.high - 1)


def advice_more(advice: Advice) -> str:
    """Return what would decide, and the command that goes on; empty where more would not."""
    if not advice.limited_by:
        return ""
    now = (
        advice.state.most_runs
        if advice.limited_by == "runs"
        else duration(advice.rule.time_budget_s)
    )
    option = f"--{advice.limited_by}".replace("_", "-")
    more = f"raise `{option}` ({now} now)"
    return f"undecided: {more} and go on with `{advice.next_command}`"


def advice_caveat(caveat: AdviceCaveat, advice: Advice) -> str:
    """Return a caveat in one line."""
    numbers = {name: _number(name, value) for name, value in caveat.numbers.items()}
    names, text = ", ".join(caveat.names), caveat.text
    template = _CAVEATS[caveat.code]
    return one_line(template.format(names=names, text=text, anew=_anew(advice), **numbers), None)


def _number(name: str, value: float) -> str:
    if name in _SHARES:
        return percent(value)
    return signed_percent(value) if name in _CHANGES else f"{value:.0f}"
