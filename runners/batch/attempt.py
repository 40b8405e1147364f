"""The file in which a worker's attempt reports its node, plan, progress and end.

The records say which runs were made; this says who is at work on which, and what is still planned.
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

# The environment variables in which the systems name a job; for people, it identifies nothing.
_JOB_NAMES = (*("SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"),)
_MAX_CHARACTERS = 80
_MAX_EXIT_STATUS = 255
# What is left, and when, of a worker that was killed; which runs it made the records say.
TOLD_EVERY_S = 5.0


@dataclass(frozen=True)
class Attempt:
    """One attempt: one process of a worker on one node.

    `runs` is how many runs the worker has in all, `left` how many of them were left when
    `updated_at` was written, `left_s` their expected seconds where these are known. `case_ids` are
    the cases that it can run there. `ended` says how it ended: the exit status, None as long as it
    has not told. Times are UTC in ISO format.
    """

    worker: int
    generation: int
    node_id: str
    node_digest: str
    job: str
    folder: str
    started_at: str
    updated_at: str
    case_ids: tuple[str, ...] = ()
    runs: int = 0
    left: int = 0
    left_s: float | None = None
    refused: int = 0
    ended: int | None = None
    reason: str = ""


class AttemptFile:
    """Keeps one attempt's file up to date."""

    def __init__(self, folder: Path, attempt: Attempt) -> None:
        self._path = folder / f"w{attempt.worker:03d}.g{attempt.generation:04d}.json"
        self.attempt = attempt
        self._told_s = -inf

    def tell_soon(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Remember these changes, and write them down unless that was done just now.

        Runs may be shorter than this takes: the file holds all of the study's cases.
        """
        self.keep(**changes)
        if time.monotonic() - self._told_s >= TOLD_EVERY_S:
            self.tell()

    def keep(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Remember these changes; they are written down with the next that is told."""
        self.attempt = replace(self.attempt, **changes)

    def tell(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Write the attempt down with these changes; that it cannot be told stops nothing."""
        self.attempt = replace(self.attempt, updated_at=utc_now(), **changes)
        self._told_s = time.monotonic()
        with suppress(StudyError):
            write_atomically(self._path, json.dumps(asdict(self.attempt)).encode() + b"\n")


def job_of(environment: Mapping[str, str]) -> str:
    """Return what the batch system calls the job; empty outside of one."""
    named = next((environment[name] for name in _JOB_NAMES if name in environment), "")
    return one_line(named, _MAX_CHARACTERS)


def read_attempts(folder: Path) -> list[Attempt]:
    """Return the attempts that are told of in a folder, by worker and generation.

    A file that is none, torn or made by somebody else, is passed over.
    """
    found = []
    with suppress(OSError):
        for path in sorted(folder.glob("w*.g*.json")):
            with suppress(OSError, ValueError):
                found.append(structured(Attempt, read_object(path)))
    return [attempt for attempt in found if (attempt.ended or 0) <= _MAX_EXIT_STATUS]
