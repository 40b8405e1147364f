"""Results whose outcome is known, from single records to findings.

write(folder, [record(1, 1), record(1, 2, status="failed")])        single runs of rows #1 to #10
findings_of(folder, Study({"unpinned": 1.0, "pcores-pin": 0.9}))   a study with these mean times
summary(3, elapsed_s=45.0)                                          a case without runs
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.format.lines import Line
from pinstudy.analysis.format.table import Table
from pinstudy.analysis.measures import BY_FIELD, PLAIN, UNMEASURED, Stats
from pinstudy.analysis.records.keys import CaseKey, TableKey
from pinstudy.analysis.results.case import Case, Circumstances
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.tables.means import make_tables
from pinstudy.analysis.verdict.case_caveats import caveats_of
from pinstudy.analysis.verdict.model import (
    CaseFinding,
    Comparison,
    Decision,
    Findings,
    TableFindings,
)
from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.runners.records.line import sealed

Record = dict[str, Any]

START = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
# mapping -> (selection, binding); they are the rows #1 to #5, and #6 to #10 again.
MAPPINGS = {
    "unpinned": ("all", "none"),
    "pcores-set": ("pcores", "set"),
    "pcores-pin": ("pcores", "pin"),
    "ecores-set": ("ecores", "set"),
    "ecores-pin": ("ecores", "pin"),
}
# The fields of a run.
MEASURED: Record = {
    "warmup": False,
    "started_at": "2025-03-01T12:00:00Z",
    "elapsed_s": 45.0,
    "task_clock_s": 45.0,
    "user_s": 44.0,
    "system_s": 1.0,
    "max_rss_bytes": 60_000_000,
    "freq_mean_ghz": 5.976,
    "freq_ghz": {"P": 5.976},
    "residency": {"P": 1.0, "E": 0.0},
    "migrations": 1,
    "context_switches": 40,
    "cache_misses": 1376989875,
    "energy_pkg_j": 2215.08,
    "placement": {"verdict": "proved"},
    "unavailable": {},
}
UNPROVED = {
    "placement": {"verdict": "unproved"},
    "unavailable": {"placement": "too short to look at"},
}
_DEFAULTS = {"reason": "", "kinds_declared": False}
VIOLATED = {
    "status": "placement-violated",
    "reason": "thread 7 was allowed CPU 0-1",
    "placement": {"verdict": "violated"},
}


# By a column of tables the group and the field of a record.
_GROUPS = {
    "ranks": ("ranks", "number"),
    "mpi": ("ranks", "mpi"),
    "ranks_by": ("ranks", "by"),
    "rank_cpus": ("ranks", "cpus"),
    "launcher_cpu_s": ("ranks", "launcher_cpu_s"),
    "vm_cpus": ("guest", "vcpus"),
    "vm_memory_mib": ("guest", "memory_mib"),
    "vm_accelerator": ("guest", "accelerator"),
    "vcpu_mapping": ("guest", "mapping"),
    "vcpu_selection": ("guest", "selection"),
    "vcpu_binding": ("guest", "binding"),
    "vcpu_cpus": ("guest", "cpus"),
    "vcpu_placement": ("guest", "placement"),
    "vcpu_migrations": ("guest", "migrations"),
}


def case_fields(number: int) -> Record:
    """Return the fields of the case and the node in a record of row `number`."""
    governor = "performance" if number <= 5 else "powersave"
    return {
        "schema": 6,
        "study": "paper-serial",
        "study_digest": "d" * 64,
        "case_id": f"case{number:012d}",
        "table_number": 1,
        "case_number": number,
        "node_id": "node1",
        "node_digest": "n1",
        "boot_id": "b",
        "attempt": 1,
        "kinds_declared": False,
        "app": "lulesh",
        "build": "serial",
        "size": "paper",
        "threads": 1,
        "schedule": "static",
        "wait_policy": "runtime-default",
        "mapping": list(MAPPINGS)[(number - 1) % 5],
        "selection": "all",
        "binding": "none",
        "mechanism": None,
        "cpus": "0-23",
        "governor": governor,
        "driver": "intel_pstate",
        "governor_read": governor,
        "status": "ok",
        "reason": "",
    }


def record(number: int = 1, repetition: int = 1, **fields: Any) -> Record:  # noqa: ANN401
    """Return the record of a good run of row `number`, with some of its fields changed."""
    of_run = {
        "repetition": repetition,
        "block": repetition,
        "order": repetition,
        "run_id": f"case{number}-{repetition}",
    }
    return case_fields(number) | of_run | MEASURED | fields


def without(names: Iterable[str], reason: str, **fields: Any) -> Record:  # noqa: ANN401
    """Return a good run's record that lacks some measured fields for a reason."""
    names = list(names)
    measured = {key: value for key, value in record(**fields).items() if key not in names}
    return measured | {"unavailable": dict.fromkeys(names, reason)}


def left_out(number: int, reason: str) -> Record:
    """Return the record of a row that the node cannot run."""
    return case_fields(number) | {"cpus": "", "status": "skipped", "reason": reason}


def in_groups(run: Record) -> Record:
    """Return a record as shards have it, from one with the columns of tables beside its fields.

    What is null, or has its default, is in no line.
    """
    found = {
        name: value
        for name, value in run.items()
        if name not in ("engine", *_GROUPS) and value is not None and _DEFAULTS.get(name) != value
    }
    for column, (group, name) in _GROUPS.items():
        if (value := run.get(column)) is not None:
            found[group] = found.get(group, {}) | {name: value}
    reasons = run.get("unavailable")
    if isinstance(reasons, dict):
        found["unavailable"] = {
            ".".join(_GROUPS.get(name, (name,))): why for name, why in reasons.items()
        }
    return found


def write(folder: Path, records: Iterable[Record], attempt: int = 1) -> Path:
    """Write records as one attempt's shard of a results folder; return the shard's path."""
    (folder / "records").mkdir(parents=True, exist_ok=True)
    path = folder / "records" / f"node1-{attempt:04d}.jsonl"
    lines = (sealed(json.dumps(in_groups(item)).encode()) for item in records)
    path.write_bytes(b"".join(lines))
    return path


def tables_from(folder: Path, records: Iterable[Record]) -> list[Table]:
    """Return the tables of these records, which are written to a folder first."""
    write(folder, records)
    return make_tables(folder)


def cells_by_title(table: Table, row: int = 0) -> dict[str, str]:
    """Return a row's cells by the titles of their columns."""
    titles = [column.title for column in table.columns]
    return dict(zip(titles, table.cells[row], strict=True))


def notes_of(table: Table) -> list[str]:
    """Return the texts under a table."""
    return [text for _, text in table.notes]


@dataclass(frozen=True)
class Study:
    """A study of one app: each mapping's time and energy as a multiple of the baseline's.

    `noise` is the relative sd of a run's time; `sequential` makes all runs of a case together.
    `beside` has more fields for each mapping's records.
    """

    time: Mapping[str, float]
    energy: Mapping[str, float] = field(default_factory=dict)
    repetitions: int = 10
    noise: float = 0.003
    sequential: bool = False
    governors: tuple[str, ...] = ("performance",)
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 1

    def records(self) -> list[Record]:
        rng = np.random.default_rng(self.seed)
        cases = [(governor, mapping) for governor in self.governors for mapping in self.time]
        runs = []
        for repetition in range(1, self.repetitions + 1):
            for number, (governor, mapping) in enumerate(cases, 1):
                order = (repetition - 1) * len(cases) + number
                if self.sequential:
                    order = (number - 1) * self.repetitions + repetition
                started = START + timedelta(minutes=order)
                fields = {
                    "governor": governor,
                    "order": order,
                    "run_id": f"case{number:012d}-1-{order}",
                    "started_at": started.isoformat(timespec="milliseconds"),
                    **self._fields(rng, mapping),
                    **self.beside.get(mapping, {}),
                }
                runs.append(record(number, repetition, **fields))
        return sorted(runs, key=lambda run: run["order"])

    def _fields(self, rng: np.random.Generator, mapping: str) -> Record:
        """Return what a run of a mapping measured."""
        selection, binding = MAPPINGS.get(mapping, ("pcores", "pin"))
        elapsed_s = 40 * self.time[mapping] * (1 + self.noise * float(rng.normal()))
        fields: Record = {
            "mapping": mapping,
            "selection": selection,
            "binding": binding,
            "threads": 8,
            "build": "libgomp",
            "elapsed_s": elapsed_s,
        }
        if not self.energy:
            no_energy = {"energy_pkg_j": "no RAPL here"}
            return fields | {"energy_pkg_j": None, "unavailable": no_energy}
        energy_j = 2000 * self.energy[mapping] * (1 + self.noise * float(rng.normal()))
        return fields | {"energy_pkg_j": energy_j, "edp_js": energy_j * elapsed_s}


def spoilt(
    study: Study | list[Record],
    mapping: str,
    repetitions: Container[int] = range(1000),
    /,
    **fields: Any,  # noqa: ANN401
) -> list[Record]:
    """Return a study's records in which some repetitions of a mapping have other fields."""
    return [
        run | fields if run["mapping"] == mapping and run["repetition"] in repetitions else run
        for run in _records(study)
    ]


def made_again(records: Iterable[Record], attempt: int, **fields: Any) -> list[Record]:  # noqa: ANN401
    """Return records as an attempt makes them that has a plan of its own: orders count anew."""
    return [
        run
        | {"attempt": attempt, "order": order, "run_id": f"{run['case_id']}-{attempt}-{order}"}
        | fields
        for order, run in enumerate(sorted(records, key=lambda run: run["order"]))
    ]


def in_table(number: int, study: Study | list[Record], **fields: Any) -> list[Record]:  # noqa: ANN401
    """Return a study's records as those of the table of that number, with other fields."""
    return [
        run
        | {
            "table_number": number,
            "case_id": f"{number}-{run['case_id']}",
            "run_id": f"{number}-{run['run_id']}",
        }
        | fields
        for run in _records(study)
    ]


def timed(study: Study | list[Record], elapsed_s: Callable[[Record], float]) -> list[Record]:
    """Return a study's records with times from a function of each run."""
    return [run | {"elapsed_s": elapsed_s(run)} for run in _records(study)]


def _records(study: Study | list[Record]) -> list[Record]:
    return study.records() if isinstance(study, Study) else study


def findings_of(folder: Path, study: Study | list[Record], **options: Any) -> Findings:  # noqa: ANN401
    """Return the findings of a study, or of records, which are written to a folder first."""
    write(folder, _records(study))
    return analyze(open_results(str(folder)), **options)


def only_table(findings: Findings) -> TableFindings:
    (table,) = findings.tables
    return table


def case_of(findings: Findings, mapping: str) -> CaseFinding:
    """Return the one case with a mapping."""
    (case,) = (case for case in only_table(findings).cases if case.mapping == mapping)
    return case


def compared(findings: Findings, mapping: str = "pcores-pin") -> Comparison:
    """Return the comparison of a mapping's time."""
    return case_of(findings, mapping).comparisons["time"]


def decision(
    findings: Findings, objective: str = "time", governor: str = "performance"
) -> Decision:
    """Return the one decision of an objective under a governor."""
    (one,) = [
        found
        for found in only_table(findings).decisions
        if (found.objective, found.governor) == (objective, governor)
    ]
    return one


def lacking(findings: Findings, objective: str = "time") -> list[str]:
    """Return the codes of what a decision lacks."""
    return [caveat.code for caveat in decision(findings, objective).lacking]


def caveats(
    findings: Findings, mapping: str = "pcores-pin", objective: str = "time"
) -> dict[str, Mapping[str, Any]]:
    """Return the facts of a row's caveats by code."""
    table, case = only_table(findings), case_of(findings, mapping)
    configuration = [
        of for of in table.cases if of.summary.key.configuration == case.summary.key.configuration
    ]
    baseline = next((of for of in configuration if of.is_baseline), None)
    asked = next(name for name in table.objectives if name == objective)
    among = sum(asked in of.comparisons for of in configuration)
    found = caveats_of(case, baseline, asked, findings.margin, among)
    return {caveat.code: caveat.facts for caveat in found}


def words(findings: Findings, objective: str = "time") -> dict[str, str]:
    """Return the word of each mapping that was compared."""
    return {
        case.mapping: case.comparisons[objective].outcome
        for case in only_table(findings).cases
        if objective in case.comparisons
    }


TABLE = TableKey(1, "lu", "serial", "paper", None, 1, "static", "passive")


def summary(number: int = 1, n: int | None = 10, **facts: Any) -> Case:  # noqa: ANN401
    """Return the case of that row; `elapsed_s`, `migrations` and so on are Stats or means."""
    stats = dict.fromkeys(PLAIN, UNMEASURED) | facts.pop("stats", {})
    for name in set(facts) & set(stats):
        value = facts.pop(name)
        mean = math.nan if value is None else value
        stats[name] = value if isinstance(value, Stats) else Stats(n, mean)
    for name in set(facts) & set(BY_FIELD):
        by_kind = facts.pop(name).items()
        stats |= {BY_FIELD[name].column(kind): Stats(n, mean) for kind, mean in by_kind}
    happened = {name: facts.pop(name) for name in Circumstances.__match_args__ if name in facts}
    metrics = facts.pop("metrics", ())
    names = {"mapping": f"m{number}", "governor": "performance", "table": TABLE} | facts
    key = CaseKey(f"case{number}", number=number, **names)
    return Case(key, n, stats, metrics, circumstances=Circumstances(**happened))


def finding(number: int, **facts: Any) -> CaseFinding:  # noqa: ANN401
    """Return the finding of that row, which is the baseline if it is the first."""
    return CaseFinding(summary(number, **facts), is_baseline=number == 1)


@dataclass(frozen=True)
class Ranks:
    """A study whose program an MPI launcher started: a table for each number of ranks and threads.

    `rank_cpus` has the CPUs of each rank, by mapping and number of ranks.
    """

    study: Study
    tables: tuple[tuple[int, int], ...]
    rank_cpus: Mapping[tuple[str, int], list[str]]
    mpi: str = "openmpi"

    def records(self) -> list[Record]:
        return [
            run | self._fields(run, at, ranks, threads)
            for at, (ranks, threads) in enumerate(self.tables, 1)
            for run in self.study.records()
        ]

    def _fields(self, run: Record, table: int, ranks: int, threads: int) -> Record:
        cpus = self.rank_cpus[run["mapping"], ranks]
        return {
            "case_id": f"table{table}{run['case_id']}",
            "table_number": table,
            "ranks": ranks,
            "threads": threads,
            "mpi": self.mpi,
            # No study may say it of threads that are left alone.
            "ranks_by": None if run["mapping"] == "unpinned" else "order",
            "rank_cpus": cpus,
            "cpus": format_cpulist({cpu for rank in cpus for cpu in parse_cpulist(rank)}),
            "launcher_cpu_s": 0.25,
        }


# One rank of two threads, and two ranks of one: pinned each thread has a CPU of its own.
TWO_THREADS = Ranks(
    Study({"unpinned": 1.0, "pcores-pin": 0.9}),
    ((1, 2), (2, 1)),
    {
        ("unpinned", 1): ["0-3"],
        ("unpinned", 2): ["0-3", "0-3"],
        ("pcores-pin", 1): ["0-1"],
        ("pcores-pin", 2): ["0", "1"],
    },
)


def plain(lines: Iterable[Line]) -> str:
    """Return lines of a terminal as text without styles."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)
