"""Findings on a node's latencies as data and tables, for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from analysis.format.numbers import NOTHING, finite, fixed, percent, signed_percents, three_digits
from analysis.format.table import Column, Table, Written, table_of
from analysis.latency.agreement import Group, compare
from analysis.latency.clusters import Clusters, enough, find_clusters
from analysis.latency.model import Latency
from analysis.latency.partners import (
    MAX_TIED,
    Nearness,
    Partner,
    Partners,
    Team,
    find_nearness,
    find_partners,
    find_teams,
)
from analysis.published.affinity import published_rates
from analysis.results.case import grouped
from analysis.statistics.sample import Interval
from analysis.words import experiments as words
from base.cpulist import format_cpulist
from base.text import first_of, one_line, plural

# More rows are for programs, or for the heat map.
MAX_ROWS = 64
MAX_PAIRS = 16
_MAX_GROUPS = 8
_MAX_REASONS = 3
_MAX_DISTURBED = 3
# Medians that scatter by less are alike for whoever places threads.
_ALIKE = 0.1
_PER_MILLION = 1e6

Structure = Literal[
    "one pair", "too few pairs", "alike", "no group", "unnamed", "agrees", "differs"
]


@dataclass(frozen=True)
class LatencyFindings:
    """The findings as data, tables and mappings."""

    latency: Latency
    clusters: Clusters
    groups: list[Group]
    nearness: list[Nearness]
    partners: list[Partners]
    teams: list[Team]

    @cached_property
    def pairs(self) -> list[dict[Hashable, Any]]:
        """The rows of `Latency.pairs`, nearest first."""
        return self.latency.pairs.sort_values(["median_ns", "a", "b"]).to_dict("records")

    @property
    def switched(self) -> int:
        """How often threads were switched out while they measured."""
        return int(np.nansum(self.latency.runs["switched"].to_numpy(dtype=float)))

    @property
    def structure(self) -> Structure:
        """Whether the pairs show clusters, and whether these are the kernel's groups."""
        if len(self.latency.cpus) < 3:
            return "one pair"
        if not enough(self.latency.both_ways):
            return "too few pairs"
        if not self.clusters.found:
            return "alike" if self.clusters.scatter <= _ALIKE else "no group"
        named = [group for group in self.groups if group.is_named]
        if not named:
            return "unnamed"
        return "agrees" if all(group.outcome == "found" for group in named) else "differs"

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Pairs, nearness, groups, partners and orders; without groups, or orders, no table."""
        return tuple(_tables(self))

    @property
    def mappings(self) -> tuple[tuple[str, str], ...]:
        """What a team is, and the environment that pins it so, ready for a command line."""
        return tuple((_team(team, len(team.follows)), team.places) for team in self.teams)


def latency_findings(latency: Latency) -> LatencyFindings:
    """Return the findings on latencies; takes seconds for hundreds of CPUs."""
    clusters = find_clusters(latency.both_ways)
    return LatencyFindings(
        latency,
        clusters,
        compare(latency, clusters),
        find_nearness(latency),
        find_partners(latency),
        find_teams(latency, clusters.disturbed),
    )


def findings_data(findings: LatencyFindings) -> dict[str, Any]:
    """Return the findings by names, unrounded; times in ns, rates a second, CPUs as lists."""
    latency = findings.latency
    return {
        "node_id": latency.node_id,
        "started_at": latency.started_at,
        "method": latency.method,
        "plan": latency.plan,
        "pairs_of_node": latency.pairs_of_node,
        "addresses": latency.addresses,
        "samples": len(latency.one_way_ns),
        "switched": findings.switched,
        "pairs": findings.pairs,
        "left_out": [{"cpus": list(pair.cpus), "reason": pair.reason} for pair in latency.left_out],
        "nearness": [asdict(row) for row in findings.nearness],
        "structure": findings.structure,
        "scatter": finite(findings.clusters.scatter),
        "groups": [
            asdict(group) | {name: format_cpulist(getattr(group, name)) for name in _CPUS}
            for group in findings.groups
        ],
        "disturbed": [[latency.cpus[row] for row in pair] for pair in findings.clusters.disturbed],
        "partners": [asdict(partners) for partners in findings.partners],
        "mappings": [asdict(team) | {"environment": team.places} for team in findings.teams],
    }


_CPUS = ("cpus", "nearest")


def pairs_csv(latency: Latency) -> str:
    """Return each pair's numbers as CSV: both directions together with their rate, then each."""
    both = latency.pairs.rename(columns={"a": "from_cpu", "b": "to_cpu"})
    frame = pd.concat(
        [both.assign(directions="both"), latency.directed.assign(directions="one")],
        ignore_index=True,
    )
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _tables(findings: LatencyFindings) -> Iterator[Table]:
    pairs, partners = findings.pairs, findings.partners
    # Clusters that cannot be told have no table of their own.
    of_groups = _group_notes(findings)
    yield table_of(
        "One way between two CPUs, both directions; nearest first, rates are harmonic means",
        _PAIRS,
        pairs[:MAX_PAIRS],
        [*_pair_notes(findings), *_rest(len(pairs), MAX_PAIRS, "pairs.csv")],
    )
    yield table_of(
        "One way between two CPUs, by how near the kernel says that they are",
        _NEARNESS,
        findings.nearness,
        [] if findings.groups else of_groups,
    )
    if findings.groups:
        yield table_of(
            "Clusters by the measured latencies, and the kernel's groups",
            _GROUPS,
            grouped(findings.groups, _row_of),
            of_groups,
        )
    yield table_of(
        "The best partner of each CPU, on another core; rates are harmonic means",
        _PARTNERS,
        partners[:MAX_ROWS],
        [
            *_rest(len(partners), MAX_ROWS, "--json"),
            *([] if findings.teams else [words.ONE_CORE]),
        ],
    )
    if findings.teams:
        yield table_of(
            "Orders of CPUs for threads that talk: harmonic mean of the neighbours' transfers a "
            "second",
            _TEAMS,
            findings.teams,
            _team_notes(findings),
        )


def _row_of(group: Group) -> tuple[object, ...]:
    """Return what groups share that stand in one row; those of one cluster only partly."""
    size = len(group.cpus) if group.level else 0
    return group.level, size, group.kernel, group.outcome, group.nearest


def _pair_notes(findings: LatencyFindings) -> list[str]:
    latency = findings.latency
    median = float(np.median(latency.pairs["median_ns"]))
    notes = [
        words.one_way(latency.nearest, latency.farthest, median),
        words.MEASURED.format(
            pairs=len(latency.pairs),
            possible=plural(latency.pairs_of_node, "pair"),
            method=words.METHODS[latency.method],
            lines=plural(latency.addresses, "line"),
            samples=plural(len(latency.one_way_ns), "sample"),
        ),
    ]
    if findings.switched:
        times = plural(findings.switched, "time")
        notes += [text.format(times=times) for text in words.SWITCHED_OUT]
    if latency.left_out:
        count = plural(len(latency.left_out), "pair")
        reasons = list(dict.fromkeys(one_line(pair.reason) for pair in latency.left_out))
        notes.append(words.LEFT_OUT.format(count=count, why=first_of(reasons, _MAX_REASONS)))
    return notes


def _group_notes(findings: LatencyFindings) -> list[str]:
    latency, clusters = findings.latency, findings.clusters
    low, high = np.nanquantile(latency.both_ways, (0.05, 0.95))
    named = [group for group in findings.groups if group.is_named]
    notes = [
        words.CLUSTERS[findings.structure].format(
            pairs=len(latency.pairs),
            possible=len(latency.cpus) * (len(latency.cpus) - 1) // 2,
            scatter=percent(clusters.scatter),
            low=words.ns(low),
            high=words.ns(high),
            found=sum(group.outcome == "found" for group in named),
            named=len(named),
        )
    ]
    if clusters.disturbed:
        disturbed = [
            f"{latency.cpus[a]}, {latency.cpus[b]} ({words.ns(latency.both_ways[a, b])})"
            for a, b in clusters.disturbed
        ]
        notes.append(words.DISTURBED.format(pairs=first_of(disturbed, _MAX_DISTURBED)))
    return notes


def _team_notes(findings: LatencyFindings) -> list[str]:
    teams = findings.teams
    kinds = [kind.name for kind in findings.latency.topology.kinds]
    gains = [team for team in teams if team.gains]
    best = max(gains, key=lambda team: team.gain or 0, default=None)
    if len(teams[-1].cpus) == 2:
        conclusion = words.TWO_CORES
    elif all(team.gain is None for team in teams):
        conclusion = words.UNKNOWN_GAIN
    elif best is None:
        conclusion = words.NO_GAIN
    else:
        gain, interval = _gain(best)
        team = _team(best, len(best.cpus))
        conclusion = words.BEST_ORDER.format(team=team, gain=gain, interval=interval)
    return [
        conclusion,
        *words.GAIN_IS_JUDGED,
        *(
            words.GAIN_UNKNOWN.format(team=_team(team, len(team.cpus)), why=team.why_no_gain)
            for team in teams
            if team.gain is None
        ),
        words.published_rates(*published_rates()),
        *([words.KINDS_DIFFER.format(kinds=one_line(", ".join(kinds)))] if len(kinds) > 1 else []),
    ]


def _team(team: Team, threads: int) -> str:
    return f"{plural(threads, 'thread')}, {team.how}"


def _rest(rows: int, most: int, where: str) -> list[str]:
    return [words.REST_IN.format(shown=most, rows=rows, where=where)] if rows > most else []


def _between(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return NOTHING
    return " to ".join(dict.fromkeys(fixed(end, 1) for end in (min(known), max(known))))


def _rate(rate_per_s: float | None) -> str:
    return NOTHING if rate_per_s is None else three_digits(rate_per_s / _PER_MILLION)


def _rates(interval: Interval | None) -> str:
    """Return an interval of rates; one without an upper end is `35.1 or more`."""
    if interval is None or math.isnan(interval.low):
        return NOTHING
    low = _rate(interval.low)
    return f"{low} or more" if math.isinf(interval.high) else f"{low} to {_rate(interval.high)}"


def _partner(partner: Partner | None) -> str:
    return f"{partner.cpu} ({fixed(partner.ns, 1)})" if partner else NOTHING


def _tied(partners: Partners) -> str:
    if len(partners.tied) == MAX_TIED:
        return f"{MAX_TIED} or more"
    return ", ".join(map(str, partners.tied)) or NOTHING


def _gain(team: Team) -> tuple[str, str]:
    """Return what an order gains in per cent, and the ends of its interval."""
    if team.gain is None or team.gain_interval is None:
        return NOTHING, NOTHING
    low, high = team.gain_interval.low - 1, team.gain_interval.high - 1
    gain, both = signed_percents(team.gain - 1, low, high)
    return gain, " to ".join(both)


def _outcome(alike: Sequence[Group]) -> str:
    return words.GROUPS[alike[0].outcome].format(nearest=format_cpulist(alike[0].nearest))


_PAIRS: tuple[Written[Mapping[Hashable, Any]], ...] = (
    (Column("CPUs", right=False), lambda pair: f"{pair['a']}, {pair['b']}"),
    (Column("samples"), lambda pair: str(pair["n"])),
    (Column("median", "ns"), lambda pair: fixed(pair["median_ns"], 1)),
    (Column("sd", "ns"), lambda pair: fixed(pair["sd_ns"], 1)),
    (Column("MAD", "ns"), lambda pair: fixed(pair["mad_ns"], 1)),
    (Column("range", "5-95 %, ns"), lambda pair: _between([pair["q05_ns"], pair["q95_ns"]])),
    (Column("rate", "million/s"), lambda pair: _rate(pair["rate_per_s"])),
    (
        Column("interval", "95 %, million/s"),
        lambda pair: _rates(Interval(pair["rate_low_per_s"], pair["rate_high_per_s"])),
    ),
)
_NEARNESS: tuple[Written[Nearness], ...] = (
    (Column("the kernel says", right=False), lambda row: row.relation),
    (Column("kinds", right=False), lambda row: one_line(row.kinds)),
    (Column("pairs"), lambda row: str(row.pairs)),
    (Column("median", "ns"), lambda row: fixed(row.median_ns, 1)),
    (Column("least", "ns"), lambda row: fixed(row.least_ns, 1)),
    (Column("most", "ns"), lambda row: fixed(row.most_ns, 1)),
)
_GROUPS: tuple[Written[Sequence[Group]], ...] = (
    (Column("level"), lambda alike: str(alike[0].level or NOTHING)),
    (Column("groups"), lambda alike: str(len(alike))),
    (
        Column("CPUs", right=False),
        lambda alike: first_of(
            [format_cpulist(group.cpus) for group in sorted(alike, key=lambda of: of.cpus)],
            _MAX_GROUPS,
        ),
    ),
    (Column("within", "ns"), lambda alike: _between([group.within_ns for group in alike])),
    (
        Column("to those around", "ns"),
        lambda alike: _between([group.outside_ns for group in alike]),
    ),
    (Column("the kernel says", right=False), lambda alike: ", ".join(alike[0].kernel) or NOTHING),
    (Column("outcome", right=False), _outcome),
)
_PARTNERS: tuple[Written[Partners], ...] = (
    (Column("CPU"), lambda row: str(row.cpu)),
    (Column("kind", right=False), lambda row: one_line(row.kind) or NOTHING),
    (
        Column("sibling", "ns", right=False),
        lambda row: ", ".join(map(_partner, row.siblings)) or NOTHING,
    ),
    (
        Column("best partner", right=False),
        lambda row: str(row.best.cpu) if row.best else "not measured",
    ),
    (Column("median", "ns"), lambda row: fixed(row.best.ns, 1) if row.best else NOTHING),
    (Column("rate", "million/s"), lambda row: _rate(row.rate_per_s)),
    (Column("interval", "95 %, million/s"), lambda row: _rates(row.rate_interval)),
    (Column("next", "ns", right=False), lambda row: _partner(row.runner_up)),
    (Column("tied with", right=False), _tied),
)
_TEAMS: tuple[Written[Team], ...] = (
    (Column("threads"), lambda team: str(len(team.cpus))),
    (Column("talk", right=False), lambda team: team.how),
    (Column("numerical order", "million/s"), lambda team: _rate(team.numerical_rate_per_s)),
    (Column("chosen order", "million/s"), lambda team: _rate(team.rate_per_s)),
    (Column("gain", "%"), lambda team: _gain(team)[0]),
    (Column("interval", "95 %, %"), lambda team: _gain(team)[1]),
    (
        Column("so take", right=False),
        lambda team: "numerical order" if team.follows == team.numerical else "the chosen order",
    ),
)
