"""All that a node's latencies say: sentences, tables, mappings, for the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.format.table import Table
from analysis.latency.agreement import Agreement, compare
from analysis.latency.clusters import Clusters, find_clusters
from analysis.latency.model import Latency
from analysis.latency.partners import Partners, find_nearness, find_partners
from analysis.latency.sentences import (
    cluster_sentences,
    measured_sentences,
    talking,
    team_sentences,
)
from analysis.latency.tables import (
    clusters_table,
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
    partners: tuple[Partners, ...]
    teams: tuple[Team, ...]
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    mappings: tuple[tuple[str, str], ...]


def latency_findings(latency: Latency) -> LatencyFindings:
    """Return what the latencies say; seconds for hundreds of CPUs."""
    clusters = find_clusters(latency.both_ways)
    agreement = compare(latency, clusters)
    partners, teams = find_partners(latency), find_teams(latency)
    tables = (
        pairs_table(latency),
        nearness_table(find_nearness(latency)),
        clusters_table(agreement),
        partners_table(partners),
        teams_table(teams),
    )
    return LatencyFindings(
        latency,
        clusters,
        agreement,
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
    pairs, clusters, partners, teams = _exact_tables(findings)
    return {
        "node_id": latency.node_id,
        "started_at": latency.started_at,
        "method": latency.method,
        "plan": latency.plan,
        "pairs_of_node": latency.pairs_of_node,
        "pairs": pairs,
        "left_out": [{"cpus": list(one.cpus), "reason": one.reason} for one in latency.left_out],
        "nearness": list(nearness_table(find_nearness(latency)).exact),
        "clusters": clusters,
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
        "partners": partners,
        "mappings": teams,
        "sentences": list(findings.sentences),
    }


def _exact_tables(findings: LatencyFindings) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    clusters, teams = clusters_table(findings.agreement), teams_table(findings.teams)
    return (
        list(pairs_table(findings.latency).exact),
        list(clusters.exact) if clusters else [],
        list(partners_table(findings.partners).exact),
        list(teams.exact) if teams else [],
    )


def pairs_csv(latency: Latency) -> str:
    """Return each pair's numbers as CSV: both directions together with their rate, then each."""
    both = latency.pairs.rename(columns={"a": "from_cpu", "b": "to_cpu"})
    frame = pd.concat(
        [both.assign(directions="both"), latency.directed.assign(directions="one")],
        ignore_index=True,
    )
    return str(frame.to_csv(index=False, lineterminator="\n"))
