"""All that results hold of the affinity experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.affinity.contention import Contention, contention
from analysis.affinity.experiments import APPS
from analysis.affinity.pingpong import Exchanges, exchanges
from analysis.affinity.smt import Sharing, sharing
from analysis.affinity.team import Team, teams
from analysis.fields import TABLE_KEYS
from analysis.findings import Findings
from analysis.sources import Results

LATENCY_FILE = "latency.json"


@dataclass(frozen=True)
class Affinity:
    """The experiments, each in its groups of cases that share all but their placement.

    `apps` are the programs of which there are cases, measured or not; `teams` are in groups by
    table and governor; `latency` is the file of core-to-core latencies beside the records, None
    where there is none.
    """

    apps: tuple[str, ...]
    contention: tuple[Contention, ...]
    sharing: tuple[Sharing, ...]
    exchanges: tuple[Exchanges, ...]
    teams: tuple[tuple[Team, ...], ...]
    latency: Path | None


def affinity(results: Results, findings: Findings) -> Affinity | None:
    """Return the affinity experiments of results; None where there is none of them."""
    here = {str(table.keys["app"]) for table in findings.tables}
    apps = tuple(app for app in APPS if app in here)
    latency = None if results.folder is None else results.folder / LATENCY_FILE
    if latency is not None and not latency.is_file():
        latency = None
    if not apps and latency is None:
        return None
    return Affinity(
        apps,
        tuple(contention(results, findings)),
        tuple(sharing(results, findings)),
        tuple(exchanges(results, findings)),
        tuple(_by_table(teams(results, findings))),
        latency,
    )


def _by_table(found: Sequence[Team]) -> Iterator[tuple[Team, ...]]:
    """Yield the teams of each table and governor."""
    groups: dict[tuple[str, ...], list[Team]] = {}
    for team in found:
        key = tuple(str(team.case.facts[name]) for name in (*TABLE_KEYS, "governor"))
        groups.setdefault(key, []).append(team)
    yield from map(tuple, groups.values())
