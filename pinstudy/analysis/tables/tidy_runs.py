"""The runs of results as tidy data: a row a run and one for each of its regions, CSV or parquet.

A column is declared here and nowhere else; docs/runs.md has them from here. Their names are those
of the records' fields, of `tables.csv` and of `pinstudy.analysis.measures`.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pinstudy.analysis.format.table import csv_value
from pinstudy.analysis.measures import OF_KINDS, PLAIN
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.records.flat import COLUMN_OF, REGION
from pinstudy.analysis.records.frame import COLUMNS_OF_KINDS, METER
from pinstudy.analysis.records.keys import SEPARATOR
from pinstudy.analysis.records.metrics import METRIC, METRICS, Metric
from pinstudy.analysis.records.runs import MADE_ON, Runs, are_good
from pinstudy.analysis.results.caveats import off_fields
from pinstudy.analysis.results.sources import read_folder
from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line
from pinstudy.runners.records.reader import shards_of
from pinstudy.runners.records.record import WHOLE_NUMBERS

CSV, PARQUET = ".csv", ".parquet"


class RunColumns(NamedTuple):
    """Columns that share a meaning."""

    names: tuple[str, ...]
    meaning: str


COLUMNS = (
    RunColumns(("results",), "the folder of results"),
    RunColumns(("study",), "the study's name"),
    RunColumns(
        ("node_id", "pool"),
        "the node; the name of the [interchangeable nodes](batch.md) that divide the study",
    ),
    RunColumns(("virtual_node",), "`TRUE`: of a [virtual node](../vnode/README.md)'s model"),
    RunColumns(
        ("table_number", "case_number", "case_id"),
        "the table, the row in it, the case: what the columns from `app` to `co_runner_alone` say",
    ),
    RunColumns(("region",), "the [region](regions.md); empty: the whole run"),
    RunColumns(("warmup", "repetition"), "`TRUE`: a warm-up run; number within the case"),
    RunColumns(
        ("block", "order", "attempt"),
        "the pass over all cases; the position in the plan; the start of pinstudy",
    ),
    RunColumns(("started_at",), "UTC, ISO 8601"),
    RunColumns(("status", "reason"), "[what became of the run](records.md), and why"),
    RunColumns(("averaged",), "`TRUE`: in the tables' means (`ok`, and no warm-up)"),
    RunColumns(("app", "build", "size", "ranks", "threads"), "the program as it was run"),
    RunColumns(("schedule", "wait_policy"), "of the loops; of waiting threads"),
    RunColumns(
        ("mapping", "selection", "binding", "mechanism", "cpus"),
        "where threads should be, and by what",
    ),
    RunColumns(
        ("governor", "settings"),
        "as the study asks; other [settings](settings.md#settings-as-factors): `epp=power`",
    ),
    RunColumns(("algorithm", "implementation"), "what the program computes; whose program it is"),
    RunColumns(
        ("mpi", "ranks_by", "rank_cpus"),
        "of [MPI ranks](ranks.md): launcher, how CPUs are divided, those of each",
    ),
    RunColumns(
        ("engine", "vm_cpus", "vm_memory_mib", "vm_accelerator"), "of [guests](vm.md): their size"
    ),
    RunColumns(
        ("vcpu_mapping", "vcpu_selection", "vcpu_binding", "vcpu_cpus"),
        "where their virtual CPUs should be",
    ),
    RunColumns(
        ("co_runner", "co_runner_cpus", "co_runner_alone"),
        "the [co-runner](co-runners.md), its CPUs, its case alone",
    ),
    RunColumns(
        (
            "governor_read",
            "driver",
            "settings_read",
            "sched_energy_aware",
            "sched_ext_scheduler",
            "power_supply",
        ),
        "in force after the run",
    ),
    RunColumns(
        ("priority", "kinds_declared"),
        "of the program, if unusual; `TRUE`: core kinds declared by hand",
    ),
    RunColumns((METER,), "[meter and scope](energy-meters.md) of the energy"),
    RunColumns(("temperature_c",), "of the hottest package before the run"),
    RunColumns(
        ("placement_verdict", "vcpu_placement_verdict", "co_runner_placement_verdict"),
        "[where threads were](placement.md): `proved`, `violated`, `unproved`",
    ),
    RunColumns(("disturbed",), "[disturbances](tables.md), `; ` between them"),
    RunColumns(("neighbour", "neighbour_s"), "the task that took most of its CPUs' time"),
    RunColumns(("daemons",), "that change frequencies, masks or interrupts"),
    RunColumns(
        ("boot_id", "node_digest", "program_digest", "environment_digest"),
        "boot; digests of node, program, inherited variables",
    ),
    RunColumns(("instruments_off",), "columns that `pinstudy prove` found wrong"),
    RunColumns(PLAIN, "the measures, as [records.md](records.md) explains them"),
)
# Those that are there where any run has a number.
MORE_COLUMNS = (
    RunColumns(
        tuple(measure.column("P") for measure in OF_KINDS),
        "measures by core kind: `P`, `E`, `LP-E`",
    ),
    RunColumns(
        (METRIC.format("rate"), METRIC.format("rate_unit")),
        "each [number that the program prints](metrics.md), and its unit",
    ),
)
_NAMES = tuple(name for group in COLUMNS for name in group.names)
_SEPARATORS = dict.fromkeys(("rank_cpus", "settings", "settings_read"), SEPARATOR)
_WHOLE = frozenset(COLUMN_OF.get(name, name) for name in WHOLE_NUMBERS)
# From here on, floats cannot represent every whole number.
_MOST_WHOLE = 2.0**53


def tidy_runs(sources: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs of results folders, and what is to be told of them.

    Columns are those of COLUMNS, then of core kinds and metrics that any run has. Numbers are
    floats, or `Int64` where the record has whole ones; texts are of the dtype `string`. A run that
    was interrupted and made again is there once. Raises UserError when a folder cannot be read, and
    when none of them has runs.
    """
    frames: list[pd.DataFrame] = []
    notes: list[str] = []
    for source in sources:
        folder = Path(source)
        if not shards_of(folder / "records"):
            notes.append(f"{source}: has means, and no runs")
            continue
        runs, proofs, footnotes = read_folder(folder)
        notes += [f"{source}: {note}" for note in footnotes]
        if len(runs.frame):
            frames.append(_of_folder(source, runs, off_fields(proofs.values())))
    if not frames:
        found = "; ".join(notes) or f"{', '.join(sources)}: no run in the records"
        wanted = f"expected a folder of runs, as `{PINSTUDY} run quick` makes it"
        raise UserError(one_line(f"{found}; {wanted}", None))
    table = pd.concat(frames, ignore_index=True)
    of_kinds = [name for name in COLUMNS_OF_KINDS if name in table]
    metrics = sorted(set(map(str, table)) - {*_NAMES, *COLUMNS_OF_KINDS})
    return table[[*_NAMES, *of_kinds, *metrics]], notes


def _of_folder(source: str, runs: Runs, off: Mapping[str, str]) -> pd.DataFrame:
    frame = runs.frame
    started = pd.to_datetime(frame["started_s"], unit="s", utc=True, errors="coerce")
    own: dict[str, Any] = {
        "results": source,
        "node_id": frame[MADE_ON] if MADE_ON in frame else frame["node_id"],
        "virtual_node": (frame["node"] == "virtual").astype(bool),
        "case_id": _cases(frame),
        "started_at": started.dt.round("ms"),
        "averaged": are_good(frame),
        "instruments_off": "; ".join(off) or None,
    }
    names = [*_NAMES, *(name for name in COLUMNS_OF_KINDS if name in frame)]
    columns = {
        name: _typed(name, own[name] if name in own else frame[name], frame.index) for name in names
    }
    return pd.DataFrame(columns | _metrics(frame))


def _cases(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return the cases, of a region without its name, which has a column of its own."""
    pairs = zip(frame["case_id"], frame[REGION], strict=True)
    return pd.Series(
        [str(case_id).removesuffix(f":{region}") for case_id, region in pairs],
        frame.index,
        dtype="string",
    )


def _typed(name: str, values: Any, index: pd.Index[Any]) -> pd.Series[Any]:  # noqa: ANN401
    """Return a column in the type that it has in all results."""
    if not isinstance(values, pd.Series):
        return pd.Series(values, index, dtype="string")
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype("string")
    if values.dtype == object:
        separator = _SEPARATORS.get(name, "; ")
        joined = [separator.join(value) if isinstance(value, tuple) else value for value in values]
        return pd.Series(joined, index, dtype="string")
    return values.astype("Int64") if name in _WHOLE else values


def _metrics(frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    start = METRIC.format("")
    columns = {name: frame[name] for name in map(str, frame) if name.startswith(start)}
    units = {
        METRIC.format(f"{name.removeprefix(start)}_unit"): pd.Series(
            [_unit(metrics, name) for metrics in frame[METRICS]], frame.index, dtype="string"
        ).where(column.notna())
        for name, column in columns.items()
    }
    # A metric may have the name of another one's unit.
    return units | columns


def _unit(metrics: tuple[Metric, ...] | None, field: str) -> str | None:
    return next((metric.unit for metric in metrics or () if metric.field == field), None)


def csv_bytes(runs: pd.DataFrame) -> bytes:
    """Return runs as CSV: RFC 4180, UTF-8, points in numbers, ISO dates, TRUE and FALSE.

    A cell is empty where there is nothing. No cell is a formula, and none has several lines.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([csv_value(name) for name in runs])
    writer.writerows(zip(*(_cells(runs[name]) for name in runs), strict=True))
    return stream.getvalue().encode(errors="replace")


def json_rows(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return runs as JSON has them: a value that is not there is null, a time is ISO 8601."""
    rows: list[dict[str, Any]] = json.loads(
        runs.to_json(orient="records", date_format="iso", date_unit="ms", double_precision=15)
    )
    return rows


def _cells(column: pd.Series[Any]) -> Iterator[object]:
    write = _written(column)
    return ("" if absent else write(value) for value, absent in zip(column, column.isna()))  # noqa: B905


def _written(column: pd.Series[Any]) -> Callable[[Any], object]:
    if column.dtype == bool:
        return lambda value: "TRUE" if value else "FALSE"
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return lambda moment: f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    if column.dtype == "string":
        cells = {text: csv_value(text) for text in column.dropna().unique()}
        return cells.__getitem__
    return _number if column.dtype == float else csv_value


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < _MOST_WHOLE else repr(value)


def check_file(path: Path) -> None:
    """Raise UserError for the name of a file that could not be written."""
    if path.suffix == PARQUET:
        try:
            importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            raise _without_pyarrow(path, error) from None
    elif path.suffix not in (CSV, ""):
        raise UserError(f"-o {path}: expected a name that ends in {CSV} or {PARQUET}")


def write_runs(runs: pd.DataFrame, path: Path) -> Path:
    """Write runs to a file as its name says; raises UserError when it cannot be written."""
    content = _parquet_bytes(runs, path) if path.suffix == PARQUET else csv_bytes(runs)
    return write_file(path, content, "or name another file with --output")


def _parquet_bytes(runs: pd.DataFrame, path: Path) -> bytes:
    stream = io.BytesIO()
    try:
        runs.to_parquet(stream, engine="pyarrow", index=False)
    # One that is too old for pandas.
    except ImportError as error:
        raise _without_pyarrow(path, error) from None
    return stream.getvalue()


def _without_pyarrow(path: Path, error: ImportError) -> UserError:
    return UserError(
        f"-o {path}: parquet needs pyarrow ({one_line(str(error))}); install it, or write "
        f"{path.with_suffix(CSV).name}, which needs nothing"
    )
