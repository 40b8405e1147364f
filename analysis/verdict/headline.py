"""The answer in one breath: what the verdicts of all tables come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.findings import OBJECTIVES, Objective, TableFindings, Verdict
from analysis.verdict.phrases import NOUNS, change
from analysis.verdict.sentences import name

_ANSWERS = {
    "pin": "pin",
    "confine": "confine threads to a set of CPUs",
    "leave": "leave them to the OS scheduler",
    "no difference": "makes no difference",
    "undecided": "undecided",
}
_ALONE = {
    "pin": "To pin",
    "confine": "To confine threads to a set of CPUs, not to pin them one by one",
    "leave": "Not to pin: leave threads to the OS scheduler",
    "no difference": "Pinning makes no difference that matters",
    "undecided": "Undecided so far",
}


def headline_of(tables: Sequence[TableFindings]) -> tuple[str, ...]:
    """Return the answer for each objective that has one, and where most is gained."""
    found: list[str] = []
    missing: list[str] = []
    for objective in OBJECTIVES:
        verdicts = [
            (table, verdict)
            for table in tables
            for verdict in table.verdicts
            if verdict.objective == objective and verdict.answer != "not compared"
        ]
        if verdicts:
            found.append(_answer(objective, [verdict for _, verdict in verdicts]))
            found.extend(_most(objective, verdicts))
        else:
            missing.append(NOUNS[objective])
    if missing:
        found.append(f"No answer for {' and '.join(missing)}: not measured, or not comparable.")
    return tuple(found)


def _answer(objective: Objective, verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.answer for verdict in verdicts)
    start = f"For {NOUNS[objective]}: "
    if len(counts) == 1:
        (answer,) = counts
        settings = (
            "in the one setting" if len(verdicts) == 1 else f"in all {len(verdicts)} settings"
        )
        return f"{start}{_lower(_ALONE[answer])}, {settings} (app, threads, governor)."
    parts = [f"{_ANSWERS[answer]} in {counts[answer]}" for answer in _ANSWERS if counts[answer]]
    settings = f"{len(verdicts)} settings (app, threads, governor)"
    return f"{start}it depends. Of {settings}: {', '.join(parts)}."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _most(objective: Objective, verdicts: Sequence[tuple[TableFindings, Verdict]]) -> Iterator[str]:
    """Say where a mapping gains most over the baseline."""
    gains = [
        (verdict.best.comparisons[objective].difference, table, verdict.best)
        for table, verdict in verdicts
        if verdict.best is not None and objective in verdict.best.comparisons
    ]
    if not gains:
        return
    difference, table, best = min(gains, key=lambda gain: gain[0].log_ratio)
    where = f"{table.keys['app']} with {table.keys['threads']} thread"
    plural = "" if table.keys["threads"] == 1 else "s"
    yield (
        f"The largest gain: {where}{plural}, governor {best.governor}: "
        f"{change(difference, objective)} under {name(best)}."
    )
