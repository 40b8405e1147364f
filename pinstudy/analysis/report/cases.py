"""The table of means as the page shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

from pinstudy.analysis.format.table import Table

# A cell without a number; a note's marker may follow.
_ABSENT = re.compile(r"(n/a|-)( \(\w+\))?$")


def measured_columns(means: Table) -> Table:
    """Return a table of means without the columns in which nothing was measured, and their notes.

    The page says once why that is.
    """
    shown = [
        at
        for at in range(len(means.columns))
        if any(not _ABSENT.match(row[at]) for row in means.cells)
    ]
    cells = tuple(tuple(row[at] for at in shown) for row in means.cells)
    kept = tuple(means.columns[at] for at in shown)
    ends = {text.rpartition(" ")[2] for text in (*(column.name for column in kept), *chain(*cells))}
    notes = tuple(note for note in means.notes if not note[0] or f"({note[0]})" in ends)
    return replace(means, columns=kept, cells=cells, notes=notes)
