"""Ranking of groups of CPUs whose types are known, but not which type is the faster (ARM)."""

from __future__ import annotations

from itertools import pairwise

from base.cpulist import format_cpulist
from runners.host.tree import Tree, Unavailable
from runners.node.core_kinds.finding import Finding, NodeView, clusters, value_range
from runners.node.cpufreq import CPUS, policy_directories
from runners.node.topology import KIND_ORDER, CoreKind

CAPACITY, HIGHEST_PERF = "cpu_capacity", "acpi_cppc/highest_perf"
MAX_FREQ, BASE_FREQ = "cpuinfo_max_freq", "base_frequency"
# Best evidence first: capacity and performance include the frequency.
RANKING_SIGNS = (CAPACITY, HIGHEST_PERF, MAX_FREQ)
_OF_POLICY = frozenset({MAX_FREQ, BASE_FREQ})
# Firmware reports 255, the field's largest value, for overclocked CPUs (Linux
# drivers/cpufreq/intel_pstate.c, "CPPC_MAX_PERF").
_NO_VALUE = {HIGHEST_PERF: 255}


def read_sign(tree: Tree, sign: str, online: tuple[int, ...]) -> dict[int, int]:
    """Return a sign's value for every CPU, or nothing unless all CPUs have a meaningful one.

    Frequencies are in kHz; capacity and highest performance have no unit.
    """
    policies = policy_directories(tree) if sign in _OF_POLICY else {}
    values: dict[int, int] = {}
    for cpu in online:
        directory = policies.get(cpu, f"{CPUS}/cpu{cpu}")
        value = tree.integer(f"{directory}/{sign}")
        if isinstance(value, Unavailable) or value <= 0 or value == _NO_VALUE.get(sign):
            return {}
        values[cpu] = value
    return values


def telling_values(view: NodeView, sign: str) -> dict[int, int]:
    """Return a sign's values as `read_sign` does, but no capacities that are all equal.

    These prove nothing: kernels that know nothing of the cores, and those for x86 since 6.16,
    report 1024 for every CPU.
    """
    values = read_sign(view.tree, sign, view.online)
    return {} if sign == CAPACITY and len(set(values.values())) == 1 else values


def ranked_kinds(view: NodeView, groups: dict[str, tuple[int, ...]]) -> Finding:
    """Return groups of CPUs as kinds, best first; the keys of `groups` describe them.

    A group is ranked by its largest value. Groups within the tolerance are of equal capability and
    form one kind (a phone's A710 and A715 with 855 each); favoured CPUs within a group differ by
    less than groups do. Kinds get the three names in the order of rank; while there are more ranks
    than names, the closest two become one kind.
    """
    for sign in RANKING_SIGNS:
        if values := telling_values(view, sign):
            break
    else:
        return Finding(
            note=f"CPUs differ ({'; '.join(groups)}) but nothing tells which are the faster, and "
            "they are treated as one kind; name them with --kinds"
        )
    labels = list(groups)
    best = {i: max(values[cpu] for cpu in groups[label]) for i, label in enumerate(labels)}
    tiers = clusters(best)
    merged = ""
    while len(tiers) > len(KIND_ORDER):
        _merge_closest(tiers, best)
        merged = "; of more than three ranks the closest are taken together"
    kinds = []
    for name, tier in zip(KIND_ORDER, tiers, strict=False):
        cpus = tuple(sorted(cpu for i in tier for cpu in groups[labels[i]]))
        what = "; ".join(labels[i] for i in tier)
        rank = f"{sign} {value_range(values[cpu] for cpu in cpus)}"
        kinds.append(CoreKind(name, cpus, f"{what}; {rank}{merged}"))
    return Finding(tuple(kinds))


def ranked_by(view: NodeView, sign: str, values: dict[int, int]) -> Finding:
    """Return kinds by the steps in the values of one sign."""
    groups = {}
    for step in clusters(values):
        of = value_range(values[cpu] for cpu in step)
        groups[f"CPUs {format_cpulist(step)}: {sign} {of}"] = tuple(sorted(step))
    return ranked_kinds(view, groups)


def _merge_closest(tiers: list[list[int]], best: dict[int, int]) -> None:
    gaps = [best[lower[0]] / best[upper[-1]] for upper, lower in pairwise(tiers)]
    closest = gaps.index(max(gaps))
    tiers[closest] += tiers.pop(closest + 1)
