"""Controls the ranks of an MPI job: one witness for each, which the job's launcher starts.

The steps are those of a WitnessProcess. All ranks wait before their exec until all are there, so
neither counters nor the measured time include the launcher's start-up.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from pinstudy.base.command import wait_for
from pinstudy.base.errors import StudyError
from pinstudy.base.text import one_line
from pinstudy.base.waiting import readable
from pinstudy.runners.execution.output_file import temporary_folder
from pinstudy.runners.execution.witness import (
    LAUNCH_LIMIT_S,
    Ending,
    LaunchError,
    Strays,
    Witness,
    end_launcher,
    launch_failure,
    start_launcher,
)
from pinstudy.runners.host.processes import children_of, read_cpu_time
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.mpi import multiple_programs, needs_file, started_ranks

# unix(7)
MAX_SOCKET_PATH = 107
# How often the launcher is looked at while its ranks have not come.
_PAUSE_S = 0.02


class RankProcesses:
    """One run's launcher and its ranks; `close` leaves no process behind."""

    def __init__(
        self,
        witness: Path,
        launch: Launch,
        out: IO[bytes],
        err: IO[bytes],
        folder: Path | None = None,
    ) -> None:
        """Start the launcher, and stop all ranks before their exec."""
        self._err = err
        self._ranks: list[Witness] = []
        self._ended: dict[int, Ending] = {}
        self._name = Path(launch.launcher[0]).name
        # What is there only until the ranks have come is not left behind by a kill -9 after that.
        with temporary_folder() as meeting, _listening(meeting / "ranks") as listener:
            as_rank = (str(witness), "--rank", listener.getsockname())
            commands = [(*rank.launcher, *as_rank) for rank in launch.ranks]
            programs = meeting / "programs"
            if needs_file(launch.mpi, commands):
                programs.write_text(multiple_programs(commands))
            ends_with_us = (str(witness), "--launcher", str(os.getpid()))
            words = (
                *ends_with_us,
                *started_ranks(launch.mpi, launch.launcher, commands, str(programs)),
            )
            self._strays = Strays()
            try:
                self._launcher = start_launcher(words, launch.environment, out, err, folder=folder)
                self._strays.keep(self._launcher.pid)
            except LaunchError:
                self._strays.end()
                raise
            try:
                self._meet(listener, [rank.program for rank in launch.ranks])
            except BaseException:
                self.close()
                raise

    @property
    def pids(self) -> tuple[int, ...]:
        """The process number of each rank's program."""
        return tuple(rank.pid for rank in self._ranks)

    @property
    def witness_pids(self) -> tuple[int, ...]:
        """The process number of each rank's witness, its program's parent."""
        return tuple(rank.witness_pid for rank in self._ranks)

    @property
    def window_ns(self) -> tuple[int, int]:
        """The time from the first rank's start to the last one's end; 0 where none is known."""
        known = [rank.window_ns for rank in self._ranks if all(rank.window_ns)]
        started, ended = zip(*known, strict=True) if known else ((0,), (0,))
        return min(started), max(ended)

    @property
    def facts(self) -> Mapping[str, float]:
        """The CPU time of the launcher's own processes while the ranks ran, in seconds."""
        used_s = max(0.0, self._launcher_ended_s - self._launcher_began_s)
        return {"ranks.launcher_cpu_s": round(used_s, 2)}

    def go(self) -> None:
        """Let all ranks start."""
        self._launcher_began_s = self._launcher_ended_s = self._launcher_time_s()
        for rank in self._ranks:
            rank.go()

    def wait_ended(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` for the ends of all ranks.

        Returns early when one has ended, and lets the launcher know how at the next call: it ends
        the others where one has failed.
        """
        self._reap_ended()
        left = [rank for rank in self._ranks if not rank.has_ended]
        for rank in readable(left, timeout_s) if left else ():
            try:
                rank.wait_ended(0.0)
            except LaunchError:
                rank.lose()  # something has killed its witness
        ended = all(rank.has_ended for rank in self._ranks)
        if ended:
            self._launcher_ended_s = self._launcher_time_s()
        return ended

    def reap(self) -> Ending:
        """Collect how the ranks ended, and what they used together.

        The exit status is that of the rank that failed first: the launcher kills the others. Where
        none failed it is the launcher's, which also fails when a rank did not end as MPI wants it.
        """
        endings = self.endings
        # What ranks print comes through the launcher, the last of it just before its end.
        launcher_status = self._launcher_status()
        windows = [rank.window_ns for rank in self._ranks]
        start_ns, end_ns = self.window_ns
        in_order = sorted(zip(windows, endings, strict=True), key=lambda pair: pair[0][1])
        failed = [ending for window, ending in in_order if ending.wait_status]
        # A rank whose end is not known sorts first, and was killed after another had failed.
        first = min(failed, key=lambda ending: ending.cpu_s is None, default=None)
        sizes = [rank.max_rss_bytes for rank in endings if rank.max_rss_bytes is not None]
        return Ending(
            wait_status=first.wait_status if first else launcher_status,
            elapsed_s=(end_ns - start_ns) / 1e9,
            user_s=_sum([rank.user_s for rank in endings]),
            system_s=_sum([rank.system_s for rank in endings]),
            max_rss_bytes=max(sizes, default=None),
            exec_errno=first.exec_errno if first else None,
            cpu_s=_sum([rank.cpu_s for rank in endings]),
        )

    @property
    def endings(self) -> tuple[Ending, ...]:
        """How each rank ended; those that have not been asked yet are asked."""
        self._reap_ended()
        return tuple(self._ended[number] for number in range(len(self._ranks)))

    def _reap_ended(self) -> None:
        for number, rank in enumerate(self._ranks):
            if rank.has_ended and number not in self._ended:
                self._ended[number] = _reaped(rank)

    def kill(self) -> None:
        """Kill all ranks."""
        for number, rank in enumerate(self._ranks):
            if number not in self._ended:
                rank.kill()

    def close(self) -> None:
        """End all processes."""
        for rank in self._ranks:
            rank.close()
        end_launcher(self._launcher, self.witness_pids)
        self._strays.end(self.pids)

    def _meet(self, listener: socket.socket, programs: Sequence[Sequence[str]]) -> None:
        """Wait for all ranks; raises LaunchError when they are not those that were asked for."""
        by_number: dict[int, Witness] = {}
        deadline = time.monotonic() + LAUNCH_LIMIT_S
        while len(by_number) < len(programs):
            rank = self._accept(listener, deadline)
            self._ranks.append(rank)
            number = one_line(" ".join(rank.expect("rank", LAUNCH_LIMIT_S)))
            if not number.isdecimal() or int(number) not in range(len(programs)):
                raise LaunchError(
                    f"{self._name} started rank {number} of {len(programs)}; is the launcher that "
                    "of another MPI?"
                )
            by_number[int(number)] = rank
        self._ranks = [by_number[number] for number in range(len(programs))]
        for rank, program in zip(self._ranks, programs, strict=True):
            rank.hand_over(program)

    def _accept(self, listener: socket.socket, deadline: float) -> Witness:
        while not readable([listener], _PAUSE_S):
            if self._launcher.poll() is not None:
                raise LaunchError(self._failure())
            if time.monotonic() >= deadline:
                limit = f"{LAUNCH_LIMIT_S:g} s"
                raise LaunchError(f"{self._name} did not start all ranks within {limit}")
        descriptor = listener.accept()[0].detach()
        return Witness(descriptor, descriptor, self._name, self._failure)

    def _failure(self) -> str:
        return launch_failure(self._launcher, self._name, self._err)

    def _launcher_time_s(self) -> float:
        """Return the CPU time of the launcher's processes so far, without ranks."""
        pids = [self._launcher.pid]
        total_s = 0.0
        for pid in pids:
            time_of = read_cpu_time(pid)
            total_s += time_of.user_s + time_of.system_s
            pids += [child for child in children_of(pid) if child not in self.witness_pids]
        return total_s

    def _launcher_status(self) -> int:
        """Return the launcher's own wait(2) status; 0 where it does not end."""
        try:
            wait_for(self._launcher, LAUNCH_LIMIT_S)
        except subprocess.TimeoutExpired:
            return 0
        status = self._launcher.returncode
        return status << 8 if status >= 0 else -status


def _listening(path: Path) -> socket.socket:
    """Return a socket at which ranks report; raises StudyError where its path is too long."""
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise StudyError(
            f"{path}: too long for a socket, whose path has {MAX_SOCKET_PATH} characters at "
            "most; name another folder in $TMPDIR, and start the same command again"
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    return listener


def _reaped(rank: Witness) -> Ending:
    """Return how a rank ended, also where the launcher has killed its witness for another's end."""
    try:
        return rank.reap()
    except LaunchError:
        rank.lose()
        return rank.reap()


def _sum(times_s: Sequence[float | None]) -> float | None:
    """Return the sum of all times; None where one of them is not known."""
    return None if None in times_s else sum(filter(None, times_s))
