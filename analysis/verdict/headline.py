"""The headline: a summary of the verdicts of all tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from analysis.objectives import OBJECTIVES, Objective
from analysis.results.case import Case
from analysis.results.turns import ORDER
from analysis.verdict.caveats import (
    lost_by_case,
    out_of_turn,
    start_up,
    unlike_answers,
    unusable,
)
from analysis.verdict.model import CaseFinding, TableFindings, Verdict, objectives_in
from analysis.verdict.phrases import best_change, governor, listed, name, place, placer
from base.text import one_line, plural

_ANSWERS = {
    "pin": "pin {what}",
    "confine": "confine {what} to a set of CPUs",
    "leave": "leave {what} to {whom}",
    "use": "use {mappings}",
    "no difference": "no mapping gains over {baseline}",
    "undecided": "undecided",
}
# What the second word of a mixed answer is when no single one is right everywhere.
_DECIDED = ("pin", "confine", "leave", "use", "no difference")

# Answers that tell what to do.
_INSTRUCTIONS = ("pin", "confine", "leave", "use")
# Those after which it has still to be said under whom.
_PLACING = ("pin", "confine", "use")

Verdicts = Sequence[tuple[TableFindings, Verdict]]


def headline_of(tables: Sequence[TableFindings]) -> tuple[str, ...]:
    """Return the answer for each objective that has one, and where most is gained."""
    sentences: list[str] = []
    missing: list[str] = []
    for objective in objectives_in(tables) or OBJECTIVES:
        verdicts = [
            (table, verdict)
            for table in tables
            for verdict in table.verdicts
            if verdict.objective.identity == objective.identity
        ]
        compared = [pair for pair in verdicts if pair[1].answer != "not compared"]
        if compared:
            sentences.append(_answer(objective, compared, len(verdicts) - len(compared)))
            sentences.extend(_most(objective, compared, tables))
        else:
            missing.append(objective.noun)
    if missing:
        sentences.append(f"No answer for {listed(missing)}: not measured, or not comparable.")
    cases = [case for table in tables for case in table.cases]
    if lost := unusable(cases):
        verb, possessive = ("is", "its") if len(lost) == 1 else ("are", "their")
        sentences.append(
            f"{len(lost)} of {plural(len(cases), 'case')} {verb} not compared, because more than a "
            f"tenth of {possessive} runs were lost: {lost_by_case(lost)}."
        )
    if apart := out_of_turn(cases):
        verb = "is" if len(apart) == 1 else "are"
        sentences.append(
            f"{len(apart)} of {plural(len(cases), 'case')} {verb} not compared: {ORDER}."
        )
    return tuple(sentences)


def _answer(objective: Objective, verdicts: Verdicts, lacking: int) -> str:
    counts = Counter(verdict.answer for _, verdict in verdicts)
    given = (answer for answer in _ANSWERS if counts[answer])
    words = {answer: f"{_to(answer)}{in_words(answer, verdicts)}" for answer in given}
    if len(words) == 1:
        (text,) = words.values()
        of = f"{text}, {_settings(len(verdicts))}"
    else:
        parts = [f"{text} in {counts[answer]}" for answer, text in words.items()]
        depends = "it depends: " if sum(answer in _DECIDED for answer in words) > 1 else ""
        of = f"{depends}{', '.join(parts)} of {len(verdicts)} settings (table and governor)"
    more = f"; {lacking} more could not be compared" if lacking else ""
    disagreeing = sum(verdict.means_disagree for _, verdict in verdicts)
    means = f"; the means say otherwise in {plural(disagreeing, 'setting')}" if disagreeing else ""
    doubt = unlike_answers(verdict for _, verdict in verdicts)
    unlike = f"; {doubt}" if doubt else ""
    return f"For {objective.noun}: {of}{_hedge(verdicts)}{means}{unlike}{more}."


def _settings(count: int) -> str:
    """Return in how many settings an answer is the same."""
    if count == 1:
        return "in the one setting (table and governor) that was compared"
    return f"in {'both' if count == 2 else f'all {count}'} settings (table and governor)"


def _to(answer: str) -> str:
    return "to " if answer in _INSTRUCTIONS else ""


def in_words(answer: str, verdicts: Verdicts) -> str:
    """Return an answer in words, with the place where all its verdicts have the same one."""
    of_answer = [verdict for _, verdict in verdicts if verdict.answer == answer]
    cases = [case for table, _ in verdicts for case in table.cases]
    what = _what(answer, [verdict.best.summary for verdict in of_answer if verdict.best])
    text = _ANSWERS[answer].format(
        what=what,
        mappings=_either(verdict.best.mapping for verdict in of_answer if verdict.best),
        baseline=_either(case.mapping for case in cases if case.is_baseline),
        whom=_either(placer(verdict.best.summary) for verdict in of_answer if verdict.best),
    )
    places = {place(verdict.best.summary) for verdict in of_answer if verdict.best}
    where = places.pop() if len(places) == 1 else None
    if where and answer in ("pin", "confine"):
        text = f"{text} on {where}" if answer == "pin" else f"confine {what} to {where}"
    under = {placer(verdict.best.summary) for verdict in of_answer if verdict.best}
    asked = any(verdict.best and verdict.best.summary.key.scheduling for verdict in of_answer)
    return f"{text}, under {_either(under)}" if asked and answer in _PLACING else text


def _what(answer: str, bests: Sequence[Case]) -> str:
    """Return what an answer places, or leaves: threads, a guest's virtual CPUs, or both."""
    binding = {"pin": "pin", "confine": "set", "leave": "none"}.get(answer)
    places = {
        tuple(
            what
            for what, placing in (
                ("threads", best.key.of_threads),
                ("virtual CPUs", best.key.of_vcpus),
            )
            if placing and placing.binding == binding
        )
        for best in bests
    }
    if len(places) == 1:
        return " and ".join(places.pop())
    return " or ".join(sorted({what for of_case in places for what in of_case}))


def _either(mappings: Iterable[str]) -> str:
    return one_line(" or ".join(sorted(set(mappings))))


def _hedge(verdicts: Verdicts) -> str:
    """Return in how many settings the opposite of the answer may be as good; empty for none."""
    parts = []
    for answer, other in (("pin", "confining"), ("confine", "pinning")):
        opposite = "set" if answer == "pin" else "pin"
        count = sum(
            verdict.answer == answer and any(_does(case, opposite) for case in verdict.also)
            for _, verdict in verdicts
        )
        if count:
            parts.append(
                f"{other} does as well, or cannot be told from it, in {plural(count, 'setting')}"
            )
    return f"; {'; '.join(parts)}" if parts else ""


def _does(case: CaseFinding, binding: str) -> bool:
    of_case = (case.summary.key.binding, case.summary.key.vcpu_binding)
    return binding in of_case and (binding == "pin" or "pin" not in of_case)


def _most(
    objective: Objective, verdicts: Verdicts, tables: Sequence[TableFindings]
) -> Iterator[str]:
    """Yield where a mapping gains most over the baseline.

    The interval is widened for all comparisons among which this one was chosen.
    """
    gains = [
        (verdict.best.comparisons[objective], table, verdict.best)
        for table, verdict in verdicts
        if verdict.best is not None and objective in verdict.best.comparisons
    ]
    if not gains:
        return
    comparison, table, best = min(
        gains, key=lambda gain: objective.loss(gain[0].difference.log_ratio)
    )
    baseline = table.baseline_of(best)
    beside = f", beside {best.summary.key.beside}" if best.summary.key.beside else ""
    count = sum(
        case.comparisons[objective].objective.identity == objective.identity
        for other in tables
        for case in other.cases
        if objective in case.comparisons
    )
    gain = best_change(comparison, count)
    starts = start_up(best.summary, baseline.summary)
    yield (
        f"The largest gain in {objective.noun}: {_where(table, tables)}, governor "
        f"{governor(best)}{one_line(beside)}: {name(best)} with {gain.under(name(baseline))} "
        f"({gain.with_level}{f'; {starts}' if starts else ''})."
    )


def _where(table: TableFindings, tables: Sequence[TableFindings]) -> str:
    """Return a table as app and threads, or its title where another table shares these."""
    named = f"{table.key.app} with {table.key.threads_in_words}"
    named_so = [of for of in tables if f"{of.key.app} with {of.key.threads_in_words}" == named]
    return table.title if len(named_so) > 1 else one_line(named)
