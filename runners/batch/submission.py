"""A submission: what was asked of a batch system, kept beside the results of its study.

`results/<study>/submissions/NNNN/` has it: `submission.json`, the site's file, the scripts, what
the jobs print, and what each attempt of a worker tells of itself. The number is taken by making the
folder, so that two who submit at the same time get two. A worker's exit status says how it ended.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from base.errors import StudyError, UserError
from base.files import write_atomically
from base.json_files import read_object, structured
from runners.batch.spread import Worker
from runners.batch.systems.interface import Submitted

SCHEMA = 1
FOLDER = "submissions"
FILE = "submission.json"
_MAX_SUBMISSIONS = 9999
# All of its runs are made.
DONE = 0
# All but those of cases that this node cannot run.
REFUSED = 3
# sysexits.h, EX_TEMPFAIL: what is left can be made later.
STOPPED = 75


@dataclass(frozen=True)
class Submission:
    """One submission of a study.

    `study` is the path of the study's file and `digest` what it asked for; `results` is the folder
    of all results. `pool` names the interchangeable nodes of a split study, empty under per-node.
    `arguments` are those of `pinstudy submit` that submit it again. `jobs` are what the batch
    system has taken so far. Times are in seconds.
    """

    folder: Path
    study: str
    name: str
    digest: str
    results: str
    site: str
    system: str
    how: str
    pool: str
    time_limit_s: float
    kinds: str | None
    allow_emulation: bool
    submitted_at: str
    arguments: tuple[str, ...]
    workers: tuple[Worker, ...]
    jobs: tuple[Submitted, ...] = field(default=())

    @property
    def number(self) -> int:
        """Its number among those of the study."""
        return int(self.folder.name)

    @property
    def site_file(self) -> Path:
        """The site's file as it was when the study was submitted."""
        return self.folder / "site" / f"{self.site}.yaml"

    @property
    def logs(self) -> Path:
        """Where the jobs' output goes."""
        return self.folder / "logs"

    @property
    def attempts(self) -> Path:
        """Where workers tell of themselves."""
        return self.folder / "attempts"

    @property
    def fence(self) -> Path:
        """Where workers of all of the study's submissions claim their generation."""
        return self.folder.parent / "fence"

    @property
    def submit_again(self) -> str:
        """The command that submits what is missing, ready to be pasted into a shell."""
        return shlex.join(["pinstudy", "submit", *self.arguments])

    def worker(self, number: int) -> Worker:
        """Return a worker; raises UserError when there is none of that number."""
        if 0 <= number < len(self.workers):
            return self.workers[number]
        raise UserError(
            f"{self.folder / FILE}: has no worker {number}; expected one from 0 to "
            f"{len(self.workers) - 1}"
        )

    def with_job(self, job: Submitted) -> Submission:
        """Return the submission with one more job, after it was written down."""
        more = replace(self, jobs=(*self.jobs, job))
        write_submission(more)
        return more


def new_folder(study_results: Path) -> Path:
    """Make and return the folder of the next submission; raises UserError when that fails."""
    parent = study_results / FOLDER
    for _ in range(_MAX_SUBMISSIONS):
        folder = parent / f"{next_number(study_results):04d}"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(
                f"{folder}: cannot be made ({error.strerror}); name a writable folder with "
                "--results"
            ) from None
        return folder
    raise UserError(f"{parent}: holds too many submissions; move old ones away")


def next_number(study_results: Path) -> int:
    """Return the number that the next submission will have."""
    return max((int(path.name) for path in _folders(study_results)), default=0) + 1


def write_submission(submission: Submission) -> None:
    """Write `submission.json`; raises StudyError when the folder cannot be written."""
    fields = asdict(submission)
    del fields["folder"]
    text = json.dumps({"schema": SCHEMA} | fields, indent=2) + "\n"
    write_atomically(submission.folder / FILE, text.encode())


def read_submission(folder: Path) -> Submission:
    """Return the submission of a folder.

    Raises UserError when there is none, or its file is not what `write_submission` writes.
    """
    path = folder / FILE
    try:
        return _submission(folder, read_object(path))
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); is the results folder shared with this "
            "node?"
        ) from None
    except ValueError as error:
        raise UserError(
            f"{path}: is no submission of this pinstudy ({error}); submit the study again"
        ) from None


def submissions_of(study_results: Path) -> list[Submission]:
    """Return a study's submissions, oldest first, without those that were never written whole."""
    folders = sorted(_folders(study_results), key=lambda path: int(path.name))
    return [read_submission(folder) for folder in folders if (folder / FILE).exists()]


def _folders(study_results: Path) -> list[Path]:
    try:
        inside = list((study_results / FOLDER).iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StudyError(f"{study_results / FOLDER}: cannot be read ({error.strerror})") from None
    return [path for path in inside if path.name.isascii() and path.name.isdigit()]


def _submission(folder: Path, data: dict[str, Any]) -> Submission:
    # To Python, and so to a comparison, true is 1.
    if data.get("schema") is True or data.get("schema") != SCHEMA:
        raise ValueError("its schema is another one")
    found = structured(Submission, data, folder=folder)
    if [worker.number for worker in found.workers] != list(range(len(found.workers))):
        raise ValueError("its workers are not numbered from 0")
    if any(job.first_worker + job.workers > len(found.workers) for job in found.jobs):
        raise ValueError("a job has more workers than it")
    return found
