"""What the records of one results folder say of its making, for metadata and appendix: as data."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

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
    part, `commands` what measures again, typed in the artifact, or a search where its program is;
    both are empty for results from elsewhere. `decisions` are the verdict's first lines. `days` are
    the first and the last, in UTC, empty if unknown.
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
    folder = results.folder or Path(path)
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
        _commands(path, again) if again else (),
        tuple(map(one_line, decision_lines(answer))),
        tuple(_attempt(folder, shard) for shard in shards_of(folder / "records")),
    )


def _commands(path: str, again: Reproduction) -> tuple[str, ...]:
    if again.raced:
        return tuple(again.commands)
    if again.study is None:
        return ()
    folder = "-".join(["again", *path.split("/")[1:]])
    file = f"{again.study_name}.yaml"
    return (
        f"cp -R {path} {folder} && mv {folder}/{STUDY_FILE} {folder}/{file}",
        f"(cd {folder} && {again.commands[0].removeprefix('bin/')})",
    )


def _attempt(folder: Path, shard: Path) -> Attempt:
    begins, ends = [], []
    runs, elapsed_s = 0, 0.0
    versions: set[str] = set()
    facts: dict[str, None] = {}
    for record in read_lines(shard):
        if isinstance(record, InvalidLine):
            continue
        digests = ((below, record.get(name) or "") for name, below in _FACTS.items())
        facts |= {f"{below}/{digest}.json": None for below, digest in digests if is_digest(digest)}
        if record.get("status") in (IDLE, SKIPPED):
            continue
        runs += 1
        took_s = record.get("elapsed_s") or 0.0
        elapsed_s += took_s
        versions.add(one_line((record.get("versions") or {}).get("pinstudy", "")))
        begin = unix_seconds(record.get("started_at"))
        if math.isfinite(begin):
            begins.append(begin)
            ends.append(begin + took_s)
    return Attempt(
        f"records/{shard.name}",
        _utc(min(begins)) if begins else "",
        _utc(max(ends)) if ends else "",
        runs,
        elapsed_s,
        tuple(sorted(versions - {""})),
        tuple(path for path in facts if (folder / path).is_file()),
    )


def _utc(unix_s: float) -> str:
    try:
        return datetime.fromtimestamp(unix_s, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return ""


def titles(studies: Iterable[StudyFacts]) -> str:
    """Return the title of an artifact that has these studies."""
    names = dict.fromkeys(study.title or study.study for study in studies)
    return f"Results of pinstudy: {', '.join(names)}"


def software() -> tuple[Row, ...]:
    """Return the programs and libraries that make tables and verdicts here, with versions."""
    return (
        ("pinstudy", VERSION),
        ("Python", platform.python_version()),
        ("numpy", np.__version__),
        ("pandas", pd.__version__),
        ("scipy", scipy.__version__),
    )
