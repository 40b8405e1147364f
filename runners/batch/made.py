"""Which runs were made, from the records alone: the only truth about a study in a batch system."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Refusal:
    """What a node refused: the mapping and governor that were wanted, and what was found."""

    node: str
    wanted: str
    found: str


def refusals(folder: Path, study_digest: str) -> dict[Refusal, int]:
    """Return what nodes refused, with how many cases each is for, in the order of the records."""
    cases: dict[Refusal, set[str]] = {}
    for record in read_records(folder / "records"):
        if record.get("status") == LEFT_OUT and record.get("study_digest") == study_digest:
            wanted = f"{record.get('mapping')} under {record.get('governor')}"
            refusal = Refusal(str(record.get("node_id")), wanted, str(record.get("reason")))
            cases.setdefault(refusal, set()).add(str(record.get("case_id")))
    return {refusal: len(of) for refusal, of in cases.items()}


def kept_aside(folder: Path) -> int:
    """Return how many records of fenced attempts are kept aside."""
    try:
        return sum(1 for _ in read_records(folder / LATE))
    except UserError:
        return 0
