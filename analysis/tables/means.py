"""The tables of means: each case a row, with footnotes, in a layout; and as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from analysis.format.numbers import TIME_DECIMALS, finite, time_decimals
from analysis.format.table import Column, Notes, Table, joined, render
from analysis.measures import STATISTICS, csv_column
from analysis.records.files import rerun_hint, write_file
from analysis.records.keys import RANK_SEPARATOR, ROW_FACTS, TABLE_KEYS
from analysis.records.metrics import metric_column
from analysis.results.alone import Alone, alone_of
from analysis.results.case import Case, grouped
from analysis.results.sources import open_results
from analysis.results.summary_columns import IN_TURN, MEASURED, NO
from analysis.tables.footnotes import table_footnotes
from analysis.tables.layouts import (
    LAYOUTS,
    LayoutName,
    Page,
    verbatim_names,
    with_kinds,
)
from analysis.tables.metric_columns import with_metrics
from base import PINSTUDY
from base.text import as_typed, one_line, plural
from runners.records.status import SKIPPED

__all__ = ["make_tables", "render", "tables_of_cases", "write_tables"]

FILES = {"markdown": "tables.md", "csv": "tables.csv", "latex": "tables.tex"}


def make_tables(
    source: Path | str, layout: LayoutName = "full", *, share_notes: bool = False
) -> list[Table]:
    """Return the tables of a results folder (`results/<study>/<node>`), or of `published:NAME`.

    With `share_notes` the same note has the same marker in all of them.
    Raises UserError when there are no readable results, or no run among them.
    """
    results = open_results(str(source))
    return tables_of_cases(
        results.cases, results.footnotes, layout, results.off, share_notes=share_notes
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
    everyone = list(cases)
    alone = alone_of(everyone)
    tables = grouped(everyone, lambda case: case.key.table)
    markers: dict[str, str] = {}
    return [
        _table(rows, footnotes, layout, off, alone, Notes(markers if share_notes else {}))
        for rows in tables
    ]


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the tables as Markdown, CSV and LaTeX into a folder; return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    hint = rerun_hint(f"{PINSTUDY} tables {as_typed(folder)}")
    return [write_file(folder / name, render(tables, style), hint) for style, name in FILES.items()]


def _table(
    rows: Sequence[Case],
    footnotes: Sequence[str],
    name: LayoutName,
    off: Mapping[str, str],
    alone: Mapping[str, Alone],
    notes: Notes,
) -> Table:
    on_node, of_guests, beside = LAYOUTS[name]
    layout = of_guests if any(case.key.vcpu_mapping for case in rows) else on_node
    layout = beside if any(case.key.beside for case in rows) else layout
    if any(case.key.scheduling for case in rows):
        layout = layout.with_scheduling()
    if name == "full":
        layout = with_metrics(with_kinds(layout, rows), rows)
    decimals = time_decimals(case.time.mean for case in rows)
    page = Page(
        TIME_DECIMALS if layout.fixed_decimals else decimals, verbatim_names(rows), notes, alone
    )
    columns = tuple(_marked(column, off, page) for column in layout.columns)
    cells = tuple(layout.cells(case, page) for case in rows)
    of_columns = [text for footnotes_of in layout.footnotes for text in footnotes_of(rows)]
    general = (*of_columns, *table_footnotes(rows), *footnotes)
    return Table(
        caption=f"{_table_number(rows[0])}{caption(rows)}"
        if name == "published"
        else caption(rows),
        columns=columns,
        cells=cells,
        notes=page.notes.listed() + tuple(("", text) for text in general),
        raw_values=tuple(
            raw_row(case)
            | _run_counts(case)
            | _slowdowns(alone.get(case.key.case_id))
            | _instruments_off(off)
            for case in rows
        ),
    )


def _marked(column: Column, off: Mapping[str, str], page: Page) -> Column:
    """Return a column, marked where the instrument of its values was off."""
    if column.field not in off:
        return column
    return replace(column, name=f"{column.name} ({page.notes.marker(off[column.field])})")


def _instruments_off(off: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of records whose instruments were off, where any was."""
    return {"instruments_off": joined(off)} if off else {}


def _slowdowns(alone: Alone | None) -> dict[str, object]:
    """Return the ratios of means of a case with a co-runner, and of that."""
    if alone is None:
        return {}
    return {"slowdown": alone.slowdown, "beside_slowdown": alone.co_runner_slowdown}


def _table_number(case: Case) -> str:
    """Return `Table 3: ` for the third table of a study or publication; empty when not known."""
    number = case.key.table.number
    return "" if number is None else f"Table {number}: "


def caption(cases: Sequence[Case]) -> str:
    """Return the caption of the table that has these rows of `summarise`."""
    case = cases[0]
    # A case that was left out does not say it.
    free = any(one.key.no_schedule for one in cases)
    schedule = "" if free else f"schedule {case.key.table.schedule}, "
    program = f"{_implementation(cases)}{case.key.table.app} ({case.key.table.variant})"
    return one_line(
        f"{_region(case)}{program}, size {case.key.table.size}, {case.key.table.threads_in_words}, "
        f"{schedule}wait policy {case.key.table.wait_policy}{_guest(case)}"
    )


def _region(case: Case) -> str:
    return f"region {case.key.table.region} of " if case.key.table.region else ""


def _implementation(cases: Sequence[Case]) -> str:
    """Return whose programs were run, where their records have it."""
    names = dict.fromkeys(name for case in cases for name in case.circumstances.implementations)
    return f"{joined(names)}: " if names else ""


def _guest(case: Case) -> str:
    if not case.key.guest:
        return ""
    of = case.key.table
    size = [plural(of.vm_cpus, "vCPU")] if of.vm_cpus else []
    size += [f"{of.vm_memory_mib} MiB"] if of.vm_memory_mib else []
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
        "rank_cpus": RANK_SEPARATOR.join(key.rank_cpus) if key.rank_cpus else None,
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
        if statistic != "n" and column in case.stats
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
    """Return what the program prints about itself, each number with its unit beside it."""
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
