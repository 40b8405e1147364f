"""QEMU's CPUs are started after their threads are placed, as QEMU 7.2 was recorded to answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from runners.vm import qmp
from runners.vm.protocol import BrokenLineError, Line
from runners.vm.qmp import start_cpus

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
def qemu(*says: bytes) -> Iterator[tuple[Line, list[bytes]]]:
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
        yield Line(ours.fileno()), asked
    speaker.join()


def no_placing(_threads: Mapping[int, int]) -> None:
    raise AssertionError("there are no threads to place")


@pytest.mark.parametrize("event", [b"", RESUME, RESUME * 3])
def test_the_cpus_are_started_after_their_threads_are_placed(event: bytes) -> None:
    placed: list[Mapping[int, int]] = []

    def place(threads: Mapping[int, int]) -> None:
        assert asked == ASKED[:2]
        placed.append(threads)

    with qemu(GREETING, event + DONE, event + CPUS, event + DONE) as (line, asked):
        start_cpus(line, place)
    assert placed == [{0: 9838, 1: 9839}]
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
    with qemu(*says) as (line, _asked), pytest.raises(BrokenLineError, match=said):
        start_cpus(line, no_placing)


def test_a_qemu_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qmp, "ANSWER_LIMIT_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(BrokenLineError, match="did not answer within 0 s"):
        start_cpus(Line(ours.fileno()), no_placing)
