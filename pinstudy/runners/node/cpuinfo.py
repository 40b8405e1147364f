"""/proc/cpuinfo: its fields, and which instructions only some of a node's CPUs have, by core kind.

Kinds of some nodes differ: the LP-E-cores of a Core Ultra 9 285H lack features of its other cores,
and a SpacemiT K3 has vectors of 256 and of 1024 bits. A program that is built with `-march=native`
is built for the kind that its compiler ran on. It may be killed by SIGILL on another, or waste what
that one has. So the flags of all CPUs are compared, not those of the first.

Sources: Linux arch/x86/kernel/cpu/proc.c ("flags"); arch/arm64/kernel/cpuinfo.c ("Features");
Documentation/arch/riscv/uabi.rst ("isa" is what all harts have, "hart isa" what this one has).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce

from pinstudy.base.cpulist import cpulists_by_value
from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.topology import Topology

PATH = "/proc/cpuinfo"
# The first CPU's block takes 2 to 4 KiB with its flags. A longer read would make the kernel write,
# and pinstudy parse, the blocks of all other CPUs.
HEAD_BYTES = 8192
# 8192 CPUs (CONFIG_NR_CPUS of x86) with some 3 KiB each.
WHOLE_BYTES = 32 * 1024 * 1024


def first_block(tree: Tree) -> dict[str, str]:
    """Return the first CPU's fields (`vendor_id`, `model name`, `flags`, …), or none."""
    blocks = _blocks(known(tree.content(PATH, HEAD_BYTES, cut=True)) or "")
    return blocks[0] if blocks else {}


def by_cpu(tree: Tree) -> dict[int, dict[str, str]]:
    """Return the fields of every CPU that /proc/cpuinfo has a block for."""
    blocks = _blocks(known(tree.content(PATH, WHOLE_BYTES)) or "")
    numbered = ((number(block, "processor"), block) for block in blocks)
    return {cpu: block for cpu, block in numbered if cpu is not None}


def is_guest(block: dict[str, str]) -> bool:
    """Whether the CPU's flags report a hypervisor (x86 only: CPUID leaf 1, ECX bit 31)."""
    return "hypervisor" in block.get("flags", "").split()


def number(block: dict[str, str], field: str) -> int | None:
    """Return a field that holds a whole number (decimal, or hexadecimal with 0x), or None."""
    try:
        return int(block.get(field, ""), 0)
    except ValueError:
        return None


def _blocks(text: str) -> list[dict[str, str]]:
    blocks = []
    for part in text.split("\n\n"):
        fields = (line.partition(":") for line in part.splitlines())
        block = {name.strip(): value.strip() for name, colon, value in fields if colon}
        if block:
            blocks.append(block)
    return blocks


# By preference: a block has "isa" beside "hart isa".
FLAG_FIELDS = ("flags", "Features", "hart isa", "isa")
_OF_RISCV = FLAG_FIELDS[2:]
_BASE = re.compile(r"(rv[0-9]{2,3})([a-z]*)", re.ASCII)
# Other words are none of the kernel's.
_WORD = re.compile(r"[a-z0-9_.]{1,40}", re.ASCII)
# Features of power and heat, no instructions (Linux arch/x86/include/asm/cpufeatures.h, word 14,
# and two of word 3): a compiler does not care.
_NO_INSTRUCTIONS = frozenset(
    {
        *("dtherm", "ida", "arat", "pln", "pts", "hfi", "aperfmperf", "epb"),
        *("hwp", "hwp_notify", "hwp_act_window", "hwp_epp", "hwp_pkg_req"),
    }
)

# By CPU, the instructions that it has and some other CPU lacks.
Extras = Mapping[int, frozenset[str]]


def read_extras(tree: Tree, online: Iterable[int]) -> Extras | Unavailable:
    """Return for every online CPU the flags that not all of them have; none where all are alike."""
    blocks = by_cpu(tree)
    flags: dict[int, frozenset[str]] = {}
    for cpu in online:
        found = flags_of(blocks.get(cpu, {}))
        if not found:
            return Unavailable(f"{PATH} has no flags of CPU {cpu}")
        flags[cpu] = found
    common = reduce(frozenset.intersection, flags.values()) if flags else frozenset()
    return {cpu: of - common for cpu, of in flags.items()}


def flags_of(block: Mapping[str, str]) -> frozenset[str]:
    """Return the instruction-set flags of a CPU's block in /proc/cpuinfo, none if it has none.

    RISC-V's `rv64imafdcv_zba_zbb` is taken apart: rv64, i, m, a, f, d, c, v, zba, zbb.
    """
    name = next((name for name in FLAG_FIELDS if block.get(name)), None)
    if name is None:
        return frozenset()
    words = block[name].split()
    if name in _OF_RISCV:
        base, *extensions = block[name].lower().split("_")
        parts = _BASE.fullmatch(base)
        words = [*((parts[1], *parts[2]) if parts else (base,)), *extensions]
    return frozenset(word for word in words if _WORD.fullmatch(word)) - _NO_INSTRUCTIONS


def isa_by_kind(tree: Tree, topology: Topology) -> dict[str, str] | Unavailable:
    """Return by kind the flags, sorted, that all its CPUs have and some CPU of the node lacks.

    Empty where all CPUs are alike. A kind without such flags has an empty text.
    """
    extras = read_extras(tree, topology.online)
    if isinstance(extras, Unavailable) or not any(extras.values()):
        return extras if isinstance(extras, Unavailable) else {}
    return {
        kind.name: " ".join(sorted(frozenset.intersection(*(extras[cpu] for cpu in kind.cpus))))
        for kind in topology.kinds
        if kind.cpus
    }


def cpus_by_extras(extras: Extras) -> dict[str, str]:
    """Return the CPU list of each set of flags that not all CPUs have, the largest set first."""
    groups = cpulists_by_value({cpu: " ".join(sorted(of)) for cpu, of in extras.items()})
    return dict(sorted(groups.items(), key=lambda group: -len(group[0].split())))
