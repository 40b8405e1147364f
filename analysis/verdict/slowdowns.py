"""What programs that run beside each other cost each other: both against running alone.

Each interval is of its comparison alone: a slowdown is an effect to be known, not a choice to be
made, so nothing is corrected for the number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from analysis.format.numbers import NOTHING, finite, fixed, time_decimals
from analysis.format.table import Column, Notes, Table, joined
from analysis.objectives import TIME, Objective
from analysis.results.alone import alone_of
from analysis.results.case import Case
from analysis.statistics.difference import Difference
from analysis.verdict.caveats import modes_in_words
from analysis.verdict.comparisons import difference_between
from analysis.verdict.model import CaseFinding, Slowdown, TableFindings
from analysis.verdict.phrases import change, each_case
from analysis.verdict.tables import ratio_interval, ratio_text
from analysis.verdict.values import Values, difference_of, values_by_case
from base.text import one_line, plural

NOT_MEASURED = "not measured"
_TIME_BESIDE = Objective(TIME, "beside_elapsed_s", TIME.noun, TIME.unit)


def slowdowns_of(
    cases: Sequence[Case], values: Mapping[str, Values], frame: pd.DataFrame | None
) -> dict[str, Slowdown]:
    """Return how each case that something ran beside, and that, do against running alone.

    `values` are those of `frame`, the runs, by case_id; without runs the means are compared.
    """
    pairs = alone_of(cases)
    if not pairs:
        return {}
    beside = {} if frame is None else values_by_case(frame, [_TIME_BESIDE])
    return {
        case_id: Slowdown(
            alone.program.key.number if alone.program else None,
            difference_between(alone.case, alone.program, values, TIME) if alone.program else None,
            _of_co_runner(alone.case, alone.co_runner, beside, values),
            alone.co_runner.time.mean if alone.co_runner else float("nan"),
        )
        for case_id, alone in pairs.items()
    }


def _of_co_runner(
    case: Case,
    alone: Case | None,
    beside: Mapping[str, Values],
    values: Mapping[str, Values],
) -> Difference | None:
    """Return the co-runner's time beside the program against its time alone, block by block."""
    if alone is None or not (case.lost.usable and alone.lost.usable):
        return None
    mine, theirs = beside.get(case.key.case_id), values.get(alone.key.case_id)
    return difference_of(mine, theirs, TIME) if mine and theirs else None


def slowdown_sentences(table: TableFindings) -> Iterator[str]:
    """Yield what programs and co-runners of a table cost each other, one for each co-runner."""
    cases = [case for case in table.cases if case.slowdown and case.summary.has_runs]
    for beside in dict.fromkeys(case.summary.key.beside for case in cases):
        those = [case for case in cases if case.summary.key.beside == beside]
        changes = "; ".join(each_case(those, _in_words))
        yield one_line(
            f"Beside {beside}, against each alone, with 95 % intervals each by itself: {changes}.",
            None,
        )


def _in_words(case: CaseFinding) -> str:
    slowdown = case.slowdown
    assert slowdown
    of_program, of_co_runner = slowdown.of_program, slowdown.of_co_runner
    program = change(of_program, TIME) if of_program else _why_not_program(case)
    co_runner = change(of_co_runner, TIME) if of_co_runner else _why_not_co_runner(case)
    than = f" (#{slowdown.alone} is that alone)" if slowdown.alone is not None else ""
    return f"#{case.number} {case.mapping}{than} {program}, the co-runner {co_runner}"


def _why_not_program(case: CaseFinding) -> str:
    assert case.slowdown
    if case.slowdown.alone is None:
        return f"{NOT_MEASURED}, because the study has no case of it with nothing beside it"
    return f"{NOT_MEASURED}, because {_too_few(case)}"


def _why_not_co_runner(case: CaseFinding) -> str:
    measured = case.summary.stats["beside_elapsed_s"]
    if reasons := case.summary.circumstances.reasons.get("beside_elapsed_s"):
        runs = case.summary.n or 0
        lacking = plural(runs - (measured.n or 0), "run")
        return f"{NOT_MEASURED} in {lacking}, because {joined(reasons)}"
    return f"{NOT_MEASURED}, because {_too_few(case)}"


def _too_few(case: CaseFinding) -> str:
    if not case.lost.usable:
        return f"too many runs were lost ({case.lost.summary()})"
    if TIME in case.modes:
        return f"its runs are in several modes ({modes_in_words(case.modes[TIME], TIME)})"
    return (
        "one of the two has fewer than two usable runs, or runs in several modes, or their runs "
        "were not made in turn"
    )


def slowdown_table(table: TableFindings) -> Table | None:
    """Return each case beside its co-runner, both against running alone; None without any."""
    cases = [case for case in table.cases if case.slowdown and case.summary.has_runs]
    if not cases:
        return None
    notes = Notes()
    measured = [case.summary.stats["beside_elapsed_s"].mean for case in cases]
    decimals = time_decimals(mean for mean in measured if finite(mean) is not None)
    columns = (
        *(Column("#"), Column("mapping", right=False), Column("governor", right=False)),
        *(Column("beside", right=False), Column("# alone")),
        *(Column("slowdown"), Column("95 % interval")),
        *(Column("co-runner's time", "s"), Column("alone", "s"), Column("executions", "1/s")),
        *(Column("co-runner's slowdown"), Column("95 % interval")),
    )
    cells = tuple(_cells(case, decimals, notes) for case in cases)
    general = (
        "slowdown: ratio of typical times, beside the other over alone; each interval is of that "
        "comparison alone",
        "executions that began and ended while the program ran; energy of packages is that of "
        "both programs",
    )
    return Table(
        f"{table.title}: what programs beside each other cost each other",
        columns,
        cells,
        notes.listed() + tuple(("", text) for text in general),
        tuple(raw_slowdown(case) for case in cases),
    )


def _cells(case: CaseFinding, decimals: int, notes: Notes) -> tuple[str, ...]:
    slowdown = case.slowdown
    assert slowdown
    measures = case.summary.stats
    program = _ratio(slowdown.of_program, lambda: notes.marker(_why_not_program(case)))
    co_runner = _ratio(slowdown.of_co_runner, lambda: notes.marker(_why_not_co_runner(case)))
    times = (measures["beside_elapsed_s"].mean, slowdown.co_runner_alone_s)
    return (
        *(str(case.number), one_line(case.mapping), one_line(case.governor)),
        one_line(case.summary.key.beside or ""),
        NOTHING if slowdown.alone is None else str(slowdown.alone),
        *program,
        *(NOTHING if finite(time) is None else fixed(time, decimals) for time in times),
        _rate(measures["beside_rate_hz"].mean),
        *co_runner,
    )


def _rate(mean: float) -> str:
    return NOTHING if finite(mean) is None else fixed(mean, 2)


def _ratio(difference: Difference | None, marker: Callable[[], str]) -> tuple[str, str]:
    if difference is None:
        return f"n/a ({marker()})", NOTHING
    return ratio_text(difference.ratio), ratio_interval(difference)


def raw_slowdown(case: CaseFinding) -> dict[str, object]:
    """Return what a case and its co-runner cost each other, unrounded."""
    slowdown = case.slowdown
    assert slowdown
    measures = case.summary.stats
    values: dict[str, object] = {
        "case_id": case.case_id,
        "case_number": case.number,
        "mapping": one_line(case.mapping),
        "governor": one_line(case.governor),
        "beside": case.summary.key.beside,
        "alone_number": slowdown.alone,
        "beside_elapsed_mean_s": finite(measures["beside_elapsed_s"].mean),
        "beside_alone_mean_s": finite(slowdown.co_runner_alone_s),
        "beside_rate_mean_hz": finite(measures["beside_rate_hz"].mean),
    }
    for name, of in (("slowdown", slowdown.of_program), ("beside_slowdown", slowdown.of_co_runner)):
        interval = of.known_interval() if of else None
        values |= {
            name: of.ratio if of else None,
            f"{name}_low": finite(interval.low) if interval else None,
            f"{name}_high": finite(interval.high) if interval else None,
            f"{name}_n": of.n if of else None,
            f"{name}_paired": of.paired if of else None,
        }
    return values
