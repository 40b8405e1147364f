"""The co-runner of a run: a program that runs beside the measured one until that ends.

A process of its own (co_runner_supervisor.py) starts it again whenever it ends, in CoRuns. pinstudy
talks to that process by a pipe, and the co-runner ends with the pipe, however pinstudy ends.

A co-runner can write into both pipes of its supervisor (/proc/PID/fd), and pinstudy may have rights
that its user has not. So what pinstudy reads of the supervisor's answers, which are fields of JSON,
becomes nothing but numbers and texts, within bounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from array import array
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.command import wait_for
from pinstudy.base.decoding import Amount, Cpu, complete, message_of
from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Reading
from pinstudy.base.text import one_line
from pinstudy.base.waiting import readable
from pinstudy.configs.app import Size
from pinstudy.runners.execution.execute import (
    UNSEEN,
    CoRun,
    Harness,
    Observation,
    free_cpus,
    set_mask,
)
from pinstudy.runners.execution.outcome import JudgedApp, expected_of, failure_of, proof_of
from pinstudy.runners.execution.output_file import OutputFile, working_folder, written_text
from pinstudy.runners.execution.witness import (
    KILL_GRACE_S,
    KILL_TRIES,
    LAUNCH_LIMIT_S,
    LaunchError,
    Strays,
    WitnessProcess,
)
from pinstudy.runners.host.interference import remove_left_folders
from pinstudy.runners.host.processes import tree_cpu_s, waited_cpu_s
from pinstudy.runners.host.starter import INSTRUMENT, marked
from pinstudy.runners.placement.sampler import Pace, PlacementSampler
from pinstudy.runners.placement.thread_placement import FEW_LOOKS, NEGLIGIBLE_SHARE, Expected, Proof
from pinstudy.runners.placement.thread_trace import ThreadTrace, seen_fields
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


# Commands to the supervisor, a byte each.
COUNT, END = b"c", b"e"
# More would not fit into a message (base.channel.MAX_BYTES), with 40 bytes each.
MAX_WINDOWS = 300_000

_MAX_REASON = 1000
_VERDICTS = ("proved", "violated", "unproved")


@dataclass(frozen=True)
class CoRunnerJob:
    """What a supervisor has to do.

    `app` and `size` say what a good run is, `expected` where its threads are, and `cpus` are those
    of the supervisor itself.
    """

    app: JudgedApp
    size: Size
    expected: Expected
    launch: Launch
    witness: str
    cpus: tuple[Cpu, ...]


@dataclass(frozen=True)
class Counted:
    """The CPU seconds of a co-runner and of its supervisor so far; `problem` is why it runs not."""

    problem: str = ""
    cpu_s: Amount = 0.0
    supervisor_cpu_s: Amount = 0.0


Answer = TypeVar("Answer", Counted, CoRun)


def job_of(case: Case, launch: Launch, witness: Path, cpus: tuple[int, ...]) -> CoRunnerJob:
    """Return the job to run a case's program, started by `launch`."""
    app = JudgedApp(case.app.limit_s, case.app.check, case.app.metrics)
    (expected,) = expected_of(case)
    return CoRunnerJob(app, case.size, expected, launch, str(witness), cpus)


def receive(answers: Channel, kind: type[Answer], limit_s: float) -> Answer:
    """Return the next answer of a supervisor, of this kind.

    Raises ChannelError when none comes in time, or another one.
    """
    message = answers.receive(limit_s)
    if message is None:
        raise ChannelError(f"no answer within {limit_s:g} s")
    try:
        return _checked(complete(message, kind))
    except ValueError as error:
        raise ChannelError(f"no answer: {error}") from None


def _checked(answer: Answer) -> Answer:
    """Return an answer with texts that can be shown; raises ValueError for what none has seen."""
    if isinstance(answer, Counted):
        return replace(answer, problem=_line(answer.problem))
    windows = answer.windows_ns
    if len(windows) > MAX_WINDOWS or any(start > end for start, end in windows):
        raise ValueError("windows_ns has no windows")
    if answer.proof.verdict not in _VERDICTS:
        raise ValueError("verdict is none")
    if any(trace.team for trace in answer.threads):
        raise ValueError("threads has several teams")
    proof = Proof(answer.proof.verdict, _line(answer.proof.reason))
    return replace(answer, problem=_line(answer.problem), proof=proof)


def _line(text: str) -> str:
    return one_line(text[:_MAX_REASON], None)


# After this long, a program whose threads were not seen in their places counts as running: whether
# they were there is for the proof to say.
SEEN_LIMIT_S = 10.0


class CoRuns:
    """Runs a job's co-runner again and again; obeys commands from a pipe, and answers to another.

    The first answer is why it does not run, empty once its threads were seen.
    """

    def __init__(self, job: CoRunnerJob, commands: int, answers: int) -> None:
        """Nothing is started yet."""
        self._job, self._commands, self._answers = job, commands, Channel(answers)
        self._expected = job.expected
        # What programs inherit: this process itself keeps off their CPUs.
        self._allowed = os.sched_getaffinity(0)
        self._windows = array("q")
        self._proofs = Proofs()
        self._problem, self._failed_ns = "", 0
        self._current: Execution | None = None
        self._next: Execution | None = None
        self._began_s = 0.0
        self._told = False

    def run(self) -> None:
        """Run it until the command to end, or the end of all commands."""
        set_mask(0, self._job.cpus)
        try:
            self._run()
        except (StudyError, OSError) as error:
            self._fail(f"cannot run: {error}")
        finally:
            for execution in (self._next, self._current):
                if execution:
                    self._end(execution)
            self._next = self._current = None
        # Nobody listens where pinstudy was killed.
        with suppress(ChannelError):
            # The measured program may still run.
            while self._told and self._problem and self._obey():
                pass
            self._tell(self._seen() if self._told else Counted(self._problem or "was ended"))

    def _run(self) -> None:
        self._current = self._prepared()
        self._began_s = time.monotonic()
        self._current.go()
        while not self._problem and self._watch(self._current):
            following = self._next or self._prepared()
            following.go()
            ended, self._current, self._next = self._current, following, None
            self._finish(ended)

    def _prepared(self) -> Execution:
        """Return a new execution, which waits before its exec."""
        set_mask(0, self._allowed)
        try:
            return Execution(self._job)
        finally:
            set_mask(0, self._job.cpus)

    def _watch(self, execution: Execution) -> bool:
        """Look at an execution's threads until it ends; return False when it is not to go on."""
        pace = Pace()
        deadline = time.monotonic() + self._job.app.limit_s
        while True:
            ready = readable((execution.process, self._commands), pace.pause_s)
            if self._commands in ready and not self._obey():
                return False
            if execution.process in ready and execution.process.wait_ended(0.0):
                return True
            if time.monotonic() >= deadline:
                execution.process.kill()
                execution.timed_out = True
                return True
            if pace.step(execution.sampler):
                execution.trim()
                self._tell_if_seen(execution)
            if self._next is None and execution.sampler.samples > FEW_LOOKS:
                self._next = self._prepared()

    def _tell_if_seen(self, execution: Execution) -> None:
        """Tell pinstudy, once, that the co-runner's threads are in their places."""
        seen = execution.look_for_team(self._expected)
        if not self._told and (seen or time.monotonic() >= self._began_s + SEEN_LIMIT_S):
            self._told = True
            self._tell(Counted())

    def _tell(self, answer: Counted | CoRun) -> None:
        self._answers.send(message_of(answer))

    def _obey(self) -> bool:
        """Carry out a command; return False for the command to end, or when there are no more."""
        if os.read(self._commands, 1) != COUNT:
            return False
        living = (execution for execution in (self._current, self._next) if execution)
        living_s = sum(tree_cpu_s(execution.process.witness_pid) for execution in living)
        cpu_s = waited_cpu_s() + living_s
        self._tell(Counted(self._problem, cpu_s, time.process_time()))
        return True

    def _finish(self, execution: Execution) -> None:
        """Take the results of an execution that has ended by itself."""
        observed = execution.reap()
        if failed := failure_of(self._job, observed):
            tail = one_line(observed.stderr[-200:], None)
            self._fail(f"{failed[0]}: {failed[1]}" + (f" ({tail})" if tail else ""))
            self._failed_ns = execution.process.window_ns[1]
            return
        if len(self._windows) == 2 * MAX_WINDOWS:
            self._fail(f"has ended more than {MAX_WINDOWS} times in one run; give it a larger size")
            return
        self._windows.extend(execution.process.window_ns)
        self._proofs.add(proof_of(observed, [self._expected]), observed)

    def _end(self, execution: Execution) -> None:
        """End an execution and all its processes."""
        try:
            if execution.has_begun and not execution.process.has_ended:
                execution.process.kill()
            if execution.has_begun and not execution.process.reaped:
                self._take_ended(execution)
        except (StudyError, OSError) as error:
            # Something has killed its witness.
            self._fail(f"cannot be ended: {error}")
        finally:
            execution.close()

    def _take_ended(self, execution: Execution) -> None:
        """Take the proof of an execution that was ended."""
        observed = execution.reap()
        # Before its team was there, a thread need not have been bound.
        proof = Proof("unproved", "it was ended while it started")
        if execution.seen:
            proof = proof_of(observed, [self._expected])
        self._proofs.add(proof, observed)

    def _fail(self, problem: str) -> None:
        self._problem = self._problem or one_line(problem, None)
        self._failed_ns = self._failed_ns or time.monotonic_ns()

    def _seen(self) -> CoRun:
        windows = tuple(zip(self._windows[::2], self._windows[1::2], strict=True))
        return CoRun(
            windows,
            self._problem,
            self._failed_ns,
            waited_cpu_s(),
            time.process_time(),
            self._proofs.together,
            self._proofs.threads,
            self._proofs.looks,
        )


class Execution:
    """One execution of the co-runner; `close` leaves no process behind."""

    def __init__(self, job: CoRunnerJob) -> None:
        """Launch the program, which waits before its exec; raises LaunchError and StudyError."""
        launch = job.launch
        self._writes = launch.writes
        self.has_begun = self.timed_out = self.seen = False
        with ExitStack() as stack:
            self._streams = [stack.enter_context(OutputFile()) for _ in range(3)]
            out, err, log = (stream.file for stream in self._streams)
            self._folder: Path | None = stack.enter_context(working_folder(self._writes))
            started = (Path(job.witness), launch.launcher, launch.program, launch.environment)
            self.process = WitnessProcess(*started, out, err, log, folder=self._folder)
            stack.callback(self.process.close)
            self._at_end = stack.pop_all()
        witness_pids = self.process.witness_pids
        self.sampler = PlacementSampler(witness_pids, descendants_only=True)

    def go(self) -> None:
        """Let the program start."""
        self.process.go()
        self.has_begun = True

    def trim(self) -> None:
        """Keep what the program prints within bounds."""
        for stream in self._streams:
            stream.trim()

    def look_for_team(self, expected: Expected) -> bool:
        """Return whether some look has found all threads of the team in their places."""
        if not self.seen:
            there = [t for t in self.sampler.threads if t.last_look == self.sampler.samples]
            placed = [t for t in there if expected.in_place(t)(t.stays[-1])]
            self.seen = len(placed) >= expected.threads
        return self.seen

    def reap(self) -> Observation:
        """Return what was observed of an execution that has ended, and end what it left behind."""
        self.sampler.sample(at_end=True)
        ending = self.process.reap()
        out, err = (stream.text() for stream in self._streams[:2])
        out += written_text(self._folder, self._writes)
        self.close()
        return Observation(
            ending=ending,
            timed_out=self.timed_out,
            stdout=out,
            stderr=err,
            threads=self.sampler.threads,
            looks=self.sampler.samples,
            perf_output="",
            perf_problem="",
            perf_command=(),
            hotplugged_cpus=self.sampler.hotplugged_cpus,
            overflowed=self.sampler.overflowed,
            in_ticks=self.sampler.in_ticks,
            drops_children=self.sampler.drops_children,
        )

    def close(self) -> None:
        """End all its processes, and remove its files."""
        self._at_end.close()


class Proofs:
    """The proofs of all executions, together.

    The placement is proved when it is in executions that used all but a negligible share of the
    CPU time; the first one that violates it decides. `threads` and `looks` are those of the
    execution that used most CPU time.
    """

    def __init__(self) -> None:
        self._violated: Proof | None = None
        self._unproved: Proof | None = None
        self._cpu_s = {"proved": 0.0, "unproved": 0.0}
        self._most_s = -1.0
        self.threads: tuple[ThreadTrace, ...] = ()
        self.looks = 0

    def add(self, proof: Proof, observed: Observation) -> None:
        """Add an execution's proof."""
        cpu_s = observed.ending.cpu_s
        if cpu_s is None:
            cpu_s = sum(thread.cpu_s for thread in observed.threads)
        if cpu_s > self._most_s:
            self._most_s, self.threads, self.looks = cpu_s, observed.threads, observed.looks
        if proof.verdict == "violated":
            self._violated = self._violated or proof
            return
        if proof.verdict == "unproved":
            self._unproved = self._unproved or proof
        self._cpu_s[proof.verdict] += cpu_s

    @property
    def together(self) -> Proof:
        """The proof of all executions."""
        if self._violated:
            return self._violated
        proved_s, unproved_s = self._cpu_s["proved"], self._cpu_s["unproved"]
        if proved_s > 0 and unproved_s <= NEGLIGIBLE_SHARE * (proved_s + unproved_s):
            return Proof("proved")
        return self._unproved or UNSEEN
