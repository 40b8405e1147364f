"""The answer of a race in words: for a terminal, and as a Markdown document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pinstudy.analysis.advice.lines import Line
from pinstudy.analysis.advice.model import (
    MUST_KNOW,
    Advice,
    AdviceCaveat,
    AdviceCaveatCode,
    Candidate,
    CasePoint,
    Elimination,
)
from pinstudy.analysis.format.numbers import (
    NOTHING,
    ends_in_percent,
    energy_decimals,
    fixed,
    percent,
    percent_range,
    signed_percent,
    time_decimals,
)
from pinstudy.analysis.format.table import (
    Column,
    Notes,
    Table,
    Written,
    joined,
    markdown_items,
    markdown_text,
    render,
    table_of,
    wrapped,
)
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.words.verdict import p_value
from pinstudy.base.cpulist import named_cpus
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
    return anew(advice.next_command)


def anew(command: str) -> str:
    """Return the command that begins a search anew, of the one that continues it.

    Its options stand before the program.
    """
    return command.replace(" advise", " advise --fresh", 1)


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


def answer_lines(advice: Advice, width: int = 0) -> list[str]:
    """Return the answer: the command to paste, what it gains, and what nobody should miss.

    `width` is that of the terminal, 0 no limit; commands are in one line, however long.
    """
    command = [advice.command] if _answered(advice) and advice.command else []
    texts = answer_texts(advice)
    if not width:
        return [*command, *texts]
    return [*command, *(line for text in texts for line in _folded(text, width))]


def _folded(text: str, width: int) -> list[str]:
    return [text] if "`" in text or text.startswith(SETTING) else wrapped([text], width, "")


def _answered(advice: Advice) -> bool:
    return advice.state.decision not in ("unfinished", "no reference")


def answer_texts(advice: Advice) -> list[str]:
    """Return what stands below the command, a line each."""
    if not _answered(advice):
        return [advice_result(advice)]
    known = [advice_caveat(caveat, advice) for caveat in advice.caveats if caveat.code in MUST_KNOW]
    texts = (advice_result(advice), advice_best_tried(advice), advice_more(advice), *known)
    return [text for text in texts if text]


def advice_lines(advice: Advice) -> list[str]:
    """Return the lines of other launchers, each below its tool and its note."""
    shown: list[str] = []
    for line in advice.lines:
        note = f" ({line.note})" if line.note else ""
        if line.text:
            shown += [f"{line.tool}{note}", *(f"  {text}" for text in line.text.split("\n"))]
        else:
            shown.append(f"{line.tool}: none, because {line.note}")
    return shown


def care_lines(advice: Advice) -> list[str]:
    """Return how much was run and what is to be known of the answer, a line each."""
    return [*_extent(advice), *(advice_caveat(caveat, advice) for caveat in advice.caveats)]


def why_text(advice: Advice) -> str:
    """Return why, what was ruled out and what to take with care, for a terminal."""
    tables = render(why_tables(advice), "text").rstrip()
    return "\n\n".join(filter(None, (tables, "\n".join(care_lines(advice)))))


def why_tables(advice: Advice) -> list[Table]:
    """Return the tables of the answer: the best case, those ruled out, time and energy."""
    made = (best_table(advice), eliminations_table(advice), points_table(advice))
    return [table for table in made if table]


def _extent(advice: Advice) -> Iterator[str]:
    runs, cases = plural(advice.runs_made, "run"), plural(advice.entrants - advice.no_time, "case")
    yield f"{runs} of {cases} in {duration(advice.spent_s)}"
    if advice.no_time:
        yield f"not tried, for want of time or runs: {plural(advice.no_time, 'case')}"
    if advice.left_free:
        yield f"left to other programs: {named_cpus(advice.left_free)}"
    if advice.no_energy:
        yield f"energy: n/a ({advice.no_energy})"


def advice_markdown(advice: Advice, footnotes: Sequence[str] = ()) -> str:
    """Return all of the advice as a Markdown document; `footnotes` are of the results."""
    parts = ["# Advice", ""]
    parts += ["```sh", advice.command, "```", ""] if _answered(advice) and advice.command else []
    parts += markdown_items(answer_texts(advice))
    if advice.lines:
        parts += ["", "## Other launchers", "", *_line_parts(advice.lines)]
    for table in why_tables(advice):
        parts += ["", render([table], "markdown").rstrip()]
    parts += ["", "## What it rests on", ""]
    parts += markdown_items(care_lines(advice))
    if footnotes:
        parts += ["", "## What to know of these results", "", *markdown_items(footnotes)]
    return "\n".join([*parts, ""])


def _line_parts(lines: Sequence[Line]) -> list[str]:
    parts: list[str] = []
    for line in lines:
        if line.text:
            note = f" ({markdown_text(line.note)})" if line.note else ""
            parts += [f"{line.tool}{note}:", "", "```sh", line.text, "```", ""]
        else:
            parts += [f"{line.tool}: none, because {markdown_text(line.note)}.", ""]
    return parts


_OUTCOMES = {"worse": "worse", "undecided": "not shown better", "not compared": "not compared"}


def best_table(advice: Advice) -> Table | None:
    """Return how the best case changes what is measured, by the fresh pairs of its trial."""
    made = advice.confirmation
    if advice.best is None or made is None or made.difference is None:
        return None
    columns = (
        Column("measure", right=False), Column("change"), Column("95 % interval"), Column("p"),
    )  # fmt: skip
    noun = advice_noun(advice)
    p = NOTHING if advice.state.p is None else p_value(advice.state.p)
    change = advice_change(made.difference.ratio)
    rows = [(f"{noun}, typical", change, _ends(made.interval), p)]
    if gain := made.gain:
        sign = 1 if gain.higher else -1
        mean, least = (advice_change(math.exp(sign * end)) for end in (gain.mean, gain.least_mean))
        bound = "at least" if gain.higher else "at most"
        rows.append((f"{noun}, mean", mean, f"{bound} {least}", NOTHING))
    for objective, difference in made.other_objectives.items():
        change, interval = advice_change(difference.ratio), _ends(difference.known_interval())
        rows.append((f"{objective.noun}, typical", change, interval, NOTHING))
    runs = plural(made.pairs, "fresh run")
    caption = f"{advice.best.name} against {advice.reference.name} ({NOW}), {runs} of each"
    return Table(caption, columns, tuple(rows))


def _ends(interval: Interval | None) -> str:
    return NOTHING if interval is None else advice_interval(interval)


def eliminations_table(advice: Advice) -> Table | None:
    """Return each case that was ruled out or cannot run, the nearest to the best first."""
    notes = Notes()
    rows = [_ruled_out(case, notes) for case in advice.eliminations]
    rows += [
        (
            candidate.name,
            NOTHING,
            NOTHING,
            NOTHING,
            "not compared",
            f"cannot run {notes.marker(reason)}",
        )
        for reason, cases in advice.skipped.items()
        for candidate in cases
    ]
    if not rows:
        return None
    against = advice.best or advice.reference
    meanings = [
        ("", f"{why}: {meaning}")
        for why, meaning in RULED_OUT.items()
        if any(case.eliminated.why == why for case in advice.eliminations)
    ]
    columns = (
        Column("case", right=False),
        Column("runs"),
        Column("change"),
        Column("95 % interval"),
        Column("outcome", right=False),
        Column("reason", right=False),
    )
    caption = f"Ruled out: {advice_noun(advice)} against {against.name}; intervals hold together"
    return Table(caption, columns, tuple(rows), (*notes.listed(), *meanings))


def _ruled_out(case: Elimination, notes: Notes) -> tuple[str, ...]:
    change = NOTHING if case.ratio is None else advice_change(case.ratio)
    reason = case.eliminated.why
    if case.eliminated.reason:
        reason = f"{reason} {notes.marker(case.eliminated.reason)}"
    return (
        case.candidate.name,
        str(case.candidate.runs),
        f"over {change}" if case.at_least else change,
        _ends(case.interval),
        _OUTCOMES[case.outcome],
        reason,
    )


def points_table(advice: Advice) -> Table | None:
    """Return time against energy of the recommended case, the reference and the Pareto front."""
    shown = [
        point
        for point in advice.points
        if point.on_front or point.candidate in (advice.best, advice.reference)
    ]
    if not shown:
        return None
    decimals = time_decimals(point.time_s for point in shown)
    of_energy = energy_decimals(point.energy_j for point in shown)
    columns: tuple[Written[CasePoint], ...] = (
        (Column("case", right=False), lambda point: point.candidate.name),
        (Column("runs"), lambda point: str(point.candidate.runs)),
        (Column("time mean", "s"), lambda point: fixed(point.time_s, decimals)),
        (Column("energy mean", "J"), lambda point: fixed(point.energy_j, of_energy)),
        (Column("Pareto front", right=False), lambda point: "yes" if point.on_front else NOTHING),
        (Column("it is", right=False), lambda point: _role(advice, point.candidate)),
    )
    return table_of("Time against energy, all good runs of each case", columns, shown)


def _role(advice: Advice, candidate: Candidate) -> str:
    if candidate is advice.best:
        return "recommended" if candidate is advice.recommended else "best tried"
    return "now" if candidate is advice.reference else NOTHING
