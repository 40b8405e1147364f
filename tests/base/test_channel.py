"""What two processes say arrives whole, and what is no message is an error."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.channel import MAX_BYTES, Channel, ChannelError
from tests.support.limits import many_open_files
from tests.support.wait import HANG_S

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


@contextmanager
def line() -> Iterator[tuple[Channel, socket.socket]]:
    """Give one side of a line, and the socket of the other."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours.fileno()), theirs


@given(st.lists(st.dictionaries(TEXT, JSON, max_size=3), max_size=5), st.integers(1, 40))
def test_messages_arrive_in_their_order_however_they_are_cut(
    messages: list[dict[str, Any]], piece: int
) -> None:
    with line() as (ours, theirs), line() as (other, others_end):
        for message in messages:
            other.send(message)
        others_end.settimeout(0)
        sent = others_end.recv(1 << 20) if messages else b""
        heard = []
        for start in range(0, len(sent), piece):
            theirs.sendall(sent[start : start + piece])
            while (message_heard := ours.receive(0)) is not None:
                heard.append(message_heard)
    # As texts: a number that is none (NaN) is not equal to itself.
    assert [json.dumps(message) for message in heard] == [
        json.dumps(message) for message in messages
    ]


def test_nothing_is_heard_within_the_time_when_nothing_is_said() -> None:
    with line() as (ours, theirs):
        before = time.monotonic()
        assert ours.receive(0.1) is None
        assert 0.1 <= time.monotonic() - before < HANG_S
        theirs.sendall(b'{"say": "rea')
        assert ours.receive(0.05) is None
        theirs.sendall(b'dy"}\n')
        assert ours.receive(5) == {"say": "ready"}


def test_messages_arrive_beside_many_open_files() -> None:
    with many_open_files(), line() as (ours, theirs):
        ours.send({"say": "here"})
        theirs.sendall(theirs.recv(100))
        assert ours.receive(HANG_S) == {"say": "here"}


def test_without_a_limit_it_waits_for_the_message() -> None:
    with line() as (ours, theirs):
        timer = threading.Timer(0.2, theirs.sendall, [b"{}\n"])
        timer.start()
        assert ours.receive() == {}
        timer.join()


def test_a_side_that_closes_is_gone() -> None:
    with line() as (ours, theirs):
        theirs.sendall(b'{"last": 1}\n{"cut off')
        theirs.close()
        assert ours.receive(5) == {"last": 1}
        with pytest.raises(ChannelError, match="closed"):
            ours.receive(5)
        with pytest.raises(ChannelError, match="Broken pipe"):
            ours.send({})


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"ready",
        b"[1]",
        b'"ready"',
        b"null",
        b"{",
        b'{"a": 1} {"b": 2}',
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"[    0.000000] Linux version 6.1.0",
    ],
    ids=lambda said: repr(said[:10]),
)
def test_what_is_no_json_object_breaks_the_line(said: bytes) -> None:
    with line() as (ours, theirs):
        sender = threading.Thread(target=theirs.sendall, args=[said + b"\n"])
        sender.start()
        with pytest.raises(ChannelError, match="which is no JSON object") as error:
            ours.receive(30)
        sender.join()
    assert len(str(error.value)) < 400


def test_a_message_without_end_breaks_the_line() -> None:
    def talk(theirs: socket.socket) -> None:
        try:
            while True:
                theirs.sendall(b"x" * (1 << 20))
        except OSError:
            pass

    with line() as (ours, theirs):
        talker = threading.Thread(target=talk, args=[theirs])
        talker.start()
        with pytest.raises(ChannelError, match=f"more than {MAX_BYTES} bytes"):
            ours.receive(60)
        theirs.shutdown(socket.SHUT_RDWR)
        talker.join()
