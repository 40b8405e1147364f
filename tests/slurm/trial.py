"""A study on a cluster that a test disturbs: its files, its site, and the records of its runs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from pinstudy.runners.records.status import FINAL, OK
from tests.slurm.cluster import Cluster
from tests.support.studies import write_app, write_program, write_study
from tests.support.wait import until

STUDY_FILE, SITE_FILE = "waits.yaml", "site.yaml"
PROGRAM = """#!/bin/sh
# Arguments: none. Writes its environment to a file named after the node.
cd "{folder}" || exit
env >"environment.$(hostname)"
sleep "$(cat pace)"
while [ -e hold ] || [ -e "hold.$(hostname)" ]; do sleep 0.05; done
echo "waited = $(cat pace)"
"""
SITE = """# The cluster of the tests.
title: The cluster of the tests
batch_system: slurm
time_limit: {time_limit}
features: [hybrid, homog]
"""
UNPINNED = "unpinned"
SPLIT = ("--spread", "split", "--workers", "2")
PINNED = {"name": "pinned", "selection": "compact", "binding": "pin"}


@dataclass(frozen=True)
class Plan:
    """The keys of a trial's study and site; `mappings` as in a study's file."""

    repetitions: int = 10
    pace_s: float = 0.1
    warmup: int = 0
    mappings: Sequence[object] = (UNPINNED, PINNED)
    governors: Sequence[str] = ("current",)
    time_limit: str = "10 min"
    directives: Sequence[str] = ()

    @property
    def units(self) -> int:
        """The number of runs that one node makes, without warm-up runs."""
        return self.repetitions * len(self.mappings)

    def write(self, folder: Path) -> None:
        """Write study, app, program and site into a folder."""
        metrics = {"waited": {"pattern": "^waited = ([0-9.]+)", "unit": "s"}}
        sizes = {"short": {"arguments": ""}}
        write_app(folder, "wait", folder / "program", sizes, metrics=metrics, timeout="10 min")
        study = {
            "mappings": list(self.mappings),
            "governors": list(self.governors),
            "repetitions": self.repetitions,
            "warmup": self.warmup,
            "collect": "energy",
        }
        write_study(folder, Path(STUDY_FILE).stem, "wait", "short", **study)
        write_program(folder / "program", PROGRAM.format(folder=folder))
        lines = [f"  - '{each}'\n" for each in self.directives]
        directives = "".join(["directives:\n", *lines]) if lines else ""
        (folder / SITE_FILE).write_text(SITE.format(time_limit=self.time_limit) + directives)


Unit = tuple[str, bool, int]


class Trial:
    """A study in a folder of its own, submitted on the login node of a cluster."""

    def __init__(
        self, cluster: Cluster, folder: Path, plan: Plan | None = None, results: Path | None = None
    ) -> None:
        """Write study, app, program and site into `folder`, which is on all nodes.

        Results go to `results`, by default in that folder.
        """
        self.cluster = cluster
        self.folder = folder
        self.plan = plan or Plan()
        self.results = results or folder / "results"
        self.study = folder / STUDY_FILE
        self.site = folder / SITE_FILE
        self.plan.write(folder)
        self.pace(self.plan.pace_s)

    def pace(self, seconds: float) -> None:
        """Make runs take `seconds` from now on."""
        (self.folder / "pace").write_text(f"{seconds}\n")

    def hold(self, node: str = "") -> None:
        """Let no run end until `release`, on one node or on all."""
        self._hold(node).touch()

    def release(self, node: str = "") -> None:
        """Let the runs end that `hold` stopped."""
        self._hold(node).unlink()

    def _hold(self, node: str) -> Path:
        return self.folder / (f"hold.{node}" if node else "hold")

    def submit(self, *options: str, status: int = 0) -> str:
        """Submit as a user does; return the output."""
        where = ["--site", str(self.site), "--results", str(self.results)]
        return _output(self.cluster.pinstudy("submit", str(self.study), *where, *options), status)

    def cancel(self) -> str:
        return self.command("cancel", str(self.study))

    def command(self, name: str, *arguments: str, status: int = 0) -> str:
        """Run a command on the trial's results; return its output."""
        done = self.cluster.pinstudy(name, *arguments, "--results", str(self.results))
        return _output(done, status)

    def statuses(self) -> list[dict[str, Any]]:
        """Return the output of `pinstudy status --all --json`."""
        done = self.cluster.pinstudy(
            *("status", str(self.study), "--all", "--json", "--results", str(self.results))
        )
        assert done.returncode == 0, done.stderr
        statuses: list[dict[str, Any]] = json.loads(done.stdout)
        return statuses

    def workers(self, submission: int = -1) -> list[dict[str, Any]]:
        """Return the workers of a submission, by default the newest, from `pinstudy status`."""
        workers: list[dict[str, Any]] = self.statuses()[submission]["workers"]
        return workers

    def jobs(self, submission: int = -1) -> list[str]:
        """Return the ids of a submission's jobs, in the order of workers."""
        return [job["id"] for worker in self.workers(submission) for job in worker["jobs"]]

    def attempts(self, submission: int = 1) -> list[dict[str, Any]]:
        """Return the files of a submission's attempts, by worker and age."""
        folder = self._of(submission) / "attempts"
        attempts = [json.loads(path.read_text()) for path in folder.glob("w*.json")]
        return sorted(attempts, key=lambda each: (each["worker"], each["generation"]))

    def log(self, worker: int = 0, submission: int = 1) -> str:
        """Return what a worker's jobs printed."""
        return (self._of(submission) / "logs" / f"worker-{worker}.log").read_text()

    def _of(self, submission: int) -> Path:
        return self.study_folder / "submissions" / f"{submission:04d}"

    def wait_for_runs(self, runs: int, node: str = "*") -> None:
        """Wait until a node, or all together, have made `runs` runs."""
        until(lambda: len(list(self.final_runs(node))) >= runs, what=f"{runs} runs on {node}")

    def nodes(self) -> set[str]:
        return {path.suffix[1:] for path in self.folder.glob("environment.*")}

    def wait_for_nodes(self, many: int) -> set[str]:
        """Wait until the program has been started on `many` nodes; return the nodes."""
        until(lambda: len(self.nodes()) >= many, what=f"a run on {many} nodes")
        return self.nodes()

    def records(self, node: str = "*", folder: str = "records") -> Iterator[dict[str, Any]]:
        """Yield every whole record, of one node or of all."""
        for line in self._lines(node, folder):
            if line.endswith(b"\n"):
                yield json.loads(line)

    def final_runs(self, node: str = "*") -> Iterator[dict[str, Any]]:
        """Yield the records of the runs that are final."""
        return (record for record in self.records(node) if record["status"] in FINAL)

    def late(self) -> list[dict[str, Any]]:
        """Return the records of fenced attempts, which are kept aside."""
        return list(self.records(folder="late"))

    def torn(self) -> int:
        """Return the number of incomplete lines."""
        return sum(not line.endswith(b"\n") for line in self._lines("*", "records"))

    @property
    def study_folder(self) -> Path:
        """The study's results, as the test sees them."""
        return self.cluster.local_path(self.results) / "waits"

    def _lines(self, node: str, folder: str) -> Iterator[bytes]:
        for shard in sorted(self.study_folder.glob(f"*/{folder}/{node}-*.jsonl")):
            yield from shard.read_bytes().splitlines(keepends=True)

    def assert_complete(self, nodes: int = 1) -> None:
        """Assert that each run was made, once and well, and that the tables average it.

        With `nodes` greater than 1 each of them has made the whole study.
        """
        made = Counter((r["node_id"] if nodes > 1 else "", *unit(r)) for r in self.final_runs())
        counted = {key: times for key, times in made.items() if not key[2]}
        assert len(counted) == self.plan.units * nodes, "runs are missing"
        assert set(counted.values()) == {1}, "runs were made more than once"
        assert {record["status"] for record in self.final_runs()} == {OK}
        assert self.averaged() == [self.plan.repetitions] * len(self.plan.mappings) * nodes

    def averaged(self) -> list[int]:
        """Return how many runs the tables average in each row, of all folders of results."""
        counts = []
        for folder in sorted(self.study_folder.glob("*/records")):
            results = self.results / "waits" / folder.parent.name
            table = self.cluster.pinstudy(
                *("tables", str(results), "--format", "csv", "--no-files")
            )
            assert table.returncode == 0, table.stderr
            counts += [int(row["n"]) for row in csv.DictReader(table.stdout.splitlines())]
        return counts


def unit(record: dict[str, Any]) -> Unit:
    """Return the identity of a run: its case, whether it is a warm-up, its repetition."""
    return record["case_id"], record["warmup"], record["repetition"]


def _output(done: CompletedProcess[str], status: int) -> str:
    output = done.stdout + done.stderr
    assert done.returncode == status, output
    return output
