"""The node's core PMUs: which counters belong to which CPUs, and to which core kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from configs.cpulist import parse_cpulist
from runners.topology import CoreKind

PMU_FOLDER = "sys/bus/event_source/devices"


@dataclass(frozen=True)
class CorePmu:
    """A PMU that counts what cores do; `cpus` is None when it is the only one, for all CPUs."""

    name: str
    cpus: tuple[int, ...] | None


def read_core_pmus(root: Path) -> tuple[CorePmu, ...]:
    """Return the core PMUs of the node whose files are under `root`, by name; none in many guests.

    A core PMU is named `cpu`, or has a file `cpus` (an uncore PMU has `cpumask` instead): the rule
    of perf itself, tools/perf/util/pmu.c, is_pmu_core(). A hybrid CPU whose cores of one kind are
    all disabled still registers that kind's PMU, with an empty list: it is left out.
    """
    found = []
    try:
        folders = sorted((root / PMU_FOLDER).iterdir())
    except OSError:
        return ()
    for folder in folders:
        try:
            cpus = parse_cpulist((folder / "cpus").read_text())
        except FileNotFoundError:
            if folder.name == "cpu":
                found.append(CorePmu("cpu", None))
            continue
        except (OSError, ValueError):
            continue
        if cpus:
            found.append(CorePmu(folder.name, cpus))
    return tuple(found)


def kinds_of_pmus(
    pmus: Iterable[CorePmu], kinds: Sequence[CoreKind], allowed: Iterable[int] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return for each PMU the names of the core kinds whose cycles it counts, best kind first.

    One PMU may cover two kinds: LP-E cores of most Intel parts are counted by `cpu_atom`, and AMD
    has one PMU for all. When the program may only use some CPUs (`allowed`), a kind that has none
    of them is not named where another kind of the same PMU has: only that one can have been
    counted. `kinds` are ordered as in `runners.topology.Topology`.
    """
    usable = None if allowed is None else set(allowed)
    named: dict[str, tuple[str, ...]] = {}
    for pmu in pmus:
        covered = [kind for kind in kinds if pmu.cpus is None or set(pmu.cpus) & set(kind.cpus)]
        if usable is not None:
            reachable = [kind for kind in covered if _meets(kind, pmu, usable)]
            covered = reachable or covered
        named[pmu.name] = tuple(kind.name for kind in covered)
    return named


def _meets(kind: CoreKind, pmu: CorePmu, usable: set[int]) -> bool:
    return any(cpu in usable and (pmu.cpus is None or cpu in pmu.cpus) for cpu in kind.cpus)


def why_unsupported(root: Path) -> str:
    """Return, in a few words, why a node refuses a hardware event that perf knows."""
    if read_core_pmus(root):
        return "its counters do not have this event"
    if in_virtual_machine(root):
        return "no hardware PMU in this virtual machine"
    return "the kernel has no driver for this CPU's counters"


def in_virtual_machine(root: Path) -> bool:
    """Whether the CPU says that it runs under a hypervisor (x86: CPUID.1:ECX[31])."""
    return "hypervisor" in read_cpuinfo(root).get("flags", "").split()


def read_cpuinfo(root: Path) -> Mapping[str, str]:
    """Return the fields of the first processor in /proc/cpuinfo; empty when it cannot be read."""
    try:
        first = (root / "proc/cpuinfo").read_text(errors="replace").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
