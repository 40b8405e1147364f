"""Cache-aware scheduling: threads that share data are put near each other.

It is in Linux from 7.2 on, with CONFIG_SCHED_CACHE; its switch is in debugfs, for root alone.
"""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.scheduler import CACHE_AWARE, read_cache_aware
from pinstudy.runners.settings.setting import Present, Switch


class CacheAware(Switch):
    """Whether the scheduler is cache-aware."""

    name = "cache_aware"
    title = "cache-aware scheduling"
    paths = re.compile(re.escape(CACHE_AWARE))

    def path(self, tree: Tree) -> str:
        """Return the switch in debugfs."""
        return CACHE_AWARE

    def read(self, now: Present) -> str | Unavailable:
        """Return ON or OFF."""
        return read_cache_aware(now.tree)
