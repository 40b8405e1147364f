"""The processes of a run, as its launch starts them: the program's, or one for each team."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Protocol

from pinstudy.runners.execution.rank_processes import RankProcesses
from pinstudy.runners.execution.region_marks import RegionMarks
from pinstudy.runners.execution.witness import Ending, WitnessProcess
from pinstudy.runners.plan.launch import Launch

# What the program writes to stdout and to stderr, and what its launcher says.
Streams = tuple[IO[bytes], IO[bytes], IO[bytes]]


class Processes(Protocol):
    """A run's processes, which wait before their exec; `close` leaves none behind."""

    @property
    def pids(self) -> tuple[int, ...]:
        """The process number of each team's program."""

    @property
    def witness_pids(self) -> tuple[int, ...]:
        """The process number of each program's parent."""

    @property
    def window_ns(self) -> tuple[int, int]:
        """The time from the first start to the last end by CLOCK_MONOTONIC; 0 where not known."""

    @property
    def endings(self) -> tuple[Ending, ...]:
        """How each team ended; none of a program that is the only one."""

    @property
    def facts(self) -> Mapping[str, float]:
        """What the launcher took, by the record's field."""

    def go(self) -> None:
        """Let all start."""

    def wait_ended(self, timeout_s: float) -> bool:
        """Wait up to so many seconds; return whether all have ended."""

    def kill(self) -> None:
        """Kill all."""

    def reap(self) -> Ending:
        """Collect how all ended, and what they used together."""

    def close(self) -> None:
        """End what is left of them."""


def start_processes(
    witness: Path,
    launch: Launch,
    streams: Streams,
    folder: Path | None = None,
    regions: RegionMarks | None = None,
) -> Processes:
    """Start the launcher, and stop all programs before their exec; raises LaunchError."""
    out, err, log = streams
    if launch.ranks:
        # The launcher of ranks passes on what they print, with messages of its own.
        return RankProcesses(witness, launch, out, err, folder)
    environment = launch.environment
    inherited: tuple[int, ...] = ()
    if regions:
        environment, inherited = environment | regions.environment, (regions.descriptor,)
    started = (witness, launch.launcher, launch.program, environment)
    return WitnessProcess(*started, out, err, log, folder=folder, inherited=inherited)
