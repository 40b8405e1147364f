"""Every parser of external input, with damaged and arbitrary bytes: never a failure."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import CHANGES, FIXED
from tests.fuzz.outcome import bounded
from tests.fuzz.parsers import Target, targets

NAMES = (
    "study", "app", "site", "mappings", "perf-output", "perf-log", "c2c-samples", "c2c-file",
    "records", "summaries", "card", "latency", "submission", "attempt", "batch-answers", "journal",
    "guest", "short-texts", "node-files", "programs", "hyperfine", "benchmark", "likwid", "trace",
    "latency-matrix", "powermetrics",
)  # fmt: skip
# They take some milliseconds.
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Target]:
    return targets(tmp_path_factory.mktemp("fuzz"))


def test_all_targets_are_tried(every: Mapping[str, Target]) -> None:
    assert set(every) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_understands_is_not_refused(every: Mapping[str, Target], name: str) -> None:
    seeds = list(every[name].seeds())[:12]

    answers = [every[name].run(seed) for seed in seeds]

    assert any(not isinstance(answer, Exception) for answer in answers)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_damaged_there_is_a_value_or_a_refusal(
    every: Mapping[str, Target], name: str
) -> None:
    chance = random.Random(name)
    seeds = list(every[name].seeds())
    with bounded(LIMIT_S):
        for data in FIXED.values():
            every[name].run(data)
        for change in CHANGES.values():
            for _ in range(4):
                every[name].run(change(chance.choice(seeds)[:20_000], chance))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.binary(max_size=200))
@settings(max_examples=15)
def test_arbitrary_bytes_are_a_value_or_a_refusal(
    every: Mapping[str, Target], name: str, data: bytes
) -> None:
    every[name].run(data)
