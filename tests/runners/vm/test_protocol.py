"""What host, guest and QEMU say arrives whole, and what is no message is an error."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.channel import Channel, ChannelError
from base.decoding import complete, message_of
from runners.execution.execute import Observation
from runners.execution.witness import Ending
from runners.measure.conditions.cpu_time import HarnessCost
from runners.placement.thread_trace import Stay, ThreadTrace
from runners.plan.launch import Launch
from runners.vm.protocol import (
    greet_qemu,
    read_observation,
    start_cpus,
)

# What environments hold: any text, bytes that are no UTF-8 included (PEP 383).
TEXT = st.text(max_size=20) | st.binary(max_size=20).map(
    lambda raw: raw.decode("utf-8", "surrogateescape")
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def through_json(message: dict[str, Any]) -> dict[str, Any]:
    read = json.loads(json.dumps(message))
    assert isinstance(read, dict)
    return read


WORDS = st.lists(TEXT, max_size=3).map(tuple)
VARIABLES = st.dictionaries(TEXT, TEXT, max_size=3)


@given(st.builds(Launch, WORDS, WORDS, VARIABLES, VARIABLES, WORDS))
def test_a_launch_arrives_as_it_was(launch: Launch) -> None:
    assert complete(through_json(message_of(launch)), Launch) == launch


CPU = st.integers(0, 4095)
COUNT = st.integers(0, 2**40)
SECONDS = st.floats(0, 1e6)
ENDING = st.builds(
    Ending,
    st.integers(0, 65535),
    SECONDS,
    st.none() | SECONDS,
    st.none() | SECONDS,
    st.none() | COUNT,
    st.none() | st.just(2),
    st.none() | SECONDS,
)
TRACE = st.builds(
    ThreadTrace,
    tid=COUNT,
    pid=COUNT,
    stays=st.lists(
        st.builds(
            Stay,
            st.lists(CPU, max_size=4).map(tuple),
            COUNT,
            st.dictionaries(CPU, COUNT, max_size=4).map(Counter),
            SECONDS,
        ),
        max_size=3,
    ),
    first_look=COUNT,
    last_look=COUNT,
    gone_s=SECONDS,
    runnable=st.dictionaries(COUNT, SECONDS, max_size=3),
)
OBSERVATION = st.builds(
    Observation,
    ending=ENDING,
    timed_out=st.booleans(),
    stdout=TEXT,
    stderr=TEXT,
    threads=st.lists(TRACE, max_size=3).map(tuple),
    looks=COUNT,
    perf_output=TEXT,
    perf_problem=TEXT,
    perf_command=WORDS,
    cost=st.none() | st.builds(HarnessCost, SECONDS, COUNT, st.lists(CPU, max_size=3).map(tuple)),
    invalid_reason=st.none(),
    hotplugged_cpus=st.lists(CPU, max_size=3).map(tuple),
    unmet=st.none() | COUNT,
    overflowed=st.booleans(),
)


@given(OBSERVATION)
def test_an_observation_arrives_as_it_was(seen: Observation) -> None:
    assert read_observation(through_json(message_of(seen))) == seen


@given(st.dictionaries(st.text(max_size=10), JSON, max_size=5))
def test_a_message_without_an_observation_breaks_the_line(message: dict[str, Any]) -> None:
    with pytest.raises(ChannelError, match="sent no observation"):
        read_observation(message)


USUAL = Observation(
    ending=Ending(0, 1.0, 0.9, 0.1, 1 << 20),
    timed_out=False,
    stdout="out",
    stderr="",
    threads=(ThreadTrace(7, 7, [Stay((0, 1), 3, Counter({0: 3}), 0.4, 0.4)], 1, 3),),
    looks=3,
    perf_output="",
    perf_problem="",
    perf_command=("perf",),
    cost=HarnessCost(0.1, 3, (1,)),
)


MESSAGE = through_json(message_of(USUAL))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("looks", float("inf")),
        ("looks", "many"),
        ("looks", -1),
        ("looks", 2**63),
        ("stdout", 5),
        ("timed_out", "no"),
        ("threads", [{"tid": 7, "pid": 7, "cpu_s_on": {"1_0": 1.0}}]),
        ("threads", [{"tid": 7, "pid": 7, "cpu_s_on": {"99999999": 1.0}}]),
        ("threads", [{"tid": [], "pid": 7}]),
        ("threads", [{"tid": 7, "pid": 7, "stays": [{"allowed": [99999999]}]}]),
        ("ending", MESSAGE["ending"] | {"elapsed_s": float("nan")}),
        ("ending", MESSAGE["ending"] | {"user_s": "1"}),
        ("ending", MESSAGE["ending"] | {"wait_status": 10**30}),
        ("ending", MESSAGE["ending"] | {"max_rss_bytes": 1.5}),
        ("perf_command", "perf"),
        ("ending", {"exit_code": 0}),
        ("ending", None),
        ("cost", [1]),
    ],
)
def test_a_part_that_is_something_else_breaks_the_line(key: str, value: object) -> None:
    with pytest.raises(ChannelError, match="sent no observation"):
        read_observation(MESSAGE | {key: value})


@pytest.mark.parametrize("key", MESSAGE)
def test_a_message_that_lacks_a_part_breaks_the_line(key: str) -> None:
    message = {name: value for name, value in MESSAGE.items() if name != key}
    with pytest.raises(ChannelError, match=f"sent no observation.*{key}"):
        read_observation(message)


# What QEMU 7.2 was recorded to answer.
GREETING = (
    b'{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": '
    b'"Debian 1:7.2+dfsg-7+deb12u18+b3"}, "capabilities": ["oob"]}}\r\n'
)
DONE = b'{"return": {}}\r\n'
CPUS = (
    b'{"return": [{"thread-id": 9838, "props": {"core-id": 0, "thread-id": 0, "socket-id": 0}, '
    b'"qom-path": "/machine/unattached/device[0]", "cpu-index": 0, "target": "x86_64"}, '
    b'{"thread-id": 9839, "props": {"core-id": 1, "thread-id": 0, "socket-id": 0}, '
    b'"qom-path": "/machine/unattached/device[2]", "cpu-index": 1, "target": "x86_64"}]}\r\n'
)
RESUME = b'{"timestamp": {"seconds": 1795424568, "microseconds": 157043}, "event": "RESUME"}\r\n'
REFUSAL = b'{"error": {"class": "CommandNotFound", "desc": "query-cpus-fast is not known"}}\r\n'
ASKED = [
    b'{"execute":"qmp_capabilities"}\n',
    b'{"execute":"query-cpus-fast"}\n',
    b'{"execute":"cont"}\n',
]


@contextmanager
def qemu(*says: bytes) -> Iterator[tuple[Channel, list[bytes]]]:
    """Give a line to a QEMU that greets, answers each command with the next of `says`, and ends.

    What it was asked is in the list.
    """
    asked: list[bytes] = []

    def answer(theirs: socket.socket) -> None:
        with theirs, theirs.makefile("rb") as heard:
            for said in says:
                theirs.sendall(said)
                if not (command := heard.readline()):
                    return
                asked.append(command)

    ours, theirs = socket.socketpair()
    speaker = threading.Thread(target=answer, args=[theirs])
    speaker.start()
    with ours:
        yield Channel(ours.fileno()), asked
    speaker.join()


@pytest.mark.parametrize("event", [b"", RESUME, RESUME * 3])
def test_the_cpus_wait_until_their_threads_are_known(event: bytes) -> None:
    with qemu(GREETING, event + DONE, event + CPUS, event + DONE) as (to_qemu, asked):
        threads = greet_qemu(to_qemu)
        asked_first = list(asked)
        start_cpus(to_qemu)
    assert threads == {0: 9838, 1: 9839}
    assert asked_first == ASKED[:2]
    assert asked == ASKED


@pytest.mark.parametrize(
    ("says", "said"),
    [
        ((), "closed"),
        ((GREETING, DONE), "closed"),
        ((b"qemu: a message\n",), "no JSON object"),
        ((DONE,), r"said \{'return': \{\}\}"),
        ((GREETING, DONE, REFUSAL), "query-cpus-fast is not known"),
        ((GREETING, DONE, DONE.replace(b"{}", b"5")), "told no threads"),
        ((GREETING, DONE, DONE.replace(b"{}", b"[{}]")), "told no threads"),
        ((GREETING, DONE, CPUS.replace(b"9839", b'"main"')), "told no threads"),
    ],
)
def test_a_qemu_that_says_something_else_is_given_up(says: tuple[bytes, ...], said: str) -> None:
    with qemu(*says) as (to_qemu, _asked), pytest.raises(ChannelError, match=said):
        greet_qemu(to_qemu)


def test_a_qemu_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.vm.protocol.QEMU_LIMIT_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ChannelError, match="did not answer within 0 s"):
        greet_qemu(Channel(ours.fileno()))


@pytest.mark.parametrize(
    "sent",
    [
        {"teams": [MESSAGE["ending"]]},
        {"facts": {"launcher_cpu_s": 1.0}},
        {"threads": [MESSAGE["threads"][0] | {"team": 5}]},
    ],
)
def test_a_guest_has_no_ranks(sent: dict[str, Any]) -> None:
    with pytest.raises(ChannelError, match="sent ranks of MPI"):
        read_observation(MESSAGE | sent)
