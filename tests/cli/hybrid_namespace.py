"""This machine with the frequency scaling of a hybrid, in a mount namespace of its own.

Ordinary files replace the kernel's cpufreq policies and the settings that `tune` changes, so that
tests of the command line read and write /sys and /proc without a change to the machine. It has a
node lock of its own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinstudy.base.text import safe_name
from tests.support.cli import argv
from tests.support.processes import end
from tests.support.tools import missing, need_tool
from tests.support.wait import HANG_S

CPUFREQ = Path("/sys/devices/system/cpu/cpufreq")
GOVERNOR, EPP = "scaling_governor", "energy_performance_preference"

KERNEL = Path("/proc/sys/kernel")
# Keeps the namespace alive; prints "ready". Arguments: a file or folder, its mount point, …
_HOLD = """
while [ $# -gt 0 ]; do mount --bind "$1" "$2" || exit; shift 2; done
echo ready
exec sleep infinity
"""


class Namespace:
    """The namespace of one test: its cpufreq files are in `cpufreq`, journals in `state`.

    `command` starts pinstudy, with the variables of `environment` in addition; `enter` is the
    command that enters the namespace.
    """

    def __init__(self, folder: Path, pid: int, user: bool) -> None:
        self.folder = folder
        self.cpufreq = folder / "cpufreq"
        self.states = folder / "state"
        # Root's part makes no folder above that of the host.
        self.states.mkdir()
        self.state = self.states / safe_name(os.uname().nodename)
        self.command = argv()
        self.environment: dict[str, str] = {}
        self._started: list[subprocess.Popen[str]] = []
        self.enter = ["nsenter", f"--target={pid}", "--mount"]
        if user:
            self.enter += ["--user", "--preserve-credentials"]

    def start(self, *arguments: str, apart: bool = False) -> subprocess.Popen[str]:
        """Start a pinstudy command, in a session of its own when `apart`.

        Its process number is that of pinstudy itself.
        """
        environment = {k: v for k, v in os.environ.items() if k != "PINSTUDY_RESULTS"}
        environment |= {"PINSTUDY_LOCK": str(self.folder), "PINSTUDY_STATE": str(self.states)}
        process = subprocess.Popen(
            [*self.enter, "env", f"--chdir={self.folder}", *self.command, *arguments],
            env=environment | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=apart,
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            end(process)

    def run(self, *arguments: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run a pinstudy command to its end; with `status`, another one fails the test."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=HANG_S)
        assert status in (None, process.returncode), f"{process.returncode}: {out}{err}"
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def settings(self) -> dict[str, str]:
        """Return all files of cpufreq with their contents."""
        return {
            str(path.relative_to(self.cpufreq)): path.read_text()
            for path in sorted(self.cpufreq.rglob("*"))
            if path.is_file()
        }

    def put(self, policy: int, name: str, value: str) -> None:
        """Change a setting from outside pinstudy."""
        (self.cpufreq / f"policy{policy}" / name).write_text(f"{value}\n")


@contextmanager
def hybrid_namespace(folder: Path, classes: Path | None = None) -> Iterator[Namespace]:
    """Yield a namespace in which the first CPU is fast, the others slow, all in powersave.

    `classes` is a folder that stands in place of /sys/class.
    """
    need_tool("unshare")
    if not CPUFREQ.is_dir():
        missing(f"{CPUFREQ} is missing: this kernel has no frequency scaling at all")
    write_hybrid_cpufreq(folder / "cpufreq")
    binds = [str(folder / "cpufreq"), str(CPUFREQ)]
    binds += [str(classes), "/sys/class"] if classes else []
    for name in ("nmi_watchdog", "numa_balancing", "sched_autogroup_enabled"):
        (folder / name).write_text("1\n")
        if (KERNEL / name).exists():
            binds += [str(folder / name), str(KERNEL / name)]
    for user in ([], ["--user", "--map-root-user"]):
        holder = _hold(binds, user)
        if holder is not None:
            break
    else:
        missing("no mount namespace can be made here: run the tests as root")
    namespace = Namespace(folder, holder.pid, bool(user))
    try:
        yield namespace
    finally:
        namespace.end()
        holder.kill()
        holder.communicate()


def write_hybrid_cpufreq(cpufreq: Path) -> None:
    """Write policies of this machine's CPUs, of which the first is fast, all in powersave."""
    for place, cpu in enumerate(sorted(os.sched_getaffinity(0))):
        _write_policy(cpufreq, cpu, 5_600_000 if place == 0 else 4_400_000)


def _hold(binds: list[str], user: list[str]) -> subprocess.Popen[str] | None:
    holder = subprocess.Popen(
        [
            *("unshare", *user, "--mount", "--propagation", "private"),
            *("sh", "-c", _HOLD, "sh", *binds),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert holder.stdout is not None
    if holder.stdout.readline() == "ready\n":
        return holder
    holder.kill()
    holder.communicate()
    return None


def _write_policy(cpufreq: Path, cpu: int, highest_khz: int) -> None:
    policy = cpufreq / f"policy{cpu}"
    policy.mkdir(parents=True)
    for name, value in {
        "affected_cpus": cpu,
        "related_cpus": cpu,
        "scaling_driver": "intel_pstate",
        GOVERNOR: "powersave",
        "scaling_available_governors": "performance powersave",
        EPP: "balance_performance",
        "energy_performance_available_preferences": "default performance balance_performance",
        "scaling_min_freq": 400_000,
        "scaling_max_freq": highest_khz,
        "cpuinfo_min_freq": 400_000,
        "cpuinfo_max_freq": highest_khz,
    }.items():
        (policy / name).write_text(f"{value}\n")
