"""Evidence from frequencies and performance values, where nothing names the CPUs' types.

One value alone misleads: base_frequency is raised on some CPUs of equal Xeons (Speed Select) and
equal on the P- and E-cores of Lunar Lake; the highest CPPC performance grades equal cores (AMD
preferred cores); Lakefield's maximum frequencies lie within 7 %. So two values have to agree on
which CPUs are the faster ones. CPUs without a vendor_id (ARM) are grouped by the first value that
they have of capacity, CPPC performance and maximum frequency: capacity and performance include the
frequency, so a frequency cannot tell apart CPUs of equal performance.
"""

from __future__ import annotations

from base.cpulist import format_cpulist
from runners.node import cpuinfo
from runners.node.core_kinds.finding import (
    Finding,
    NodeView,
    atom_kinds,
    clusters,
    one_kind,
    value_range,
)
from runners.node.core_kinds.ranking import (
    BASE_FREQ,
    CAPACITY,
    HIGHEST_PERF,
    MAX_FREQ,
    RANKING_SIGNS,
    ranked_by,
    telling_values,
)
from runners.node.topology import CoreKind

# The first family whose firmware describes cores of two kinds (Zen 5, Strix Point). hwloc, too,
# ignores differences in older ones: Threadripper 7000's CPPC values differ from core to core.
FIRST_HYBRID_AMD_FAMILY = 0x1A
_SIGNS = (BASE_FREQ, HIGHEST_PERF, MAX_FREQ, CAPACITY)


def by_ranks(view: NodeView) -> Finding:
    """Tell kinds by steps in base frequency, CPPC performance, maximum frequency and capacity."""
    family = amd_family(view)
    if family is not None and family < FIRST_HYBRID_AMD_FAMILY:
        return one_kind(view, f"no AMD CPU of family {family:#x} tells the kernel of two")
    signs = {}
    for sign in _SIGNS:
        if values := telling_values(view, sign):
            signs[sign] = values
    if not signs:
        return Finding(says="no frequency or performance values tell CPUs apart")
    if not view.vendor:
        return _by_first_value(view, signs)
    return _by_agreement(view, signs)


def amd_family(view: NodeView) -> int | None:
    """Return the family of an AMD CPU, or None for others."""
    if view.vendor != "AuthenticAMD":
        return None
    return cpuinfo.number(view.first_block, "cpu family")


def _by_first_value(view: NodeView, signs: dict[str, dict[int, int]]) -> Finding:
    sign = next((sign for sign in RANKING_SIGNS if sign in signs), BASE_FREQ)
    if len(clusters(signs[sign])) > 1:
        return ranked_by(view, sign, signs[sign])
    return Finding(says=_alike({sign: signs[sign]}))


def _by_agreement(view: NodeView, signs: dict[str, dict[int, int]]) -> Finding:
    """Take as P-cores the CPUs that two signs put above a step."""
    votes: dict[tuple[int, ...], list[str]] = {}
    for sign, values in signs.items():
        steps = clusters(values)
        if len(steps) > 1:
            votes.setdefault(tuple(sorted(steps[0])), []).append(sign)
    agreed = [(fast, by) for fast, by in votes.items() if len(by) >= 2]
    if not votes:
        return Finding(says=_alike(signs))
    if len(agreed) != 1:
        disputed = ", ".join(sign for by in votes.values() for sign in by)
        return Finding(says=f"steps of more than 10 % in {disputed}, but no two signs agree on one")
    fast, by = agreed[0]
    slow = tuple(cpu for cpu in view.online if cpu not in fast)
    kind = CoreKind("P", fast, _higher(fast, signs, by, "above all others"))
    evidence = _higher(slow, signs, by, "below the P-cores'")
    if amd_family(view) is not None:
        return Finding((kind, CoreKind("E", slow, evidence)))
    return Finding((kind, *atom_kinds(view, slow, evidence)))


def _higher(
    cpus: tuple[int, ...], signs: dict[str, dict[int, int]], by: list[str], where: str
) -> str:
    ranges = (f"{sign} {value_range(signs[sign][cpu] for cpu in cpus)}" for sign in by)
    return f"CPUs {format_cpulist(cpus)}: {', '.join(ranges)}, more than 10 % {where}"


def _alike(signs: dict[str, dict[int, int]]) -> str:
    ranges = ", ".join(f"{sign} {value_range(values.values())}" for sign, values in signs.items())
    return f"no step of more than 10 % in {ranges}"
