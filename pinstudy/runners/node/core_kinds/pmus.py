"""Evidence from the kernel's core PMUs: a hybrid node has one for each core type, with its CPUs.

Intel nodes have cpu_core, cpu_atom and, on Arrow Lake-H, cpu_lowpower (Linux
arch/x86/events/intel/core.c); ARM has one for each core type. A list is empty when all CPUs of its
type are offline (kernel commit f83d2f91d259), so a hybrid node has two lists that are not empty.
"""

from __future__ import annotations

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.core_kinds.finding import Finding, NodeView, atom_kinds
from pinstudy.runners.node.core_kinds.ranking import ranked_kinds
from pinstudy.runners.node.topology import CoreKind

DEVICES = "/sys/devices"
EVENT_SOURCES = "/sys/bus/event_source/devices"
CORE, ATOM, LOW_POWER = INTEL_PMUS = ("cpu_core", "cpu_atom", "cpu_lowpower")


def core_pmus(tree: Tree) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return by PMU name the file of each core PMU and the CPUs that it lists, maybe none."""
    found = {}
    names = [*INTEL_PMUS]
    listed = tree.names(EVENT_SOURCES)
    if not isinstance(listed, Unavailable):
        # Uncore PMUs, hundreds on servers, have a cpumask instead of cpus.
        names += [name for name in listed if not name.startswith("uncore_")]
    for name in dict.fromkeys(names):
        for directory in (DEVICES, EVENT_SOURCES):
            cpus = tree.cpulist(f"{directory}/{name}/cpus")
            if not isinstance(cpus, Unavailable):
                found[name] = (f"{directory}/{name}/cpus", cpus)
                break
    return found


def by_core_pmus(view: NodeView) -> Finding:
    """Tell kinds by the lists of the core PMUs, where these cover the online CPUs."""
    lists, contradiction = _usable_lists(view)
    if contradiction or not lists:
        return Finding(fact="no core PMU lists its CPUs", note=contradiction)
    evidence = {name: _sentence(name, *listed) for name, listed in lists.items()}
    if not set(lists).intersection(INTEL_PMUS):
        if len(lists) == 1:
            return Finding(fact=f"one core PMU covers all CPUs ({next(iter(lists.values()))[0]})")
        return ranked_kinds(view, {evidence[name]: cpus for name, (_, cpus) in lists.items()})
    kinds: list[CoreKind] = []
    if CORE in lists:
        kinds.append(CoreKind("P", lists[CORE][1], evidence[CORE]))
    if ATOM in lists:
        kinds += atom_kinds(view, lists[ATOM][1], evidence[ATOM])
    if LOW_POWER in lists:
        low_power = [CoreKind("LP-E", lists[LOW_POWER][1], evidence[LOW_POWER])]
        # cpu_atom may list LP-E-cores, too.
        low_power += [kind for kind in kinds if kind.name == "LP-E"]
        cpus = tuple(sorted(cpu for kind in low_power for cpu in kind.cpus))
        sources = "; ".join(kind.evidence for kind in low_power)
        kinds = [kind for kind in kinds if kind.name != "LP-E"] + [CoreKind("LP-E", cpus, sources)]
    return Finding(tuple(kinds))


def cores_of_pmus(view: NodeView) -> tuple[int, ...] | None:
    """Return the online CPUs that the kernel calls Cores; None where no list of Intel's tells.

    It asks each CPU for leaf 0x1A (Linux arch/x86/events/intel/core.c, init_hybrid_pmu).
    """
    lists, _ = _usable_lists(view)
    if set(lists).isdisjoint(INTEL_PMUS):
        return None
    return lists[CORE][1] if CORE in lists else ()


def by_absence_from_pmus(view: NodeView) -> Finding:
    """Tell E-cores by their absence from cpu_core's list, where no other list has them.

    The last resort: the kernel lists every online CPU with the PMU of its type, so a CPU that is
    not in cpu_core's list is of another type even if the other list is empty or missing.
    """
    path, cpus = core_pmus(view.tree).get(CORE, ("", ()))
    core = tuple(cpu for cpu in view.online if cpu in set(cpus))
    rest = tuple(cpu for cpu in view.online if cpu not in set(cpus))
    if not core or not rest:
        return Finding()
    absent = f"CPUs {format_cpulist(rest)} are online but not in cpu_core's list ({path})"
    return Finding(
        (CoreKind("P", core, _sentence(CORE, path, core)), *atom_kinds(view, rest, absent))
    )


def _usable_lists(view: NodeView) -> tuple[dict[str, tuple[str, tuple[int, ...]]], str]:
    """Return the lists that have online CPUs, or none and the contradiction between them."""
    online = set(view.online)
    found = core_pmus(view.tree)
    if set(found).intersection(INTEL_PMUS):
        found = {name: listed for name, listed in found.items() if name in INTEL_PMUS}
    lists = {
        name: (path, tuple(cpu for cpu in cpus if cpu in online))
        for name, (path, cpus) in found.items()
        if online.intersection(cpus)
    }
    listed = [cpu for _, cpus in lists.values() for cpu in cpus]
    names = " and ".join(lists)
    if len(listed) != len(set(listed)):
        return {}, f"the CPU lists of the PMUs {names} overlap and are not used"
    left = online.difference(listed)
    if lists and left:
        return {}, f"no core PMU lists CPUs {format_cpulist(left)}; the list of {names} is not used"
    return lists, ""


def _sentence(name: str, path: str, cpus: tuple[int, ...]) -> str:
    return f"the {name} PMU lists CPUs {format_cpulist(cpus)} ({path})"
