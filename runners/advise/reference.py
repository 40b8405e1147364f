"""The reference of a search: threads, schedule and wait policy as the environment has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from base.structure import InvalidError
from base.text import plural, shown
from configs.app import Schedule
from configs.study import MAX_THREADS, RUNTIME_DEFAULT, WAIT_POLICIES
from runners.advise.program import Program
from runners.advise.request import Request
from runners.plan.command_line import FALLBACK_SCHEDULE, REMOVED_PREFIXES

# What schedule(runtime) means without OMP_SCHEDULE, by omp_get_schedule of GCC 12 and of LLVM 14.
DEFAULT_SCHEDULES = {"libgomp": "dynamic", "libomp": "static"}
_PLACEMENTS = ("OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET")
_TAKEN_OVER = ("OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_WAIT_POLICY", "OMP_DYNAMIC")


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
    schedule, told = _schedule(program, bool(request.schedules), environment)
    wait_policy = environment.get("OMP_WAIT_POLICY", "").strip().lower()
    if wait_policy not in WAIT_POLICIES:
        wait_policy = RUNTIME_DEFAULT
    lines = [f"{plural(threads, 'thread')} under the OS scheduler: {why}", *told]
    if wait_policy != RUNTIME_DEFAULT:
        lines.append(f"threads that wait are {wait_policy}: your OMP_WAIT_POLICY")
    return Reference(threads, schedule, wait_policy, (*lines, *_left_out(environment)))


def _threads(
    program: Program, request: Request, environment: Mapping[str, str], cpus: int
) -> tuple[int, str]:
    if program.runtime == "none":
        return 1, program.runtime_said
    if request.starts:
        return request.starts, "what it starts, whatever OMP_NUM_THREADS says"
    if program.runtime == "other" and request.threads and len(request.threads) == 1:
        return request.threads[0], "what --threads says of it"
    text = environment.get("OMP_NUM_THREADS", "")
    # A list's first item is for the outermost parallel regions (OpenMP 5.2, section 21.1.2).
    first = text.partition(",")[0].strip()
    if re.fullmatch(r"[1-9][0-9]{0,3}", first, re.ASCII) and int(first) <= MAX_THREADS:
        return int(first), "your OMP_NUM_THREADS"
    ignored = f" (your OMP_NUM_THREADS, {shown(text)}, is no thread count)" if text else ""
    return cpus, f"as many as there are CPUs{ignored}"


def _schedule(
    program: Program, asked: bool, environment: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return the schedule, and lines on its origin; `asked`: the user named schedules to race."""
    lines = []
    if (text := environment.get("OMP_SCHEDULE")) is not None:
        try:
            schedule = Schedule().decode("".join(text.split()).lower())
        except InvalidError:
            lines.append(f"your OMP_SCHEDULE, {shown(text)}, is no schedule: it is left out")
        else:
            return schedule, [f"schedule {schedule}: your OMP_SCHEDULE"]
    if program.loops == "no" and not asked:
        return FALLBACK_SCHEDULE, lines
    default = DEFAULT_SCHEDULES.get(program.runtime)
    if default is None:
        return FALLBACK_SCHEDULE, [*lines, f"schedule {FALLBACK_SCHEDULE}: its own is not known"]
    return default, [*lines, f"schedule {default}: what {program.runtime} does by itself"]


def _left_out(environment: Mapping[str, str]) -> list[str]:
    """Return lines that name the user's variables that the program does not get."""
    bound = [name for name in _PLACEMENTS if name in environment]
    others = sorted(
        name
        for name in environment
        if name.startswith(REMOVED_PREFIXES) and name not in (*_PLACEMENTS, *_TAKEN_OVER)
    )
    lines = []
    if bound:
        lines.append(
            f"without your {', '.join(bound)}: to compare with that placement, run it by hand"
        )
    if others:
        lines.append(f"without your {', '.join(others)}, which pinstudy does not pass on")
    return lines
