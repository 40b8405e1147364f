"""To pin or not to pin? The floors of pinstudy, and `load`, which gives results to notebooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinstudy.analysis.frames import LoadedResults


def load(source: str | os.PathLike[str]) -> LoadedResults:
    """Return results as pandas' frames: `load("results/quick").runs`, `.cases`, `.compare()`.

    `source` is a folder of results, a card, or `published:NAME`; docs/data.md. Raises
    pinstudy.base.errors.UserError when there are none.
    """
    # What runs while measuring imports this package, and no pandas.
    from pinstudy.analysis import frames

    return frames.load(source)
