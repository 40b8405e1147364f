"""The co-runner of a run: a program that runs beside the measured one until that ends.

A process of its own (co_runner_supervisor.py) starts it again whenever it ends. pinstudy talks to
that process by a pipe, and the co-runner ends with the pipe, however pinstudy ends.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from base.command import wait_for
from base.reading import Reading
from base.text import one_line
from base.waiting import readable
from runners.execution.execute import CoRun, Harness, Observation, free_cpus
from runners.execution.witness import KILL_GRACE_S, KILL_TRIES, LAUNCH_LIMIT_S, LaunchError
from runners.placement.thread_trace import seen_fields
from runners.plan.case import Case
from runners.plan.command_line import Launch
from runners.records.values import FAILED, PLACEMENT_VIOLATED

# After this long, a program whose threads were not seen in their places counts as running: whether
# they were there is for the proof to say.
SEEN_LIMIT_S = 10.0
# To start an interpreter, to launch the program twice, and to see it run.
START_LIMIT_S = 3 * LAUNCH_LIMIT_S
END_LIMIT_S = 2 * KILL_TRIES * KILL_GRACE_S
# Commands to the supervisor, a byte each.
COUNT, END = b"c", b"e"
SUPERVISOR = Path(__file__).with_name("co_runner_supervisor.py")

_LENGTH = struct.Struct("=Q")
_MEASURES = ("beside_elapsed_s", "beside_rate_hz")


@dataclass(frozen=True)
class Job:
    """What a supervisor has to do.

    `cpus` are those of the supervisor itself, `starter` is the process number of pinstudy, with
    which it ends.
    """

    case: Case
    launch: Launch
    witness: Path
    cpus: tuple[int, ...]
    starter: int


def send(descriptor: int, message: object) -> None:
    """Write a message to a pipe of one's own."""
    payload = pickle.dumps(message)
    data = _LENGTH.pack(len(payload)) + payload
    while data:
        data = data[os.write(descriptor, data) :]


def receive(descriptor: int, limit_s: float | None = None) -> Any:  # noqa: ANN401
    """Return the next message from a pipe of one's own; raises EOFError without one in time."""
    (length,) = _LENGTH.unpack(_read(descriptor, _LENGTH.size, limit_s))
    return pickle.loads(_read(descriptor, length, limit_s))


def _read(descriptor: int, length: int, limit_s: float | None) -> bytes:
    data = b""
    while len(data) < length:
        if not readable([descriptor], limit_s):
            raise EOFError
        piece = os.read(descriptor, length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


class CoRunner:
    """Runs the co-runner of a case within its context; a meter of the run beside it.

    `seen` is what was seen of it, once the meter has stopped.
    """

    def __init__(self, case: Case, launch: Launch, harness: Harness) -> None:
        """`launch` starts the co-runner of the case."""
        assert case.beside
        self._name = case.beside.program_label
        allowed = os.sched_getaffinity(0)
        free = free_cpus(allowed, housekeeping_from(case, harness), harness.cores) or allowed
        cpus = tuple(sorted(free))
        self._job = Job(case.beside, launch, harness.witness, cpus, os.getpid())
        self._counted_s = self._supervisor_counted_s = 0.0
        self.seen = CoRun()

    def __enter__(self) -> CoRunner:
        """Start it, and wait until its threads were seen; raises LaunchError where it fails."""
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", str(SUPERVISOR)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in a terminal is for pinstudy, which ends it.
            start_new_session=True,
        )
        assert self._supervisor.stdin
        assert self._supervisor.stdout
        self._to, self._from = self._supervisor.stdin.fileno(), self._supervisor.stdout.fileno()
        try:
            send(self._to, sys.path)
            send(self._to, self._job)
            if problem := receive(self._from, START_LIMIT_S):
                raise LaunchError(f"its co-runner {self._name} {problem}")
        except (EOFError, OSError):
            self._end()
            raise LaunchError(f"its co-runner {self._name} could not be supervised") from None
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it with all its processes, if the meter has not done that."""
        self._end()

    def start(self) -> None:
        """Note the CPU time that it has used so far; raises LaunchError if it runs no more."""
        try:
            os.write(self._to, COUNT)
            problem, *counted = receive(self._from, END_LIMIT_S)
        except (EOFError, OSError):
            raise LaunchError(f"its co-runner {self._name} has lost its supervisor") from None
        if problem:
            raise LaunchError(f"its co-runner {self._name} {problem}")
        self._counted_s, self._supervisor_counted_s = counted

    def sample(self) -> None:
        """Read nothing: the supervisor sees its threads."""

    def stop(self) -> None:
        """End it, and read what was seen of it."""
        try:
            os.write(self._to, END)
            seen: CoRun = receive(self._from, END_LIMIT_S)
        except (EOFError, OSError):
            self.seen = CoRun(problem="has lost its supervisor", failed_ns=1)
        else:
            self.seen = CoRun(
                seen.windows_ns,
                seen.problem,
                seen.failed_ns,
                max(0.0, seen.cpu_s - self._counted_s),
                max(0.0, seen.supervisor_cpu_s - self._supervisor_counted_s),
                seen.proof,
                seen.threads,
                seen.looks,
            )
        self._end()

    def _end(self) -> None:
        """Close the supervisor's pipes, with which it ends the co-runner, and wait for its end."""
        with self._supervisor as supervisor:
            assert supervisor.stdin
            supervisor.stdin.close()
            try:
                wait_for(supervisor, END_LIMIT_S)
            except subprocess.TimeoutExpired:
                supervisor.kill()


def housekeeping_from(case: Case, harness: Harness) -> tuple[int, ...]:
    """Return the CPUs that pinstudy keeps off: the co-runner's, too, if others are left then."""
    both = tuple(sorted(set(case.all_cpus)))
    if case.beside and free_cpus(os.sched_getaffinity(0), both, harness.cores):
        return both
    return case.mask


def invalid_reason(case: Case, seen: CoRun, window_ns: tuple[int, int]) -> tuple[str, str] | None:
    """Return status and reason of a run whose co-runner was not what the case asks for, or None."""
    assert case.beside
    name = case.beside.program_label
    if seen.problem and seen.failed_ns <= window_ns[1]:
        return FAILED, f"its co-runner {name} {seen.problem}"
    if seen.proof.verdict == "violated":
        return PLACEMENT_VIOLATED, f"its co-runner {name}: {seen.proof.reason}"
    return None


def co_run_reading(run: Observation) -> Reading:
    """Return the record's fields of a run's co-runner.

    Only executions that began and ended while the program ran are counted: of others, a part ran
    alone, or was not run at all.
    """
    seen = run.co_run
    assert seen
    start_ns, end_ns = run.window_ns
    ended = [window for window in seen.windows_ns if start_ns <= window[1] <= end_ns]
    whole = [window for window in ended if window[0] >= start_ns]
    fields: dict[str, Any] = {
        "beside_completed": len(whole),
        "beside_cpu_s": round(seen.cpu_s, 6),
        "beside_placement": {
            "verdict": seen.proof.verdict,
            "looks": seen.looks,
            "threads": [
                seen_fields(thread) | {"cpu_s": round(thread.cpu_s, 2)} for thread in seen.threads
            ],
        },
    }
    unavailable = {}
    if seen.proof.verdict == "unproved":
        unavailable["beside_placement"] = one_line(seen.proof.reason)
    if whole:
        elapsed_ns = sum(end - start for start, end in whole)
        fields["beside_elapsed_s"] = elapsed_ns / len(whole) / 1e9
        fields["beside_rate_hz"] = len(whole) / ((whole[-1][1] - whole[0][0]) / 1e9)
    else:
        why = "the co-runner did not end once in this run"
        if ended:
            why = "the only execution of the co-runner that ended in this run began before it"
        unavailable |= dict.fromkeys(_MEASURES, why)
    return Reading(fields, unavailable)
