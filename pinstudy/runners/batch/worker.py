"""A worker: what a job of a batch system runs on its node.

It runs a session, as `pinstudy run` does, with its assignment of the study. It stops in good order
when a newer attempt has taken over, after a signal, and before a run that would not end in time.

When a node is lost, a batch system requeues its job under the same id, while the old copy may still
be at work there. So in each slot only the newest generation of workers writes: each attempt claims
the next one by creating a file that must not exist (O_EXCL is atomic on local and network file
systems; open(2)); no clock is involved. Older generations find that file and stop.

Slurm sends TERM, and earlier USR1 if requested (sbatch(1), --signal); PBS sends TERM; Flux sends
ALRM at the time limit; LSF sends USR2 and XCPU (bsub(1)). KILL follows within seconds to half a
minute.
"""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType

from pinstudy.base.errors import StoppedError, StudyError, UserError
from pinstudy.base.files import not_written
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import plural, safe_name
from pinstudy.base.units import duration, utc_now
from pinstudy.configs.library import load_site, load_study
from pinstudy.configs.study import Study
from pinstudy.runners.batch.submission import (
    DONE,
    REFUSED,
    STOPPED,
    Attempt,
    AttemptFile,
    Submission,
    how_it_ends,
    job_of,
    read_submission,
)
from pinstudy.runners.batch_systems.registry import system_of
from pinstudy.runners.study.machine import Assignment, open_machine, results_folder
from pinstudy.runners.study.runner import Progress
from pinstudy.runners.study.session import Session

# The job's time limit also covers what precedes its worker's start and what follows the last run.
RESERVE_S = 20.0
# A fenced older attempt on the same node ends after its current run.
WAIT_FOR_OLDER_S = 600.0
# These signals come early enough for the run in flight to end.
_WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)
# These leave no time: the run in flight is interrupted.
_AT_ONCE = (signal.SIGTERM, signal.SIGALRM, signal.SIGXCPU, signal.SIGHUP, signal.SIGINT)

_CLAIM = re.compile(r"(?P<slot>.+)\.g(?P<generation>\d{4,9})", re.ASCII)
_MAX_GENERATION = 10**9 - 1
# A network file system may list the newest claims late: so many later generations are tried.
_MAX_TRIES = 1000


class Fence:
    """The claims in a folder; a slot is a name that is safe in file names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def claim_next(self, slot: str) -> int:
        """Claim and return the next generation of a slot, from 1.

        Raises StudyError when the folder cannot be read or written.
        """
        newest = self.newest_of_all().get(slot, 0)
        if newest + _MAX_TRIES > _MAX_GENERATION:
            raise StudyError(
                f"{self._folder / f'{slot}.g{newest:04d}'}: no worker has a generation so high, "
                "and none can follow it; remove the file, and submit again"
            )
        for generation in range(newest + 1, newest + 1 + _MAX_TRIES):
            if self.claim(slot, generation):
                return generation
        raise StudyError(f"{self._folder}: no generation of {slot} can be claimed")

    def claim(self, slot: str, generation: int) -> bool:
        """Claim a generation of a slot; return False when it was claimed before.

        Raises StudyError when the folder cannot be written.
        """
        path = self._folder / f"{slot}.g{generation:04d}"
        try:
            with OpenFolder(self._folder, make=True) as folder:
                # Of several workers one alone creates the file (O_EXCL).
                os.close(folder.create(path.name))
        except FileExistsError:
            return False
        except OSError as error:
            raise not_written(path, error) from None
        return True

    def newest_of_all(self) -> dict[str, int]:
        """Return the newest generation of each claimed slot.

        Raises StudyError when the folder cannot be read.
        """
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StudyError(
                f"{self._folder}: cannot be read ({error.strerror}): whether a newer worker is at "
                "work is not known"
            ) from None
        newest: dict[str, int] = {}
        for claim in filter(None, map(_CLAIM.fullmatch, names)):
            newest[claim["slot"]] = max(int(claim["generation"]), newest.get(claim["slot"], 0))
        return newest


def usable_s(limit_s: float) -> float:
    """Return how many seconds of a job's time limit are for runs."""
    return limit_s - min(RESERVE_S, limit_s / 10)


class WorkerSession:
    """A worker's session, from the submission's folder to its exit status.

    Under per-node a worker holds one slot of the fence, its target: a later submission's worker for
    the same node takes over. In a split study it holds two: its own in the submission, where its
    later attempts take over, and one of all submissions, because a later submission divides the
    blocks anew.
    """

    def __init__(self, folder: Path, number: int) -> None:
        """Read the submission and its study, look at the node, and claim the worker's slot.

        Raises UserError when the submission, the study or this node is not what it should be.
        """
        submission = read_submission(folder)
        worker = submission.worker(number)
        self._warned = ""
        self._handle_signals()
        study = _study_of(submission)
        site = load_site(str(submission.site_file))
        machine = open_machine(Path("/"), submission.kinds, site)
        node, pool, results = machine.node, submission.pool, Path(submission.results)
        self._fence = Fence(submission.fence)
        slot = f"{pool}-{submission.number:04d}-w{number:03d}" if pool else safe_name(worker.target)
        generation = self._fence.claim_next(slot)
        self._generations = {slot: generation}
        self._limit_s = submission.time_limit_s
        self._end_s = time.monotonic() + usable_s(self._limit_s)
        target = results / study.name / pool if pool else results_folder(results, study, node)
        attempt = Attempt(
            worker=number,
            generation=generation,
            node_id=node.node_id,
            job=job_of(system_of(site), os.environ),
            folder=str(target),
            started_at=utc_now(),
            updated_at=utc_now(),
            ends_by=how_it_ends(study),
        )
        self.file = AttemptFile(submission.attempts, attempt)
        self.file.write()
        assignment = Assignment(
            folder=target,
            blocks=frozenset(worker.blocks) if pool else None,
            pool=pool,
            submission=submission.number if pool else 0,
            # Numbered over all nodes of the pool: runs are paired by their attempt's number.
            attempt=self._fence.claim_next(f"{pool}-attempt") if pool else None,
            may_start=self._may_start,
            fenced=self._fenced_reason,
            wait_for_node_s=WAIT_FOR_OLDER_S if generation > 1 or submission.number > 1 else 0,
        )
        emulation = submission.allow_emulation
        try:
            # Raises for a node unlike the others, before it could fence their workers.
            self.session = Session(machine, study, results, False, emulation, assignment)
            if pool:
                self._generations[f"{pool}-submission"] = submission.number
                self._fence.claim(f"{pool}-submission", submission.number)
        except UserError as error:
            self.file.write(ended=error.exit_status, reason=str(error))
            raise
        summary = self.session.summary
        self.file.write(
            case_ids=tuple(case.case_id for case in summary.plan.cases),
            runs=summary.runs,
            left=summary.left,
            left_s=summary.left_s,
        )

    def run(self, progress: Progress) -> tuple[int, str]:
        """Make the worker's runs; return the exit status and its reason."""
        try:
            self.session.run(progress)
            self.session.raise_if_failed()
        except StoppedError as error:
            return self._ended(STOPPED, f"{error}; the same study submitted again continues")
        except KeyboardInterrupt:
            return self._ended(STOPPED, "stopped by a signal; what was measured is kept")
        except UserError as error:
            return self._ended(error.exit_status, str(error))
        summary = self.session.summary
        skipped = {case_id for case_id, _, _ in summary.history.skipped}
        refused = len(skipped) + len(summary.plan.skipped)
        if refused:
            return self._ended(REFUSED, f"{plural(refused, 'case')} cannot be run on this node")
        return self._ended(DONE, "all runs of this worker are made")

    def expect(self, left_s: float | None) -> None:
        """Write the expected seconds of all runs that are left, for `pinstudy status`."""
        self.file.write_if_due(left_s=left_s)

    def _ended(self, status: int, reason: str) -> tuple[int, str]:
        if self.session.restore_problem not in reason:
            reason = f"{reason}; {self.session.restore_problem}"
        # Anew: runs were made.
        now = replace(self.session.summary)
        # Once all is decided, or no time is left, the other runs are not made.
        left = 0 if now.study.decide and status in (DONE, REFUSED) else now.left
        self.file.write(runs=now.done + left, left=left, ended=status, reason=reason)
        return status, reason

    def _handle_signals(self) -> None:
        """Handle the batch system's signals until the process ends."""
        for number in _WARNINGS:
            signal.signal(number, self._warn)
        for number in _AT_ONCE:
            # It raises KeyboardInterrupt.
            signal.signal(number, signal.default_int_handler)

    def _warn(self, number: int, _frame: FrameType | None) -> None:
        self._warned = signal.Signals(number).name

    def _fenced_reason(self) -> str:
        """Return which slot a newer worker has taken over; empty when none."""
        newest = self._fence.newest_of_all()
        for slot, generation in self._generations.items():
            if newest.get(slot, 0) > generation:
                return f"a newer worker has taken over {slot} (generation {newest[slot]})"
        return ""

    def _may_start(self, expected_s: float | None) -> None:
        """Raise StoppedError when a run of `expected_s` seconds (None: unknown) must not start.

        Raises StudyError when such a run never fits into the job's time limit.
        """
        if self._warned:
            raise StoppedError(f"the batch system says that time is up ({self._warned})")
        if why := self._fenced_reason():
            raise StoppedError(why)
        left_s, most_s = self._end_s - time.monotonic(), usable_s(self._limit_s)
        if expected_s is not None and expected_s > most_s:
            raise StudyError(
                f"the next run takes about {duration(expected_s)}, and a job with the time limit "
                f"{duration(self._limit_s)} has {duration(most_s)} for runs: submit with a longer "
                "--time-limit"
            )
        if left_s <= (expected_s or 0.0):
            raise StoppedError(
                f"the next run would not end before the job's time limit ({duration(left_s)} left)"
            )


def _study_of(submission: Submission) -> Study:
    study = load_study(submission.study)
    if study.digest != submission.digest:
        raise UserError(
            f"{study.path}: has changed since it was submitted; submit it again: "
            f"`{submission.submit_again}`"
        )
    return study
