"""Out of the working directory for a moment: it may be a results folder that anybody has filled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runners.host.software import ROOT


@contextmanager
def elsewhere() -> Iterator[None]:
    """Have pinstudy's own folder as working directory until the end of the block.

    For what looks into the working directory first: a new interpreter for modules (python -c),
    matplotlib for its settings (matplotlib.matplotlib_fname).
    """
    try:
        here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # Not even its user may look into it.
        yield
        return
    try:
        os.chdir(ROOT)
        yield
    finally:
        os.fchdir(here)
        os.close(here)
