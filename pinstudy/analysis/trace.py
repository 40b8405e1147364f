"""The course of a run's threads as trace events, for chrome://tracing and Perfetto.

The form is the JSON Object Format of the Trace Event Format (Google, "Trace Event Format", 2016):
complete events (X), counters (C) and metadata (M), with times in microseconds. Slices of a track
nest or follow one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from pinstudy.analysis.records.files import read_limited, write_file
from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.text import as_typed, first_of, one_line
from pinstudy.configs.results_folder import TRACES
from pinstudy.runners.records.trace_file import SUFFIX, TracedThread, TraceFile, unpacked

Event = dict[str, Any]
# The track of regions and counters: the first process of a system, which no study runs.
_RUN = 1
_REGIONS = "regions"
COUNTER = "threads at work"
# Names of colours that trace viewers reserve (catapult, tracing/base/color_scheme.html); Perfetto
# chooses its own by a slice's name.
_COLOURS = {"P": "rail_response", "E": "thread_state_iowait", "LP-E": "rail_load"}
_OTHER_COLOUR = "grey"
EXACTNESS = (
    "A slice begins and ends at looks, and is named by the CPU on which the look at its end found "
    "the thread: a move is drawn too early by up to the time between two looks. Moves there and "
    "back between two looks are not seen; a gap is a thread that slept and used no CPU time. Of "
    "the time before a thread's first look and after its last nothing is known."
)
_MAX_NAMED = 6


@dataclass
class _Slice:
    """A thread on a CPU between two looks, in microseconds."""

    cpu: int
    begins_us: int
    ends_us: int
    cpu_us: int
    moved: bool
    looks: int = 1


def trace_file(results: str, run_id: str | None) -> tuple[TraceFile, Path]:
    """Return the trace of a run in a results folder, or the one in a file; and its folder.

    Without `run_id` the folder must have one alone. Raises UserError when there is none, several,
    or one that is not understood.
    """
    path = Path(results)
    if path.is_dir():
        path = _path_of(path, run_id)
    data = read_limited(path)
    if data is None:
        name = one_line(results)
        raise UserError(f"{name}: expected a results folder, or a file of its {TRACES}/")
    try:
        file = unpacked(data)
    except ValueError as error:
        raise UserError(f"{path}: no trace of a run: {one_line(str(error))}") from None
    return file, Path(results) if Path(results).is_dir() else path.parent


def _path_of(folder: Path, run_id: str | None) -> Path:
    paths = {path.name.removesuffix(SUFFIX): path for path in (folder / TRACES).glob(f"*{SUFFIX}")}
    if not paths:
        raise UserError(
            f"{folder}: no run has a trace; a study that says `collect: [perf, energy, trace]` "
            "keeps them"
        )
    names = first_of(sorted(paths), _MAX_NAMED, ", ")
    if run_id is None and len(paths) > 1:
        raise UserError(
            f"{folder}: {len(paths)} runs have traces, choose one by --run: {names} "
            f"(`{PINSTUDY} runs {as_typed(str(folder))}` tells what they are)"
        )
    if run_id is not None and run_id not in paths:
        raise UserError(f"--run {one_line(run_id)}: has no trace in {folder}; expected {names}")
    return paths[run_id] if run_id is not None else next(iter(paths.values()))


def write_trace(results: str, run_id: str | None, output: Path | None) -> tuple[Path, TraceFile]:
    """Write the trace events of a run, by default as trace.json in its folder; return where.

    Raises UserError as `trace_file` does, and when the file cannot be written.
    """
    from msgspec import json

    file, folder = trace_file(results, run_id)
    path = output or folder / "trace.json"
    return write_file(path, json.encode(trace_events(file)) + b"\n"), file


def trace_events(file: TraceFile) -> dict[str, Any]:
    """Return a run as the format's JSON object: metadata first, then all events by their time."""
    kinds = {cpu: kind for kind, cpus in file.kinds.items() for cpu in parse_cpulist(cpus)}
    end_us = file.elapsed_us
    if end_us is None:
        end_us = max(
            [thread.at_us[-1] for thread in file.threads] + [mark.at_us for mark in file.marks]
        )
    events = [
        *(event for thread in file.threads for event in _thread_events(thread, kinds, end_us)),
        *_counters(file, kinds, end_us),
        *_regions(file, end_us),
    ]
    # The outer of two slices that begin together comes first.
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0)))
    return {
        "traceEvents": [*_metadata(file), *events],
        "displayTimeUnit": "ms",
        "otherData": _about(file),
    }


def _event(phase: str, name: str, ts_us: int, pid: int, tid: int, **more: object) -> Event:
    return {"ph": phase, "name": name, "ts": ts_us, "pid": pid, "tid": tid, **more}


def _metadata(file: TraceFile) -> Iterator[Event]:
    def named(key: str, pid: int, tid: int, name: str, index: int) -> Iterator[Event]:
        yield _event("M", f"{key}_name", 0, pid, tid, args={"name": name})
        yield _event("M", f"{key}_sort_index", 0, pid, tid, args={"sort_index": index})

    yield from named("process", _RUN, _RUN, f"run {file.run_id}: {file.title}", 0)
    if file.marks:
        yield from named("thread", _RUN, _RUN, _REGIONS, 0)
    processes: dict[int, TracedThread] = {}
    for thread in file.threads:
        processes.setdefault(thread.pid, thread)
    for index, (pid, thread) in enumerate(processes.items(), start=1):
        rank = "" if thread.rank is None else f" (rank {thread.rank})"
        yield from named("process", pid, pid, f"{thread.name}{rank}", index)
    for index, thread in enumerate(file.threads):
        yield from named("thread", thread.pid, thread.tid, f"{thread.name} #{index}", index)


def _thread_events(thread: TracedThread, kinds: dict[int, str], end_us: int) -> Iterator[Event]:
    several = len(set(kinds.values())) > 1
    for found in _slices(thread, end_us):
        kind = kinds.get(found.cpu, "")
        lasts_us = found.ends_us - found.begins_us
        facts = {
            "cpu": found.cpu,
            "kind": kind or None,
            "cpu_ms": found.cpu_us / 1000,
            "looks": found.looks,
            "moved_here_since_the_look_before": found.moved,
        }
        name = f"{kind} {found.cpu}" if several and kind else f"CPU {found.cpu}"
        more = {"dur": lasts_us, "cat": "placement", "cname": _COLOURS.get(kind, _OTHER_COLOUR)}
        yield _event("X", name, found.begins_us, thread.pid, thread.tid, **more, args=facts)


def _slices(thread: TracedThread, end_us: int) -> list[_Slice]:
    """Return where a thread was, without the times in which it slept."""
    rows = zip(thread.at_us, thread.cpus, thread.at_work, thread.cpu_us, strict=True)
    found: list[_Slice] = []
    for (before_us, cpu_before, _, used_before), (at_us, cpu, at_work, used) in pairwise(rows):
        begins_us, ends_us = min(before_us, end_us), min(at_us, end_us)
        if not (at_work or used > used_before):
            continue
        last = found[-1] if found else None
        if last and last.cpu == cpu and last.ends_us == begins_us:
            last.ends_us, last.looks = ends_us, last.looks + 1
            last.cpu_us += used - used_before
        else:
            found.append(_Slice(cpu, begins_us, ends_us, used - used_before, cpu != cpu_before))
    return found


def _counters(file: TraceFile, kinds: dict[int, str], end_us: int) -> Iterator[Event]:
    """Yield how many threads each look found at work, by core kind, wherever that changes."""
    at_us: dict[int, int] = {}
    at_work: dict[int, Counter[str]] = {}
    for thread in file.threads:
        columns = zip(thread.looks, thread.at_us, thread.cpus, thread.at_work, strict=True)
        for look, time_us, cpu, works in columns:
            at_us[look] = max(time_us, at_us.get(look, 0))
            at_work.setdefault(look, Counter())[kinds.get(cpu, "?")] += works
    names = [*file.kinds, *(["?"] if any(c["?"] for c in at_work.values()) else [])]
    latest: dict[str, int] | None = None
    for look in sorted(at_us):
        counts = {name: at_work[look][name] for name in names}
        if at_us[look] < end_us and counts != latest:
            latest = counts
            yield _event("C", COUNTER, at_us[look], _RUN, _RUN, args=counts)
    yield _event("C", COUNTER, end_us, _RUN, _RUN, args=dict.fromkeys(names, 0))


def _regions(file: TraceFile, end_us: int) -> Iterator[Event]:
    """Yield the executions of regions; what was not ended lasts until the end."""
    begun: list[tuple[str, int]] = []
    for mark in file.marks:
        if mark.begins:
            begun.append((mark.name, mark.at_us))
        elif begun and begun[-1][0] == mark.name:
            name, begins_us = begun.pop()
            yield _region(name, begins_us, mark.at_us, ended=True)
    for name, begins_us in begun:
        yield _region(name, begins_us, max(end_us, begins_us), ended=False)


def _region(name: str, begins_us: int, ends_us: int, *, ended: bool) -> Event:
    more: dict[str, Any] = {"dur": ends_us - begins_us, "cat": _REGIONS, "args": {"ended": ended}}
    return _event("X", name, begins_us, _RUN, _RUN, **more)


def _about(file: TraceFile) -> dict[str, Any]:
    gaps_us = [
        after - before for thread in file.threads for before, after in pairwise(thread.at_us)
    ]
    known = {
        "median_ms_between_looks": median(gaps_us) / 1000 if gaps_us else None,
        "longest_ms_between_looks": max(gaps_us) / 1000 if gaps_us else None,
        "elapsed_ms": None if file.elapsed_us is None else file.elapsed_us / 1000,
    }
    return {
        "run_id": file.run_id,
        "case": file.title,
        "started_at": file.started_at,
        "kinds": file.kinds,
        "looks": file.looks,
        "every_nth_look_kept": file.step,
        **{name: value for name, value in known.items() if value is not None},
        **({} if file.elapsed_us is not None else {"end": "not seen: the run was interrupted"}),
        "threads_left_out": file.threads_left_out,
        "region_marks_left_out": file.marks_left_out,
        "exactness": EXACTNESS,
    }
