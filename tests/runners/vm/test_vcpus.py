"""Threads of another process are put on CPUs, and proved to be there; it stands in for QEMU."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pinstudy.base.cpulist import format_cpulist
from pinstudy.configs.mapping import Mapping
from pinstudy.runners.host.processes import CpuTime, read_cpu_time, tick_s
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.vm.vcpus import Placing, VcpuSampler, place
from tests.support.studies import two_cpus
from tests.support.wait import until

# Threads that wake up all the time, as those of a guest's CPUs do; the first thread is as QEMU's
# main loop. A line on the standard input lets a thread of a virtual CPU start another one.
STAND_IN = """
import sys, threading, time

wanted, say = threading.Semaphore(0), threading.Lock()

def other():
    told(threading.get_native_id())
    while True:
        time.sleep(0.002)

def vcpu():
    told(threading.get_native_id())
    while True:
        time.sleep(0.002)
        if wanted.acquire(blocking=False):
            threading.Thread(target=other, daemon=True).start()

def told(number):
    with say:
        print(number, flush=True)

def main_loop():
    while True:
        time.sleep(0.002)

threading.Thread(target=main_loop, daemon=True).start()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=vcpu, daemon=True).start()
while sys.stdin.readline():
    wanted.release()
"""
LONG_S = 1.0
EVERYWHERE = tuple(sorted(os.sched_getaffinity(0)))


@dataclass
class StandIn:
    """A process whose `threads` are, by number, those of virtual CPUs."""

    process: subprocess.Popen[str]
    threads: dict[int, int]

    @property
    def pid(self) -> int:
        return self.process.pid

    def others(self) -> set[int]:
        found = {int(path.name) for path in Path(f"/proc/{self.pid}/task").iterdir()}
        return found - set(self.threads.values())

    def start_another(self) -> int:
        """Let a thread of a virtual CPU start one; return its number."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def settle(self) -> None:
        """Wait until the threads that wake up have run where they may."""
        threads = self.threads.values()
        until(lambda: all(_last_cpu(thread) in mask_of(thread) for thread in threads))


def _last_cpu(thread: int) -> int:
    stat = Path(f"/proc/{thread}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[39 - 3])


def mask_of(thread: int) -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(thread)))


@contextmanager
def stand_in(vcpus: int) -> Iterator[StandIn]:
    with subprocess.Popen(
        [sys.executable, "-c", STAND_IN, str(vcpus)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        try:
            numbers = [int(process.stdout.readline()) for _ in range(vcpus)]
            # The last one first: what QEMU lists first need not be CPU 0.
            threads = {vcpu: numbers[vcpu] for vcpu in reversed(range(vcpus))}
            yield StandIn(process, threads)
        finally:
            process.kill()


def vcpus(binding: str, cpus: tuple[int, ...], count: int) -> Vcpus:
    selection = "all" if binding == "none" else "pcores"
    return Vcpus(Mapping(f"{selection}-{binding}", selection, binding), cpus, count, 512)


def sampled(qemu: StandIn, where: Vcpus, placing: Placing, looks: int = 8) -> VcpuSampler:
    qemu.settle()
    sampler = VcpuSampler(qemu.pid, qemu.threads, where, placing)
    for _ in range(looks):
        sampler.sample()
        time.sleep(0.005)
    return sampler


@pytest.mark.parametrize("binding", ["none", "set", "pin"])
def test_threads_of_virtual_cpus_are_bound_as_the_mapping_says_and_proved(binding: str) -> None:
    first, second = two_cpus()
    cpus = EVERYWHERE if binding == "none" else (second, first)
    where = vcpus(binding, cpus, 2)
    with stand_in(2) as qemu:
        placing = place(qemu.pid, qemu.threads, where, ())
        masks = [mask_of(qemu.threads[vcpu]) for vcpu in (0, 1)]
        # Each pinned thread has its CPU in the order of the mapping.
        pinned = [(second,), (first,)]
        assert masks == (pinned if binding == "pin" else [tuple(sorted(cpus))] * 2)
        assert sampled(qemu, where, placing).proof(LONG_S).verdict == "proved"


@pytest.mark.parametrize(
    ("binding", "cpus"),
    [
        ("set", EVERYWHERE[:1]),
        ("pin", EVERYWHERE[:1]),
        # Where no CPU is left they share those of the virtual CPUs.
        ("pin", EVERYWHERE),
        ("none", EVERYWHERE),
    ],
)
def test_other_threads_are_kept_off_where_a_cpu_is_left(
    binding: str, cpus: tuple[int, ...]
) -> None:
    left = EVERYWHERE[len(cpus) :]
    where = vcpus(binding, cpus, len(cpus))
    with stand_in(len(cpus)) as qemu:
        placing = place(qemu.pid, qemu.threads, where, ())
        assert placing == Placing(left or EVERYWHERE, apart=bool(left))
        assert len(qemu.others()) >= 2
        assert {mask_of(thread) for thread in qemu.others()} == {left or EVERYWHERE}
        assert sampled(qemu, where, placing).proof(LONG_S).verdict == "proved"


def test_on_a_larger_node_siblings_of_the_guest_s_cpus_stay_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    masks: dict[int, set[int]] = {}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _thread: set(range(8)))
    monkeypatch.setattr(os, "sched_setaffinity", masks.__setitem__)
    cores = [(cpu, cpu + 4) for cpu in range(4)]
    with stand_in(2) as qemu:
        placing = place(qemu.pid, qemu.threads, vcpus("pin", (1, 0), 2), cores)
        assert placing == Placing((2, 3, 6, 7), apart=True)
        assert [masks[qemu.threads[vcpu]] for vcpu in (0, 1)] == [{1}, {0}]
        assert all(masks[thread] == {2, 3, 6, 7} for thread in qemu.others())


def test_threads_that_came_later_are_found_and_put_in_their_place() -> None:
    first, _ = two_cpus()
    where = vcpus("pin", (first,), 1)
    with stand_in(1) as qemu:
        placing = place(qemu.pid, qemu.threads, where, ())
        late = qemu.start_another()
        # It has the mask of the virtual CPU's thread, which started it.
        assert mask_of(late) == (first,)
        found = sampled(qemu, where, placing).proof(LONG_S)
        assert found.verdict == "violated"
        assert found.reason == (f"QEMU's thread {late}, of no virtual CPU, may use CPU {first}")
        placing = place(qemu.pid, qemu.threads, where, ())
        assert mask_of(late) == EVERYWHERE[1:]
        assert sampled(qemu, where, placing).proof(LONG_S).verdict == "proved"


def test_a_process_that_is_gone_cannot_be_placed() -> None:
    first, _ = two_cpus()
    with stand_in(1) as qemu:
        qemu.process.kill()
        qemu.process.wait()
        with pytest.raises(OSError):
            place(qemu.pid, qemu.threads, vcpus("pin", (first,), 1), ())


@pytest.mark.parametrize("binding", ["none", "set", "pin"])
def test_a_thread_whose_mask_is_changed_behind_our_back_is_found(binding: str) -> None:
    first, second = two_cpus()
    cpus = EVERYWHERE if binding == "none" else (first, second)
    where = vcpus(binding, cpus, 2)
    with stand_in(2) as qemu:
        placing = place(qemu.pid, qemu.threads, where, ())
        strayed = qemu.threads[1]
        os.sched_setaffinity(strayed, {first, second} if binding == "pin" else {first})
        found = sampled(qemu, where, placing).proof(LONG_S)
    assert found.verdict == "violated"
    assert found.reason.startswith(f"virtual CPUs: thread {strayed} was ")


def test_a_record_says_where_each_virtual_cpu_was() -> None:
    first, second = two_cpus()
    where = vcpus("pin", (second, first), 2)
    with stand_in(2) as qemu:
        placing = place(qemu.pid, qemu.threads, where, ())
        sampler = sampled(qemu, where, placing, looks=8)
        fields = sampler.fields(sampler.proof(LONG_S))
    left = EVERYWHERE[2:]
    assert fields == {
        "verdict": "proved",
        "looks": 8,
        "threads": [
            {"vcpu": 0, "allowed": str(second), "seen": {str(second): 8}},
            {"vcpu": 1, "allowed": str(first), "seen": {str(first): 8}},
        ],
        "others_cpus": format_cpulist(left or EVERYWHERE),
        "others_apart": bool(left),
    }


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
    # A name with brackets and blanks does not shift the fields.
    with worker("a) R 1 2 (b") as (pid, user_s, system_s):
        found = read_cpu_time(pid)
        assert read_cpu_time(pid).user_s - found.user_s <= 2 * tick_s()
    # What it did to say so, and the end of its threads, came after.
    assert abs(found.user_s - user_s) <= 3 * tick_s()
    assert abs(found.system_s - system_s) <= 3 * tick_s()
    assert found.user_s + found.system_s >= 0.6 - 3 * tick_s()
    assert found.user_s > found.system_s
    assert read_cpu_time(pid) == CpuTime(0.0, 0.0), "it is gone"
