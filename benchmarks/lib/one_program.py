"""A study of one program, as benchmarks make theirs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml


def write_study(
    folder: Path,
    name: str,
    command: Sequence[str],
    mappings: Sequence[str | dict[str, Any]],
    repetitions: int,
    **more: Any,  # noqa: ANN401 - keys of a study file
) -> Path:
    """Write a study of a command with one thread, and its app beside it; return its path.

    It has no warm-up runs unless `more`, further keys of the study, says so.
    """
    program, *arguments = command
    app = {
        "title": "a program of which only the time counts",
        "builds": {"plain": {"program": program, "runtime": "none"}},
        "sizes": {"only": {"arguments": shlex.join(arguments)}},
    }
    choice = {"app": "program", "builds": "plain", "sizes": "only", "threads": 1}
    study = {
        "title": "a study of a benchmark",
        "apps": [choice],
        "mappings": list(mappings),
        "governors": "current",
        "repetitions": repetitions,
        "warmup": 0,
    }
    path = folder / f"{name}.yaml"
    (folder / "apps").mkdir(parents=True)
    (folder / "apps" / "program.yaml").write_text(yaml.safe_dump(app, sort_keys=False))
    path.write_text(yaml.safe_dump(study | more, sort_keys=False))
    return path
