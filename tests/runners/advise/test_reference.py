"""The reference is what a user gets without pinstudy, as his environment has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runners.advise.reference import reference_of
from tests.runners.advise.requests import LIBGOMP, OTHER, SERIAL, WITH_LOOPS, request


@pytest.mark.parametrize(
    ("value", "threads"),
    [
        (None, 24),
        ("6", 6),
        ("8,2", 8),
        (" 4 ", 4),
        ("64", 64),
        ("0", 24),
        ("many", 24),
        ("", 24),
        ("9999", 24),
        ("-2", 24),
        ("٤", 24),
    ],
)
def test_threads_are_the_users_or_the_nodes_cpus(value: str | None, threads: int) -> None:
    environment = {} if value is None else {"OMP_NUM_THREADS": value}
    assert reference_of(LIBGOMP, request(), environment, 24).threads == threads


def test_threads_are_those_of_the_variable_that_tells_the_program() -> None:
    mine = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "6", "RAYON_NUM_THREADS": "x"}
    openblas = replace(OTHER, threads_by="OPENBLAS_NUM_THREADS")
    assert reference_of(openblas, request(), mine, 24).threads == 6
    assert reference_of(openblas, request(threads_by="OMP_NUM_THREADS"), mine, 24).threads == 2
    both = request(threads_by="RAYON_NUM_THREADS,OPENBLAS_NUM_THREADS")
    assert reference_of(OTHER, both, mine, 24).threads == 6
    wrong = reference_of(OTHER, request(threads_by="RAYON_NUM_THREADS"), mine, 24)
    assert wrong.threads == 24
    assert "your RAYON_NUM_THREADS, 'x', is no thread count" in wrong.lines[0]
    told = request("/bin/sh", "-t{threads}", threads_by="arguments")
    assert reference_of(OTHER, told, {"arguments": "3"} | mine, 24).threads == 24


def test_a_program_without_threads_has_one() -> None:
    assert reference_of(SERIAL, request(), {"OMP_NUM_THREADS": "8"}, 24).threads == 1


def test_of_a_program_whose_threads_are_not_known_a_single_count_tells_them() -> None:
    assert reference_of(OTHER, request(threads="1"), {}, 24).threads == 1
    assert reference_of(OTHER, request(threads="1,2"), {}, 24).threads == 24
    assert reference_of(LIBGOMP, request(threads="1"), {}, 24).threads == 24
    mine = {"OMP_NUM_THREADS": "4"}
    assert reference_of(OTHER, request(threads="1"), mine, 24).threads == 1
    assert reference_of(LIBGOMP, request(threads="1"), mine, 24).threads == 4


def test_a_runtime_schedule_is_the_users_or_what_the_runtime_does() -> None:
    assert reference_of(WITH_LOOPS, request(), {}, 2).schedule == "dynamic"
    mine = {"OMP_SCHEDULE": "Guided , 8"}
    assert reference_of(WITH_LOOPS, request(), mine, 2).schedule == "guided,8"
    # It changes nothing where no loop asks for it, but is what the user has.
    assert reference_of(LIBGOMP, request(), {}, 2).schedule == "static"
    assert reference_of(LIBGOMP, request(), mine, 2).schedule == "guided,8"
    wrong = reference_of(WITH_LOOPS, request(), {"OMP_SCHEDULE": "fast"}, 2)
    assert wrong.schedule == "dynamic"
    assert any("'fast', is no schedule" in line for line in wrong.lines)


@pytest.mark.parametrize(
    ("mine", "meant"),
    [
        ("dynamic,4", "nonmonotonic:dynamic,4"),
        ("monotonic:dynamic", "monotonic:dynamic"),
        ("static", "static"),
    ],
)
def test_a_users_schedule_means_what_it_means_to_libomp(mine: str, meant: str) -> None:
    libomp = replace(LIBGOMP, runtime="libomp")
    assert reference_of(libomp, request(), {"OMP_SCHEDULE": mine}, 2).schedule == meant


def test_waiting_is_the_users_or_the_runtimes() -> None:
    assert reference_of(LIBGOMP, request(), {}, 2).wait_policy == "runtime-default"
    active = {"OMP_WAIT_POLICY": "ACTIVE"}
    assert reference_of(LIBGOMP, request(), active, 2).wait_policy == "active"
    odd = {"OMP_WAIT_POLICY": "sometimes"}
    assert reference_of(LIBGOMP, request(), odd, 2).wait_policy == "runtime-default"


def test_what_the_program_does_not_get_is_told() -> None:
    environment = {
        "OMP_PROC_BIND": "close",
        "OMP_THREAD_LIMIT": "64",
        "OMP_STACKSIZE": "64M",
        "HOME": "/",
        "OMP_DYNAMIC": "1",
    }
    told = "\n".join(reference_of(LIBGOMP, request(), environment, 2).lines)
    assert "without your OMP_PROC_BIND:" in told
    assert "without your OMP_THREAD_LIMIT," in told
    assert "OMP_STACKSIZE" not in told
    assert "HOME" not in told
