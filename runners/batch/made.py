"""Which runs were made, from the records alone: the only truth about a study in a batch system."""

from __future__ import annotations

from pathlib import Path

from configs.errors import UserError
from runners.shards import LATE, read_records
from runners.statuses import FINAL, LEFT_OUT
from runners.stopping import RunKey


def runs_made(folder: Path, study_digest: str) -> dict[RunKey, str]:
    """Return the status of each run that ended, of this version of the study, by its key.

    Of several records of one run the first counts, as in the analysis. Raises UserError when a
    shard cannot be read.
    """
    made: dict[RunKey, str] = {}
    for record in read_records(folder / "records"):
        status, repetition = record.get("status"), record.get("repetition")
        of_this = status in FINAL and record.get("study_digest") == study_digest
        if of_this and isinstance(repetition, int):
            key = (str(record.get("case_id")), bool(record.get("warmup")), repetition)
            made.setdefault(key, str(status))
    return made


def refused_cases(folder: Path, study_digest: str) -> dict[str, str]:
    """Return the cases that a node refused, each with the reason that was given last."""
    return {
        str(record.get("case_id")): str(record.get("reason"))
        for record in read_records(folder / "records")
        if record.get("status") == LEFT_OUT and record.get("study_digest") == study_digest
    }


def kept_aside(folder: Path) -> int:
    """Return how many records of fenced attempts are kept aside."""
    try:
        return sum(1 for _ in read_records(folder / LATE))
    except UserError:
        return 0
