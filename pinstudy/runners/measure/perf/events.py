"""The events of a run, the core PMUs that count them, and the `perf stat` command for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base.errors import UserError
from pinstudy.base.files import read_descriptor
from pinstudy.base.reading import known
from pinstudy.configs.event import event_problem
from pinstudy.runners.host.privileges import root_helper
from pinstudy.runners.host.tree import TEXT_LIMIT, Tree
from pinstudy.runners.node.core_kinds.pmus import EVENT_SOURCES, core_pmus
from pinstudy.runners.node.cpuinfo import first_block, is_guest
from pinstudy.runners.node.topology import CoreKind
from pinstudy.runners.records.perf.output import split_event
from pinstudy.runners.records.perf.scaling import (
    ARM_NAMES,
    SOFTWARE_EVENTS,
    TOOL_EVENTS,
    X86_NAMES,
    canonical_event,
)

# task-clock shows how long all events were enabled: without it no count can be unscaled. cycles
# and instructions have counters of their own on Intel and ARM; only cache-misses takes a
# programmable counter. cache-references would take another, for a ratio whose meaning depends on
# the core kind (an LLC miss of a core without L3 is an L2 miss): studies may add it.
HARDWARE_EVENTS = ("cycles", "instructions", "cache-misses")
DEFAULT_EVENTS = (
    *("task-clock", "context-switches", "cpu-migrations", "page-faults"),
    *HARDWARE_EVENTS,
)

# Gracemont and Crestmont have 6 programmable counters, Golden Cove 8 (Linux
# arch/x86/events/intel/core.c); the kernel's NMI watchdog may hold one of them.
MAX_PROGRAMMABLE = 5
_FIXED = frozenset({"cycles", "instructions", "ref-cycles", "slots"})

# Stands in perf's command for the file that PerfStat reads.
OUTPUT = "{output}"
_STATUS = "/proc/self/status"

# --control and -D -1 came with this version.
OLDEST_PERF = (5, 10)

# linux/capability.h
_CAP_SYS_ADMIN = 21
_CAP_PERFMON = 38


@dataclass(frozen=True)
class PerfPermission:
    """What this process may count; `paranoid` is None where the kernel has no perf events."""

    paranoid: int | None
    admin: bool
    perfmon: bool

    @property
    def forbidden(self) -> bool:
        """Whether nothing may be counted: no perf events, or level 3 and above (Debian, Ubuntu)."""
        return self.paranoid is None or (self.paranoid >= 3 and not self.admin)

    @property
    def user_only(self) -> bool:
        """Whether only user mode may be counted (Documentation/admin-guide/sysctl/kernel.rst)."""
        return (self.paranoid or 0) >= 2 and not (self.admin or self.perfmon)


def read_permission(root: Path) -> PerfPermission:
    """Return what the process may count, from `kernel.perf_event_paranoid` and capabilities."""
    tree = Tree(root)
    capabilities = _effective_capabilities(tree)
    return PerfPermission(
        known(tree.integer("/proc/sys/kernel/perf_event_paranoid")),
        admin=bool(capabilities >> _CAP_SYS_ADMIN & 1),
        perfmon=bool(capabilities >> _CAP_PERFMON & 1),
    )


def _effective_capabilities(tree: Tree) -> int:
    # Root in a container may lack capabilities, and a user may have them: uid 0 is no criterion.
    helper = root_helper() if tree.live else None
    if helper and helper.program("perf"):
        # It is root's part that starts perf.
        status = read_descriptor(helper.opened(_STATUS), TEXT_LIMIT).decode("utf-8", "replace")
    else:
        status = known(tree.content(_STATUS)) or ""
    found = re.search(r"^CapEff:\s*([0-9a-f]{1,16})$", status, re.MULTILINE)
    return int(found[1], 16) if found else 0


def read_core_pmus(root: Path) -> dict[str, tuple[int, ...] | None]:
    """Return the CPUs of each core PMU of the node whose files are under `root`, by its name.

    A core PMU is named `cpu` or lists its CPUs in a file `cpus`: the rule of perf itself
    (tools/perf/util/pmu.c, is_pmu_core). Without a list (None) it is the only one and covers all
    CPUs. A PMU whose list is empty is left out: all its cores are disabled. Guests often have none.
    """
    tree = Tree(root)
    found: dict[str, tuple[int, ...] | None] = {
        name: cpus for name, (_, cpus) in core_pmus(tree).items() if cpus
    }
    if tree.is_directory(f"{EVENT_SOURCES}/cpu"):
        found.setdefault("cpu", None)
    return dict(sorted(found.items()))


def events_by_pmu(root: Path) -> dict[str, tuple[str, ...]]:
    """Return the events that perf must open on each PMU by name, with their names there.

    On big.LITTLE perf 6.1 opens a plain `cycles` on one of the PMUs only. A perf that has its
    usual events as JSON opens it on every PMU that lists one, also on those of interconnects
    (`nvidia_scf_pmu_0/cycles/`: facebookresearch/DCPerf, pull request 752). Every perf understands
    the PMU's own name. Events that no core PMU lists are left out, and so are those of Intel's
    hybrids, which perf itself splits, and of ARM's only core PMU where no other PMU has the event.
    """
    tree = Tree(root)
    listed = {
        pmu: known(tree.names(f"{EVENT_SOURCES}/{pmu}/events")) or ()
        for pmu in read_core_pmus(root)
    }
    usual = X86_NAMES if list(listed) == ["cpu"] else ARM_NAMES
    found = {
        event: tuple(f"{pmu}/{name}/" for pmu, names in listed.items() if name in names)
        for event, name in usual.items()
    }
    alone = len(listed) == 1 and usual is ARM_NAMES
    return {
        event: names
        for event, names in found.items()
        if names and (not alone or _is_of_another(tree, event, listed))
    }


def _is_of_another(tree: Tree, event: str, core: Collection[str]) -> bool:
    """Whether a PMU that is no core's lists an event of this name."""
    pmus = known(tree.names(EVENT_SOURCES)) or ()
    files = (f"{EVENT_SOURCES}/{pmu}/events/{event}" for pmu in pmus if pmu not in core)
    return any(known(tree.text(file)) for file in files)


def kinds_of_pmus(
    pmus: Mapping[str, Iterable[int] | None],
    kinds: Sequence[CoreKind],
    allowed: Collection[int] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Return for each PMU the names of the core kinds whose cycles it counts, best kind first.

    One PMU may cover two kinds: LP-E cores of most Intel parts are counted by `cpu_atom`, and AMD
    has one PMU for all. `allowed` are the CPUs that the program may use, None for all: a kind
    without any of them is left out if another kind of the same PMU has some, because only that one
    can have been counted. `kinds` are ordered as in `pinstudy.runners.node.topology.Topology`.
    """
    named: dict[str, tuple[str, ...]] = {}
    for pmu, listed in pmus.items():
        covered = {
            kind.name: set(kind.cpus).intersection(kind.cpus if listed is None else listed)
            for kind in kinds
        }
        counted = [name for name, cpus in covered.items() if cpus]
        reachable = [name for name in counted if not covered[name].isdisjoint(allowed or ())]
        named[pmu] = tuple(reachable or counted)
    return named


def unsupported_reason(root: Path) -> str:
    """Return, in a few words, why a node does not support a hardware event of perf's."""
    if read_core_pmus(root):
        return "its counters do not have this event"
    if is_guest(first_block(Tree(root))):
        return "no hardware PMU in this virtual machine"
    return "the kernel has no driver for this CPU's counters"


def event_list(
    extra: Iterable[str] = (),
    user_only: bool = False,
    by_pmu: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the text for perf's `-e`: the default events, then a study's own, each once.

    Those in `by_pmu` (`events_by_pmu`) are replaced by their names on each
    PMU. With `user_only`, events without modifiers are restricted to user mode explicitly; perf
    would do so silently. Raises UserError for a text that is no event.
    """
    requested = dict.fromkeys(map(canonical_event, (*DEFAULT_EVENTS, *extra)))
    names = [name for event in requested for name in (by_pmu or {}).get(event, (event,))]
    for name in names:
        if problem := event_problem(name):
            raise UserError(problem)
    return ",".join(_in_user_mode(name) if user_only else name for name in names)


def too_many_events(extra: Iterable[str]) -> str:
    """Return a warning when a study's events cannot all be counted at once, else empty."""
    bare = {canonical_event(split[1]) for name in extra if (split := split_event(name))}
    in_software = {name for name in bare if name in SOFTWARE_EVENTS | TOOL_EVENTS or ":" in name}
    programmable = (bare | set(HARDWARE_EVENTS)) - _FIXED - in_software
    if len(programmable) <= MAX_PROGRAMMABLE:
        return ""
    return (
        f"{len(programmable)} events need a programmable counter ({', '.join(sorted(programmable))}"
        f"): more than {MAX_PROGRAMMABLE} are multiplexed on E-cores and have no totals; "
        "make several studies of them"
    )


def _in_user_mode(name: str) -> str:
    split = split_event(name)
    if split is None or split[2]:
        return name
    return f"{name}u" if name.endswith("/") else f"{name}:u"


def perf_command(perf: str, events: str) -> tuple[str, ...]:
    """Return the command that counts these events, for a PerfStat, which adds what is counted."""
    return (perf, "stat", "-x", ";", "-o", OUTPUT, "-e", events)


def parse_perf_version(text: str) -> tuple[int, int] | None:
    """Return the major and minor version in the output of `perf --version`, or None."""
    match = re.search(r"^perf version (\d{1,4})\.(\d{1,4})", text, re.MULTILINE | re.ASCII)
    return (int(match[1]), int(match[2])) if match else None
