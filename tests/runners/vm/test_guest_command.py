"""What QEMU is started with, and what a console is read to say of a guest's end."""

from __future__ import annotations

import os
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.study import Vm
from runners.vm.guest import GuestPlan, console_problem, qemu_command
from runners.vm.host import START, GuestHost, Kernel

EMULATED = "no vmx or svm in /proc/cpuinfo"


def command(emulated: str = "", cpus: int = 8, memory_mib: int = 16384) -> list[str]:
    host = GuestHost("/usr/bin/qemu", Kernel(Path("image"), Path("modules")), "busybox", emulated)
    plan = GuestPlan(host, (b"kernel", b"files"), Vm(cpus, memory_mib), ())
    return qemu_command(plan, (11, 12, 13, 14))


def values(of: list[str], option: str) -> list[str]:
    """Return what follows each use of an option."""
    return [value for name, value in pairwise(of) if name == option]


@pytest.mark.parametrize("emulated", ["", EMULATED])
def test_a_guest_has_no_network_and_no_vhost(emulated: str) -> None:
    made = command(emulated)
    assert "-nodefaults" in made
    assert "-no-user-config" in made
    assert not set(made) & {"-nic", "-net", "-netdev"}
    assert not [word for word in made if "vhost" in word or "net-" in word]
    devices = [device.partition(",")[0] for device in values(made, "-device")]
    assert devices == ["virtio-9p-pci", "virtio-serial-pci", "virtserialport"]


@pytest.mark.parametrize(
    ("emulated", "accelerator", "cpu"),
    # An emulated CPU has all but what is emulated wrongly.
    [("", "kvm", "host"), (EMULATED, "tcg", "max,-avx2")],
)
def test_a_guest_has_the_hosts_cpu_or_an_emulated_one(
    emulated: str, accelerator: str, cpu: str
) -> None:
    made = command(emulated)
    assert (values(made, "-accel"), values(made, "-cpu")) == ([accelerator], [cpu])


def test_the_guest_is_as_large_as_the_study_asks() -> None:
    made = command(cpus=3, memory_mib=1024)
    (smp,) = values(made, "-smp")
    # One package of equal cores without SMT, as runners/node/topology.py takes a guest to be.
    assert set(smp.split(",")) == {"cpus=3", "sockets=1", "cores=3", "threads=1"}
    assert values(made, "-m") == ["1024"]


def test_it_waits_until_its_cpus_are_placed_and_ends_when_it_should_start_again() -> None:
    assert {"-S", "-no-reboot"} <= set(command())


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
    ],
)
def test_a_console_tells_of_its_guest_s_end(tmp_path: Path, console: str, said: str) -> None:
    file = tmp_path / "console.log"
    file.write_text(console)
    problem = console_problem(file)
    assert problem.startswith(": ")
    assert said in problem
    assert "\n" not in problem


@pytest.mark.parametrize("console", ["", "\n\n", "[    0.0] Linux version 6.1.0-56-amd64\n"])
def test_a_console_without_a_word_of_it_says_nothing(tmp_path: Path, console: str) -> None:
    file = tmp_path / "console.log"
    file.write_text(console)
    assert console_problem(file) == ""


def test_a_console_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert console_problem(tmp_path / "none.log") == ""
    assert console_problem(tmp_path) == ""


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
        console.write(b"Kernel panic - an old one, of an earlier boot\n")
        # A hole: 512 MiB that take no room.
        console.truncate(512 << 20)
        console.seek(0, os.SEEK_END)
        console.write(b"\n" + LOCKUP.encode())
    before = bytes_read()
    assert "BUG: soft lockup" in console_problem(file)
    assert bytes_read() - before < 8 << 20
