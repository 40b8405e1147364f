"""Classifies a run: its status, and the metrics that its program printed. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

from pinstudy.base.decoding import Amount
from pinstudy.base.patterns import Spans, TooSlowError, last_match, matches
from pinstudy.base.text import ended_by, one_line, printable
from pinstudy.configs.app import App, Check, Metric, Size
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.placement.team_placement import prove_teams
from pinstudy.runners.placement.thread_placement import Expected, Proof, Samples
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import file_variables
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.plan.openmp_variables import BINDING_VARIABLES, free_agents
from pinstudy.runners.records.status import (
    CHECK_FAILED,
    FAILED,
    OK,
    PLACEMENT_VIOLATED,
    SETTINGS_CHANGED,
    TIMEOUT,
)

STDERR_TAIL_CHARACTERS = 2000

# Numbers as printf, C++ streams and Python's str print them. float() would also take underscores
# and the digits of other scripts.
_NUMBER = re.compile(r"[+-]?(?:\d{1,400}\.?|\d{0,400}\.\d{1,400})(?:[eE][+-]?\d{1,9})?", re.ASCII)
# How libomp and libgomp begin a line about a variable that they cannot follow.
_COMPLAINT = re.compile(r"^(?:OMP: Warning #\d+|libgomp): .{1,500}$", re.MULTILINE)
# What continues a number: `,5` or `.5` after `12`, `e9` or `_000` after `1`.
_CONTINUATION = re.compile(r"[.,_']?\d|[eE][+-]?\d", re.ASCII)
# What begins one: `1,` before `234.5`, `2.5e-` before `3`, the sign before `7`.
_BEGINNING = re.compile(r".*(?:\d(?:[.,_']|[eE][+-]?)?|(?:^|[\s=:(])-)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class JudgedApp:
    """What a run of the app is judged by; `limit_s` is in seconds."""

    limit_s: Amount
    check: Check
    metrics: tuple[Metric, ...]


class Judged(Protocol):
    """What a run's end and output are judged by: a case, or a part of one."""

    @property
    def app(self) -> App | JudgedApp:
        """Its limit, its check and its metrics."""

    @property
    def size(self) -> Size:
        """The size, with what it expects of metrics."""


def expected_of(case: Case) -> tuple[Expected, ...]:
    """Return the placement that the mapping promises to each team of the case."""
    binding, threads = case.mapping.binding, case.threads
    helpers, processes = case.app.helper_threads or 0, case.app.helper_processes or 0
    by_words = mechanism_of(case.mechanism).by_words
    by_mpi = case.engine.by_mpi
    return tuple(
        Expected(
            *(binding, team.cpus, threads, helpers, team.places, by_words, by_mpi, processes),
            free_agents(file_variables(team), threads),
        )
        for team in case.teams
    )


def proof_of(
    run: Observation, expected: Sequence[Expected], counts: Mapping[str, Any] | None = None
) -> Proof:
    """Return whether the threads of a run were where its mapping puts them, team by team.

    `counts` holds the record's fields with perf's counts and the time of interrupts and of the
    hypervisor; None when nothing was counted. A runtime that finds the CPUs itself and says that it
    could not do what it was asked has violated the placement, even where the threads are in place:
    on another node they would not be.
    """
    counts = counts or {}
    samples = Samples(
        run.threads,
        run.looks,
        run.ending.elapsed_s,
        run.hotplugged_cpus,
        run.ending.cpu_s,
        counts.get("task_clock_s"),
        counts.get("migrations"),
        run.unmet,
        run.overflowed,
        counts.get("interrupts_s", 0.0) + counts.get("steal_s", 0.0),
        run.in_ticks,
        run.drops_children,
    )
    proof = prove_teams(samples, expected, [ending.cpu_s for ending in run.teams])
    complaint = _complaint(run.stderr)
    if complaint and proof.verdict == "violated":
        return Proof("violated", f"{proof.reason}; the OpenMP runtime says: {complaint}")
    if complaint and expected[0].by_words:
        return Proof("violated", f"the OpenMP runtime did not do what it was asked: {complaint}")
    return proof


def _complaint(stderr: str) -> str:
    """Return the first line in which an OpenMP runtime complains about how to bind, if any."""
    for line in _COMPLAINT.findall(stderr):
        if any(variable in line for variable in BINDING_VARIABLES):
            return one_line(line, None)
    return ""


def classify(case: Case, run: Observation, proof: Proof, changed: str = "") -> tuple[str, str]:
    """Return the run's status and, unless it is `ok`, the reason in words.

    `changed` names the settings that something else changed during the run; empty for none.
    """
    failed = failure_of(case, run)
    if failed:
        return failed
    if run.check_failure:
        return CHECK_FAILED, run.check_failure
    if proof.verdict == "violated":
        return PLACEMENT_VIOLATED, proof.reason
    if run.invalid_reason:
        return run.invalid_reason
    if changed:
        return SETTINGS_CHANGED, changed
    return OK, ""


def failure_of(case: Judged, run: Observation) -> tuple[str, str] | None:
    """Return status and reason, as `classify` does, of a run that its end or output fails, or None.

    A quiet size prints nothing, so only the exit status shows whether the program's check failed.
    """
    app = case.app
    ending = run.ending
    if run.timed_out:
        return TIMEOUT, f"ended after its limit of {app.limit_s:g} s"
    if ending.exec_errno is not None:
        return FAILED, f"could not be started: {os.strerror(ending.exec_errno)}"
    if ending.signal is not None:
        return FAILED, ended_by(ending.signal)
    if ending.exit_code == app.check.failed_status and ending.exit_code:
        return CHECK_FAILED, f"the program's own check failed (exit status {ending.exit_code})"
    if ending.exit_code:
        return FAILED, f"exit status {ending.exit_code}"
    if app.check.pattern and not case.size.quiet:
        try:
            found = matches(app.check.pattern, _stream(run, app.check.stream))
        except TooSlowError as error:
            return CHECK_FAILED, str(error)
        if not found:
            return (
                CHECK_FAILED,
                f"{app.check.stream} has nothing that matches {app.check.pattern!r}",
            )
    return _unexpected_value(case, run)


def _unexpected_value(case: Judged, run: Observation) -> tuple[str, str] | None:
    """Return the failure of the first metric that is not what the case's size expects, or None."""
    if case.size.quiet or not case.size.expect:
        return None
    values, absent = read_metrics(case, run)
    for name, (low, high) in case.size.expect.items():
        if name not in values:
            return CHECK_FAILED, f"{name} is not known: {absent[name]}"
        if not low <= values[name] <= high:
            expected = f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
            return CHECK_FAILED, f"{name} is {values[name]:.10g}, expected {expected}"
    return None


def read_metrics(case: Judged, run: Observation) -> tuple[dict[str, float], dict[str, str]]:
    """Return the numbers the program printed by name, and the reason for each that is absent.

    A pattern's last match counts: programs print progress before results.
    """
    values: dict[str, float] = {}
    absent: dict[str, str] = {}
    if case.size.quiet:
        reason = f"the size {case.size.name} silences the program"
        return values, {metric.name: reason for metric in case.app.metrics}
    for metric in case.app.metrics:
        text = _stream(run, metric.stream)
        try:
            last = last_match(metric.pattern, text)
        except TooSlowError as error:
            absent[metric.name] = str(error)
            continue
        if last is None:
            absent[metric.name] = f"{metric.stream} has nothing that matches {metric.pattern!r}"
            continue
        number = _number(text, last)
        if isinstance(number, str):
            absent[metric.name] = f"what {metric.pattern!r} matched is {number}"
        else:
            values[metric.name] = number
    return values, absent


def _number(printed: str, where: Spans) -> float | str:
    """Return the number that a pattern has matched, or what the match is instead."""
    start, end, number_start, number_end = where
    group = printed[number_start:number_end]
    text = group.strip()
    if not _NUMBER.fullmatch(text) or not isfinite(float(text)):
        return "not a finite number"
    # A pattern that also matches what follows the number has found the number's end.
    if number_end == end and group.endswith(text) and _CONTINUATION.match(printed, end):
        return "a part of a number; let the pattern say what follows it"
    # So has one that also matches what precedes the number found its start.
    before = printed[max(0, start - 3) : start]
    if number_start == start and group.startswith(text) and _BEGINNING.fullmatch(before):
        return "a part of a number; let the pattern say what precedes it"
    return float(text)


def stderr_tail(stderr: str) -> str:
    """Return the end of what the program wrote to stderr, without control characters."""
    return printable(stderr[-STDERR_TAIL_CHARACTERS:], allowed="\n").strip()


def _stream(run: Observation, name: str) -> str:
    return run.stderr if name == "stderr" else run.stdout
