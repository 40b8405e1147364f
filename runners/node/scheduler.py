"""The kernel's scheduler during a run: energy-aware scheduling, and a scheduler of sched_ext.

Both may be switched at any time, so that they belong to a run and not to its node. A governor
switches energy-aware scheduling (EAS): it is possible only while schedutil is in force, also on x86
hybrids without SMT (from Linux 6.16 on). A comparison of governors is then one of two schedulers,
too.

Sources: Linux Documentation/admin-guide/sysctl/kernel.rst, "sched_energy_aware" (empty reads since
commit 8f833c82); Documentation/scheduler/sched-energy.rst and sched-ext.rst.
"""

from __future__ import annotations

from base.reading import Reading
from runners.host.tree import Tree, Unavailable, reading_of

ENERGY_AWARE = "/proc/sys/kernel/sched_energy_aware"
SCHED_EXT = "/sys/kernel/sched_ext/state"
SCHED_EXT_NAME = "/sys/kernel/sched_ext/root/ops"
FILES = (ENERGY_AWARE, SCHED_EXT, SCHED_EXT_NAME)

ON, OFF, IMPOSSIBLE = "on", "off", "impossible"
_ENERGY_AWARE = {"1": ON, "0": OFF, "": IMPOSSIBLE}
# The state in which sched_ext has no scheduler, and the name that is recorded then.
DISABLED, NONE = "disabled", "none"


def read_scheduler(tree: Tree) -> Reading:
    """Return the scheduler's state, as fields of a run's record.

    `sched_energy_aware` is ON, OFF, or IMPOSSIBLE where the kernel says that it cannot be on now;
    `sched_ext` is the state of sched_ext, and `sched_ext_scheduler` the name of what it has loaded
    or NONE.
    """
    state = tree.word(SCHED_EXT)
    return reading_of(
        {
            "sched_energy_aware": _energy_aware(tree),
            "sched_ext": state,
            "sched_ext_scheduler": NONE if state == DISABLED else tree.word(SCHED_EXT_NAME),
        }
    )


def _energy_aware(tree: Tree) -> str | Unavailable:
    content = tree.content(ENERGY_AWARE)
    if isinstance(content, Unavailable):
        return content
    unknown = Unavailable(f"{ENERGY_AWARE} holds neither 0 nor 1 and is not empty")
    return _ENERGY_AWARE.get(content.strip(), unknown)
