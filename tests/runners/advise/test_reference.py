"""The reference is what a user gets without pinstudy, and how it fails tells what helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pinstudy.base.errors import StudyError
from pinstudy.runners.advise.program import Program
from pinstudy.runners.advise.reference import (
    adapt_threads,
    check_processes,
    raise_failure,
    reference_of,
)
from pinstudy.runners.advise.request import Request
from tests.runners.advise.programs import LIBGOMP, OTHER, SERIAL, WITH_LOOPS, request

OPENBLAS = replace(OTHER, threads_by="OPENBLAS_NUM_THREADS")
RAYON = request(threads_by="RAYON_NUM_THREADS")
MINE = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "6", "RAYON_NUM_THREADS": "x"}


@pytest.mark.parametrize(
    ("program", "asked", "environment", "threads"),
    [
        (LIBGOMP, request(), {}, 24),
        *(
            (LIBGOMP, request(), {"OMP_NUM_THREADS": value}, threads)
            for value, threads in [("6", 6), ("8,2", 8), (" 4 ", 4), ("64", 64)]
        ),
        *(
            (LIBGOMP, request(), {"OMP_NUM_THREADS": value}, 24)
            for value in ("0", "many", "", "9999", "-2", "٤")
        ),
        # The variable that tells the program, or that the user says does so.
        (OPENBLAS, request(), MINE, 6),
        (OPENBLAS, request(threads_by="OMP_NUM_THREADS"), MINE, 2),
        (OTHER, request(threads_by="RAYON_NUM_THREADS,OPENBLAS_NUM_THREADS"), MINE, 6),
        (OTHER, RAYON, MINE, 24),
        (OTHER, request("/bin/sh", "-t{threads}", threads_by="arguments"), MINE, 24),
        (SERIAL, request(), {"OMP_NUM_THREADS": "8"}, 1),
        # Where the threads are not known, a single count that is asked for tells them.
        (OTHER, request(threads="1"), {"OMP_NUM_THREADS": "4"}, 1),
        (OTHER, request(threads="1,2"), {}, 24),
        (LIBGOMP, request(threads="1"), {}, 24),
        (LIBGOMP, request(threads="1"), {"OMP_NUM_THREADS": "4"}, 4),
    ],
)
def test_threads_are_the_users_or_the_nodes_cpus(
    program: Program, asked: Request, environment: dict[str, str], threads: int
) -> None:
    assert reference_of(program, asked, environment, 24).threads == threads


def test_a_variable_that_is_no_thread_count_is_told() -> None:
    (line, *_) = reference_of(OTHER, RAYON, MINE, 24).lines
    assert "your RAYON_NUM_THREADS, 'x', is no thread count" in line


LIBOMP = replace(LIBGOMP, runtime="libomp")


@pytest.mark.parametrize(
    ("program", "mine", "meant"),
    [
        (WITH_LOOPS, None, "dynamic"),
        (WITH_LOOPS, "Guided , 8", "guided,8"),
        (WITH_LOOPS, "fast", "dynamic"),
        # It changes nothing where no loop asks for it, but is what the user has.
        (LIBGOMP, None, "static"),
        (LIBGOMP, "Guided , 8", "guided,8"),
        (LIBOMP, "dynamic,4", "nonmonotonic:dynamic,4"),
        (LIBOMP, "monotonic:dynamic", "monotonic:dynamic"),
        (LIBOMP, "static", "static"),
    ],
)
def test_a_users_schedule_means_what_it_means_to_the_runtime(
    program: Program, mine: str | None, meant: str
) -> None:
    environment = {} if mine is None else {"OMP_SCHEDULE": mine}
    found = reference_of(program, request(), environment, 2)
    assert found.schedule == meant
    assert any("'fast', is no schedule" in line for line in found.lines) is (mine == "fast")


@pytest.mark.parametrize(
    ("mine", "policy"),
    [(None, "runtime-default"), ("ACTIVE", "active"), ("sometimes", "runtime-default")],
)
def test_waiting_is_the_users_or_the_runtimes(mine: str | None, policy: str) -> None:
    environment = {} if mine is None else {"OMP_WAIT_POLICY": mine}
    assert reference_of(LIBGOMP, request(), environment, 2).wait_policy == policy


def test_what_the_program_does_not_get_is_told() -> None:
    left_out = {"OMP_PROC_BIND": "close", "OMP_THREAD_LIMIT": "64"}
    environment = left_out | {"OMP_STACKSIZE": "64M", "HOME": "/", "OMP_DYNAMIC": "1"}
    told = "\n".join(reference_of(LIBGOMP, request(), environment, 2).lines)
    assert all(f"without your {name}" in told for name in left_out)
    assert "OMP_STACKSIZE" not in told and "HOME" not in told


TEAM = {"threads": [{"process": 0}, {"process": 0}, {"process": 1}]}
FEW = {"status": "placement-violated", "reason": "few ran", "threads": 8, "placement": TEAM}
NO_NUMBER = {"status": "ok", "unavailable": {"race_value": "no counters"}}
UNMARKED = {
    "status": "ok",
    "unavailable": {"race_value": "region solve: the program did not mark it"},
}
SHORT = {
    "status": "ok",
    "elapsed_s": 0.02,
    "placement": {"verdict": "unproved"},
    "unavailable": {"placement": "3 looks"},
}


MORE = {
    "status": "ok",
    "threads": 1,
    "placement": {"verdict": "proved", "threads": [{"process": 0}, {"process": 0}]},
}
THREADS = ("/bin/sh", "-t{threads}")
# Where the kernel tells no ordinary user of births, fewer threads are no violation.
UNTOLD: dict[str, Any] = {
    "status": "ok",
    "threads": 8,
    "elapsed_s": 0.5,
    "placement": TEAM | {"verdict": "unproved", "looks": 12},
}
THREADS = ("/bin/sh", "-t{threads}")


@pytest.mark.parametrize(
    ("command", "options", "record", "told"),
    [
        ((), {}, FEW, "few ran; it starts 2 threads whatever it is told (8 here); write"),
        ((), {}, SHORT, "could not be proved: 3 looks; give it a larger size"),
        ((), {}, SHORT | {"elapsed_s": 40.0}, "3 looks; see that nothing else keeps the node busy"),
        (THREADS, {}, FEW, "few ran; see what its arguments tell it: {threads} stands for"),
        (
            (),
            {},
            MORE,
            "it started 2 threads, told 1; it starts 2 threads whatever it is told (1 here)",
        ),
        ((), {"objective": "energy"}, NO_NUMBER, "no counters; without it nothing races for"),
        ((), {"region": "solve"}, UNMARKED, "did not mark it; let the program mark it as docs/reg"),
        ((), {"metric": "x=(.)"}, NO_NUMBER, "no counters; mend --metric"),
        ((), {"metric": "x=(.)"}, SHORT | NO_NUMBER, "no counters; mend --metric"),
        ((), {}, {"status": "timeout"}, "timeout; give it more time: --timeout"),
        ((), {}, {"status": "failed", "reason": "exit status 3"}, "status 3; see that it works"),
        ((), {}, {"status": "failed", "repetition": 4}, "it had worked before"),
        ((), {}, {"status": "failed", "stderr_tail": "a\nno mesh\n"}, "(it said: no mesh); see"),
        ((), {}, {"status": "placement-violated", "threads": 0}, "left to pinstudy"),
    ],
)
def test_why_there_is_no_answer_comes_with_what_helps(
    command: tuple[str, ...], options: dict[str, str], record: dict[str, Any], told: str
) -> None:
    with pytest.raises(StudyError) as error:
        raise_failure(request(*command, **options), {"repetition": 1} | record)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def at_work(*runnable_s: float, verdict: str = "proved") -> dict[str, Any]:
    """Return the placement of a process for each of these times."""
    threads = [
        {"process": number, "runnable_s": seconds, "cpu_s": seconds - 0.1}
        for number, seconds in enumerate(runnable_s)
    ]
    return {"verdict": verdict, "looks": 50, "threads": threads}


SEVERAL: dict[str, Any] = {
    **{"status": "ok", "warmup": True, "threads": 2, "elapsed_s": 1.0},
    "placement": at_work(1.0, 0.9),
}


def test_more_processes_at_work_than_allowed_are_refused_with_the_option_that_helps() -> None:
    with pytest.raises(StudyError) as error:
        check_processes(request(), SEVERAL)
    assert "sh: 2 of its processes are at work" in str(error.value)
    assert "--helpers 1 lets the others work beside it" in str(error.value)
    check_processes(request(helpers="1"), SEVERAL)
    single = {"verdict": "proved", "threads": [{"process": 0, "runnable_s": 1.0}] * 2}
    # Looks were too few to tell.
    few = at_work(1.0, 0.9, verdict="unproved")
    for other in ({"elapsed_s": 1.9}, {"warmup": False}, {"placement": few}, {"placement": single}):
        check_processes(request(), SEVERAL | other)


def test_of_a_pool_only_the_threads_at_work_are_its_team() -> None:
    pool = at_work(1.0, 0.9)
    pool["threads"] += [{"process": 0, "runnable_s": 0.0, "cpu_s": 0.0}] * 3
    asked = adapt_threads(OTHER, request(helpers="1"), SEVERAL | {"placement": pool})
    assert asked is not None
    assert (asked.threads, asked.starts, asked.helpers) == ((1,), 1, 1)


@pytest.mark.parametrize("program", [LIBGOMP, OTHER])
@pytest.mark.parametrize("record", [FEW, MORE, UNTOLD])
@pytest.mark.parametrize("threads", [{}, {"threads": "1,4"}])
def test_a_program_that_starts_as_many_threads_as_it_likes_races_with_them(
    program: Program, record: dict[str, Any], threads: dict[str, str]
) -> None:
    asked = adapt_threads(program, request(**threads), record)
    assert asked is not None
    assert (asked.threads, asked.starts) == ((2,), 2)
    made = reference_of(program, asked, {"OMP_NUM_THREADS": "8"}, 8)
    assert made.threads == 2
    assert "what it starts, whatever it is told" in made.lines[0]


@pytest.mark.parametrize(
    ("program", "asked", "record"),
    [
        (SERIAL, request(), FEW),
        (LIBGOMP, replace(request(), starts=4), FEW),
        (LIBGOMP, request(*THREADS), FEW),
        (LIBGOMP, request(), FEW | {"status": "ok"}),
        (LIBGOMP, request(), FEW | {"threads": 2}),
        (LIBGOMP, request(), MORE | {"threads": 2}),
        # Too few looks tell nothing of how many there are.
        (LIBGOMP, request(), UNTOLD | {"elapsed_s": 0.01}),
        (LIBGOMP, request(), UNTOLD | {"placement": UNTOLD["placement"] | {"looks": 3}}),
    ],
)
def test_where_it_is_known_how_many_threads_there_are_these_are_not_changed(
    program: Program, asked: Request, record: dict[str, Any]
) -> None:
    assert adapt_threads(program, asked, record) is None


def test_a_library_that_the_program_has_loaded_tells_how_to_say_how_many_once() -> None:
    loaded = {"thread_libraries": ["libgomp.so.1", "libscipy_openblas64_-99b7.so"]}
    asked = adapt_threads(OTHER, request(), FEW | loaded)
    assert asked is not None
    assert (asked.threads, asked.starts) == (None, None)
    assert asked.threads_by == ("OPENBLAS_NUM_THREADS",)
    made = reference_of(OTHER, asked, {"OPENBLAS_NUM_THREADS": "3"}, 8)
    assert (made.threads, made.lines[0].partition(": ")[2]) == (3, "your OPENBLAS_NUM_THREADS")
    openmp = {"thread_libraries": ["libgomp.so.1"]}
    for again, record in (
        # It was told in this way, and yet started another number.
        (asked, FEW | loaded),
        # An OpenMP runtime counts as OMP_NUM_THREADS says, and a user knows best.
        (request(), FEW | openmp),
        (request(threads_by="MY_THREADS"), FEW | loaded),
    ):
        adapted = adapt_threads(OTHER, again, record)
        assert adapted is not None
        assert (adapted.threads, adapted.starts) == ((2,), 2)
        assert adapted.threads_by == again.threads_by
