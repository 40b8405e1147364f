"""The file in which a worker's attempt reports its node, plan, progress and end.

The records have the runs that were made; this file has the worker, its cases, and what is left.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from base.errors import StudyError
from base.files import write_atomically
from base.json_files import read_object, structured
from base.text import one_line
from base.units import utc_now

# The environment variables with a job's id, which is for people only.
_JOB_NAMES = ("SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
_MAX_CHARACTERS = 80
_MAX_EXIT_STATUS = 255
# A killed worker's `left` may be so old, but the records have its runs.
WRITE_EVERY_S = 5.0


@dataclass(frozen=True)
class Attempt:
    """One attempt: one process of a worker on one node.

    `runs` is the worker's total number of runs, `left` how many of them were left at `updated_at`,
    and `left_s` their expected seconds, None when not known. `case_ids` are the cases that it can
    run on the node. `ended` is the exit status, None until the attempt has reported it. Times are
    UTC in ISO format.
    """

    worker: int
    generation: int
    node_id: str
    job: str
    folder: str
    started_at: str
    updated_at: str
    case_ids: tuple[str, ...] = ()
    runs: int = 0
    left: int = 0
    left_s: float | None = None
    ended: int | None = None
    reason: str = ""


class AttemptFile:
    """Keeps one attempt's file up to date."""

    def __init__(self, folder: Path, attempt: Attempt) -> None:
        self._path = folder / f"w{attempt.worker:03d}.g{attempt.generation:04d}.json"
        self.attempt = attempt
        self._written_s = -inf

    def write_if_due(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Keep these changes, and write the file if the last write is WRITE_EVERY_S seconds old.

        A write may take longer than a run: the file holds all of the study's cases.
        """
        self.keep(**changes)
        if time.monotonic() - self._written_s >= WRITE_EVERY_S:
            self.write()

    def keep(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Keep these changes for the next write."""
        self.attempt = replace(self.attempt, **changes)

    def write(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Write the file with these changes; a write that fails is ignored."""
        self.attempt = replace(self.attempt, updated_at=utc_now(), **changes)
        self._written_s = time.monotonic()
        with suppress(StudyError):
            write_atomically(self._path, json.dumps(asdict(self.attempt)).encode() + b"\n")


def job_of(environment: Mapping[str, str]) -> str:
    """Return the batch system's id of this job, for people; empty outside of one."""
    named = next((environment[name] for name in _JOB_NAMES if name in environment), "")
    return one_line(named, _MAX_CHARACTERS)


def read_attempts(folder: Path) -> list[Attempt]:
    """Return the attempts of a folder, by worker and generation.

    A torn file, or one that no worker wrote, is skipped.
    """
    found = []
    with suppress(OSError):
        for path in sorted(folder.glob("w*.g*.json")):
            with suppress(OSError, ValueError):
                found.append(structured(Attempt, read_object(path)))
    return [attempt for attempt in found if (attempt.ended or 0) <= _MAX_EXIT_STATUS]
