"""What tests ask of batch systems: a queue, a job, and commands that keep what they were told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pinstudy.configs.site import Queue
from pinstudy.runners.batch_systems.script import WORKER, Job
from tests.runners.fake_commands import install


def queue_of(system: str, **keys: Any) -> Queue:  # noqa: ANN401
    """Return a queue of two hours on nodes of eight CPUs."""
    return Queue(**{"system": system, "time_limit_s": 7200.0, "cpus": 8, **keys})


def job_of(folder: Path, **keys: Any) -> Job:  # noqa: ANN401
    """Return a job whose worker prints its number; its logs are in `logs` below the folder."""
    made = Job("quick", 0, 1, ("/bin/echo", "worker", WORKER), folder, folder / "logs")
    return replace(made, **keys)


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
