"""`run --undecided`: repeats undecided cases and their baselines, and looks at results again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from pinstudy.base.errors import UserError
from pinstudy.base.text import plural
from pinstudy.cli.output import say
from pinstudy.cli.study_run import make_runs
from pinstudy.configs.study import Study
from pinstudy.runners.study.machine import Assignment, Machine, MoreRuns, results_folder

if TYPE_CHECKING:
    from pinstudy.analysis.findings.glance import Undecided
    from pinstudy.runners.study.session import Session
    from pinstudy.runners.study.summary import PlanSummary


@dataclass(frozen=True)
class Limits:
    """Where repetitions end: at their number, and after so many seconds; None where nothing says.

    Without a number they end when those were made that were asked for at first.
    """

    repetitions: int | None = None
    time_budget_s: float | None = None


def limits_of(study: Study) -> Limits:
    """Return a study's limits."""
    if study.overrides.repetitions is not None:
        return Limits(study.overrides.repetitions)
    if study.decide:
        return Limits(study.decide.most, study.decide.time_budget_s)
    return Limits()


def undecided_in(folder: Path) -> Undecided:
    """Return what is undecided in a results folder; raises UserError without readable results."""
    from pinstudy.analysis.processes import in_another

    try:
        return in_another(_look, folder)
    except (OSError, BrokenProcessPool):
        return _look(folder)


def _look(folder: Path) -> Undecided:
    from pinstudy.analysis.answer import analyze
    from pinstudy.analysis.findings.glance import undecided_of
    from pinstudy.analysis.results.sources import open_results

    return undecided_of(analyze(open_results(str(folder))))


def repeat(
    machine: Machine,
    study: Study,
    results: Path,
    open_session: Callable[[MoreRuns], Session],
    *,
    quiet: bool,
) -> Session | None:
    """Repeat what is undecided, until it is decided or a limit is reached.

    Return the last session, None where nothing was to run: then the reason was told. `quiet` tells
    everything on stderr. Raises UserError without results, and as sessions do.
    """
    limits, made = limits_of(study), -1
    session: Session | None = None
    is_next = False
    while True:
        found = undecided_in(results_folder(results, study, machine.node))
        more, before = next_runs(machine, study, results, found, limits)
        if not more.of_case or before <= made:
            say(why_no_more(found), err=quiet)
            return session
        began_s, made = time.monotonic(), before
        session = open_session(more)
        make_runs(session, quiet, is_next=is_next)
        is_next = True
        if limits.repetitions is None:
            return session
        if limits.time_budget_s is not None:
            limits = replace(
                limits, time_budget_s=limits.time_budget_s - (time.monotonic() - began_s)
            )


def why_no_more(found: Undecided) -> str:
    """Return why nothing is repeated any more."""
    all_of = plural(found.comparisons, "comparison")
    if not found.comparisons:
        return "nothing is compared: nothing to repeat"
    if not found.count:
        return f"nothing is undecided: {all_of} decided"
    why = "the limit of repetitions or of time is reached"
    if not found.by_repetitions:
        why = "more repetitions here do not decide them"
    return f"{found.count} of {all_of} undecided: {why}"


def next_runs(
    machine: Machine, study: Study, results: Path, found: Undecided, limits: Limits
) -> tuple[MoreRuns, int]:
    """Return how many more runs to make of which cases, and how many repetitions were made."""
    made = machine.summary(study, results).history.last_repetition

    def seconds_of(more: MoreRuns) -> float | None:
        return machine.summary(study, results, Assignment(again=more)).left_s

    return more_runs(found, made, limits, seconds_of), made


def plan_again(
    machine: Machine, study: Study, results: Path
) -> tuple[Undecided, PlanSummary | None]:
    """Return what is undecided, and the plan to repeat it; None where nothing is to run.

    Raises UserError without results, and for a recorded node.
    """
    if not machine.live:
        raise UserError("--undecided: a recorded node has no results; leave out --sysroot")
    limits = limits_of(study)
    found = undecided_in(results_folder(results, study, machine.node))
    more, _ = next_runs(machine, study, results, found, limits)
    if not more.of_case:
        return found, None
    return found, machine.summary(study, results, Assignment(again=more))


def more_runs(
    found: Undecided, made: int, limits: Limits, seconds_of: Callable[[MoreRuns], float | None]
) -> MoreRuns:
    """Return how many more runs to make within limits, after `made` repetitions.

    `seconds_of` returns the expected seconds of runs, None where nobody knows.
    """
    most = inf if limits.repetitions is None else limits.repetitions - made
    more = MoreRuns(_positive({c: min(n, most) for c, n in found.more.items()}), found.look)
    expected_s = seconds_of(more) if more.of_case and limits.time_budget_s is not None else None
    if expected_s is None or limits.time_budget_s is None or expected_s <= limits.time_budget_s:
        return more
    share = limits.time_budget_s / expected_s
    return MoreRuns(_positive({c: n * share for c, n in more.of_case.items()}), found.look)


def _positive(numbers: Mapping[str, float]) -> dict[str, int]:
    return {case_id: int(number) for case_id, number in numbers.items() if number >= 1}
