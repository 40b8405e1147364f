"""The kernel's CPU list format, `0-3,8,10-11`, and back; its masks, `ff,0000000f`.

Source of the formats: Linux Documentation/admin-guide/cputopology.rst, bitmap_parselist() and
bitmap_parse().
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

# The kernel's own upper bound (CONFIG_NR_CPUS) is 8192 on x86. A number above this one is no CPU
# number, and "0-99999999999" must not be expanded.
MAX_CPU = 65535
# Every CPU once, each as a part of its own: no kernel writes a longer list.
MAX_PARTS = MAX_CPU + 1
MAX_CHARACTERS = MAX_PARTS * len(f"{MAX_CPU}, ")

_Value = TypeVar("_Value")

_MAX_SHOWN = 40
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{8})*", re.ASCII)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


def parse_cpulist(text: str) -> tuple[int, ...]:
    """Return the CPU numbers of a list such as `0-3,8`, ascending and without repeats.

    An empty or blank list is an empty tuple. Raises ValueError for anything else, naming the part
    that is wrong, and for a list that is longer than one of all possible CPUs. That includes the
    form `first-last:used/group`, which the kernel reads and never writes.
    """
    parts = text.split(",") if len(text) <= MAX_CHARACTERS else ()
    if not 0 < len(parts) <= MAX_PARTS:
        raise ValueError(f"{len(text)} characters are too many for a list of CPUs")
    # A bit mask: a CPU that is listed a thousand times takes no more memory, and little more time.
    cpus = 0
    for part in filter(None, map(str.strip, parts)):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part[:_MAX_SHOWN]!r} is not a CPU number or a range such as 0-3")
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last > MAX_CPU:
            raise ValueError(f"{part!r} is not an ascending range of CPU numbers up to {MAX_CPU}")
        cpus |= ((1 << (last - first + 1)) - 1) << first
    return _bits(cpus)


def parse_cpumask(text: str) -> tuple[int, ...]:
    """Return the CPU numbers of a mask: hexadecimal words of 32 CPUs, the highest first.

    A mask of zeros is an empty tuple. Raises ValueError for anything else.
    """
    if len(text) > MAX_CHARACTERS or _MASK.fullmatch(text) is None:
        raise ValueError(f"{text[:_MAX_SHOWN]!r} is not a mask such as ff,0000000f")
    cpus = _bits(int(text.replace(",", ""), 16))
    if cpus and cpus[-1] > MAX_CPU:
        raise ValueError(f"CPU {cpus[-1]} is above {MAX_CPU}")
    return cpus


def _bits(mask: int) -> tuple[int, ...]:
    """Return the places of the bits that are set, ascending."""
    return tuple(place for place, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")


def format_cpulist(cpus: Iterable[int]) -> str:
    """Return the shortest list of CPU numbers and ranges, ascending: `0-3,8`."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def named_cpus(cpus: Collection[int]) -> str:
    """Return CPUs by their numbers: `CPU 3`, `CPUs 0-3,8`."""
    return f"CPU{'' if len(set(cpus)) == 1 else 's'} {format_cpulist(cpus)}"


def cpulists_by_value(values: Mapping[int, _Value]) -> dict[_Value, str]:
    """Return the list of the CPUs that have each value; values in the order of `values`."""
    cpus_of: dict[_Value, list[int]] = {}
    for cpu, value in values.items():
        cpus_of.setdefault(value, []).append(cpu)
    return {value: format_cpulist(cpus) for value, cpus in cpus_of.items()}
