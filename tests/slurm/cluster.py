"""A real Slurm on this machine for tests: a login node and three nodes, gone with the test.

Network, mounts, host names and processes are in namespaces of their own (namespaces(7)), so that
pinstudy sees each node as a machine, no address can clash, and nothing is left however the test
ends: the kernel kills every process of the cluster when its first one ends. That needs root.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.slurm.cluster_files import ADDRESSES, LOGIN, NODES, Shape, write_files
from tests.support.tools import ROOT, missing, need_tool
from tests.support.wait import HANG_S, until

HERE = Path(__file__).resolve().parent
PINSTUDY = str(ROOT / "bin" / "pinstudy")
TOOLS = ("slurmctld", "slurmd", "sbatch", "munged", "ip", "unshare", "nsenter")


class Cluster:
    """A running cluster; its files are in `folder`, which all nodes share."""

    def __init__(self, folder: Path, shape: Shape | None = None) -> None:
        """Make the nodes and start Slurm; returns when all of them are idle."""
        self.folder = folder
        # A different folder on each node, like a local disk.
        self.local = folder / "local"
        # A separate file system, see `resize_small`.
        self.small = folder / "small"
        self._environment = _environment() | {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PINSTUDY_STATE": str(self.local / "state"),
        }
        write_files(folder, shape or Shape())
        self._first = self._start_namespaces()
        try:
            self._processes = dict(self._started_nodes())
            self._start_daemons()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process of the cluster; returns when none is left."""
        with self._first:
            assert self._first.stdin
            self._first.stdin.close()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the login node; it may end with any exit status."""
        return self._run(LOGIN, command)

    def on(self, node: str, *command: str) -> str:
        """Run a command on a node; return what it prints."""
        return _checked(self._run(node, command))

    def checked(self, *command: str) -> str:
        return _checked(self.run(*command)).rstrip("\n")

    def pinstudy(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(PINSTUDY, *arguments)

    def local_path(self, path: Path) -> Path:
        """Return this machine's path of a file of the login node."""
        return Path(f"/proc/{_child_of(self._first.pid)}/root{path}")

    def resize_small(self, size: str) -> None:
        """Give the file system `small` another size, such as 64k."""
        self.checked("mount", "-o", f"remount,size={size}", str(self.small))

    def jobs(self) -> dict[str, str]:
        """Return the state of every job that Slurm knows, by the id of the job or array task."""
        lines = self.checked("squeue", "--noheader", "--array", "--states=all", "--format=%i|%T")
        return dict(line.split("|") for line in lines.splitlines())

    def live_jobs(self) -> list[str]:
        return self.checked("squeue", "--noheader", "--array", "--format=%i").split()

    def wait_for_jobs(self) -> None:
        until(lambda: not self.live_jobs(), what="all jobs have ended")

    @contextlib.contextmanager
    def mounted(self, node: str, *what: str) -> Iterator[None]:
        """Mount something on one node, as mount(8) does, while the context lasts."""
        self.on(node, "mount", *what)
        try:
            yield
        finally:
            self.on(node, "umount", "--lazy", what[-1])

    def kill_daemon(self, node: str) -> None:
        """Kill Slurm's daemon on a node; its jobs live on."""
        self.on(node, "kill", "-KILL", self._pid_file(node).read_text().strip())

    def stop_controller(self) -> None:
        """End Slurm's controller in good order; jobs live on."""
        file = self._pid_file(LOGIN)
        self.checked("kill", file.read_text().strip())
        # It removes the file when it has saved everything.
        until(lambda: not file.exists(), what="the controller has ended")

    def start_daemon(self, node: str) -> None:
        """Start Slurm's daemon on a node, or its controller on the login node."""
        if node == LOGIN:
            self.on(node, "slurmctld")
        else:
            self.on(node, "slurmd", "-N", node)

    def wait_for_nodes(self) -> None:
        until(self._all_idle, what="all nodes are idle")

    def _all_idle(self) -> bool:
        done = self.run("sinfo", "--noheader", "--Node", "--format=%N %T")
        return done.stdout.split("\n")[:-1] == [f"{node} idle" for node in NODES]

    def _pid_file(self, node: str) -> Path:
        return self.folder / "run" / ("slurmctld.pid" if node == LOGIN else f"{node}.pid")

    def _start_namespaces(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child"),
                *("--mount-proc", "sh", str(HERE / "first_process.sh")),
                *(str(self.folder), *(f"{node}={ADDRESSES[node]}" for node in NODES)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A terminal's Ctrl-C is for pytest, which then ends the cluster.
            start_new_session=True,
        )

    def _started_nodes(self) -> Iterator[list[str]]:
        """Yield each node with the number of its process; skips where there are no namespaces."""
        assert self._first.stdout and self._first.stderr
        for line in self._first.stdout:
            if line == "ready\n":
                return
            yield line.split()
        missing(f"no cluster can be made here: {self._first.stderr.read().strip()}")

    def _start_daemons(self) -> None:
        munge = self.folder / "munge"
        self.checked(
            "munged",
            # The folders of tests are for one user, which munged would not have.
            "--force",
            *(f"--key-file={munge / 'key'}", f"--socket={munge / 'socket'}"),
            *(f"--pid-file={munge / 'pid'}", f"--log-file={munge / 'log'}"),
            *(f"--seed-file={munge / 'seed'}", "--num-threads=2"),
        )
        for node in (LOGIN, *NODES):
            self.start_daemon(node)
        self.wait_for_nodes()

    def _run(self, node: str, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", f"--target={_child_of(self._first.pid)}", "--pid", *_OTHERS]
        if node != LOGIN:
            enter += ["nsenter", f"--target={self._processes[node]}", *_OTHERS]
        return subprocess.run(
            [*enter, "env", f"--chdir={self.folder}", *command],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )


_OTHERS = ("--net", "--uts", "--mount")


@contextlib.contextmanager
def cluster(folder: Path, shape: Shape | None = None) -> Iterator[Cluster]:
    """Yield a cluster; the test is skipped, or fails in CI, where none can be made."""
    # First, because others may not have the daemons on their PATH.
    if os.geteuid() != 0:
        missing("a cluster in namespaces of its own needs root: run the tests as root")
    for name in TOOLS:
        need_tool(name)
    folder.mkdir(parents=True, exist_ok=True)
    running = Cluster(folder, shape)
    try:
        yield running
    finally:
        running.stop()


def _environment() -> dict[str, str]:
    """Return the environment without variables that change what a cluster's user sees."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SLURM_", "SBATCH_", "OMP_", "GOMP_", "KMP_", "PINSTUDY_"))
    }
    # In a wide terminal no table breaks its lines.
    return environment | {"PINSTUDY_REPORT": "0", "COLUMNS": "1000"}


def _child_of(pid: int) -> str:
    """Return the only child of a process: of unshare, the first process of the namespaces."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()


def _checked(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{done.args}: {done.stderr}"
    return done.stdout
