"""What programs that run beside each other cost each other: both against running alone.

Each interval is of its comparison alone: a slowdown is an effect to be known, not a choice to be
made, so nothing is corrected for the number of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from pinstudy.analysis.objectives import TIME, Objective
from pinstudy.analysis.results.alone import alone_of
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.case_caveats import modes_of_values, why_not_compared
from pinstudy.analysis.verdict.comparisons import difference_between
from pinstudy.analysis.verdict.model import CaseFinding, Caveat, Slowdown
from pinstudy.analysis.verdict.values import Values, difference_of, values_by_case

_CO_RUNNER_TIME = Objective(TIME, "co_runner_elapsed_s", TIME.noun, TIME.unit)


def slowdowns_of(
    cases: Sequence[Case], values: Mapping[str, Values], frame: pd.DataFrame | None
) -> dict[str, Slowdown]:
    """Return how each case that something ran beside, and that, do against running alone.

    `values` are those of `frame`, the runs, by case_id; without runs the means are compared.
    """
    pairs = alone_of(cases)
    if not pairs:
        return {}
    co_runner_times = {} if frame is None else values_by_case(frame, [_CO_RUNNER_TIME])
    return {
        case_id: Slowdown(
            alone.program.key.number if alone.program else None,
            difference_between(alone.case, alone.program, values, TIME) if alone.program else None,
            _of_co_runner(alone.case, alone.co_runner, co_runner_times, values),
            alone.co_runner.time.mean if alone.co_runner else float("nan"),
        )
        for case_id, alone in pairs.items()
    }


def _of_co_runner(
    case: Case,
    alone: Case | None,
    co_runner_times: Mapping[str, Values],
    values: Mapping[str, Values],
) -> Difference | None:
    """Return the co-runner's time beside the program against its time alone, block by block."""
    if alone is None or not (case.lost.usable and alone.lost.usable):
        return None
    mine, theirs = co_runner_times.get(case.key.case_id), values.get(alone.key.case_id)
    return difference_of(mine, theirs, TIME) if mine and theirs else None


def why_not_program(case: CaseFinding) -> Caveat:
    """Return why a program's slowdown is not known."""
    assert case.slowdown
    if case.slowdown.alone is None:
        return Caveat("no case alone", (case.case_id,))
    return _too_few(case)


def why_not_co_runner(case: CaseFinding) -> Caveat:
    """Return why the slowdown of a case's co-runner is not known."""
    measured = case.summary.stats["co_runner_elapsed_s"]
    if reasons := case.summary.circumstances.reasons.get("co_runner_elapsed_s"):
        lacking = (case.summary.n or 0) - (measured.n or 0)
        facts = {"runs": lacking, "reasons": tuple(reasons)}
        return Caveat("co-runner not measured", (case.case_id,), facts)
    return _too_few(case)


def _too_few(case: CaseFinding) -> Caveat:
    lost = next(why_not_compared(case, None, TIME), None)
    if lost is not None and lost.code == "lost too many":
        return lost
    modes = next(modes_of_values(case, TIME), None)
    return modes or Caveat("no two samples", (case.case_id,))
