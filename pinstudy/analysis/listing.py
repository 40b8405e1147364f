"""The results below a folder, each in one row: how many runs, how many lost, decided or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pinstudy.analysis.advice.build import advice_of
from pinstudy.analysis.answer import is_decided
from pinstudy.analysis.results.sources import Results, has_results, open_results
from pinstudy.base.errors import UserError

# `<study>/<node>`, and folders of imported results.
_DEPTHS = ("*", "*/*")


@dataclass(frozen=True)
class ListedResults:
    """One folder of results; `day` is that of its last run, in UTC, empty where nobody knows.

    `runs` are all that count, `lost` those of them that are not averaged. `problem` is why it
    cannot be read; the numbers are None then.
    """

    results: str
    study: str
    node: str
    day: str = ""
    runs: int | None = None
    lost: int | None = None
    decided: bool | None = None
    problem: str = ""


def list_results(folder: Path) -> list[ListedResults]:
    """Return the results below a folder, by name; what is no results folder is left out."""
    found = {path for depth in _DEPTHS for path in folder.glob(depth) if has_results(path)}
    return [_row(path, folder) for path in sorted(found)]


def _row(path: Path, folder: Path) -> ListedResults:
    study, _, node = str(path.relative_to(folder)).partition("/")
    try:
        results = open_results(str(path))
        decided = _is_decided(results)
    except UserError as error:
        return ListedResults(str(path), study, node, problem=str(error))
    lost = sum(case.lost.count for case in results.cases)
    # Runs that lack a proof of their placement are averaged, and lost all the same.
    made = sum(case.lost.made or 0 for case in results.cases)
    day = results.days[1] if results.days else ""
    return ListedResults(str(path), study, node, day, made, lost, decided)


def _is_decided(results: Results) -> bool:
    """Return whether every comparison is decided, or the race that these are."""
    if results.runs is not None and results.runs.raced:
        advice = advice_of(results)
        return advice is not None and advice.recommended is not None
    return is_decided(results)
