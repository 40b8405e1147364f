"""The tables of means: each case a row, with footnotes, in a layout; and as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from analysis.format.numbers import TIME_DECIMALS, finite, time_decimals
from analysis.format.table import Column, Notes, Table, joined, render
from analysis.records.fields import MEASURES, MORE_MEASURES, ROW_FACTS, TABLE_KEYS
from analysis.records.files import rerun_hint, write_file
from analysis.results.alone import Alone, alone_of
from analysis.results.case_summary import (
    CaseSummary,
    count_column,
    grouped,
    of_metric,
    with_unit_last,
)
from analysis.results.sources import open_results
from analysis.results.summary_columns import MEASURED
from analysis.tables.footnotes import table_footnotes
from analysis.tables.layouts import (
    LAYOUTS,
    LayoutName,
    Page,
    verbatim_names,
    with_energy_by_kind,
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
    cases: Iterable[CaseSummary],
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
    tables = grouped(everyone, lambda case: case.table)
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
    rows: Sequence[CaseSummary],
    footnotes: Sequence[str],
    name: LayoutName,
    off: Mapping[str, str],
    alone: Mapping[str, Alone],
    notes: Notes,
) -> Table:
    on_node, of_guests, beside = LAYOUTS[name]
    layout = of_guests if any(case.vcpu_mapping for case in rows) else on_node
    layout = beside if any(case.beside for case in rows) else layout
    if any(case.scheduling for case in rows):
        layout = layout.with_scheduling()
    if name == "full":
        layout = with_metrics(with_energy_by_kind(layout, rows), rows)
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
            | _slowdowns(alone.get(case.case_id))
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


def _table_number(case: CaseSummary) -> str:
    """Return `Table 3: ` for the third table of a study or publication; empty when not known."""
    number = case.table.number
    return "" if number is None else f"Table {number}: "


def caption(cases: Sequence[CaseSummary]) -> str:
    """Return the caption of the table that has these rows of `summarise`."""
    case = cases[0]
    # A case that was left out does not say it.
    free = any(one.no_schedule for one in cases)
    schedule = "" if free else f"schedule {case.table.schedule}, "
    program = f"{_implementation(cases)}{case.table.app} ({case.table.variant})"
    return one_line(
        f"{_region(case)}{program}, size {case.table.size}, {case.table.threads_in_words}, "
        f"{schedule}wait policy {case.table.wait_policy}{_guest(case)}"
    )


def _region(case: CaseSummary) -> str:
    return f"region {case.table.region} of " if case.table.region else ""


def _implementation(cases: Sequence[CaseSummary]) -> str:
    """Return whose programs were run, where their records have it."""
    names = dict.fromkeys(name for case in cases for name in case.implementations)
    return f"{joined(names)}: " if names else ""


def _guest(case: CaseSummary) -> str:
    if not case.guest:
        return ""
    of = case.table
    size = [plural(of.vm_cpus, "vCPU")] if of.vm_cpus else []
    size += [f"{of.vm_memory_mib} MiB"] if of.vm_memory_mib else []
    return f", in {case.guest}" + (f" with {' and '.join(size)}" if size else "")


def raw_row(case: CaseSummary) -> dict[str, object]:
    """Return a case's numbers by name, with the unit last; what is not there is None.

    `elapsed_cv` is the coefficient of variation of the time, sd / mean.
    """
    values: dict[str, object] = {
        "study": case.study,
        "node_id": case.node_id,
        **dict(zip(TABLE_KEYS, case.table[1:], strict=True)),
        "case_number": case.number,
        "mapping": case.mapping,
        "governor": case.governor,
        **{name: getattr(case, name) for name in ROW_FACTS},
        "case_id": case.case_id,
        "status": SKIPPED if case.skip_reason is not None else MEASURED,
        "n": case.n,
        "lost": case.lost.count if case.lost.is_known else None,
        "unproved": case.placed.unproved,
        "driver": joined(case.drivers),
        "governor_read": joined(case.governors_read),
        "implementation": joined(case.implementations),
    }
    for measure in (*MEASURES, *MORE_MEASURES):
        of = case.measures[measure]
        values[with_unit_last(measure, "mean")] = finite(of.mean)
        values[with_unit_last(measure, "sd")] = finite(of.sd)
    values["elapsed_median_s"] = finite(case.time_median_s)
    values["elapsed_min_s"] = finite(case.time_min_s)
    values["elapsed_max_s"] = finite(case.time_max_s)
    values["elapsed_cv"] = finite(case.time.sd / case.time.mean) if case.time.mean > 0 else None
    values |= {f"residency_{kind}": value for kind, value in case.residency.items()}
    values |= {f"cpu_share_{kind}": value for kind, value in case.cpu_share.items()}
    values |= {f"waited_{kind}": finite(of.mean) for kind, of in case.waited.items()}
    values |= {f"freq_{kind}_mean_ghz": value for kind, value in case.freq_ghz.items()}
    values |= {
        f"energy_by_kind_{kind}_mean_j": finite(of.mean) for kind, of in case.energy_by_kind.items()
    }
    values |= _raw_metrics(case)
    values["excluded"] = joined(f"{status}: {count}" for status, count in case.excluded.items())
    values["reasons"] = case.skip_reason or joined(
        f"{name}: {joined(reasons)}" for name, reasons in case.reasons.items()
    )
    return values


def _run_counts(case: CaseSummary) -> dict[str, object]:
    """Return how many runs have each measure, where some of the row's lack it."""
    metrics = {metric.field: of_metric(metric.name, "n") for metric in case.metrics}
    counts = {
        metrics.get(measure) or count_column(measure): of for measure, of in case.measures.items()
    }
    counts |= {f"waited_{kind}_n": of for kind, of in case.waited.items()}
    counts |= {f"energy_by_kind_{kind}_n": of for kind, of in case.energy_by_kind.items()}
    return {name: of.n for name, of in counts.items() if of.n and of.n != case.n}


def _raw_metrics(case: CaseSummary) -> dict[str, object]:
    """Return what the program prints about itself, each number with its unit beside it."""
    values: dict[str, object] = {}
    for metric in case.metrics:
        of = case.measures[metric.field]
        values |= {
            of_metric(metric.name, "mean"): finite(of.mean),
            of_metric(metric.name, "sd"): finite(of.sd),
            of_metric(metric.name, "unit"): joined(metric.units) or None,
            of_metric(metric.name, "better"): metric.better,
        }
    return values
