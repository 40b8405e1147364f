"""The tables of a node's latencies: pairs, clusters, partners, orders."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby
from typing import Any

from analysis.format.table import Column, Table, Written, table_of
from analysis.latency.agreement import Agreement, Measured
from analysis.latency.model import Latency
from analysis.latency.partners import MAX_TIED, Nearness, Partner, Partners
from analysis.latency.sentences import gained, listed, millions
from analysis.latency.teams import Team
from analysis.statistics.sample import Interval
from analysis.tables.layouts import NOTHING
from base.cpulist import format_cpulist
from base.text import one_line

# More rows are for programs, or for the heat map.
MAX_ROWS = 64
MAX_PAIRS = 16
_MAX_GROUPS = 8


def pairs_table(latency: Latency) -> Table:
    """Return median, spread and rate of each pair, nearest first."""
    pairs = latency.pairs.sort_values(["median_ns", "a", "b"])
    return table_of(
        "One way between two CPUs, both directions; nearest first, rates are harmonic means",
        _PAIRS,
        pairs.head(MAX_PAIRS).to_dict("records"),
        _rest(len(pairs), MAX_PAIRS, "pairs.csv"),
    )


def nearness_table(found: Sequence[Nearness]) -> Table:
    """Return the latencies by how near the kernel says that CPUs are."""
    return table_of(
        "One way between two CPUs, by how near the kernel says that they are", _NEARNESS, found
    )


def clusters_table(agreement: Agreement) -> Table | None:
    """Return the measured clusters, alike ones in a row; None without any."""
    if not agreement.measured:
        return None
    return table_of("Clusters by the measured latencies", _CLUSTERS, alike_clusters(agreement))


def alike_clusters(agreement: Agreement) -> list[list[Measured]]:
    """Return the measured clusters by level, size and what the kernel calls them."""

    def key(one: Measured) -> tuple[int, int, str]:
        return one.cluster.level, len(one.cpus), kernel_name(one)

    return [list(alike) for _, alike in groupby(sorted(agreement.measured, key=key), key)]


def kernel_name(one: Measured) -> str:
    """Return what the kernel calls a cluster: `L2`, `SMT siblings, L2`, `no such group`."""
    if one.same is None:
        return "no such group"
    kind = [f"all {one_line(one.same.kind)}-cores"] if one.same.kind else []
    return ", ".join([*one.same.names, *kind])


def partners_table(partners: Sequence[Partners]) -> Table:
    """Return the best partner of each CPU."""
    return table_of(
        "The best partner of each CPU, on another core; rates are harmonic means",
        _PARTNERS,
        partners[:MAX_ROWS],
        _rest(len(partners), MAX_ROWS, "what --json prints"),
    )


def teams_table(teams: Sequence[Team]) -> Table | None:
    """Return what orders of CPUs gain over numerical order; None without a team."""
    if not teams:
        return None
    note = (
        "The gain is judged by measurements that did not choose the order; the chosen order's rate "
        "is not, and flatters it."
    )
    return table_of(
        "Orders of CPUs for threads that talk: harmonic mean of the neighbours' transfers a second",
        _TEAMS,
        teams,
        (("", note),),
    )


def _rest(rows: int, most: int, where: str) -> tuple[tuple[str, str], ...]:
    """Return the note that not all rows are shown, if so."""
    if rows <= most:
        return ()
    return (("", f"The first {most} of {rows}; the others are in {where}."),)


def _tenths(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.1f}"


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
    return f"{gained(interval.low)} to {gained(interval.high)}" if interval else NOTHING


_PAIRS: tuple[Written[Mapping[Hashable, Any]], ...] = (
    (Column("CPUs", right=False), lambda pair: f"{pair['a']}, {pair['b']}"),
    (Column("samples"), lambda pair: str(pair["n"])),
    (Column("median", "ns"), lambda pair: _tenths(pair["median_ns"])),
    (Column("sd", "ns"), lambda pair: _tenths(pair["sd_ns"])),
    (Column("MAD", "ns"), lambda pair: _tenths(pair["mad_ns"])),
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
    (Column("median", "ns"), lambda one: _tenths(one.median_ns)),
    (Column("least", "ns"), lambda one: _tenths(one.least_ns)),
    (Column("most", "ns"), lambda one: _tenths(one.most_ns)),
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
    (Column("the kernel says", right=False), lambda alike: kernel_name(alike[0])),
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
    (Column("median", "ns"), lambda one: _tenths(one.best.ns) if one.best else NOTHING),
    (Column("rate", "million/s"), lambda one: _rate(one.rate)),
    (Column("interval", "95 %, million/s"), lambda one: _rates(one.rate_interval)),
    (Column("next", "ns", right=False), lambda one: _partner(one.runner_up)),
    (Column("tied with", right=False), _tied),
)
_TEAMS: tuple[Written[Team], ...] = (
    (Column("threads"), lambda team: str(len(team.cpus))),
    (Column("talk", right=False), lambda team: team.how),
    (Column("numerical order", "million/s"), lambda team: _rate(team.numerical_rate)),
    (Column("chosen order", "million/s"), lambda team: _rate(team.rate)),
    (Column("gain"), lambda team: NOTHING if team.gain is None else gained(team.gain)),
    (Column("interval", "95 %"), lambda team: _gains(team.gain_interval)),
    (
        Column("so take", right=False),
        lambda team: "numerical order" if team.follows == team.numerical else "the chosen order",
    ),
)
