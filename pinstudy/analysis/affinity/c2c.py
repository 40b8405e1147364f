"""Contended cache lines of a study's cases, from the files `c2c/` beside the records.

The files may come from anybody: one that differs from docs/threads-and-lines.md is passed over,
with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pinstudy.analysis.affinity.timed_cases import Section
from pinstudy.analysis.format.numbers import NOTHING, percent
from pinstudy.analysis.format.table import Column, Notes, Table
from pinstudy.analysis.records.files import read_limited
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.node_files import NodeCpus
from pinstudy.analysis.words import experiments as words
from pinstudy.base.decoding import decoded
from pinstudy.base.text import one_line, plural, shown
from pinstudy.configs.results_folder import C2C, C2C_UNAVAILABLE
from pinstudy.configs.settings import settings_in_words
from pinstudy.runners.records.c2c_file import KINDS, LINES, C2cFile, NoC2cFile, SharedLine

_File = TypeVar("_File")
# More files than a study has cases are not read.
MAX_FILES = 5000
_CASE_FILE = re.compile(r"([0-9a-f]{16})\.json")
# The cases of a group differ only in their mapping.
_CONFIGURATION = ("app", "build", "size", "schedule", "wait_policy", "governor")
# A table has no more lines of a case.
MAX_ROWS = 5
MAX_CPUS = 4
MAX_SYMBOLS = 5
# A share of fewer samples is off by more than 20 percentage points in one of 20 cases (normal
# approximation of a binomial's interval: 1.96 sqrt(0.25 / 24) = 0.2).
ENOUGH = 24
CAPTION = "cache lines that cores took from each other"
COLUMNS = (
    Column("mapping", right=False),
    Column("cache line", right=False),
    Column("HITM", "samples"),
    Column("of all HITM"),
    Column("local", "samples"),
    Column("remote", "samples"),
    Column("stores", "samples"),
    Column("CPUs: samples", right=False),
    Column("code", right=False),
)


@dataclass(frozen=True)
class CaseLines:
    """A case's execution under `perf c2c`; `why_not` says why there are no lines, else empty.

    `loads` and `hitm` are samples of all lines, `lines` those with most HITM, `left_out` how many
    there were beyond them. `unsampled` says which core kinds were not sampled, if any.
    """

    case_id: str
    configuration: tuple[str, ...]
    mapping: str
    why_not: str
    loads: int = 0
    hitm: int = 0
    lines: tuple[SharedLine, ...] = ()
    left_out: int = 0
    unsampled: str = ""

    @property
    def title(self) -> str:
        """The configuration that it shares with the cases of its group."""
        app, build, size, schedule, waits, governor, threads, asked = self.configuration
        loops = f"schedule {schedule}, " if schedule else ""
        return (
            f"{app} ({build}), size {size}, {threads}, {loops}wait policy {waits}, "
            f"governor {governor}{f', {asked}' if asked else ''}"
        )


@dataclass(frozen=True)
class LinesByCase:
    """The cases of a results folder, in the order in which they were made.

    `unavailable` is why the node has none; `passed_over` are files that were not understood.
    """

    cases: tuple[CaseLines, ...]
    unavailable: str = ""
    passed_over: tuple[str, ...] = ()

    def groups(self) -> list[list[CaseLines]]:
        """Return the cases that differ in their mapping only, together."""
        return grouped(self.cases, lambda case: case.configuration)


def read_c2c(folder: Path) -> LinesByCase | None:
    """Return the contended cache lines in a results folder; None when c2c was not collected."""
    paths = sorted((folder / C2C).glob("*.json"))[:MAX_FILES]
    if not paths:
        return None
    cases: list[tuple[str, CaseLines]] = []
    passed_over = []
    unavailable = ""
    for path in paths:
        try:
            if path.name == C2C_UNAVAILABLE:
                reasons = _decoded(path, NoC2cFile).unavailable
                unavailable = one_line(reasons.get(LINES, "no reason given"))
            else:
                file = _decoded(path, C2cFile)
                cases.append((file.started_at, _case(path, file)))
        except ValueError as error:
            passed_over.append(one_line(f"{C2C}/{path.name}: {error}"))
    cases.sort(key=lambda case: (case[0], case[1].case_id))
    return LinesByCase(tuple(case for _, case in cases), unavailable, tuple(passed_over))


def _decoded(path: Path, kind: type[_File]) -> _File:
    data = read_limited(path)
    if data is None:
        raise ValueError("cannot be read, is too large, or is a link")
    return decoded(data, kind)


def _case(path: Path, file: C2cFile) -> CaseLines:
    name = _CASE_FILE.fullmatch(path.name)
    if name is None or file.case_id != name[1]:
        raise ValueError(f"case_id: expected what the file is called, found {shown(file.case_id)}")
    case = file.case
    configuration = {key: one_line(str(getattr(case, key))) for key in _CONFIGURATION}
    if case.no_schedule:
        configuration["schedule"] = ""
    return CaseLines(
        case_id=file.case_id,
        configuration=(
            *configuration.values(),
            case.team_in_words,
            one_line(settings_in_words(case.settings)),
        ),
        mapping=one_line(str(case.mapping)),
        why_not=one_line(file.unavailable.get(LINES, "")),
        loads=file.sampled.loads if file.sampled else 0,
        hitm=file.sampled.hitm if file.sampled else 0,
        lines=tuple(file.lines),
        left_out=file.lines_left_out,
        unsampled=one_line(file.unavailable.get(KINDS, "")),
    )


def lines_section(cases: Sequence[CaseLines], node: NodeCpus) -> Section:
    """Return the section on the lines of cases that differ only in their mapping."""
    return Section(cases[0].title, _table(cases, node))


def _named(cpu: int, node: NodeCpus) -> str:
    """Return a CPU with its kind, where there are several kinds."""
    kind = node.kind.get(cpu)
    return f"{cpu} ({kind})" if kind and len(node.order) > 1 else str(cpu)


def _table(cases: Sequence[CaseLines], node: NodeCpus) -> Table:
    notes = Notes()
    cells = tuple(row for case in cases for row in _rows(case, node, notes))
    hot = [(case.mapping, line) for case in cases for line in case.lines]
    mapping, line = max(hot, key=lambda pair: pair[1].hitm, default=("", None))
    most = [_hottest(mapping, line)] if line else []
    of_all = [("", note) for note in (*most, *words.CACHE_LINES)]
    return Table(CAPTION, COLUMNS, cells, (*of_all, *notes.listed()))


def _hottest(mapping: str, line: SharedLine) -> str:
    samples = plural(line.hitm, "HITM sample")
    return words.MOST_CONTENDED.format(mapping=mapping, line=line.address, samples=samples)


def _rows(case: CaseLines, node: NodeCpus, notes: Notes) -> Iterator[tuple[str, ...]]:
    few = "so few samples tell little of shares" if 0 < case.hitm < ENOUGH else ""
    mark = "".join(f" ({notes.marker(note)})" for note in (case.unsampled, few) if note)
    name = f"{case.mapping}{mark}"
    empty = (NOTHING,) * (len(COLUMNS) - 3)
    if case.why_not:
        yield name, f"n/a ({notes.marker(case.why_not)})", NOTHING, *empty
        return
    if not case.lines:
        loads = notes.marker(f"of {plural(case.loads, 'sampled load')}")
        yield name, NOTHING, f"0 ({loads})", *empty
        return
    shown = case.lines[:MAX_ROWS]
    more = len(case.lines) + case.left_out - len(shown)
    beyond = f"{plural(more, 'more line')}, none with more HITM"
    for line in shown:
        mark = f" ({notes.marker(beyond)})" if more and line is shown[-1] else ""
        yield (
            name,
            f"{line.address}{mark}",
            str(line.hitm),
            percent(line.hitm / case.hitm),
            str(line.local_hitm),
            str(line.remote_hitm),
            str(line.stores),
            _counted(line, node),
            "; ".join(map(one_line, line.symbols[:MAX_SYMBOLS])) or NOTHING,
        )


def _counted(line: SharedLine, node: NodeCpus) -> str:
    """Return the CPUs with most samples, and how many others there are."""
    busiest = sorted(line.cpus.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{_named(cpu, node)}: {samples}" for cpu, samples in busiest[: 2 * MAX_CPUS])
    more = len(busiest) - 2 * MAX_CPUS
    return f"{shown} and {plural(more, 'other')}" if more > 0 else shown
