"""Numbers that others published of the same experiments: single ones, without deviations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import yaml

from analysis.published import FOLDER
from analysis.verdict.model import CaseFinding

FILE = "affinity.yaml"
# The selection of the two CPUs that were chosen well; others were left to chance (`all`).
NEIGHBOURS = "neighbours"


@dataclass(frozen=True)
class Published:
    """What was published of one placement; None where the publication does not give it.

    `sizes` are the names of our sizes that ask for the same; empty where there are none. Times are
    in ms, rates a second, `slowdown` is against one thread alone.
    """

    threads: int
    selection: str
    source: str
    sizes: Sequence[str] = ()
    time_ms: float | None = None
    alone_ms: float | None = None
    slowdown: float | None = None
    l1d_miss_rate: float | None = None
    rate_per_s: float | None = None


@cache
def published(experiment: str) -> tuple[Published, ...]:
    """Return what was published of an experiment, by its program's name."""
    data = yaml.safe_load((FOLDER / FILE).read_text(encoding="utf-8"))
    sources = data["sources"]
    return tuple(Published(**row | {"source": sources[row["source"]]}) for row in data[experiment])


def published_of(experiment: str, size: str, selection: str) -> Published | None:
    """Return what was published of a size and placement of an experiment."""
    return next(
        (
            one
            for one in published(experiment)
            if one.selection == selection and (size in one.sizes or not one.sizes)
        ),
        None,
    )


def published_for(experiment: str, case: CaseFinding) -> Published | None:
    """Return what was published of a case's size, threads and placement: pinned, or left alone."""
    summary = case.summary
    selection, binding = str(summary.selection), summary.binding
    if binding != ("none" if selection == "all" else "pin"):
        return None
    found = published_of(experiment, str(summary.table.size), selection)
    return found if found is not None and found.threads == summary.table.threads else None


def sources_of(found: Iterable[Published | None]) -> str:
    """Return where these numbers are from, each source once."""
    return "; ".join(dict.fromkeys(one.source for one in found if one is not None))
