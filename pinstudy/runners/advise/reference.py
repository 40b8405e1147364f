"""The reference of a search: threads, schedule and wait policy as the environment has them.

When a run of the reference fails, the race ends: the reason, and what the user can do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pinstudy.base.errors import StudyError
from pinstudy.base.text import plural, shown
from pinstudy.configs.app import FALLBACK_SCHEDULE, Schedule, in_order
from pinstudy.configs.decoding import InvalidError, decode
from pinstudy.configs.study import MAX_THREADS, RUNTIME_DEFAULT, WAIT_POLICIES
from pinstudy.configs.variables import OMP_NUM_THREADS, counting
from pinstudy.runners.advise.program import Program
from pinstudy.runners.advise.request import METRIC, Request
from pinstudy.runners.host.program_files import threads_told_by
from pinstudy.runners.placement.thread_placement import FEW_LOOKS, TOO_SHORT_S
from pinstudy.runners.plan.openmp_variables import BINDING_VARIABLES, is_removed
from pinstudy.runners.records.placed_runs import PROVED, UNPROVED, observed_team, verdict_of
from pinstudy.runners.records.race.race import is_placed
from pinstudy.runners.records.race_state import race_run
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.status import (
    CHECK_FAILED,
    OK,
    PLACEMENT_VIOLATED,
    TIMEOUT,
    last_words,
)
from pinstudy.runners.study.agenda import RaceAgenda
from pinstudy.runners.study.summary import PlanSummary

# What schedule(runtime) means without OMP_SCHEDULE, by omp_get_schedule of GCC 12 and of LLVM 14.
DEFAULT_SCHEDULES = {"libgomp": "dynamic", "libomp": "static"}
_TAKEN_OVER = ("OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_WAIT_POLICY", "OMP_DYNAMIC")
# The placement of a run that takes so many seconds can be proved.
LONG_ENOUGH_S = 1.0


@dataclass(frozen=True)
class Reference:
    """The program as it runs without pinstudy, left to the OS scheduler.

    `lines` say where threads and schedule come from, and which variables are left out.
    """

    threads: int
    schedule: str
    wait_policy: str
    lines: tuple[str, ...]


def reference_of(
    program: Program, request: Request, environment: Mapping[str, str], cpus: int
) -> Reference:
    """Return the reference in this environment; the process may use `cpus` CPUs of the node."""
    threads, why = _threads(program, request, environment, cpus)
    schedule, origin = _schedule(program, bool(request.schedules), environment)
    wait_policy = environment.get("OMP_WAIT_POLICY", "").strip().lower()
    if wait_policy not in WAIT_POLICIES:
        wait_policy = RUNTIME_DEFAULT
    lines = [f"{plural(threads, 'thread')} under the OS scheduler: {why}", *origin]
    if wait_policy != RUNTIME_DEFAULT:
        lines.append(f"threads that wait are {wait_policy}: your OMP_WAIT_POLICY")
    lines += _left_out(environment, wait_policy)
    return Reference(threads, schedule, wait_policy, tuple(lines))


def _threads(
    program: Program, request: Request, environment: Mapping[str, str], cpus: int
) -> tuple[int, str]:
    if program.runtime == "none":
        return 1, program.runtime_line
    if request.starts:
        return request.starts, "what it starts, whatever it is told"
    if program.runtime == "other" and request.threads and len(request.threads) == 1:
        return request.threads[0], "what --threads says of it"
    ignored = ""
    for name in counting(threads_by(program, request)):
        text = environment.get(name, "")
        # A list's first item is for the outermost parallel regions (OpenMP 5.2, section 21.1.2).
        first = text.partition(",")[0].strip()
        if re.fullmatch(r"[1-9][0-9]{0,3}", first, re.ASCII) and int(first) <= MAX_THREADS:
            return int(first), f"your {name}"
        if text and not ignored:
            ignored = f" (your {name}, {shown(text)}, is no thread count)"
    return cpus, f"as many as there are CPUs{ignored}"


def threads_by(program: Program, request: Request) -> tuple[str, ...]:
    """Return what tells the program its thread count: variables, or what else does."""
    return request.threads_by or (program.threads_by or OMP_NUM_THREADS,)


def _schedule(
    program: Program, requested: bool, environment: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return the schedule, and lines on its origin; `requested`: the user named schedules."""
    lines = []
    if (text := environment.get("OMP_SCHEDULE")) is not None:
        try:
            schedule: str = decode(Schedule, "".join(text.split()).lower())
        except InvalidError:
            lines.append(f"your OMP_SCHEDULE, {shown(text)}, is no schedule: it is left out")
        else:
            # Without a modifier libomp takes it so, and the reference is what the user runs today.
            if program.runtime == "libomp" and in_order(schedule) != schedule:
                schedule = f"nonmonotonic:{schedule}"
            return schedule, [f"schedule {schedule}: your OMP_SCHEDULE"]
    if program.loops == "no" and not requested:
        return FALLBACK_SCHEDULE, lines
    default = DEFAULT_SCHEDULES.get(program.runtime)
    if default is None:
        return FALLBACK_SCHEDULE, [*lines, f"schedule {FALLBACK_SCHEDULE}: its own is not known"]
    return default, [*lines, f"schedule {default}: what {program.runtime} does by itself"]


def _left_out(environment: Mapping[str, str], wait_policy: str) -> list[str]:
    """Return lines that name the user's variables that the program does not get."""
    bound = [name for name in BINDING_VARIABLES if name in environment]
    others = sorted(
        name
        for name in environment
        if is_removed(name, wait_policy) and name not in (*BINDING_VARIABLES, *_TAKEN_OVER)
    )
    lines = []
    if bound:
        lines.append(
            f"without your {', '.join(bound)}: to compare with that placement, run it by hand"
        )
    if others:
        lines.append(f"without your {', '.join(others)}, which pinstudy does not pass on")
    return lines


def reference_problem(summary: PlanSummary, folder: Path) -> dict[str, Any] | None:
    """Return the record of the run that ruled out the reference; None when there is a reference."""
    agenda, rule = summary.agenda, summary.study.race
    assert isinstance(agenda, RaceAgenda)
    assert rule is not None
    state = agenda.state
    if state.decision != "no reference":
        return None
    last = None
    for record in read_records(folder / "records"):
        if record.get("case_id") == state.reference:
            run = race_run(record, rule)
            if run.reason or not is_placed(run):
                last = record
    return last


def check_processes(request: Request, record: Mapping[str, Any]) -> None:
    """Raise StudyError when the first run shows more processes at work than the request allows.

    Thread counts and CPUs are chosen for one process; others share its CPUs.
    """
    team = observed_team(record)
    if not (record.get("warmup") and team.several) or verdict_of(record) == UNPROVED:
        return
    beside = max(1, team.processes - 1)
    if beside <= request.helpers:
        return
    raise StudyError(
        f"{request.program.name}: {beside + 1} of its processes are at work, and the threads of "
        f"one are placed; --helpers {beside} lets the others work beside it"
    )


def adapt_threads(program: Program, request: Request, record: Mapping[str, Any]) -> Request | None:
    """Return the request with the thread count that the program starts; None to keep the request.

    A program with one thread, or with `{threads}` in its arguments, keeps it. Another one that does
    not start as many as it was told is told by the variable of a library that it had loaded, or
    else is placed with the threads that it starts.
    """
    if program.runtime == "none" or request.starts or request.takes_threads:
        return None
    started = _other_count(record)
    if started and (told := told_by_loaded(record)):
        _, variable = told
        if variable not in threads_by(program, request) and request.threads_by is None:
            return replace(request, threads_by=(variable,))
    return replace(request, threads=(started,), starts=started) if started else None


def told_by_loaded(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the library that runs a program's threads, if it loaded one, and what tells it."""
    return threads_told_by(record.get("thread_libraries") or ())


def _other_count(record: Mapping[str, Any]) -> int:
    """Return how many threads a program started, 0 if as many as were requested.

    Fewer threads are a violation, or unproved where the kernel does not report births. More are
    neither when the OS scheduler places them.
    """
    team, status, verdict = observed_team(record), record.get("status"), verdict_of(record)
    sampled = status == PLACEMENT_VIOLATED or (status == OK and not _is_rarely_sampled(record))
    if sampled and team.started < team.requested:
        return team.started
    more = status == OK and verdict == PROVED and team.started > team.requested
    # Threads that only wait for those of other processes are no team.
    return team.at_work if more else 0


def _is_rarely_sampled(record: Mapping[str, Any]) -> bool:
    looks = (record.get("placement") or {}).get("looks") or 0
    return not (record.get("elapsed_s", 0.0) >= TOO_SHORT_S and looks >= FEW_LOOKS)


def ignored_count(started: int, requested: int) -> str:
    """Return the text for a program that ignores the requested number of threads."""
    return (
        f"it starts {plural(started, 'thread')} whatever it is told ({requested} here); "
        "write {threads} where it takes the number"
    )


def raise_failure(request: Request, record: Mapping[str, Any]) -> None:
    """Raise StudyError: why a run of the reference was not good, and what helps."""
    raise StudyError(
        f"a run of {request.program.name} as you start it was not good: "
        f"{_reason(record)}{last_words(record)}; {_what_helps(request, record)}"
    )


def _reason(record: Mapping[str, Any]) -> str:
    absent = record.get("unavailable") or {}
    if _is_unproved(record):
        return f"where its threads ran could not be proved: {absent.get('placement', 'no reason')}"
    if record["status"] == OK and (started := _other_count(record)):
        return f"it started {plural(started, 'thread')}, told {record['threads']}"
    reason: str = record.get("reason") or absent.get("race_value") or record["status"]
    return reason


def _is_unproved(record: Mapping[str, Any]) -> bool:
    """Return whether an unproved placement is all that is wrong with a run."""
    unproved = record["status"] == OK and verdict_of(record) == UNPROVED
    return unproved and "race_value" not in (record.get("unavailable") or {})


def _what_helps(request: Request, record: Mapping[str, Any]) -> str:
    status = record["status"]
    if started := _other_count(record):
        by_arguments = "see what its arguments tell it: {threads} stands for the number of threads"
        return by_arguments if request.takes_threads else ignored_count(started, record["threads"])
    if _is_unproved(record):
        longer = f"give it a larger size: a run of {LONG_ENOUGH_S:g} s or more can be proved"
        quieter = "see that nothing else keeps the node busy, then begin anew with --fresh"
        return longer if record["elapsed_s"] < LONG_ENOUGH_S else quieter
    if status == OK and request.of == METRIC:
        return "mend --metric, then give the new command"
    if status == OK and _reason(record).startswith(f"region {request.region}: "):
        return "let the program mark it as docs/regions.md says, or leave out --region"
    if status == OK:
        return f"without it nothing races for {request.of}: --objective time needs no counters"
    if status == CHECK_FAILED:
        return "mend --check, or the program, and begin anew with --fresh"
    if status == TIMEOUT:
        return "give it more time: --timeout"
    if status == PLACEMENT_VIOLATED:
        return "something in it binds its threads, which has to be left to pinstudy"
    if record.get("repetition") != 1:
        return "it had worked before; see why it does not always, then begin anew with --fresh"
    return "see that it works, then begin anew with --fresh"
