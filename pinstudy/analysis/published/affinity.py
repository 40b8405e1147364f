"""What others published of the affinity experiments: single numbers, without deviations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import yaml

from pinstudy.analysis.published import FOLDER


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
    data = yaml.safe_load((FOLDER / "affinity.yaml").read_text(encoding="utf-8"))
    sources = data["sources"]
    return tuple(Published(**row | {"source": sources[row["source"]]}) for row in data[experiment])


def published_of(experiment: str, size: str, selection: str) -> Published | None:
    """Return what was published of a size and placement of an experiment."""
    return next(
        (
            row
            for row in published(experiment)
            if row.selection == selection and (size in row.sizes or not row.sizes)
        ),
        None,
    )


def published_rates() -> tuple[Published, Published]:
    """Return what was published of two threads left to chance, and of neighbours chosen well."""
    by_selection = {row.selection: row for row in published("pingpong")}
    return by_selection["all"], by_selection["neighbours"]


def sources_of(published: Iterable[Published | None]) -> str:
    """Return where these numbers are from, each source once."""
    return "; ".join(dict.fromkeys(row.source for row in published if row is not None))
