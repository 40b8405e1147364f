"""Runs that another tool measured become the records of a results folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.analysis.imports.identity import FIELDS, LoggedCase, Numbers
from pinstudy.analysis.results.summaries import FILE
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Reading
from pinstudy.base.text import one_line, shown
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.record import SCHEMA
from pinstudy.runners.records.shard import Shard
from pinstudy.runners.records.status import FAILED, OK

STUDY = "imported"
NOT_OBSERVED = "imported; nobody looked"
# By how much a run and the measurement of its energy, one started in the other, may differ in time:
# the start of a perf takes some hundredths of a second, more on a large node.
_APART_S = 1.0
_APART_SHARE = 0.1


@dataclass(frozen=True)
class Imported:
    """What was imported: runs, averages, and the cases they are of. A log of energy is no run."""

    runs: int
    averages: int
    cases: int


@dataclass(frozen=True)
class ImportedRun:
    """A run: where it stands, for messages, its case, what was measured, why it failed, if it did.

    `source` is what its record says of where it is from. `missing` is why settings are not known.
    `logs` are the digests of what was read, the run's own first, with the names of their files.
    """

    where: str
    identity: LoggedCase
    measured: Reading
    failure: str
    source: Mapping[str, Any]
    missing: str
    logs: tuple[tuple[str, str], ...]


def node_name(options: Mapping[str, str | int | None]) -> str:
    """Return the node's name, which becomes part of a file's; raises UserError for none."""
    name = str(options.get("node") or "imported")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,63}", name, re.ASCII):
        raise UserError(f"--node {shown(name)} is no name of a node; expected one such as node1")
    return name


def lasted_alike(energy_s: float, run_s: float) -> bool:
    """Return whether an energy that was measured for so long may be that of a run."""
    return abs(energy_s - run_s) <= max(_APART_S, _APART_SHARE * max(energy_s, run_s))


def write_runs(into: Path, runs: Sequence[ImportedRun], node_id: str) -> None:
    """Add runs of a node to a results folder.

    Raises UserError when the folder holds other things, or a run is there already.
    """
    folder = into / "records"
    if (into / FILE).exists():
        raise UserError(f"{into}: holds means ({FILE}); import single runs into another folder")
    history = _History(folder, node_id)
    history.numbers.number([run.identity for run in runs])
    records = [_record(history, run, node_id) for run in runs]
    with closing(Shard(folder, node_id, option="--output")) as shard:
        for order, record in enumerate(records):
            record |= {"attempt": shard.attempt, "order": None}
            record["run_id"] = f"{record['case_id']}-{shard.attempt}-{order}"
            shard.append(record)


class _History:
    """A folder's earlier imports: numbers of cases, repetitions, and digests of logs."""

    def __init__(self, folder: Path, node_id: str) -> None:
        """`node_id` is the node of what comes in: a folder has the runs of one."""
        self.numbers = Numbers()
        self._repetitions: dict[str, set[int]] = {}
        self._logs: dict[str, str] = {}
        for record in read_records(folder):
            imported = record.get("imported")
            fields: dict[str, Any] = {name: record.get(name) for name in FIELDS}
            is_case = all(isinstance(value, (str, int)) for value in fields.values())
            if not isinstance(imported, dict) or not is_case:
                raise UserError(
                    f"{folder}: holds runs that pinstudy made; import into a folder of its own"
                )
            if record.get("node_id") != node_id:
                raise UserError(
                    f"{folder}: holds runs of node {shown(record.get('node_id'))}; import those of "
                    f"{shown(node_id)} into a folder of their own"
                )
            self._remember(LoggedCase(fields), record, imported)

    def _remember(
        self, case: LoggedCase, record: Mapping[str, Any], imported: Mapping[str, Any]
    ) -> None:
        table, row = record.get("table_number"), record.get("case_number")
        if isinstance(table, int) and isinstance(row, int):
            self.numbers.keep(case, table, row)
        if isinstance(record.get("repetition"), int):
            self._repetitions.setdefault(case.case_id, set()).add(record["repetition"])
        for kind in ("", "energy_"):
            digest = imported.get(f"{kind}digest")
            if isinstance(digest, str):
                self._logs[digest] = one_line(str(imported.get(f"{kind}file")), None)

    def add_log(self, run: ImportedRun, digest: str, name: str) -> None:
        """Remember a log of a run; raises UserError when the same one was imported before."""
        if digest in self._logs:
            raise UserError(
                f"{run.where}: the same log as {self._logs[digest]}, which is imported; "
                "a run counts once"
            )
        self._logs[digest] = one_line(name, None)

    def repetition(self, run: ImportedRun) -> int:
        """Return the number of a run within its case: that in its file's name, or the next."""
        taken = self._repetitions.setdefault(run.identity.case_id, set())
        in_name = run.identity.repetition
        if in_name is not None and in_name in taken:
            raise UserError(
                f"{run.where}: repetition {in_name} of this case is there already; expected "
                "another {repetition} for each run"
            )
        number = in_name or max(taken, default=0) + 1
        taken.add(number)
        return number


def _record(history: _History, run: ImportedRun, node_id: str) -> dict[str, Any]:
    own, *others = run.logs
    history.add_log(run, *own)
    repetition = history.repetition(run)
    for log in others:
        history.add_log(run, *log)
    table, number = history.numbers.of(run.identity)
    return {
        "schema": SCHEMA,
        "study": STUDY,
        "case_id": run.identity.case_id,
        "table_number": table,
        "case_number": number,
        "repetition": repetition,
        "warmup": False,
        "node_id": node_id,
        "kinds_declared": False,
        "imported": dict(run.source),
        **run.identity.fields,
        **run.identity.meaning,
        "status": FAILED if run.failure else OK,
        "reason": run.failure,
        "placement": {"verdict": "unproved", "looks": 0, "threads": []},
        **run.measured.fields,
        "unavailable": {
            "placement": NOT_OBSERVED,
            "driver": run.missing,
            "governor_read": run.missing,
            **run.measured.unavailable,
        },
    }
