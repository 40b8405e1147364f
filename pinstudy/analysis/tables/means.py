"""The tables of means: each case a row, with footnotes, in a layout; and as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from pinstudy.analysis.format.numbers import (
    ENERGY_DECIMALS,
    TIME_DECIMALS,
    energy_decimals,
    finite,
    time_decimals,
)
from pinstudy.analysis.format.table import Column, Notes, Table, joined, render
from pinstudy.analysis.measures import COMPARED_ENERGY, MEASURES, STATISTICS, csv_column, fields_of
from pinstudy.analysis.records.files import rerun_hint, write_file
from pinstudy.analysis.records.keys import ROW_FACTS, SEPARATOR, TABLE_KEYS, cell_of_settings
from pinstudy.analysis.records.metrics import metric_column
from pinstudy.analysis.results.baselines import Alone, alone_of
from pinstudy.analysis.results.bounds import Bound, bounds_in
from pinstudy.analysis.results.case import Case, grouped
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.results.summaries import IN_TURN, MEASURED, NO
from pinstudy.analysis.tables.footnotes import table_footnotes
from pinstudy.analysis.tables.layouts import (
    LAYOUTS,
    LayoutName,
    Page,
    TableLayout,
    verbatim_names,
    with_bounds,
    with_kinds,
    with_meter,
    with_metrics,
)
from pinstudy.analysis.tables.short import caption as short_caption
from pinstudy.analysis.tables.short import facts, folded, with_numbers
from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import as_typed, one_line
from pinstudy.runners.records.status import SKIPPED

__all__ = [
    "Choice",
    "chosen_table",
    "make_tables",
    "named_nodes",
    "node_of",
    "render",
    "tables_of_cases",
    "tables_of_nodes",
    "write_tables",
]

FILES = {"markdown": "tables.md", "csv": "tables.csv", "latex": "tables.tex"}


@dataclass(frozen=True)
class NodeCases:
    """The results of a node: its cases, and what is to be said of them in every table.

    `footnotes` stand under each table; `off` has why the values of some fields are wrong. `bounds`
    have what teams could do, by case_id.
    """

    cases: Sequence[Case]
    footnotes: Sequence[str] = ()
    off: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """Which columns tables have: those of a layout, or the short one with other numbers.

    The short one leaves out columns that a terminal's `width` has no room for.
    """

    layout: LayoutName = "full"
    columns: Sequence[str] = ()
    width: int | None = None


def make_tables(
    source: Path | str, layout: LayoutName = "full", *, share_notes: bool = False
) -> list[Table]:
    """Return the tables of a results folder (`results/<study>/<node>`), or of `published:NAME`.

    With `share_notes` the same note has the same marker in all of them.
    Raises UserError when there are no readable results, or no run among them.
    """
    return tables_of_nodes(
        [node_of(open_results(str(source)))], Choice(layout), share_notes=share_notes
    )


def tables_of_cases(
    cases: Iterable[Case],
    footnotes: Sequence[str] = (),
    layout: LayoutName = "full",
    off: Mapping[str, str] = MappingProxyType({}),
    *,
    share_notes: bool = False,
) -> list[Table]:
    """Return the tables of cases; `footnotes` are put under each of them.

    Columns of fields that are in `off` are marked with the reason there.
    """
    nodes = [NodeCases(list(cases), footnotes, off)]
    return tables_of_nodes(nodes, Choice(layout), share_notes=share_notes)


def node_of(results: Results) -> NodeCases:
    """Return results as tables take them."""
    bounds = {
        case_id: first
        for case_id, (first, *_) in bounds_in(results).by_case.items()
        if isinstance(first, Bound)
    }
    return NodeCases(results.cases, results.footnotes, results.off, bounds)


def named_nodes(several: Sequence[Results]) -> list[NodeCases]:
    """Return several results as nodes whose cases tell them apart.

    They have the nodes' names, those of their cards' files, or all of the folder's.
    """
    nodes = [node_of(results) for results in several]
    names = [_node_name(results) for results in several]
    studies = [{case.key.study for case in node.cases} for node in nodes]
    seen = Counter(
        (name, study) for name, found in zip(names, studies, strict=True) for study in found
    )
    return [
        replace(
            node,
            cases=_of_node(
                node.cases, name if all(seen[name, study] == 1 for study in found) else results.name
            ),
        )
        for node, results, name, found in zip(nodes, several, names, studies, strict=True)
    ]


def _node_name(results: Results) -> str:
    names = {case.key.node_id for case in results.cases if case.key.node_id}
    return names.pop() if len(names) == 1 else Path(results.name).stem


def _of_node(cases: Iterable[Case], name: str) -> list[Case]:
    return [replace(case, key=replace(case.key, node_id=name)) for case in cases]


def tables_of_nodes(
    nodes: Sequence[NodeCases], choice: Choice, *, share_notes: bool = False
) -> list[Table]:
    """Return the tables of one or several nodes; rows of one study and table stand together."""
    key_of = _key_of_several if len(nodes) > 1 else _key_of
    tables: dict[Hashable, list[_Part]] = {}
    for node in nodes:
        alone = alone_of(node.cases)
        for rows in grouped(node.cases, key_of):
            tables.setdefault(key_of(rows[0]), []).append(_Part(rows, node, alone))
    markers: dict[str, str] = {}
    captions = Counter(short_caption(parts[0].rows) for parts in tables.values())
    return [
        _table(
            parts,
            choice,
            Notes(markers if share_notes else {}),
            is_alone=captions[short_caption(parts[0].rows)] == 1,
        )
        for parts in tables.values()
    ]


def _key_of(case: Case) -> Hashable:
    return case.key.table


def _key_of_several(case: Case) -> Hashable:
    """Return what rows of several nodes share: studies may number their tables differently."""
    return case.key.study, case.key.table._replace(number=None)


def chosen_table(tables: Sequence[Table], number: int) -> Table:
    """Return the table with a number: the source's own, or the place of one without.

    Raises UserError when there is none.
    """
    numbers = [table.number or place for place, table in enumerate(tables, 1)]
    if number not in numbers:
        known = ", ".join(map(str, dict.fromkeys(numbers)))
        raise UserError(f"--table {number}: there is no such table (known: {known})")
    return tables[numbers.index(number)]


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the tables as Markdown, CSV and LaTeX into a folder; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    hint = rerun_hint(f"{PINSTUDY} tables {as_typed(folder)}")
    return [write_file(folder / name, render(tables, style), hint) for style, name in FILES.items()]


class _Part(NamedTuple):
    """The rows of a table that are of one node."""

    rows: Sequence[Case]
    node: NodeCases
    alone: Mapping[str, Alone]


def _table(parts: Sequence[_Part], choice: Choice, notes: Notes, *, is_alone: bool) -> Table:
    """Return a table; `is_alone` where no other has its short caption."""
    cases = [case for part in parts for case in part.rows]
    layout = _layout(parts, choice)
    decimals = time_decimals(case.time.mean for case in cases)
    # A core kind that hardly took part makes no number of the others longer.
    of_energy = energy_decimals(
        case.stat(measure.field).mean
        for case in cases
        for measure in MEASURES
        if measure.unit == "J" and not measure.by_kind
    )
    if layout.fixed_decimals:
        decimals, of_energy = TIME_DECIMALS, ENERGY_DECIMALS
    page = Page(decimals, of_energy, verbatim_names(cases), notes)
    rows = [
        (case, replace(page, alone=part.alone, bounds=part.node.bounds))
        for part in parts
        for case in part.rows
    ]
    off = _said_by_node({_name(part): part.node.off for part in parts})
    lines: list[str] = []
    if choice.layout == "short":
        layout, lines = folded(layout, rows, choice.columns, off, choice.width)
    columns = tuple(_marked(column, off, page) for column in layout.columns)
    cells = tuple(layout.cells(case, of_case) for case, of_case in rows)
    return Table(
        caption=_caption(cases, choice.layout, is_alone=is_alone),
        columns=columns,
        cells=cells,
        notes=page.notes.listed()
        + tuple(("", text) for text in (*lines, *_general(parts, layout))),
        raw_values=tuple(
            raw_row(case)
            | _run_counts(case)
            | _slowdowns(part.alone.get(case.key.case_id))
            | _bound(part.node.bounds.get(case.key.case_id))
            | ({"instruments_off": joined(part.node.off)} if part.node.off else {})
            for part in parts
            for case in part.rows
        ),
        number=cases[0].key.table.number,
        facts=facts(cases) if choice.layout == "short" else "",
    )


def _layout(parts: Sequence[_Part], choice: Choice) -> TableLayout:
    cases = [case for part in parts for case in part.rows]
    on_node, of_guests, with_co_runner = LAYOUTS[choice.layout]
    layout = of_guests if any(case.key.in_guest for case in cases) else on_node
    layout = with_co_runner if any(case.key.co_runner for case in cases) else layout
    if any(case.key.setting_words for case in cases):
        layout = layout.with_settings()
    if len(parts) > 1:
        layout = layout.with_nodes()
    if choice.layout == "full":
        layout = with_metrics(with_kinds(with_meter(layout, cases), cases), cases)
        bounds = (part.node.bounds.get(case.key.case_id) for part in parts for case in part.rows)
        layout = with_bounds(layout, list(filter(None, bounds)))
    return with_numbers(layout, cases, choice.columns) if choice.layout == "short" else layout


def _name(part: _Part) -> str:
    return part.rows[0].key.node_id or ""


def _said_by_node(texts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return texts by field; those of some nodes alone begin with the node."""
    said: dict[str, str] = {}
    for name in dict.fromkeys(name for fields in texts.values() for name in fields):
        own = {node: fields[name] for node, fields in texts.items() if name in fields}
        same = len(own) == len(texts) and len(set(own.values())) == 1
        said[name] = next(iter(own.values())) if same else joined(map(": ".join, own.items()))
    return said


def _general(parts: Sequence[_Part], layout: TableLayout) -> list[str]:
    """Return the notes on a whole table; those on some nodes alone begin with the node."""
    texts = {
        _name(part): [
            *(text for footnotes_of in layout.footnotes for text in footnotes_of(part.rows)),
            *table_footnotes(part.rows),
            *part.node.footnotes,
        ]
        for part in parts
    }
    having = {
        text: [node for node, said in texts.items() if text in said]
        for text in dict.fromkeys(text for said in texts.values() for text in said)
    }
    return [
        line
        for text, nodes in having.items()
        for line in ([text] if len(nodes) == len(texts) else [f"{node}: {text}" for node in nodes])
    ]


def _caption(cases: Sequence[Case], layout: LayoutName, *, is_alone: bool) -> str:
    if layout == "short":
        size = "" if is_alone else one_line(f", {cases[0].key.table.size}")
        return f"{_table_number(cases[0])}{short_caption(cases)}{size}"
    return f"{_table_number(cases[0])}{caption(cases)}" if layout == "published" else caption(cases)


def _marked(column: Column, off: Mapping[str, str], page: Page) -> Column:
    """Return a column, marked where the instrument of its values was off."""
    if column.field not in off:
        return column
    mark = f" ({page.notes.marker(off[column.field])})"
    return replace(column, name=column.name + mark, short=column.short and column.short + mark)


def _slowdowns(alone: Alone | None) -> dict[str, object]:
    if alone is None:
        return {}
    return {"slowdown": alone.slowdown, "co_runner_slowdown": alone.co_runner_slowdown}


def _bound(bound: Bound | None) -> dict[str, object]:
    if bound is None:
        return {}
    cap = bound.equal_shares
    values: dict[str, object] = {
        "bound_by": bound.speeds,
        "perfect_s": bound.perfect_s,
        "reached": bound.reached,
    }
    return values if cap is None else values | {"equal_shares": cap}


def _table_number(case: Case) -> str:
    number = case.key.table.number
    return "" if number is None else f"Table {number}: "


def caption(cases: Sequence[Case]) -> str:
    """Return the caption of the table that has these rows of `summarise`."""
    case = cases[0]
    # A case that was left out does not say it.
    free = any(row.key.no_schedule for row in cases)
    schedule = "" if free else f"schedule {case.key.table.schedule}, "
    program = f"{_implementation(cases)}{case.key.table.app} ({case.key.table.build})"
    return one_line(
        f"{_region(case)}{program}, size {case.key.table.size}, {case.key.table.threads_in_words}, "
        f"{schedule}wait policy {case.key.table.wait_policy}{_guest(case)}"
    )


def _region(case: Case) -> str:
    return f"region {case.key.table.region} of " if case.key.table.region else ""


def _implementation(cases: Sequence[Case]) -> str:
    names = dict.fromkeys(name for case in cases for name in case.circumstances.implementations)
    return f"{joined(names)}: " if names else ""


def _guest(case: Case) -> str:
    if not case.key.guest:
        return ""
    size = case.key.table.guest_size
    return f", in {case.key.guest}" + (f" with {' and '.join(size)}" if size else "")


def raw_row(case: Case) -> dict[str, object]:
    """Return a case's numbers by name, with the unit last; what is not there is None.

    `elapsed_cv` is the coefficient of variation of the time, sd / mean.
    """
    key, circumstances = case.key, case.circumstances
    values: dict[str, object] = {
        "study": key.study,
        "node_id": key.node_id,
        **dict(zip(TABLE_KEYS, key.table[1:], strict=True)),
        "case_number": key.number,
        "mapping": key.mapping,
        "governor": key.governor,
        **{name: getattr(key, name) for name in ROW_FACTS},
        "rank_cpus": SEPARATOR.join(key.rank_cpus) if key.rank_cpus else None,
        "settings": cell_of_settings(key.settings),
        "case_id": key.case_id,
        "status": SKIPPED if case.was_skipped else MEASURED,
        "n": case.n,
        "lost": case.lost.count if case.lost.is_known else None,
        "unproved": circumstances.placed.unproved,
        "driver": joined(circumstances.drivers),
        "governor_read": joined(circumstances.governors_read),
        "implementation": joined(circumstances.implementations),
    }
    values |= {
        name: finite(case.stats[column].statistic(statistic))
        for name, (column, statistic) in STATISTICS.items()
        if statistic != "n"
        and column in case.stats
        # Few nodes have a meter of another scope.
        and (case.stats[column].is_known or column not in fields_of(COMPARED_ENERGY)[:-1])
    }
    time = case.time
    values["elapsed_cv"] = finite(time.sd / time.mean) if time.mean > 0 else None
    values |= _raw_metrics(case)
    if circumstances.out_of_turn:
        values[IN_TURN] = NO
    values["excluded"] = joined(
        f"{status}: {count}" for status, count in circumstances.excluded.items()
    )
    values["reasons"] = circumstances.skip_reason or joined(
        f"{name}: {joined(reasons)}" for name, reasons in circumstances.reasons.items()
    )
    return values


def _run_counts(case: Case) -> dict[str, object]:
    """Return how many runs have each measure, where some of the row's lack it."""
    metrics = {metric.field: metric_column(metric.name, "n") for metric in case.metrics}
    return {
        metrics.get(column) or csv_column(column, "n"): stats.n
        for column, stats in case.stats.items()
        if stats.n and stats.n != case.n
    }


def _raw_metrics(case: Case) -> dict[str, object]:
    values: dict[str, object] = {}
    for metric in case.metrics:
        stats = case.stat(metric.field)
        found = {
            "mean": finite(stats.mean),
            "sd": finite(stats.sd),
            "unit": joined(metric.units) or None,
            "better": metric.better,
        }
        values |= {metric_column(metric.name, word): value for word, value in found.items()}
    return values
