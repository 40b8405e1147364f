"""Runs a virtual node's QEMU, and limits the threads of its slower CPUs by a quota.

usage: python -m vnode.supervisor JSON

JSON has `command` and `shares`: the share of a host CPU for each of QEMU's CPU numbers. Prints
`{"pid": …, "slow": …}` when QEMU runs and the quotas are in force; `slow` is the reason for having
none. The rest is in pinstudy/runners/host/supervisor.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from pinstudy.runners.host.supervisor import end, start, wait

CPU_CONTROLLER = Path("/sys/fs/cgroup/cpu")
GROUP = "pinstudy-vnode"
PERIOD_US = 10_000
PRECEDENCE = -20
# Of the whole session, three times the usual weight (Linux kernel/sched/core.c,
# sched_prio_to_weight): what runs beside a guest goes on.
SESSION_PRECEDENCE, SESSION_WEIGHT = -5, 3121


def main() -> None:
    """Start QEMU and wait until it ends or the starter is gone."""
    request = json.loads(sys.argv[1])
    sweep()
    qemu = start(request["command"])
    try:
        prefer(qemu)
        shares = {int(index): share for index, share in request["shares"].items()}
        report = {"pid": qemu.pid, "slow": slow_down(qemu, shares)}
        print(json.dumps(report), flush=True)
        wait(qemu)
    finally:
        end(qemu)
        remove_groups()


def slow_down(qemu: subprocess.Popen[bytes], shares: dict[int, float]) -> str:
    """Give the threads of these CPUs a quota; return the reason if that fails, else "".

    A host's other load leaves the fast CPUs less than a whole host CPU. The weight of the slow ones
    is their share of QEMU's session, so that they are slower then, too.

    The `cpu` controller of cgroup v1 can limit a single thread. Version 2 would need the whole
    process in a group of ours.
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
            group = CPU_CONTROLLER / f"{groups_of(os.getpid())}-{index}"
            group.mkdir()
            # First, so that no other supervisor finds it empty.
            (group / "tasks").write_text(f"{thread}\n")
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}\n")
            (group / "cpu.cfs_quota_us").write_text(f"{int(shares[index] * PERIOD_US)}\n")
            (group / "cpu.shares").write_text(f"{int(shares[index] * SESSION_WEIGHT)}\n")
    except OSError as error:
        return f"cannot set a CPU quota: {error}"
    return ""


def prefer(qemu: subprocess.Popen[bytes]) -> None:
    """Raise QEMU's priority, also of threads that it starts later.

    A guest takes the time in which a busy host's other programs have the CPU for CPU time of its
    own: its programs are bound late then, and its fast CPUs no faster than the slow ones. Where the
    kernel divides CPUs between sessions, a task's priority holds within its own one (sched(7)).
    """
    with contextlib.suppress(OSError):
        Path(f"/proc/{qemu.pid}/autogroup").write_text(f"{SESSION_PRECEDENCE}\n")
    for task in Path(f"/proc/{qemu.pid}/task").iterdir():
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(task.name), PRECEDENCE)


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


def groups_of(supervisor: int) -> str:
    """Return the prefix of a supervisor's group names, which all PID namespaces share."""
    return f"{GROUP}-{Path('/proc/self/ns/pid').stat().st_ino}-{supervisor}"


def remove_groups() -> None:
    """Remove this supervisor's groups; an emptied one may be busy for a moment."""
    for group in CPU_CONTROLLER.glob(f"{groups_of(os.getpid())}-*"):
        for _ in range(20):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


def sweep() -> None:
    """Remove the empty groups, which killed supervisors left."""
    for group in CPU_CONTROLLER.glob(f"{GROUP}-*"):
        with contextlib.suppress(OSError):
            group.rmdir()


if __name__ == "__main__":
    main()
