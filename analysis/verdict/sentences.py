"""A verdict in sentences that may be quoted, hedged as much as its numbers demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.findings import OBJECTIVES, CaseFinding, Comparison, Objective
from analysis.statistics.decision import ALPHA, Word
from analysis.table import joined, one_line
from analysis.verdict.explanation import explanation
from analysis.verdict.phrases import NOUNS, change, do


@dataclass(frozen=True)
class Ground:
    """What a verdict stands on: the baseline, and the cases compared with it in one objective."""

    objective: Objective
    baseline: CaseFinding
    compared: tuple[CaseFinding, ...]
    margin: float

    def having(self, word: Word) -> list[CaseFinding]:
        """Return the cases with that word."""
        return [case for case in self.compared if self.comparison(case).word == word]

    def comparison(self, case: CaseFinding) -> Comparison:
        """Return the case's comparison in this objective."""
        return case.comparisons[self.objective]

    def change(self, case: CaseFinding) -> str:
        """Return a case's row and its change: `#4 ecores-set 41.2 % more time (…)`."""
        difference = self.comparison(case).difference
        return f"{name(case)} {change(difference, self.objective)}"

    @property
    def within(self) -> str:
        """The margin in words."""
        return f"within {self.margin * 100:g} %"


def name(case: CaseFinding) -> str:
    """Return a case's row and mapping: `#3 pcores-pin`."""
    vcpus = case.facts.get("vcpu_mapping")
    mapping = case.mapping if not vcpus else f"{vcpus}/{case.mapping}"
    return one_line(f"#{case.number} {mapping}")


def recommended(
    ground: Ground, best: CaseFinding, as_good: Mapping[Word, Sequence[CaseFinding]]
) -> tuple[str, ...]:
    """Return the recommendation, what else would do, its price, and what goes with it."""
    said = (
        _recommendation(ground, best),
        _would_do(ground, as_good),
        _price(ground, best),
        explanation(best, ground.baseline),
        _open(ground),
    )
    return tuple(filter(None, said))


def _recommendation(ground: Ground, best: CaseFinding) -> str:
    """Return what to do and what it gains; the best of several is lucky, so its interval is wider.

    The level is Bonferroni's for as many cases as there was a choice among.
    """
    difference = ground.comparison(best).difference
    count = len(ground.compared)
    gain = change(difference, ground.objective, 1 - ALPHA / count)
    widened = f", widened for the choice among {count}" if count > 1 else ""
    basis = f"{difference.n} pairs of runs" if difference.paired else f"{difference.n} runs of each"
    return (
        f"{_sentence(do(best.facts))} ({name(best)}): {gain.size} than under "
        f"{name(ground.baseline)} (95 % interval {gain.interval}{widened}; {basis})."
    )


def _would_do(ground: Ground, as_good: Mapping[Word, Sequence[CaseFinding]]) -> str:
    parts = []
    if same := as_good.get("equivalent"):
        parts.append(f"{_names(same)} would do as well ({ground.within})")
    if open_ := as_good.get("undecided"):
        parts.append(f"{_names(open_)} cannot be told from it")
    return f"{'; '.join(parts)}." if parts else ""


def _price(ground: Ground, best: CaseFinding) -> str:
    """Return what the recommendation means for the other objectives."""
    parts = [
        _other_objective(best, ground.baseline, objective, ground.within)
        for objective in OBJECTIVES
        if objective != ground.objective
    ]
    return _sentence(f"{'; '.join(parts)}.")


def _other_objective(
    case: CaseFinding, baseline: CaseFinding, objective: Objective, within: str
) -> str:
    comparison = case.comparisons.get(objective)
    noun = NOUNS[objective]
    if comparison is not None:
        words = change(comparison.difference, objective)
        return {
            "better": f"it also takes {words}",
            "worse": f"it costs {words}",
            "equivalent": f"{noun} stays the same {within}",
            "undecided": f"{noun} is undecided: {words}",
        }[comparison.word]
    by_means = _mean_change(case, baseline, objective)
    return f"{by_means} {noun} by the means alone" if by_means else f"{noun} was not measured"


def _mean_change(case: CaseFinding, baseline: CaseFinding, objective: Objective) -> str:
    """Return how the means differ, where there is no interval: `8.8 % less`; empty if unknown."""
    mine, theirs = case.samples.get(objective), baseline.samples.get(objective)
    if not (mine and theirs and theirs.mean > 0):
        return ""
    ratio = mine.mean / theirs.mean
    return f"{abs(ratio - 1) * 100:.1f} % {'less' if ratio < 1 else 'more'}"


def _open(ground: Ground) -> str:
    """Return what is still open about other cases."""
    cases = ground.having("undecided")
    return f"Undecided: {_with_need(ground, cases)}." if cases else ""


def _with_need(ground: Ground, cases: Sequence[CaseFinding]) -> str:
    return "; ".join(f"{ground.change(case)}, {_need(ground.comparison(case))}" for case in cases)


def _need(comparison: Comparison) -> str:
    if comparison.more is None:
        return "and no sensible number of repetitions would decide"
    more = comparison.more
    return f"needs about {more} more repetition{'' if more == 1 else 's'}"


def undecided(ground: Ground) -> tuple[str, ...]:
    """Say that there is no answer yet, and what would bring one."""
    cases = ground.having("undecided")
    rest = [_known(ground, "equivalent"), _known(ground, "worse")]
    return (f"Undecided. {_with_need(ground, cases)}.", *filter(None, (*rest, _why_worse(ground))))


def _known(ground: Ground, word: Word) -> str:
    cases = ground.having(word)
    if not cases:
        return ""
    start = f"The same {ground.within}" if word == "equivalent" else word.capitalize()
    return f"{start}: {'; '.join(ground.change(case) for case in cases)}."


def no_difference(ground: Ground) -> tuple[str, ...]:
    """Say that some mappings do as well as the baseline, and none better."""
    same = ground.having("equivalent")
    take = "take" if same[1:] else "takes"
    first = (
        f"It makes no difference that matters: {_names(same)} {take} the same "
        f"{NOUNS[ground.objective]} as {name(ground.baseline)}, {ground.within}."
    )
    return tuple(filter(None, (first, _known(ground, "worse"), _why_worse(ground))))


def leave(ground: Ground) -> tuple[str, ...]:
    """Say that every other mapping is worse than the baseline."""
    worse = "; ".join(ground.change(case) for case in ground.compared)
    what = _sentence(do(ground.baseline.facts))
    first = f"{what} ({name(ground.baseline)}): all others are worse: {worse}."
    return tuple(filter(None, (first, _why_worse(ground))))


def _why_worse(ground: Ground) -> str:
    """Return what goes with the least of the losses; empty where nothing is worse."""
    worse = ground.having("worse")
    if not worse:
        return ""
    nearest = min(worse, key=lambda case: ground.comparison(case).difference.log_ratio)
    return explanation(nearest, ground.baseline)


def not_compared(
    cases: Sequence[CaseFinding], baseline: CaseFinding | None, objective: Objective
) -> str:
    """Say why there is no verdict."""
    noun = NOUNS[objective]
    if not any(objective in case.samples for case in cases):
        if not any(case.samples for case in cases):
            return "Not compared: no run of these cases could be used."
        if objective == "edp":
            return "Not compared: it needs package energy, which was not measured."
        return f"Not compared: it was not measured{_because(cases, objective)}."
    if baseline is None:
        return (
            "Not compared: no case under these conditions leaves its threads to the OS scheduler; "
            "put the mapping scheduler into the study, or name another with --baseline."
        )
    if objective not in baseline.samples:
        return f"Not compared: {noun} of the baseline {name(baseline)} is not known."
    if not any(objective in case.samples for case in cases if case is not baseline):
        return f"Not compared: {name(baseline)} is the only case that was measured."
    why = f"{noun} has no spread: two runs of each case, or published deviations, are needed"
    return f"Not compared: {why}{_by_means(cases, baseline, objective)}."


def _by_means(cases: Sequence[CaseFinding], baseline: CaseFinding, objective: Objective) -> str:
    """Return what the means alone say of each case; empty where they do not."""
    changes = [
        f"{name(case)} {of_means}"
        for case in cases
        if case is not baseline and (of_means := _mean_change(case, baseline, objective))
    ]
    return f"; by the means alone: {', '.join(changes)}" if changes else ""


def _because(cases: Sequence[CaseFinding], objective: Objective) -> str:
    reasons = dict.fromkeys(
        one_line(reason)
        for case in cases
        for reason in case.facts["reasons"].get(OBJECTIVES[objective], ())
    )
    return f", because {joined(reasons)}" if reasons else ""


def _names(cases: Sequence[CaseFinding]) -> str:
    names = [name(case) for case in cases]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
