"""A search whose program does not work ends with why, and with what helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from base.errors import StudyError
from runners.advise.program import Program
from runners.advise.reference import adapt_threads, check_processes, raise_failure, reference_of
from tests.runners.advise.requests import LIBGOMP, OTHER, SERIAL, request

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


SEVERAL: dict[str, Any] = {
    "status": "ok",
    "warmup": True,
    "threads": 2,
    "elapsed_s": 1.0,
    "placement": {
        "verdict": "proved",
        "threads": [
            {"process": 0, "runnable_s": 1.0, "cpu_s": 0.9},
            {"process": 1, "runnable_s": 0.9, "cpu_s": 0.8},
        ],
    },
}


def test_more_processes_at_work_than_allowed_are_refused_with_the_option_that_helps() -> None:
    with pytest.raises(StudyError) as error:
        check_processes(request(), SEVERAL)
    told = str(error.value)
    assert "sh: 2 of its processes are at work" in told
    assert "--helpers 1 lets the others work beside it" in told
    check_processes(request(helpers="1"), SEVERAL)


def test_of_a_pool_only_the_threads_at_work_are_its_team() -> None:
    idle = [{"process": 0, "runnable_s": 0.0, "cpu_s": 0.0}] * 3
    threads = [*SEVERAL["placement"]["threads"], *idle]
    pool = SEVERAL | {"placement": {"verdict": "proved", "looks": 50, "threads": threads}}
    asked = adapt_threads(OTHER, request(helpers="1"), pool)
    assert asked is not None
    assert (asked.threads, asked.starts, asked.helpers) == ((1,), 1, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"elapsed_s": 1.9},
        {"warmup": False},
        # Looks were too few to tell.
        {"placement": SEVERAL["placement"] | {"verdict": "unproved"}},
        {"placement": {"verdict": "proved", "threads": [{"process": 0, "runnable_s": 1.0}] * 2}},
    ],
)
def test_one_process_at_work_is_not_refused(other: dict[str, Any]) -> None:
    check_processes(request(), SEVERAL | other)


@pytest.mark.parametrize("program", [LIBGOMP, OTHER])
@pytest.mark.parametrize("record", [FEW, MORE, UNTOLD])
@pytest.mark.parametrize("threads", [{}, {"threads": "1,4"}])
def test_a_program_that_starts_another_number_of_threads_than_it_is_told_races_with_that(
    program: Program, record: dict[str, Any], threads: dict[str, str]
) -> None:
    asked = adapt_threads(program, request(**threads), record)
    assert asked is not None
    assert (asked.threads, asked.starts) == ((2,), 2)
    made = reference_of(program, asked, {"OMP_NUM_THREADS": "8"}, 8)
    assert made.threads == 2
    assert "what it starts, whatever it is told" in made.lines[0]


def test_where_somebody_says_how_many_threads_there_are_these_are_not_changed() -> None:
    assert adapt_threads(SERIAL, request(), FEW) is None
    assert adapt_threads(LIBGOMP, replace(request(), starts=4), FEW) is None
    assert adapt_threads(LIBGOMP, request(*THREADS), FEW) is None
    assert adapt_threads(LIBGOMP, request(), FEW | {"status": "ok"}) is None
    assert adapt_threads(LIBGOMP, request(), FEW | {"threads": 2}) is None
    assert adapt_threads(LIBGOMP, request(), MORE | {"threads": 2}) is None
    # Too few looks tell nothing of how many there are.
    assert adapt_threads(LIBGOMP, request(), UNTOLD | {"elapsed_s": 0.01}) is None
    few = UNTOLD["placement"] | {"looks": 3}
    assert adapt_threads(LIBGOMP, request(), UNTOLD | {"placement": few}) is None


def test_a_library_that_the_program_has_loaded_tells_how_to_say_how_many_once() -> None:
    loaded = {"thread_libraries": ["libgomp.so.1", "libscipy_openblas64_-99b7.so"]}

    asked = adapt_threads(OTHER, request(), FEW | loaded)

    assert asked is not None
    assert (asked.threads, asked.starts) == (None, None)
    assert asked.threads_by == ("OPENBLAS_NUM_THREADS",)
    made = reference_of(OTHER, asked, {"OPENBLAS_NUM_THREADS": "3"}, 8)
    assert (made.threads, made.lines[0].partition(": ")[2]) == (3, "your OPENBLAS_NUM_THREADS")
    # It was told in this way, and yet started another number.
    again = adapt_threads(OTHER, asked, FEW | loaded)
    assert again is not None
    assert (again.threads, again.starts, again.threads_by) == ((2,), 2, asked.threads_by)
    # An OpenMP runtime counts as OMP_NUM_THREADS says, and a user knows best.
    other = adapt_threads(OTHER, request(), FEW | {"thread_libraries": ["libgomp.so.1"]})
    assert other is not None
    assert other.starts == 2
    by_user = adapt_threads(OTHER, request(threads_by="MY_THREADS"), FEW | loaded)
    assert by_user is not None
    assert by_user.starts == 2
