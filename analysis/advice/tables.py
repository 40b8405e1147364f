"""The tables of an advice: what was ruled out, and time against energy."""

from __future__ import annotations

from analysis.advice.model import Advice, Out, Point
from analysis.advice.tell import behind
from analysis.digits import time_decimals
from analysis.layouts import NOTHING
from analysis.table import Column, Table
from base.text import one_line
from runners.race.state import WHYS


def outs_table(advice: Advice) -> Table | None:
    """Return each case that was ruled out, the nearest to the best first; None when none was."""
    if not advice.outs:
        return None
    columns = (
        Column("case", right=False),
        Column("from the best", right=False),
        Column("after block"),
        Column("runs"),
        Column("p, uncorrected"),
        Column("why", right=False),
    )
    return Table("What was ruled out", columns, tuple(map(_out_row, advice.outs)))


def _out_row(out: Out) -> tuple[str, ...]:
    eliminated = out.eliminated
    why = WHYS.get(eliminated.why, eliminated.why)
    return (
        out.candidate.name,
        NOTHING if eliminated.worse_by is None else behind(eliminated.worse_by),
        str(eliminated.block) if eliminated.block else NOTHING,
        str(out.candidate.runs),
        NOTHING if eliminated.p is None else f"{eliminated.p:.1g}",
        one_line(f"{why}: {eliminated.reason}" if eliminated.reason else why),
    )


def points_table(advice: Advice) -> Table | None:
    """Return time against energy of the recommended case, the reference and the Pareto front."""
    shown = [
        point
        for point in advice.points
        if point.on_front or point.candidate in (advice.best, advice.reference)
    ]
    if not shown:
        return None
    columns = (
        Column("case", right=False),
        Column("runs"),
        Column("time mean", "s"),
        Column("energy mean", "J"),
        Column("Pareto front", right=False),
        Column("it is", right=False),
    )
    decimals = time_decimals(point.time_s for point in shown)
    rows = tuple(_point_row(advice, point, decimals) for point in shown)
    return Table("Time against package energy, all good runs of each case", columns, rows)


def _point_row(advice: Advice, point: Point, decimals: int) -> tuple[str, ...]:
    candidate = point.candidate
    roles = {advice.reference.case_id: "doing nothing"}
    if advice.best:
        taken = advice.best is advice.recommended
        roles[advice.best.case_id] = "recommended" if taken else "the best of the others"
    return (
        candidate.name,
        str(candidate.runs),
        f"{point.time_s:.{decimals}f}",
        f"{point.energy_j:.2f}",
        "yes" if point.on_front else NOTHING,
        roles.get(candidate.case_id, NOTHING),
    )
