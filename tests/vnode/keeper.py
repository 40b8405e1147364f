"""Holds one QEMU and leaves nothing of it: neither process nor CPU quota, however its starter ends.

usage: keeper.py JSON

JSON has `command`, `descriptors` (to pass on) and `shares`: of QEMU's CPU numbers, the share of a
host CPU that each may have. It says `{"pid": …}` when QEMU runs and the quotas are in force, or
`slow` with the reason why there are none. QEMU is killed when the standard input is closed, which
the kernel does when the starter dies; QEMU dies with this process by PR_SET_PDEATHSIG.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
CPU_CONTROLLER = Path("/sys/fs/cgroup/cpu")
GROUP = "pinstudy-vnode"
PERIOD_US = 10_000


def main() -> None:
    """Start QEMU, keep it until it ends or the starter is gone."""
    asked = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sweep()
    keeper = os.getpid()
    qemu = subprocess.Popen(
        asked["command"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        pass_fds=asked["descriptors"],
        preexec_fn=lambda: die_with(keeper),  # noqa: PLW1509 - no threads here
    )
    for descriptor in asked["descriptors"]:
        os.close(descriptor)
    try:
        shares = {int(index): share for index, share in asked["shares"].items()}
        said = {"pid": qemu.pid, "slow": slow_down(qemu, shares)}
        print(json.dumps(said), flush=True)
        wait(qemu)
    finally:
        qemu.kill()
        qemu.wait()
        remove_groups(keeper)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; it may already have."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def wait(qemu: subprocess.Popen[bytes]) -> None:
    """Return when QEMU has ended or the standard input is closed."""
    ended = os.pidfd_open(qemu.pid)
    while True:
        ready, _, _ = select.select([ended, sys.stdin], [], [])
        if ended in ready or not os.read(sys.stdin.fileno(), 4096):
            return


def slow_down(qemu: subprocess.Popen[bytes], shares: dict[int, float]) -> str:
    """Give the threads of these CPUs a quota; return why not, or nothing if that was done.

    One thread alone can be given a quota by the `cpu` controller of cgroup v1. Version 2 would
    need the whole process in a group of ours.
    """
    if not shares:
        return ""
    if not os.access(CPU_CONTROLLER, os.W_OK):
        return f"{CPU_CONTROLLER} (cgroup v1) is missing or may not be written"
    threads = cpu_threads(qemu, set(shares))
    if not threads:
        return "QEMU has not started all its CPUs"
    try:
        for index, thread in threads.items():
            group = CPU_CONTROLLER / f"{GROUP}-{os.getpid()}-{index}"
            group.mkdir()
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}\n")
            (group / "cpu.cfs_quota_us").write_text(f"{int(shares[index] * PERIOD_US)}\n")
            (group / "tasks").write_text(f"{thread}\n")
    except OSError as error:
        return f"cannot set a CPU quota: {error}"
    return ""


def cpu_threads(qemu: subprocess.Popen[bytes], indices: set[int]) -> dict[int, int]:
    """Return the thread of each of these CPUs, by QEMU's number; they are named `CPU 4/TCG`."""
    for _ in range(100):
        threads = {}
        for comm in Path(f"/proc/{qemu.pid}/task").glob("*/comm"):
            with contextlib.suppress(OSError):
                if name := re.fullmatch(r"CPU (\d+)/TCG\n", comm.read_text()):
                    threads[int(name[1])] = int(comm.parent.name)
        if indices <= set(threads):
            return {index: threads[index] for index in indices}
        time.sleep(0.05)
    return {}


def remove_groups(keeper: int) -> None:
    """Remove a keeper's groups; an emptied one may be busy for a moment."""
    for group in CPU_CONTROLLER.glob(f"{GROUP}-{keeper}-*"):
        for _ in range(20):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


def sweep() -> None:
    """Remove the groups of keepers that were killed."""
    for group in CPU_CONTROLLER.glob(f"{GROUP}-*-*"):
        keeper = int(group.name.split("-")[2])
        if not Path(f"/proc/{keeper}").exists():
            remove_groups(keeper)


if __name__ == "__main__":
    main()
