"""Which runs of a submitted study are made: what its attempts planned, and what the records have.

`status` and `submit` both ask here: what one calls complete, the other submits nothing for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from msgspec import structs

from pinstudy.base.errors import UserError
from pinstudy.base.text import plural
from pinstudy.configs.settings import recorded_words
from pinstudy.runners.batch.submission import (
    DONE,
    REFUSED,
    Attempt,
    Submission,
    Worker,
    read_attempts,
)
from pinstudy.runners.plan.runs import RunKey
from pinstudy.runners.records.reader import read_records
from pinstudy.runners.records.shard import LATE
from pinstudy.runners.records.status import FINAL, OK, SKIPPED


@dataclass(frozen=True)
class CompletedRuns:
    """The runs of one version of a study in the records of a folder.

    `runs` has the status of each run that ended, by its key: of several records of one run the
    first counts, as in the analysis. `refused` has a line for each node and reason, with the cases
    that the node refused for it. `late` counts the records of fenced attempts, which are set aside.
    """

    runs: dict[RunKey, str]
    refused: list[str]
    late: int

    @cached_property
    def by_block(self) -> Mapping[int, list[tuple[str, str]]]:
        """The case and the status of each run, by its block; warm-up runs are in block 0."""
        blocks: dict[int, list[tuple[str, str]]] = {}
        for (case_id, warmup, repetition), status in self.runs.items():
            blocks.setdefault(0 if warmup else repetition, []).append((case_id, status))
        return blocks


def read_completed(folder: Path, study_digest: str) -> CompletedRuns:
    """Return the completed runs of this version of a study; raises UserError for a bad shard."""
    runs: dict[RunKey, str] = {}
    refused: dict[tuple[str, str], dict[str, set[str]]] = {}
    for record in read_records(folder / "records"):
        if record.get("study_digest") != study_digest:
            continue
        status, case_id = record.get("status", ""), record.get("case_id", "")
        if status in FINAL:
            key = (case_id, bool(record.get("warmup")), record["repetition"])
            runs.setdefault(key, status)
        elif status == SKIPPED:
            under = ", ".join(filter(None, (record.get("governor"), recorded_words(record))))
            wanted = f"{record.get('mapping')} under {under}"
            told = (record.get("node_id", ""), record.get("reason", ""))
            by_wanted = refused.setdefault(told, {})
            by_wanted.setdefault(wanted, set()).add(case_id)
    lines = [
        f"node {node}: {plural(sum(map(len, cases.values())), 'case')} of {', '.join(cases)}: {why}"
        for (node, why), cases in refused.items()
    ]
    return CompletedRuns(runs, lines, _late(folder))


def _late(folder: Path) -> int:
    try:
        return sum(1 for _ in read_records(folder / LATE))
    except UserError:
        return 0


@dataclass(frozen=True)
class Share:
    """What is known of the runs that one worker is for.

    `plan` is the newest attempt that reported a plan for them, of whatever submission; None before
    the first. `done` of the `runs` have ended, and `good` of these were good; `runs` is None
    without a plan.
    """

    worker: Worker
    plan: Attempt | None
    runs: int | None = None
    done: int = 0
    good: int = 0

    @property
    def failed(self) -> int:
        """How many of the runs that have ended were not good."""
        return self.done - self.good

    @property
    def left(self) -> int | None:
        """How many runs are left, None when that is not known."""
        return None if self.runs is None else max(0, self.runs - self.done)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do.

        For a whole study its worker has to say so, too: a stopped one may have left the
        measurements that follow the runs. Without a good run it has failed, as the next one would.
        """
        if self.plan is None or self.left != 0:
            return False
        ended = self.plan.ended in (DONE, REFUSED) or (
            self.plan.ended is not None and not self.good
        )
        return bool(self.worker.blocks) or (ended and self.plan.left == 0)


class SubmittedRuns:
    """The runs of one version of a study, over all its submissions.

    `attempts` are those of all these submissions, oldest first.
    """

    def __init__(self, submissions: Sequence[Submission], study_digest: str) -> None:
        # Their folder may have been moved, or have another name on the nodes.
        attempts = [
            (submission, structs.replace(attempt, folder=str(study / Path(attempt.folder).name)))
            for submission in submissions
            if submission.digest == study_digest
            for study in (submission.folder.parents[1],)
            for attempt in read_attempts(submission.attempts)
            if attempt.worker < len(submission.workers)
        ]
        self.attempts = sorted(attempts, key=_age)
        self.completed_in = cache(lambda folder: read_completed(Path(folder), study_digest))

    def share_of(self, worker: Worker, pool: str) -> Share:
        """Return what is known of a worker's runs.

        They are those of its target, or its blocks in a `pool`.
        """
        plan = self.newest_plan(pool, worker.target)
        if plan is None:
            return Share(worker, None)
        cases, by_block = set(plan.case_ids), self.completed_in(plan.folder).by_block
        # In a split study each node makes its own warm-up runs, which do not count.
        blocks = worker.blocks or tuple(by_block)
        mine = [
            status
            for block in blocks
            for case_id, status in by_block.get(block, ())
            if case_id in cases
        ]
        runs = len(cases) * len(blocks) if worker.blocks else max(plan.runs, len(mine))
        return Share(worker, plan, runs, len(mine), mine.count(OK))

    def newest_plan(self, pool: str, target: str = "") -> Attempt | None:
        """Return the newest attempt that reported its plan: of a pool, or of a target without."""
        for submission, attempt in reversed(self.attempts):
            same_target = pool or submission.workers[attempt.worker].target == target
            if submission.pool == pool and same_target and attempt.case_ids:
                return attempt
        return None


def _age(item: tuple[Submission, Attempt]) -> tuple[int, int, str]:
    """Return a key that sorts attempts by their age, as the fence has it: clocks may differ.

    Generations of a target count over all submissions, those of a pool's worker within one.
    """
    submission, attempt = item
    number = submission.number if submission.pool else 0
    return number, attempt.generation, attempt.started_at
