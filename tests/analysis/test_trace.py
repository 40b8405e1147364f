"""A run's looks become trace events: slices, counters, regions, each where it was seen."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from pinstudy.analysis.trace import COUNTER, trace_events
from pinstudy.runners.records.trace_file import (
    RegionMark,
    TracedThread,
    TraceFile,
    packed,
    unpacked,
)
from tests.support.cli import pinstudy
from tests.support.trace_format import checked

MAIN = TracedThread(
    pid=40,
    tid=40,
    name="solver",
    looks=[1, 2, 3, 4, 5, 6],
    at_us=[100, 200, 300, 400, 500, 610],
    cpus=[0, 0, 8, 8, 8, 0],
    at_work=[True, True, True, False, False, False],
    # It slept from the fourth look to the fifth.
    cpu_us=[50, 150, 240, 260, 260, 300],
)
WORKER = TracedThread(
    pid=40,
    tid=41,
    name="solver",
    looks=[2, 3],
    at_us=[210, 310],
    cpus=[9, 9],
    at_work=[True, True],
    cpu_us=[5, 105],
)
FILE = TraceFile(
    schema=1,
    run_id="abc-1-0",
    title="solver-libgomp large x2 unpinned current",
    started_at="2026-11-29T00:00:00.000+00:00",
    kinds={"P": "0-7", "E": "8-9"},
    elapsed_us=600,
    looks=6,
    step=1,
    threads=[MAIN, WORKER],
)


def slices(file: TraceFile, tid: int) -> list[tuple[str, int, int]]:
    events = trace_events(file)["traceEvents"]
    return [
        (event["name"], event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["ph"] == "X" and event["tid"] == tid
    ]


def counts(file: TraceFile) -> list[tuple[int, dict[str, int]]]:
    events = trace_events(file)["traceEvents"]
    return [(event["ts"], event["args"]) for event in events if event["name"] == COUNTER]


def test_a_slice_is_the_cpu_of_the_look_at_its_end_and_sleep_is_a_gap() -> None:
    # The last look came 10 us after the program's end.
    assert slices(FILE, 40) == [("P 0", 100, 200), ("E 8", 200, 400), ("P 0", 500, 600)]
    assert slices(FILE, 41) == [("E 9", 210, 310)]
    (moved,) = [e for e in trace_events(FILE)["traceEvents"] if e["name"] == "E 8"]
    assert moved["args"] == {
        "cpu": 8,
        "kind": "E",
        "cpu_ms": 0.11,
        "looks": 2,
        "moved_here_since_the_look_before": True,
    }


def test_the_threads_at_work_are_counted_by_core_kind_at_each_look() -> None:
    assert counts(FILE) == [
        (100, {"P": 1, "E": 0}),
        (210, {"P": 1, "E": 1}),
        (310, {"P": 0, "E": 2}),
        (400, {"P": 0, "E": 0}),
        (600, {"P": 0, "E": 0}),
    ]


def test_a_node_of_one_kind_has_plain_cpus() -> None:
    one_kind = structs.replace(FILE, kinds={"P": "0-9"})
    assert [name for name, *_ in slices(one_kind, 40)] == ["CPU 0", "CPU 8", "CPU 0"]


def test_regions_nest_and_what_was_not_ended_lasts_until_the_end() -> None:
    marks = [("solve", True, 120), ("step", True, 120), ("step", False, 300), ("step", True, 350)]
    file = structs.replace(FILE, marks=[RegionMark(*mark) for mark in marks])

    assert slices(file, 1) == [("solve", 120, 600), ("step", 120, 300), ("step", 350, 600)]
    events = trace_events(file)["traceEvents"]
    ended = [event["args"]["ended"] for event in events if event.get("cat") == "regions"]
    assert ended == [False, True, False]
    checked(json.dumps(trace_events(file)).encode())


def test_how_exact_the_file_is_stands_in_it() -> None:
    about = trace_events(FILE)["otherData"]
    # Gaps of 100, 100, 100, 100, 110 and 100 us.
    assert (about["median_ms_between_looks"], about["longest_ms_between_looks"]) == (0.1, 0.11)
    assert "back between two looks are not seen" in about["exactness"]
    assert about["elapsed_ms"] == 0.6
    interrupted = trace_events(structs.replace(FILE, elapsed_us=None))["otherData"]
    assert "elapsed_ms" not in interrupted
    assert interrupted["end"] == "not seen: the run was interrupted"


def test_ranks_and_a_thread_that_was_seen_once_are_named() -> None:
    once = TracedThread(50, 50, "solver", [2], [210], [9], [True], [5], rank=1)
    data = trace_events(structs.replace(FILE, threads=[structs.replace(MAIN, rank=0), once]))
    named = [e["args"]["name"] for e in data["traceEvents"] if e["name"] == "process_name"]
    assert named[1:] == ["solver (rank 0)", "solver (rank 1)"]
    checked(json.dumps(data).encode())


def kept(folder: Path, *run_ids: str) -> Path:
    (folder / "traces").mkdir()
    for run_id in run_ids:
        data = packed(structs.replace(FILE, run_id=run_id))
        (folder / "traces" / f"{run_id}.json.gz").write_bytes(data)
    return folder


def test_the_only_run_is_written_into_the_folder_of_results(tmp_path: Path) -> None:
    done = pinstudy(kept(tmp_path, "abc-1-0"), "trace", ".", status=0)
    assert "trace.json (run abc-1-0, 2 threads, 6 looks)" in done.stdout
    checked((tmp_path / "trace.json").read_bytes())


def test_one_of_several_runs_is_chosen_or_given_as_a_file(tmp_path: Path) -> None:
    kept(tmp_path, "abc-1-0", "abc-1-1")
    pinstudy(tmp_path, "trace", ".", "--run", "abc-1-1", "-o", "b.json", status=0)
    pinstudy(tmp_path, "trace", "traces/abc-1-0.json.gz", "-o", "a.json", status=0)
    found = [json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json")]
    assert [data["otherData"]["run_id"] for data in found] == ["abc-1-0", "abc-1-1"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((".",), "2 runs have traces, choose one by --run: abc-1-0, abc-1-1 (`pinstudy runs ."),
        ((".", "--run", "x"), "--run x: has no trace in .; expected abc-1-0, abc-1-1"),
        (("traces/../..",), "no run has a trace; a study that says `collect: [perf,"),
        (("none",), "none: expected a results folder, or a file of its traces/"),
        (("bad",), "bad: no trace of a run: it is not compressed by gzip ("),
    ],
)
def test_what_is_no_trace_is_refused_in_a_line(
    tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (kept(folder, "abc-1-0", "abc-1-1") / "bad").write_text("{}")
    (line,) = pinstudy(folder, "trace", *arguments, status=2).stderr.splitlines()
    assert problem in line


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("looks", [1], "threads[1]: looks: expected columns of one length"),
        ("looks", [3, 2], "threads[1]: looks: expected them in their order"),
        ("at_us", [9, 8], "threads[1]: at_us: expected what never falls"),
        ("cpus", [1, -1], "threads[1].cpus[1]: "),
    ],
)
def test_a_file_of_somebody_else_is_checked(place: str, value: Any, problem: str) -> None:  # noqa: ANN401
    fields = json.loads(gzip.decompress(packed(FILE)))
    fields["threads"][1][place] = value
    with pytest.raises(ValueError, match=r".") as refused:
        unpacked(gzip.compress(json.dumps(fields).encode()))
    assert problem in str(refused.value)


def test_a_file_that_inflates_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="it is no JSON"):
        unpacked(gzip.compress(b" " * (1 << 26)))
    assert unpacked(packed(FILE)) == FILE
