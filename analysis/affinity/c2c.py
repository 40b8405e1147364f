"""Contended cache lines of a study's cases, from the files `c2c/` beside the records.

The files may come from anybody: one that differs from docs/threads-and-lines.md is passed over,
with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.affinity.section import Section
from analysis.format.numbers import NOTHING, percent
from analysis.format.table import Column, Notes, Table
from analysis.records.files import Checked, read_json
from analysis.results.case_summary import grouped
from analysis.results.node_files import NodeCpus
from analysis.verdict.phrases import listed
from base.cpulist import MAX_CPU
from base.errors import UserError
from base.text import one_line, plural, team_in_words
from configs.results_folder import C2C

UNAVAILABLE = "unavailable.json"
SCHEMA = 1
# More files than a study has cases are not read.
MAX_FILES = 5000
MAX_LINES = 50
_MOST = 2**53
_CASE_FILE = re.compile(r"([0-9a-f]{16})\.json")
_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}")
_COUNTS = ("hitm", "local_hitm", "remote_hitm", "stores")
# The cases of a group differ only in their mapping.
_SETTING = ("app", "variant", "size", "schedule", "wait_policy", "governor")
# A table has no more lines of a case.
MAX_ROWS = 5
MAX_CPUS = 4
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
_NOTE = (
    "one execution of each case under perf c2c, which is none of its runs; HITM: a load that found "
    "its line modified in another core's cache, in the same NUMA node (local) or another (remote)"
)


@dataclass(frozen=True)
class SharedLine:
    """A cache line: samples of it by what they are, `cpus` by the CPU, all loads and stores.

    `symbols` is the code that was at it most often.
    """

    address: str
    hitm: int
    local: int
    remote: int
    stores: int
    cpus: Mapping[int, int]
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class CaseLines:
    """A case's execution under `perf c2c`; `why_not` says why there are no lines, else empty.

    `loads` and `hitm` are samples of all lines, `lines` those with most HITM, `left_out` how many
    there were beyond them. `unsampled` says which core kinds were not sampled, if any.
    """

    case_id: str
    setting: tuple[str, ...]
    mapping: str
    why_not: str
    loads: int = 0
    hitm: int = 0
    lines: tuple[SharedLine, ...] = ()
    left_out: int = 0
    unsampled: str = ""

    @property
    def title(self) -> str:
        """The setting that it shares with the cases of its group."""
        app, variant, size, schedule, waits, governor, threads = self.setting
        loops = f"schedule {schedule}, " if schedule else ""
        return (
            f"{app} ({variant}), size {size}, {threads}, {loops}wait policy {waits}, "
            f"governor {governor}"
        )


@dataclass(frozen=True)
class ContendedLines:
    """The cases of a results folder, in the order in which they were made.

    `unavailable` is why the node has none; `passed_over` are files that were not understood.
    """

    cases: tuple[CaseLines, ...]
    unavailable: str = ""
    passed_over: tuple[str, ...] = ()

    def groups(self) -> list[list[CaseLines]]:
        """Return the cases that differ in their mapping only, together."""
        return grouped(self.cases, lambda case: case.setting)


def read_c2c(folder: Path) -> ContendedLines | None:
    """Return the contended cache lines in a results folder; None when c2c was not collected."""
    paths = sorted((folder / C2C).glob("*.json"))[:MAX_FILES]
    if not paths:
        return None
    cases: list[tuple[str, CaseLines]] = []
    passed_over = []
    unavailable = ""
    for path in paths:
        try:
            file = _opened(path)
            if path.name == UNAVAILABLE:
                unavailable = _reasons(file).get("lines", "no reason given")
            else:
                cases.append((file.text("started_at"), _case(path, file)))
        except UserError as error:
            passed_over.append(one_line(str(error)))
    cases.sort(key=lambda case: (case[0], case[1].case_id))
    return ContendedLines(tuple(case for _, case in cases), unavailable, tuple(passed_over))


def _opened(path: Path) -> Checked:
    name, fields = f"{C2C}/{path.name}", read_json(path)
    if not isinstance(fields, dict):
        raise UserError(f"{name}: not understood: no table of fields")
    file = Checked(name, fields)
    file.check_schema(SCHEMA)
    return file


def _case(path: Path, file: Checked) -> CaseLines:
    name = _CASE_FILE.fullmatch(path.name)
    case_id = name[1] if name else ""
    file.valid("case_id", lambda value: value == case_id != "", "what the file is called")
    case = file.table("case")
    keys = {key: _text(case, key) for key in _SETTING}
    if case.values.get("no_schedule") is True:
        keys["schedule"] = ""
    setting = (*keys.values(), _threads(case))
    reasons, mapping = _reasons(file), _text(case, "mapping")
    if "lines" in reasons:
        return CaseLines(case_id, setting, mapping, reasons["lines"])
    sampled = file.table("sampled")
    counts = {key: _count(sampled, key) for key in ("samples", "loads", *_COUNTS)}
    lines, left_out = _lines(file), _count(file, "lines_left_out")
    in_lines = sum(line.hitm for line in lines)
    if not counts["hitm"] == counts["local_hitm"] + counts["remote_hitm"] <= counts["loads"]:
        raise sampled.wrong("hitm", "local and remote HITM, but they do not add up")
    if in_lines + left_out > counts["hitm"] or (in_lines < counts["hitm"] and not left_out):
        raise sampled.wrong("hitm", "that of the lines, but it does not add up")
    unsampled = reasons.get("kinds", "")
    return CaseLines(
        case_id, setting, mapping, "", counts["loads"], counts["hitm"], lines, left_out, unsampled
    )


def _lines(file: Checked) -> tuple[SharedLine, ...]:
    lines = tuple(map(_line, file.tables("lines", MAX_LINES)))
    if [line.hitm for line in lines] != sorted((line.hitm for line in lines), reverse=True):
        raise file.wrong("lines", "the lines in the order of their HITM")
    if len({line.address for line in lines}) != len(lines):
        raise file.wrong("lines", "no line twice")
    return lines


def _line(line: Checked) -> SharedLine:
    address = line.text("address")
    if not _ADDRESS.fullmatch(address):
        raise line.wrong("address", "a hexadecimal number")
    symbols = line.values.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(name, str) for name in symbols):
        raise line.wrong("symbols", "a list of texts")
    hitm, local, remote, stores = (_count(line, key) for key in _COUNTS)
    cpus = _cpus(line.table("cpus"))
    if not 0 < hitm == local + remote or sum(cpus.values()) < hitm + stores:
        raise line.wrong("hitm", "its samples, but they do not add up")
    shown = tuple(one_line(name) for name in symbols[:5])
    return SharedLine(address, hitm, local, remote, stores, cpus, shown)


def _cpus(table: Checked) -> dict[int, int]:
    cpus = {}
    for key in table.values:
        if not re.fullmatch(r"[0-9]{1,5}", key) or int(key) > MAX_CPU:
            raise table.wrong(one_line(key), f"a CPU; {one_line(key)!r} is no CPU")
        cpus[int(key)] = _count(table, key)
    return dict(sorted(cpus.items()))


def _count(table: Checked, key: str) -> int:
    return table.whole(key, 0, _MOST)


def _text(case: Checked, key: str) -> str:
    value = case.valid(key, lambda value: type(value) in (str, int), "a word")
    return one_line(str(value))


def _threads(case: Checked) -> str:
    known = case.values.get("ranks") is not None
    ranks = case.whole("ranks", 1, _MOST) if known else None
    return team_in_words(ranks, case.whole("threads", 1, _MOST))


def _reasons(file: Checked) -> dict[str, str]:
    reasons = file.table("unavailable")
    return {key: one_line(reasons.text(key)) for key in reasons.values}


def lines_section(cases: Sequence[CaseLines], node: NodeCpus) -> Section:
    """Return the section on the lines of cases that differ only in their mapping."""
    return Section(cases[0].title, table=_table(cases, node))


def _named(cpu: int, node: NodeCpus) -> str:
    """Return a CPU with its kind, where there are several kinds."""
    kind = node.kind.get(cpu)
    return f"{cpu} ({kind})" if kind and len(node.order) > 1 else str(cpu)


def _table(cases: Sequence[CaseLines], node: NodeCpus) -> Table:
    notes = Notes()
    cells = tuple(row for case in cases for row in _rows(case, node, notes))
    return Table(CAPTION, COLUMNS, cells, (*notes.listed(), ("", _NOTE)))


def _rows(case: CaseLines, node: NodeCpus, notes: Notes) -> Iterator[tuple[str, ...]]:
    few = "so few samples tell little of shares" if 0 < case.hitm < ENOUGH else ""
    mark = "".join(f" ({notes.marker(note)})" for note in (case.unsampled, few) if note)
    name = f"{case.mapping}{mark}"
    empty = (NOTHING,) * (len(COLUMNS) - 3)
    if case.why_not:
        yield name, f"n/a ({notes.marker(case.why_not)})", NOTHING, *empty
        return
    if not case.lines:
        of = notes.marker(f"of {plural(case.loads, 'sampled load')}")
        yield name, NOTHING, f"0 ({of})", *empty
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
            str(line.local),
            str(line.remote),
            str(line.stores),
            _counted(line, node),
            listed(line.symbols) if line.symbols else NOTHING,
        )


def _counted(line: SharedLine, node: NodeCpus) -> str:
    """Return the CPUs with most samples, and how many others there are."""
    busiest = sorted(line.cpus.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{_named(cpu, node)}: {samples}" for cpu, samples in busiest[: 2 * MAX_CPUS])
    more = len(busiest) - 2 * MAX_CPUS
    return f"{shown} and {plural(more, 'other')}" if more > 0 else shown
