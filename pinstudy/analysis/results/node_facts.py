"""What a card says of a node: facts that the hardware has in common with others of its kind.

No name, serial number, path or boot is among them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, to_builtins

from pinstudy.base.cpulist import MAX_CPU
from pinstudy.base.decoding import CpuList, line
from pinstudy.base.text import one_line, plural
from pinstudy.runners.node.topology import KIND_ORDER
from pinstudy.runners.records.node_file import NodeFile, TopologyTable

MAX_LETTERS = 100
# A distribution's own ending, or that of somebody who builds kernels, may be a name.
_KERNEL = r"[0-9]{1,3}(?:\.[0-9]{1,5}){1,3}(?:-[0-9]{1,5})?"
_WORD = r"[A-Za-z][A-Za-z0-9_-]{0,39}"
_MAX_WORDS = 10

KindName: TypeAlias = Literal[KIND_ORDER]  # type: ignore[valid-type]
KernelNumber = Annotated[
    str, Meta(pattern=rf"\A{_KERNEL}\Z", title="the number of a kernel's release")
]
Word = Annotated[str, Meta(pattern=rf"\A{_WORD}\Z", title="a word of letters, digits, - and _")]


class KindFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A core kind: its CPUs as a list, and how many cores they are of; `declared` by hand."""

    name: KindName
    cpus: CpuList
    cores: Annotated[int, Meta(ge=1, le=MAX_CPU)]
    declared: bool = False


class CacheFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """So many caches of a level and size; None where the kernel does not tell the size."""

    level: Annotated[int, Meta(ge=1, le=9)]
    count: Annotated[int, Meta(ge=1, le=MAX_CPU)]
    size_bytes: Annotated[int, Meta(ge=1, le=2**50)] | None


class NodeFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A node without its identity; None and empty texts are facts that are not known."""

    cpu_model: Annotated[str, line(MAX_LETTERS)]
    """the CPU's model"""
    kinds: Annotated[tuple[KindFacts, ...], Meta(max_length=len(KIND_ORDER))] = ()
    """core kinds with CPUs and counts of cores"""
    caches: Annotated[tuple[CacheFacts, ...], Meta(max_length=50)] = ()
    """how many of each level and size"""
    memory_gib: Annotated[int, Meta(ge=0, le=2**20)] | None = None
    """memory in whole GiB"""
    kernel: KernelNumber | None = None
    """the number of the kernel's release"""
    drivers: Annotated[tuple[Word, ...], Meta(max_length=_MAX_WORDS)] = ()
    """of the CPUs' frequencies"""
    virtual_machine: bool | None = None
    """whether it is a virtual machine"""

    @property
    def digest(self) -> str:
        """A digest of the hardware's facts, which another kernel does not change.

        It is made of nothing but the facts beside it, so that it cannot tell a name that somebody
        guesses. Nodes of other digests are other nodes.
        """
        hardware = to_builtins(self) | {"kernel": None, "drivers": None}
        text = json.dumps(hardware, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def kinds_text(self) -> str:
        """The kinds with their CPUs, in short: `P 0-7, E 8-23`."""
        return ", ".join(f"{kind.name} {kind.cpus}" for kind in self.kinds)


def facts_of(node: NodeFile) -> NodeFacts | None:
    """Return the facts in a node's file; None where it does not tell the CPU's model."""
    if not node.cpu_model or not node.cpu_model.strip():
        return None
    topology = node.topology
    caches: Counter[tuple[int, int | None]] = Counter(
        (cache.level, cache.size_bytes) for cache in (topology.caches if topology else ())
    )
    return NodeFacts(
        one_line(node.cpu_model)[:MAX_LETTERS],
        tuple(_kinds(topology)) if topology else (),
        tuple(CacheFacts(level, count, size) for (level, size), count in caches.items()),
        round(node.memory_bytes / 2**30) if node.memory_bytes else None,
        kernel_number(node.kernel),
        words_in(node.cpufreq.drivers),
        node.virtual_machine,
    )


def kernel_number(release: str | None) -> str | None:
    """Return the number of a kernel's release: `6.8.0-45` of `6.8.0-45-generic`."""
    match = re.match(_KERNEL, release or "")
    return match[0] if match else None


def words_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return those that are names of drivers and governors, each once, in their order."""
    words = (text for text in texts if re.fullmatch(_WORD, text))
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


def _kinds(topology: TopologyTable) -> Iterable[KindFacts]:
    cores = Counter(core.kind for core in topology.cores)
    for kind in topology.kinds:
        if kind.name in KIND_ORDER:
            yield KindFacts(kind.name, kind.cpus, cores[kind.name] or 1, kind.declared)


def sheet_rows(facts: NodeFacts) -> list[tuple[str, str]]:
    """Return the facts with their names, for people; those that are not known are left out."""
    kinds = (
        f"{plural(kind.cores, f'{kind.name}-core')} (CPUs {kind.cpus}"
        f"{', declared by hand' if kind.declared else ''})"
        for kind in facts.kinds
    )
    caches: dict[str, list[str]] = {}
    for cache in facts.caches:
        size = f"{cache.size_bytes / 1024:g} KiB" if cache.size_bytes else "unknown size"
        caches.setdefault(f"L{cache.level} caches", []).append(f"{cache.count} x {size}")
    rows = [
        ("processor", facts.cpu_model),
        ("cores", "; ".join(kinds)),
        ("kernel", facts.kernel or ""),
        ("frequency driver", ", ".join(facts.drivers)),
        ("memory", f"{facts.memory_gib} GiB" if facts.memory_gib else ""),
        ("kind of machine", "virtual" if facts.virtual_machine else ""),
        *((level, ", ".join(texts)) for level, texts in caches.items()),
        ("digest of these facts", facts.digest),
    ]
    return [row for row in rows if row[1]]
