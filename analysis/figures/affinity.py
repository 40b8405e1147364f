"""The figures of the affinity experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.affinity.experiments import Affinity
from analysis.affinity.measured import CONTENTION, LATENCY, SMT, THREADMAP
from analysis.affinity.smt import Sharing
from analysis.affinity.told import title_of
from analysis.figures.contention import draw_contention
from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.latency import draw_latency
from analysis.figures.rows import RunsByCase
from analysis.figures.smt import draw_smt
from analysis.figures.team import draw_teams

# A figure and the experiment that it is of.
OfExperiment = tuple[str, Drawing | NotDrawn]


def affinity_figures(found: Affinity, runs: RunsByCase) -> Iterator[OfExperiment]:
    """Yield the figures of each experiment; they are drawn one at a time."""
    for number, experiment in enumerate(found.contention, 1):
        title = title_of(experiment.rows[0].measured.case)
        yield CONTENTION, draw_contention(experiment, runs, title, f"contention-{number}")
    for number, together in enumerate(_workloads(found.sharing), 1):
        case = together[0].rows[0].measured.case
        title = title_of(case, ("size", "threads"))
        yield SMT, draw_smt(together, title, f"smt-{number}")
    for number, teams in enumerate(found.teams, 1):
        yield THREADMAP, draw_teams(teams, title_of(teams[0].case), f"threads-{number}")
    if found.latency is not None:
        yield LATENCY, draw_latency(found.latency)
    elif found.why_no_latency:
        yield LATENCY, NotDrawn("latency", "Core-to-core latency", found.why_no_latency)


def _workloads(found: Sequence[Sharing]) -> list[list[Sharing]]:
    """Return the workloads that share build, governor and all else."""
    groups: dict[tuple[str, ...], list[Sharing]] = {}
    for sharing in found:
        case = sharing.rows[0].measured.case.summary
        table = case.table
        key = (table.variant, table.schedule, table.wait_policy, case.governor)
        groups.setdefault(key, []).append(sharing)
    return list(groups.values())
