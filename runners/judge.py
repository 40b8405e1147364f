"""What a run is worth: its status, and the numbers its program printed. Pure."""

from __future__ import annotations

import os
import re

from runners.case import Case
from runners.execute import Observation
from runners.placement import Proof
from runners.signals import ended_by
from runners.statuses import (
    CHECK_FAILED,
    FAILED,
    OK,
    PLACEMENT_VIOLATED,
    SETTINGS_CHANGED,
    TIMEOUT,
)

STDERR_TAIL_CHARACTERS = 2000


def judge(case: Case, seen: Observation, proof: Proof, changed: str = "") -> tuple[str, str]:
    """Return the run's status and, unless it is `ok`, the reason in words.

    `changed` says which settings were changed by somebody else meanwhile; empty when none was.
    A quiet size prints nothing, so that the exit status alone tells of the program's own check.
    """
    app = case.app
    ending = seen.ending
    if seen.timed_out:
        return TIMEOUT, f"ended after its limit of {app.limit_s:g} s"
    if ending.exec_errno is not None:
        return FAILED, f"could not be started: {os.strerror(ending.exec_errno)}"
    if ending.signal is not None:
        return FAILED, ended_by(ending.signal)
    if ending.exit_code == app.check.failed_status and ending.exit_code:
        return CHECK_FAILED, f"the program's own check failed (exit status {ending.exit_code})"
    if ending.exit_code:
        return FAILED, f"exit status {ending.exit_code}"
    pattern = app.check.pattern
    if (
        pattern
        and not case.size.quiet
        and not re.search(pattern, _stream(seen, app.check.stream), re.MULTILINE)
    ):
        return CHECK_FAILED, f"{app.check.stream} has nothing that matches {pattern!r}"
    if proof.verdict == "violated":
        return PLACEMENT_VIOLATED, proof.reason
    if seen.objection:
        return seen.objection
    if changed:
        return SETTINGS_CHANGED, changed
    return OK, ""


def read_metrics(case: Case, seen: Observation) -> tuple[dict[str, float], dict[str, str]]:
    """Return the numbers the program printed by name, and the reason for each that is absent.

    A pattern's last match counts: programs print progress before results.
    """
    values: dict[str, float] = {}
    absent: dict[str, str] = {}
    if case.size.quiet:
        why = f"the size {case.size.name} silences the program"
        return values, {metric.name: why for metric in case.app.metrics}
    for metric in case.app.metrics:
        matches = re.findall(metric.pattern, _stream(seen, metric.stream), re.MULTILINE)
        try:
            last = matches[-1]
            number = float(last if isinstance(last, str) else last[0])
            if number - number != 0:
                raise ValueError(f"{number} is not a finite number")
            values[metric.name] = number
        except IndexError:
            absent[metric.name] = f"{metric.stream} has nothing that matches {metric.pattern!r}"
        except ValueError:
            absent[metric.name] = f"what {metric.pattern!r} matched is not a finite number"
    return values, absent


def stderr_tail(stderr: str) -> str:
    """Return the end of what the program wrote to stderr, without control characters."""
    tail = stderr[-STDERR_TAIL_CHARACTERS:]
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in tail).strip()


def _stream(seen: Observation, name: str) -> str:
    return seen.stderr if name == "stderr" else seen.stdout
