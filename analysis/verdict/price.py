"""What a case costs in joules on the cores of each kind, where the node's cores have counters."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.format.numbers import ENERGY_DECIMALS, fixed
from analysis.measures import ENERGY_BY_KIND
from analysis.verdict.model import CaseFinding, TableFindings
from analysis.verdict.phrases import each_case, listed, name
from base.text import plural


def price_sentences(table: TableFindings) -> Iterator[str]:
    """Yield the energy by core kind of the baselines and of the cases that are recommended.

    It is of the means alone: a core kind's energy is no objective and is not tested.
    """
    best = {verdict.best.case_id for verdict in table.verdicts if verdict.best}
    of_note = [case for case in table.cases if case.is_baseline or case.case_id in best]
    priced = [case for case in of_note if case.summary.by_kind(ENERGY_BY_KIND)]
    if not priced:
        return
    yield (
        f"Energy by core kind, by the means alone: {'; '.join(each_case(priced, _price))}. It is "
        "of the cores themselves: idle cores of a kind are in it, shared caches, memory and "
        "graphics are not."
    )


def _price(case: CaseFinding) -> str:
    parts = [
        f"{fixed(mean, ENERGY_DECIMALS)} J on {kind}-cores"
        for kind, mean in case.summary.means_by_kind(ENERGY_BY_KIND).items()
    ]
    some = f" ({text})" if (text := in_some_runs(case)) else ""
    return f"{name(case)} {listed(parts)}{some}"


def in_some_runs(case: CaseFinding) -> str:
    """Return the kinds whose joules are means of some runs: `P-cores: 3 of 10 runs`; or nothing."""
    n = case.summary.n
    return ", ".join(
        f"{kind}-cores: {stats.n} of {plural(n, 'run')}"
        for kind, stats in case.summary.by_kind(ENERGY_BY_KIND).items()
        if n and stats.n != n
    )
