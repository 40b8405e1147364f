"""What the records of one results folder say of its making, for metadata and appendix: as data."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from pinstudy.analysis.answer import Answer
from pinstudy.analysis.records.files import is_digest
from pinstudy.analysis.records.frame import unix_seconds
from pinstudy.analysis.report.exclusions import places_of
from pinstudy.analysis.report.reproduction import Reproduction, reproduction
from pinstudy.analysis.results.node_files import node_sheets
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.words.verdict import decision_lines
from pinstudy.base import VERSION
from pinstudy.base.text import one_line
from pinstudy.configs.results_folder import ENVIRONMENTS, NODES, PROGRAMS, STUDY_FILE
from pinstudy.runners.records.line import InvalidLine
from pinstudy.runners.records.reader import read_lines, shards_of
from pinstudy.runners.records.status import IDLE, SKIPPED

Row = tuple[str, str]
# By the field of a record, the folder of the files that it names.
_FACTS = {
    "node_digest": NODES,
    "program_digest": PROGRAMS,
    "co_runner_program_digest": PROGRAMS,
    "environment_digest": ENVIRONMENTS,
}


@dataclass(frozen=True)
class Attempt:
    """The runs of one shard; paths are below the results folder.

    `begin` and `end` are in UTC, ISO 8601, empty where no record has a time: the first run's start
    and the last one's end. `facts` are the files that its records name, `versions` those of the
    pinstudy that wrote them. `runs` were started, and took `elapsed_s` seconds together.
    """

    shard: str
    begin: str
    end: str
    runs: int
    elapsed_s: float
    versions: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class StudyFacts:
    """A results folder of the artifact: what was run, where, by what, and what followed.

    `path` is its own in the artifact. `tables` are the titles of programs, `versions` what took
    part, `commands` what measures again, typed in the artifact; both are empty for results from
    elsewhere. `decisions` are the verdict's first lines. `days` are the first and the last, in UTC,
    empty if unknown.
    """

    path: str
    study: str
    title: str
    days: tuple[str, ...]
    nodes: tuple[tuple[str, tuple[Row, ...]], ...]
    tables: tuple[str, ...]
    versions: tuple[Row, ...]
    commands: tuple[str, ...]
    decisions: tuple[str, ...]
    attempts: tuple[Attempt, ...]


def study_facts(path: str, results: Results, answer: Answer) -> StudyFacts:
    """Return the facts of opened results, whose folder is `path` in the artifact.

    Raises UserError when a shard cannot be read.
    """
    sheets = node_sheets(results)
    again = reproduction(results, places_of(answer), sheets)
    studies = {case.key.study for case in results.cases if case.key.study}
    return StudyFacts(
        path,
        one_line(", ".join(sorted(studies))) or "study",
        results.title or "",
        tuple(dict.fromkeys(results.days or ())),
        tuple((sheet.name, sheet.summary) for sheet in sheets),
        tuple(one_line(table.title) for table in answer.tables),
        tuple((row[0], one_line(row[1])) for row in again.parts.versions.cells) if again else (),
        _commands(path, again) if again and again.study is not None else (),
        tuple(map(one_line, decision_lines(answer))),
        tuple(_attempts(results.folder)) if results.folder else (),
    )


def _commands(path: str, again: Reproduction) -> tuple[str, ...]:
    folder = "-".join(["again", *path.split("/")[1:]])
    file = f"{again.study_name}.yaml"
    return (
        f"cp -R {path} {folder} && mv {folder}/{STUDY_FILE} {folder}/{file}",
        f"(cd {folder} && {again.commands[0].removeprefix('bin/')})",
    )


def _attempts(folder: Path) -> Iterator[Attempt]:
    for shard in shards_of(folder / "records"):
        records = [line for line in read_lines(shard) if not isinstance(line, InvalidLine)]
        if records:
            yield _attempt(folder, shard, records)


def _attempt(folder: Path, shard: Path, records: list[dict[str, Any]]) -> Attempt:
    started = [it for it in records if it.get("status") not in (IDLE, SKIPPED)]
    spans = [(unix_seconds(it.get("started_at")), it.get("elapsed_s") or 0.0) for it in started]
    known = [(begin, begin + elapsed_s) for begin, elapsed_s in spans if math.isfinite(begin)]
    paths = dict.fromkeys(
        f"{below}/{record[name]}.json"
        for record in records
        for name, below in _FACTS.items()
        if is_digest(str(record.get(name) or ""))
    )
    versions = (str((it.get("versions") or {}).get("pinstudy", "")) for it in started)
    return Attempt(
        f"records/{shard.name}",
        _utc(min(begin for begin, _ in known)) if known else "",
        _utc(max(end for _, end in known)) if known else "",
        len(started),
        sum(elapsed_s for _, elapsed_s in spans),
        tuple(sorted(set(filter(None, map(one_line, versions))))),
        tuple(path for path in paths if (folder / path).is_file()),
    )


def _utc(unix_s: float) -> str:
    try:
        return datetime.fromtimestamp(unix_s, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def software() -> tuple[Row, ...]:
    """Return the programs and libraries that make tables and verdicts here, with versions."""
    return (
        ("pinstudy", VERSION),
        ("Python", platform.python_version()),
        ("numpy", np.__version__),
        ("pandas", pd.__version__),
        ("scipy", scipy.__version__),
    )
