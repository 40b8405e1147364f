"""Evidence from each CPU's identification: x86's CPUID, and ARM's part numbers.

CPUID is read for each CPU from /dev/cpu/N/cpuid (root, module cpuid). A 16-byte read at the offset
leaf + (subleaf << 32) returns EAX, EBX, ECX, EDX (Linux arch/x86/kernel/cpuid.c).

ARM's CPUs of one part (Cortex-X925, Cortex-A725, …) are one kind. Part numbers are tried before
capacities: the two parts of NVIDIA GB10 have five capacities.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from pinstudy.base.cpulist import cpulists_by_value, format_cpulist, parse_cpulist
from pinstudy.base.reading import Unavailable
from pinstudy.runners.node import cpuinfo
from pinstudy.runners.node.core_kinds.finding import INTEL, Finding, NodeView, atom_kinds, one_kind
from pinstudy.runners.node.core_kinds.ranking import ranked_kinds
from pinstudy.runners.node.cpufreq import CPUS
from pinstudy.runners.node.topology import KIND_ORDER, CoreKind

DEVICE = "/dev/cpu/{}/cpuid"
# Intel SDM vol. 2A, CPUID: leaf 7, EDX bit 15: hybrid part; leaf 1AH, EAX 31:24: core type.
_FEATURES, _HYBRID_BIT = 0x7, 1 << 15
_CORE_TYPE, _INTEL_CORE, _INTEL_ATOM = 0x1A, 0x40, 0x20
# AMD APM vol. 3, appendix E: Fn8000_0000 EAX: largest extended leaf; Fn8000_0026 EAX bit 30:
# heterogeneous cores, EBX 31:28: core type (0 performance, 1 efficiency, 2 low power).
_EXTENDED, _AMD_TOPOLOGY, _HETEROGENEOUS_BIT = 0x80000000, 0x80000026, 1 << 30
# Arm Architecture Reference Manual, MIDR_EL1: implementer in bits 31:24, part number in 15:4.
_MIDR = CPUS + "/cpu{}/regs/identification/midr_el1"


def by_cpuid(view: NodeView) -> Finding:
    """Tell kinds by the core type that each x86 CPU reports, where the device can be read."""
    if view.vendor == INTEL:
        return _intel(view)
    if view.vendor == "AuthenticAMD":
        return _amd(view)
    return Finding()


def cores_of_cpuid(view: NodeView) -> tuple[int, ...] | None:
    """Return the online CPUs that call themselves Cores, none if not hybrid; None if unreadable."""
    hybrid = _intels_hybrid(view)
    if not hybrid:
        return None if hybrid is None else ()
    types = _types(view, _CORE_TYPE, register=0, shift=24)
    cores = tuple(cpu for cpu, core_type in types.items() if core_type == _INTEL_CORE)
    return cores if types else None


def _intels_hybrid(view: NodeView) -> bool | None:
    """Return the hybrid bit of an Intel CPU, or None where it cannot be read.

    The bit decides: a CPU without leaf 1AH returns another leaf's values, and a CPU that is not
    hybrid may have the leaf.
    """
    features = _registers(view, view.online[0], _FEATURES)
    return None if features is None else bool(features[3] & _HYBRID_BIT)


def _intel(view: NodeView) -> Finding:
    if not _intels_hybrid(view):
        return Finding()
    types = _types(view, _CORE_TYPE, register=0, shift=24)
    if not types or not set(types.values()) <= {_INTEL_CORE, _INTEL_ATOM}:
        return Finding(note="CPUID leaf 0x1A does not name the type of every CPU; it is not used")
    core = tuple(cpu for cpu, of in types.items() if of == _INTEL_CORE)
    atoms = tuple(cpu for cpu, of in types.items() if of == _INTEL_ATOM)
    kinds = [CoreKind("P", core, _sentence(_CORE_TYPE, "Core", core))] if core else []
    kinds += atom_kinds(view, atoms, _sentence(_CORE_TYPE, "Atom", atoms))
    return Finding(tuple(kinds))


def _amd(view: NodeView) -> Finding:
    largest = _registers(view, view.online[0], _EXTENDED)
    if largest is None or largest[0] < _AMD_TOPOLOGY:
        return Finding()
    topology = _registers(view, view.online[0], _AMD_TOPOLOGY)
    if topology is None or not topology[0] & _HETEROGENEOUS_BIT:
        return Finding()
    types = _types(view, _AMD_TOPOLOGY, register=1, shift=28)
    if not types or not set(types.values()) <= set(range(len(KIND_ORDER))):
        return Finding(note="CPUID leaf 0x80000026 does not name every CPU's type; it is not used")
    if len(set(types.values())) == 1:
        # One type proves nothing: some parts with dense cores (Phoenix 2) report 0 for all CPUs.
        return Finding(fact="CPUID leaf 0x80000026 gives one core type for all CPUs")
    kinds = []
    for number, name in enumerate(KIND_ORDER):
        if cpus := tuple(cpu for cpu, of in types.items() if of == number):
            kinds.append(CoreKind(name, cpus, _sentence(_AMD_TOPOLOGY, str(number), cpus)))
    return Finding(tuple(kinds))


def _types(view: NodeView, leaf: int, register: int, shift: int) -> dict[int, int]:
    """Return the upper bits of a register for every CPU, or nothing unless all can be read."""
    types = {}
    for cpu in view.online:
        registers = _registers(view, cpu, leaf)
        if registers is None:
            return {}
        types[cpu] = registers[register] >> shift
    return types


def _registers(view: NodeView, cpu: int, leaf: int) -> tuple[int, ...] | None:
    """Return EAX, EBX, ECX, EDX, or None where the device cannot be read."""
    raw = view.tree.block(DEVICE.format(cpu), leaf, 16)
    return None if isinstance(raw, Unavailable) else struct.unpack("<4I", raw)


def _sentence(leaf: int, kind: str, cpus: Iterable[int]) -> str:
    listed = format_cpulist(cpus)
    return f"CPUID leaf {leaf:#x} gives core type {kind} on CPUs {listed} ({DEVICE.format('N')})"


def by_part(view: NodeView) -> Finding:
    """Tell kinds by implementer and part number, ranked by capacity or frequency."""
    parts, source = _parts(view)
    if not parts:
        return Finding()
    groups = cpulists_by_value(parts)
    if len(groups) == 1:
        return one_kind(view, f"every CPU is {_named(*next(iter(groups)))} ({source})")
    return ranked_kinds(
        view,
        {
            f"CPUs {cpus}: {_named(*part)} ({source})": parse_cpulist(cpus)
            for part, cpus in groups.items()
        },
    )


def _parts(view: NodeView) -> tuple[dict[int, tuple[int, int]], str]:
    """Return implementer and part of every online CPU, and the source; empty if one lacks them."""
    parts: dict[int, tuple[int, int]] = {}
    for cpu in view.online:
        midr = view.tree.hexadecimal(_MIDR.format(cpu))
        if isinstance(midr, Unavailable):
            break
        parts[cpu] = (midr >> 24 & 0xFF, midr >> 4 & 0xFFF)
    else:
        return parts, _MIDR.format("N")
    if "CPU part" not in view.first_block:
        return {}, ""
    blocks = cpuinfo.by_cpu(view.tree)
    parts.clear()
    for cpu in view.online:
        implementer = cpuinfo.number(blocks.get(cpu, {}), "CPU implementer")
        part = cpuinfo.number(blocks.get(cpu, {}), "CPU part")
        if implementer is None or part is None:
            return {}, ""
        parts[cpu] = (implementer, part)
    return parts, cpuinfo.PATH


def _named(implementer: int, part: int) -> str:
    return f"part {part:#05x} of implementer {implementer:#04x}"
