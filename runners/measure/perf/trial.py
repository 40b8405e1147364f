"""One short run under perf that shows what this machine lets a study's runs count.

Only opening a counter shows whether it works: guests, containers, seccomp filters and permissions
all refuse in their own way.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass

from base.command import CommandResult, run
from base.text import one_line
from runners.host.privileges import as_root
from runners.measure.perf.events import OLDEST_PERF, parse_perf_version
from runners.measure.perf.output import Row, parse_perf_output
from runners.measure.perf.stat import perf_environment

LIMIT_S = 20.0


@dataclass(frozen=True)
class PerfTrial:
    """The result of `perf stat true`: its rows, or the problem that kept it from working.

    `version` is None when perf prints none: some distributions install a wrapper that only prints
    what else to install.
    """

    version: tuple[int, int] | None
    rows: tuple[Row, ...]
    problem: str = ""

    @property
    def user_only(self) -> bool:
        """Whether perf was restricted to user mode."""
        return any(row.user_only for row in self.rows)

    def rows_of(self, pmu: str | None, others: int = 0) -> tuple[Row, ...]:
        """Return the rows of a core PMU; if there are no `others`, perf prints no PMU."""
        names = {pmu} if others else {pmu, None}
        return tuple(row for row in self.rows if row.pmu in names)


def try_perf(perf: str, events: str) -> PerfTrial:
    """Count `events` (a text for perf's `-e`) of the program `true`; some 20 ms."""
    with as_root():
        asked = run([perf, "--version"], LIMIT_S, environment=perf_environment())
        counted, text = _count_true(perf, events)
    if problem := asked.problem or counted.problem:
        return PerfTrial(None, (), f"{perf} does not run: {problem}")
    version = parse_perf_version(asked.stdout)
    rows = parse_perf_output(text).rows
    if counted.status == 0 and rows:
        return PerfTrial(version, rows)
    if version is None:
        return PerfTrial(None, (), f"{perf} does not work: {_words(asked.stdout + asked.stderr)}")
    if version < OLDEST_PERF:
        oldest = ".".join(map(str, OLDEST_PERF))
        return PerfTrial(version, (), f"perf cannot be told when to count (version {oldest} can)")
    return PerfTrial(version, (), f"perf stat failed: {_words(counted.stderr)}")


def _count_true(perf: str, events: str) -> tuple[CommandResult, str]:
    """Return how perf ended, and its rows."""
    with ExitStack() as opened:
        output = os.memfd_create("perf-trial")
        descriptors = (output, *os.pipe(), *os.pipe())
        for descriptor in descriptors:
            opened.callback(os.close, descriptor)
        _, control, _, _, acknowledge = descriptors
        columns = ("-x", ";", "-o", f"/proc/self/fd/{output}", "-e", events)
        command = [perf, "stat", *columns, "--control", f"fd:{control},{acknowledge}", "--", "true"]
        passed = (output, control, acknowledge)
        counted = run(command, LIMIT_S, environment=perf_environment(), pass_fds=passed)
        return counted, os.pread(output, 1 << 16, 0).decode(errors="replace")


def _words(text: str) -> str:
    return one_line(text) or "it says nothing"
