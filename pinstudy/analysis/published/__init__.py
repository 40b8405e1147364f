"""Results of publications that come with pinstudy: a folder each, with `summaries.csv` and source.

docs/published.md says what they hold, and what their publications do not state. Of the affinity
experiments others published single numbers, without deviations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pinstudy.base.decoding import Line, Text, converted
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, unknown_word

FOLDER = Path(__file__).resolve().parent
SOURCE = "source.yaml"


@dataclass(frozen=True)
class Publication:
    """A publication's results: their folder, and what must stand under their tables.

    `node` is what it says of its node, named as on a card. `deviations_unstated`: it does not say
    whether its deviations are standard deviations or standard errors.
    """

    folder: Path
    footnotes: tuple[str, ...]
    node: Mapping[str, Any]
    deviations_unstated: bool


class _Source(Struct, frozen=True, forbid_unknown_fields=True):
    """The file `source.yaml`: who published, what, where and when; then what limits the numbers."""

    title: Line
    remarks: Annotated[tuple[Text, ...], Meta(min_length=1)]
    node: dict[str, Any]
    deviations: Literal["standard deviations", "unstated"] = "standard deviations"


def names() -> tuple[str, ...]:
    """Return the names of the publications, sorted."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{SOURCE}")))


def publication(name: str) -> Publication:
    """Return a publication by its name.

    Raises UserError with the nearest one, or with what is wrong in its source.
    """
    if name not in names():
        raise UserError(unknown_word("published result", name, names()))
    # Whoever reads results only to look at them need not wait for the reader of YAML.
    import yaml

    folder = FOLDER / name
    path = folder / SOURCE
    try:
        source = converted(yaml.safe_load(path.read_text(encoding="utf-8")), _Source)
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{path}: {one_line(str(error))}") from None
    first, *others = source.remarks
    footnotes = (f"published by {source.title}; {first}", *others)
    return Publication(folder, footnotes, source.node, source.deviations == "unstated")


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
    import yaml

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
