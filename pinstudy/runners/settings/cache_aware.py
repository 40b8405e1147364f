"""Cache-aware scheduling: threads that share data are put near each other.

It is in Linux from 7.2 on, with CONFIG_SCHED_CACHE; its switch is in debugfs, for root alone.
"""

from __future__ import annotations

import re

from pinstudy.base.reading import Unavailable
from pinstudy.runners.node.scheduler import CACHE_AWARE, read_cache_aware
from pinstudy.runners.settings.setting import Present, Switch


class CacheAware(Switch):
    """Whether the scheduler is cache-aware."""

    name = "cache_aware"
    title = "cache-aware scheduling"
    file = CACHE_AWARE
    paths = re.compile(re.escape(file))

    def read(self, now: Present) -> str | Unavailable:
        return read_cache_aware(now.tree)
