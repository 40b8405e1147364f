"""Intel's ITMT ("Turbo Boost Max 3.0"): the scheduler prefers the cores of a higher rank."""

from __future__ import annotations

import re

from base.reading import Unavailable
from runners.host.tree import Tree
from runners.node.scheduler import ITMT, itmt_file, read_itmt
from runners.settings.setting import Present
from runners.settings.switch import Switch


class Itmt(Switch):
    """Whether faster cores are preferred."""

    name = "itmt"
    title = "ITMT"
    paths = re.compile("|".join(map(re.escape, ITMT)))

    def path(self, tree: Tree) -> str:
        """Return the file, which has two paths."""
        return itmt_file(tree)

    def read(self, now: Present) -> str | Unavailable:
        """Return ON or OFF."""
        return read_itmt(now.tree)
