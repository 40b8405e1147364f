"""Findings in words: one short template each, for terminal and files. They decide nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from analysis.advice.model import names_of
from analysis.findings.answers import Answers
from analysis.findings.best_cases import BestCase
from analysis.findings.effects import Effect
from analysis.findings.levers import FACTORS, Factor, Level, Lever, LeverPair, range_of
from analysis.findings.one_for_all import Default, Loss, OneForAll
from analysis.format.numbers import (
    NOTHING,
    ends,
    in_percent,
    percent_ends,
    signed_in_percent,
    three_digits,
)
from analysis.format.table import Column, Table
from analysis.objectives import ENERGY, OBJECTIVES, TIME, Objective
from analysis.results.case import Case, grouped
from analysis.statistics.sample import Interval
from base.text import one_line, plural

LEVERS, ONE_FOR_ALL, FASTEST, LEAST_ENERGY = "Levers", "One for all", "Fastest", "Least energy"
_BEST = {TIME: FASTEST, ENERGY: LEAST_ENERGY}
# What a case has that does not ask for a level of a factor.
_NOTHING_ASKED: Mapping[Factor, str] = {
    "co_runner": "alone",
    "sched_ext": "as it is",
    "energy_aware": "as it is",
    "itmt": "as it is",
    "schedule": "none",
}
# An end beyond says nothing that a reader could use.
_MOST_PERCENT = 999.0


def answer_lines(
    answers: Answers, cases: Sequence[Case], margin: float
) -> Iterator[tuple[str, list[str]]]:
    """Yield a label for the margin with its texts, a line each.

    `cases` are those of all results; a gain within the margin, a share, is none. A command line
    stands between backticks.
    """
    yield LEVERS, list(_lever_lines(answers.levers))
    yield ONE_FOR_ALL, list(_one_for_all_lines(answers.one_for_all))
    names = names_of(cases)
    for objective, label in _BEST.items():
        best = [of for of in answers.best if of.objective == objective]
        yield label, list(chain.from_iterable(_best_lines(of, names, margin) for of in best))


def _lever_lines(levers: Sequence[Lever]) -> Iterator[str]:
    for factor in FACTORS:
        mine = [lever for lever in levers if lever.factor == factor]
        if factor == "mapping":
            # The grid has each of them.
            for of in grouped(mine, lambda lever: lever.reference):
                pairs = [pair for lever in of for pair in lever.pairs]
                yield f"mapping against {_level(factor, of[0].reference)}: {_ranges(pairs)}"
            continue
        # What other mappings make of it is in the tables.
        for lever in [of for of in mine if of.is_default] or mine:
            where = "" if lever.is_default else " under other mappings"
            yield f"{_name(factor)} {_change(lever)}{where}: {_ranges(lever.pairs)}"


def _ranges(pairs: Sequence[LeverPair]) -> str:
    """Return between what time and energy change, and of how many pairs."""
    parts = [
        f"{objective.short} {_between(pairs, objective)}"
        for objective in (TIME, ENERGY)
        if range_of(pairs, objective) is not None
    ]
    compared = sum(bool(pair.effects) for pair in pairs)
    count = plural(len(pairs), "pair")
    if compared < len(pairs):
        count = f"{compared} of {count} compared"
    return f"{', '.join(parts) or 'not compared'}; {count}"


def _between(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    assert found is not None
    if found.interval is None:
        return f"{_percents(Interval(found.low, found.high))} (no interval)"
    return _percents(found.interval)


def _percents(interval: Interval) -> str:
    """Return two ratios as changes, with a word between: `+25 to +57 %`, `+45 %`."""
    low, high = (_signed(end) for end in (interval.low, interval.high))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _signed(ratio: float) -> str:
    """Return a ratio as a change in per cent, with its sign and two digits."""
    share = ratio - 1
    if share > _MOST_PERCENT / 100:
        return f"over +{_MOST_PERCENT:.0f}"
    return signed_in_percent(share, 2)


def _change(lever: Lever) -> str:
    level, reference = (_level(lever.factor, of) for of in (lever.level, lever.reference))
    return f"{level} against {reference}"


def _name(factor: Factor) -> str:
    return factor.replace("_", "-" if factor == "co_runner" else " ").replace(
        "sched ext", "sched_ext"
    )


def _level(factor: Factor, level: Level) -> str:
    return _NOTHING_ASKED.get(factor, "none") if level is None else one_line(str(level))


def _one_for_all_lines(found: Iterable[OneForAll]) -> Iterator[str]:
    for answer in found:
        if answer.objective not in _BEST or len(answer.configurations) < 2:
            continue
        best, where = answer.defaults[0], " in guests" if answer.in_guests else ""
        noun = "" if answer.objective == TIME else f" for {answer.objective.short}"
        yield (
            f"{one_line(best.mapping)}{noun}{where}: up to {_lost(best.worst.ratio)} behind the "
            f"best of each configuration ({_ends(best.worst)}), {_lost(best.mean.ratio)} on "
            f"average{_absent(best)}"
        )


def _lost(ratio: float) -> str:
    return f"{in_percent(ratio - 1, 2)} %"


def _ends(loss: Loss) -> str:
    """Return both ends of a loss's interval: `95 %: 12 to 14`."""
    if loss.interval is None:
        return "no interval"
    low, high = loss.interval.low - 1, loss.interval.high - 1
    both = ends(low, high, lambda end, more: in_percent(end, 2 + more))
    return f"95 %: {' to '.join(dict.fromkeys(both))}"


def _absent(default: Default) -> str:
    total = default.compared + sum(default.missing.values())
    parts = []
    if default.missing:
        reasons = ", ".join(f"{why} {count}" for why, count in default.missing.items())
        parts.append(f"compared in {default.compared} of {total} ({reasons})")
    if default.against_fewer:
        parts.append(f"another mapping is missing in {default.against_fewer}")
    return "".join(f"; {part}" for part in parts)


def _best_lines(best: BestCase, names: Mapping[str, str], margin: float) -> Iterator[str]:
    """Yield the best case and its command line; nothing where it gains nothing that matters."""
    if best.effect is None or best.reference is None or not best.gains(margin):
        return
    name = names[best.case.key.case_id]
    # Of the reference only what is different.
    reference = names_of([best.case, best.reference])[best.reference.key.case_id]
    value = f"{three_digits(best.value)} {best.objective.unit}"
    change = _effect(best.effect, best.interval)
    yield one_line(f"{name}: {value}, {change} against {reference}{_doubts(best)}", None)
    if best.line:
        yield f"`{one_line(best.line, None)}`"


def _effect(effect: Effect, interval: Interval | None) -> str:
    if interval is None:
        return f"{_signed(effect.ratio)} % by means alone"
    return _percents(interval)


def _doubts(best: BestCase) -> str:
    parts = []
    if best.also:
        parts.append(f"not shown to be worse: {plural(len(best.also), 'case')}")
    # What was never run is told elsewhere, and of means alone nothing is shown.
    lost = sum(count for why, count in best.missing.items() if why != "left out")
    lost += len(best.unknown) if best.interval else 0
    if lost:
        parts.append(f"{plural(lost, 'case')} not compared")
    return "".join(f"; {part}" for part in parts)


def levers_tables(levers: Sequence[Lever]) -> list[Table]:
    """Return a table of each lever: its pairs under the default mapping, others as one range.

    Those of mappings are in the grid.
    """
    of_changes = grouped(
        (lever for lever in levers if lever.factor != "mapping"),
        lambda lever: (lever.factor, lever.level, lever.reference),
    )
    return [_lever_table(of) for of in of_changes]


def _lever_table(levers: Sequence[Lever]) -> Table:
    """Return the table of one change, whose levers are those under the default mapping and not."""
    shown = [pair for lever in levers if lever.is_default for pair in lever.pairs]
    others = [pair for lever in levers if not lever.is_default for pair in lever.pairs]
    every = [*shown, *others]
    measured = [of for of in OBJECTIVES if range_of(every, of) is not None]
    with_interval = {of for of in measured if any(_interval([pair], of) for pair in every)}
    columns = [Column("with all else equal", right=False)]
    for objective in measured:
        columns.append(Column(objective.short, "%"))
        columns += [Column("95 % interval", "%")] * (objective in with_interval)
    # What all of them have is not named.
    names = names_of([pair.reference for pair in shown])
    rows = [(names[pair.reference.key.case_id], [pair]) for pair in shown]
    if others:
        rows.append((f"other mappings: {plural(len(others), 'pair')}", others))
    cells = [(name, *_cells(pairs, measured, with_interval)) for name, pairs in rows]
    title = f"{_name(levers[0].factor)}: {_change(levers[0])}"
    return Table(title, tuple(columns), tuple(cells))


def _cells(
    pairs: Sequence[LeverPair], measured: Sequence[Objective], with_interval: Collection[Objective]
) -> Iterator[str]:
    for objective in measured:
        found = range_of(pairs, objective)
        if found is None:
            yield pairs[0].missing[objective]
        else:
            yield _percents(Interval(found.low, found.high)).removesuffix(" %")
        if objective in with_interval:
            yield _interval(pairs, objective) or NOTHING


def _interval(pairs: Sequence[LeverPair], objective: Objective) -> str:
    found = range_of(pairs, objective)
    if found is None or found.interval is None:
        return ""
    both = percent_ends(found.interval.low - 1, found.interval.high - 1)
    return " to ".join(end.removesuffix(" %") for end in both)
