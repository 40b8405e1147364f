from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from configs.errors import StudyError
from runners.node_lock import NodeLock, is_locked

ROOT = Path(__file__).resolve().parents[2]
HOLD = """
import sys, time
from pathlib import Path
from runners.node_lock import NodeLock
lock = NodeLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    with NodeLock(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_nodes_are_locked_apart(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with NodeLock(tmp_path):
        assert not is_locked(tmp_path / "other")


def test_the_second_is_told_who_the_first_is_and_gets_the_lock_once_that_was_killed(
    tmp_path: Path,
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    try:
        with pytest.raises(StudyError) as busy:
            NodeLock(tmp_path).acquire()
        message = str(busy.value)
        assert f"process {holder.pid} of user" in message
        assert "since 20" in message and f": {sys.executable} -c" in message
        assert "\n" not in message
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with NodeLock(tmp_path):
        pass


def test_a_program_started_meanwhile_does_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = NodeLock(tmp_path)
    lock.acquire()
    program = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        lock.release()
        assert not is_locked(tmp_path)
    finally:
        program.kill()
        program.wait()


def test_many_who_ask_do_not_exhaust_the_holder(tmp_path: Path) -> None:
    with NodeLock(tmp_path):
        for _ in range(20):
            with pytest.raises(StudyError, match=f"process {os.getpid()}"):
                NodeLock(tmp_path).acquire()


def test_a_holder_with_endless_arguments_is_told_in_a_short_line(tmp_path: Path) -> None:
    many = ["x" * 100_000] * 10
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), *many], cwd=ROOT, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(StudyError, match=f"process {holder.pid} of user") as busy:
            NodeLock(tmp_path).acquire()
        assert len(str(busy.value)) < 500
    finally:
        holder.kill()
        holder.communicate()


def test_a_holder_who_listens_to_nobody_is_told_as_far_as_possible(tmp_path: Path) -> None:
    found = tmp_path.stat()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as taken:
        taken.bind(b"\0pinstudy-node-%d-%d" % (found.st_dev, found.st_ino))
        with pytest.raises(StudyError, match="the kernel does not tell which process"):
            NodeLock(tmp_path).acquire()
