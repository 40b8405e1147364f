"""The commands of submitted studies, and what their jobs start."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import as_typed, plural
from pinstudy.base.units import duration
from pinstudy.cli.options import (
    ALLOW_EMULATION,
    JSON,
    KINDS,
    RESULTS,
    complete_site,
    complete_study,
)
from pinstudy.cli.output import print_columns, print_json, say

if TYPE_CHECKING:
    from pinstudy.configs.study import Study
    from pinstudy.runners.batch.status import SubmissionStatus
    from pinstudy.runners.batch.submission import Submission
    from pinstudy.runners.batch.submit import Preparation

_NAMES = "n1,n2"


@click.command("submit")
@click.argument("study", shell_complete=complete_study)
@click.option(
    "--site",
    metavar="SITE",
    envvar="PINSTUDY_SITE",
    shell_complete=complete_site,
    help="Where jobs are submitted, and how: a name that comes with pinstudy, or a file; "
    "see docs/batch.md (also: $PINSTUDY_SITE, or the study's `batch`).",
)
@KINDS
@RESULTS
@click.option(
    "--spread",
    type=click.Choice(["per-node", "split"]),
    help="The whole study on each node, or its blocks divided over interchangeable nodes.",
)
@click.option("--nodes", metavar=_NAMES, help="per-node: names of the nodes.")
@click.option("--features", metavar="hybrid,…", help="per-node: one node with each; split: which.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="split: how many nodes.")
@click.option("--time-limit", metavar="TIME", help="How long each job may take, such as 2 h.")
@click.option(
    "--chain",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="So many jobs in turn, each continuing the one before.",
)
@click.option("--again", is_flag=True, help="Submit even while earlier jobs may be at work.")
@click.option("--dry-run", is_flag=True, help="Only print what would be submitted.")
@click.option(
    "--sysroot",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A recorded node of the site, to tell the expected time.",
)
@ALLOW_EMULATION
@JSON
def submit_command(
    study: str,
    site: str | None,
    results: Path,
    again: bool,
    dry_run: bool,
    sysroot: Path | None,
    as_json: bool,
    **spread: Any,  # noqa: ANN401 - the options that submitting the same once more repeats
) -> None:
    """Submit STUDY at a site, or what is missing of it.

    STUDY is a name of `pinstudy studies`, or a study file. What is known of the jobs is kept in
    results/<study>/submissions/.
    """
    from pinstudy.configs.library import load_site, load_study
    from pinstudy.configs.values import time_option
    from pinstudy.runners.batch.submit import Preparation, SubmitOptions
    from pinstudy.runners.node.core_kinds.declared import parse_kinds

    loaded = load_study(study)
    if spread["kinds"] is not None:
        # What the text says is checked on the node; a slip is found before a job has waited for it.
        parse_kinds(spread["kinds"])
    named = site or _site_of(loaded)
    if named is None:
        raise UserError(
            "no site is named: --site SITE says where to submit (a name that comes with pinstudy, "
            "or a file of your own; see docs/batch.md)"
        )
    options = SubmitOptions(
        spread["spread"],
        _names("--nodes", spread["nodes"]),
        _names("--features", spread["features"]),
        spread["workers"],
        time_option("--time-limit", spread["time_limit"]),
        spread["chain"],
        again,
        spread["kinds"],
        spread["allow_emulation"],
        (*_arguments(study, named, spread), "--results", str(results.absolute())),
    )
    prepared = Preparation(loaded, load_site(named), results, options)
    if as_json:
        print_json(_submitted_fields(prepared, dry_run))
        return
    if not prepared.workers:
        say(f"nothing is missing of study {loaded.name}; nothing is submitted")
        return
    _show_preparation(prepared, sysroot)
    if not dry_run:
        submission = prepared.submit(say)
        say(f"written: {submission.folder}")
        same_study = shlex.join([loaded.name, *_results(results)])
        say(f"see `{PINSTUDY} status {same_study}`")


def _submitted_fields(prepared: Preparation, dry_run: bool) -> dict[str, Any]:
    """Submit what is missing, unless only asked what that would be; return what is printed."""
    jobs = len(prepared.workers) * prepared.options.chain
    fields: dict[str, Any] = {
        "study": prepared.study.name,
        "workers": [worker.target for worker in prepared.workers],
        "jobs": jobs,
        "node_hours_at_most": jobs * prepared.queue.time_limit_s / 3600,
        "script": prepared.first_script() if prepared.workers else None,
        "submission": None,
        "accepted": [],
    }
    if prepared.workers and not dry_run:
        fields["submission"] = str(prepared.submit(fields["accepted"].append).folder)
    return fields


def _site_of(study: Study) -> str | None:
    """Return the site that a study names; a file as seen from the study's, like those of apps."""
    from pinstudy.configs.library import is_file_name

    named = study.spread.site if study.spread else None
    return str(Path(study.path).parent / named) if named and is_file_name(named) else named


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    """Return the names that an option lists; raises UserError where a script cannot hold one."""
    from pinstudy.configs.site import is_script_word

    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(map(is_script_word, names)):
        raise UserError(f"{option} {text!r}: expected names, joined by commas, such as n1,n2")
    return names


def _show_preparation(prepared: Preparation, sysroot: Path | None) -> None:
    """Print the first script, the other nodes, and the jobs, node-hours and expected time."""
    from pinstudy.configs.study import SPLIT
    from pinstudy.runners.batch.submit import describe_spread

    study, chain = prepared.study, prepared.options.chain
    missing = "" if prepared.workers == prepared.all_workers else ", of what is missing"
    say(prepared.first_script())
    if len(prepared.workers) > 1 and not prepared.is_array:
        targets = ", ".join(worker.target for worker in prepared.workers[1:])
        is_split = prepared.spread.how == SPLIT
        say(f"and the same for {f'{len(prepared.workers) - 1} more' if is_split else targets}\n")
    say(f"study {study.name}{missing}: {describe_spread(prepared.spread, prepared.workers)}")
    jobs = len(prepared.workers) * chain
    in_turn = f" ({chain} in turn)" if chain > 1 else ""
    limit_s = prepared.queue.time_limit_s
    say(
        f"{plural(jobs, 'job')}{in_turn} of at most {duration(limit_s)} each: at most "
        f"{jobs * limit_s / 3600:.3g} node-hours"
    )
    say(_expected(prepared, study, sysroot))
    if hidden := _hidden_cpus(prepared, sysroot or Path("/")):
        say(hidden, err=True)


def _expected(prepared: Preparation, study: Study, sysroot: Path | None) -> str:
    """Return the expected time of a worker, and the --chain that it needs if its jobs are short."""
    from pinstudy.runners.batch.worker import usable_s
    from pinstudy.runners.study.machine import Assignment, open_machine

    if sysroot is None:
        return (
            f"expected time: not known here; a node's is told by `{PINSTUDY} status` once a worker "
            "is there, or here by --sysroot with a tree that `pinstudy snapshot` made on it"
        )
    machine = open_machine(sysroot, prepared.options.kinds, prepared.site)
    # No other worker has more blocks than the first one.
    blocks = frozenset(prepared.workers[0].blocks) or None
    total_s = machine.summary(study, prepared.results, Assignment(blocks=blocks)).left_s
    if total_s is None:
        return "expected time: unknown, because an app gives no estimate"
    expected = f"expected time of each worker: about {duration(total_s)}"
    jobs = int(total_s / usable_s(prepared.queue.time_limit_s)) + 1
    if jobs > prepared.options.chain:
        advice = f"submit {jobs} jobs in turn with --chain {jobs}"
        return f"{expected}, longer than the time limit; {advice}"
    return expected


def _hidden_cpus(prepared: Preparation, root: Path) -> str:
    """Return a warning if jobs do not get all CPUs of a node like that below `root`."""
    from pinstudy.runners.node.node import open_node

    try:
        hidden, remedy = prepared.system.hides(open_node(root))
    except UserError:
        # The submitting machine need not be a node that a study could run on.
        return ""
    return f"warning: {prepared.system.name}: {hidden}; {remedy}" if hidden else ""


def _arguments(study: str, site: str, options: dict[str, Any]) -> list[str]:
    """Return the arguments that submit the same again from any folder."""
    words = [_from_anywhere(study), "--site", _from_anywhere(site)]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value and (name, value) != ("chain", 1):
            words += [option, str(value)]
    return words


def _from_anywhere(name_or_path: str) -> str:
    from pinstudy.configs.library import is_file_name

    return str(Path(name_or_path).absolute()) if is_file_name(name_or_path) else name_or_path


def _results(results: Path) -> tuple[str, ...]:
    return () if results == Path("results") else ("--results", str(results.absolute()))


@click.command("status")
@click.argument("study", required=False, shell_complete=complete_study)
@RESULTS
@click.option(
    "--all", "everything", is_flag=True, help="Show all submissions, not the newest only."
)
@JSON
def status_command(study: str | None, results: Path, everything: bool, as_json: bool) -> None:
    """Show the jobs of STUDY, its runs done, failed and left, and the time left.

    Without STUDY those of every submitted study.
    """
    from pinstudy.runners.batch.completed import SubmittedRuns
    from pinstudy.runners.batch.status import states_of, status_of
    from pinstudy.runners.batch_systems.interface import LIVE

    shown = []
    for name in [study] if study else _submitted_studies(results):
        submissions = _submissions_named(name, results)
        digests = {submission.digest for submission in submissions}
        runs = {digest: SubmittedRuns(submissions, digest) for digest in digests}
        for submission in submissions:
            states = states_of(submission)
            # An earlier submission is shown as well while its jobs may still make runs.
            live = any(state.state in LIVE for state in states)
            if everything or live or submission is submissions[-1]:
                shown.append(status_of(submission, states, runs[submission.digest]))
    if as_json:
        print_json([status.as_json() for status in shown])
        return
    for status in shown:
        _show_status(status)


def _show_status(status: SubmissionStatus) -> None:
    from pinstudy.runners.batch.status import describe_jobs

    submission = status.submission
    say(
        f"submission {submission.number} of study {submission.name} at {submission.site} "
        f"({submission.system}, {submission.how}), {submission.submitted_at}"
    )
    rows: list[tuple[object, ...]] = [
        ("worker", "node", "done", "failed", "left", "time left", "state")
    ]
    for worker in status.workers:
        number, share, jobs = worker.worker.number, worker.share, describe_jobs(worker)
        node = worker.attempt.node_id if worker.attempt else worker.worker.target
        time_left = "" if share.left == 0 else duration(worker.left_s)
        left = "?" if share.left is None else share.left
        rows.append((number, node, share.done, share.failed, left, time_left, jobs))
    print_columns(rows)
    for line in status.refused():
        say(f"refused on {line}")
    if late := status.late():
        say(f"{plural(late, 'record')} of workers that a newer one had replaced are kept aside")
    _show_what_next(status)


def _show_what_next(status: SubmissionStatus) -> None:
    if status.live:
        say(f"expected time until all is done: {duration(status.left_s)}")
    elif not status.complete:
        say(f"not complete; `{status.submission.submit_again}` submits what is missing")
    for folder in status.completed:
        state = "complete" if status.complete else "incomplete so far"
        say(f"{state}: `{PINSTUDY} report {as_typed(folder)}`")


@click.command("cancel")
@click.argument("study", shell_complete=complete_study)
@RESULTS
@JSON
def cancel_command(study: str, results: Path, as_json: bool) -> None:
    """End every job of STUDY; what was measured is kept."""
    from pinstudy.runners.batch.status import end_jobs

    problems, rows = [], []
    for submission in _submissions_named(study, results):
        ended, problem = end_jobs(submission)
        rows.append({"submission": submission.number, "ended": ended, "problem": problem})
        if problem:
            problems.append(f"submission {submission.number}: {problem}")
        elif ended and not as_json:
            say(f"submission {submission.number}: ended {', '.join(ended)}")
    if as_json:
        print_json(rows)
    if problems:
        raise StudyError("; ".join(problems))
    if not as_json:
        say(f"no job of it is at work; `{PINSTUDY} submit` continues the study")


@click.command("worker")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="The submission's folder.",
)
@click.option("--worker", "number", type=int, required=True, metavar="N", help="Which worker.")
@JSON
def worker_command(submission: Path, number: int, as_json: bool) -> None:
    """Make the runs of worker N of a submission, on this node.

    Exit status: 0 when all its runs are made, 3 when this node cannot run the rest, 75 when a later
    attempt continues, 1 for a failed study, 2 for a mistake.
    """
    from pinstudy.cli.progress import TerminalProgress
    from pinstudy.cli.study_run import announce, is_decided, runs_so_far
    from pinstudy.runners.batch.worker import WorkerSession

    session = WorkerSession(submission, number)
    announce(session.session, as_json)
    summary, decided = session.session.summary, partial(is_decided, session.session.folder)
    with TerminalProgress(summary, expect=session.expect, decided=decided) as progress:
        status, reason = session.run(progress)
    say(f"pinstudy: {reason}", err=True)
    if as_json:
        print_json({"status": status, "reason": reason} | runs_so_far(session.session))
    sys.exit(status)


def _submitted_studies(results: Path) -> list[str]:
    """Return the names of the studies that were submitted, sorted; raises UserError without any."""
    from pinstudy.runners.batch.submission import FILE, FOLDER

    names = sorted({path.parents[2].name for path in results.glob(f"*/{FOLDER}/*/{FILE}")})
    if not names:
        raise UserError(f"nothing was submitted to {results}; `{PINSTUDY} submit STUDY` does it")
    return names


def _submissions_named(study: str, results: Path) -> list[Submission]:
    """Return the submissions of a study, given by its name or file, oldest first.

    The study's file need not exist any more. Raises UserError when there are none.
    """
    from pinstudy.runners.batch.submission import submissions_of

    name = Path(study).stem if study.endswith((".yaml", ".yml")) else Path(study).name
    submissions = submissions_of(results / name)
    if not submissions:
        raise UserError(
            f"study {name} has no submissions in {results}; make one with `{PINSTUDY} submit`, or "
            "name its results with --results"
        )
    return submissions
