"""A real Slurm on this machine for tests: a login node and three nodes, gone with the test.

Network, mounts, host names and processes are in namespaces of their own (namespaces(7)), so that
pinstudy sees each node as a machine, no address can clash, and nothing is left however the test
ends: the kernel kills every process of the cluster when its first one ends. That needs root.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.slurm.cluster_files import ADDRESSES, LOGIN, NODES, Shape, settings_file, write_files
from tests.support.tools import ROOT, missing, need_tool
from tests.support.wait import HANG_S, until

HERE = Path(__file__).resolve().parent
PINSTUDY = str(ROOT / "bin" / "pinstudy")
TOOLS = ("slurmctld", "slurmd", "sbatch", "munged", "ip", "unshare", "nsenter")
DATABASE_TOOLS = ("slurmdbd", "sacctmgr", "mariadb-install-db")
# Fedora and RHEL have the server where only its unit looks.
_SERVER_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/libexec"


class Cluster:
    """A running cluster, or two; their files are in `folder`, which all nodes share."""

    def __init__(self, folder: Path, shape: Shape | None = None) -> None:
        """Make the nodes and start Slurm; returns when all of them are idle."""
        self.folder = folder
        # A different folder on each node, like a local disk.
        self.local = folder / "local"
        # A separate file system, see `resize_small`.
        self.small = folder / "small"
        shape = shape or Shape()
        self._clusters = shape.clusters
        self._first_cluster = next(iter(self._clusters))
        self._database, self._socket = folder / "database", folder / "run" / "mariadbd.socket"
        self._environment = _environment() | {
            "SLURM_CONF": str(settings_file(folder, self._first_cluster)),
            "MYSQL_UNIX_PORT": str(self._socket),
            # Nodes share no lock.
            "PINSTUDY_LOCK": str(self.local),
            "PINSTUDY_STATE": str(self.local / "state"),
        }
        write_files(folder, shape)
        self._first = self._start_namespaces()
        try:
            self._processes = dict(self._started_nodes())
            self._start_daemons(shape)
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
        return self.run_on(LOGIN, *command)

    def on(self, node: str, *command: str) -> str:
        """Run a command on a node; return what it prints."""
        return _checked(self.run_on(node, *command))

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

    def jobs(self, cluster: str = "") -> dict[str, str]:
        """Return the state of every job that Slurm knows, by the id of the job or array task."""
        asked = ("--noheader", "--array", "--states=all", "--format=%i|%T")
        lines = self._of_cluster(cluster, "squeue", *asked)
        return dict(line.split("|") for line in lines.splitlines())

    def live_jobs(self, cluster: str = "") -> list[str]:
        return self._of_cluster(cluster, "squeue", "--noheader", "--array", "--format=%i").split()

    def end_jobs(self) -> None:
        for cluster in self._clusters:
            for job in self.live_jobs(cluster):
                self._of_cluster(cluster, "scancel", job)
        self.wait_for_jobs()

    def wait_for_jobs(self) -> None:
        until(lambda: not any(map(self.live_jobs, self._clusters)), what="all jobs have ended")

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

    def stop_controller(self, cluster: str = "") -> None:
        """End Slurm's controller in good order; jobs live on."""
        file = self._pid_file(cluster or self._first_cluster)
        self.checked("kill", file.read_text().strip())
        # It removes the file when it has saved everything.
        until(lambda: not file.exists(), what="the controller has ended")

    def start_controller(self, cluster: str = "") -> None:
        self._of_cluster(cluster, "slurmctld")

    def wait_for_nodes(self) -> None:
        until(lambda: all(map(self._all_idle, self._clusters)), what="all nodes are idle")

    def _all_idle(self, cluster: str) -> bool:
        # By the cluster's name, if there are several: the database must know its controller.
        where = (f"--clusters={cluster}",) if len(self._clusters) > 1 else ()
        done = self.run("sinfo", *where, "--noheader", "--Node", "--format=%N %T")
        idle = [f"{node} idle" for node in self._clusters[cluster]]
        return [line for line in done.stdout.splitlines() if "CLUSTER:" not in line] == idle

    def _of_cluster(self, cluster: str, *command: str) -> str:
        """Run a command on the login node as if the cluster, by default the first, were its own."""
        file = settings_file(self.folder, cluster or self._first_cluster)
        return self.checked("env", f"SLURM_CONF={file}", *command)

    def _pid_file(self, daemon: str) -> Path:
        """Return the file of a node's daemon or of a cluster's controller, by its name."""
        return self.folder / "run" / f"{daemon}.pid"

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

    def _start_daemons(self, shape: Shape) -> None:
        munge = self.folder / "munge"
        self.checked(
            "munged",
            # The folders of tests are for one user, which munged would not have.
            "--force",
            *(f"--key-file={munge / 'key'}", f"--socket={munge / 'socket'}"),
            *(f"--pid-file={munge / 'pid'}", f"--log-file={munge / 'log'}"),
            *(f"--seed-file={munge / 'seed'}", "--num-threads=2"),
        )
        if shape.two_clusters:
            self._start_database()
        for cluster, nodes in self._clusters.items():
            self.start_controller(cluster)
            for node in nodes:
                file = settings_file(self.folder, cluster)
                self.on(node, "env", f"SLURM_CONF={file}", "slurmd", "-N", node)
        self.wait_for_nodes()

    def _start_database(self) -> None:
        """Start MariaDB without a network, and Slurm's daemon for it, which knows the clusters."""
        server = shutil.which("mariadbd", path=_SERVER_PATH) or missing("mariadbd is missing")
        # In memory: it waits for the disk a thousand times while it is made.
        self.checked("mount", "-t", "tmpfs", "tmpfs", str(self._database))
        data = f"--datadir={self._database}"
        own = ("--no-defaults", "--user=root", data, "--innodb-log-file-size=4M")
        self.checked("mariadb-install-db", *own, "--skip-test-db")
        log = shlex.quote(str(self.folder / "log" / "mariadbd.log"))
        self.checked(
            *("sh", "-c", f'"$@" >{log} 2>&1 &', "sh", server),
            *(*own, "--skip-networking", f"--socket={self._socket}"),
        )
        until(self._socket.exists, what="the database answers")
        self.checked("slurmdbd")
        clusters = ",".join(self._clusters)
        until(
            lambda: self.run("sacctmgr", "--immediate", "add", "cluster", clusters).returncode == 0,
            what="the database knows the clusters",
        )

    def run_on(self, node: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on a node; it may end with any exit status."""
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
    for name in (*TOOLS, *(DATABASE_TOOLS if shape and shape.two_clusters else ())):
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
