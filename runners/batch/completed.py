"""The completed runs of a submitted study, from the records alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from base.errors import UserError
from runners.plan.order import RunKey
from runners.records.reader import read_progress
from runners.records.shard import LATE
from runners.records.status import FINAL, OK, SKIPPED

# By block, 0 for warm-up runs: how many runs ended, and how many of these were good.
Blocks = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class Refusal:
    """A node's refusal: the mapping and governor that a case wants, and the reason."""

    node: str
    wanted: str
    found: str


@dataclass(frozen=True)
class CompletedRuns:
    """The runs of one version of a study in the records of a folder.

    `runs` has the status of each run that ended, by its key: of several records of one run the
    first counts, as in the analysis. `refused` has the number of cases of each refusal, in the
    order of the records. `late` counts the records of fenced attempts, which are set aside.
    """

    runs: dict[RunKey, str]
    refused: dict[Refusal, int]
    late: int = 0

    def blocks(self) -> Blocks:
        """Return how many runs of each block ended, and how many of these were good."""
        counts: dict[int, tuple[int, int]] = {}
        for (_, warmup, repetition), status in self.runs.items():
            block = 0 if warmup else repetition
            ended, good = counts.get(block, (0, 0))
            counts[block] = ended + 1, good + (status == OK)
        return counts


def read_completed(folder: Path, study_digest: str) -> CompletedRuns:
    """Return the completed runs of this version of a study; raises UserError for a bad shard."""
    runs: dict[RunKey, str] = {}
    refused: dict[Refusal, set[str]] = {}
    for record in read_progress(folder / "records"):
        if record.get("study_digest") != study_digest:
            continue
        status, repetition = record.get("status"), record.get("repetition")
        case_id = str(record.get("case_id"))
        if status in FINAL and type(repetition) is int:
            runs.setdefault((case_id, bool(record.get("warmup")), repetition), str(status))
        elif status == SKIPPED:
            wanted = f"{record.get('mapping')} under {record.get('governor')}"
            refusal = Refusal(str(record.get("node_id")), wanted, str(record.get("reason")))
            refused.setdefault(refusal, set()).add(case_id)
    counts = {refusal: len(cases) for refusal, cases in refused.items()}
    return CompletedRuns(runs, counts, _late(folder))


def _late(folder: Path) -> int:
    try:
        return sum(1 for _ in read_progress(folder / LATE))
    except UserError:
        return 0
