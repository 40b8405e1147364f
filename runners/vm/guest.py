"""A guest from its boot to its end: QEMU on this node, its CPUs placed, the runner inside.

QEMU is the child of a supervisor (supervisor.py), so that nothing of it outlives this process.
Everything that it is given comes through inherited descriptors: kernel and first file system are in
memory, its protocol and the runner's line are pairs of sockets. It has no network and no vhost
device.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.cpulist import format_cpulist
from base.text import one_line
from configs.study import Vm
from runners.execution.witness import LaunchError
from runners.plan.case import Vcpus
from runners.vm.agent import PORT
from runners.vm.host import START, GuestHost
from runners.vm.protocol import BrokenLineError, Line
from runners.vm.qmp import QmpError, start_cpus
from runners.vm.vcpus import Placing, place

BOOT_LIMIT_S = 120.0
# A guest that has not become ready is tried once more: of some 45 boots of QEMU 7.2 one died.
BOOTS = 2
# What the guest's own runner may need beside the program; an emulated one needs seconds.
ANSWER_LIMIT_S = 120.0
_END_LIMIT_S = 10.0
_CONSOLE_TAIL_BYTES = 64 * 1024
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


class GuestLostError(LaunchError):
    """The guest hangs, has died, or never got ready; says which, and what its console says."""


@dataclass(frozen=True)
class GuestPlan:
    """What a guest consists of: `files` are its kernel and first file system."""

    host: GuestHost
    files: tuple[bytes, bytes]
    vm: Vm
    cores: Collection[tuple[int, ...]]


class Guest:
    """A guest that is up; `close` leaves nothing of it."""

    def __init__(self, plan: GuestPlan, vcpus: Vcpus, console: Path) -> None:
        """Boot with the virtual CPUs placed before the first instruction is run.

        The console is appended to a file. Raises GuestLostError when the guest is not ready in
        time, OSError when the console cannot be written.
        """
        self._plan, self.vcpus, self.console = plan, vcpus, console
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._socket, theirs = socket.socketpair()
        self._line = Line(self._socket.fileno())
        self.pid = 0
        self.threads: dict[int, int] = {}
        try:
            with theirs:
                self._start(theirs)
            self._await_ready()
        except BaseException:
            self.close()
            raise

    def place(self) -> Placing:
        """Put all threads of QEMU where they belong, those too that it has started meanwhile."""
        try:
            return place(self.pid, self.threads, self.vcpus, self._plan.cores)
        except OSError as error:
            raise self.lost(f"its CPUs cannot be placed: {error}") from error

    def say(self, message: dict[str, Any]) -> None:
        """Send the runner inside a message; raises GuestLostError when it is gone."""
        try:
            self._line.say(message)
        except BrokenLineError as error:
            raise self.lost(f"it has died ({error})") from error

    def hear(self, timeout_s: float) -> dict[str, Any] | None:
        """Return its next message, None if there is none in this time; raises GuestLostError."""
        try:
            return self._line.hear(timeout_s)
        except BrokenLineError as error:
            raise self.lost(f"it has died ({error})") from error

    def expect(self, *words: str, timeout_s: float = ANSWER_LIMIT_S) -> dict[str, Any]:
        """Return its next message, which must be one of these; raises GuestLostError."""
        message = self.hear(timeout_s)
        if message is None:
            raise self.hanging(timeout_s)
        if message.get("say") not in words:
            said = repr(message.get("say"))
            raise self.lost(f"it said {said}, expected {' or '.join(words)}")
        return message

    def hanging(self, silent_s: float) -> GuestLostError:
        """Return the error for a guest that has been silent for so long."""
        return self.lost(f"it hangs: no answer for {silent_s:.0f} s")

    def lost(self, problem: str) -> GuestLostError:
        """Return the error for a guest of which nothing more is to be had, with what it left."""
        said = console_problem(self.console)
        text = f"the guest was lost: {problem}{said}; its console is in {self.console}"
        return GuestLostError(text)

    def ask(self, message: dict[str, Any], word: str) -> dict[str, Any]:
        """Send a message and return the answer to it."""
        self.say(message)
        return self.expect(word)

    def close(self) -> None:
        """End QEMU and wait until it is gone."""
        if self._supervisor:
            assert self._supervisor.stdin and self._supervisor.stdout
            self._supervisor.stdin.close()
            try:
                self._supervisor.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                # QEMU dies with it; the kernel sees to that.
                self._supervisor.kill()
                self._supervisor.wait()
            self._supervisor.stdout.close()
            self._supervisor = None
        self._socket.close()

    def _start(self, theirs: socket.socket) -> None:
        protocol, qemus = socket.socketpair()
        descriptors = [os.memfd_create(name) for name in ("kernel", "initramfs")]
        try:
            for descriptor, data in zip(descriptors, self._plan.files, strict=True):
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(data)
            ends = [qemus.fileno(), theirs.fileno()]
            command = qemu_command(self._plan, descriptors, ends)
            with open(self.console, "ab", opener=_without_links) as console:
                self._supervisor = subprocess.Popen(
                    [sys.executable, "-I", str(_SUPERVISOR), *command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=console,
                    pass_fds=[*descriptors, *ends],
                    start_new_session=True,
                )
            qemus.close()
            assert self._supervisor.stdout
            said = self._supervisor.stdout.readline()
            if not said:
                raise self.lost("QEMU did not start")
            self.pid = int(said)
            start_cpus(protocol, self._place_first)
        except QmpError as error:
            raise self.lost(str(error)) from error
        finally:
            qemus.close()
            protocol.close()
            for descriptor in descriptors:
                os.close(descriptor)

    def _place_first(self, threads: Mapping[int, int]) -> None:
        self.threads = dict(threads)
        self.place()

    def _await_ready(self) -> None:
        started = time.monotonic()
        message = self.hear(BOOT_LIMIT_S)
        if message is None:
            raise self.lost(f"it was not ready within {BOOT_LIMIT_S:g} s")
        self.boot_s = time.monotonic() - started
        self.kernel = str(message.get("kernel"))
        wanted = format_cpulist(range(self._plan.vm.cpus))
        if message.get("online") != wanted:
            raise self.lost(f"its CPUs are {message.get('online')!r}, not {wanted}")


def _without_links(path: str, flags: int) -> int:
    # Its name can be told beforehand, and others may write the results folder.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def boot_guest(plan: GuestPlan, vcpus: Vcpus, console: Path) -> Guest:
    """Return a guest that is up; one that does not get ready is tried once more."""
    for _ in range(BOOTS - 1):
        try:
            return Guest(plan, vcpus, console)
        except GuestLostError:
            continue
    return Guest(plan, vcpus, console)


def console_problem(console: Path) -> str:
    """Return the line in which a kernel's console tells of its end, after a colon, or nothing."""
    try:
        with console.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _CONSOLE_TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    for word in ("pinstudy guest:", "Kernel panic", "BUG:", "qemu-system"):
        for line in reversed(lines):
            if word in line and "end Kernel panic" not in line:
                return ": " + one_line(line, 300)
    return ""


def qemu_command(plan: GuestPlan, files: Sequence[int], sockets: Sequence[int]) -> list[str]:
    """Return QEMU's command line: no devices but those that are named, no network.

    `files` are the descriptors of kernel and first file system, `sockets` those of the protocol
    and of the runner's line.
    """
    host, vm = plan.host, plan.vm
    (kernel, initramfs), (protocol, line) = files, sockets
    # QEMU 7.2 emulates AVX2 wrongly: sorting by numpy, which uses it, came out in another order.
    cpu = "max,-avx2" if host.emulated else "host"
    # Without vectors interrupts are not by messages: of some 45 emulated boots with them one ended
    # with an assertion in QEMU's msix.c.
    vectors = ",vectors=0" if host.emulated else ""
    kernel_line = (
        "console=ttyS0 panic=-1 oops=panic softlockup_panic=1 quiet "
        f"pinstudy.start={START} pinstudy.python={sys.executable}"
    )
    return [
        *(host.qemu, "-accel", host.accelerator, "-M", "q35", "-cpu", cpu),
        *("-smp", f"cpus={vm.cpus},sockets=1,cores={vm.cpus},threads=1", "-m", str(vm.memory_mib)),
        *("-name", "pinstudy,debug-threads=on", "-S", "-no-reboot", "-display", "none"),
        *("-nodefaults", "-no-user-config"),
        *("-kernel", f"/proc/self/fd/{kernel}", "-initrd", f"/proc/self/fd/{initramfs}"),
        *("-append", kernel_line),
        # What QEMU itself says goes to the same file.
        *(
            "-chardev",
            "file,id=console,path=/proc/self/fd/2,append=on",
            "-serial",
            "chardev:console",
        ),
        *("-chardev", f"socket,id=qmp,fd={protocol}", "-mon", "chardev=qmp,mode=control"),
        # Without remap inode numbers of different host file systems collide.
        "-fsdev",
        "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
        *("-device", f"virtio-9p-pci,fsdev=root,mount_tag=hostroot{vectors}"),
        *("-device", f"virtio-serial-pci{vectors}", "-chardev", f"socket,id=line,fd={line}"),
        *("-device", f"virtserialport,chardev=line,name={PORT}"),
    ]
