"""How long the CPU quota of a control group kept a program from running.

A quota (cgroup v2 `cpu.max`, v1 `cpu.cfs_quota_us`; containers have one) stops all threads of a
group for the rest of a period, even if CPUs are free. Sources: Linux Documentation/admin-guide/
cgroup-v2.rst, `cpu.stat`, and Documentation/scheduler/sched-bwc.rst.
"""

from __future__ import annotations

import re

from base.reading import Reading
from runners.host.tree import Tree, Unavailable
from runners.measure.meter import BeforeAfterMeter

OWN = "/proc/self/cgroup"
GROUPS = "/sys/fs/cgroup"
# The fields of `cpu.stat`, with their unit in seconds: cgroup version 2, then version 1.
_UNITS = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
_STAT = re.compile(rf"^({'|'.join(_UNITS)}) ([0-9]{{1,20}})$", re.MULTILINE)
_FIELD = "quota_throttled_s"
_MAX_LEVELS = 32


class QuotaMeter(BeforeAfterMeter[dict[str, float]]):
    """Measures the throttled time that a run adds; one meter serves many runs.

    The program is in pinstudy's own group, and every group above that may have a quota too.
    """

    def __init__(self, tree: Tree) -> None:
        super().__init__({})
        self._tree = tree
        self._files = stat_files(tree)

    def reading(self) -> Reading:
        """Return `quota_throttled_s`: the longest time of all levels in seconds, CPUs added up.

        The kernel adds up the time that each CPU's run queue of the group was stopped
        (kernel/sched/fair.c, unthrottle_cfs_rq).
        """
        both = self._before.keys() & self._after.keys()
        if not both:
            return Reading({}, {_FIELD: f"no control group of {OWN} counts throttled CPU time"})
        grown_s = max(self._after[path] - self._before[path] for path in both)
        if grown_s < 0:
            return Reading({}, {_FIELD: "the control groups' throttled time went back"})
        return Reading({_FIELD: round(grown_s, 6)})

    def _read(self) -> dict[str, float]:
        found = {}
        for path in self._files:
            text = self._tree.text(path)
            match = None if isinstance(text, Unavailable) else _STAT.search(text)
            if match:
                found[path] = int(match[2]) * _UNITS[match[1]]
        return found


def stat_files(tree: Tree) -> list[str]:
    """Return the paths of `cpu.stat` for this process's group and all above it, either version."""
    text = tree.text(OWN)
    found = []
    for line in () if isinstance(text, Unavailable) else text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # A group outside the cgroup namespace is shown with `..`; its files are not visible.
        steps = [step for step in path.split("/") if step not in ("", "..")][:_MAX_LEVELS]
        if number == "0" and not controllers:
            base = GROUPS
        elif "cpu" in controllers.split(","):
            base = f"{GROUPS}/{controllers}"
        else:
            continue
        levels = ("/".join([base, *steps[:depth]]) for depth in range(len(steps), -1, -1))
        found += [f"{level}/cpu.stat" for level in levels]
    return found
