"""Intel's ITMT ("Turbo Boost Max 3.0"): the scheduler prefers the cores of a higher rank."""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.scheduler import ITMT, itmt_file, read_itmt
from pinstudy.runners.settings.setting import Present, Switch


class Itmt(Switch):
    """Whether faster cores are preferred."""

    name = "itmt"
    title = "ITMT"
    paths = re.compile("|".join(map(re.escape, ITMT)))

    def path(self, tree: Tree) -> str:
        """Return the file, which has two paths."""
        return itmt_file(tree)

    def read(self, now: Present) -> str | Unavailable:
        return read_itmt(now.tree)
