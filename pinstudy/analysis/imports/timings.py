"""Runs that hyperfine, Google Benchmark or likwid-perfctr timed become records.

Forms: hyperfine src/benchmark/benchmark_result.rs (`--export-json`); Google Benchmark
src/json_reporter.cc (JSON); likwid 5.2.2 likwid.lua, printOutput (`likwid-perfctr -O`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from pinstudy.analysis.imports.identity import FIELDS, Identifier
from pinstudy.analysis.imports.runs import Imported, ImportedRun, node_name, write_runs
from pinstudy.analysis.records.files import read_text
from pinstudy.base.decoding import Amount, Count, Text, decoded
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.base.text import one_line, shown
from pinstudy.runners.records.energy import DOMAINS, domain_fields, run_figures
from pinstudy.runners.records.perf.counters import no_counters

_File = TypeVar("_File")
_MAX_RUNS = 100_000
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class _Benchmark(Struct):
    """All runs of a command by hyperfine; `user` and `system` are means."""

    command: Text
    times: Annotated[list[Amount], Meta(max_length=_MAX_RUNS)] | None = None
    exit_codes: list[int | None] | None = None
    memory_usage_byte: list[Count] | None = None
    parameters: dict[Text, Text] = {}


class _Hyperfine(Struct):
    results: Annotated[list[_Benchmark], Meta(min_length=1)]


class _Repetition(Struct):
    """What Google Benchmark measured once, or has computed; times are of one iteration."""

    run_name: Text
    run_type: Literal["iteration", "aggregate"]
    real_time: Amount | None = None
    time_unit: Literal["ns", "us", "ms", "s"] = "ns"
    iterations: Count | None = None
    error_occurred: bool = False
    error_message: Text = ""
    skipped: bool = False
    skip_message: Text = ""


class _Context(Struct):
    executable: Text = ""


class _GoogleBenchmark(Struct):
    context: _Context
    benchmarks: Annotated[list[_Repetition], Meta(max_length=_MAX_RUNS)]


@dataclass(frozen=True)
class _Timed:
    """A run in a file: its place there, fields of its case, and what was measured.

    `elapsed_s` is None for a run that has no time; `joules` is its energy by domain.
    """

    path: Path
    place: str
    told: Mapping[str, str | int]
    elapsed_s: float | None
    failure: str
    content: object
    max_rss_bytes: int | None = None
    joules: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Tool:
    name: str
    read: Callable[[Path, Collection[str]], Iterator[_Timed]]
    # Why fields are not known.
    missing: Mapping[str, str]


def _hyperfine(path: Path, given: Collection[str]) -> Iterator[_Timed]:
    del given
    file = _content(path, _Hyperfine, "a file of `hyperfine --export-json`")
    for at, result in enumerate(file.results):
        place = f"results[{at}]"
        if not result.times:
            raise UserError(f"{path}: {place}: has no times of single runs")
        codes, memory = result.exit_codes or [], result.memory_usage_byte or []
        told = {
            name: _number(path, name, text)
            for name, text in result.parameters.items()
            if name in FIELDS
        }
        for run, elapsed_s in enumerate(result.times):
            code = codes[run] if run < len(codes) else 0
            yield _Timed(
                path,
                f"{place}.times[{run}]",
                told,
                elapsed_s,
                _failure_of(code),
                result,
                memory[run] if run < len(memory) else None,
            )


def _number(path: Path, name: str, text: str) -> str | int:
    if name != "threads":
        return text
    if not text.isdecimal() or len(text) > 6:
        raise UserError(f"{one_line(str(path), None)}: threads {shown(text)} is no number")
    return int(text)


def _failure_of(code: int | None) -> str:
    if code is None:
        return "it was ended by a signal"
    return f"exit status {code}" if code else ""


def _google_benchmark(path: Path, given: Collection[str]) -> Iterator[_Timed]:
    file = _content(path, _GoogleBenchmark, "a file of `--benchmark_out_format=json`")
    program = PurePath(file.context.executable.replace("\\", "/")).name
    app: dict[str, str | int] = {"app": program} if program and "app" not in given else {}
    found = 0
    for at, run in enumerate(file.benchmarks):
        if run.run_type != "iteration":
            continue
        found += 1
        failure = ""
        if run.error_occurred or run.skipped:
            failure = one_line(run.error_message or run.skip_message) or "it was skipped"
        elapsed_s = run.real_time and run.real_time * _UNIT_S[run.time_unit]
        told = app | {"size": run.run_name}
        place = f"benchmarks[{at}]"
        yield _Timed(path, place, told, None if failure else elapsed_s, failure, run)
    if not found:
        raise UserError(
            f"{path}: has aggregates only; expected single repetitions, as without "
            "--benchmark_report_aggregates_only"
        )


# Energy by likwid's names of events, in joules: those of Intel, then of AMD.
_LIKWID_ENERGY = {
    "PWR_PKG_ENERGY": "package",
    "PWR_PP0_ENERGY": "core",
    "PWR_PP1_ENERGY": "uncore",
    "PWR_DRAM_ENERGY": "dram",
    "RAPL_PKG_ENERGY": "package",
}
_LIKWID_TIME = "Runtime (RDTSC) [s]"
_LIKWID_TABLE = re.compile(
    r"TABLE,(?P<region>Region [^,]*,)?Group (?P<group>\d+) (?P<kind>[^,]+),.*"
)


def _likwid(path: Path, given: Collection[str]) -> Iterator[_Timed]:
    """Yield the only run of a file: the tables of one group, a row an event, a column a CPU."""
    del given
    where, expected = one_line(str(path), None), "a file of `likwid-perfctr -O -o FILE`"
    kind, groups, times_s, joules = "", set[str](), list[float](), dict[str, float]()
    text = read_text(path, expected)
    for number, line in enumerate(text.splitlines(), 1):
        name, *cells = line.rstrip(",").split(",")
        if table := _LIKWID_TABLE.fullmatch(line):
            if table["region"]:
                raise UserError(f"{where}:{number}: is of a region (-m); expected whole runs")
            kind = table["kind"]
            groups.add(table["group"])
        elif name == "STRUCT":
            kind = ""
        elif kind in ("Raw", "Metric") and name == _LIKWID_TIME:
            times_s += _numbers(cells)
        elif kind == "Raw" and (domain := _LIKWID_ENERGY.get(name)):
            # One CPU of each socket counts for it; the others have 0.
            joules[domain] = sum(_numbers(cells))
    if len(groups) > 1:
        raise UserError(f"{where}: has {len(groups)} groups of events, each of a part of the run")
    if not times_s:
        raise UserError(f"{where}: has no run time; expected {expected}")
    yield _Timed(path, "tables", {}, max(times_s), "", text, joules=joules)


def _numbers(cells: Sequence[str]) -> list[float]:
    """Return the numbers of a row; names of counters and `-`, not a number, are left out."""
    return [float(cell) for cell in cells if _NUMBER.fullmatch(cell)]


_NUMBER = re.compile(r"\d{1,20}(?:\.\d{1,20})?(?:e[+-]\d{1,2})?")
_MEANS = "in the imported hyperfine file for all runs together only"
_TOOLS = {
    "hyperfine": _Tool(
        "hyperfine",
        _hyperfine,
        {"user_s": _MEANS, "system_s": _MEANS},
    ),
    "benchmark": _Tool("Google Benchmark", _google_benchmark, {}),
    "likwid": _Tool("likwid-perfctr", _likwid, {}),
}


def import_timings(
    tool: str, files: Sequence[Path], into: Path, options: Mapping[str, str | int | None]
) -> Imported:
    """Read files of a tool, `hyperfine`, `benchmark` or `likwid`, into a results folder.

    `options` are those of the command by name: fields of the case, `pattern` and `node`. All files
    are read before anything is written. Raises UserError, with file and place, for what cannot be
    imported.
    """
    known = _TOOLS[tool]
    pattern = str(options.get("pattern") or "")
    given = {name for name in FIELDS if options.get(name) is not None or f"{{{name}}}" in pattern}
    timed = [run for path in files for run in known.read(path, given)]
    told = {name for run in timed for name in run.told}
    for run in timed:
        if lacking := sorted(told - set(run.told)):
            raise UserError(f"{_where(run)}: does not tell the {lacking[0]}, as others do")
    identifier = Identifier(options, told)
    runs = [_imported(run, known, identifier) for run in timed]
    write_runs(into, runs, node_name(options))
    return Imported(len(runs), 0, len({run.identity.case_id for run in runs}))


def _imported(run: _Timed, tool: _Tool, identifier: Identifier) -> ImportedRun:
    content = msgspec.json.encode((run.place, run.content))
    digest = hashlib.sha256(content).hexdigest()[:16]
    name = run.path.name
    missing = f"not in the imported {tool.name} file"
    failure = run.failure
    if run.elapsed_s == 0:
        run, failure = replace(run, elapsed_s=None), "its time is 0: it is too short for the tool"
    return ImportedRun(
        _where(run),
        identifier.identify(run.path, run.told),
        _measured(run, missing, tool.missing),
        failure,
        {"file": name, "place": run.place, "digest": digest},
        missing,
        ((digest, name),),
    )


def _measured(run: _Timed, missing: str, reasons: Mapping[str, str]) -> Reading:
    """Return what is known of a run: its time, seldom its memory, and why nothing else is."""
    known = {"elapsed_s": run.elapsed_s, "max_rss_bytes": run.max_rss_bytes}
    fields = {name: value for name, value in known.items() if value is not None}
    absent = {
        name: reasons.get(name, missing)
        for name in ("elapsed_s", "user_s", "system_s", "max_rss_bytes")
        if name not in fields
    }
    unknown = dict.fromkeys(set(DOMAINS) - set(run.joules), missing)
    energy = domain_fields(run.joules, unknown, run.elapsed_s or 0.0, "likwid")
    energy |= run_figures(energy, run.elapsed_s or 0.0, Unavailable(missing))
    return Reading(fields, absent) | no_counters(missing) | energy


def _where(run: _Timed) -> str:
    return f"{one_line(str(run.path), None)}: {run.place}"


def _content(path: Path, kind: type[_File], expected: str) -> _File:
    text = read_text(path, expected)
    try:
        return decoded(text.encode(), kind)
    except ValueError as error:
        raise UserError(f"{one_line(str(path), None)}: {error}; expected {expected}") from None
