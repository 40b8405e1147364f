"""A study that is far too large is refused before it fills the memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from configs.load import study_digest
from tests.configs.shelves import GUEST, mistakes, study_of, study_with

MANY = 1000


@contextmanager
def memory_up_to(limit_bytes: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit_bytes
    finally:
        tracemalloc.stop()


def numbered(word: str, count: int) -> list[str]:
    return [word % (number + 1) for number in range(count)]


def app(builds: int = MANY, sizes: int = MANY) -> bytes:
    """Return the file of an app with these numbers of builds and sizes."""
    lines = ["title: wide", "builds:"]
    lines += numbered("  v%d: {program: 'true', runtime: libgomp}", builds)
    lines += ["sizes:", *numbered("  s%d: {arguments: ''}", sizes)]
    return "\n".join([*lines, "schedules: [static, dynamic]", ""]).encode()


def wide(builds: int, sizes: int, threads: int, schedules: int, *lines: str) -> str:
    """Return a study with these numbers of each."""
    kinds = ", ".join(numbered("'dynamic,%d'", schedules))
    return study_with(
        "app: wide",
        f"builds: [{', '.join(numbered('v%d', builds))}]",
        f"sizes: [{', '.join(numbered('s%d', sizes))}]",
        f"threads: [{', '.join(numbered('%d', threads))}]\n    schedules: [{kinds}]",
        *lines,
    )


@pytest.mark.parametrize(
    ("counts", "lines", "amount", "most"),
    [
        # Two mappings of each; warm-up runs, the highest number of repetitions and mappings of a
        # guest's CPUs count.
        ((MANY, MANY, MANY, MANY), (), "2000000000000 cases", 100_000),
        ((1, 10, 10, 10), ("repetitions: 1", "warmup: 1000"), "2002000 runs", 1_000_000),
        ((1, 1, 100, 1), ("repetitions: 10000",), "2000200 runs", 1_000_000),
        (
            (1, 1, 100, 1),
            ("repetitions: {decide: {first: 5, max: 10000}}",),
            "2000200 runs",
            1_000_000,
        ),
        ((1, 1, 100, 1), ("repetitions: 10000", GUEST), "4000400 runs", 1_000_000),
    ],
)
def test_lists_that_multiply_beyond_all_measure_are_refused_in_a_line(
    counts: tuple[int, int, int, int], lines: tuple[str, ...], amount: str, most: int
) -> None:
    with memory_up_to(64e6):
        (problem,) = mistakes(wide(*counts, *lines), {"wide": app()})
    included = ", warm-up runs included" if "runs" in amount else ""
    assert problem == f"1:1: the study asks for {amount}{included}; expected at most {most}"


def test_as_many_cases_as_there_may_be_are_a_study() -> None:
    study = study_of(wide(1, MANY, 50, 1, "repetitions: 1", "warmup: 0"), {"wide": app()})

    assert len(study.apps[0].sizes) * len(study.apps[0].threads) * len(study.mappings) == 100_000


def test_the_digest_of_entries_that_share_a_large_app_copies_it_once() -> None:
    study = study_of(wide(1, 1, 1, 1), {"wide": app(200, 200)})

    with memory_up_to(16e6):
        study_digest(replace(study, apps=study.apps * MANY))
