"""Two results side by side as tables: a summary of who concludes what, then row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pinstudy.analysis.compare.side_by_side import (
    Agreement,
    Agreements,
    Pair,
    PairRow,
    Ratio,
    Side,
    SideBySide,
)
from pinstudy.analysis.format.numbers import NOTHING, fixed
from pinstudy.analysis.format.table import Column, Notes, Table
from pinstudy.analysis.records.keys import TABLE_KEYS, cell_of_settings
from pinstudy.analysis.statistics.sample import Interval, named_ends
from pinstudy.analysis.verdict.case_caveats import loaded_at_start
from pinstudy.analysis.words import experiments as words
from pinstudy.analysis.words.verdict import (
    interval_of,
    objective_decimals,
    ratio_decimals,
    ratio_text,
)
from pinstudy.base.text import one_line
from pinstudy.configs.settings import CURRENT
from pinstudy.configs.values import DIRECTIONS

_COUNTED: tuple[Agreement, ...] = (
    "agree", "disagree", "open", "not compared", "only in A", "only in B",
)  # fmt: skip
_OF_BOTH_NODES = "both nodes"
# Of tables that only one result has, how many are named.
_MOST_ONLY = 10


def compare_tables(both: SideBySide) -> list[Table]:
    """Return the summary, in what A and B differ, and a table for each pair and objective."""
    unlike = [_differences(both)] if both.all_differences else []
    return [_summary(both), *unlike, *(_table(both, pair) for pair in both.pairs)]


def compare_data(both: SideBySide) -> dict[str, Any]:
    """Return the comparison by names, unrounded; what is not there is None."""
    return {
        "a": both.name_a,
        "b": both.name_b,
        "agreements": [
            {"objective": found.objective}
            | {name.replace(" ", "_").lower(): found.counts[name] for name in _COUNTED}
            for found in both.agreements
        ],
        "differences": [
            asdict(difference) | {"apps": apps} for difference, apps in both.all_differences.items()
        ],
        "only_a": both.only_a,
        "only_b": both.only_b,
        "rows": [raw_row(both, pair, row) for pair in both.pairs for row in pair.rows],
    }


def _summary(both: SideBySide) -> Table:
    found = both.agreements
    disagree = [
        words.DISAGREE.format(row=_named(pair, row), a=row.a.outcome, b=row.b.outcome)
        for agreements in found
        for pair, row in agreements.disagree
        if row.a and row.b
    ]
    notes = [
        *map(_agreement, found),
        *disagree,
        f"A: {both.name_a}",
        f"B: {both.name_b}",
        *_only_in("A", both.only_a),
        *_only_in("B", both.only_b),
        *both.footnotes,
    ]
    return Table(
        "Rows in which both results conclude the same of a case against its baseline",
        (Column("of", right=False), *map(Column, _COUNTED)),
        tuple(
            (rows.objective.noun, *(str(rows.counts[name]) for name in _COUNTED)) for rows in found
        ),
        tuple(("", one_line(note, None)) for note in notes),
    )


def _only_in(name: str, titles: Sequence[str]) -> Iterator[str]:
    for title in titles[:_MOST_ONLY]:
        yield f"only in {name}: {title}"
    if (more := len(titles) - _MOST_ONLY) > 0:
        yield f"only in {name}: {more} more"


def _agreement(found: Agreements) -> str:
    text = words.AGREEMENT if found.decided else words.NONE_DECIDED
    agree, noun = found.counts["agree"], found.objective.noun
    return text.format(of=noun, agree=agree, decided=found.decided)


def _named(pair: Pair, row: PairRow) -> str:
    return f"{pair.objective.noun}, {pair.a.key.app} {pair.a.key.threads_label} {row.case.label}"


def _differences(both: SideBySide) -> Table:
    columns = [Column(name, right=False) for name in ("", "of", "A", "B", "from A to B")]
    cells = [
        tuple(
            one_line(cell) or NOTHING
            for cell in (
                unlike.fact, ", ".join(apps) or _OF_BOTH_NODES, unlike.a, unlike.b, unlike.changes
            )
        )
        for unlike, apps in both.all_differences.items()
    ]  # fmt: skip
    notes = (("", words.WHATEVER_CHANGED),)
    return Table("In what A and B differ", tuple(columns), tuple(cells), notes)


def _table(both: SideBySide, pair: Pair) -> Table:
    in_guest = any(row.case.summary.key.in_guest for row in pair.rows)
    is_asked = any(row.case.summary.key.setting_words for row in pair.rows)
    is_direct = any(row.direct for row in pair.rows)
    unit = pair.objective.unit
    both_numbers = any(row.a and row.b and row.a.number != row.b.number for row in pair.rows)
    columns = [
        Column("# A / B" if both_numbers else "#"),
        *([Column("vCPU mapping", right=False)] if in_guest else []),
        Column("mapping", right=False),
        *([Column("settings", right=False)] if is_asked else []),
        Column("governor", right=False),
        *(Column("A mean", unit), Column("A / own"), Column("95 % interval")),
        *(Column("B mean", unit), Column("B / own"), Column("95 % interval")),
        *(
            [Column("B / A"), Column("95 % interval"), Column("B against A", right=False)]
            if is_direct
            else []
        ),
        *(Column(name, right=False) for name in ("A outcome", "B outcome", "agreement")),
    ]
    notes = Notes()
    limits = [" ".join(map(notes.marker, _row_notes(pair, row))) for row in pair.rows]
    columns += [Column("notes", right=False)] if any(limits) else []
    decimals = [_decimals(pair, [row.a for row in pair.rows]),
                _decimals(pair, [row.b for row in pair.rows])]  # fmt: skip
    cells = [
        (
            _number(row, both_numbers),
            *_head(row, in_guest, is_asked),
            *_side_cells(row.a, decimals[0]),
            *_side_cells(row.b, decimals[1]),
            *((*_ratio_cells(row.direct), row.outcome or NOTHING) if is_direct else ()),
            *(side.outcome or NOTHING if side else NOTHING for side in (row.a, row.b)),
            row.agreement,
            *([limit or NOTHING] if any(limits) else []),
        )
        for row, limit in zip(pair.rows, limits, strict=True)
    ]
    return Table(
        caption=f"{pair.a.title}: {pair.objective.noun}, side by side",
        columns=tuple(columns),
        cells=tuple(cells),
        notes=(*(("", one_line(note)) for note in _notes(pair)), *notes.listed()),
        raw_values=tuple(raw_row(both, pair, row) for row in pair.rows),
    )


def _decimals(pair: Pair, sides: Sequence[Side | None]) -> int:
    means = (side.mean for side in sides if side and side.mean is not None)
    return objective_decimals(pair.objective, means)


def _number(row: PairRow, both_numbers: bool) -> str:
    """Return the row's number; that of each side where rows have others in the other results."""
    if not both_numbers:
        return str(row.case.number)
    return " / ".join(str(side.number) if side else NOTHING for side in (row.a, row.b))


def _head(row: PairRow, in_guest: bool, is_asked: bool) -> tuple[str, ...]:
    case = row.case
    vcpus = (one_line(case.summary.key.vcpu_mapping or NOTHING),) if in_guest else ()
    governors = dict.fromkeys(side.case.governor for side in (row.a, row.b) if side)
    co_runner = f" beside {case.summary.key.co_runner}" if case.summary.key.co_runner else ""
    mapping = one_line(f"{case.mapping}{co_runner}")
    settings = (one_line(case.summary.key.setting_words or CURRENT),) if is_asked else ()
    return (*vcpus, mapping, *settings, one_line(" = ".join(governors)))


def _side_cells(side: Side | None, decimals: int) -> tuple[str, ...]:
    if side is None or side.mean is None:
        return (NOTHING,) * 3
    return fixed(side.mean, decimals), *_ratio_cells(side.ratio)


def _ratio_cells(ratio: Ratio | None) -> tuple[str, str]:
    return ratio_cells(ratio.value, ratio.interval) if ratio else (NOTHING, NOTHING)


def ratio_cells(ratio: float, interval: Interval | None) -> tuple[str, str]:
    """Return a ratio and its interval, with so many decimals that small ones are no zeros."""
    value = ratio_text(ratio)
    if interval is None:
        return value, NOTHING
    if interval.tells_nothing:
        return value, words.TOO_WIDE
    return value, interval_of(interval, ratio_decimals(interval.low))


def _notes(pair: Pair) -> list[str]:
    notes = [words.UNKNOWN_GOVERNOR.format(side=side) for side in pair.unknown_governors]
    if any(row.outcome for row in pair.rows):
        notes.append(words.TESTED_TOGETHER)
    if pair.reference is None:
        notes.append(words.NO_COMMON_BASELINE)
    else:
        notes += [text.format(row=pair.reference[0].label) for text in words.TO_OWN_BASELINE]
    return [*notes, *_of_estimands(pair)]


def _row_notes(pair: Pair, row: PairRow) -> Iterator[str]:
    """Yield what limits a row's ratios and outcomes, by the results that it is of."""
    for at, (name, side) in enumerate((("A", row.a), ("B", row.b))):
        if side:
            reference = pair.reference[at] if pair.reference else None
            for note in words.case_notes(side.case, reference, pair.objective):
                yield f"{name}: {note}"
    if not (row.direct and row.a and row.b):
        return
    if tool := loaded_at_start(row.b.case.summary, row.a.case.summary):
        yield f"B against A: {words.LOADED.format(tool=tool)}"


def _of_estimands(pair: Pair) -> list[str]:
    """Say whether ratios are of typical values or of means; the table shows means of all runs."""
    rows = pair.rows
    columns = {
        "A": [(row.a.number, row.a.ratio) for row in rows if row.a],
        "B": [(row.b.number, row.b.ratio) for row in rows if row.b],
        "B / A": [(row.case.number, row.direct) for row in rows],
    }
    said = [f"{name}: {text}" for name, ratios in columns.items() if (text := _kinds_of(ratios))]
    return [words.RATIOS_ARE_OF.format(kinds="; ".join(said))] if said else []


def _kinds_of(ratios: Iterable[tuple[int, Ratio | None]]) -> str:
    """Return what a column's ratios are of; where not all are of one kind, in which rows."""
    rows: dict[str, list[str]] = {}
    for number, ratio in ratios:
        if ratio and ratio.estimand:
            rows.setdefault(_kind_of(ratio), []).append(f"#{number}")
    if len(rows) < 2:
        return "".join(rows)
    return " and ".join(f"{kind} in {', '.join(numbers)}" for kind, numbers in rows.items())


def _kind_of(ratio: Ratio) -> str:
    if ratio.estimand == "mean":
        return words.MEANS
    return words.TRIMMED if ratio.difference and ratio.difference.cut else words.NOT_TRIMMED


def raw_row(both: SideBySide, pair: Pair, row: PairRow) -> dict[str, object]:
    """Return a row's numbers by name, unrounded; what is not there is None."""
    values: dict[str, object] = {
        "a": both.name_a,
        "b": both.name_b,
        "app": pair.a.key.app,
        "ranks": pair.a.key.ranks,
        "threads": pair.a.key.threads,
        "objective": pair.objective,
        "unit": pair.objective.unit,
        "better": DIRECTIONS[pair.objective.higher],
        "mapping": row.case.mapping,
        "vcpu_mapping": row.case.summary.key.vcpu_mapping,
        "settings": cell_of_settings(row.case.summary.key.settings),
    }
    for name, side, table in (("a", row.a, pair.a), ("b", row.b, pair.b)):
        values |= {
            f"{name}_{key}": value
            for key, value in zip(TABLE_KEYS, table.key[1:], strict=True)
            if key not in ("ranks", "threads")
        }
        values |= {f"{name}_{key}": value for key, value in _raw_side(side).items()}
    values |= _raw_ratio("b_to_a", row.direct)
    values["b_to_a_outcome"] = row.outcome
    values["agreement"] = row.agreement
    return values


def _raw_side(side: Side | None) -> dict[str, Any]:
    return {
        "case_number": side.number if side else None,
        "governor": side.case.governor if side else None,
        "mean": side.mean if side else None,
        "lost": side.case.lost.count if side and side.case.lost.is_known else None,
        **_raw_ratio("ratio", side.ratio if side else None),
        "outcome": side.outcome if side else None,
    }


def _raw_ratio(name: str, ratio: Ratio | None) -> dict[str, Any]:
    return {
        name: ratio.value if ratio else None,
        f"{name}_estimand": ratio.estimand if ratio else None,
        **named_ends(name, ratio.interval if ratio else None),
    }
