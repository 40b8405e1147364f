"""One short run under perf, as a study's runs are made, that shows what this machine lets it count.

Whether a counter works is known only by opening it: guests, containers, seccomp filters and
permissions all refuse in their own way.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass

from runners.host.privileges import as_root
from runners.measure.perf.events import OLDEST_PERF, parse_perf_version
from runners.measure.perf.output import Row, parse_perf_output
from runners.measure.perf.stat import ENVIRONMENT

LIMIT_S = 20.0
_MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True)
class PerfTrial:
    """What `perf stat true` gave: its rows, or the problem that kept it from working.

    `version` is None when perf does not tell one: some distributions install a wrapper that only
    prints what else to install.
    """

    version: tuple[int, int] | None
    rows: tuple[Row, ...]
    problem: str = ""

    @property
    def user_only(self) -> bool:
        """Whether perf was kept to user mode."""
        return any(row.user_only for row in self.rows)

    def rows_of(self, pmu: str | None, others: int = 0) -> tuple[Row, ...]:
        """Return the rows of a core PMU; with no `others` beside it they have no PMU's name."""
        names = {pmu} if others else {pmu, None}
        return tuple(row for row in self.rows if row.pmu in names)


def try_perf(perf: str, events: str) -> PerfTrial:
    """Count `events` (a text for perf's `-e`) of the program `true`; some 20 ms."""
    try:
        # The two overlap: each spends its time in loading perf's libraries.
        with as_root(), _start([perf, "--version"], subprocess.PIPE, subprocess.STDOUT) as asked:
            try:
                status, text, said = _count_true(perf, events)
                version_text = asked.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
            finally:
                asked.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        return PerfTrial(None, (), f"{perf} does not run: {_one_line(str(error))}")
    version = parse_perf_version(version_text)
    rows = parse_perf_output(text).rows
    if status == 0 and rows:
        return PerfTrial(version, rows)
    if version is None:
        return PerfTrial(None, (), f"{perf} does not work: {_one_line(version_text)}")
    if version < OLDEST_PERF:
        oldest = ".".join(map(str, OLDEST_PERF))
        return PerfTrial(version, (), f"perf cannot be told when to count (version {oldest} can)")
    return PerfTrial(version, (), f"perf stat failed: {_one_line(said)}")


def _count_true(perf: str, events: str) -> tuple[int, str, str]:
    """Return perf's exit status, its rows and what it said on stderr."""
    with ExitStack() as opened:
        output = os.memfd_create("perf-trial")
        descriptors = (output, *os.pipe(), *os.pipe())
        for descriptor in descriptors:
            opened.callback(os.close, descriptor)
        _, control, _, _, acknowledge = descriptors
        columns = ("-x", ";", "-o", f"/proc/self/fd/{output}", "-e", events)
        command = [perf, "stat", *columns, "--control", f"fd:{control},{acknowledge}", "--", "true"]
        with _start(
            command, subprocess.DEVNULL, subprocess.PIPE, (output, control, acknowledge)
        ) as counting:
            try:
                said = counting.communicate(timeout=LIMIT_S)[1]
            finally:
                counting.kill()
        text = os.pread(output, 1 << 16, 0)
    return counting.returncode, text.decode(errors="replace"), said.decode(errors="replace")


def _start(
    command: list[str], out: int, err: int, passed: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        pass_fds=passed,
        env=dict(os.environ) | ENVIRONMENT,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_MAX_REASON_CHARACTERS] or "it says nothing"
