"""What an overview's grid does not show: the answer, slow runs, and each reason once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from analysis.findings.answers import Answers
from analysis.format.numbers import percent
from analysis.format.table import joined
from analysis.measures import SHOWN
from analysis.objectives import ENERGY, OBJECTIVES, TIME, Objective
from analysis.overview.grid import Overview, Setting, labels_of_cases, labels_of_verdicts
from analysis.results.case import PLACEMENTS, grouped
from analysis.results.sources import Results
from analysis.results.turns import ORDER
from analysis.verdict.caveats import modes_in_words, out_of_turn, unlike_answers, unusable
from analysis.verdict.decisions import choice_of
from analysis.verdict.model import CaseFinding, Decision, Findings, TableFindings
from analysis.verdict.phrases import (
    FRACTIONS_TO,
    change_of_means,
    instruction,
    listed,
    quantity,
    sentence,
)
from analysis.words import answer_lines
from base import PINSTUDY
from base.text import one_line, plural
from runners.records.disturbances import DISTURBANCES

# More exceptions than that are counted.
_MAX_EXCEPTIONS = 3
_MAX_SENTENCES = 3
_MAX_SLOW = 2
_MAX_LOST = 6
_MAX_REASONS = 2
# A change of energy beside a gain in time, or the reverse, is named from here on.
_LEAST_SHOWN = 0.01
_ANSWERED = (TIME, ENERGY)
_NAMES = {
    measure.field: measure.objective or measure.noun
    for measure in SHOWN
    if measure.noun and not measure.by_kind
}
# A reason begins with the event or source that it is of.
_OF_EVENT = re.compile(r"[A-Za-z][\w.-]*: ")


ANSWER = "Answer"


class _Lack(NamedTuple):
    """A measure that runs of a case lack: all of them, or some."""

    name: str
    in_some_runs: bool


class Remark(NamedTuple):
    """A remark on all results, with a word for the margin: `Answer`, `Slow`, `Missing`."""

    label: str
    text: str


def remarks(
    results: Results, findings: Findings, answers: Answers, overviews: Sequence[Overview]
) -> Iterator[Remark]:
    """Yield the remarks that stand below an overview, the answer first."""
    settings = [setting for overview in overviews for setting in overview.settings]
    for text in answer(findings, settings):
        yield Remark(ANSWER, text)
    cases = findings.cases
    # Regions are parts of the same runs.
    whole = [case for case in cases if case.summary.key.table.region is None]
    for label, texts in (
        *answer_lines(answers, results.cases, findings.margin),
        ("Modes", _modes(settings, findings)),
        ("Slow", _slow(settings, findings)),
        ("Disturbed", _disturbed(whole)),
        ("Left out", _left_out(cases)),
        ("Missing", _missing(cases, is_elsewhere=not results.made_here)),
        ("Excluded", _excluded(whole)),
        # Races cut runs of cases that are far behind, and have their own rule.
        ("Lost", () if findings.raced else _lost(settings, findings)),
        ("Unproved", _unproved(whole)),
        ("Note", results.footnotes),
    ):
        for text in texts:
            yield Remark(label, one_line(text, None))


def remarks_by_label(
    results: Results, findings: Findings, answers: Answers, overviews: Sequence[Overview]
) -> list[tuple[str, list[str]]]:
    """Return the remarks' texts by label, in the order of `remarks`."""
    of_label = grouped(remarks(results, findings, answers, overviews), lambda remark: remark.label)
    return [(those[0].label, [remark.text for remark in those]) for those in of_label]


def answer(findings: Findings, settings: Sequence[Setting]) -> list[str]:
    """Return the answer in at most three sentences: by objective, and what is open."""
    if findings.raced:
        return list(findings.headline)
    sentences: list[str] = []
    for objective in _answered(findings):
        verdicts = list(_advised(findings, settings, objective))
        advised = [of for verdict, of in verdicts if verdict.choice != "undecided"]
        if advised:
            unlike = unlike_answers(verdict for verdict, _ in verdicts)
            sentences.append(_answer(objective, advised, len(verdicts), unlike))
        elif verdicts and not sentences:
            sentences.append(_undecided(objective, len(verdicts)))
    return sentences[:_MAX_SENTENCES] or [f"There is none: {_why_none(findings)}."]


def _why_none(findings: Findings) -> str:
    if out_of_turn(findings.cases):
        return ORDER
    if any(TIME in case.unclear for case in findings.cases):
        return "runs are in several modes, of which none is typical"
    return "no mapping could be compared with another"


def _answered(findings: Findings) -> list[Objective]:
    """Return the objectives to speak of: time, energy, and what programs print."""
    printed = [of for table in findings.tables for of in table.compared_by if of not in OBJECTIVES]
    return list({of.identity: of for of in (*_ANSWERED, *printed)}.values())


class _Advised(NamedTuple):
    """A setting with what is advised there in one objective.

    `options` are the cases that are as good as any, by instruction: the best one first, then those
    that are better than the baseline as well and not shown to be worse than the best.
    """

    label: str
    table: TableFindings
    options: Mapping[str, CaseFinding]


def _advised(
    findings: Findings, settings: Sequence[Setting], objective: Objective
) -> Iterator[tuple[Decision, _Advised]]:
    """Yield the verdicts in one objective that compare anything, and their advice."""
    labels = labels_of_verdicts(settings)
    for at, table in enumerate(findings.tables):
        for verdict in table.decisions:
            is_asked = verdict.objective.identity == objective.identity
            if is_asked and verdict.choice != "not compared":
                label = labels[at, verdict.governor, verdict.beside]
                yield verdict, _Advised(label, table, dict(_options(verdict)))


def _options(verdict: Decision) -> Iterator[tuple[str, CaseFinding]]:
    if verdict.best is None:
        return
    others = [
        rival.case
        for rival in verdict.as_good
        if rival.case.comparisons[verdict.objective].outcome == "better"
    ]
    options: dict[str, CaseFinding] = {}
    for case in (verdict.best, *others):
        options.setdefault(instruction(choice_of(case), case.summary), case)
    yield from options.items()


def _groups(advised: Sequence[_Advised]) -> list[tuple[str, list[_Advised]]]:
    """Return the settings by instruction: as few instructions as a greedy choice finds."""
    groups = []
    left = list(advised)
    while left:
        by_what: dict[str, list[_Advised]] = {}
        for of in left:
            for what in of.options:
                by_what.setdefault(what, []).append(of)
        what = max(by_what, key=lambda each: len(by_what[each]))
        groups.append((what, by_what[what]))
        left = [of for of in left if what not in of.options]
    return groups


def _answer(objective: Objective, advised: Sequence[_Advised], compared: int, unlike: str) -> str:
    """Return what to do in most settings, in which others something else, and what is open.

    `unlike` is a doubt that all of it is under.
    """
    (usual, first), *others = _groups(advised)
    exceptions = [(of, what) for what, group in others for of in group]
    gain = _in_brackets(_gain(usual, first, objective))
    if exceptions and len(exceptions) <= _MAX_EXCEPTIONS:
        parts = [
            f"{of.label}: {what}{_in_brackets(_gain(what, [of], objective))}"
            for of, what in exceptions
        ]
        text = f"{usual}{gain}, except {'; '.join(parts)}"
    else:
        some = f"{len(first)} of {compared} settings"
        where = f" in {_all_of(compared) if len(first) == compared else some}"
        where = where if compared > 1 else ""
        parts = [
            f"{what} in {len(group)}{_in_brackets(_gain(what, group, objective))}"
            for what, group in others
        ]
        text = "; ".join([f"{usual}{where}{gain}", *parts])
    if left := compared - len(advised):
        text += f"; {left} of {compared} settings {'is' if left == 1 else 'are'} undecided"
    return _for(objective, "; ".join(filter(None, (text, unlike))))


def _undecided(objective: Objective, compared: int) -> str:
    return _for(
        objective,
        f"undecided in {_all_of(compared)}: none is shown to be better than the baseline; some may "
        "be",
    )


def _for(objective: Objective, text: str) -> str:
    """Return a sentence on an objective: time need not be named."""
    return f"{sentence(text)}." if objective == TIME else f"For {objective.noun}: {text}."


def _all_of(count: int) -> str:
    return {1: "the one setting", 2: "both settings"}.get(count, f"all {count} settings")


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _gain(what: str, group: Sequence[_Advised], objective: Objective) -> str:
    """Return what an instruction gains over the baselines: in its objective, and in the others."""
    cases = [(of.options[what], of.table) for of in group]
    if any(case.is_baseline for case, _ in cases):
        return ""
    names = dict.fromkeys((objective, *_ANSWERED))
    return ", ".join(filter(None, (_change(cases, name) for name in names)))


def _change(cases: Sequence[tuple[CaseFinding, TableFindings]], objective: Objective) -> str:
    """Return by how much cases differ from their baselines, if all of them do so in one direction.

    Where no comparison is known it is the difference of the means. Where one is undecided no size
    is told.
    """
    known = [case.comparisons[objective] for case, _ in cases if objective in case.comparisons]
    words = quantity(objective)
    if undecided := sum(comparison.outcome == "undecided" for comparison in known):
        return f"{words.noun} undecided{_in_some(undecided, len(cases))}"
    ratios = [
        case.comparisons[objective].difference.ratio
        if objective in case.comparisons
        else _ratio_of_means(case, table, objective)
        for case, table in cases
    ]
    all_less = all(ratio <= 1 - _LEAST_SHOWN for ratio in ratios)
    if not all_less and not all(ratio >= 1 + _LEAST_SHOWN for ratio in ratios):
        return ""
    by_means = "" if len(known) == len(cases) else " by the means"
    ratios.sort(reverse=all_less)
    if not FRACTIONS_TO < ratios[-1] < 1 / FRACTIONS_TO:
        changes = (change_of_means(ratio, objective).what for ratio in (ratios[0], ratios[-1]))
        return f"{' to '.join(dict.fromkeys(changes))}{by_means}"
    size = _between(percent(abs(ratios[0] - 1)), percent(abs(ratios[-1] - 1)))
    return f"{size} {words.less if all_less else words.more} {words.noun}{by_means}"


def _in_some(count: int, of: int) -> str:
    return "" if count == of else f" in {count} of {of}"


def _ratio_of_means(case: CaseFinding, table: TableFindings, objective: Objective) -> float:
    return case.mean_ratio(table.baseline_of(case), objective)


def _modes(settings: Sequence[Setting], findings: Findings) -> Iterator[str]:
    """Yield the cases whose times are in several modes, and how many have no outcome by that."""
    labels = labels_of_cases(settings)
    parts = [
        f"runs of {labels[at, case.number]} {case.full_mapping}: "
        f"{modes_in_words(case.modes[TIME], TIME)}"
        for at, table in enumerate(findings.tables)
        for case in table.cases
        if TIME in case.modes
    ]
    unclear = sum(TIME in case.unclear for case in findings.cases)
    if len(parts) > _MAX_SLOW:
        parts[_MAX_SLOW:] = [f"{plural(len(parts) - _MAX_SLOW, 'other case')} in several modes"]
    if unclear:
        verb = "has" if unclear == 1 else "have"
        parts.append(
            f"what is typical is left to chance, so {plural(unclear, 'case')} {verb} no outcome"
        )
    if parts:
        yield "; ".join(parts)


def _slow(settings: Sequence[Setting], findings: Findings) -> Iterator[str]:
    """Yield the cases with the largest shares of slow runs, and how many others have any."""
    labels = labels_of_cases(settings)
    found = [
        (case.slow, f"{labels[at, case.number]} {case.full_mapping}")
        for at, table in enumerate(findings.tables)
        for case in table.cases
        if case.slow and case.slow.count
    ]
    found.sort(key=lambda of: of[0].count / of[0].n, reverse=True)
    if not found:
        return
    parts = [
        f"{slow.count} of {slow.n} runs of {where} took "
        f"{_between(percent(slow.least), percent(slow.most))} longer"
        for slow, where in found[:_MAX_SLOW]
    ]
    more = len(found) - len(parts)
    if more:
        parts.append(f"{plural(more, 'other case')} {'has' if more == 1 else 'have'} some")
    yield "; ".join(parts)


def _between(low: str, high: str) -> str:
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _disturbed(cases: Iterable[CaseFinding]) -> Iterator[str]:
    """Yield how many runs were disturbed, by what."""
    summaries = [case.summary for case in cases]
    runs = sum(summary.n or 0 for summary in summaries)
    for what in DISTURBANCES:
        if count := sum(summary.circumstances.disturbed.get(what, 0) for summary in summaries):
            yield f"{count} of {plural(runs, 'run')} {what}"


def _left_out(cases: Iterable[CaseFinding]) -> Iterator[str]:
    """Yield the mappings of the cases that were not run, by reason."""
    skipped = [case for case in cases if case.summary.was_skipped]
    everywhere = {case.full_mapping for case in skipped} - {
        case.full_mapping for case in cases if not case.summary.was_skipped
    }
    for those in grouped(skipped, lambda case: case.summary.circumstances.skip_reason):
        names = list(dict.fromkeys(case.full_mapping for case in those))
        in_some = "" if set(names) <= everywhere else f" in {plural(len(those), 'case')}"
        reason = str(those[0].summary.circumstances.skip_reason)
        yield f"{listed(names)}{in_some}: {reason.removeprefix('left out: ')}"


def _missing(cases: Iterable[CaseFinding], *, is_elsewhere: bool) -> Iterator[str]:
    """Yield what was not measured, each reason once, and the command that says what grants it.

    Nothing needs to be granted for what some runs of each case have.
    """
    measured = [case.summary for case in cases if case.summary.has_runs]
    by_reason: dict[str, Counter[_Lack]] = {}
    for summary in measured:
        for measure, name in _NAMES.items():
            lack = _Lack(name, in_some_runs=summary.stats[measure].is_known)
            for reason in summary.circumstances.reasons.get(measure, ()):
                by_reason.setdefault(reason, Counter())[lack] += 1
    for reason, lacks in _together(by_reason).items():
        parts = []
        for those in grouped(lacks.items(), lambda of: (of[0].in_some_runs, of[1])):
            lack, count = those[0]
            runs = " in some runs" if lack.in_some_runs else ""
            among = f"{' of' if runs else ' in'} {count} of {len(measured)} cases"
            names = listed([each.name for each, _ in those])
            parts.append(f"{names}{runs}{'' if count == len(measured) else among}")
        yield f"{joined(parts)}: {reason}"
    if not is_elsewhere and any(
        not lack.in_some_runs for lacks in by_reason.values() for lack in lacks
    ):
        yield f"what grants it: {PINSTUDY} doctor"


def _together(by_reason: Mapping[str, Counter[_Lack]]) -> dict[str, Counter[_Lack]]:
    """Return the reasons, those together that differ only by the event that they begin with."""
    together: dict[str, Counter[_Lack]] = {}
    bare = [_OF_EVENT.sub("", reason, count=1) for reason in by_reason]
    for reason, short in zip(by_reason, bare, strict=True):
        key = short if bare.count(short) > 1 else reason
        together.setdefault(key, Counter()).update(by_reason[reason])
    return together


def _excluded(cases: Iterable[CaseFinding]) -> Iterator[str]:
    """Yield how many runs are in no mean, by what became of them, with the first reasons."""
    counts: Counter[str] = Counter()
    reasons: dict[str, dict[str, None]] = {}
    for case in cases:
        counts.update(case.summary.circumstances.excluded)
        for status in case.summary.circumstances.excluded:
            of_status = reasons.setdefault(status, {})
            of_status.update(dict.fromkeys(case.summary.circumstances.reasons.get(status, ())))
    if not counts:
        return
    parts = []
    for status, count in counts.items():
        shown = list(reasons[status])[:_MAX_REASONS]
        more = ["…"] if len(reasons[status]) > len(shown) else []
        parts.append(f"{count} {status}{_in_brackets(joined([*shown, *more]))}")
    yield f"{plural(sum(counts.values()), 'run')} in no mean: {', '.join(parts)}"


def _lost(settings: Sequence[Setting], findings: Findings) -> Iterator[str]:
    """Yield which cases are not compared because of their lost runs, and how these were lost."""
    labels = labels_of_cases(settings)
    found = [
        case.lost.summary(f"{labels[at, case.number]} {case.full_mapping}")
        for at, table in enumerate(findings.tables)
        for case in unusable(table.cases)
        # Regions are parts of the same runs.
        if table.key.region is None
    ]
    yield from (f"{text}, so that it is not compared" for text in found[:_MAX_LOST])
    if (more := len(found) - _MAX_LOST) > 0:
        verb = "is" if more == 1 else "are"
        yield f"{plural(more, 'other case')} {verb} not compared for lost runs either"


def _unproved(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield in how many runs it is not proved where threads were, and why."""
    summaries = [case.summary for case in cases if case.summary.has_runs]
    for what, field in zip(("threads", "virtual CPUs", "co-runners"), PLACEMENTS, strict=True):
        if count := sum(summary.circumstances.unproved.get(field, 0) for summary in summaries):
            runs = sum(summary.n or 0 for summary in summaries)
            reasons = dict.fromkeys(
                reason
                for summary in summaries
                for reason in summary.circumstances.reasons.get(field, ())
            )
            why = f": {joined(reasons)}" if reasons else ""
            yield f"where {what} were is not proved in {count} of {plural(runs, 'run')}{why}"
