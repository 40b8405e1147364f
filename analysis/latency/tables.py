"""The tables of a node's latencies: pairs, clusters, partners, orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from analysis.format.table import Column, Table
from analysis.latency.agreement import Agreement, Measured
from analysis.latency.model import Latency
from analysis.latency.partners import MAX_TIED, Nearness, Partner, Partners
from analysis.latency.sentences import gained, listed, millions
from analysis.latency.teams import Team
from analysis.statistics.sample import Interval
from base.cpulist import format_cpulist
from base.text import one_line

# More rows are for programs, or for the heat map.
MAX_ROWS = 64
MAX_PAIRS = 16
_MAX_GROUPS = 8
_NONE = "-"


def pairs_table(latency: Latency) -> Table:
    """Return median, spread and rate of each pair, nearest first."""
    pairs = latency.pairs.sort_values(["median_ns", "a", "b"])
    columns = (
        Column("CPUs", right=False),
        Column("samples"),
        Column("median", "ns"),
        Column("sd", "ns"),
        Column("MAD", "ns"),
        Column("range", "5-95 %, ns"),
        Column("rate", "million/s"),
        Column("interval", "95 %, million/s"),
    )
    return Table(
        "One way between two CPUs, both directions; nearest first, rates are harmonic means",
        columns,
        tuple(_pair_cells(row) for _, row in pairs.head(MAX_PAIRS).iterrows()),
        _rest(len(pairs), MAX_PAIRS, "pairs.csv"),
        tuple({str(k): _exact(v) for k, v in row.items()} for row in pairs.to_dict("records")),
    )


def _pair_cells(row: pd.Series[float]) -> tuple[str, ...]:
    low, high = row["rate_low_per_s"], row["rate_high_per_s"]
    return (
        f"{int(row['a'])}, {int(row['b'])}",
        f"{int(row['n'])}",
        f"{row['median_ns']:.1f}",
        _NONE if pd.isna(row["sd_ns"]) else f"{row['sd_ns']:.1f}",
        f"{row['mad_ns']:.1f}",
        f"{row['q05_ns']:.1f} to {row['q95_ns']:.1f}",
        millions(row["rate_per_s"]),
        _interval(None if pd.isna(low) else Interval(low, high)),
    )


def _interval(interval: Interval | None) -> str:
    """Return an interval of rates; one without an upper end is `35.1 or more`."""
    if interval is None:
        return _NONE
    low = millions(interval.low)
    return f"{low} or more" if math.isinf(interval.high) else f"{low} to {millions(interval.high)}"


def _exact(value: object) -> object:
    """Return a value that JSON has: None for NaN, and for what has no end."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _rest(rows: int, most: int, where: str) -> tuple[tuple[str, str], ...]:
    """Return the note that not all rows are shown, if so."""
    if rows <= most:
        return ()
    return (("", f"The first {most} of {rows}; the others are in {where}."),)


def nearness_table(found: Sequence[Nearness]) -> Table:
    """Return the latencies by how near the kernel says that CPUs are."""
    columns = (
        Column("the kernel says", right=False),
        Column("kinds", right=False),
        Column("pairs"),
        Column("median", "ns"),
        Column("least", "ns"),
        Column("most", "ns"),
    )
    return Table(
        "One way between two CPUs, by how near the kernel says that they are",
        columns,
        tuple(
            (
                one.relation,
                one_line(one.kinds),
                str(one.pairs),
                *(f"{value:.1f}" for value in (one.median_ns, one.least_ns, one.most_ns)),
            )
            for one in found
        ),
        exact=tuple(asdict(one) for one in found),
    )


def clusters_table(agreement: Agreement) -> Table | None:
    """Return the measured clusters, alike ones in a row; None without any."""
    if not agreement.measured:
        return None
    alike: dict[tuple[int, int, str], list[Measured]] = {}
    for one in agreement.measured:
        key = (one.cluster.level, len(one.cpus), _kernel_name(one))
        alike.setdefault(key, []).append(one)
    columns = (
        Column("level"),
        Column("clusters"),
        Column("CPUs", right=False),
        Column("within", "ns"),
        Column("to those around", "ns"),
        Column("the kernel says", right=False),
    )
    rows = sorted(alike.items())
    return Table(
        "Clusters by the measured latencies",
        columns,
        tuple(
            (
                str(level),
                str(len(many)),
                listed([format_cpulist(one.cpus) for one in many], _MAX_GROUPS),
                _between([one.cluster.within_ns for one in many]),
                _between([one.cluster.outside_ns for one in many]),
                name,
            )
            for (level, _, name), many in rows
        ),
        exact=tuple(
            {
                "level": one.cluster.level,
                "cpus": format_cpulist(one.cpus),
                "within_ns": one.cluster.within_ns,
                "outside_ns": one.cluster.outside_ns,
                "kernel": _kernel_name(one),
            }
            for _, many in rows
            for one in many
        ),
    )


def _kernel_name(one: Measured) -> str:
    if one.same is None:
        return "no such group"
    kind = [f"all {one_line(one.same.kind)}-cores"] if one.same.kind else []
    return ", ".join([*one.same.names, *kind])


def _between(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def partners_table(partners: Sequence[Partners]) -> Table:
    """Return the best partner of each CPU."""
    columns = (
        Column("CPU"),
        Column("kind", right=False),
        Column("sibling", "ns", right=False),
        Column("best partner", right=False),
        Column("median", "ns"),
        Column("rate", "million/s"),
        Column("interval", "95 %, million/s"),
        Column("next", "ns", right=False),
        Column("tied with", right=False),
    )
    return Table(
        "The best partner of each CPU, on another core; rates are harmonic means",
        columns,
        tuple(_partner_cells(one) for one in partners[:MAX_ROWS]),
        _rest(len(partners), MAX_ROWS, "what --json prints"),
        tuple(partner_facts(one) for one in partners),
    )


def _partner_cells(one: Partners) -> tuple[str, ...]:
    return (
        str(one.cpu),
        one_line(one.kind) or _NONE,
        ", ".join(map(_named, one.siblings)) or _NONE,
        str(one.best.cpu) if one.best else "not measured",
        f"{one.best.ns:.1f}" if one.best else _NONE,
        _NONE if one.rate is None else millions(one.rate),
        _interval(one.rate_interval),
        _named(one.runner_up) if one.runner_up else _NONE,
        _tied(one),
    )


def _named(partner: Partner) -> str:
    return f"{partner.cpu} ({partner.ns:.1f})"


def _tied(one: Partners) -> str:
    if len(one.tied) == MAX_TIED:
        return f"{MAX_TIED} others or more"
    return ", ".join(map(str, one.tied)) or _NONE


def partner_facts(one: Partners) -> dict[str, object]:
    """Return a CPU's partners as numbers."""
    return {
        "cpu": one.cpu,
        "kind": one.kind,
        "siblings": format_cpulist(partner.cpu for partner in one.siblings),
        "sibling_ns": one.siblings[0].ns if one.siblings else None,
        "best": one.best.cpu if one.best else None,
        "best_ns": one.best.ns if one.best else None,
        "rate_per_s": one.rate,
        "rate_low_per_s": one.rate_interval.low if one.rate_interval else None,
        "rate_high_per_s": _exact(one.rate_interval.high) if one.rate_interval else None,
        "next": one.runner_up.cpu if one.runner_up else None,
        "next_ns": one.runner_up.ns if one.runner_up else None,
        "tied": format_cpulist(one.tied),
    }


def teams_table(teams: Sequence[Team]) -> Table | None:
    """Return what orders of CPUs gain over numerical order; None without a team."""
    if not teams:
        return None
    columns = (
        Column("threads"),
        Column("talk", right=False),
        Column("numerical order", "million/s"),
        Column("chosen order", "million/s"),
        Column("gain"),
        Column("interval", "95 %"),
        Column("so take", right=False),
    )
    return Table(
        "Orders of CPUs for threads that talk: harmonic mean of the neighbours' transfers a second",
        columns,
        tuple(_team_cells(team) for team in teams),
        (
            (
                "",
                "The gain is judged by measurements that did not choose the order; the chosen "
                "order's rate is not, and flatters it.",
            ),
        ),
        tuple(team_facts(team) for team in teams),
    )


def _team_cells(team: Team) -> tuple[str, ...]:
    interval = team.gain_interval
    return (
        str(len(team.cpus)),
        team.how,
        _NONE if team.numerical_rate is None else millions(team.numerical_rate),
        _NONE if team.rate is None else millions(team.rate),
        _NONE if team.gain is None else gained(team.gain),
        _NONE if interval is None else f"{gained(interval.low)} to {gained(interval.high)}",
        "numerical order" if team.follows == team.numerical else "the chosen order",
    )


def team_facts(team: Team) -> dict[str, object]:
    """Return an order and what it gains as numbers."""
    return {
        "threads": len(team.cpus),
        "talk": team.how,
        "chosen": ",".join(map(str, team.cpus)),
        "numerical": ",".join(map(str, team.numerical)),
        "numerical_rate_per_s": team.numerical_rate,
        "chosen_rate_per_s": team.rate,
        "gain": team.gain,
        "gain_low": team.gain_interval.low if team.gain_interval else None,
        "gain_high": _exact(team.gain_interval.high) if team.gain_interval else None,
        "why_no_gain": team.why_no_gain,
        "environment": team.places,
    }
