"""The files of a throw-away cluster's daemons: Slurm's settings, the names of nodes, a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOGIN = "login"
# The network is the cluster's own and leads nowhere, so that any addresses will do.
ADDRESSES = {LOGIN: "10.77.0.1", "n1": "10.77.0.11", "n2": "10.77.0.12", "n3": "10.77.0.13"}
NODES = ("n1", "n2", "n3")
FEATURES = {"n1": "hybrid", "n2": "hybrid", "n3": "homog"}
ONE_CLUSTER = {"pinstudy": NODES}
# Both count their jobs from the same id.
TWO_CLUSTERS = {"a": ("n1", "n2"), "b": ("n3",)}

_KEY_BYTES = 1024
# The ports of controllers, after the defaults of the other daemons.
_FIRST_PORT = 6820


@dataclass(frozen=True)
class Shape:
    """Settings of a cluster that differ between tests.

    With `affinity` Slurm binds jobs to the CPUs that it gives them. In seconds: after `forget_s` a
    job that has ended is forgotten, after `silent_s` a node that does not answer is down, and
    commands wait `answer_s` for the controller. With `two_clusters` one database knows both, so
    that commands can be told which; without that they are for the first.
    """

    affinity: bool = False
    forget_s: int = 300
    silent_s: int = 10
    answer_s: int = 10
    two_clusters: bool = False

    @property
    def clusters(self) -> Mapping[str, Sequence[str]]:
        """The nodes of each cluster."""
        return TWO_CLUSTERS if self.two_clusters else ONE_CLUSTER


def settings_file(folder: Path, cluster: str) -> Path:
    """Return the slurm.conf of a cluster."""
    return folder / f"{cluster}.conf"


def write_files(folder: Path, shape: Shape) -> None:
    """Write the files that a cluster's daemons read into its folder, which exists."""
    for name in ("munge", "state", "run", "log", "local", "small"):
        (folder / name).mkdir()
    for node in NODES:
        (folder / f"local.{node}").mkdir()
    hosts = [f"{address} {node}\n" for node, address in ADDRESSES.items()]
    (folder / "hosts").write_text("".join([*hosts, "127.0.0.1 localhost\n"]))
    (folder / "munge" / "key").write_bytes(os.urandom(_KEY_BYTES))
    (folder / "munge" / "key").chmod(0o600)
    for port, name in enumerate(shape.clusters, _FIRST_PORT):
        (folder / "state" / name).mkdir()
        words = _words(folder, shape, name) | {"PORT": str(port)}
        _fill("slurm.conf.in", settings_file(folder, name), words)
    if shape.two_clusters:
        (folder / "database").mkdir()
        _fill("slurmdbd.conf.in", folder / "slurmdbd.conf", _places(folder))


def _fill(template: str, file: Path, words: Mapping[str, str]) -> None:
    text = (HERE / template).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    # slurmdbd refuses to start with a file that others may read.
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")


def _places(folder: Path) -> dict[str, str]:
    return {"TOP": str(folder), "LOGIN": ADDRESSES[LOGIN]}


def _words(folder: Path, shape: Shape, cluster: str) -> dict[str, str]:
    # A test that gives a job half a node needs two.
    cpus = max(2, len(os.sched_getaffinity(0)))
    nodes = [
        f"NodeName={node} NodeAddr={ADDRESSES[node]} CPUs={cpus} Sockets=1 "
        f"CoresPerSocket={cpus} ThreadsPerCore=1 Feature={FEATURES[node]}"
        for node in shape.clusters[cluster]
    ]
    return _places(folder) | {
        "CLUSTER": cluster,
        "ACCOUNTING": "slurmdbd" if shape.two_clusters else "none",
        "TASKPLUGIN": "task/affinity" if shape.affinity else "task/none",
        "MINJOBAGE": str(shape.forget_s),
        "SLURMDTIMEOUT": str(shape.silent_s),
        "MESSAGETIMEOUT": str(shape.answer_s),
        "NODES": "\n".join(nodes),
    }
