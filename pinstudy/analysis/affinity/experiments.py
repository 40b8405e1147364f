"""The affinity experiments that results hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from pinstudy.analysis.affinity.c2c import ContendedLines, read_c2c
from pinstudy.analysis.affinity.contention import Contention, contention
from pinstudy.analysis.affinity.pingpong import Exchanges, exchanges
from pinstudy.analysis.affinity.smt import Sharing, sharing
from pinstudy.analysis.affinity.team import Team, teams
from pinstudy.analysis.affinity.timed_cases import APPS
from pinstudy.analysis.latency.reading import Latency, read_latency
from pinstudy.analysis.records.files import read_limited
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.base.decoding import decoded
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line
from pinstudy.configs.results_folder import LATENCY_FILE, LATENCY_UNAVAILABLE


@dataclass(frozen=True)
class Affinity:
    """The experiments, each in its groups of cases that share all but their placement.

    `apps` are the programs of which there are cases, measured or not; `teams` are in groups by
    table and governor; `lines` is what perf c2c showed of the cases, `latency` are the core-to-core
    latencies, both from files beside the records: None where there are none, or where
    `why_no_latency` says what is wrong with the file, or why nothing could be measured.
    """

    apps: tuple[str, ...]
    contention: tuple[Contention, ...]
    sharing: tuple[Sharing, ...]
    exchanges: tuple[Exchanges, ...]
    teams: tuple[tuple[Team, ...], ...]
    lines: ContendedLines | None = None
    latency: Latency | None = None
    why_no_latency: str = ""


def affinity(results: Results, findings: Findings) -> Affinity | None:
    """Return the affinity experiments of results; None where there is none of them."""
    here = {table.key.app for table in findings.tables}
    apps = tuple(app for app in APPS if app in here)
    latency, why_not = _latency(results.folder)
    if not apps and latency is None and not why_not:
        return None
    return Affinity(
        apps,
        tuple(contention(results, findings)),
        tuple(sharing(results, findings)),
        tuple(exchanges(results, findings)),
        tuple(map(tuple, grouped(teams(results, findings), _table_and_governor))),
        read_c2c(results.folder) if results.folder is not None else None,
        latency,
        why_not,
    )


def _latency(folder: Path | None) -> tuple[Latency | None, str]:
    """Return the latencies in a results folder, or why there are none, where that is known."""
    if folder is None:
        return None, ""
    if not (folder / LATENCY_FILE).exists():
        return None, _why_unavailable(folder / LATENCY_UNAVAILABLE)
    try:
        return read_latency(folder / LATENCY_FILE), ""
    except UserError as error:
        return None, one_line(str(error))


class _Unavailable(Struct):
    """The file that stands in place of the latencies, with the reason."""

    unavailable: dict[str, str]


def _why_unavailable(path: Path) -> str:
    """Return why a study has no latencies; empty where its folder does not tell."""
    data = read_limited(path)
    if data is None:
        return ""
    try:
        return one_line(decoded(data, _Unavailable).unavailable.get("latency", ""))
    except ValueError as error:
        return one_line(f"{path.name}: {error}")


def _table_and_governor(team: Team) -> tuple[object, ...]:
    return *team.case.summary.key.table[1:], team.case.governor, team.case.summary.key.setting_words
