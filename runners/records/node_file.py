"""A node's file in `nodes/`, as far as somebody reads it: its facts, named by their digest.

docs/records.md describes them. What is None or empty has its reason in `unavailable`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from base.decoding import MaybeCpus, Text
from runners.records.topology_table import TopologyTable

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
    topology: TopologyTable | None = None
    cpufreq: Scaling = Scaling()
    highest_perf: ByValue = {}
    cpu_capacity: ByValue = {}
    isa_by_kind: dict[Text, Text] = {}
    power_limits: list[PowerLimit] = []
    unavailable: dict[Text, Text] = {}
