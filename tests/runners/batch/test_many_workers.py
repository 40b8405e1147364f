"""What is told of a study grows with its workers and runs, not with their product."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from runners.batch.status import SubmissionStatus, status_of
from runners.batch.submission import Attempt, AttemptFile, Submission, Worker
from runners.records.shard import SCHEMA, line_of
from tests.runners.batch.asked import submission_of

CASES = ("a", "b", "c", "d", "e")
NOW = "2025-03-01T12:00:00+00:00"


def run(case_id: str, block: int, **fields: object) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "study_digest": "d",
        "case_id": case_id,
        "repetition": block,
        "warmup": False,
        "status": "ok",
        "elapsed_s": 1.0,
        **fields,
    }


def finished(folder: Path, workers: int) -> Submission:
    """Return a submission whose workers have a block each, all of whose runs are recorded."""
    results = folder / str(workers)
    submission = submission_of(
        results / "submissions" / "0001",
        name="s",
        digest="d",
        results=str(results),
        workers=tuple(Worker(number, blocks=(number + 1,)) for number in range(workers)),
    )
    pool = results / "split-there"
    (pool / "records").mkdir(parents=True)
    submission.attempts.mkdir(parents=True)
    for number in range(workers):
        runs = [run(case_id, number + 1) for case_id in CASES]
        runs[0]["status"] = "failed"
        warm = run("a", 1, warmup=True)
        shard = pool / "records" / f"n{number:03d}-{number + 1:04d}.jsonl"
        shard.write_bytes(b"".join(map(line_of, [warm, *runs])))
        attempt = Attempt(number, 1, f"n{number}", "", str(pool), NOW, NOW, CASES, len(CASES), 0)
        AttemptFile(submission.attempts, attempt).write(ended=0)
    return submission


def told(submission: Submission) -> tuple[SubmissionStatus, int]:
    """Return the status, and how many functions were called for it."""
    calls: Counter[str] = Counter()

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        calls[event] += 1

    sys.setprofile(called)
    try:
        status = status_of(submission, ())
    finally:
        sys.setprofile(None)
    return status, calls["call"] + calls["c_call"]


def test_each_of_many_workers_has_the_runs_of_its_blocks(tmp_path: Path) -> None:
    status, calls = told(finished(tmp_path, 50))
    assert [(worker.done, worker.failed, worker.left) for worker in status.workers] == [
        (len(CASES), 1, 0)
    ] * 50
    _, twice = told(finished(tmp_path, 100))
    assert twice < 2.1 * calls


def test_a_worker_tells_short_runs_together(tmp_path: Path) -> None:
    attempt = Attempt(0, 1, "n1", "", "", NOW, NOW, CASES, 100, 100)
    file = AttemptFile(tmp_path, attempt)
    file.write_if_due(left=100)
    (path,) = tmp_path.iterdir()
    first = path.read_bytes()
    for left in range(100):
        file.write_if_due(left=left)
    assert file.attempt.left == 99
    assert path.read_bytes() == first
    file.write(ended=0)
    assert b'"left": 99' in path.read_bytes()
