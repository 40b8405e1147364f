"""A virtual node from boot to power cut: starts QEMU, talks to the agent in the guest."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinstudy.base import ROOT
from vnode.arm import BigLittle
from vnode.shape import IMAGE, Shape

MODULE = IMAGE / "pinstudy_vnode.ko"
KEPT = "/kept"  # the disk that survives a power cut
BOOT_TIMEOUT_S = 300
# Far longer than anything takes in an emulated guest on a busy host.
HANG_S = 900.0
# The agent sends a sign of life every five seconds.
SILENCE_S = 60
MEMORY_MIB = 2048
# The kernel has a file of this name with the rules of before Linux 6.7; and what loads a scheduler.
_SCHEDULING = (
    "mount --bind /proc/sys/pinstudy/sched_energy_aware /proc/sys/kernel/sched_energy_aware;"
    f"ln -sf {ROOT}/vnode/guest/scx_made.py /usr/local/bin/scx_made"
)
_PATCHING = "cycles,task-clock,context-switches,cpu-migrations,page-faults"


class NotReadyError(Exception):
    """The guest did not become ready, or is silent; its console may show the reason."""


@dataclass(frozen=True)
class Ended:
    """The exit status and output of a command in the guest."""

    status: int
    output: str
    errors: str
    timed_out: bool = False


@dataclass
class VirtualNode:
    """One guest. `e_share` is the share of a host CPU that its E- and LP-E-CPUs may have."""

    shape: Shape | BigLittle
    folder: Path
    disk: Path | None = None
    e_share: float | None = None

    def __post_init__(self) -> None:
        self.console = self.folder / "console.log"
        self.slow = ""
        self._started: set[int] = set()

    def boot(self) -> None:
        """Start the guest and load the test module; try once more if it does not get ready."""
        try:
            self._start()
        except NotReadyError:
            self.power_cut()
            self._start()
        # Never unloaded: Linux 6.1 may not release an unregistered core PMU.
        if parameters := self.shape.module_parameters():
            ended = self.run("busybox", "insmod", str(MODULE), *parameters)
            assert ended.status == 0, ended.errors
        if getattr(self.shape, "scheduling", False):
            self.shell(_SCHEDULING)
        if self.e_share is not None:
            # The first perf to start and the last to end patch the kernel: one stays.
            self.start("perf", "stat", "-o", "/dev/null", "-e", _PATCHING, "sleep", "infinity")
        # That perf stays; commands of an earlier boot are gone.
        self._started.clear()

    def run(
        self,
        *command: str,
        user: int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = HANG_S,
    ) -> Ended:
        """Run a command in the guest to its end, as root or the user with this number."""
        request = {"do": "run", "command": command, "timeout": timeout}
        return Ended(**self._request(request | _options(user, cwd, env), timeout + 10))

    def start(
        self, *command: str, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> int:
        """Start a command in the guest and return its process number."""
        request = {"do": "start", "command": command} | _options(None, cwd, env)
        pid = int(self._request(request)["pid"])
        self._started.add(pid)
        return pid

    def wait(self, pid: int, timeout: float = HANG_S) -> Ended:
        """Wait for a command that was started; its session is killed after `timeout` seconds."""
        self._started.discard(pid)
        return Ended(**self._request({"do": "wait", "pid": pid, "timeout": timeout}, timeout + 10))

    def end_started(self) -> None:
        """Kill the sessions of started commands that nothing has waited for."""
        for pid in tuple(self._started):
            self.wait(pid, timeout=0)

    def kill(self, pid: int, number: int) -> None:
        """Send a signal to the process of a started command only."""
        self._request({"do": "kill", "pid": pid, "signal": number})

    def shell(self, script: str) -> str:
        """Return the output of a shell script in the guest, which must succeed."""
        ended = self.run("bash", "-euc", script)
        assert ended.status == 0, f"{script}: {ended}"
        return ended.output.strip()

    def answers(self) -> bool:
        """Return whether the guest is up."""
        try:
            return self.run("true", timeout=30).status == 0
        except (OSError, NotReadyError):
            return False

    def set_parameters(self, **values: int) -> None:
        """Set parameters of the test module while it is loaded."""
        for name, value in values.items():
            self.shell(f"echo {value} >/sys/module/pinstudy_vnode/parameters/{name}")

    def power_cut(self) -> None:
        """End the guest like a power cut: data that it has not written to its disk is lost."""
        if self._supervisor.stdin:
            self._supervisor.stdin.close()
        self._supervisor.wait()
        if self._supervisor.stdout:
            self._supervisor.stdout.close()
        self._line.close()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            request = {"command": self._command(theirs.fileno()), "shares": self._shares()}
            with (self.folder / "qemu.log").open("wb") as log:
                self._supervisor = subprocess.Popen(
                    [sys.executable, "-m", "vnode.supervisor", json.dumps(request)],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        self._line, self._waiting = ours, b""
        assert self._supervisor.stdout
        report = self._supervisor.stdout.readline()
        if not report:
            raise NotReadyError(self._logs())
        self.pid, self.slow = (json.loads(report)[name] for name in ("pid", "slow"))
        self._line_within(BOOT_TIMEOUT_S)

    def _command(self, descriptor: int) -> list[str]:
        """Return QEMU's command line, without default devices and network."""
        # At fixed addresses, QEMU translates a program for its first process only. With random
        # ones, each start took 40 ms of CPU time, more than a run may use before it is bound.
        line = f"panic=-1 loglevel=5 softlockup_panic=1 nokaslr norandmaps {self.shape.kernel_line}"
        return [
            *(self.shape.qemu, "-accel", f"tcg,thread={self._threads()}"),
            *self.shape.boot_options(self.folder),
            *("-m", str(MEMORY_MIB), "-name", "vnode,debug-threads=on", "-append", line),
            *("-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{self.console}"),
            *self._share_options(),
            # vectors=0: of some 45 boots with MSI-X one died of an assertion in QEMU's msix.c.
            *("-device", "virtio-serial-pci,vectors=0"),
            *("-chardev", f"socket,id=agent,fd={descriptor}"),
            *("-device", "virtserialport,chardev=agent,name=pinstudy.agent"),
            *self._disk_options(),
        ]

    def _share_options(self) -> list[str]:
        options = []
        # Without multidevs=remap inode numbers of different host file systems collide.
        options_9p = "security_model=none,readonly=on,multidevs=remap"
        for tag, folder in self.shape.shares().items():
            options += ["-fsdev", f"local,id={tag},path={folder},{options_9p}"]
            options += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag},vectors=0"]
        return options

    def _threads(self) -> str:
        """Return QEMU's threading: one thread for all CPUs, unless some are to be slower.

        With a thread for each CPU, QEMU 7.2 may keep a stale translation of code that the kernel
        has patched, and CPUs hit its breakpoint for ever (vnode/README.md).
        """
        return "single" if self.e_share is None else "multi"

    def _disk_options(self) -> list[str]:
        if self.disk is None:
            return []
        return [
            *("-drive", f"if=none,id=kept,format=raw,file={self.disk}"),
            *("-device", "virtio-blk-pci,drive=kept,vectors=0"),
        ]

    def _shares(self) -> dict[int, float]:
        if self.e_share is None:
            return {}
        slow = self.shape.qemu_indices("E") + self.shape.qemu_indices("LP-E")
        return dict.fromkeys(slow, self.e_share)

    def _request(self, request: dict[str, Any], timeout: float = 60) -> dict[str, Any]:
        self._line.sendall(json.dumps(request).encode() + b"\n")
        answer = self._answer(timeout)
        assert "error" not in answer, answer["error"]
        return answer

    def _answer(self, timeout: float) -> dict[str, Any]:
        """Return the agent's next message that is no sign of life."""
        until = time.monotonic() + timeout
        message: dict[str, Any] = {"alive": True}
        while "alive" in message:
            message = json.loads(self._line_within(min(until - time.monotonic(), SILENCE_S)))
        return message

    def _line_within(self, seconds: float) -> bytes:
        """Return the agent's next line; NotReadyError without one in this time."""
        until = time.monotonic() + seconds
        while b"\n" not in self._waiting:
            self._line.settimeout(max(0.01, until - time.monotonic()))
            try:
                received = self._line.recv(1 << 16)
            except TimeoutError:
                received = b""
            if not received:
                raise NotReadyError(self._logs())
            self._waiting += received
        line, _, self._waiting = self._waiting.partition(b"\n")
        return line

    def _logs(self) -> str:
        files = [self.folder / "qemu.log", self.console]
        logs = [file.read_text(errors="replace")[-4000:] for file in files if file.exists()]
        return "the virtual node is not ready; QEMU and its console:\n" + "\n".join(logs)


def new_disk(path: Path, mebibytes: int = 256) -> Path:
    """Make an empty disk with an ext4 file system, for files that survive a power cut."""
    with path.open("wb") as file:
        file.truncate(mebibytes << 20)
    mke2fs = shutil.which("mke2fs") or "/sbin/mke2fs"
    subprocess.run([mke2fs, "-q", "-t", "ext4", "-F", str(path)], check=True)
    return path


def _options(user: int | None, cwd: str | None, env: Mapping[str, str] | None) -> dict[str, Any]:
    return {"user": user, "cwd": cwd, "env": dict(env or {})}
