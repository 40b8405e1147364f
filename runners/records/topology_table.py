"""A node's topology as files have it, CPUs as the kernel lists them: of nodes, and of latencies."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from base.decoding import CpuList, MaybeCpus, Text

# A node has no more CPUs that could be online; a file that names more is none of a node.
MAX_ONLINE = 8192
MAX_LEVEL = 9


class KindTable(Struct, frozen=True, omit_defaults=True):
    """A core kind: its CPUs, the evidence by which it was found, whether it was declared."""

    name: Text
    cpus: CpuList
    evidence: Text = ""
    declared: bool = False


class CoreTable(Struct, frozen=True):
    """A core: its CPUs, its kind's name (empty for none), its package."""

    cpus: CpuList
    kind: Text
    package: Annotated[int, Meta(ge=-1, le=2**31)]


class CacheTable(Struct, frozen=True):
    """A data cache and the CPUs that share it; its size is None where nobody knows it."""

    level: Annotated[int, Meta(ge=1, le=MAX_LEVEL)]
    size_bytes: Annotated[int, Meta(ge=1, le=2**50)] | None
    cpus: CpuList


class NumaTable(Struct, frozen=True):
    """A NUMA node and its CPUs."""

    node: Annotated[int, Meta(ge=0, le=65535)]
    cpus: MaybeCpus


class TopologyTable(Struct, frozen=True, kw_only=True):
    """All CPUs of a node; `nohz_full` are those without a tick."""

    kinds: Annotated[list[KindTable], Meta(max_length=MAX_LEVEL)]
    cores: Annotated[list[CoreTable], Meta(max_length=MAX_ONLINE)]
    caches: Annotated[list[CacheTable], Meta(max_length=8 * MAX_ONLINE)]
    numa: Annotated[list[NumaTable], Meta(max_length=MAX_ONLINE)]
    online: CpuList
    offline: MaybeCpus
    allowed: MaybeCpus
    isolated: MaybeCpus = ""
    nohz_full: MaybeCpus = ""
    notes: list[Text] = []
