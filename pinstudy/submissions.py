"""The submissions of the study that a command names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from base.errors import UserError

if TYPE_CHECKING:
    from runners.batch.submission import Submission


def submitted_studies(results: Path) -> list[str]:
    """Return the names of the studies that were submitted, sorted; raises UserError without any."""
    from runners.batch.submission import FILE, FOLDER

    found = sorted({path.parents[2].name for path in results.glob(f"*/{FOLDER}/*/{FILE}")})
    if not found:
        raise UserError(f"nothing was submitted to {results}; `pinstudy submit STUDY` does it")
    return found


def submissions_named(study: str, results: Path) -> list[Submission]:
    """Return the submissions of a study, given by its name or file, oldest first.

    The study's file need not exist any more. Raises UserError when there are none.
    """
    from runners.batch.submission import submissions_of

    name = Path(study).stem if study.endswith((".yaml", ".yml")) else Path(study).name
    found = submissions_of(results / name)
    if not found:
        raise UserError(
            f"study {name} has no submissions in {results}; make one with `pinstudy submit`, or "
            "name its results with --results"
        )
    return found
