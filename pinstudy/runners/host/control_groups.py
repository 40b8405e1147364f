"""Control groups: those that this process is in, and cpuset partitions, which divide the CPUs.

Threads outside of a partition may not use its CPUs, and those in it no others. The scheduler moves
threads within a partition of type `root`; between the CPUs of an `isolated` one it moves none, as
with the boot option `isolcpus`. Linux has `isolated` from 6.1 on, and tells all CPUs of such
partitions from 6.8 on in the root group alone, which a container does not see, and from 7.0 on in
/sys/devices/system/cpu/isolated. So each group is asked: those that this process is in, and those
below the root group, where partitions are made by hand or by systemd. A partition that the kernel
could not make or keep reads `isolated invalid (REASON)`, and is none.

Sources: Linux Documentation/admin-guide/cgroup-v2.rst, "cpuset.cpus.partition";
kernel/cgroup/cpuset.c; cgroups(7), "/proc/[pid]/cgroup".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pinstudy.base.reading import known
from pinstudy.runners.host.tree import Tree

OWN_GROUPS = "/proc/self/cgroup"
GROUPS = "/sys/fs/cgroup"
_MAX_LEVELS = 32
# No node has more below its root group; of more, only the first are asked.
_MAX_GROUPS = 1000

ROOT, ISOLATED = "root", "isolated"


@dataclass(frozen=True)
class Partition:
    """A valid cpuset partition: its type, ROOT or ISOLATED, and the CPUs of its own tasks.

    `own` is whether this process is in it.
    """

    type: str
    cpus: tuple[int, ...]
    own: bool


def own_directories(tree: Tree) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield the directories of this process's group and of all above it, the deepest first.

    With the controllers of the hierarchy, none for version 2. A group outside of the cgroup
    namespace is shown with `..`; its files are not visible.
    """
    for line in (known(tree.text(OWN_GROUPS)) or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        steps = [step for step in path.split("/") if step not in ("", "..")][:_MAX_LEVELS]
        unified = number == "0" and not controllers
        base = GROUPS if unified else f"{GROUPS}/{controllers}"
        levels = ["/".join([base, *steps[:depth]]) for depth in range(len(steps), -1, -1)]
        yield (() if unified else tuple(controllers.split(","))), levels


def read_partitions(tree: Tree) -> tuple[Partition, ...]:
    """Return the cpuset partitions that can be seen; none where groups have version 1 alone."""
    own = next((levels for controllers, levels in own_directories(tree) if not controllers), [])
    below = [f"{GROUPS}/{name}" for name in (known(tree.names(GROUPS)) or ())[:_MAX_GROUPS]]
    found = []
    inside = False
    for directory in dict.fromkeys([*own, *below]):
        kind = known(tree.text(f"{directory}/cpuset.cpus.partition"))
        if kind not in (ROOT, ISOLATED):
            continue
        # The nearest partition above this process is the one that it is in.
        is_own = directory in own and not inside
        inside = inside or is_own
        cpus = known(tree.cpulist(f"{directory}/cpuset.cpus.effective")) or ()
        found.append(Partition(kind, cpus, is_own))
    return tuple(found)
