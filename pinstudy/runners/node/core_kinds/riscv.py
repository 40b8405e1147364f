"""Evidence from /proc/cpuinfo of RISC-V: each hart's instructions and its core's architecture.

Cores of one chip may have unlike vectors, or lack the hypervisor's instructions: SpacemiT's K3 has
eight X100 (rv64…vh, vectors of 256 bits) and eight A100 (rv64…v, 1024 bits). The kernel shows each
hart's extensions and the numbers by which its vendor names the core, but not VLEN. Equal numbers
prove nothing, because 0 means that the vendor gives none.

Sources: Linux Documentation/arch/riscv/uabi.rst, arch/riscv/kernel/cpu.c; RISC-V Privileged
Architecture, mvendorid and marchid.
"""

from __future__ import annotations

from typing import NamedTuple

from pinstudy.base.cpulist import cpulists_by_value, parse_cpulist
from pinstudy.base.text import first_of
from pinstudy.runners.node import cpuinfo
from pinstudy.runners.node.core_kinds.finding import Finding, NodeView
from pinstudy.runners.node.core_kinds.ranking import ranked_kinds
from pinstudy.runners.node.cpuinfo import flags_of

_ISA = ("hart isa", "isa")
_PREFIX = "rv"
_VENDOR, _ARCHITECTURE = "mvendorid", "marchid"
# Both are registers of 64 bits at most.
_HIGHEST = 2**64
# Vector extensions alone have dozens of names.
_MAX_FLAGS = 8


class _Hart(NamedTuple):
    """A CPU's vendor and architecture, None where unknown, and its instruction-set flags."""

    vendor: int | None
    architecture: int | None
    flags: frozenset[str]


def by_riscv_core(view: NodeView) -> Finding:
    """Tell RISC-V kinds by instructions and architecture, ranked by capacity or frequency."""
    if not any(view.first_block.get(name, "").startswith(_PREFIX) for name in _ISA):
        return Finding()
    blocks = cpuinfo.by_cpu(view.tree)
    harts = {cpu: _hart(blocks.get(cpu, {})) for cpu in view.online}
    if not all(hart.flags for hart in harts.values()):
        return Finding(note=f"{cpuinfo.PATH} has no isa of some CPUs; it is not used for kinds")
    common = frozenset.intersection(*(hart.flags for hart in harts.values()))
    groups = cpulists_by_value(harts)
    if len(groups) == 1:
        return Finding(fact=f"every CPU has {_named(next(iter(groups)), common)}")
    return ranked_kinds(
        view,
        {
            f"CPUs {cpus}: {_named(hart, common)}": parse_cpulist(cpus)
            for hart, cpus in groups.items()
        },
    )


def _hart(block: dict[str, str]) -> _Hart:
    return _Hart(_number(block, _VENDOR), _number(block, _ARCHITECTURE), flags_of(block))


def _number(block: dict[str, str], name: str) -> int | None:
    number = cpuinfo.number(block, name)
    return number if number is not None and 0 <= number < _HIGHEST else None


def _named(hart: _Hart, common: frozenset[str]) -> str:
    """Return in words what identifies a hart, with the instructions that not all harts have."""
    numbers = ((_VENDOR, hart.vendor), (_ARCHITECTURE, hart.architecture))
    parts = [f"{name} {number:#x}" for name, number in numbers if number is not None]
    extra = sorted(hart.flags - common)
    own = f"isa with {first_of(extra, _MAX_FLAGS, ' ')}" if extra else "isa that all have"
    return f"{', '.join([*parts, own])} ({cpuinfo.PATH})"
