"""Frequencies and performance values: as evidence, and as ranks of kinds found by other evidence.

Where nothing names the CPUs' types, these values show the kinds. One value alone misleads:
base_frequency is raised on some CPUs of equal Xeons (Speed Select) and equal on the P- and E-cores
of Lunar Lake; the highest CPPC performance grades equal cores (AMD preferred cores); Lakefield's
maximum frequencies lie within 7 %. So two values have to agree on which CPUs are the faster ones.
The capacity is none of the two on x86: the kernel computes it from the performance (so that it says
nothing more), and computes it anew while it runs, which would make other kinds of the same node
(Linux drivers/cpufreq/intel_pstate.c, hybrid_update_capacity).
CPUs without a vendor_id (ARM) are grouped by the first value that they have of capacity, CPPC
performance and maximum frequency: capacity and performance include the frequency, so a frequency
cannot tell apart CPUs of equal performance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import TypeVar

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.core_kinds.finding import Finding, NodeView, atom_kinds, one_kind
from pinstudy.runners.node.cpufreq import CPUS, policy_directories
from pinstudy.runners.node.topology import KIND_ORDER, CoreKind

CAPACITY, HIGHEST_PERF = "cpu_capacity", "acpi_cppc/highest_perf"
MAX_FREQ, _BASE_FREQ = "cpuinfo_max_freq", "base_frequency"
# That of the hardware: while turbo is off, amd-pstate lowers cpuinfo_max_freq to the nominal one,
# and leaves this as it is (Linux drivers/cpufreq/amd-pstate.c, amd_pstate_cpu_boost_update and
# show_amd_pstate_max_freq).
_AMD_MAX_FREQ = "amd_pstate_max_freq"
# Best evidence first: capacity and performance include the frequency.
_RANKING_SIGNS = (CAPACITY, HIGHEST_PERF, MAX_FREQ)
_SIGNS_OF_X86 = (_BASE_FREQ, HIGHEST_PERF, _AMD_MAX_FREQ, MAX_FREQ)
_SIGNS = (*_SIGNS_OF_X86, CAPACITY)
_OF_POLICY = frozenset({MAX_FREQ, _AMD_MAX_FREQ, _BASE_FREQ})
# Firmware reports 255, the field's largest value, for overclocked CPUs (Linux
# drivers/cpufreq/intel_pstate.c, "CPPC_MAX_PERF").
_NO_VALUE = {HIGHEST_PERF: 255}
# CPUs whose frequency or performance values lie within 10 % are of one kind. Favoured cores (Turbo
# Boost Max 3.0: 5.8 against 5.5 GHz) and firmware's grading of equal cores (AMD preferred cores)
# differ by less, P- and E-cores (4.9 against 4.4 GHz on a Core Ultra 5 225) by more. hwloc has the
# same tolerance (hwloc doc, "Kinds of CPU cores").
_TOLERANCE = 0.10

# The first family whose firmware describes cores of two kinds (Zen 5, Strix Point). hwloc, too,
# ignores differences in older ones: Threadripper 7000's CPPC values differ from core to core. There
# a step that two values show is told in a note.
_FIRST_HYBRID_AMD_FAMILY = 0x1A

_Key = TypeVar("_Key")


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


def relative_speeds(tree: Tree, kinds: Iterable[CoreKind]) -> dict[int, float]:
    """Return about how fast each CPU is, as a share of the fastest kind's; nothing for one kind.

    A kind's speed is its median capacity, CPPC performance or maximum frequency, of which the first
    counts that all CPUs have. Nothing where they have none.
    """
    kinds = tuple(kinds)
    cpus = tuple(cpu for kind in kinds for cpu in kind.cpus)
    values = next(filter(None, (read_sign(tree, sign, cpus) for sign in _RANKING_SIGNS)), None)
    if len(kinds) < 2 or not values:
        return {}
    medians = {kind.name: median(values[cpu] for cpu in kind.cpus) for kind in kinds}
    fastest = max(medians.values())
    return {cpu: medians[kind.name] / fastest for kind in kinds for cpu in kind.cpus}


def by_ranks(view: NodeView) -> Finding:
    """Tell kinds by steps in base frequency, CPPC performance and maximum frequency.

    Without x86's vendor name also by steps in capacity.
    """
    family = view.amd_family
    candidates = _SIGNS_OF_X86 if view.vendor else _SIGNS
    signs = {sign: values for sign in candidates if (values := _distinguishing_values(view, sign))}
    if _AMD_MAX_FREQ in signs:
        # Both are one fact, which has one vote.
        signs.pop(MAX_FREQ, None)
    if family is not None and family < _FIRST_HYBRID_AMD_FAMILY:
        stepped = _by_agreement(view, signs).kinds
        even = all(_is_even(values, kind.cpus) for values in signs.values() for kind in stepped)
        return _untold(view, family, stepped if even else ())
    if not signs:
        return Finding(fact="no frequency or performance values tell CPUs apart")
    if not view.vendor:
        return _by_first_value(view, signs)
    return _by_agreement(view, signs)


def ranked_kinds(view: NodeView, groups: dict[str, tuple[int, ...]]) -> Finding:
    """Return groups of CPUs as kinds, best first; the keys of `groups` describe them.

    A group is ranked by its largest value. Groups within the tolerance are of equal capability and
    form one kind (a phone's A710 and A715 with 855 each); favoured CPUs within a group differ by
    less than groups do. Kinds get the three names in the order of rank; while there are more ranks
    than names, the closest two become one kind.
    """
    for sign in _RANKING_SIGNS:
        if values := _distinguishing_values(view, sign):
            break
    else:
        return Finding(
            note=f"CPUs differ ({'; '.join(groups)}) but nothing tells which are the faster, and "
            "they are treated as one kind; name them with --kinds"
        )
    best = {label: max(values[cpu] for cpu in cpus) for label, cpus in groups.items()}
    tiers = _clusters(best)
    merged = ""
    while len(tiers) > len(KIND_ORDER):
        gaps = [best[lower[0]] / best[upper[-1]] for upper, lower in pairwise(tiers)]
        closest = gaps.index(max(gaps))
        tiers[closest] += tiers.pop(closest + 1)
        merged = "; of more than three ranks the closest are taken together"
    kinds = []
    for name, tier in zip(KIND_ORDER, tiers, strict=False):
        cpus = tuple(sorted(cpu for label in tier for cpu in groups[label]))
        rank = f"{sign} {_range_of(values[cpu] for cpu in cpus)}"
        kinds.append(CoreKind(name, cpus, f"{'; '.join(tier)}; {rank}{merged}"))
    return Finding(tuple(kinds))


def _is_even(values: Mapping[int, int], cpus: Iterable[int]) -> bool:
    """Whether these CPUs' values lie within the tolerance, as those of graded cores do not."""
    own = [values[cpu] for cpu in cpus]
    return min(own) >= (1 - _TOLERANCE) * max(own)


def _untold(view: NodeView, family: int, stepped: Sequence[CoreKind]) -> Finding:
    """Return one kind, with a note if `stepped` are two that the values show, but nothing names.

    Zen 4 and Zen 4c of one die are of one family, as are the unequal cores of a Threadripper.
    """
    told = f"no AMD CPU of family {family:#x} tells the kernel of two"
    if not stepped:
        return one_kind(view, told)
    line = ",".join(f"{kind.name}={format_cpulist(kind.cpus)}" for kind in stepped)
    note = (
        f"{told}, but there is a step as between two ({stepped[0].evidence}), and they are treated "
        f"as one kind; if they are two, such as Zen 4 and Zen 4c, name them with --kinds {line}"
    )
    seen = f"{told}, but values show a step: --kinds {line} names them if they are two"
    return Finding(one_kind(view, seen).kinds, note=note)


def _distinguishing_values(view: NodeView, sign: str) -> dict[int, int]:
    """Return a sign's values as `read_sign` does, but no capacities that are all equal.

    These prove nothing: kernels that know nothing of the cores, and those for x86 since 6.16,
    report 1024 for every CPU.
    """
    values = read_sign(view.tree, sign, view.online)
    return {} if sign == CAPACITY and len(set(values.values())) == 1 else values


def _by_first_value(view: NodeView, signs: dict[str, dict[int, int]]) -> Finding:
    sign = next((sign for sign in _RANKING_SIGNS if sign in signs), _BASE_FREQ)
    values = signs[sign]
    steps = _clusters(values)
    if len(steps) == 1:
        return Finding(fact=_no_step({sign: values}))
    return ranked_kinds(view, {f"CPUs {format_cpulist(step)}": tuple(step) for step in steps})


def _by_agreement(view: NodeView, signs: dict[str, dict[int, int]]) -> Finding:
    """Take as P-cores the CPUs that two signs put above a step."""
    votes: dict[tuple[int, ...], list[str]] = {}
    for sign, values in signs.items():
        steps = _clusters(values)
        if len(steps) > 1:
            votes.setdefault(tuple(sorted(steps[0])), []).append(sign)
    agreed = [(fast, by) for fast, by in votes.items() if len(by) >= 2]
    if not votes:
        return Finding(fact=_no_step(signs))
    if len(agreed) != 1:
        disputed = ", ".join(sign for by in votes.values() for sign in by)
        return Finding(fact=f"steps of more than 10 % in {disputed}, but no two signs agree on one")
    fast, by = agreed[0]
    slow = tuple(cpu for cpu in view.online if cpu not in fast)
    kind = CoreKind("P", fast, _step(fast, signs, by, "above all others"))
    evidence = _step(slow, signs, by, "below the P-cores'")
    if view.amd_family is not None:
        return Finding((kind, CoreKind("E", slow, evidence)))
    return Finding((kind, *atom_kinds(view, slow, evidence)))


def _step(
    cpus: tuple[int, ...], signs: dict[str, dict[int, int]], by: list[str], where: str
) -> str:
    ranges = (f"{sign} {_range_of(signs[sign][cpu] for cpu in cpus)}" for sign in by)
    return f"CPUs {format_cpulist(cpus)}: {', '.join(ranges)}, more than 10 % {where}"


def _no_step(signs: dict[str, dict[int, int]]) -> str:
    ranges = ", ".join(f"{sign} {_range_of(values.values())}" for sign, values in signs.items())
    return f"no step of more than 10 % in {ranges}"


def _clusters(values: Mapping[_Key, int]) -> list[list[_Key]]:
    """Return the keys of `values` in clusters, largest values first.

    A new cluster starts where the next smaller value is more than the tolerance below: 1024, 1017,
    997 are one, 731 and 718 another.
    """
    found: list[list[_Key]] = []
    for key in sorted(values, key=values.__getitem__, reverse=True):
        if not found or values[key] < (1 - _TOLERANCE) * values[found[-1][-1]]:
            found.append([])
        found[-1].append(key)
    return found


def _range_of(values: Iterable[int]) -> str:
    """Return `1024`, or `718 to 731`."""
    ordered = sorted(set(values))
    return f"{ordered[0]}" if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
