"""A node's file in `nodes/`, as far as somebody reads it: its facts, named by their digest.

Its topology is a table that a file of latencies has, too. docs/records.md describes the facts. What
is None or empty has its reason in `unavailable`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from pinstudy.base.decoding import CpuList, MaybeCpus, Text

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


# Values with the CPUs that have them.
ByValue = dict[Text, MaybeCpus]


class PowerLimit(Struct, frozen=True):
    """A limit of a powercap zone; its watts are None where they cannot be read."""

    zone: Text
    domain: Text | None = None
    name: Text | None = None
    power_w: float | None = None
    window_s: float | None = None


class Scaling(Struct, frozen=True):
    """Frequency scaling; `reason` says why there is no driver."""

    mode: Text | None = None
    turbo: bool | None = None
    reason: Text = ""
    drivers: ByValue = {}
    governors: ByValue = {}
    highest_khz: ByValue = {}
    prefcore_ranking: ByValue = {}


class NodeFile(Struct, frozen=True):
    """The facts of a node."""

    node_id: Text | None = None
    cpu_model: Text | None = None
    virtual_machine: bool | None = None
    memory_bytes: Annotated[int, Meta(ge=1, lt=2**60)] | None = None
    kernel: Text | None = None
    kernel_build: Text | None = None
    microcode: Text | None = None
    firmware: Text | None = None
    product: Text | None = None
    boot_options: Text | None = None
    smt: Text | None = None
    transparent_hugepages: Text | None = None
    platform_profile: Text | None = None
    itmt_enabled: int | None = None
    sched_autogroup: int | None = None
    nmi_watchdog: int | None = None
    isolated: MaybeCpus = ""
    cpuset_partitions: ByValue = {}
    topology: TopologyTable | None = None
    cpufreq: Scaling = Scaling()
    highest_perf: ByValue = {}
    cpu_capacity: ByValue = {}
    isa_by_kind: dict[Text, Text] = {}
    power_limits: list[PowerLimit] = []
    unavailable: dict[Text, Text] = {}
