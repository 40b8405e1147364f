"""A job and its script; batch systems differ in its directives and its array index only."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from pinstudy.base.errors import UserError
from pinstudy.base.text import plural, shown
from pinstudy.configs.site import Queue, is_script_word

# Stands for the worker's number, from 0, in the arguments of a job's command.
WORKER = "{worker}"
_NO_SUDO = (
    "# Who called sudo to submit the job, or to start the daemon that runs it, is not its user.",
    "unset SUDO_UID SUDO_GID SUDO_USER PKEXEC_UID DOAS_USER",
)
# The script's exit status when the node lacks what every worker needs (sysexits.h, EX_OSFILE).
NODE_LACKS = 72

# The worker is warned a tenth of the time limit before its end: at most the default limit of a run
# (configs.app.App), and at least what the end of a run takes.
_WARNING_SHARE, _MIN_WARNING_S, _MAX_WARNING_S = 0.1, 15, 600

# Characters that have a special meaning in the directives of some batch system.
_NOT_IN_DIRECTIVES = "\"'`\\%^$[]{}"
_HARMLESS = "/._+-@=,"


@dataclass(frozen=True)
class Job:
    """A job to submit: `workers` whole nodes, one worker on each.

    Workers are numbered from `first_worker` on; in the `command` (a list of arguments, absolute
    paths, no shell syntax) WORKER stands for the number. The script changes to `folder`, which
    must exist on the node, loads the site's modules and view, and ends in `exec` of the command, so
    that signals reach the worker. The job's output is appended to files in `logs`. `node` or
    `feature` selects the node, None any. `name` is for queue listings. `after` is the id of a
    job that must have ended, with any status, before this one starts; empty for none.
    """

    name: str
    first_worker: int
    workers: int
    command: tuple[str, ...]
    folder: Path
    logs: Path
    node: str | None = None
    feature: str | None = None
    after: str = ""


def array_of(queue: Queue, job: Job) -> str:
    """Return a job's workers as Slurm and PBS write an array: `0-3%2` for at most 2 at once."""
    first, at_once = job.first_worker, queue.most_at_once
    limit = f"%{at_once}" if at_once and at_once < job.workers else ""
    return f"{first}-{first + job.workers - 1}{limit}"


def log_file(job: Job, program: str, number: str, refused: str = "") -> str:
    """Return the path of a log for a directive.

    `number` is a worker's number, or the placeholder that the batch system replaces by a number.

    Raises UserError as `directive_path` does.
    """
    path, _, quote = directive_path(job.logs / f"{program}-N.log", refused).rpartition("N.log")
    return f"{path}{number}.log{quote}"


def clock_time(seconds: float) -> str:
    """Return a time limit as hours:minutes:seconds, rounded up; hours may be more than 24."""
    whole = ceil(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def warning_s(time_limit_s: float) -> int:
    """Return how many seconds before the job's time limit its worker is warned."""
    return round(min(max(time_limit_s * _WARNING_SHARE, _MIN_WARNING_S), _MAX_WARNING_S))


def directive_path(path: Path, refused: str = "") -> str:
    """Return a path for a directive, in double quotes where it needs them.

    Raises UserError for a path with an unprintable character, or with one that is special to a
    batch system or in `refused`.
    """
    text = str(path)
    wrong = [
        character
        for character in text
        if not character.isprintable() or character in _NOT_IN_DIRECTIVES + refused
    ]
    if wrong:
        raise UserError(
            f"{shown(text)}: {shown(wrong[0])} in a path cannot be told to the batch system; "
            "expected a folder with ordinary characters: choose one by --results"
        )
    plain = all(character.isalnum() or character in _HARMLESS for character in text)
    return text if plain and text.isascii() else f'"{text}"'


def write_script(
    queue: Queue,
    job: Job,
    *,
    directives: Sequence[str],
    index: str,
    by_hand: str,
    setup: Sequence[str] = (),
    log: bool = True,
) -> str:
    """Return the text of a job's script.

    `directives` are whole lines. `index` is the bash expression for the worker's number in an
    array; in the script of a single worker the number is written out. `by_hand` is the command line
    that submits the script. `setup` are lines to run before all others. With `log` the script
    writes a log for each worker; otherwise the batch system does. Raises UserError for the name of
    a node or feature that a script cannot hold.
    """
    for what, name in (("node", job.node), ("feature", job.feature)):
        if name is not None and not is_script_word(name):
            raise UserError(
                f"{what} {shown(name)}: expected letters, digits and . _ @ - only, the first a "
                "letter or digit"
            )
    number = str(job.first_worker) if job.workers == 1 else index
    folder = shlex.quote(str(job.folder))
    lines = [
        "#!/bin/bash",
        *directives,
        "#",
        f"# pinstudy: {plural(job.workers, 'worker')} of a study, with a node for each. A job that "
        "runs again",
        "# continues where it was. It is submitted by:",
        f"#   {by_hand}",
        "",
        *setup,
        f"worker={number}",
        # Some systems start the script in another folder.
        f"cd {folder} || {_give_up('no folder', folder)}",
    ]
    if log:
        lines.append(f'exec >>{shlex.quote(str(job.logs))}"/worker-$worker.log" 2>&1')
    lines += [*_surroundings(queue), "", *_NO_SUDO, f"exec {_command(job.command)}"]
    return "\n".join(lines) + "\n"


def _surroundings(queue: Queue) -> list[str]:
    """Return the lines that load the site's modules and put its Spack view on the PATH."""
    lines = []
    if queue.modules:
        lines += [
            "# A shell that is no login shell may not know `module`; the PATH stays as it is.",
            "type module >/dev/null 2>&1 || { path=$PATH; . /etc/profile; PATH=$path; }",
        ]
    for module in map(shlex.quote, queue.modules):
        lines.append(f"module load {module} || {_give_up('cannot load the module', module)}")
    if queue.spack_view is not None:
        programs = shlex.quote(f"{queue.spack_view}/bin")
        lines.append(f"[ -d {programs} ] || {_give_up('no Spack view', programs)}")
        lines.append(f'export PATH={programs}:"$PATH"')
    return lines


def _give_up(problem: str, quoted: str) -> str:
    """Return the commands that end the script when something that it needs is missing."""
    say = f'echo "pinstudy: $(uname -n):" {shlex.quote(problem)} {quoted} >&2'
    return f"{{ {say}; exit {NODE_LACKS}; }}"


def _command(arguments: Sequence[str]) -> str:
    """Return the command for bash; in its arguments WORKER becomes the number of the worker."""
    return " ".join(
        '"$worker"'.join(
            shlex.quote(part) if part or argument == "" else "" for part in argument.split(WORKER)
        )
        for argument in arguments
    )
