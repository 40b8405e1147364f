"""A guest from boot to end: QEMU on this node, its virtual CPUs placed, the agent inside.

QEMU is the child of a supervisor (pinstudy/runners/host/supervisor.py), so it does not outlive this
process. It inherits all its inputs as descriptors: kernel and initramfs are in memory, QMP and the
agent's line are socket pairs. It has no network and no vhost device.

Host and guest exchange JSON objects, one per line: the host sends a run's launch, the guest its
observation. QEMU's own protocol (QMP) is for its CPUs: it greets, answers each command, and reports
events at any time (QEMU documentation, QEMU Machine Protocol Specification).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.base.channel import Channel, ChannelError
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.decoding import complete
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import one_line
from pinstudy.configs.study import Vm
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.host.supervisor import let_go, supervised
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.vm.agent import PORT
from pinstudy.runners.vm.host import START, GuestHost
from pinstudy.runners.vm.vcpus import Placing, place

# QEMU answers at once, unless it hangs.
QEMU_LIMIT_S = 60.0


def read_observation(message: object) -> Observation:
    """Return the observation of a message; raises ChannelError when it holds none."""
    try:
        observed = complete(message, Observation)
    except ValueError as error:
        raise ChannelError(f"sent no observation: {error}") from error
    if observed.teams or observed.facts or any(trace.team for trace in observed.threads):
        raise ChannelError("sent ranks of MPI, which no guest starts")
    return observed


def greet_qemu(channel: Channel) -> dict[int, int]:
    """Return the host's thread of each virtual CPU, by its number, of a QEMU that waits (-S).

    Raises ChannelError when QEMU is gone, or says anything else than the answers.
    """
    _receive(channel, "QMP")
    _request(channel, "qmp_capabilities")
    cpus = _request(channel, "query-cpus-fast")
    try:
        return {int(cpu["cpu-index"]): int(cpu["thread-id"]) for cpu in cpus}
    except (KeyError, TypeError, ValueError) as error:
        raise ChannelError(f"told no threads of its CPUs: {error!r}") from error


def start_cpus(channel: Channel) -> None:
    """Start the CPUs of a QEMU that was greeted; raises ChannelError as `greet_qemu` does."""
    _request(channel, "cont")


def _request(channel: Channel, command: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    channel.send({"execute": command})
    return _receive(channel, "return")


def _receive(channel: Channel, key: str) -> Any:  # noqa: ANN401 - whatever QEMU says
    """Return the value of `key` in QEMU's next message that is no event."""
    while message := channel.receive(QEMU_LIMIT_S):
        if key in message:
            return message[key]
        if "event" not in message:
            raise ChannelError(f"said {one_line(str(message))}")
    raise ChannelError(f"did not answer within {QEMU_LIMIT_S:g} s")


# Time that a boot may take, and the agent besides the program; an emulated agent needs seconds.
ANSWER_LIMIT_S = 120.0
_END_LIMIT_S = 10.0
_CONSOLE_TAIL_BYTES = 64 * 1024


class GuestLostError(LaunchError):
    """The guest hangs, died or never became ready; the text quotes its console."""


@dataclass(frozen=True)
class GuestPlan:
    """What a guest needs: `files` are its kernel and initramfs, `cores` the CPUs of each core."""

    host: GuestHost
    files: tuple[bytes, bytes]
    vm: Vm
    cores: Collection[tuple[int, ...]]


class Guest:
    """A running guest; `close` ends all of it."""

    def __init__(self, plan: GuestPlan, vcpus: Vcpus, console: Path) -> None:
        """Boot, with the virtual CPUs placed before they run their first instruction.

        The guest's console is appended to the file `console`. Raises GuestLostError when the guest
        is not ready in time, OSError when the file cannot be written.
        """
        self._plan, self.vcpus, self.console = plan, vcpus, console
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._socket, theirs = socket.socketpair()
        self._channel = Channel(self._socket.fileno())
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
        """Place all threads of QEMU, including those started since the last call."""
        try:
            return place(self.pid, self.threads, self.vcpus, self._plan.cores)
        except OSError as error:
            raise self.lost(f"its CPUs cannot be placed: {error}") from error

    def send(self, message: dict[str, Any]) -> None:
        """Send the agent a message; raises GuestLostError when it is gone."""
        try:
            self._channel.send(message)
        except ChannelError as error:
            raise self.lost(f"it has died ({error})") from error

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the agent's next message, or None after `timeout_s`.

        Raises GuestLostError when it is gone, LaunchError when it refuses the run.
        """
        try:
            message = self._channel.receive(timeout_s)
        except ChannelError as error:
            raise self.lost(f"it has died ({error})") from error
        if message and message.get("say") == "refused":
            raise LaunchError(str(message.get("reason")))
        return message

    def expect(self, word: str) -> dict[str, Any]:
        """Return the next message; raises GuestLostError when it is another, or does not come."""
        message = self.receive(ANSWER_LIMIT_S)
        if message is None:
            raise self.lost(f"it hangs: no answer for {ANSWER_LIMIT_S:.0f} s")
        if message.get("say") != word:
            raise self.lost(f"it said {message.get('say')!r}, expected {word}")
        return message

    def lost(self, problem: str) -> GuestLostError:
        """Return the error for a lost guest, with the failure that its console shows."""
        shown = console_problem(self.console)
        text = f"the guest was lost: {problem}{shown}; its console is in {self.console}"
        return GuestLostError(text)

    def request(self, message: dict[str, Any], word: str) -> dict[str, Any]:
        """Send a message and return the answer to it."""
        self.send(message)
        return self.expect(word)

    def close(self) -> None:
        """End QEMU and wait until it is gone."""
        if self._supervisor:
            let_go(self._supervisor, _END_LIMIT_S)
            self._supervisor = None
        self._socket.close()

    def _start(self, theirs: socket.socket) -> None:
        protocol, qemus = socket.socketpair()
        with protocol, qemus, ExitStack() as opened:
            files = [
                opened.enter_context(os.fdopen(os.memfd_create(name), "wb"))
                for name in ("kernel", "initramfs")
            ]
            for file, data in zip(files, self._plan.files, strict=True):
                file.write(data)
                file.flush()
            inherited = [*(file.fileno() for file in files), qemus.fileno(), theirs.fileno()]
            with OpenFolder(self.console.parent, make=True) as folder:
                descriptor = folder.append_to(self.console.name)
            console = opened.enter_context(os.fdopen(descriptor, "ab"))
            self._supervisor = supervised(
                qemu_command(self._plan, inherited), stderr=console, pass_fds=inherited
            )
            # So that the protocol ends when QEMU does.
            qemus.close()
            assert self._supervisor.stdout
            pid = self._supervisor.stdout.readline()
            if not pid:
                raise self.lost("QEMU did not start")
            self.pid = int(pid)
            monitor = Channel(protocol.fileno())
            try:
                self.threads = greet_qemu(monitor)
                self.place()
                start_cpus(monitor)
            except ChannelError as error:
                raise self.lost(f"QEMU did not start its CPUs: it {error}") from error

    def _await_ready(self) -> None:
        started = time.monotonic()
        message = self.expect("ready")
        self.boot_s = time.monotonic() - started
        self.kernel = str(message.get("kernel"))
        wanted = format_cpulist(range(self._plan.vm.cpus))
        if message.get("online") != wanted:
            raise self.lost(f"its CPUs are {message.get('online')!r}, not {wanted}")


def boot_guest(plan: GuestPlan, vcpus: Vcpus, console: Path) -> Guest:
    """Return a running guest; a failed boot is repeated once."""
    # Of some 45 boots of QEMU 7.2 one died.
    with suppress(GuestLostError):
        return Guest(plan, vcpus, console)
    return Guest(plan, vcpus, console)


def console_problem(console: Path) -> str:
    """Return the last line of a console that reports a failure, after a colon; empty if none."""
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
                return ": " + one_line(line)
    return ""


def qemu_command(plan: GuestPlan, descriptors: Sequence[int]) -> list[str]:
    """Return QEMU's command line: only the named devices, no network.

    `descriptors` are those of kernel, initramfs, and the sockets of QMP and of the agent's line.
    """
    host, vm = plan.host, plan.vm
    kernel, initramfs, protocol, line = descriptors
    # QEMU 7.2 emulates AVX2 wrongly: numpy's sort, which uses it, returned another order.
    cpu = "max,-avx2" if host.emulated else "host"
    # This turns MSI-X off: of some 45 emulated boots with it, one ended with an assertion in QEMU's
    # msix.c.
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
        # QEMU's own messages go to the same file.
        *(
            "-chardev",
            "file,id=console,path=/proc/self/fd/2,append=on",
            "-serial",
            "chardev:console",
        ),
        *("-chardev", f"socket,id=qmp,fd={protocol}", "-mon", "chardev=qmp,mode=control"),
        # Without remap, inode numbers of different host file systems collide.
        "-fsdev",
        "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
        *("-device", f"virtio-9p-pci,fsdev=root,mount_tag=hostroot{vectors}"),
        *("-device", f"virtio-serial-pci{vectors}", "-chardev", f"socket,id=line,fd={line}"),
        *("-device", f"virtserialport,chardev=line,name={PORT}"),
    ]
