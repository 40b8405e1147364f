"""The progress of a study, or of measuring pairs of CPUs: a bar on a terminal, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pinstudy.base.text import printable
from pinstudy.base.units import duration, percent
from pinstudy.cli.output import say, styled
from pinstudy.configs.settings import recorded_words
from pinstudy.configs.study import CURRENT_GOVERNOR, RUNTIME_DEFAULT
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.race_state import WHYS, Eliminated
from pinstudy.runners.records.status import FAILED, OK, last_words
from pinstudy.runners.study.summary import PlanSummary

if TYPE_CHECKING:
    from pinstudy.analysis.format.lines import Line
    from pinstudy.cli.live_grid import LiveGrid

# What stands on a terminal beside the grid: the bar, and what was said last.
_OTHER_LINES = 4
# Called with each record; raises where the record shows that no further run makes sense.
CheckRecord = Callable[[Mapping[str, Any]], None]
# Called with the expected seconds of all pending runs.
Expect = Callable[[float | None], None]


# What returns lines for a terminal of so many columns and lines.
Above = Callable[[int, int], Sequence["Line"]]

# The number of a bar's only task.
_TASK: Any = 0


def open_bar(total: int | None, above: Above = lambda *_: []) -> Any:  # noqa: ANN401 - rich is imported on a terminal only
    """Return a bar on the terminal, below the lines of `above`; None without a terminal.

    `total` is None where it is unknown. `above` gets the terminal's columns and lines.
    """
    if not sys.stderr.isatty():
        return None
    from rich.console import Console, Group, RenderableType
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True, markup=False, highlight=False)

    class Bar(Progress):
        def get_renderable(self) -> RenderableType:
            lines = above(console.width, console.height)
            return Group(*map(styled, lines), super().get_renderable())

    bar = Bar(
        MofNCompleteColumn(),
        BarColumn(bar_width=24),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        # A refreshing thread would wake up ten times a second while something is measured.
        auto_refresh=False,
    )
    bar.add_task("", total=total)
    bar.start()
    return bar


class TerminalProgress:
    """Shows case, repetition and the time left; reports at once a run that was not ok."""

    def __init__(
        self,
        summary: PlanSummary,
        check: CheckRecord | None = None,
        expect: Expect | None = None,
        decided: Callable[[], bool] = lambda: False,
    ) -> None:
        """`check` is called with each record after it was shown, `expect` before each run.

        `decided` returns whether what is recorded decides every comparison.
        """
        study = summary.study
        self._check, self._expect, self._decided = check, expect, decided
        self._of = f"/{study.repetitions}"
        if study.decide:
            self._of = f" of {study.decide.first} to {study.repetitions}"
        self._race = study.race is not None
        if self._race:
            self._of = ""
        is_open = study.decide or self._race
        self._at_most = "at most " if is_open else ""
        self._total = summary.left
        self._done = 0
        self._skipped: set[str] = set()
        self._bar: Any = None
        self._grid: LiveGrid | None = None
        if sys.stderr.isatty() and not self._race:
            # Its libraries may be missing, as on a compute node.
            with suppress(ImportError):
                from pinstudy.cli.live_grid import LiveGrid

                self._grid = LiveGrid(summary.plan.cases, summary.history.good)

    def __enter__(self) -> TerminalProgress:
        if self._total:
            self._bar = open_bar(None if self._race else self._total, self._so_far)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar:
            self._bar.stop()

    def starting(self, case: Case, planned: PlannedRun, left_s: float | None) -> None:
        """Show the run that starts, and the expected time of all that is left."""
        if self._expect:
            self._expect(left_s)
        which = "warm-up" if planned.warmup else f"repetition {planned.repetition}{self._of}"
        at_most = "" if left_s is None else self._at_most
        run, left = f"{self._label(case)}, {which}", f"{at_most}{duration(left_s)} left"
        # A terminal cuts what is too long for it at the end.
        self._show(f"{left}: {run}" if self._bar else f"{run}, {left}")

    def finished(self, record: Mapping[str, Any]) -> None:
        """Count the run; report its status and reason unless it was ok."""
        self._count()
        if self._grid:
            self._grid.add(record)
        if record["status"] != OK:
            under = f", {words}" if (words := recorded_words(record)) else ""
            name = f"{record['app']} {record['mapping']} {record['governor']}{under}"
            said = last_words(record) if record["status"] == FAILED else ""
            self._say(f"{name}: {record['status']}: {record['reason']}{said}")
        if self._check:
            self._check(record)

    def skipped(self, case: Case, reason: str) -> None:
        """Count the run that is not made; report the reason once for each case."""
        self._count()
        if case.case_id not in self._skipped:
            self._skipped.add(case.case_id)
            self._say(f"left out: {case.label}: {reason}")

    def eliminated(self, out: Sequence[tuple[Case, Eliminated]]) -> None:
        """Report which cases make no more runs, and why; each reason once."""
        by_reason: dict[str, list[str]] = {}
        for case, one in out:
            worse_by = one.worse_by or 0.0
            behind = f" ({percent(worse_by)} behind the best)" if worse_by > 0 else ""
            reason = ": ".join(filter(None, (WHYS[one.why], one.reason)))
            by_reason.setdefault(reason, []).append(f"{self._label(case)}{behind}")
        for reason, labels in by_reason.items():
            self._say(f"ruled out: {'; '.join(labels)}: {reason}")

    def decided(self, repetitions: int) -> bool:
        """Return whether all comparisons are decided; report what came of the look."""
        self._show(f"looking at the results of {repetitions} repetitions")
        is_decided = self._decided()
        found = "every comparison is decided" if is_decided else "not every comparison is decided"
        self._say(f"after {repetitions} repetitions: {found}")
        return is_decided

    def out_of_time(self, repetitions: int) -> None:
        """Report why there are no more repetitions."""
        self._say(f"after {repetitions} repetitions: the time is up")

    def waiting(self, reason: str) -> None:
        """Show what the run waits for, until it starts."""
        self._show(reason)

    def warned(self, warning: str) -> None:
        """Report what disturbs the runs."""
        self._say(warning)

    def _so_far(self, columns: int, height: int) -> list[Line]:
        """Return what is known of each comparison; nothing where it would fill the terminal."""
        if self._grid is None:
            return []
        from pinstudy.analysis.overview.text import grid_lines

        overview = self._grid.overview()
        lines = [line for grid in overview.leading for line in grid_lines(overview, grid, columns)]
        return lines if len(lines) + _OTHER_LINES <= height else []

    def _label(self, case: Case) -> str:
        """Return a case's name; cases of a race differ by schedule, waiting and governor too."""
        if not self._race:
            return case.label
        team, mapping = case.engine.team_in_words(case.threads), case.mapping.name
        waiting = "" if case.wait_policy == RUNTIME_DEFAULT else f", waiting {case.wait_policy}"
        how = f", schedule {case.schedule}" if case.takes_schedule else ""
        under = f", {words}" if (words := case.settings.words) else ""
        governor = case.governor
        set_to = "" if governor == CURRENT_GOVERNOR else f", governor {governor}"
        return f"{team}, {mapping}{how}{waiting}{set_to}{under}"

    def _show(self, text: str) -> None:
        if self._bar:
            self._bar.update(_TASK, description=printable(text), refresh=True)
            return
        # Work after the last run has no number among the runs.
        left = self._race or self._done < self._total
        total = "" if self._race else f"/{self._at_most}{self._total}"
        number = f"[{self._done + 1}{total}] " if left else ""
        say(f"{number}{text}", err=True)

    def _count(self) -> None:
        self._done += 1
        if self._bar:
            self._bar.advance(_TASK)

    def _say(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(printable(text))
        else:
            say(text, err=True)


# Drawing takes time of a CPU whose latency may be measured meanwhile.
REDRAWN_EVERY_S = 0.5


@contextmanager
def pair_progress(pairs: int) -> Iterator[Callable[[int, int, float | None], None]]:
    """Show how many pairs are done and the time left; yield the function that updates them."""
    bar = open_bar(pairs)
    shown_s = 0.0

    def done(number: int, _of: int, left_s: float | None) -> None:
        nonlocal shown_s
        now_s = time.monotonic()
        if bar and (now_s - shown_s > REDRAWN_EVERY_S or number == pairs):
            shown_s = now_s
            text = "pairs" if left_s is None else f"pairs, about {duration(left_s)} left"
            bar.update(_TASK, completed=number, description=text, refresh=True)

    try:
        yield done
    finally:
        if bar:
            bar.stop()
