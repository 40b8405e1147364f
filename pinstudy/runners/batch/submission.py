"""A submission: the jobs requested of a batch system, kept beside the results of their study.

`results/<study>/submissions/NNNN/` holds `submission.json`, the files of the site and the study,
the scripts, and the jobs' output. Creating the folder claims its number, so that two submissions at
the same time get different ones. Each attempt of a worker has a file there, in which it reports its
node, plan, progress and end: the records have the runs that were made; this file has the worker,
its cases, and what is left.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs, to_builtins

from pinstudy.base import PINSTUDY
from pinstudy.base.decoding import converted, decoded
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import read_regular, write_json
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import one_line, shown
from pinstudy.base.units import utc_now
from pinstudy.configs.library import CONFIGS, load_site
from pinstudy.configs.study import Study
from pinstudy.runners.batch_systems.interface import ANY_JOB_ID, BatchSystem, Count, Submitted
from pinstudy.runners.batch_systems.registry import COMMANDS, open_system, system_of

SCHEMA = 1
# Of a submission or attempt: a million blocks are some megabytes.
_MAX_BYTES = 64 << 20
FOLDER = "submissions"
FILE = "submission.json"
LOGS = "logs"
# Others may submit at the same time, and a network file system may list their folders late.
_MAX_TRIES = 100
_MAX_DIGITS = 9
# A worker's exit status when all of its runs are made,
DONE = 0
# when all are made but those of cases that this node cannot run,
REFUSED = 3
# and when a later attempt can make the rest (sysexits.h, EX_TEMPFAIL).
STOPPED = 75
_MAX_CHARACTERS = 80
# No study takes 300 years.
Seconds = Annotated[float, Meta(ge=0, le=1e10)]
# A killed worker's `left` may be so old, but the records have its runs.
WRITE_EVERY_S = 5.0


class Worker(Struct, frozen=True):
    """One worker: its node or feature, and the blocks that it makes (empty for all of them)."""

    number: Count
    node: str | None = None
    feature: str | None = None
    blocks: tuple[Count, ...] = ()

    @property
    def target(self) -> str:
        """The requested node: `node n1`, `feature hybrid` or `any node`."""
        if self.node:
            return f"node {self.node}"
        return f"feature {self.feature}" if self.feature else "any node"


class Submission(Struct, frozen=True):
    """One submission of a study.

    `study` is the path of the study's file, `digest` the study's digest, and `results` the folder
    of all results. `pool` names the interchangeable nodes of a split study; it is empty under
    per-node. `site_path` is the site's own file. `arguments` are those of `pinstudy submit` that
    submit the study again. `jobs` are those that the batch system has accepted so far. Times are in
    seconds.
    """

    folder: Path
    study: str
    name: str
    digest: str
    results: str
    site: str
    site_path: str
    system: str
    how: str
    pool: str
    time_limit_s: Seconds
    kinds: str | None
    allow_emulation: bool
    submitted_at: str
    arguments: tuple[str, ...]
    workers: tuple[Worker, ...]
    jobs: tuple[Submitted, ...]

    @property
    def number(self) -> int:
        """The submission's number among those of the study."""
        return int(self.folder.name)

    @property
    def site_file(self) -> Path:
        """The site's file as it was when the study was submitted."""
        return self.folder / "site" / f"{self.site}.yaml"

    @property
    def attempts(self) -> Path:
        """The folder of the workers' attempt files."""
        return self.folder / "attempts"

    @property
    def fence(self) -> Path:
        """The folder where workers of all the study's submissions claim their generations."""
        return self.folder.parent / "fence"

    @property
    def submit_again(self) -> str:
        """The command that submits what is missing, ready to be pasted into a shell."""
        return f"{PINSTUDY} submit {shlex.join(self.arguments)}"

    def open_system(self) -> BatchSystem:
        """Return the batch system, with the commands that the site's own file has for it.

        Results may be another user's: no command is taken from them. Raises UserError when the
        file cannot be used.
        """
        if self.system != COMMANDS:
            return open_system(self.system)
        path = Path(self.site_path)
        try:
            owner = path.stat().st_uid
        except (OSError, ValueError):
            raise UserError(f"{path}: is gone, and the site's commands with it") from None
        is_installed = path.parent == CONFIGS / "sites"
        in_results = path.is_relative_to(self.folder.parents[1])
        if in_results or not (is_installed or owner in (0, os.geteuid())):
            raise UserError(f"{path}: is not your file; its commands are not run")
        site = load_site(str(path))
        if site.queue is None or isinstance(site.queue.system, str):
            raise UserError(f"{path}: has no commands for a batch system any more")
        return system_of(site)

    def worker(self, number: int) -> Worker:
        """Return the worker of that number; raises UserError when there is none."""
        if 0 <= number < len(self.workers):
            return self.workers[number]
        raise UserError(
            f"{self.folder / FILE}: has no worker {number}; expected one from 0 to "
            f"{len(self.workers) - 1}"
        )

    def with_job(self, job: Submitted) -> Submission:
        """Write the submission with one more job, and return it."""
        more = structs.replace(self, jobs=(*self.jobs, job))
        write_submission(more)
        return more


def new_folder(study_results: Path) -> Path:
    """Make the folder of the next submission, with that of its jobs' output, and return it.

    Raises UserError when that fails.
    """
    parent = study_results / FOLDER
    first = next_number(study_results)
    for number in range(first, first + _MAX_TRIES):
        folder = parent / f"{number:04d}"
        try:
            with OpenFolder(parent, make=True) as opened:
                opened.make_folder(folder.name)
            with OpenFolder(folder) as opened:
                opened.make_folder(LOGS)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(
                f"{folder}: cannot be made ({error.strerror}); name a writable folder with "
                "--results"
            ) from None
        return folder
    raise UserError(f"{parent}: others make submissions {first} to {number} now; submit again")


def next_number(study_results: Path) -> int:
    """Return the number that the next submission will have; raises UserError if there is none."""
    newest = max((int(path.name) for path in _folders(study_results)), default=0)
    if newest + _MAX_TRIES >= 10**_MAX_DIGITS:
        raise UserError(
            f"{study_results / FOLDER / str(newest)}: no submission has a number so high, and none "
            "can follow it; move the folder elsewhere, and submit again"
        )
    return newest + 1


def write_submission(submission: Submission) -> None:
    """Write `submission.json`; raises StudyError when the folder cannot be written."""
    fields = to_builtins(submission, enc_hook=str)
    del fields["folder"]
    write_json(submission.folder / FILE, {"schema": SCHEMA} | fields)


def read_submission(folder: Path) -> Submission:
    """Return the submission of a folder.

    Raises UserError when there is none, or its file is not what `write_submission` writes.
    """
    # Its number is the folder's name, which `.` is not.
    folder = folder.absolute()
    path = folder / FILE
    try:
        return _submission(folder, read_regular(path, _MAX_BYTES))
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); is the results folder shared with this "
            "node?"
        ) from None
    except ValueError as error:
        raise UserError(
            f"{path}: is no submission of this pinstudy ({error}); move its folder elsewhere, and "
            "submit the study again"
        ) from None


def submissions_of(study_results: Path) -> list[Submission]:
    """Return a study's submissions, oldest first, without those that lack `submission.json`."""
    folders = sorted(_folders(study_results), key=lambda path: int(path.name))
    return [read_submission(folder) for folder in folders if (folder / FILE).exists()]


def _folders(study_results: Path) -> list[Path]:
    try:
        inside = list((study_results / FOLDER).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StudyError(f"{study_results / FOLDER}: cannot be read ({error.strerror})") from None
    return [path for path in inside if _is_numbered(path)]


def _is_numbered(folder: Path) -> bool:
    return re.fullmatch(rf"[0-9]{{1,{_MAX_DIGITS}}}", folder.name) is not None


class _Head(Struct):
    schema: Literal[1]


def _submission(folder: Path, data: bytes) -> Submission:
    if len(data) > _MAX_BYTES:
        raise ValueError("it is far too large")
    decoded(data, _Head)
    if not _is_numbered(folder):
        raise ValueError(f"its folder is named {shown(folder.name)}, and not by its number")
    submission = converted(decoded(data, dict) | {"folder": folder}, Submission)
    if [worker.number for worker in submission.workers] != list(range(len(submission.workers))):
        raise ValueError("its workers are not numbered from 0")
    if any(job.first_worker + job.workers > len(submission.workers) for job in submission.jobs):
        raise ValueError("a job has more workers than it")
    # Ids become arguments of the system's commands.
    is_own = submission.system == COMMANDS
    known = ANY_JOB_ID if is_own else open_system(submission.system).job_id
    if odd := [job.job_id for job in submission.jobs if not known.fullmatch(job.job_id)]:
        raise ValueError(f"{shown(odd[0])} is no id of a job of {submission.system}")
    return submission


class Attempt(Struct, frozen=True):
    """One attempt: one process of a worker on one node.

    `runs` is the worker's total number of runs at most, and `left` how many of them are left, both
    counted when the attempt began and when it ended. `left_s` are the expected seconds of the runs
    that were left at `updated_at`, None when not known. `case_ids` are the cases that it can run on
    the node. `ended` is the exit status, None until the attempt has reported it. Times are UTC in
    ISO format. `ends_by` is `how_it_ends` of the study.
    """

    worker: Count
    generation: Count
    node_id: str
    job: str
    folder: str
    started_at: str
    updated_at: str
    ends_by: str = ""
    case_ids: tuple[str, ...] = ()
    runs: Count = 0
    left: Count = 0
    left_s: Seconds | None = None
    ended: Annotated[int, Meta(ge=0, le=255)] | None = None
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
        self.attempt = structs.replace(self.attempt, **changes)
        if time.monotonic() - self._written_s >= WRITE_EVERY_S:
            self.write()

    def write(self, **changes: Any) -> None:  # noqa: ANN401 - fields of Attempt
        """Write the file with these changes; a write that fails is ignored."""
        self.attempt = structs.replace(self.attempt, updated_at=utc_now(), **changes)
        self._written_s = time.monotonic()
        with suppress(StudyError):
            write_json(self._path, to_builtins(self.attempt), indent=None)


def how_it_ends(study: Study) -> str:
    """Return what ends a study whose results end it; nothing for a fixed number of repetitions.

    Its limits are not in the study's digest: the same study goes on when it is given more of them.
    """
    return f"{study.repetitions} repetitions, {study.decide}" if study.decide else ""


def job_of(system: BatchSystem, environment: Mapping[str, str]) -> str:
    """Return the batch system's id of this job, for people; empty outside of one."""
    names = system.job_variables
    named = next((environment[name] for name in names if name in environment), "")
    return one_line(named, _MAX_CHARACTERS)


def read_attempts(folder: Path) -> list[Attempt]:
    """Return the attempts of a folder, by worker and generation.

    A torn file, or one that no worker wrote, is skipped.
    """
    attempts = []
    with suppress(OSError):
        for path in folder.glob("w*.g*.json"):
            with suppress(OSError, ValueError):
                attempts.append(decoded(read_regular(path, _MAX_BYTES), Attempt))
    return sorted(attempts, key=lambda attempt: (attempt.worker, attempt.generation))
