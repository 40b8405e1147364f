"""The executions of a co-runner, one after the other, as its supervisor makes them."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.decoding import message_of
from pinstudy.base.errors import StudyError
from pinstudy.base.text import one_line
from pinstudy.base.waiting import readable
from pinstudy.runners.execution.co_runner_messages import (
    COUNT,
    MAX_WINDOWS,
    Counted,
    Job,
)
from pinstudy.runners.execution.execute import UNSEEN, CoRun, Observation
from pinstudy.runners.execution.outcome import failure_of, proof_of
from pinstudy.runners.execution.output_file import OutputFile, working_folder, written_text
from pinstudy.runners.execution.witness import WitnessProcess
from pinstudy.runners.host.processes import tree_cpu_s, waited_cpu_s
from pinstudy.runners.placement.sampler import Pace, PlacementSampler
from pinstudy.runners.placement.thread_placement import FEW_LOOKS, NEGLIGIBLE_SHARE, Expected, Proof
from pinstudy.runners.placement.thread_trace import ThreadTrace

# After this long, a program whose threads were not seen in their places counts as running: whether
# they were there is for the proof to say.
SEEN_LIMIT_S = 10.0


class CoRuns:
    """Runs a job's co-runner again and again; obeys commands from a pipe, and answers to another.

    The first answer is why it does not run, empty once its threads were seen.
    """

    def __init__(self, job: Job, commands: int, answers: int) -> None:
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
        _run_on(self._job.cpus)
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
        _run_on(self._allowed)
        try:
            return Execution(self._job)
        finally:
            _run_on(self._job.cpus)

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

    def __init__(self, job: Job) -> None:
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


def _run_on(cpus: Iterable[int]) -> None:
    # They may be offline by now: the kernel then keeps the mask.
    with suppress(OSError):
        os.sched_setaffinity(0, cpus)
