"""All that a node's latencies say: sentences, tables, mappings, for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from analysis.format.table import Table
from analysis.latency.agreement import Agreement, Measured, compare
from analysis.latency.clusters import Clusters, find_clusters
from analysis.latency.model import Latency
from analysis.latency.partners import Nearness, Partners, find_nearness, find_partners
from analysis.latency.sentences import (
    cluster_sentences,
    measured_sentences,
    talking,
    team_sentences,
)
from analysis.latency.tables import (
    alike_clusters,
    clusters_table,
    kernel_name,
    nearness_table,
    pairs_table,
    partners_table,
    teams_table,
)
from analysis.latency.teams import Team, find_teams
from base.cpulist import format_cpulist
from base.text import plural


@dataclass(frozen=True)
class LatencyFindings:
    """What was found, and how it is told.

    `mappings` are (what a team is, the environment that pins it so), ready for a command line.
    """

    latency: Latency
    clusters: Clusters
    agreement: Agreement
    nearness: tuple[Nearness, ...]
    partners: tuple[Partners, ...]
    teams: tuple[Team, ...]
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    mappings: tuple[tuple[str, str], ...]


def latency_findings(latency: Latency) -> LatencyFindings:
    """Return what the latencies say; seconds for hundreds of CPUs."""
    clusters = find_clusters(latency.both_ways)
    agreement = compare(latency, clusters)
    nearness, partners, teams = find_nearness(latency), find_partners(latency), find_teams(latency)
    tables = (
        pairs_table(latency),
        nearness_table(nearness),
        clusters_table(agreement),
        partners_table(partners),
        teams_table(teams),
    )
    return LatencyFindings(
        latency,
        clusters,
        agreement,
        tuple(nearness),
        tuple(partners),
        tuple(teams),
        (
            *measured_sentences(latency),
            *cluster_sentences(latency, clusters, agreement),
            *team_sentences(latency, teams),
        ),
        tuple(table for table in tables if table is not None),
        tuple((f"{plural(len(t.follows), 'thread')}, {talking(t)}", t.places) for t in teams),
    )


def findings_json(findings: LatencyFindings) -> dict[str, Any]:
    """Return the findings for a program to read; times in ns, rates a second, CPUs as lists."""
    latency = findings.latency
    pairs = latency.pairs.sort_values(["median_ns", "a", "b"]).to_dict("records")
    return {
        "node_id": latency.node_id,
        "started_at": latency.started_at,
        "method": latency.method,
        "plan": latency.plan,
        "pairs_of_node": latency.pairs_of_node,
        "pairs": [_finite(pair) for pair in pairs],
        "left_out": [{"cpus": list(one.cpus), "reason": one.reason} for one in latency.left_out],
        "nearness": [asdict(one) for one in findings.nearness],
        "clusters": [
            _cluster(one) for alike in alike_clusters(findings.agreement) for one in alike
        ],
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
        "partners": [_partners(one) for one in findings.partners],
        "mappings": [_team(team) for team in findings.teams],
        "sentences": list(findings.sentences),
    }


def _cluster(one: Measured) -> dict[str, Any]:
    return {
        "level": one.cluster.level,
        "cpus": format_cpulist(one.cpus),
        "within_ns": one.cluster.within_ns,
        "outside_ns": one.cluster.outside_ns,
        "kernel": kernel_name(one),
    }


def _partners(one: Partners) -> dict[Hashable, Any]:
    best, next_, rates = one.best, one.runner_up, one.rate_interval
    return _finite(
        {
            "cpu": one.cpu,
            "kind": one.kind,
            "siblings": format_cpulist(partner.cpu for partner in one.siblings),
            "sibling_ns": one.siblings[0].ns if one.siblings else None,
            "best": best.cpu if best else None,
            "best_ns": best.ns if best else None,
            "rate_per_s": one.rate,
            "rate_low_per_s": rates.low if rates else None,
            "rate_high_per_s": rates.high if rates else None,
            "next": next_.cpu if next_ else None,
            "next_ns": next_.ns if next_ else None,
            "tied": format_cpulist(one.tied),
        }
    )


def _team(team: Team) -> dict[Hashable, Any]:
    gains = team.gain_interval
    return _finite(
        {
            "threads": len(team.cpus),
            "talk": team.how,
            "chosen": ",".join(map(str, team.cpus)),
            "numerical": ",".join(map(str, team.numerical)),
            "numerical_rate_per_s": team.numerical_rate,
            "chosen_rate_per_s": team.rate,
            "gain": team.gain,
            "gain_low": gains.low if gains else None,
            "gain_high": gains.high if gains else None,
            "why_no_gain": team.why_no_gain,
            "environment": team.places,
        }
    )


def _finite(facts: Mapping[Hashable, object]) -> dict[Hashable, Any]:
    """Return facts as JSON has them: None for NaN, and for what has no end."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in facts.items()
    }


def pairs_csv(latency: Latency) -> str:
    """Return each pair's numbers as CSV: both directions together with their rate, then each."""
    both = latency.pairs.rename(columns={"a": "from_cpu", "b": "to_cpu"})
    frame = pd.concat(
        [both.assign(directions="both"), latency.directed.assign(directions="one")],
        ignore_index=True,
    )
    return str(frame.to_csv(index=False, lineterminator="\n"))
