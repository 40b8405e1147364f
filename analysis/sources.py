"""Where results are from: a results folder with records, one with summaries, or a publication."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.frame import Runs, read_runs
from analysis.one_node import check_one_node, check_one_program
from analysis.published import publication
from analysis.remarks import folder_remarks
from analysis.summaries import FILE, read_summaries
from analysis.summary import summarise
from base.errors import UserError

PUBLISHED = "published:"


@dataclass(frozen=True)
class Results:
    """Results by case, and by run where there are runs.

    `name` is what people call them; `folder` is where they are and files about them belong, None
    for a publication's. `cases` has the columns of `analysis.summary.summarise`; `remarks` have to
    stand under each of their tables.
    """

    name: str
    folder: Path | None
    runs: Runs | None
    cases: pd.DataFrame
    remarks: tuple[str, ...]

    @property
    def is_published(self) -> bool:
        """Whether these are a publication's results."""
        return self.folder is None


def open_results(source: str) -> Results:
    """Return the results in a folder, or those of `published:NAME`.

    The folder may be that of a study with one node. Raises UserError when there are no results,
    those of several nodes or studies, of a node or program that changed, or when they cannot be
    read.
    """
    only, *more = sources_below(source)
    if more:
        raise UserError(
            f"{source}: holds the results of several nodes or studies; name one of them: "
            f"{', '.join([only, *more])}"
        )
    if only.startswith(PUBLISHED):
        return _published(only.removeprefix(PUBLISHED))
    folder = Path(only)
    if (folder / FILE).exists():
        return _summaries(folder)
    runs = read_runs(folder)
    check_one_node(runs.frame, folder)
    check_one_program(runs.frame, folder)
    remarks = tuple(folder_remarks(runs, folder))
    return Results(str(folder), folder, runs, summarise(runs), remarks)


def sources_below(source: str) -> list[str]:
    """Return a source of results itself, or those in a folder of studies or nodes, sorted.

    Raises UserError when there are none.
    """
    folder = Path(source)
    if source.startswith(PUBLISHED) or _holds_results(folder):
        return [source]
    for depth in ("*", "*/*"):
        found = sorted(str(path) for path in _glob(folder, depth) if _holds_results(path))
        if found:
            return found
    raise UserError(
        f"{source}: no results here (expected a folder such as results/quick/mynode with "
        f"records/*.jsonl or {FILE}, or {PUBLISHED}NAME); make some with `pinstudy run quick`"
    )


def _holds_results(folder: Path) -> bool:
    try:
        return (folder / "records").is_dir() or (folder / FILE).is_file()
    except ValueError:  # a NUL in the name
        return False


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except (OSError, ValueError):
        return []


def folders_for(results: str, into: Path | None) -> list[tuple[str, Path | None]]:
    """Return the sources below `results` with where files about each go; None: beside the records.

    Several sources get folders of their own below `into`, named as below `results`. Raises
    UserError when there are no sources.
    """
    sources = sources_below(results)
    if into is None or len(sources) == 1:
        return [(source, into) for source in sources]
    return [(source, into / Path(source).relative_to(results)) for source in sources]


def _published(name: str) -> Results:
    source = publication(name)
    cases = read_summaries(source.folder / FILE, "the publication does not give it")
    return Results(f"{PUBLISHED}{name}", None, None, cases, source.remarks)


def _summaries(folder: Path) -> Results:
    if any((folder / "records").glob("*.jsonl")):
        raise UserError(
            f"{folder}: holds runs (records/) and means without runs ({FILE}); move one of them to "
            "a folder of its own"
        )
    cases = read_summaries(folder / FILE, f"not in the imported {FILE}")
    remark = f"means and deviations that were imported ({FILE}), without their runs"
    return Results(str(folder), folder, None, cases, (remark,))
