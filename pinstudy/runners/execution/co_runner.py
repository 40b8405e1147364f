"""The co-runner of a run: a program that runs beside the measured one until that ends.

A process of its own (co_runner_supervisor.py) starts it again whenever it ends. pinstudy talks to
that process by a pipe, and the co-runner ends with the pipe, however pinstudy ends. The messages
are in co_runner_messages.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.command import wait_for
from pinstudy.base.decoding import message_of
from pinstudy.base.reading import Reading
from pinstudy.base.text import one_line
from pinstudy.runners.execution.co_runner_messages import (
    COUNT,
    END,
    Answer,
    Counted,
    job_of,
    receive,
)
from pinstudy.runners.execution.execute import CoRun, Harness, Observation, free_cpus
from pinstudy.runners.execution.strays import Strays
from pinstudy.runners.execution.witness import KILL_GRACE_S, KILL_TRIES, LAUNCH_LIMIT_S, LaunchError
from pinstudy.runners.host.interference import remove_left_folders
from pinstudy.runners.host.starter import INSTRUMENT, marked
from pinstudy.runners.placement.thread_trace import seen_fields
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.records.status import FAILED, PLACEMENT_VIOLATED

# To start an interpreter, to launch the program twice, and to see it run.
START_LIMIT_S = 3 * LAUNCH_LIMIT_S
END_LIMIT_S = 2 * KILL_TRIES * KILL_GRACE_S
SUPERVISOR = Path(__file__).with_name("co_runner_supervisor.py")

_MEASURES = ("co_runner_elapsed_s", "co_runner_rate_hz")


class CoRunner:
    """Runs the co-runner of a case within its context; a meter of the run beside it.

    `seen` is what was seen of it, once the meter has stopped.
    """

    def __init__(self, case: Case, launch: Launch, harness: Harness) -> None:
        """`launch` starts the co-runner of the case."""
        assert case.co_runner
        self._name = case.co_runner.program_label
        allowed = os.sched_getaffinity(0)
        free = free_cpus(allowed, housekeeping_from(case, harness), harness.cores) or allowed
        cpus = tuple(sorted(free))
        self._job = job_of(case.co_runner, launch, harness.witness, cpus)
        self._counted = Counted()
        self.seen = CoRun()

    def __enter__(self) -> CoRunner:
        """Start it, and wait until its threads were seen; raises LaunchError where it fails."""
        self._strays = Strays()
        try:
            self._supervisor = subprocess.Popen(
                # Isolated, and started by path: it does not know where the other modules are.
                [sys.executable, "-I", str(SUPERVISOR), json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C in a terminal is for pinstudy, which ends it.
                start_new_session=True,
                env=marked(os.environ, INSTRUMENT),
            )
        except OSError:
            self._strays.end()
            raise
        self._strays.keep(self._supervisor.pid)
        assert self._supervisor.stdin
        assert self._supervisor.stdout
        self._to = self._supervisor.stdin.fileno()
        self._answers = Channel(self._supervisor.stdout.fileno())
        try:
            Channel(self._to).send(message_of(self._job))
            told = receive(self._answers, Counted, START_LIMIT_S)
            if told.problem:
                raise LaunchError(f"its co-runner {self._name} {told.problem}")
        except ChannelError as error:
            self._end()
            raise LaunchError(
                f"its co-runner {self._name} could not be supervised ({error})"
            ) from None
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
            counted = self._answer(COUNT, Counted)
        except ChannelError as error:
            raise LaunchError(
                f"its co-runner {self._name} has lost its supervisor ({error})"
            ) from None
        if counted.problem:
            raise LaunchError(f"its co-runner {self._name} {counted.problem}")
        self._counted = counted

    def sample(self) -> None:
        """Read nothing: the supervisor sees its threads."""

    def stop(self) -> None:
        """End it, and read what was seen of it."""
        try:
            seen = self._answer(END, CoRun)
        except ChannelError as error:
            self.seen = CoRun(problem=f"has lost its supervisor ({error})", failed_ns=1)
        else:
            counted = self._counted
            self.seen = replace(
                seen,
                cpu_s=max(0.0, seen.cpu_s - counted.cpu_s),
                supervisor_cpu_s=max(0.0, seen.supervisor_cpu_s - counted.supervisor_cpu_s),
            )
        self._end()

    def _answer(self, command: bytes, kind: type[Answer]) -> Answer:
        """Return the answer to a command; raises ChannelError where there is none of its kind."""
        try:
            os.write(self._to, command)
        except OSError as error:
            raise ChannelError("has ended") from error
        return receive(self._answers, kind, END_LIMIT_S)

    def _end(self) -> None:
        """Close the supervisor's pipes, with which it ends the co-runner, and wait for its end."""
        with self._supervisor as supervisor:
            # The second pipe as well: it may wait to be heard.
            for pipe in filter(None, (supervisor.stdin, supervisor.stdout)):
                pipe.close()
            try:
                wait_for(supervisor, END_LIMIT_S)
            except subprocess.TimeoutExpired:
                supervisor.kill()
        self._strays.end()
        if supervisor.returncode:
            # It could not remove its own.
            remove_left_folders(os.geteuid())


def housekeeping_from(case: Case, harness: Harness) -> tuple[int, ...]:
    """Return the CPUs that pinstudy keeps off: the co-runner's, too, if others are left then."""
    both = tuple(sorted(set(case.all_cpus)))
    if case.co_runner and free_cpus(os.sched_getaffinity(0), both, harness.cores):
        return both
    return case.mask


def invalid_reason(case: Case, seen: CoRun, window_ns: tuple[int, int]) -> tuple[str, str] | None:
    """Return status and reason of a run whose co-runner was not what the case asks for, or None."""
    assert case.co_runner
    name = case.co_runner.program_label
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
        "co_runner_completed": len(whole),
        "co_runner_cpu_s": round(seen.cpu_s, 6),
        "co_runner_placement": {
            "verdict": seen.proof.verdict,
            "looks": seen.looks,
            "threads": [
                seen_fields(thread) | {"cpu_s": round(thread.cpu_s, 2)} for thread in seen.threads
            ],
        },
    }
    unavailable = {}
    if seen.proof.verdict == "unproved":
        unavailable["co_runner_placement"] = one_line(seen.proof.reason)
    if whole:
        elapsed_ns = sum(end - start for start, end in whole)
        fields["co_runner_elapsed_s"] = elapsed_ns / len(whole) / 1e9
        fields["co_runner_rate_hz"] = len(whole) / ((whole[-1][1] - whole[0][0]) / 1e9)
    else:
        why = "the co-runner did not end once in this run"
        if ended:
            why = "the only execution of the co-runner that ended in this run began before it"
        unavailable |= dict.fromkeys(_MEASURES, why)
    return Reading(fields, unavailable)
