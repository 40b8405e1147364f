"""Logs of `perf stat` become results: single runs as records, averages (`-r`) as summaries.

perf's `+-` under `-r` is the standard error of the mean: stddev_stats in Linux'
tools/perf/util/stat.c divides the variance by the number of runs before it takes the root. The
standard deviation of the runs is therefore error x sqrt(runs).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pinstudy.analysis.imports.identity import Identifier, LoggedCase
from pinstudy.analysis.imports.perf_log import Block, in_ns, read_log
from pinstudy.analysis.imports.runs import (
    STUDY,
    Imported,
    ImportedRun,
    lasted_alike,
    node_name,
    write_runs,
)
from pinstudy.analysis.imports.summary_file import add_summaries
from pinstudy.analysis.measures import csv_column
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.base.text import one_line
from pinstudy.runners.records.energy import FIELDS as ENERGY
from pinstudy.runners.records.energy import (
    PACKAGE,
    PERF_EVENTS,
    PERF_UNIT,
    domain_fields,
    run_figures,
)
from pinstudy.runners.records.perf.counters import no_counters, read_counters
from pinstudy.runners.records.perf.output import PerfOutput, Row
from pinstudy.runners.records.perf.scaling import canonical_event


@dataclass(frozen=True)
class _Log:
    """A block of a log, with its file and its case."""

    path: Path
    block: Block
    identity: LoggedCase

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{one_line(str(self.path), None)}:{self.block.line}"

    @property
    def key(self) -> Hashable:
        """Identifies the run or the average; None where the file's name does not."""
        repetition = self.identity.repetition
        if self.block.averaged:
            return self.identity.case_id
        return None if repetition is None else (self.identity.case_id, repetition)

    @property
    def digest(self) -> str:
        """A digest of what perf printed: the same log is not imported twice."""
        return hashlib.sha256(self.block.text.encode()).hexdigest()[:16]


# A log, and the log of all CPUs that has its energy.
_LogWithEnergy = tuple[_Log, "_Log | None"]


def import_logs(
    files: Sequence[Path], into: Path, options: Mapping[str, str | int | None]
) -> Imported:
    """Read logs of `perf stat` into a results folder.

    `options` are those of the command by name: fields of the case, `pattern`, `node`, and
    `repeats`, the number of runs behind averages whose log does not tell it. All files are read
    before anything is written. Raises UserError, with file and line, for what cannot be imported.
    """
    identifier = Identifier(options)
    node_id = node_name(options)
    option = options.get("repeats")
    repeats = option if isinstance(option, int) else None
    all_cpus = bool(options.get("all_cpus"))
    logs = [
        _Log(path, replace(block, system_wide=block.system_wide or all_cpus), identity)
        for path in files
        for identity in [identifier.identify(path)]
        for block in read_log(path)
    ]
    runs = [log for log in logs if not log.block.averaged]
    averages = [log for log in logs if log.block.averaged]
    if runs and averages:
        raise UserError(
            f"{averages[0].where}: averages of many runs (perf stat -r), and {runs[0].where} is a "
            "single run; import them into folders of their own"
        )
    if runs and repeats is not None:
        raise UserError(
            f"{runs[0].where}: a single run, and --repeats says an average of {repeats}; "
            "leave --repeats out"
        )
    cases = len({log.identity.case_id for log in logs})
    pairs = _with_energy_logs(logs)
    if averages:
        add_summaries(into, _summaries(pairs, node_id, repeats))
        return Imported(0, len(pairs), cases)
    write_runs(into, [_run(*pair) for pair in pairs], node_id)
    return Imported(len(pairs), 0, cases)


def _summaries(
    averages: Sequence[_LogWithEnergy], node_id: str, repeats: int | None
) -> Iterator[tuple[str, LoggedCase, dict[str, str]]]:
    for log, energy in averages:
        if failure := _failure(log, energy):
            raise UserError(
                f"{log.where}: averages of runs of which one failed ({failure}), and it cannot be "
                "taken out; log single runs"
            )
        count = _repeats(log, repeats)
        if energy and _repeats(energy, repeats) != count:
            raise UserError(
                f"{energy.where}: averages of {_repeats(energy, repeats)} runs, and {log.where} "
                f"of {count}; expected as many"
            )
        columns = {
            "study": STUDY,
            "node_id": node_id,
            **{name: str(value) for name, value in log.identity.fields.items()},
            **{name: value for name, value in log.identity.meaning.items() if value},
            "n": str(count),
            **summary_fields(log, count, energy or log),
        }
        yield log.where, log.identity, columns


def _repeats(average: _Log, repeats: int | None) -> int:
    in_log = average.block.repeats
    if in_log is None and repeats is None:
        raise UserError(
            f"{average.where}: averages (perf stat -r) that do not tell of how many runs; give "
            "--repeats N, what stood behind -r"
        )
    if in_log is not None and repeats not in (None, in_log):
        raise UserError(f"{average.where}: averages of {in_log} runs, and --repeats says {repeats}")
    return in_log or repeats or 0


def _with_energy_logs(logs: Sequence[_Log]) -> list[_LogWithEnergy]:
    """Return each log with the log of all CPUs that was made beside it, of the same run or average.

    perf counts energy on all CPUs only (-a), and then everything else too, so that a run may have
    two logs. Raises UserError for logs that cannot be of one run.
    """
    alone = {log.key: log for log in logs if log.key and not log.block.system_wide}
    wide: dict[Hashable, _Log] = {}
    for log in logs:
        if not log.block.system_wide or log.key not in alone:
            continue
        first = wide.setdefault(log.key, log)
        if first is not log:
            raise UserError(
                f"{log.where}: a second log of all CPUs beside {alone[log.key].where}, after "
                f"{first.where}; expected one, with all events of energy"
            )
    pairs = [(log, None if log.block.system_wide else wide.get(log.key)) for log in logs]
    for run, energy in pairs:
        if energy:
            _check_times(run, energy)
    used = [id(energy) for _, energy in pairs if energy]
    return [(log, energy) for log, energy in pairs if id(log) not in used]


def _check_times(run: _Log, energy: _Log) -> None:
    """Raise UserError where a run and the log of its energy lasted too differently to be one."""
    run_s, energy_s = run.block.elapsed_s, energy.block.elapsed_s
    if run_s is None or energy_s is None:
        return
    if not lasted_alike(energy_s, run_s):
        raise UserError(
            f"{energy.where}: lasted {energy_s:g} s, and {run.where}, named as the same run, "
            f"{run_s:g} s; expected logs of two perfs, one started in the other"
        )


def _failure(run: _Log, energy: _Log | None) -> str:
    return run.block.failure or (energy.block.failure if energy else "")


def _run(log: _Log, energy: _Log | None) -> ImportedRun:
    logs = [(log.digest, log.path.name)]
    source: dict[str, Any] = {"file": log.path.name, "line": log.block.line, "digest": log.digest}
    if energy:
        logs.append((energy.digest, energy.path.name))
        source |= {"energy_file": energy.path.name, "energy_digest": energy.digest}
    measured = run_fields(log, energy or log)
    return ImportedRun(
        log.where, log.identity, measured, _failure(log, energy), source, NOT_IN_LOG, tuple(logs)
    )


NOT_IN_LOG = "not in the imported perf log"
# perf names core PMUs after the kinds they count on Intel's hybrid CPUs.
_KINDS = {"cpu_core": ("P",), "cpu_atom": ("E",), "cpu_lowpower": ("LP-E",)}
_OF_POWER = ("power_pkg_w", "energy_net_j", "idle_power_w")
_OF_TIME = ("edp_js", "ed2p_js2")
_ONE_CPU = re.compile(r"(?:CPU)?[0-9]+")
# By how much a CPU's clock under -a and the elapsed time differ: for perf's own start (2 ms were
# seen, on 2 CPUs), and as a share.
_START_S = 0.01
_CLOCKS_DIFFER = 0.005
_OF_ALL_CPUS = "counted on all CPUs (-a, -C), not of the program"
# Deviations are known to about as many digits as perf prints of its errors.
_DIGITS = 3
_MIN_COUNT = 100
# What a float holds of a decimal number.
_MAX_DIGITS = 15
# A frequency that follows from shares of two decimals is known to four digits.
_FREQUENCY_DIGITS = 4
# The measures of a summary beside time, and the event that has the error of each.
_MEASURES = {
    "task_clock_s": "task-clock",
    "context_switches": "context-switches",
    "migrations": "cpu-migrations",
    "cache_misses": "cache-misses",
    "freq_mean_ghz": None,
    **{name: PERF_EVENTS[domain] for domain, name in ENERGY.items()},
}


def run_fields(run: _Log, energy: _Log) -> Reading:
    """Return the measured fields of a single run; what the logs lack has its reason.

    `energy` is the log that has the energy, another one or the same.
    """
    return _counters(run) | _times(run.block) | _energy_fields(energy.block, run.block.elapsed_s)


def _energy_fields(block: Block, elapsed_s: float | None) -> Reading:
    """Return a run's energy, counted during a log's own time, and what follows from it.

    `elapsed_s` is the time of the program, which another log may have.
    """
    energy = _energy(block)
    idle = Unavailable("no idle measurement was imported")
    figures = run_figures(energy, elapsed_s or 0.0, idle)
    if block.elapsed_s is None:
        energy.fields.pop("energy_window_s", None)
        return energy | _without_time(*_OF_POWER, *_OF_TIME)
    if elapsed_s is None and PACKAGE in energy.fields:
        figures |= _without_time(*_OF_TIME)
    return energy | figures


def _without_time(*names: str) -> Reading:
    return Reading({}, dict.fromkeys(names, "no elapsed time in the imported perf log"))


def _energy(block: Block) -> Reading:
    joules = reading_of(
        {domain: _joules(block.rows, event) for domain, event in PERF_EVENTS.items()}
    )
    return domain_fields(joules.fields, joules.unavailable, block.elapsed_s or 0.0, "perf")


def _joules(rows: Sequence[Row], event: str) -> float | Unavailable:
    """Return the joules of an event, packages summed, or why there are none.

    An event that perf was asked for twice has two rows of the same energy. A package's counter is
    read on one of its CPUs: rows of the others say nothing.
    """
    matching = [row for row in rows if row.event == event and row.pmu in ("power", None)]
    of_counters = [row for row in matching if not _is_beside_the_counter(row)]
    parts = {row.aggregate: row for row in of_counters or matching}.values()
    for row in parts:
        if row.value is None:
            return Unavailable(f"{row.name}: {row.state}")
        if row.unit != PERF_UNIT:
            return Unavailable(
                f"{row.name}: counted in {row.unit or 'no unit'}, not in {PERF_UNIT}"
            )
    return sum(row.value or 0.0 for row in parts) if parts else Unavailable(NOT_IN_LOG)


def _is_beside_the_counter(row: Row) -> bool:
    """Return whether a row is of a core or CPU on which nobody reads a counter of its package."""
    of_one_cpu = row.summed is None and _ONE_CPU.fullmatch(row.aggregate or "")
    return row.state == "not counted" and (row.summed == 0 or bool(of_one_cpu))


def _times(block: Block) -> Reading:
    known = {"elapsed_s": block.elapsed_s, "user_s": block.user_s, "system_s": block.system_s}
    times = {name: value for name, value in known.items() if value is not None}
    absent = {
        "elapsed_s": "perf stat -x and -j print no elapsed time; ask for the event duration_time",
        "user_s": NOT_IN_LOG,
        "system_s": NOT_IN_LOG,
        "max_rss_bytes": NOT_IN_LOG,
    }
    return Reading(times, {name: why for name, why in absent.items() if name not in times})


def _counters(log: _Log) -> Reading:
    block = log.block
    if block.system_wide:
        return no_counters(_OF_ALL_CPUS)
    rows = tuple(row for row in block.rows if row.pmu != "power")
    if not rows:
        return no_counters(NOT_IN_LOG)
    used = (block.user_s or 0.0) + (block.system_s or 0.0)
    kernel_share = (block.system_s or 0.0) / used if used > 0 else None
    reading = read_counters(PerfOutput(rows, ()), _kinds(rows), kernel_share=kernel_share)
    if not block.clock:
        _forget_times(reading)
    if why := _why_of_all_cpus(log, reading):
        return Reading({}, no_counters(why).unavailable | reading.unavailable)
    return reading


def _why_of_all_cpus(log: _Log, counters: Reading) -> str:
    """Return what shows that all CPUs were counted, which old and short forms of logs do not say.

    Under -a a clock ticks on each CPU for the whole time, so that a whole number of CPUs is busy.
    """
    threads, elapsed_s = int(log.identity.fields["threads"]), log.block.elapsed_s
    clock_s = float(counters.fields.get("task_clock_s", 0.0))
    cpus = round(clock_s / elapsed_s) if elapsed_s else 0
    if not elapsed_s or cpus <= threads:
        return ""
    if abs(clock_s / cpus - elapsed_s) > _START_S + _CLOCKS_DIFFER * elapsed_s:
        return ""
    return (
        f"{cpus} CPUs were busy all the time, which --threads {threads} cannot do: counted on all "
        "CPUs (-a; then say --all-cpus), or there were more threads"
    )


def _kinds(rows: Sequence[Row]) -> Mapping[str, Sequence[str]]:
    """Return the core PMUs of the node, as far as rows tell: one of Intel's two implies the other.

    The PMU `cpu` is a node's only one, and also counts what stands there without a PMU.
    """
    named = {row.pmu for row in rows}
    if named & set(_KINDS):
        return {
            pmu: kinds for pmu, kinds in _KINDS.items() if pmu in named or pmu != "cpu_lowpower"
        }
    return {"cpu": ()} if "cpu" in named else {}


def _forget_times(reading: Reading) -> None:
    """Drop what was computed from the nominal second of rows without a clock."""
    reason = "no task-clock in the imported perf log"
    for name in ("task_clock_s", "freq_ghz", "freq_mean_ghz"):
        if name in reading.fields or name == "task_clock_s":
            reading.fields.pop(name, None)
            reading.unavailable[name] = reason
    for count in reading.fields.get("counters", ()):
        count["enabled_ns"] = count["running_ns"] = None


def summary_fields(average: _Log, repeats: int, energy: _Log) -> dict[str, str]:
    """Return the columns of a summary (`elapsed_mean_s`, …) that averages of runs give.

    `energy` is the log that has the energy, another one or the same. Means are as perf printed
    them. Where counts were extrapolated, their mean is undone by the mean share: exact when the
    share was the same in all runs; no deviation is given for it.
    """
    block = average.block
    columns: dict[str, str] = {}
    if block.elapsed_text:
        columns["elapsed_mean_s"] = block.elapsed_text
        columns |= _deviation("elapsed_s", block.elapsed_error_s, repeats)
    measured = _counters(average) | _times(block) | _energy(energy.block)
    for name, event in _MEASURES.items():
        if name in measured.fields:
            digits = _FREQUENCY_DIGITS if name == "freq_mean_ghz" else _MAX_DIGITS
            rows = energy.block.rows if name in ENERGY.values() else block.rows
            columns[csv_column(name, "mean")] = plain(float(measured.fields[name]), digits)
            columns |= _deviation(name, _error_of(rows, event), repeats)
    reasons = {name: measured.unavailable.get(name) for name in ("elapsed_s", *_MEASURES)}
    columns["reasons"] = "; ".join(
        f"{name}: {why.replace('; ', ', ')}" for name, why in reasons.items() if why
    )
    return columns


def _error_of(rows: Sequence[Row], event: str | None) -> float | None:
    """Return the standard error of an event's mean in its unit; None when it is not that simple."""
    matching = [row for row in rows if canonical_event(row.event) == event]
    if len(matching) != 1 or not matching[0].always:
        return None
    value, percent, unit = matching[0].value, matching[0].error_percent, matching[0].unit
    # A mean count is printed without decimals: a small one is too coarse for a percentage of it.
    if value is None or percent is None or (not unit and value < _MIN_COUNT):
        return None
    if event == "task-clock":
        value = in_ns(value, unit) / 1e9
    return percent / 100 * value


def _deviation(measure: str, error: float | None, repeats: int) -> dict[str, str]:
    """Return the deviation of the runs; nothing where perf printed an error of 0.00 %."""
    if not error:
        return {}
    return {csv_column(measure, "sd"): plain(error * repeats**0.5, _DIGITS)}


def plain(value: float, digits: int = _MAX_DIGITS) -> str:
    """Return a number without an exponent, with so many significant digits at most."""
    text = format(Decimal(f"{value:.{digits}g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
