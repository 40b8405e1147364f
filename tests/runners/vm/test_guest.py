"""A guest: what QEMU is started with, what the two say to each other, and whose clock is right."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.decoding import complete, message_of
from pinstudy.configs.study import Vm
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.measure.conditions.cpu_time import HarnessCost
from pinstudy.runners.placement.thread_trace import Stay, ThreadTrace
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.vm.guest import (
    GuestPlan,
    console_problem,
    greet_qemu,
    qemu_command,
    read_observation,
    start_cpus,
)
from pinstudy.runners.vm.host import START, GuestHost, Kernel
from pinstudy.runners.vm.run import CLOCK_READINGS, ClockReading, compare_clocks, read_clock

EMULATED = "no vmx or svm in /proc/cpuinfo"


def command(emulated: str = "", cpus: int = 8, memory_mib: int = 16384) -> list[str]:
    host = GuestHost("/usr/bin/qemu", Kernel(Path("image"), Path("modules")), "busybox", emulated)
    plan = GuestPlan(host, (b"kernel", b"files"), Vm(cpus, memory_mib), ())
    return qemu_command(plan, (11, 12, 13, 14))


def values(words: list[str], option: str) -> list[str]:
    """Return what follows each use words an option."""
    return [value for name, value in pairwise(words) if name == option]


@pytest.mark.parametrize(
    ("emulated", "accelerator", "cpu"),
    # An emulated CPU has all but what is emulated wrongly.
    [("", "kvm", "host"), (EMULATED, "tcg", "max,-avx2")],
)
def test_a_guest_is_as_large_as_asked_and_has_no_network(
    emulated: str, accelerator: str, cpu: str
) -> None:
    made = command(emulated, cpus=3, memory_mib=1024)
    assert (values(made, "-accel"), values(made, "-cpu")) == ([accelerator], [cpu])
    (smp,) = values(made, "-smp")
    # One package of equal cores without SMT, as runners/node/topology.py takes a guest to be.
    assert set(smp.split(",")) == {"cpus=3", "sockets=1", "cores=3", "threads=1"}
    assert values(made, "-m") == ["1024"]
    # It waits until its CPUs are placed, and ends when it should start again.
    assert {"-S", "-no-reboot", "-nodefaults", "-no-user-config"} <= set(made)
    assert not set(made) & {"-nic", "-net", "-netdev"}
    assert not [word for word in made if "vhost" in word or "net-" in word]
    devices = [device.partition(",")[0] for device in values(made, "-device")]
    assert devices == ["virtio-9p-pci", "virtio-serial-pci", "virtserialport"]


def test_files_and_sockets_are_given_by_descriptor() -> None:
    made = command()
    assert values(made, "-kernel") == ["/proc/self/fd/11"]
    assert values(made, "-initrd") == ["/proc/self/fd/12"]
    chardevs = {
        match[1]: value
        for value in values(made, "-chardev")
        if (match := re.search(r"id=(\w+)", value))
    }
    assert chardevs["qmp"].split(",")[::2] == ["socket", "fd=13"]
    assert chardevs["line"].split(",")[::2] == ["socket", "fd=14"]
    assert values(made, "-mon") == ["chardev=qmp,mode=control"]
    # What a path names: the host's root, read-only, and the console, which is the standard error.
    paths = {match for word in made for match in re.findall(r"path=([^,]*)", word)}
    assert paths == {"/", "/proc/self/fd/2"}
    (shared,) = values(made, "-fsdev")
    assert "readonly=on" in shared.split(",")
    assert not [word for word in made if "server" in word or "unix:" in word]


def test_the_kernel_starts_the_runner_with_this_interpreter() -> None:
    (line,) = values(command(), "-append")
    said = dict(word.partition("=")[::2] for word in line.split())
    assert said["pinstudy.python"] == sys.executable
    assert said["pinstudy.start"] == str(START)
    assert START.is_file() and os.access(START, os.X_OK)
    # A kernel that has failed ends its QEMU at once, and says so on the console that is kept.
    assert (said["panic"], said["oops"], said["console"]) == ("-1", "panic", "ttyS0")


PANIC = """\
[    1.602341] 9pnet: Installing 9P2000 support
[    2.104419] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100
[    2.104912] CPU: 1 PID: 1 Comm: start.sh Not tainted 6.1.0-56-amd64 #1  Debian 6.1.177-1
[    2.105573] Call Trace:
[    2.109881] ---[ end Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100 ]---
"""
LOCKUP = """\
[   48.010001] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [python3:312]
[   48.010020] Modules linked in: virtio_console overlay 9p
"""
INIT = "pinstudy guest: cannot mount the host's root file system\n"
ASSERTION = (
    "qemu-system-x86_64: ../../hw/pci/msix.c:218: msix_table_mmio_write: Assertion failed.\n"
)


@pytest.mark.parametrize(
    ("console", "said"),
    [
        (PANIC, "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100"),
        (LOCKUP, "BUG: soft lockup - CPU#1 stuck for 22s! [python3:312]"),
        ("[    1.0] some line\r\n" + INIT, "pinstudy guest: cannot mount the host's root file"),
        (ASSERTION, "msix_table_mmio_write: Assertion failed."),
        (LOCKUP + PANIC, "Kernel panic"),
        *((console, "") for console in ("", "\n\n", "[    0.0] Linux version 6.1.0-56-amd64\n")),
    ],
)
def test_a_console_tells_of_its_guest_s_end(tmp_path: Path, console: str, said: str) -> None:
    file = tmp_path / "console.log"
    assert console_problem(file) == ""
    file.write_text(console)
    problem = console_problem(file)
    assert said in problem and "\n" not in problem
    assert problem.startswith(": ") if said else problem == ""


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_whatever_a_console_holds_one_printable_line_of_bounded_length_comes_of_it(
    before: bytes, after: bytes
) -> None:
    descriptor = os.memfd_create("console")
    try:
        os.write(descriptor, before + b"Kernel panic" + after)
        problem = console_problem(Path(f"/proc/self/fd/{descriptor}"))
    finally:
        os.close(descriptor)
    assert problem.isprintable()
    assert "Kernel panic" in problem or len(problem) == 303
    assert len(problem) <= 303


def bytes_read() -> int:
    """Return how much this process has read so far (proc(5): io)."""
    return int(Path("/proc/self/io").read_text().partition("rchar:")[2].split()[0])


def test_of_a_huge_console_only_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "console.log"
    with file.open("wb") as console:
        console.write(b"Kernel panic - an old one, words an earlier boot\n")
        # A hole: 512 MiB that take no room.
        console.truncate(512 << 20)
        console.seek(0, os.SEEK_END)
        console.write(b"\n" + LOCKUP.encode())
    before = bytes_read()
    assert "BUG: soft lockup" in console_problem(file)
    assert bytes_read() - before < 8 << 20


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


SOME_S, NO_S = SECONDS, st.none() | SECONDS
ENDING = st.builds(
    Ending,
    *(st.integers(0, 65535), SOME_S, NO_S, NO_S, st.none() | COUNT, st.none() | st.just(2), NO_S),
)


STAY = st.builds(
    Stay,
    st.lists(CPU, max_size=4).map(tuple),
    COUNT,
    st.dictionaries(CPU, COUNT, max_size=4).map(Counter),
    SECONDS,
)
TRACE = st.builds(
    ThreadTrace,
    *(COUNT, COUNT, st.lists(STAY, max_size=3), COUNT, COUNT),
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


ENDED, THREAD = MESSAGE["ending"], MESSAGE["threads"][0]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        *(({"looks": value}, "no observation") for value in (float("inf"), "many", -1, 2**63)),
        *(({key: None}, "no observation") for key in ("ending", "looks", "threads", "stdout")),
        *(({key: 5}, "no observation") for key in ("stdout", "timed_out", "perf_command")),
        ({"threads": [THREAD | {"cpu_s_on": {"1_0": 1.0}}]}, "no observation"),
        ({"threads": [{"tid": [], "pid": 7}]}, "no observation"),
        ({"threads": [THREAD | {"stays": [{"allowed": [99999999]}]}]}, "no observation"),
        ({"ending": ENDED | {"elapsed_s": float("nan")}}, "no observation"),
        ({"ending": ENDED | {"user_s": "1"}}, "no observation"),
        ({"ending": ENDED | {"wait_status": 10**30}}, "no observation"),
        ({"ending": ENDED | {"max_rss_bytes": 1.5}}, "no observation"),
        ({"ending": {"exit_code": 0}}, "no observation"),
        ({"cost": [1]}, "no observation"),
        # A guest has no ranks.
        ({"teams": [ENDED]}, "ranks of MPI"),
        ({"facts": {"launcher_cpu_s": 1.0}}, "ranks of MPI"),
        ({"threads": [THREAD | {"team": 5}]}, "ranks of MPI"),
    ],
)
def test_a_part_that_is_something_else_breaks_the_line(sent: dict[str, Any], said: str) -> None:
    with pytest.raises(ChannelError, match=f"sent {said}"):
        read_observation(MESSAGE | sent)


def test_a_message_that_lacks_a_part_breaks_the_line() -> None:
    for key in MESSAGE:
        message = {name: value for name, value in MESSAGE.items() if name != key}
        with pytest.raises(ChannelError, match=f"sent no observation.*{key}"):
            read_observation(message)


def test_a_qemu_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinstudy.runners.vm.guest.QEMU_LIMIT_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ChannelError, match="did not answer within 0 s"):
        greet_qemu(Channel(ours.fileno()))


AHEAD_S = 1000.0


class HostClock:
    """A host_clock whose time passes only while a question is on its way."""

    def __init__(self) -> None:
        self.now_s = 500.0

    def monotonic(self) -> float:
        return self.now_s

    def guest(self, there_s: list[float], back_s: list[float]) -> Callable[[], float]:
        """Return a guest whose clock is ahead, and whose answers take so long on each way."""
        ways = list(zip(there_s, back_s, strict=True))

        def ask() -> float:
            there, back = ways.pop(0)
            self.now_s += there
            now = self.now_s + AHEAD_S
            self.now_s += back
            return now

        return ask


@pytest.fixture
def host_clock(monkeypatch: pytest.MonkeyPatch) -> HostClock:
    made = HostClock()
    monkeypatch.setattr("pinstudy.runners.vm.run.time", made)
    return made


@pytest.mark.parametrize(
    ("there_s", "back_s"), [(0.0, 0.0), (0.02, 0.02), (0.04, 0.0), (0.0, 0.04)]
)
def test_the_true_offset_is_within_what_the_reading_says(
    host_clock: HostClock, there_s: float, back_s: float
) -> None:
    reading = read_clock(host_clock.guest([there_s] * CLOCK_READINGS, [back_s] * CLOCK_READINGS))
    assert abs(reading.offset_s - AHEAD_S) <= reading.uncertainty_s + 1e-9
    assert reading.uncertainty_s == pytest.approx((there_s + back_s) / 2)


def test_the_quickest_answer_counts(host_clock: HostClock) -> None:
    slow = [0.1] * CLOCK_READINGS
    slow[2] = 0.02
    asked_at = host_clock.now_s
    reading = read_clock(host_clock.guest(slow, [0.0] * CLOCK_READINGS))
    assert reading.uncertainty_s == pytest.approx(0.01)
    assert reading.offset_s == pytest.approx(AHEAD_S + 0.01)
    assert reading.host_s - asked_at == pytest.approx(0.2 + 0.01)


@pytest.mark.parametrize(
    ("window_s", "drift_s", "uncertainty_s", "trusted"),
    [
        (10.0, 0.0, 0.0005, True),
        # A thousandth of ten seconds, and half a millisecond of either reading.
        *((10.0, sign * 0.0109, 0.0005, True) for sign in (1, -1)),
        *((10.0, sign * 0.0111, 0.0005, False) for sign in (1, -1)),
        # The kernel may slew a clock by 500 ppm.
        (3600.0, 1.8, 0.0005, True),
        (3600.0, 36.0, 0.0005, False),
        (0.001, 0.0009, 0.0005, True),
        (0.001, 0.1, 0.0005, False),
        # Readings that say little prove no drift.
        (1.0, 0.5, 0.3, True),
        (1.0, 0.7, 0.3, False),
    ],
)
def test_a_drift_of_more_than_a_thousandth_is_a_problem(
    window_s: float, drift_s: float, uncertainty_s: float, trusted: bool
) -> None:
    before = ClockReading(100.0, 7.0, uncertainty_s)
    after = ClockReading(100.0 + window_s, 7.0 + drift_s, uncertainty_s)
    problem = compare_clocks(before, after).problem
    start = f"the guest's clock went {drift_s:+g} s"
    assert (problem == "") is trusted
    assert trusted or problem.startswith(start[:26])
