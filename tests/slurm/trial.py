"""A study on a cluster in the hands of a test, and what became of each of its runs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from runners.records.values import FINAL, OK
from tests.slurm.cluster import Cluster
from tests.slurm.plan import SITE_FILE, STUDY_FILE, Plan
from tests.support.wait import until

Unit = tuple[str, bool, int]


class Trial:
    """A study in a folder of its own, submitted on the login node of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        plan: Plan | None = None,
        results: Path | None = None,
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
        """Have runs take so many seconds from now on."""
        (self.folder / "pace").write_text(f"{seconds}\n")

    def hold(self, node: str = "") -> None:
        """Have no run end, on one node or on any, until `release`."""
        self._hold(node).touch()

    def release(self, node: str = "") -> None:
        """Let runs end that `hold` has kept."""
        self._hold(node).unlink()

    def _hold(self, node: str) -> Path:
        return self.folder / (f"hold.{node}" if node else "hold")

    def submit(self, *options: str, status: int = 0) -> str:
        """Submit as a user does; return what was said."""
        where = ["--site", str(self.site), "--results", str(self.results)]
        return _said(self.cluster.pinstudy("submit", str(self.study), *where, *options), status)

    def cancel(self) -> str:
        return self.command("cancel", str(self.study))

    def command(self, name: str, *arguments: str, status: int = 0) -> str:
        """Run a command on the trial's results; return what was said."""
        done = self.cluster.pinstudy(name, *arguments, "--results", str(self.results))
        return _said(done, status)

    def statuses(self) -> list[dict[str, Any]]:
        """Return what `pinstudy status --all --json` tells."""
        told = self.cluster.pinstudy(
            *("status", str(self.study), "--all", "--json", "--results", str(self.results))
        )
        assert told.returncode == 0, told.stderr
        statuses: list[dict[str, Any]] = json.loads(told.stdout)
        return statuses

    def workers(self, submission: int = -1) -> list[dict[str, Any]]:
        """Return what `pinstudy status` tells of the workers of a submission, the newest."""
        workers: list[dict[str, Any]] = self.statuses()[submission]["workers"]
        return workers

    def jobs(self, submission: int = -1) -> list[str]:
        """Return the ids of a submission's jobs, in the order of workers."""
        return [job["id"] for worker in self.workers(submission) for job in worker["jobs"]]

    def attempts(self, submission: int = 1) -> list[dict[str, Any]]:
        """Return what the attempts of a submission tell of themselves, by worker and age."""
        folder = self._of(submission) / "attempts"
        told = [json.loads(path.read_text()) for path in folder.glob("w*.json")]
        return sorted(told, key=lambda each: (each["worker"], each["generation"]))

    def log(self, worker: int = 0, submission: int = 1) -> str:
        """Return what a worker's jobs printed."""
        return (self._of(submission) / "logs" / f"worker-{worker}.log").read_text()

    def _of(self, submission: int) -> Path:
        return self.seen / "submissions" / f"{submission:04d}"

    def wait_for_runs(self, runs: int, node: str = "*") -> None:
        """Wait until a node, or any, has made so many runs."""
        until(lambda: len(list(self.made(node))) >= runs, what=f"{runs} runs on {node}")

    def nodes(self) -> set[str]:
        return {path.suffix[1:] for path in self.folder.glob("environment.*")}

    def wait_for_nodes(self, many: int) -> set[str]:
        """Wait until the program has been started on so many nodes; return them."""
        until(lambda: len(self.nodes()) >= many, what=f"a run on {many} nodes")
        return self.nodes()

    def records(self, node: str = "*", folder: str = "records") -> Iterator[dict[str, Any]]:
        """Yield every whole record, of one node or of all."""
        for line in self._lines(node, folder):
            if line.endswith(b"\n"):
                yield json.loads(line)

    def made(self, node: str = "*") -> Iterator[dict[str, Any]]:
        """Yield the records of runs that ended."""
        return (record for record in self.records(node) if record["status"] in FINAL)

    def late(self) -> list[dict[str, Any]]:
        """Return the records of fenced attempts, which are kept aside."""
        return list(self.records(folder="late"))

    def torn(self) -> int:
        """Return how many lines were not written to their end."""
        return sum(not line.endswith(b"\n") for line in self._lines("*", "records"))

    @property
    def seen(self) -> Path:
        """The study's results, as the test sees them."""
        return self.cluster.seen(self.results) / "waits"

    def _lines(self, node: str, folder: str) -> Iterator[bytes]:
        for shard in sorted(self.seen.glob(f"*/{folder}/{node}-*.jsonl")):
            yield from shard.read_bytes().splitlines(keepends=True)

    def assert_complete(self, nodes: int = 1) -> None:
        """Assert that each run was made, once and well, and that the tables average it.

        With `nodes` greater than 1 each of so many has made the whole study.
        """
        made = Counter((r["node_id"] if nodes > 1 else "", *unit(r)) for r in self.made())
        counted = {key: times for key, times in made.items() if not key[2]}
        assert len(counted) == self.plan.units * nodes, "runs are missing"
        assert set(counted.values()) == {1}, "runs were made more than once"
        assert {record["status"] for record in self.made()} == {OK}
        assert self.averaged() == [self.plan.repetitions] * len(self.plan.mappings) * nodes

    def averaged(self) -> list[int]:
        """Return how many runs the tables average in each row, of all folders of results."""
        counts = []
        for folder in sorted(self.seen.glob("*/records")):
            results = self.results / "waits" / folder.parent.name
            table = self.cluster.pinstudy(
                *("tables", str(results), "--format", "csv", "--no-files")
            )
            assert table.returncode == 0, table.stderr
            counts += [int(row["n"]) for row in csv.DictReader(table.stdout.splitlines())]
        return counts


def unit(record: dict[str, Any]) -> Unit:
    """Return what makes a run the same run: its case, whether it is a warm-up, its repetition."""
    return record["case_id"], record["warmup"], record["repetition"]


def _said(done: CompletedProcess[str], status: int) -> str:
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    return said
