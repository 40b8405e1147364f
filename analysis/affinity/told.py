"""What an experiment came to, as the report tells it: sentences, tables, what could not be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.affinity.experiments import TIMES
from analysis.affinity.measured import Against, Measured
from analysis.digits import time_decimals
from analysis.findings import CaseFinding
from analysis.layouts import NOTHING
from analysis.table import Column, Table, joined
from analysis.verdict.phrases import name, names
from analysis.verdict.tables import interval_of, number_of, ratio_decimals, ratio_interval, word_of
from analysis.verdict.unplaced import not_placed
from base.text import one_line, plural


@dataclass(frozen=True)
class Told:
    """The cases that share all but their placement: a title, sentences, a table."""

    title: str
    sentences: tuple[str, ...]
    table: Table


def title_of(case: CaseFinding, without: Sequence[str] = ()) -> str:
    """Return what the cases of an experiment share; `without` are facts in which they differ."""
    facts = case.facts
    shared = {
        "size": f"size {facts['size']}",
        "threads": plural(int(facts["threads"]), "thread"),
        "wait_policy": f"wait policy {facts['wait_policy']}",
        "governor": f"governor {case.governor}",
    }
    parts = [text for name, text in shared.items() if name not in without]
    return one_line(", ".join([f"{facts['app']} ({facts['variant']})", *parts]))


def lacking(cases: Sequence[CaseFinding]) -> Iterator[str]:
    """Yield what could not be done and why: cases left out, without a good run, not compared."""
    by_reason: dict[str, list[CaseFinding]] = {}
    for case in cases:
        if case.facts["left_out"] is not None:
            reason = one_line(str(case.facts["left_out"])) or "no reason given"
            by_reason.setdefault(reason, []).append(case)
    for reason, left in by_reason.items():
        mappings = ", ".join(dict.fromkeys(one_line(case.mapping) for case in left))
        yield f"Left out: {mappings} ({plural(len(left), 'case')}), because {reason}."
    lost = [case for case in cases if case.facts["left_out"] is None and not case.facts["n"]]
    if lost:
        yield f"No run of {names(lost)} could be used{_how(lost)}."
    if unplaced := not_placed(case for case in cases if case.facts["app"] in TIMES):
        yield unplaced


def _how(cases: Sequence[CaseFinding]) -> str:
    reasons = joined(
        dict.fromkeys(
            one_line(f"{status}: {joined(case.facts['reasons'].get(status, ())) or 'no reason'}")
            for case in cases
            for status in case.facts["excluded"]
        )
    )
    return f" ({reasons})" if reasons else ""


def head_columns(unit: str, what: str) -> tuple[Column, ...]:
    """Return the columns that all tables of experiments begin with."""
    return (
        Column("#"),
        Column("mapping", right=False),
        Column("CPUs", right=False),
        Column("n"),
        Column(what, unit),
        Column("its 95 % interval", unit),
    )


def decimals_of(cases: Sequence[Measured]) -> int:
    """Return the decimals of a table's times, which are in ms or ns: three digits of the least."""
    means = [case.sample.mean for case in cases if case.sample]
    return max(0, time_decimals(means) - (1 if min(means, default=0.0) >= 1 else 0))


def head_cells(measured: Measured, decimals: int) -> tuple[str, ...]:
    """Return a case's cells under `head_columns`."""
    case, sample = measured.case, measured.sample
    head = (
        str(case.number),
        one_line(case.mapping),
        one_line(str(case.facts["cpus"] or NOTHING)),
    )
    if sample is None:
        why = "left out" if case.facts["left_out"] is not None else "n/a"
        return (*head, NOTHING, why, NOTHING)
    return (
        *head,
        str(sample.n),
        number_of(sample.mean, decimals),
        interval_of(sample.mean_interval, decimals),
    )


RATIO_COLUMNS = (
    Column("time ratio"),
    Column("95 % interval"),
    Column("word", right=False),
)


def ratio_cells(against: Against | None, baseline: str = "") -> tuple[str, ...]:
    """Return a comparison's cells under RATIO_COLUMNS; a `baseline` is called so."""
    if against is None:
        return ("1", NOTHING, baseline) if baseline else (NOTHING,) * 3
    difference = against.difference
    return (
        number_of(difference.ratio, ratio_decimals(difference.ratio)),
        ratio_interval(difference),
        word_of(against.comparison),
    )


def marked(measured: Measured, text: str) -> str:
    """Return a sentence, still without its full stop, with the case that it is about."""
    return f"{text} ({name(measured.case)})"
