"""A study that asks for more than anybody waits for is refused before it fills the memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from base.errors import ConfigError
from configs.load import study_digest
from tests.configs.shelves import STUDY, study_of

MANY = 1000


def app(variants: int = MANY, sizes: int = MANY) -> bytes:
    """Return the file of an app with so many variants and sizes."""
    lines = ["title: wide", "variants:"]
    lines += [f"  v{number}: {{program: 'true', runtime: libgomp}}" for number in range(variants)]
    lines += ["sizes:"]
    lines += [f"  s{number}: {{arguments: ''}}" for number in range(sizes)]
    return "\n".join([*lines, "schedules: [static, dynamic]", ""]).encode()


def listed(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def wide(variants: int, sizes: int, threads: int, schedules: int) -> str:
    """Return a study of that many of each."""
    counts = listed([str(number + 1) for number in range(threads)])
    kinds = listed([f"'dynamic,{number + 1}'" for number in range(schedules)])
    return (
        STUDY.replace("app: lu", "app: wide")
        .replace("[serial]", listed([f"v{number}" for number in range(variants)]))
        .replace("[small]", listed([f"s{number}" for number in range(sizes)]))
        .replace("threads: [1]", f"threads: {counts}\n    schedules: {kinds}")
    )


def refusal(text: str) -> str:
    """Return what is said of a study, in the making of which no more than 64 MB were in use."""
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError) as caught:
            study_of(text, {"wide": app()})
        assert tracemalloc.get_traced_memory()[1] < 64e6
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_lists_that_multiply_beyond_all_measure_are_refused_in_a_line() -> None:
    said = refusal(wide(MANY, MANY, MANY, MANY))
    assert said == (f"x.yaml:1:1: the study asks for {2 * MANY**4} cases; expected at most 100000")


def test_warm_up_runs_count_among_the_runs() -> None:
    text = wide(1, 10, 10, 10).replace("repetitions: 10", "repetitions: 1\nwarmup: 1000")
    said = refusal(text)
    assert said == (
        f"x.yaml:1:1: the study asks for {2 * MANY * 1001} runs, warm-up runs included; "
        "expected at most 1000000"
    )


def test_as_many_cases_as_there_may_be_are_a_study() -> None:
    text = wide(1, MANY, 50, 1).replace("repetitions: 10", "repetitions: 1\nwarmup: 0")
    study = study_of(text, {"wide": app()})
    assert len(study.apps[0].sizes) * len(study.apps[0].threads) * len(study.mappings) == 100_000


def test_the_digest_of_entries_that_share_a_large_app_copies_it_once() -> None:
    study = study_of(wide(1, 1, 1, 1), {"wide": app(200, 200)})
    tracemalloc.start()
    try:
        study_digest(replace(study, apps=study.apps * MANY))
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()
