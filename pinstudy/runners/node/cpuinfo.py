"""/proc/cpuinfo: the vendor of the CPUs and, where sysfs lacks them, the fields of each CPU."""

from __future__ import annotations

from pinstudy.base.reading import known
from pinstudy.runners.host.tree import Tree

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
