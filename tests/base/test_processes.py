"""Children, what they say, and waiting for it: nothing blocks, nothing is lost, nothing stays."""

from __future__ import annotations

import errno
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.channel import MAX_BYTES, Channel, ChannelError
from pinstudy.base.command import ask, run, wait_for
from pinstudy.base.errors import ShortageError
from pinstudy.base.patterns import matches
from pinstudy.base.waiting import readable, writable
from tests.support.limits import many_open_files
from tests.support.wait import HANG_S, until

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


@settings(max_examples=40)
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


def test_a_message_is_waited_for_no_longer_than_said() -> None:
    with line() as (ours, theirs):
        assert ours.receive(0.05) is None
        theirs.sendall(b'{"say": "rea')
        assert ours.receive(0.05) is None
        theirs.sendall(b'dy"}\n')
        assert ours.receive(HANG_S) == {"say": "ready"}
        # Without a limit it waits for the message.
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


NO_MESSAGES = (
    *(b"", b"ready", b"[1]", b'"ready"', b"null", b"{", b'{"a": 1} {"b": 2}', b"\xff\xfe\x00"),
    *(b"[" * 200_000, b'{"a":' * 200_000, b"[    0.000000] Linux version 6.1.0"),
)


@pytest.mark.parametrize("said", NO_MESSAGES, ids=lambda said: repr(said[:10]))
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


@pytest.fixture
def cat() -> Iterator[subprocess.Popen[bytes]]:
    """A cat that ends when its standard input does."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process


def test_an_end_is_waited_for_without_sleeping_and_no_longer_than_said(
    cat: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("slept instead of waiting"))
    with pytest.raises(subprocess.TimeoutExpired):
        wait_for(cat, 0.01)
    assert cat.poll() is None
    let_go(cat)
    wait_for(cat, HANG_S)
    assert cat.returncode == 0
    # Its end is known: that is not waited for.
    wait_for(cat, 0)


def test_a_wait_polls_if_the_kernel_has_no_pidfd(
    cat: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("os.pidfd_open", unknown)
    let_go(cat)
    wait_for(cat, HANG_S)
    assert cat.returncode == 0


def let_go(cat: subprocess.Popen[bytes]) -> None:
    assert cat.stdin is not None
    cat.stdin.close()


@pytest.mark.filterwarnings("error")
def test_a_command_that_may_not_be_killed_is_left_after_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel protects a process of another user, such as sudo's."""
    descriptors = sorted(Path("/proc/self/fd").iterdir())
    command = ["sh", "-c", f"echo $$ >{tmp_path / 'number'}; exec sleep 600"]
    with monkeypatch.context() as kernel:
        kernel.setattr(os, "killpg", not_permitted)
        kernel.setattr("pinstudy.base.command._END_LIMIT_S", 0.01)
        done = run(command, 1.0)
    assert done.problem == "did not answer within 1 s, and cannot be ended"
    assert sorted(Path("/proc/self/fd").iterdir()) == descriptors
    number = int((tmp_path / "number").read_text())
    os.kill(number, signal.SIGKILL)
    # The next command reaps it.
    until(lambda: run(["true"]).status == 0 and not Path(f"/proc/{number}").exists())
    gc.collect()


def not_permitted(_group: int, _number: int) -> NoReturn:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


HOLDS_BACK = """
import os, signal, threading
from pinstudy.base.command import without_interruption

numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU
taken = []
for number in numbers:
    signal.signal(number, lambda number, _: taken.append(number))
goes_on, done = threading.Event(), threading.Event()
with without_interruption():
    threading.Thread(target=lambda: (goes_on.wait(), done.set())).start()
with without_interruption():
    for number in numbers:
        os.kill(os.getpid(), number)
    # A thread takes signals at the latest when it goes on.
    goes_on.set()
    done.wait()
    print(taken)
print(sorted(taken) == sorted(numbers))
"""


def test_what_stops_a_study_waits_for_the_end_of_what_it_must_not_interrupt() -> None:
    done = run([sys.executable, "-c", HOLDS_BACK], HANG_S)
    assert (done.error if done.failed else done.stdout) == "[]\nTrue\n"


NO_FORK = "echo 'a: fork: retry: Resource temporarily unavailable' >&2"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"{NO_FORK}; echo b >&2; exit 3", "a: fork"),
        (f"{NO_FORK}; exec sleep 600", "a: fork"),
        ("kill -9 $$", "it was killed twice"),
    ],
    ids=["said more", "waits", "killed"],
)
def test_an_answer_that_a_shortage_kept_from_us_is_a_shortage(script: str, why: str) -> None:
    with pytest.raises(ShortageError, match=f"sh could not be asked: {why}"):
        ask(["sh", "-c", script], limit_s=1)


def test_what_a_command_complains_of_and_survives_is_no_shortage() -> None:
    assert ask(["sh", "-c", "echo Cannot fork >&2; echo yes"]).stdout == "yes\n"
    assert ask(["sh", "-c", "echo no >&2; exit 1"]).status == 1


@pytest.fixture(params=["few", "many"])
def open_files(request: pytest.FixtureRequest) -> Iterator[None]:
    with many_open_files() if request.param == "many" else nullcontext():
        yield


@pytest.mark.usefixtures("open_files")
def test_commands_and_messages_do_not_mind_how_many_files_are_open() -> None:
    assert run(["echo", "here"]).stdout == "here\n"
    with line() as (ours, theirs):
        ours.send({"say": "here"})
        theirs.sendall(theirs.recv(100))
        assert ours.receive(HANG_S) == {"say": "here"}


@pytest.mark.usefixtures("open_files")
def test_the_sources_that_have_something_to_read_are_returned() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sources: list[socket.socket | int] = [ours, theirs.fileno()]
        assert readable(sources, 0.0) == []
        theirs.send(b"x")
        assert readable(sources) == [ours]
        ours.send(b"x")
        assert set(readable(sources)) == set(sources)
    # So can a pipe's end be read, and that of a process.
    read, write = os.pipe()
    assert readable([read], 0.001) == []
    os.close(write)
    assert readable([read]) == [read]
    os.close(read)
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        ended = os.pidfd_open(sleeper.pid)
        assert readable([ended], 0.0) == []
        sleeper.kill()
        assert readable([ended]) == [ended]
        os.close(ended)


@pytest.mark.usefixtures("open_files")
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
    # A closed descriptor is an error.
    for wait in (lambda: readable([read]), lambda: bool(writable(write, 1.0))):
        with pytest.raises(OSError, match="Bad file descriptor"):
            wait()


def test_a_pattern_whose_child_cannot_be_started_leaves_no_pipe_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    # So long a text is searched in a child.
    text = "line\n" * 100_000
    assert matches("^line$", text)
    monkeypatch.setattr(os, "fork", refuse)
    descriptors = Path("/proc/self/fd")
    before = sorted(descriptors.iterdir())
    with pytest.raises(BlockingIOError):
        matches("^line$", text)
    assert sorted(descriptors.iterdir()) == before
