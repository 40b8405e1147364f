"""What tests ask of batch systems: a queue, a job, and commands that keep what they were told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs

from configs.site import Queue
from configs.study import SPLIT
from runners.batch.submission import Submission, Worker
from runners.batch_systems.script import WORKER, Job
from tests.runners.fake_commands import install
from tests.support.tools import DATA

HOURS = 3600.0
RECORDED = DATA / "batch"


def queue_of(system: str, **keys: Any) -> Queue:  # noqa: ANN401
    """Return a queue of two hours on nodes of eight CPUs."""
    return Queue(**{"system": system, "time_limit_s": 2 * HOURS, "cpus": 8, **keys})


def job_of(folder: Path, **keys: Any) -> Job:  # noqa: ANN401
    """Return a job whose worker prints its number; its logs are in `logs` below the folder."""
    return Job(
        **{
            "name": "quick",
            "first_worker": 0,
            "workers": 1,
            "command": ("/bin/echo", "worker", WORKER),
            "folder": folder,
            "logs": folder / "logs",
            **keys,
        }
    )


def submission_of(folder: Path, **changes: Any) -> Submission:  # noqa: ANN401
    """Return a submission of a study that two workers divide, changed as asked."""
    made = Submission(
        folder=folder,
        study="/home/me/mine.yaml",
        name="mine",
        digest="d" * 64,
        results="/home/me/results",
        site="there",
        site_path="/home/me/there.yaml",
        system="slurm",
        how=SPLIT,
        pool="split-there",
        time_limit_s=600.0,
        kinds=None,
        allow_emulation=False,
        submitted_at="2026-11-21T10:00:00+00:00",
        arguments=("/home/me/mine.yaml", "--site", "there"),
        workers=(Worker(0, feature="hybrid", blocks=(1, 3)), Worker(1, blocks=(2,))),
        jobs=(),
    )
    return structs.replace(made, **changes)


def directives(script: str, mark: str) -> list[str]:
    """Return the options that a script gives behind `#SBATCH` or `#PBS`."""
    lines = [line.partition(" ") for line in script.splitlines()]
    return [option for first, _, option in lines if first == mark]


def install_recorder(folder: Path, name: str, script: str) -> Path:
    """Put a command on the PATH that keeps its arguments, one a line, and then does the script.

    Returns the file of the arguments; each call ends with an empty line.
    """
    told = folder / f"{name}.told"
    install(folder, name, f"""printf '%s\\n' "$@" '' >>'{told}'\n{script}""")
    return told


def arguments(told: Path) -> list[list[str]]:
    """Return the arguments of each call of a command that keeps them."""
    return [call.splitlines() for call in told.read_text().split("\n\n") if call]
