"""The kernel's reports of new threads are trusted only where it has accepted to send them."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from pinstudy.runners.placement.process_events import ProcessEvents, is_answered
from tests.support.tools import ROOT, need_tool

NUMBER = 0xFFFFFFFF
OWN, ANOTHERS = 0, 1
FORK, NOTHING = 1, 0
EVENTS_IN_A_NAMESPACE = """
import os
from pinstudy.runners.placement.process_events import ProcessEvents
with ProcessEvents((os.getpid(),)) as events:
    print(events.unmet(()))
"""


def message(event: int, acknowledgement: int, error: int = 0) -> bytes:
    """Return a message as the kernel sends it: nlmsghdr, cn_msg, proc_event."""
    head = struct.pack("=IHHII IIIIHH", 76, 3, 0, 0, 0, 1, 1, 8, acknowledgement, 40, 0)
    return head + struct.pack("=IIQ IIIIII", event, 0, 0, error, 0, 0, 0, 0, 0)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    own, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with own, kernel:
        yield own, kernel


@pytest.mark.parametrize(
    ("messages", "answered"),
    [
        ([message(NOTHING, OWN)], True),
        ([message(FORK, OWN), b"", b"short", message(NOTHING, OWN)], True),
        ([message(NOTHING, ANOTHERS), message(NOTHING, OWN)], True),
        ([message(NOTHING, ANOTHERS)], False),
        ([message(NOTHING, OWN, error=1)], False),
        ([message(NOTHING, ANOTHERS), message(NOTHING, OWN, error=1)], False),
    ],
)
def test_only_the_answer_to_the_own_request_counts(
    ends: tuple[socket.socket, socket.socket], messages: list[bytes], answered: bool
) -> None:
    own, kernel = ends
    for sent in messages:
        kernel.send(sent)
    assert is_answered(own, NUMBER, clock=lambda: 0.0) is answered


def test_other_messages_do_not_prolong_the_wait(ends: tuple[socket.socket, socket.socket]) -> None:
    own, kernel = ends
    now_s = 0.0

    def clock() -> float:
        nonlocal now_s
        kernel.send(message(FORK, OWN))
        now_s += 0.06
        return now_s

    assert not is_answered(own, NUMBER, clock)
    # In 0.2 s.
    assert now_s < 0.4


@pytest.mark.skipif(os.geteuid() != 0, reason="a PID namespace of its own takes root")
def test_the_answers_to_another_program_are_not_taken_in_a_namespace_without_events() -> None:
    with ProcessEvents((os.getpid(),)) as events:
        if events.unmet(()) is None:
            pytest.skip("the kernel sends no process events here")
    over = threading.Event()

    def request() -> None:
        while not over.is_set():
            with ProcessEvents((os.getpid(),)):
                pass

    requests = threading.Thread(target=request)
    requests.start()
    try:
        inside = [need_tool("unshare"), "--pid", "--fork", sys.executable, "-c"]
        seen = subprocess.check_output([*inside, EVENTS_IN_A_NAMESPACE], cwd=ROOT)
    finally:
        over.set()
        requests.join()
    assert seen == b"None\n"
