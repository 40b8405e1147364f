"""What pinstudy and the supervisor of a co-runner tell each other: fields of JSON.

A co-runner can write into both pipes of its supervisor (/proc/PID/fd), and pinstudy may have rights
that its user has not. So what is read becomes nothing but numbers and texts, within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.decoding import Amount, Cpu, complete
from pinstudy.base.text import one_line
from pinstudy.configs.app import Check, Metric, Size
from pinstudy.runners.execution.execute import CoRun
from pinstudy.runners.execution.outcome import expected_of
from pinstudy.runners.placement.thread_placement import Expected, Proof
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch

# Commands to the supervisor, a byte each.
COUNT, END = b"c", b"e"
# More would not fit into a message (base.channel.MAX_BYTES), with 40 bytes each.
MAX_WINDOWS = 300_000

_MAX_REASON = 1000
_VERDICTS = ("proved", "violated", "unproved")


@dataclass(frozen=True)
class JudgedApp:
    """What a run of the app is judged by; `limit_s` is in seconds."""

    limit_s: Amount
    check: Check
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Job:
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


def job_of(case: Case, launch: Launch, witness: Path, cpus: tuple[int, ...]) -> Job:
    """Return the job to run a case's program, started by `launch`."""
    app = JudgedApp(case.app.limit_s, case.app.check, case.app.metrics)
    (expected,) = expected_of(case)
    return Job(app, case.size, expected, launch, str(witness), cpus)


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
