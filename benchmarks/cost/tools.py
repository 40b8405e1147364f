"""The tools that pinstudy is compared with: how each runs a program, and the times it reports.

Each is used as its manual times a command, without a shell and without warm-up runs if it has such
options, so that all of them start the program equally often.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from benchmarks.lib.kernel import write_study
from pinstudy.runners.measure.perf.events import event_list
from pinstudy.runners.records.perf.output import parse_perf_output

# perf's own event for the time of a run, in nanoseconds (perf-stat(1)).
DURATION = "duration_time"
_ELAPSED = re.compile(r"^\s*([0-9.]+)(?: \+- [0-9.]+)? seconds time elapsed", re.MULTILINE)


@dataclass(frozen=True)
class Used:
    """One use of a tool: when it began and ended, in seconds of CLOCK_MONOTONIC.

    `reported_s` are the times that it reports, in seconds; only one from a tool that reports their
    mean.
    """

    began_s: float
    ended_s: float
    reported_s: tuple[float, ...] = ()

    @property
    def wall_s(self) -> float:
        """Seconds from its begin to its end."""
        return self.ended_s - self.began_s


class Tool(Protocol):
    """A tool that runs and times programs; `missing` is the reason why it cannot, or empty."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def what(self) -> str:
        """How it is used here, in a few words."""

    @property
    def missing(self) -> str:
        """Why it is not used."""

    def use(self, command: Sequence[str], runs: int) -> Used:
        """Run the command `runs` times."""

    def line(self, command: Sequence[str], runs: int) -> list[str]:
        """Return the tool's command line for `runs` runs; empty if it has none.

        It serves once: the tool's older output is deleted.
        """


class Bare:
    """No tool: the cost that all of them share."""

    name = "bare"
    what = "posix_spawn and waitpid in a loop; it reports the time between both"
    missing = ""

    def use(self, command: Sequence[str], runs: int) -> Used:
        """Start the command and wait for its end, `runs` times."""
        quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        program = shutil.which(command[0]) or command[0]
        times = []
        began_s = time.monotonic()
        for _ in range(runs):
            started_s = time.monotonic()
            pid = os.posix_spawn(program, list(command), os.environ, file_actions=quiet)
            os.waitpid(pid, 0)
            times.append(time.monotonic() - started_s)
        return Used(began_s, time.monotonic(), tuple(times))

    def line(self, _command: Sequence[str], _runs: int) -> list[str]:
        """Return no command line: the only process is the benchmark's own."""
        return []


@dataclass(frozen=True)
class Peer:
    """A tool that reports to a file; with `one_a_run` it is started for each run.

    `options` are the command with an output file and a number of runs, `reported` reads that file.
    A tool that splits a command line itself gets it `in_one_word`.
    """

    name: str
    what: str
    missing: str
    output: Path
    options: Callable[[str, int], list[str]]
    reported: Callable[[str], tuple[float, ...]]
    one_a_run: bool = False
    in_one_word: bool = False

    def use(self, command: Sequence[str], runs: int) -> Used:
        """Run the command `runs` times."""
        in_a_use = 1 if self.one_a_run else runs
        reports = []
        began_s = time.monotonic()
        for _ in range(runs // in_a_use):
            run_quietly(self.line(command, in_a_use))
            reports.append(self.output.read_text(encoding="utf-8"))
        ended_s = time.monotonic()
        return Used(began_s, ended_s, tuple(s for text in reports for s in self.reported(text)))

    def line(self, command: Sequence[str], runs: int) -> list[str]:
        """Return its command line, and delete its older output."""
        self.output.unlink(missing_ok=True)
        words = [" ".join(command)] if self.in_one_word else command
        return [*self.options(str(self.output), runs), *words]


def peers(folder: Path) -> list[Tool]:
    """Return all tools but pinstudy; their output goes to the folder."""
    no_perf = "" if shutil.which("perf") else "perf is not installed"
    return [
        Bare(),
        Peer(
            name="perf stat",
            what="one for each run, with pinstudy's events",
            missing=no_perf,
            output=folder / "perf.csv",
            options=lambda output, _runs: _perf_stat(output),
            reported=perf_seconds,
            one_a_run=True,
        ),
        Peer(
            name="perf stat -r",
            what="one for all runs, with the same events; it reports the mean of their times",
            missing=no_perf,
            output=folder / "perf-r.txt",
            options=lambda output, runs: [*_perf_stat_r(output), "-r", str(runs)],
            reported=perf_r_seconds,
        ),
        Peer(
            name="hyperfine",
            what="-N (no shell) --warmup 0",
            missing="" if shutil.which("hyperfine") else "hyperfine is not installed",
            output=folder / "hyperfine.json",
            options=_hyperfine,
            reported=hyperfine_seconds,
            in_one_word=True,
        ),
        Peer(
            name="pyperf",
            what="command -p 1 -w 0 -l 1: its worker starts a Python for each value, which starts "
            "the program",
            missing="" if find_spec("pyperf") else "pyperf is not installed",
            output=folder / "pyperf.json",
            options=_pyperf,
            reported=pyperf_seconds,
        ),
    ]


def _perf_stat(output: str) -> list[str]:
    return ["perf", "stat", "-x", ";", "-o", output, "-e", f"{DURATION},{event_list()}"]


def _perf_stat_r(output: str) -> list[str]:
    # Its text, because duration_time is that of the last run only (perf 6.1).
    return ["perf", "stat", "-o", output, "-e", event_list()]


def _hyperfine(output: str, runs: int) -> list[str]:
    few = ["-N", "--warmup", "0", "--style", "none"]
    return ["hyperfine", *few, "--runs", str(runs), "--export-json", output]


def _pyperf(output: str, runs: int) -> list[str]:
    few = ["-q", "-p", "1", "-w", "0", "-l", "1"]
    return [sys.executable, "-m", "pyperf", "command", *few, "-n", str(runs), "-o", output]


def run_quietly(line: Sequence[str]) -> None:
    """Run a command line to its end; SystemExit with its stderr when it fails."""
    done = subprocess.run(
        line,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C"},
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(line)}: {done.stderr.strip()}")


def perf_seconds(output: str) -> tuple[float, ...]:
    """Return the time of a run from `perf stat -x`; ValueError without one."""
    for row in parse_perf_output(output).rows:
        if row.event == DURATION and row.value is not None:
            return (row.value / 1e9,)
    raise ValueError(f"perf printed no {DURATION}")


def perf_r_seconds(output: str) -> tuple[float, ...]:
    """Return the mean time of the runs from the text of `perf stat -r`; ValueError without one."""
    match = _ELAPSED.search(output)
    if not match:
        raise ValueError("perf printed no time elapsed")
    return (float(match[1]),)


def hyperfine_seconds(exported: str) -> tuple[float, ...]:
    """Return the times of the runs of the only command in a file of `--export-json`."""
    (result,) = json.loads(exported)["results"]
    return tuple(result["times"])


def pyperf_seconds(suite: str) -> tuple[float, ...]:
    """Return the values of the only benchmark in pyperf's file, of all its workers in order."""
    (benchmark,) = json.loads(suite)["benchmarks"]
    return tuple(value for run in benchmark["runs"] for value in run.get("values", ()))


def versions() -> list[str]:
    """Return name and version of each peer, or why there is none."""
    commands = {
        "perf": ["perf", "--version"],
        "hyperfine": ["hyperfine", "--version"],
        "pyperf": [sys.executable, "-c", "import pyperf; print('pyperf', pyperf.__version__)"],
    }
    lines = []
    for name, command in commands.items():
        try:
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            output = f"{name}: n/a, because it is not installed"
        lines.append(output.strip())
    return lines


PINSTUDY = Path(__file__).resolve().parent.parent.parent / "bin" / "pinstudy"


@dataclass(frozen=True)
class Pinstudy:
    """pinstudy under one mapping; its files stay in the folder until its next use."""

    name: str
    what: str
    mapping: str
    folder: Path
    missing: str = ""

    def use(self, command: Sequence[str], runs: int) -> Used:
        """Run the command in a new study with `runs` repetitions, tables included.

        Raises SystemExit when a run was not good.
        """
        line = self.line(command, runs)
        began_s = time.monotonic()
        run_quietly(line)
        ended_s = time.monotonic()
        records = self.records()
        bad = [record["reason"] for record in records if record["status"] != "ok"]
        if bad or len(records) != runs:
            raise SystemExit(f"{len(records)} of {runs} runs were made; not good: {bad}")
        return Used(began_s, ended_s, tuple(record["elapsed_s"] for record in records))

    def line(self, command: Sequence[str], runs: int) -> list[str]:
        """Write the study of a command, delete older results, and return the command line."""
        shutil.rmtree(self.folder, ignore_errors=True)
        study = write_study(self.folder, "cost", command, [self.mapping], runs)
        results = self.folder / "results"
        return [str(PINSTUDY), "run", str(study), "--results", str(results), "--no-report"]

    def records(self) -> list[dict[str, Any]]:
        """Return the records of the last use."""
        (shard,) = self.folder.glob("results/cost/*/records/*.jsonl")
        return [json.loads(line) for line in shard.read_text(encoding="utf-8").splitlines()]


def pinstudies(folder: Path) -> list[Pinstudy]:
    """Return pinstudy without and with a pinned program."""
    return [
        Pinstudy(
            "pinstudy",
            "mapping unpinned: counters, placement, surroundings, a record on the disk each run",
            "unpinned",
            folder / "unpinned",
        ),
        Pinstudy(
            "pinstudy, pinned",
            "the same with pcores-pin: the program on one CPU, pinstudy and perf on others",
            "pcores-pin",
            folder / "pinned",
        ),
    ]
