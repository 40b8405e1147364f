"""CPU time of another process agrees with what that process says of itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runners.host.processes import CpuTime, read_cpu_time, tick_s

# Two threads work: hashing lets go of Python's lock. Then it waits, so that its time stands still.
WORKER = """
import hashlib, os, sys, threading, time
open("/proc/self/comm", "w").write(sys.argv[1])
def work():
    until = time.thread_time() + 0.3
    data = bytes(1 << 20)
    while time.thread_time() < until:
        hashlib.sha256(data).digest()
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
for _ in range(3000):
    os.stat("/proc/self/status"); open("/proc/self/status").read()
print(os.times().user, os.times().system, flush=True)
sys.stdin.read()
"""


@contextmanager
def worker(name: str = "worker") -> Iterator[tuple[int, float, float]]:
    """Give the number of a process that has worked, and its user and system time by times(2)."""
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        user, system = map(float, process.stdout.readline().split())
        yield process.pid, user, system


def test_user_and_system_time_of_all_threads_are_told_apart() -> None:
    with worker() as (pid, user_s, system_s):
        found = read_cpu_time(pid)
        assert read_cpu_time(pid).user_s - found.user_s <= 2 * tick_s()
    # What it did to say so, and the end of its threads, came after.
    assert abs(found.user_s - user_s) <= 3 * tick_s()
    assert abs(found.system_s - system_s) <= 3 * tick_s()
    assert found.user_s + found.system_s >= 0.6 - 3 * tick_s()
    assert found.user_s > found.system_s


def test_a_name_with_brackets_and_blanks_does_not_shift_the_fields() -> None:
    with worker("a) R 1 2 (b") as (pid, user_s, _):
        assert "a) R 1 2 (b" in Path(f"/proc/{pid}/comm").read_text()
        assert abs(read_cpu_time(pid).user_s - user_s) <= 3 * tick_s()


def test_a_process_that_is_gone_has_used_nothing() -> None:
    with worker() as (pid, _, _):
        pass
    assert read_cpu_time(pid) == CpuTime(0.0, 0.0)
