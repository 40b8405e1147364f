"""What is ready is found whatever its number, and what is not is waited for no longer than said."""

from __future__ import annotations

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from base.waiting import readable, writable
from tests.support.limits import many_open_files


@pytest.fixture(params=["few", "many"], autouse=True)
def open_files(request: pytest.FixtureRequest) -> Iterator[None]:
    with ExitStack() as stack:
        if request.param == "many":
            stack.enter_context(many_open_files())
        yield


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_the_sources_that_have_something_to_read_are_returned(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    sources: list[socket.socket | int] = [ours, theirs.fileno()]
    assert readable(sources, 0.0) == []
    theirs.send(b"x")
    assert readable(sources) == [ours]
    ours.send(b"x")
    assert set(readable(sources)) == set(sources)


def test_a_source_at_its_end_can_be_read() -> None:
    read, write = os.pipe()
    assert readable([read], 0.001) == []
    os.close(write)
    assert readable([read]) == [read]
    os.close(read)


def test_the_end_of_a_process_can_be_read() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        ended = os.pidfd_open(sleeper.pid)
        assert readable([ended], 0.0) == []
        sleeper.kill()
        assert readable([ended]) == [ended]
        os.close(ended)


def test_a_sink_takes_bytes_until_it_is_full_and_when_its_reader_is_gone() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    assert writable(write, 0.0)
    with pytest.raises(BlockingIOError):
        while os.write(write, bytes(select.PIPE_BUF)):
            pass
    assert not writable(write, 0.001)
    os.close(read)
    assert writable(write, 60.0)
    os.close(write)


def test_a_closed_descriptor_is_an_error() -> None:
    read, write = os.pipe()
    os.close(read)
    os.close(write)
    for wait in (lambda: readable([read]), lambda: bool(writable(write, 1.0))):
        with pytest.raises(OSError, match="Bad file descriptor"):
            wait()
