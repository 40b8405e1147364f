"""Submitting a study: how it is spread over workers, the runs that are missing, and their jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree

from msgspec import structs

from pinstudy.base import PINSTUDY, ROOT
from pinstudy.base.command import without_interruption
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import write_atomically
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import plural, safe_name
from pinstudy.base.units import utc_now
from pinstudy.configs.site import Queue, Site
from pinstudy.configs.study import SPLIT, Spread, Study
from pinstudy.runners.batch.completed import SubmittedRuns
from pinstudy.runners.batch.status import live_jobs
from pinstudy.runners.batch.submission import (
    FOLDER,
    LOGS,
    Attempt,
    Submission,
    Worker,
    how_it_ends,
    new_folder,
    next_number,
    submissions_of,
    write_submission,
)
from pinstudy.runners.batch_systems.interface import Submitted
from pinstudy.runners.batch_systems.registry import COMMANDS, queue_of, system_of
from pinstudy.runners.batch_systems.script import WORKER, Job
from pinstudy.runners.host.software import prefix

MAX_CHAIN = 100


@dataclass(frozen=True)
class SubmitOptions:
    """The options of `pinstudy submit`; None for an option that is absent.

    `chain` is how many jobs follow one another. `again` submits although jobs of earlier
    submissions may still be at work. `arguments` are those that repeat the request.
    """

    how: str | None = None
    nodes: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    workers: int | None = None
    time_limit_s: float | None = None
    chain: int = 1
    again: bool = False
    kinds: str | None = None
    allow_emulation: bool = False
    arguments: tuple[str, ...] = ()


def spread_of(study: Study, site: Site, queue: Queue, options: SubmitOptions) -> Spread:
    """Return how the study is spread: by the command line, else the study, else the site.

    Raises UserError for settings that do not fit together.
    """
    spread = replace(study.spread or Spread(site.name), site=site.name)
    how = options.how or spread.how
    if how != spread.how:
        # What the study gives for its own way means nothing for another one.
        shared = spread.features if len(spread.features) == 1 else ()
        spread = Spread(site.name, how, features=shared)
    if options.nodes is not None or options.features is not None:
        spread = replace(spread, nodes=options.nodes or (), features=options.features or ())
    spread = replace(spread, workers=options.workers or spread.workers)
    present = [key for key in ("nodes", "features", "workers") if getattr(spread, key)]
    for _, problem in Spread.contradictions(vars(spread), present):
        raise UserError(f"--spread {how}: {problem}")
    if how == SPLIT:
        _raise_if_indivisible(study, spread)
    elif not (spread.nodes or spread.features):
        spread = replace(spread, nodes=queue.nodes, features=() if queue.nodes else queue.features)
    return spread


def _raise_if_indivisible(study: Study, spread: Spread) -> None:
    if spread.workers is None:
        raise UserError("split needs the number of nodes to divide the study over: --workers N")
    reasons = {
        "goes on until its comparisons are decided, which one node alone can tell (a fixed number "
        "of repetitions can be divided)": study.decide,
        "measures latencies, which are a node's own": study.latency,
    }
    for why, applies in reasons.items():
        if applies:
            raise UserError(f"study {study.name} {why}: use --spread per-node")


def per_node_workers(spread: Spread) -> tuple[Worker, ...]:
    """Return a worker for each node or feature; one for any node where none is named."""
    targets = [Worker(0, node=node) for node in dict.fromkeys(spread.nodes)]
    targets += [Worker(0, feature=feature) for feature in dict.fromkeys(spread.features)]
    return numbered(targets or [Worker(0)])


def numbered(workers: Iterable[Worker]) -> tuple[Worker, ...]:
    """Return the workers with numbers from 0."""
    return tuple(structs.replace(worker, number=number) for number, worker in enumerate(workers))


def split_workers(spread: Spread, blocks: Sequence[int]) -> tuple[Worker, ...]:
    """Return workers that take these blocks in turn; at most one worker a block."""
    many = min(spread.workers or 1, len(blocks))
    feature = spread.features[0] if spread.features else None
    return tuple(
        Worker(number, feature=feature, blocks=tuple(blocks[number::many]))
        for number in range(many)
    )


def blocks_left(study: Study, case_ids: Collection[str], done: Collection[object]) -> list[int]:
    """Return the repetitions that some case still lacks.

    `done` has the keys (case_id, warm-up or not, repetition) of the runs that were made.
    """
    return [
        block
        for block in range(1, study.repetitions + 1)
        if any((case_id, False, block) not in done for case_id in case_ids)
    ]


def pool_of(site: Site) -> str:
    """Return the name of a site's pool, the interchangeable nodes that divide a study."""
    return f"split-{safe_name(site.name)}"


def describe_spread(spread: Spread, workers: Sequence[Worker]) -> str:
    """Return in a line how the study is spread."""
    if spread.how == SPLIT:
        blocks = plural(sum(len(worker.blocks) for worker in workers), "block")
        on = f" with feature {workers[0].feature}" if workers and workers[0].feature else ""
        return f"split: {blocks} divided over {plural(len(workers), 'node')}{on}"
    return f"per-node: the whole study on {', '.join(worker.target for worker in workers)}"


class Preparation:
    """A study to submit at a site, before anything is written.

    `workers` are for the runs that earlier submissions have not made, `all_workers` for all runs.

    Raises UserError for options that do not fit together, for results of another version of the
    study, and while earlier jobs may be at work, unless `again` is set.
    """

    def __init__(self, study: Study, site: Site, results: Path, options: SubmitOptions) -> None:
        self.study, self.site, self.options = study, site, options
        self.results = results.absolute()
        queue, limit_s = queue_of(site), options.time_limit_s
        self.queue = replace(queue, time_limit_s=limit_s) if limit_s else queue
        self.spread = spread_of(study, site, self.queue, options)
        if not 1 <= options.chain <= MAX_CHAIN:
            raise UserError(f"--chain {options.chain}: expected 1 to {MAX_CHAIN} jobs in turn")
        self.system = system_of(site)
        if options.chain > 1 and not self.system.takes_turns:
            raise UserError(
                f"--chain {options.chain}: {self.system.name} is asked for one job at a time; "
                "submit again when it has ended"
            )
        self._pool = pool_of(site) if self.spread.how == SPLIT else ""
        self._folder = self.results / study.name
        self._earlier = submissions_of(self._folder)
        if not options.again:
            self._raise_if_live()
        self._runs = SubmittedRuns(self._earlier, study.digest)
        self.all_workers, self.workers = self._divide()
        self._raise_if_another_version()

    def first_script(self) -> str:
        """Return the script of the first job as it would be submitted."""
        folder = self._folder / FOLDER / f"{next_number(self._folder):04d}"
        return self.system.script(self.queue, self._jobs(folder)[0])

    def submit(self, report: Callable[[str], None]) -> Submission:
        """Submit everything; `report` is called with a line for each accepted job.

        Raises StudyError with the batch system's answer when it refuses a job; the submission then
        holds the jobs that it accepted before, for `pinstudy cancel`.
        """
        submission = self._write(new_folder(self._folder))
        after: dict[int, str] = {}
        try:
            for link in range(self.options.chain):
                for job in self._jobs(submission.folder):
                    turn = self._turn_of(job)
                    follows = replace(job, after=after.get(turn, ""))
                    script = submission.folder / self._script_name(job, link)
                    write_atomically(script, self.system.script(self.queue, follows).encode())
                    # A job that was submitted and not written down would be known to nobody.
                    with without_interruption():
                        accepted = self.system.submit(script, self.queue, follows)
                        submission = self._with_job(submission, accepted)
                    after[turn] = accepted.job_id
                    target = self.workers[job.first_worker].target
                    which = plural(job.workers, "worker") if self._pool else target
                    report(f"submitted: job {accepted.job_id} ({which})")
        except (StudyError, KeyboardInterrupt):
            if not submission.jobs:
                # No job uses the folder.
                with suppress(OSError), OpenFolder(submission.folder.parent) as parent:
                    rmtree(parent.inside(submission.folder.name), ignore_errors=True)
            raise
        return submission

    def _with_job(self, submission: Submission, accepted: Submitted) -> Submission:
        """Record an accepted job; if that fails, end the job, because nothing else names it."""
        try:
            return submission.with_job(accepted)
        except StudyError as error:
            problem = self.system.cancel([accepted])
            job = f"job {accepted.job_id}"
            ended = f"{job} was not ended: {problem}" if problem else f"{job} was ended"
            raise StudyError(f"{error}; {ended}") from None

    def _write(self, folder: Path) -> Submission:
        submission = Submission(
            folder=folder,
            study=str(Path(self.study.path).absolute()),
            name=self.study.name,
            digest=self.study.digest,
            results=str(self.results),
            site=self.site.name,
            site_path=str(Path(self.site.path).absolute()),
            system=self.queue.system if isinstance(self.queue.system, str) else COMMANDS,
            how=self.spread.how,
            pool=self._pool,
            time_limit_s=self.queue.time_limit_s,
            kinds=self.options.kinds,
            allow_emulation=self.options.allow_emulation,
            submitted_at=utc_now(),
            arguments=self.options.arguments,
            workers=self.workers,
            jobs=(),
        )
        write_atomically(submission.site_file, self.site.source)
        write_atomically(folder / "study.yaml", self.study.source)
        write_submission(submission)
        return submission

    def _jobs(self, folder: Path) -> list[Job]:
        """Return the jobs of one link of the chain: an array, or one for each worker.

        There must be workers.
        """
        firsts = self.workers[:1] if self.is_array else self.workers
        pinstudy = str((prefix() or ROOT) / "bin" / "pinstudy")
        return [
            Job(
                name=f"pinstudy-{self.study.name}",
                first_worker=first.number,
                workers=len(self.workers) if self.is_array else 1,
                command=(pinstudy, "worker", "--submission", str(folder), "--worker", WORKER),
                folder=folder,
                logs=folder / LOGS,
                node=first.node,
                feature=first.feature,
            )
            for first in firsts
        ]

    def _turn_of(self, job: Job) -> int:
        """Return a number that jobs have in common of which one runs at a time.

        Those of a chain have one. Without arrays, jobs of a split study take turns so that no more
        of them run than the site allows.
        """
        at_once = self.queue.most_at_once
        takes_turns = self._pool and not self.is_array
        return job.first_worker % at_once if takes_turns and at_once else job.first_worker

    @property
    def is_array(self) -> bool:
        """Whether one job has all workers."""
        return bool(self._pool) and self.system.takes_arrays

    def _script_name(self, job: Job, link: int) -> str:
        which = "" if self.is_array else f"-{job.first_worker:03d}"
        return f"job{which}{f'.{link + 1}' if link else ''}.sh"

    def _divide(self) -> tuple[tuple[Worker, ...], tuple[Worker, ...]]:
        """Return the workers of the whole study, and the workers for its missing runs."""
        study, spread = self.study, self.spread
        if spread.how == SPLIT:
            every = split_workers(spread, range(1, study.repetitions + 1))
            plan = self._runs.newest_plan(self._pool)
            return every, split_workers(spread, self._blocks_left(plan))
        every = per_node_workers(spread)
        return every, numbered(worker for worker in every if not self._is_complete(worker))

    def _blocks_left(self, plan: Attempt | None) -> Sequence[int]:
        """Return the repetitions that some case of an attempt's plan still lacks."""
        if plan is None:
            return range(1, self.study.repetitions + 1)
        done = self._runs.completed_in(plan.folder).runs
        return blocks_left(self.study, plan.case_ids, done)

    def _is_complete(self, worker: Worker) -> bool:
        """Return whether nothing is left for the worker's target, by the study as it is now."""
        share = self._runs.share_of(worker, "")
        if share.plan is None or not share.complete:
            return False
        # More repetitions, or more time, are another end of the same study.
        ends_by = how_it_ends(self.study)
        return share.plan.ends_by == ends_by if ends_by else not self._blocks_left(share.plan)

    def _raise_if_another_version(self) -> None:
        """Refuse to add to runs of another version, as the workers would once they have a node."""
        for digest in {earlier.digest for earlier in self._earlier} - {self.study.digest}:
            runs = SubmittedRuns(self._earlier, digest)
            # With a feature, or any node, another node may be chosen.
            for worker in self.workers:
                if worker.node is None and not self._pool:
                    continue
                plan = runs.newest_plan(self._pool, worker.target)
                if plan and runs.completed_in(plan.folder).runs:
                    raise UserError(
                        f"{plan.folder}: holds runs of another version of study {self.study.name} "
                        f"({self.study.path} has changed since); name another folder with "
                        "--results, or move this one elsewhere"
                    )

    def _raise_if_live(self) -> None:
        live = live_jobs(self._earlier)
        if live:
            ids = ", ".join(dict.fromkeys(f"{job.job_id} ({job.state})" for job in live[:8]))
            name = self.study.name
            raise UserError(
                f"study {name}: jobs of an earlier submission may still be at work: {ids}; see "
                f"`{PINSTUDY} status {name}`, end them with `{PINSTUDY} cancel {name}`, or submit "
                "beside them with --again"
            )
