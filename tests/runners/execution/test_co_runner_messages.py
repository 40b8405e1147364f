"""Jobs and answers arrive as they were sent; anything else is an error in one line."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.channel import Channel, ChannelError
from base.decoding import complete, message_of
from configs.app import Check, Metric
from runners.execution.co_runner_messages import (
    Answer,
    Counted,
    Job,
    job_of,
    receive,
)
from runners.execution.execute import CoRun
from runners.placement.thread_placement import Proof
from runners.placement.thread_trace import Stay, ThreadTrace
from runners.plan.launch import Launch
from tests.runners.cases import case
from tests.support.wait import HANG_S

TRACE = ThreadTrace(
    *(7, 7, [Stay((2, 4), 3, Counter({2: 2, 4: 1}), 0.5, None)]), 1, 3, 0.1, {2: 0.01}, {2: 0.4}
)
SEEN = CoRun(((10, 25), (30, 2**60)), "", 0, 1.5, 0.1, Proof("proved"), (TRACE,), 3)
NONE_SEEN = CoRun(problem="failed: exit status 3", failed_ns=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def received(kind: type[Answer], said: bytes) -> Answer:
    """Return the answer of a supervisor that has said this and ended."""
    with os.fdopen(os.memfd_create("said"), "w+b") as file:
        file.write(said)
        file.seek(0)
        return receive(Channel(file.fileno()), kind, HANG_S)


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


@pytest.mark.parametrize("answer", [Counted(), Counted("is gone", 2.5, 0.25), SEEN, NONE_SEEN])
def test_an_answer_arrives_as_it_was_sent(answer: Counted | CoRun) -> None:
    kind: Any = type(answer)
    assert received(kind, line(message_of(answer))) == answer


def test_a_job_arrives_as_it_was_sent() -> None:
    made = case()
    size = replace(made.size, expect={"drift": (-0.5, 0.5), "iterations": (575, 575)})
    check = Check(failed_status=2, pattern="ok$")
    app = replace(made.app, check=check, metrics=(Metric("drift", r"drift (\S+)", "1"),))
    launch = Launch(("taskset",), ("/bin/true",), {"A": "\udcff"}, {"A": "\udcff"}, ("B",))
    job = job_of(replace(made, app=app, size=size), launch, Path("witness"), (0, 3))
    assert complete(json.loads(json.dumps(message_of(job))), Job) == job


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_what_is_no_job_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is"):
        complete(message, Job)


@pytest.mark.parametrize(
    "change",
    [
        {"problem": None},
        {"problem": 3},
        {"windows_ns": [[1]]},
        {"windows_ns": [[2, 1]]},
        {"windows_ns": [[1, "2"]]},
        {"windows_ns": [[1, 2**63]]},
        {"windows_ns": [[0, 0]] * 300_001},
        {"cpu_s": -1.0},
        {"cpu_s": float("nan")},
        {"cpu_s": float("inf")},
        {"looks": True},
        {"proof": {"verdict": "fine", "reason": ""}},
        {"proof": []},
        {"threads": [{}]},
        {"threads": [{**message_of(SEEN)["threads"][0], "team": 1}]},
        {"threads": [{**message_of(SEEN)["threads"][0], "tid": -1}]},
    ],
    ids=str,
)
def test_an_answer_with_anything_else_in_a_field_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ChannelError, match=r"^no answer: ") as refused:
        received(CoRun, line(message_of(SEEN) | change))
    assert len(str(refused.value)) < 120


@given(st.dictionaries(st.sampled_from(sorted(vars(SEEN))), JSON))
def test_no_answer_makes_anything_else_than_an_error(message: dict[str, Any]) -> None:
    with pytest.raises(ChannelError):
        received(CoRun, line(message))


@pytest.mark.parametrize("said", [b"", b'{"problem": ""', b"\x80\x04\x95.", b"{}\n", b"[]\n"])
def test_what_is_no_answer_at_all_is_refused(said: bytes) -> None:
    with pytest.raises(ChannelError):
        received(Counted, said)


def test_the_texts_of_an_answer_can_be_shown() -> None:
    ugly = "no\n\x1b[31mluck\n" + "x" * 100_000
    told = message_of(replace(SEEN, problem=ugly, proof=Proof("violated", ugly)))
    seen = received(CoRun, line(told))
    for text in (seen.problem, seen.proof.reason):
        assert text.isprintable()
        assert text.startswith("no")
        assert len(text) <= 1000
