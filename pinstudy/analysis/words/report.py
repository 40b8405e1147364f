"""The words of the report: its answer in at most 30 words, its figures, and how to cite it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pinstudy.analysis.findings.glance import (
    ChangeRange,
    DecisionOverview,
    Disturbed,
    Instruction,
    NoDecision,
)
from pinstudy.analysis.format.numbers import in_percent
from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.base import VERSION
from pinstudy.base.text import one_line, plural
from pinstudy.configs.mapping import UNPINNED

LEVEL = "95 % intervals"
BEST, GOVERNOR = "best", "governor"
GUESTS = "in virtual machines, threads {mapping} there"
# What to do where nothing is left to decide, with results from elsewhere, and with disturbed ones.
ALL_DECIDED = "All {count} comparisons are decided: more runs would not change the answer."
ONE_DECIDED = "The only comparison is decided: more runs would not change the answer."
ELSEWHERE = "Ask your own node:"
QUIETEN = "Quieten the node, then measure again; this names what disturbs it:"
# As CITATION.cff has them; a test compares both.
CITATION = f"The maintainers of pinstudy: pinstudy {VERSION} (software)."
PUBLICATION = (
    "Galante and Oyamada: To Pin or not to Pin: That is the question (2025). These results {how}."
)
REDONE, PUBLISHED = "redo its study", "are its own"

MAX_WORDS = 30
_ACTS = {
    "leave": "leave {placed} as they are",
    "confine": "confine {placed}",
    "pin": "pin {placed}",
    "use": "place {placed}",
}
_LEAVE_UNPINNED = "leave {placed} unpinned"
_NO_DECISION: dict[NoDecision, str] = {
    "out of turn": "No answer: the mappings' runs were not made in turn.",
    "modes": "No answer: runs are in several modes, of which none is typical.",
    "not compared": "No answer: no mapping could be compared with another.",
}

COMPARISONS_TITLE = "All comparisons of {noun}"
CHANGE_AXIS = "change of {estimand} {noun} against {baseline} (%)"
LESS_IS_BETTER, MORE_IS_BETTER = "left is better", "right is better"
HOW_TO_READ = (
    "A mark is a mapping's change against {baseline} with its 95 % interval; "
    "{better} of 0 is better."
)
BAND = "In the grey band, ±{margin} %, a change does not matter."
HOLLOW = "Hollow marks are undecided."
COMPRESSED = "The axis is compressed away from 0."
CUT = "An arrow is an interval that goes on beyond the edge."
WITHOUT_INTERVAL = "A mark without a line has no measured spread."
HISTORY = (
    "A mark is the median of a case in one of the results, with a 95 % interval, against its first "
    "level; a line is a level. Dashed: change points, with what else changed there."
)
NO_FACT = "nothing recorded"
NOTHING_COMPARED = "no case is compared in {noun} with a baseline"
NOTHING_THERE = "Not drawn: {count} in which nothing is compared."
# What marks say when they are pointed at.
RUN, ON_KIND, OF_THREAD = "{case}, run {run}", "{case}, {cores}", "{case}, thread {thread}, {cores}"
MARK = "{change} %"
PLANE_MARK = "time {time}, energy {energy} %"
MARK_WITH_INTERVAL = "{change} % ({low} to {high} %)"
COMPARISONS_ALT = (
    "{comparisons} in {configurations}: {outcomes}. The changes go from {low} % to {high} %."
)

PLANE_TITLE = "Time against energy"
PLANE_GUESTS_TITLE = "Time against energy in guests"
PLANE_TIME, PLANE_ENERGY = "change of mean time (%)", "change of mean energy (%)"
EQUAL_PRODUCT = "equal energy-delay product"
PLANE_HOW = (
    "A marker is a case against {reference} of its panel, at the crossing of the lines; "
    "the lower left corner is best."
)
PLANE_INTERVALS = "Lines are 95 % intervals of the case's own mean time."
LEAST = {"T": "time", "E": "energy", "EDP": "energy-delay product"}
PLANE_LABELS = "T, E and EDP are at the least time, energy and energy-delay product of a panel."
PLANE_SETTINGS = "The filling tells the setting."
PLANE_LOST = (
    "Not drawn: {cases} that lost more than a tenth of the runs, or did not make them in turn."
)
PLANE_MORE = "{programs} more have no panel."
PLANE_NO_BASELINE = "no case of which time and energy are known has a baseline of which they are"
PLANE_ALL_LOST = (
    "every case, or its baseline, lost more than a tenth of its runs, or did not make them in turn"
)
PLANE_ALT = "{cases} by time and energy. {extremes}"
PLANE_EXTREME = "{panel}: least {label} with {case}, {time} % time and {energy} % energy."


def short_answer(
    decisions: Sequence[DecisionOverview], why_none: NoDecision, disturbed: Disturbed
) -> str:
    """Return the answer in the objective that is looked at first; mappings stand in backticks.

    Of no decision it is why there is none.
    """
    if not decisions:
        return _NO_DECISION[why_none]
    # The last variant is the shortest there is.
    variants = list(_variants(decisions[0], disturbed))
    return next(filter(_is_short, variants), variants[-1])


def says_all(decision: DecisionOverview, disturbed: Disturbed) -> bool:
    """Return whether the short answer leaves nothing of a decision out."""
    return len(decision.instructions) <= 2 and _is_short(next(_variants(decision, disturbed)))


def _is_short(text: str) -> bool:
    return len(text.split()) <= MAX_WORDS


def race_answer(lines: Sequence[str]) -> str:
    """Return the answer of a race: what its decision says first."""
    first = lines[0].split("; ")[0] if lines else _NO_DECISION["not compared"]
    return f"{first.rstrip('.')}."


def _variants(decision: DecisionOverview, disturbed: Disturbed) -> Iterator[str]:
    """Yield the answer with less and less of what is not first."""
    start = []
    if disturbed.is_node_disturbed:
        runs = plural(disturbed.runs, "run")
        start = [f"Not reliable: {disturbed.by_node} of {runs} were disturbed."]
    if not decision.instructions:
        yield " ".join([*start, _undecided(decision)])
        return
    lead = "so far, " if start else ""
    if decision.objective != TIME:
        lead = f"{lead}for {decision.objective.noun}: "
    own = [decision.objective]
    every = list(
        dict.fromkeys(objective for found in decision.instructions for objective in found.changes)
    )
    nothing: list[Objective] = []
    for shown, named in (
        ((every, every), True),
        ((own, own), True),
        ((own, nothing), True),
        ((own,), True),
        ((nothing,), False),
    ):
        pairs = zip(decision.instructions, shown, strict=False)
        parts = [
            _instruction(decision, at, instruction, changed, named=named)
            for at, (instruction, changed) in enumerate(pairs)
        ]
        parts = [f"{text[0].upper()}{text[1:]}" for text in (lead + parts[0], *parts[1:])]
        more = sum(len(other.configurations) for other in decision.instructions[len(shown) :])
        yield " ".join([*start, *parts, *_rest(more, decision.undecided)])


def _instruction(
    decision: DecisionOverview,
    at: int,
    instruction: Instruction,
    changed: Sequence[Objective],
    *,
    named: bool,
) -> str:
    act = _act(instruction, is_first=not at, named=named)
    changes = instruction.changes
    gains = (_gain(changes[objective], objective) for objective in changed if objective in changes)
    gain = ", ".join(filter(None, gains))
    if instruction.act == "leave" and not decision.undecided and len(decision.instructions) == 1:
        gain = "no mapping was shown to be better"
    where = _where(decision, at, instruction)
    return f"{act}{where}{f': {gain}' if gain else ''}."


def _act(instruction: Instruction, *, is_first: bool, named: bool) -> str:
    """Return what to do with threads, of guests with their virtual CPUs: `outer/inner`."""
    outer, _, inner = one_line(instruction.mapping, None).partition("/")
    placed = ("virtual CPUs" if inner else "threads") if is_first else "them"
    is_unpinned = instruction.act == "leave" and outer == UNPINNED
    names = "" if is_unpinned or not named else f"`{outer}`"
    if named and inner not in ("", UNPINNED):
        names = f"{names}{', ' * bool(names)}threads there `{inner}`"
    template = _LEAVE_UNPINNED if is_unpinned else _ACTS[instruction.act]
    act = template.format(placed=placed)
    return f"{act} ({names})" if names else act


def _where(decision: DecisionOverview, at: int, instruction: Instruction) -> str:
    count, total = len(instruction.configurations), decision.total
    if total == 1:
        return ""
    if at:
        return f" in {count}"
    if count < total:
        return f" in {count} of {total} configurations"
    return f" in {'both' if total == 2 else f'all {total}'} configurations"


def _gain(change: ChangeRange, objective: Objective) -> str:
    """Return what a case changes: `4 % less time`; nothing where that is not decided."""
    if not change.is_known:
        return ""
    shares = sorted((abs(change.low - 1), abs(change.high - 1)))
    both = " to ".join(dict.fromkeys(in_percent(share, 2) for share in shares))
    if math.isinf(shares[-1]):
        return ""
    means = "mean " if change.of_means else ""
    return f"{both} % {'less' if change.low < 1 else 'more'} {means}{objective.short}"


def _undecided(decision: DecisionOverview) -> str:
    """Return that nothing is decided, and what that does not mean."""
    where = ""
    if decision.total > 1:
        where = f" in {'both' if decision.total == 2 else f'all {decision.total}'} configurations"
    noun = "" if decision.objective == TIME else f" for {decision.objective.noun}"
    return f"Undecided{noun}{where}: these runs show neither a gain nor that there is none."


def _rest(others: int, undecided: int) -> list[str]:
    """Return the sentence on the other configurations; none where there are none."""
    parts = []
    if others:
        parts.append(f"{others} {'needs another mapping' if others == 1 else 'need others'}")
    if undecided:
        parts.append(f"{undecided} {'is' if undecided == 1 else 'are'} undecided")
    return [f"{', '.join(parts)}."] if parts else []
