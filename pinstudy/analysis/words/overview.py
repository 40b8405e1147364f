"""The lines of an overview in words, and those of levers, defaults and best cases."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pinstudy.analysis.advice.model import names_of
from pinstudy.analysis.findings.answers import Answers, BestCase
from pinstudy.analysis.findings.glance import (
    ChangeRange,
    DecisionOverview,
    Disturbed,
    Instruction,
    Lack,
    Lost,
    LostBy,
    NoDecision,
    NotComparable,
    Undecided,
)
from pinstudy.analysis.findings.levers import (
    FACTORS,
    Factor,
    Level,
    Lever,
    LeverPair,
    objectives_of,
    range_of,
)
from pinstudy.analysis.findings.one_for_all import Default, Loss, OneForAll
from pinstudy.analysis.format.numbers import (
    NOTHING,
    ends_in_percent,
    percent,
    signed_in_percent,
    three_digits,
)
from pinstudy.analysis.objectives import EDP, ENERGY, TIME, Objective
from pinstudy.analysis.results.baselines import ORDER
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.statistics.decision import MAX_REPETITIONS
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.model import Choice
from pinstudy.analysis.words.mappings import short_baseline
from pinstudy.base import PINSTUDY
from pinstudy.base.text import one_line, plural
from pinstudy.base.units import duration
from pinstudy.configs.mapping import UNPINNED
from pinstudy.configs.settings import NAMES, SCHED_EXT
from pinstudy.runners.records.disturbances import (
    AT_LIMIT,
    BY_QUOTA,
    CLIPPED,
    MARKED,
    MORE_THREADS,
    SHARED,
    STOLEN,
    THROTTLED,
    TOO_SHORT,
    WARM,
)
from pinstudy.runners.records.lost_runs import NOT_PROVABLE, UNEXPLAINED
from pinstudy.runners.records.status import (
    CHECK_FAILED,
    CLOCK_DRIFTED,
    FAILED,
    PLACEMENT_VIOLATED,
    SETTINGS_CHANGED,
    SUSPENDED,
    TIMEOUT,
)

LEVERS, ONE_FOR_ALL, FASTEST, LEAST_ENERGY = "Levers", "One for all", "Fastest", "Least energy"
IN_GUESTS = " in virtual machines"
BEST_LABELS = {TIME: FASTEST, ENERGY: LEAST_ENERGY}
# What a case has that does not ask for a level of a factor.
_NOTHING_ASKED: Mapping[Factor, str] = {
    "co_runner": "alone",
    **dict.fromkeys(NAMES, "as it is"),
    "schedule": "none",
}
# An end beyond says nothing that a reader could use.
_MOST_PERCENT = 999.0


def _ranges(pairs: Sequence[LeverPair]) -> str:
    """Return between what all but products change, and of how many pairs."""
    parts = []
    for objective in (name for name in objectives_of(pairs) if name != EDP):
        if found := range_of(pairs, objective):
            change = f"{percents(Interval(found.low, found.high))} (no interval)"
            change = percents(found.interval) if found.interval else change
            parts.append(f"{objective.short} {change}")
    return f"{', '.join(parts) or 'not compared'}; {pairs_text(pairs)}"


def pairs_text(pairs: Sequence[LeverPair]) -> str:
    """Return how many pairs there are, and how many of them were compared where not all were."""
    compared = sum(bool(pair.effects) for pair in pairs)
    count = plural(len(pairs), "pair")
    return count if compared == len(pairs) else f"{compared} of {count} compared"


def percents(interval: Interval) -> str:
    """Return two ratios as changes, with a word between: `+25 to +57 %`, `+45 %`."""
    low, high = (signed_change(end) for end in (interval.low, interval.high))
    return f"{low} %" if low == high else f"{low} to {high} %"


def signed_change(ratio: float) -> str:
    """Return a ratio as a change in per cent, with its sign and two digits."""
    share = ratio - 1
    if share > _MOST_PERCENT / 100:
        return f"over +{_MOST_PERCENT:.0f}"
    return signed_in_percent(share, 2)


def change_of_lever(lever: Lever) -> str:
    """Return a lever's two levels: `8 against 1`."""
    level, reference = (_level(lever.factor, level) for level in (lever.level, lever.reference))
    return f"{level} against {reference}"


def name_of_factor(factor: Factor) -> str:
    """Return a factor's name as headings have it."""
    if factor == SCHED_EXT:
        return factor
    return factor.replace("_", "-" if factor == "co_runner" else " ")


def _level(factor: Factor, level: Level) -> str:
    return _NOTHING_ASKED.get(factor, "none") if level is None else one_line(str(level))


def one_for_all_texts(found: Iterable[OneForAll]) -> Iterator[str]:
    """Yield the mapping to take as the default, by objective."""
    for answer in found:
        if answer.objective not in BEST_LABELS or len(answer.configurations) < 2:
            continue
        best, where = answer.defaults[0], IN_GUESTS if answer.in_guests else ""
        noun = "" if answer.objective == TIME else f" for {answer.objective.short}"
        yield (
            f"{one_line(best.mapping)}{noun}{where}: up to {percent(best.worst.ratio - 1)} behind "
            f"the best mapping ({_ends(best.worst)}), {percent(best.mean.ratio - 1)} on "
            f"average{_absent(best)}"
        )


def _ends(loss: Loss) -> str:
    """Return both ends of a loss's interval: `95 %: 12 to 14`."""
    if loss.interval is None:
        return "no interval"
    both = ends_in_percent(loss.interval.low - 1, loss.interval.high - 1)
    return f"95 %: {' to '.join(dict.fromkeys(both))}"


def _absent(default: Default) -> str:
    text = ""
    if default.missing:
        total = default.compared + sum(default.missing.values())
        reasons = ", ".join(f"{why} {count}" for why, count in default.missing.items())
        text = f"; compared in {default.compared} of {total} ({reasons})"
    if default.against_fewer:
        text += f"; another mapping is missing in {default.against_fewer}"
    return text


# What stands under an overview's grid (analysis.findings.glance).
DECISION, LOST, MISSING, DISTURBED = "Decision", "Lost", "Missing", "Disturbed"
NEXT, NOTE = "Next", "Note"
TO_TRY = "the command lines, to start one by hand"
# The mark of a case that is not compared.
NOT_COMPARED = "x"
_ACT_WORDS: Mapping[Choice, str] = {
    "leave": "leave unpinned ({})",
    "confine": "confine ({})",
    "pin": "pin ({})",
    "use": "use {}",
}
_NO_DECISION: Mapping[NoDecision, str] = {
    "out of turn": f"none: {ORDER}",
    "modes": "none: runs are in several modes, of which none is typical",
    "not compared": "none: no mapping could be compared with another",
}
_NOT_COMPARABLE: Mapping[NotComparable, str] = {
    "out of turn": "not made in turn with the baseline",
    "modes": "runs in several modes, of which none is typical",
}
_LOST_WORDS = {
    TIMEOUT: "timed out",
    FAILED: "failed",
    CHECK_FAILED: "with a wrong result",
    PLACEMENT_VIOLATED: "placed elsewhere",
    NOT_PROVABLE: "without proof of placement",
    SETTINGS_CHANGED: "saw settings change",
    CLOCK_DRIFTED: "had a drifting clock",
    SUSPENDED: "met a suspend",
    UNEXPLAINED: "not averaged",
}
_DISTURBED_WORDS = {
    SHARED: "shared their CPUs",
    STOLEN: "lost CPU time to a hypervisor",
    BY_QUOTA: "were stopped by a CPU quota",
    THROTTLED: "were throttled by heat",
    CLIPPED: "were clipped at a power limit",
    AT_LIMIT: "were at the long-term power limit",
    WARM: "began too warm",
    TOO_SHORT: "had regions too short to time",
    MARKED: "were slowed by marks of regions",
    MORE_THREADS: "had more threads than asked for",
}
# Of tasks and mappings so many are named.
_MAX_NAMED = 2


def decision_texts(
    decisions: Sequence[DecisionOverview], why_none: NoDecision
) -> Iterator[tuple[list[str], int]]:
    """Yield the parts of each objective's decision, and how many of the last have to stand.

    Of no decision it is why there is none.
    """
    if not decisions:
        yield [_NO_DECISION[why_none]], 0
    for decision in decisions:
        instructions, doubts = list(_instructions(decision)), list(_doubts_on(decision))
        parts = [one_line(part, None) for part in (*instructions, *doubts)]
        if decision.objective != TIME:
            parts[0] = f"for {decision.objective.noun}: {parts[0]}"
        yield parts, len(doubts)


def _instructions(decision: DecisionOverview) -> Iterator[str]:
    total = decision.total
    for at, instruction in enumerate(decision.instructions):
        act = _act(instruction)
        gain = _changes(instruction)
        count = len(instruction.configurations)
        if not at:
            where = f" in {count} of {plural(total, 'configuration')}" if total > 1 else ""
            yield f"{act}{where}{gain}"
        elif count == 1:
            yield f"{instruction.configurations[0]}: {act}{gain}"
        else:
            yield f"{act} in {count}{gain}"


def _act(instruction: Instruction) -> str:
    if instruction.act == "leave" and instruction.mapping.startswith(UNPINNED):
        return f"leave {instruction.mapping}"
    return _ACT_WORDS[instruction.act].format(instruction.mapping)


def _doubts_on(decision: DecisionOverview) -> Iterator[str]:
    if decision.undecided:
        total = plural(decision.total, "configuration")
        configurations = "" if decision.instructions else f" of {total}"
        where = f" in {decision.undecided}{configurations}" if decision.total > 1 else ""
        yield f"undecided{where}"


def _changes(instruction: Instruction) -> str:
    return "".join(
        f", {objective.short} {_change_words(change)}"
        for objective, change in instruction.changes.items()
    )


def _change_words(change: ChangeRange) -> str:
    if not change.is_known:
        return "undecided"
    return f"{percents(Interval(change.low, change.high))}{' by means' * change.of_means}"


def lever_texts(levers: Sequence[Lever]) -> Iterator[str]:
    """Yield a line a factor: all its levels, under the default mapping where there is one."""
    for factor in FACTORS:
        found = [lever for lever in levers if lever.factor == factor]
        default = [lever for lever in found if lever.is_default]
        for alike in grouped(default or found, lambda lever: lever.reference):
            levels = f" {_levels(factor, alike)}"
            reference = _level(factor, alike[0].reference)
            if factor == "mapping":
                levels = IN_GUESTS if "/" in reference else ""
                reference = short_baseline(reference)
            where = "" if default else " under other mappings"
            pairs = [pair for lever in alike for pair in lever.pairs]
            yield f"{name_of_factor(factor)}{levels} against {reference}{where}: {_ranges(pairs)}"


def _levels(factor: Factor, levers: Sequence[Lever]) -> str:
    """Return the levels of levers, of many numbers the first and the last."""
    named = [_level(factor, lever.level) for lever in levers]
    is_range = len(named) > _MAX_NAMED and all(isinstance(lever.level, int) for lever in levers)
    return f"{named[0]} to {named[-1]}" if is_range else ", ".join(named)


def best_texts(
    answers: Answers, cases: Sequence[Case], objective: Objective, margin: float
) -> list[str]:
    """Return the best case of each program that has one.

    Of a single program it has its gain, and its launch line between backticks. `cases` are those of
    all results; a gain within the margin, a share, is none.
    """
    found = [best for best in answers.best if best.objective == objective and best.gains(margin)]
    names = names_in_programs(cases)
    if len(found) == 1:
        return list(_best_lines(found[0], names, margin))
    return [
        one_line(
            f"{names[best.case.key.case_id]}: {value_of(best)}" + _rivals(best),
            None,
        )
        for best in found
    ]


def _rivals(best: BestCase) -> str:
    """Return how many others may be as good, in brackets; nothing where none, or none is known."""
    also, unknown = len(best.also), len(best.unknown)
    if unknown == best.compared - 1 or not also + unknown:
        return ""
    if not also:
        return f" ({plural(unknown, 'other')} unknown)"
    return f" ({plural(also, 'other')} not distinguishable{f', {unknown} unknown' * bool(unknown)})"


def rivals_cell(best: BestCase) -> str:
    """Return how many others may be as good: `2`, `0 (3 unknown)`; nothing where none is known."""
    unknown = len(best.unknown)
    if unknown == best.compared - 1:
        return NOTHING
    return f"{len(best.also)}{f' ({unknown} unknown)' * bool(unknown)}"


def names_in_programs(cases: Sequence[Case]) -> dict[str, str]:
    """Return the cases' names; what all cases of a program have is not named."""
    apps = grouped(cases, lambda case: case.key.table.app)
    if len(apps) == 1:
        return names_of(cases)
    return {
        case_id: f"{alike[0].key.table.app}, {name}"
        for alike in apps
        for case_id, name in names_of(alike).items()
    }


def _best_lines(best: BestCase, names: Mapping[str, str], margin: float) -> Iterator[str]:
    """Yield the best case and its command line; nothing where it gains nothing that matters."""
    if best.effect is None or best.reference is None or not best.gains(margin):
        return
    name = names[best.case.key.case_id]
    change = f"{signed_change(best.effect.ratio)} % by means alone"
    if best.interval is not None:
        change = percents(best.interval)
    against = f"{change} against {reference_of(best)}"
    yield one_line(f"{name}: {value_of(best)}, {against}{_doubts(best)}", None)
    if best.line:
        yield f"`{one_line(best.line, None)}`"


def _doubts(best: BestCase) -> str:
    text = f"; not shown to be worse: {plural(len(best.also), 'case')}" if best.also else ""
    # What was never run is told elsewhere, and of means alone nothing is shown.
    lost = sum(count for why, count in best.missing.items() if why != "left out")
    lost += len(best.unknown) if best.interval else 0
    return f"{text}; {plural(lost, 'case')} not compared" if lost else text


def reference_of(best: BestCase) -> str:
    """Return what is different of the case that the best one is compared with."""
    if best.reference is None or best.reference is best.case:
        return NOTHING
    return names_of([best.case, best.reference])[best.reference.key.case_id]


def value_of(best: BestCase) -> str:
    """Return the best case's value with its unit."""
    return f"{three_digits(best.value)} {best.objective.unit}"


def not_compared_texts(found: Mapping[NotComparable, Sequence[str]]) -> list[str]:
    """Return which mappings are not compared, by the reason."""
    texts = (f"{_some(names)}: {_NOT_COMPARABLE[reason]}" for reason, names in found.items())
    return list(map(one_line, texts))


def lost_texts(lost: Lost) -> list[str]:
    """Return how many runs were lost, by cause; nothing where none was."""
    if not lost.count:
        return []
    total = "" if lost.made is None else f" of {lost.made}"
    causes = [
        f"{_LOST_WORDS.get(by.cause, by.cause)}{_first_reason(by)}: {_some(by.mappings)}"
        for by in lost.by_cause
    ]
    if len(causes) == 1:
        parts = [f"{lost.count}{total} runs {causes[0]}"]
    else:
        counted = [f"{by.count} {cause}" for by, cause in zip(lost.by_cause, causes, strict=True)]
        parts = [f"{lost.count}{total} runs", *counted]
    if lost.not_compared:
        parts.append(f"{plural(lost.not_compared, 'case')} not compared for it")
    return [one_line(part, None) for part in parts]


def _first_reason(lost: LostBy) -> str:
    """Return the reason of lost runs whose cause does not say it; the first one of several."""
    if lost.cause not in (FAILED, CHECK_FAILED, NOT_PROVABLE) or not lost.reasons:
        return ""
    return f" ({_clause(lost.reasons[0])}{', …' * (len(lost.reasons) > 1)})"


def _some(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join([*names[:_MAX_NAMED], *more])


def disturbed_texts(disturbed: Disturbed) -> list[str]:
    """Return how many runs were disturbed, by what."""
    return [
        f"{count} of {plural(disturbed.runs, 'run')} {_DISTURBED_WORDS[name]}"
        f"{_tasks(disturbed) if name == SHARED else ''}"
        for name, count in disturbed.counts.items()
    ]


def _tasks(disturbed: Disturbed) -> str:
    tasks = list(disturbed.neighbours.items())[:_MAX_NAMED]
    named = ", ".join(f"{one_line(name).split(',')[0]} {count}" for name, count in tasks)
    return f" (most often with: {named})" if tasks else ""


def missing_texts(
    left_out: Iterable[Lack], not_measured: Sequence[Lack], *, is_elsewhere: bool
) -> tuple[list[str], int]:
    """Return what was not run or not measured, by reason, and the command that says what grants it.

    That has to stand, and is counted. Nothing needs to be granted for what some runs of each case
    have, or where runs are from elsewhere.
    """
    parts = [f"{', '.join(lack.names)}{_in_cases(lack)}: {lack.reason}" for lack in left_out]
    parts += [
        f"{', '.join(lack.names)}{_in_cases(lack)}: {_clause(lack.reason)}" for lack in not_measured
    ]
    granted = not is_elsewhere and any(not lack.in_some_runs for lack in not_measured)
    parts += [f"what grants it: {PINSTUDY} doctor"] * granted
    return [one_line(part, None) for part in parts], int(granted)


def _in_cases(lack: Lack) -> str:
    some = " in some runs" if lack.in_some_runs else ""
    if lack.count == lack.total:
        return some
    return f"{some}{' of' if some else ' in'} {lack.count} of {lack.total} cases"


def note_texts(footnotes: Iterable[str], decisions: Iterable[DecisionOverview]) -> list[str]:
    """Return the first clauses of footnotes, each once; verdict and report have them whole.

    Before them stands of how many decisions by means it is not sure that they hold.
    """
    unsure = [
        f"{found.unsure} of {plural(found.total, 'decision')} on {found.objective.noun} by "
        "unlike means"
        for found in decisions
        if found.unsure
    ]
    clauses = (re.split(r" \(|; ", text, maxsplit=1)[0] for text in footnotes)
    return [*unsure, *dict.fromkeys(one_line(text, None) for text in clauses)]


def _clause(text: str) -> str:
    """Return the first clause of a text, without the event or the source that it begins with."""
    bare = re.sub(r"^[A-Za-z][\w.-]*: ", "", text)
    return re.split(r" \(|[;:] ", bare, maxsplit=1)[0]


def open_texts(undecided: Undecided, disturbed: Disturbed, seconds: float) -> list[str]:
    """Return what the next command decides, in about so many seconds, and what none decides.

    `seconds` is NaN where that is not known.
    """
    if disturbed.is_node_disturbed:
        why = f"{disturbed.by_node} of {plural(disturbed.runs, 'run')} disturbed"
        return [f"{undecided.count} cannot be decided here: {why}"] if undecided.count else []
    parts = []
    if undecided.by_repetitions:
        parts.append(f"{undecided.by_repetitions} of {plural(undecided.comparisons, 'comparison')}")
        if not math.isnan(seconds):
            parts.append(f"about {duration(seconds)}")
    if undecided.by_boots:
        parts.append(f"{undecided.by_boots} undecided without other boots or days")
    if undecided.hardly:
        parts.append(f"{undecided.hardly} undecided even by {MAX_REPETITIONS} repetitions")
    return parts
