"""Findings on a node's latencies: sentences, tables, mappings, for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import pandas as pd

from analysis.format.numbers import NOTHING, ends, fixed
from analysis.format.table import Column, Table, Written, table_of
from analysis.latency.agreement import Agreement, LevelMatch, Measured, compare
from analysis.latency.clusters import Clusters, find_clusters
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
from analysis.latency.sentences import (
    cluster_sentences,
    gained,
    listed,
    measured_sentences,
    millions,
    talking,
    team_sentences,
)
from analysis.statistics.sample import Interval
from base.cpulist import format_cpulist
from base.text import one_line, plural

# More rows are for programs, or for the heat map.
MAX_ROWS = 64
MAX_PAIRS = 16
_MAX_GROUPS = 8
# Partitions with a lower adjusted Rand index are not called alike.
_LIKE = 0.5


@dataclass(frozen=True)
class LatencyFindings:
    """The findings as data, sentences, tables and mappings."""

    latency: Latency
    clusters: Clusters
    agreement: Agreement
    nearness: list[Nearness]
    partners: list[Partners]
    teams: list[Team]

    @cached_property
    def pairs(self) -> list[dict[Hashable, Any]]:
        """The rows of `Latency.pairs`, nearest first."""
        return self.latency.pairs.sort_values(["median_ns", "a", "b"]).to_dict("records")

    @cached_property
    def alike(self) -> list[list[Measured]]:
        """The measured clusters by level, size and what the kernel calls them."""

        def key(one: Measured) -> tuple[int, int, str]:
            return one.cluster.level, len(one.cpus), _kernel_name(one)

        clusters = sorted(self.agreement.measured, key=key)
        return [list(alike) for _, alike in groupby(clusters, key)]

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What was measured, which clusters there are, what orders of CPUs gain."""
        return (
            *measured_sentences(self.latency),
            *cluster_sentences(self.latency, self.clusters, self.agreement),
            *team_sentences(self.latency, self.teams),
        )

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Pairs, nearness, clusters, partners and orders; without clusters, or orders, no table."""
        return tuple(_tables(self))

    @property
    def mappings(self) -> tuple[tuple[str, str], ...]:
        """What a team is, and the environment that pins it so, ready for a command line."""
        return tuple(
            (f"{plural(len(team.follows), 'thread')}, {talking(team)}", team.places)
            for team in self.teams
        )


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
        "pairs": findings.pairs,
        "left_out": [{"cpus": list(one.cpus), "reason": one.reason} for one in latency.left_out],
        "nearness": [asdict(one) for one in findings.nearness],
        "clusters": [_cluster(one) for alike in findings.alike for one in alike],
        "levels": [
            {
                "level": match.level,
                "clusters": [format_cpulist(cpus) for cpus in match.clusters],
                "kernel": match.name,
                "adjusted_rand_index": match.alike,
            }
            for match in findings.agreement.levels
        ],
        "kernel_groups_not_found": [
            {
                "cpus": format_cpulist(one.group.cpus),
                "kernel": list(one.group.names),
                "within_ns": one.within_ns,
                "outside_ns": one.outside_ns,
            }
            for one in findings.agreement.denied
        ],
        "disturbed": [[latency.cpus[row] for row in pair] for pair in findings.clusters.disturbed],
        "partners": [asdict(one) for one in findings.partners],
        "mappings": [asdict(team) | {"environment": team.places} for team in findings.teams],
        "sentences": list(findings.sentences),
    }


def _cluster(one: Measured) -> dict[str, Any]:
    return {
        "level": one.cluster.level,
        "cpus": format_cpulist(one.cpus),
        "within_ns": one.cluster.within_ns,
        "outside_ns": one.cluster.outside_ns,
        "kernel": _kernel_name(one),
    }


def pairs_csv(latency: Latency) -> str:
    """Return each pair's numbers as CSV: both directions together with their rate, then each."""
    both = latency.pairs.rename(columns={"a": "from_cpu", "b": "to_cpu"})
    frame = pd.concat(
        [both.assign(directions="both"), latency.directed.assign(directions="one")],
        ignore_index=True,
    )
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _tables(findings: LatencyFindings) -> Iterator[Table]:
    yield table_of(
        "One way between two CPUs, both directions; nearest first, rates are harmonic means",
        _PAIRS,
        findings.pairs[:MAX_PAIRS],
        _rest(len(findings.pairs), MAX_PAIRS, "pairs.csv"),
    )
    yield table_of(
        "One way between two CPUs, by how near the kernel says that they are",
        _NEARNESS,
        findings.nearness,
    )
    if findings.alike:
        like: Written[Sequence[Measured]] = (
            Column("most like (adjusted Rand index)", right=False),
            lambda alike: _likeness(findings.agreement.levels[alike[0].cluster.level - 1]),
        )
        yield table_of("Clusters by the measured latencies", [*_CLUSTERS, like], findings.alike)
    yield table_of(
        "The best partner of each CPU, on another core; rates are harmonic means",
        _PARTNERS,
        findings.partners[:MAX_ROWS],
        _rest(len(findings.partners), MAX_ROWS, "what --json prints"),
    )
    if findings.teams:
        note = (
            "The gain is judged by measurements that did not choose the order; the chosen order's "
            "rate is not, and flatters it."
        )
        yield table_of(
            "Orders of CPUs for threads that talk: harmonic mean of the neighbours' transfers a "
            "second",
            _TEAMS,
            findings.teams,
            (("", note), *(("", why) for why in _unknown_gains(findings.teams))),
        )


def _likeness(match: LevelMatch) -> str:
    """Return the kernel's level that a level of clusters is most like; index 1: the same groups."""
    return f"{match.name} ({match.alike:.2f})" if match.alike >= _LIKE else NOTHING


def _unknown_gains(teams: Sequence[Team]) -> Iterator[str]:
    for team in teams:
        if team.gain is None:
            team_text = f"{plural(len(team.cpus), 'thread')}, {talking(team)}"
            yield f"{team_text}: what the order gains cannot be told: {team.why_no_gain}."


def _rest(rows: int, most: int, where: str) -> tuple[tuple[str, str], ...]:
    """Return the note that not all rows are shown, if so."""
    if rows <= most:
        return ()
    return (("", f"The first {most} of {rows}; the others are in {where}."),)


def _kernel_name(one: Measured) -> str:
    """Return what the kernel calls a cluster: `L2`, `SMT siblings, L2`, `no such group`."""
    if one.same is None:
        return "no such group"
    kind = [f"all {one_line(one.same.kind)}-cores"] if one.same.kind else []
    return ", ".join([*one.same.names, *kind])


def _between(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def _rate(rate_per_s: float | None) -> str:
    return NOTHING if rate_per_s is None else millions(rate_per_s)


def _rates(interval: Interval | None) -> str:
    """Return an interval of rates; one without an upper end is `35.1 or more`."""
    if interval is None or math.isnan(interval.low):
        return NOTHING
    low = millions(interval.low)
    return f"{low} or more" if math.isinf(interval.high) else f"{low} to {millions(interval.high)}"


def _partner(partner: Partner | None) -> str:
    return f"{partner.cpu} ({partner.ns:.1f})" if partner else NOTHING


def _tied(one: Partners) -> str:
    if len(one.tied) == MAX_TIED:
        return f"{MAX_TIED} others or more"
    return ", ".join(map(str, one.tied)) or NOTHING


def _gains(interval: Interval | None) -> str:
    return " to ".join(ends(interval.low, interval.high, gained)) if interval else NOTHING


_PAIRS: tuple[Written[Mapping[Hashable, Any]], ...] = (
    (Column("CPUs", right=False), lambda pair: f"{pair['a']}, {pair['b']}"),
    (Column("samples"), lambda pair: str(pair["n"])),
    (Column("median", "ns"), lambda pair: fixed(pair["median_ns"], 1)),
    (Column("sd", "ns"), lambda pair: fixed(pair["sd_ns"], 1)),
    (Column("MAD", "ns"), lambda pair: fixed(pair["mad_ns"], 1)),
    (Column("range", "5-95 %, ns"), lambda pair: f"{pair['q05_ns']:.1f} to {pair['q95_ns']:.1f}"),
    (Column("rate", "million/s"), lambda pair: millions(pair["rate_per_s"])),
    (
        Column("interval", "95 %, million/s"),
        lambda pair: _rates(Interval(pair["rate_low_per_s"], pair["rate_high_per_s"])),
    ),
)
_NEARNESS: tuple[Written[Nearness], ...] = (
    (Column("the kernel says", right=False), lambda one: one.relation),
    (Column("kinds", right=False), lambda one: one_line(one.kinds)),
    (Column("pairs"), lambda one: str(one.pairs)),
    (Column("median", "ns"), lambda one: fixed(one.median_ns, 1)),
    (Column("least", "ns"), lambda one: fixed(one.least_ns, 1)),
    (Column("most", "ns"), lambda one: fixed(one.most_ns, 1)),
)
_CLUSTERS: tuple[Written[Sequence[Measured]], ...] = (
    (Column("level"), lambda alike: str(alike[0].cluster.level)),
    (Column("clusters"), lambda alike: str(len(alike))),
    (
        Column("CPUs", right=False),
        lambda alike: listed([format_cpulist(one.cpus) for one in alike], _MAX_GROUPS),
    ),
    (
        Column("within", "ns"),
        lambda alike: _between([one.cluster.within_ns for one in alike]),
    ),
    (
        Column("to those around", "ns"),
        lambda alike: _between([one.cluster.outside_ns for one in alike]),
    ),
    (Column("the kernel says", right=False), lambda alike: _kernel_name(alike[0])),
)
_PARTNERS: tuple[Written[Partners], ...] = (
    (Column("CPU"), lambda one: str(one.cpu)),
    (Column("kind", right=False), lambda one: one_line(one.kind) or NOTHING),
    (
        Column("sibling", "ns", right=False),
        lambda one: ", ".join(map(_partner, one.siblings)) or NOTHING,
    ),
    (
        Column("best partner", right=False),
        lambda one: str(one.best.cpu) if one.best else "not measured",
    ),
    (Column("median", "ns"), lambda one: fixed(one.best.ns, 1) if one.best else NOTHING),
    (Column("rate", "million/s"), lambda one: _rate(one.rate_per_s)),
    (Column("interval", "95 %, million/s"), lambda one: _rates(one.rate_interval)),
    (Column("next", "ns", right=False), lambda one: _partner(one.runner_up)),
    (Column("tied with", right=False), _tied),
)
_TEAMS: tuple[Written[Team], ...] = (
    (Column("threads"), lambda team: str(len(team.cpus))),
    (Column("talk", right=False), lambda team: team.how),
    (Column("numerical order", "million/s"), lambda team: _rate(team.numerical_rate_per_s)),
    (Column("chosen order", "million/s"), lambda team: _rate(team.rate_per_s)),
    (Column("gain"), lambda team: NOTHING if team.gain is None else gained(team.gain)),
    (Column("interval", "95 %"), lambda team: _gains(team.gain_interval)),
    (
        Column("so take", right=False),
        lambda team: "numerical order" if team.follows == team.numerical else "the chosen order",
    ),
)
