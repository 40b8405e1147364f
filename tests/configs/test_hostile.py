"""Any file gives a study, an app, or a list of mistakes with their places."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import ConfigError
from configs.app import App
from configs.document import MAX_BYTES
from configs.load import parse_app
from configs.study import Study
from tests.configs.shelves import GUEST, LU, NODES, RATED, STUDY, study_of

# Valid values of many keys, and invalid ones.
WORDS = """\
lu serial libgomp small large unpinned pcores-set pcores all pin set performance passive vm local
time energy edp rate higher split there 16_GiB 1_MiB 30_min 5_K 1% 0% 10001 50 30 10 8 3 1 0 -1 1.5
on ~ '' *a &b {size} static dynamic,2"""
# Keys of a study, and the keys inside them.
STUDY_KEYS = {
    "apps": "app builds sizes threads schedules mappings oversubscribe",
    "mappings": "name selection binding mechanism",
    "repetitions": "decide first max time_budget until race",
    "idle_power": "duration every",
    "temperature_gate": "within limit",
    "engine": "vm batch",
    "vm": "cpus memory name",
    "vcpu_mapping": "name selection binding mechanism",
    "batch": "site spread nodes features workers",
    "governors": "x",
    "wait_policy": "x",
    "latency": "x",
    "events": "x",
    "titel": "title",
}
APP_KEYS = {
    "builds": "program runtime",
    "sizes": "arguments estimate quiet expect",
    "metrics": "pattern unit stream better",
    "check": "pattern command stream failed_status",
    "placement": "pin expect",
    "schedules": "x",
    "timeout": "x",
}


def values(keys: str) -> st.SearchStrategy[Any]:
    """Return any values of YAML; their tables often have these keys."""
    words = st.sampled_from([word.replace("_", " ") for word in WORDS.split()])
    scalars = words | st.text(max_size=8) | st.integers() | st.none() | st.booleans()
    names = st.sampled_from(keys.split()) | st.text(max_size=4)
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
        max_leaves=12,
    )


def placed(problems: Iterable[Any]) -> bool:
    """Return whether all these problems can be shown and have a place."""
    return all(
        problem.line >= 1
        and problem.column >= 1
        and problem.message.strip()
        and str(problem).isprintable()
        for problem in problems
    )


def loads_or_says_where(text: str) -> None:
    try:
        study = study_of(text, {"lu": RATED})
    except ConfigError as error:
        assert error.problems and placed(error.problems), error
        return
    assert isinstance(study, Study)
    assert study.decide is None or 3 <= study.decide.first <= study.repetitions


@given(values("title apps mappings repetitions app"))
def test_any_yaml(value: Any) -> None:  # noqa: ANN401 - that is the point
    loads_or_says_where(yaml.safe_dump(value, allow_unicode=True))


@pytest.mark.parametrize("key", STUDY_KEYS)
@given(data=st.data())
@settings(max_examples=25)
def test_any_value_in_place_of_a_right_one(key: str, data: st.DataObject) -> None:
    engine = {"vm": GUEST, "vcpu_mapping": GUEST, "batch": NODES}.get(key, "")
    study = yaml.safe_load(STUDY + engine)
    loads_or_says_where(yaml.safe_dump(study | {key: data.draw(values(STUDY_KEYS[key]))}))


@pytest.mark.parametrize("key", APP_KEYS)
@given(data=st.data())
@settings(max_examples=25)
def test_any_value_in_an_app(key: str, data: st.DataObject) -> None:
    text = yaml.safe_dump(yaml.safe_load(LU) | {key: data.draw(values(APP_KEYS[key]))})
    try:
        assert isinstance(parse_app(text.encode(), "lu.yaml"), App)
    except ConfigError as error:
        assert error.problems and placed(error.problems), error


@given(st.integers(0, len(STUDY)), st.integers(0, 12), st.text(max_size=6))
def test_a_study_with_a_piece_replaced(start: int, length: int, new: str) -> None:
    text = STUDY[:start] + new + STUDY[start + length :]
    loads_or_says_where(text.encode(errors="replace").decode())


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LAUGHS, id="billion laughs"),
        pytest.param("a: " + "[" * 500_000, id="lists in lists"),
        pytest.param("{" * 500_000, id="tables in tables"),
        pytest.param("- " * 500_000, id="items in items"),
        pytest.param("? " * 500_000, id="keys in keys"),
        pytest.param("".join(f"k{n}: 1\n" for n in range(70_000)), id="keys"),
        pytest.param("apps: [" + "x, " * 300_000 + "]\n", id="items"),
        pytest.param("mappings: [" + ", ".join(f"m{n}" for n in range(999)) + "]", id="names"),
        pytest.param("title: " + "x" * (MAX_BYTES - 100), id="a long text"),
        pytest.param("k" * (MAX_BYTES - 100) + ": 1", id="a long key"),
    ],
)
def test_a_small_file_cannot_keep_the_reader_busy(text: str) -> None:
    began = time.process_time()

    loads_or_says_where(text)

    # Seconds where the time for reasonable input is milliseconds: the machine may be slow.
    assert time.process_time() - began < 20
