"""Latencies as tables, as data and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from pinstudy.analysis.format.numbers import NOTHING, fixed
from pinstudy.analysis.format.table import Column, Table, Written, table_of
from pinstudy.analysis.latency.findings import (
    Group,
    LatencyFindings,
    Partner,
    Partners,
    Range,
    Team,
)
from pinstudy.analysis.latency.reading import Latency
from pinstudy.analysis.words import experiments as words
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.text import first_of, one_line, plural

# More rows are for programs, or for the heat map.
MAX_ROWS = 64
_MAX_REASONS = 3
_MAX_DISTURBED = 3


def latency_tables(findings: LatencyFindings) -> tuple[Table, ...]:
    """Return the table of the kernel's groups, and that of each CPU's nearest partner."""
    groups, partners = findings.groups, findings.partners
    return (
        table_of(
            "One way between two CPUs, by the kernel's groups",
            _GROUPS,
            groups[:MAX_ROWS],
            [*_notes(findings), *_rest(len(groups))],
        ),
        table_of(
            "The nearest partner of each CPU, on another core",
            _PARTNERS,
            partners[:MAX_ROWS],
            [words.AS_NEAR, *_rest(len(partners))],
        ),
    )


def mappings(findings: LatencyFindings) -> tuple[tuple[str, str], ...]:
    """Return what each team is, and the environment that pins it so."""
    return tuple((_title(team), team.environment) for team in findings.teams)


def findings_data(findings: LatencyFindings) -> dict[str, Any]:
    """Return the findings by names, unrounded; times in ns, CPUs of groups as lists (`0-3,8`)."""
    latency = findings.latency
    return {
        "node_id": latency.node_id,
        "started_at": latency.started_at,
        "method": latency.method,
        "plan": latency.plan,
        "pairs_of_node": latency.pairs_of_node,
        "addresses": latency.addresses,
        "samples": len(latency.one_way_ns),
        "switched": _switched(latency),
        "pairs": latency.pairs.sort_values(["median_ns", "a", "b"]).to_dict("records"),
        "left_out": [{"cpus": list(pair.cpus), "reason": pair.reason} for pair in latency.left_out],
        "disturbed": [[a, b] for a, b, _ in latency.disturbed],
        "groups": [
            asdict(group.kernel)
            | {
                "cpus": format_cpulist(group.kernel.cpus),
                "pairs": group.pairs,
                "range": asdict(group.range) if group.range else None,
            }
            for group in findings.groups
        ],
        "partners": [asdict(partners) for partners in findings.partners],
        "mappings": [asdict(team) | {"environment": team.environment} for team in findings.teams],
    }


def pairs_csv(latency: Latency) -> str:
    """Return each pair's numbers as CSV: both directions together, then each."""
    both = latency.pairs.rename(columns={"a": "from_cpu", "b": "to_cpu"})
    frame = pd.concat(
        [both.assign(directions="both"), latency.directed.assign(directions="one")],
        ignore_index=True,
    )
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _notes(findings: LatencyFindings) -> Iterator[str]:
    latency = findings.latency
    yield words.one_way(
        latency.nearest, latency.farthest, float(latency.pairs["median_ns"].median())
    )
    yield words.MEASURED.format(
        pairs=len(latency.pairs),
        possible=plural(latency.pairs_of_node, "pair"),
        method=words.METHODS[latency.method],
        lines=plural(latency.addresses, "line"),
        samples=plural(len(latency.one_way_ns), "sample"),
    )
    yield words.OF_NO_SMALLER_GROUP
    if switched := _switched(latency):
        yield from (text.format(times=plural(switched, "time")) for text in words.SWITCHED_OUT)
    if latency.left_out:
        count = plural(len(latency.left_out), "pair")
        reasons = list(dict.fromkeys(one_line(pair.reason) for pair in latency.left_out))
        yield words.LEFT_OUT.format(count=count, why=first_of(reasons, _MAX_REASONS))
    if latency.disturbed:
        pairs = [f"{a}, {b} ({words.ns(ns)})" for a, b, ns in latency.disturbed]
        yield words.DISTURBED.format(pairs=first_of(pairs, _MAX_DISTURBED))
    if not findings.teams:
        yield words.ONE_CORE
    elif latency.topology.hybrid:
        kinds = ", ".join(kind.name for kind in latency.topology.kinds)
        yield words.KINDS_DIFFER.format(kinds=one_line(kinds))


def _switched(latency: Latency) -> int:
    """Return how often threads were switched out while they measured."""
    return int(np.nansum(latency.runs["switched"].to_numpy(dtype=float)))


def _title(team: Team) -> str:
    """Return what a team is: `4 threads, L2 (E), nearest of 4: 28.0 ns (27.5 to 28.9)`."""
    parts = [plural(len(team.cpus), "thread"), f"{one_line(team.names[0])} ({_names(team.kinds)})"]
    if team.among > 1:
        parts.append(f"nearest of {team.among}")
    ends = f" ({_ends(team.range)})" if team.range.measured > 1 else ""
    return f"{', '.join(parts)}: {_median(team.range)} ns{ends}"


def _rest(rows: int) -> list[str]:
    if rows <= MAX_ROWS:
        return []
    return [words.REST_IN.format(shown=MAX_ROWS, rows=rows, where="--json")]


def _names(names: tuple[str, ...]) -> str:
    return one_line(", ".join(names)) or NOTHING


def _median(found: Range | None) -> str:
    return fixed(found.median_ns, 1) if found else NOTHING


def _ends(found: Range | None) -> str:
    return f"{fixed(found.least_ns, 1)} to {fixed(found.most_ns, 1)}" if found else NOTHING


def _partner(partner: Partner) -> str:
    return f"{partner.cpu} ({fixed(partner.ns, 1)})"


_GROUPS: tuple[Written[Group], ...] = (
    (Column("group", right=False), lambda group: _names(group.kernel.names)),
    (Column("kinds", right=False), lambda group: _names(group.kernel.kinds)),
    (Column("CPUs", right=False), lambda group: format_cpulist(group.kernel.cpus)),
    (
        Column("pairs"),
        lambda group: f"{group.range.measured if group.range else 0} of {group.pairs}",
    ),
    (Column("median", "ns"), lambda group: _median(group.range)),
    (Column("range", "ns"), lambda group: _ends(group.range)),
)
_PARTNERS: tuple[Written[Partners], ...] = (
    (Column("CPU"), lambda row: str(row.cpu)),
    (Column("kind", right=False), lambda row: one_line(row.kind) or NOTHING),
    (
        Column("sibling", "ns", right=False),
        lambda row: ", ".join(map(_partner, row.siblings)) or NOTHING,
    ),
    (
        Column("nearest", "ns", right=False),
        lambda row: _partner(row.nearest) if row.nearest else "not measured",
    ),
    (Column("as near", right=False), lambda row: format_cpulist(row.as_near) or NOTHING),
)
