"""A matrix of core-to-core latencies that another tool wrote becomes a latency file.

Form: core-to-core-latency 1.2.0, src/bench.rs (`--csv`): a row and a column a CPU, mean ns of one
way, no header. Cells of the diagonal are empty, and those above it where both directions are one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path

from pinstudy.analysis.records.files import read_text
from pinstudy.base.cpulist import format_cpulist, parse_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, safe_name, shown
from pinstudy.runners.node.topology import Core, CoreKind, Topology, topology_table
from pinstudy.runners.records.latency_file import (
    ALL,
    GIVEN,
    MAX_CPUS,
    LatencyFile,
    LeftOutPair,
    MeasuredPair,
    PingPong,
)

EXPECTED = "the CSV of `core-to-core-latency --csv`: ns, a row and a column a CPU, no header"
_NOT_TOLD = "a matrix does not tell it"
_EMPTY = "not in the imported matrix"
_NUMBER = re.compile(r"\d{1,10}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
# As the latency file has them.
_LEAST_NS, _MOST_NS = 1e-3, 1e9

# Cells of a matrix in ns; None where there is no number.
Matrix = Sequence[Sequence[float | None]]


def read_matrix(path: Path) -> Matrix:
    """Return the cells of a matrix in ns; those of the diagonal are None.

    Raises UserError, with file and line, for anything else.
    """
    where = one_line(str(path), None)
    lines = re.split(r"\r\n|\r|\n", read_text(path, EXPECTED).rstrip())
    table = [line.split(",") for line in lines]
    columns = len(table[0])
    if not 1 < columns <= MAX_CPUS:
        found = f"{columns} cells" if columns > 1 else shown(lines[0])
        raise UserError(f"{where}:1: has {found}; expected {EXPECTED}, 2 to {MAX_CPUS} CPUs")
    for number, row in enumerate(table, 1):
        if len(row) != columns:
            raise UserError(
                f"{where}:{number}: has {len(row)} cells, and line 1 {columns}; expected {EXPECTED}"
            )
    if len(table) != columns:
        several = len(table) % columns == 0
        hint = " (several matrices, by --bench? split it)" if several else ""
        raise UserError(
            f"{where}: has {len(table)} rows of {columns} cells{hint}; expected {EXPECTED}"
        )
    rows = [_row(f"{where}:{at + 1}", row, at) for at, row in enumerate(table)]
    if not any(ns for row in rows for ns in row):
        raise UserError(f"{where}: has no number; expected {EXPECTED}")
    return rows


def _row(where: str, cells: Sequence[str], number: int) -> list[float | None]:
    """Return the numbers of a row; raises UserError for a cell that is no latency."""
    row: list[float | None] = []
    for column, text in enumerate(map(str.strip, cells)):
        if text.lower() in ("", "nan"):
            row.append(None)
            continue
        ns = float(text) if _NUMBER.fullmatch(text) else 0.0
        itself = column == number and _NUMBER.fullmatch(text) and not ns
        if not itself and not (column != number and _LEAST_NS <= ns <= _MOST_NS):
            what = "a time of a CPU to itself" if column == number and ns else "no time in ns"
            raise UserError(
                f"{where}: cell {column + 1}, {shown(text)}, is {what}; expected {EXPECTED}"
            )
        row.append(ns or None)
    return row


def cpus_of_rows(path: Path, rows: int, cpus: str | None, topology: Topology | None) -> list[int]:
    """Return the CPUs of a matrix's rows: named by `cpus`, else all of a topology, else 0, 1, ...

    Raises UserError where they are not as many as the rows, or are not there.
    """
    try:
        named = parse_cpulist(cpus) if cpus is not None else ()
    except ValueError as error:
        raise UserError(f"--cpus: {error}") from None
    online = topology.online if topology else range(rows)
    found = list(named) or list(online)
    if len(found) != rows or not {*online}.issuperset(found if topology else ()):
        whose = "--cpus names" if cpus is not None else "the node has"
        there = f" of {format_cpulist(online)}" if topology else ""
        raise UserError(
            f"{one_line(str(path), None)}: has {rows} rows, and {whose} {format_cpulist(found)}; "
            f"name the CPU of each row by --cpus{there}"
        )
    return found


def bare_topology(cpus: Sequence[int], kinds: Sequence[CoreKind] = ()) -> Topology:
    """Return what is known of a node whose topology nobody tells: CPUs, and kinds if declared."""
    numbers = tuple(cpus)
    topology = Topology(tuple(kinds), (), (), (), numbers, (), numbers)
    cores = tuple(Core((cpu,), topology.kind_of(cpu) or "", 0) for cpu in numbers)
    return replace(topology, cores=cores)


def latency_file(
    path: Path,
    matrix: Matrix,
    cpus: Sequence[int],
    topology: Topology | None,
    kinds: Sequence[CoreKind],
) -> LatencyFile:
    """Return a matrix as a latency file: a run of one sample for each cell, from row to column.

    `topology` is None where nobody tells it, `kinds` are those declared then.
    """
    pairs, left_out = [], []
    for a, b in combinations(range(len(cpus)), 2):
        runs = tuple(
            PingPong(from_cpu=cpus[row], to_cpu=cpus[column], one_way_ns=[ns])
            for row, column in ((a, b), (b, a))
            if (ns := matrix[row][column]) is not None
        )
        pair = (cpus[a], cpus[b])
        if runs:
            pairs.append(MeasuredPair(pair, runs))
        else:
            left_out.append(LeftOutPair(pair, _EMPTY))
    return LatencyFile(
        schema=1,
        kind="latency",
        node_id=safe_name(path.stem),
        imported=path.name,
        plan=GIVEN if left_out else ALL,
        pairs_of_node=comb(len(cpus), 2),
        topology=topology_table(topology or bare_topology(cpus, kinds)),
        unavailable={"method": _NOT_TOLD} | ({} if topology else {"topology": _NOT_TOLD}),
        pairs=pairs,
        left_out=left_out,
    )
