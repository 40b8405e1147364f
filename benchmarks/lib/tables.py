"""Tables in Markdown, as benchmarks print them and benchmarks/RESULTS.md keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, its first column to the left and the others, numbers, to the right.

    Cells are shown as they are given: whoever makes them decides on digits and units.
    """
    align = ("left", *["right"] * (len(header) - 1))
    return tabulate(
        [list(row) for row in rows],
        headers=list(header),
        tablefmt="pipe",
        colalign=align,
        disable_numparse=True,
    )
