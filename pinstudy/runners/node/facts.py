"""The facts of a node that do not change from run to run, as they are written beside the records.

Some facts must not change during a study, such as kernel, microcode, core kinds, SMT, driver and
turbo. Only these go into the node's digest. Others change by themselves, such as the boot, or
depend on the reader's permissions, such as power limits.

Of the kernel's command line, only options that affect how programs run are kept: scheduler,
frequency, memory (Linux Documentation/admin-guide/kernel-parameters.txt, intel_pstate.rst).
Options that name the machine, its disks or consoles are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pinstudy.base.cpulist import cpulists_by_value, format_cpulist
from pinstudy.base.reading import Unavailable, known, reading_of
from pinstudy.runners.host.control_groups import GROUPS, read_partitions
from pinstudy.runners.host.tree import BOOT_ID, Tree
from pinstudy.runners.node import cpuinfo
from pinstudy.runners.node.core_kinds.ranking import CAPACITY, HIGHEST_PERF, read_sign
from pinstudy.runners.node.cpufreq import CPUS, Cpufreq, policy_directories, read_mode, read_turbo
from pinstudy.runners.node.cpuinfo import FLAG_FIELDS, isa_by_kind
from pinstudy.runners.node.power import PLATFORM_PROFILE, read_power_limits
from pinstudy.runners.node.scheduler import (
    BOOT_OPTIONS,
    CACHE_AWARE,
    ISOLATED,
    ON,
    PARTITIONS,
    TICKLESS,
    read_itmt,
)
from pinstudy.runners.node.topology import Topology, topology_json

SMT = f"{CPUS}/smt/control"
_TEXTS = {
    "architecture": "/proc/sys/kernel/arch",
    "kernel_build": "/proc/sys/kernel/version",
    "firmware": "/sys/class/dmi/id/bios_version",
    "product": "/sys/class/dmi/id/product_name",
    "smt": SMT,
    "idle_driver": f"{CPUS}/cpuidle/current_driver",
    "idle_governor": f"{CPUS}/cpuidle/current_governor",
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
}
_WORDS = {"platform_profile": PLATFORM_PROFILE, "cache_aware_scheduling": CACHE_AWARE}
_NUMBERS = {
    "nmi_watchdog": "/proc/sys/kernel/nmi_watchdog",
    "perf_event_paranoid": "/proc/sys/kernel/perf_event_paranoid",
    "sched_autogroup": "/proc/sys/kernel/sched_autogroup_enabled",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "address_randomisation": "/proc/sys/kernel/randomize_va_space",
}
# Linux Documentation/admin-guide/pm/intel_pstate.rst and intel_epb.rst.
_PSTATE = ("hwp_dynamic_boost", "min_perf_pct", "max_perf_pct")
_BIAS = "power/energy_perf_bias"
# Linux Documentation/admin-guide/pm/amd-pstate.rst: whether the scheduler prefers the cores of a
# higher rank, whether the hardware ranks them, and the ranks.
_PREFCORE = f"{CPUS}/amd_pstate/prefcore"
PREFCORE_OF_POLICY = {
    "hw_prefcore": "amd_pstate_hw_prefcore",
    "prefcore_ranking": "amd_pstate_prefcore_ranking",
}
# Linux Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst
UNCORE = f"{CPUS}/intel_uncore_frequency"
_UNCORE_LIMITS = {"min_khz": "min_freq_khz", "max_khz": "max_freq_khz"}
# The facts on frequency scaling, by the attributes of Policy.
_SCALING = {"drivers": "driver", "governors": "governor"} | {
    name: name for name in ("epp", "base_khz", "highest_khz", "min_khz", "max_khz")
}
# Paths that only the virtual node (vnode/) has: its kernel shows a model, not hardware.
VIRTUAL_NODES = (
    "/sys/module/pinstudy_vnode",
    "/sys/firmware/devicetree/base/pinstudy-virtual-node",
)
_THP = "/sys/kernel/mm/transparent_hugepage/enabled"
# Files that hold a fact each; a snapshot packs all of them.
FACT_FILES = (
    *_TEXTS.values(),
    *_WORDS.values(),
    *_NUMBERS.values(),
    _THP,
    ISOLATED,
    TICKLESS,
    PARTITIONS,
    _PREFCORE,
)

_NAMES = frozenset(
    {
        # on which CPUs threads run
        *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "irqaffinity", "maxcpus", "nr_cpus"),
        *("nosmt", "noautogroup", "preempt", "threadirqs", "skew_tick"),
        # frequency and sleep states; `intel_pstate=no_cas` disables capacity-aware scheduling
        *("intel_pstate", "amd_pstate", "amd_prefcore", "cpufreq.default_governor", "idle"),
        *("cpufreq.off", "cpuidle.off", "cpuidle.governor", "intel_idle.max_cstate"),
        *("processor.max_cstate", "int_pln_enable", "cpuidle_haltpoll.force", "amd_dynamic_epp"),
        # interrupts that hold a hardware counter, and clocks
        *("nmi_watchdog", "nowatchdog", "nosoftlockup", "clocksource", "tsc", "hpet"),
        # memory
        *("transparent_hugepage", "hugepages", "hugepagesz", "default_hugepagesz"),
        *("numa", "numa_balancing"),
        # mitigations of side channels, which cost time
        *("mitigations", "nopti", "pti", "nospectre_v1", "nospectre_v2", "spectre_v2", "l1tf"),
        *("spectre_v2_user", "spec_store_bypass_disable", "mds", "tsx", "tsx_async_abort"),
        *("srbds", "mmio_stale_data", "retbleed", "spec_rstack_overflow"),
        *("gather_data_sampling", "reg_file_data_sampling", "spectre_bhi"),
    }
)
# `package_00_die_00`, or `uncore00` where clusters have limits of their own.
_DIE = re.compile(r"(?:package_[0-9]{1,5}_die_[0-9]{1,5}|uncore[0-9]{1,5})", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9_.,:+/-]{0,200}", re.ASCII)


def read_facts(tree: Tree, topology: Topology, cpufreq: Cpufreq) -> dict[str, Any]:
    """Return the node's facts, ready for JSON; `unavailable` has a reason for each missing one."""
    read = reading_of(
        {
            **{name: tree.text(path) for name, path in _TEXTS.items()},
            **{name: tree.word(path) for name, path in _WORDS.items()},
            **{name: tree.integer(path) for name, path in _NUMBERS.items()},
            "kernel": _kernel(tree),
            "boot_id": tree.text(BOOT_ID),
            "itmt_enabled": _itmt(tree),
            "memory_bytes": memory_bytes(tree, "MemTotal"),
            "transparent_hugepages": _bracketed_word(tree, _THP),
            "power_limits": read_power_limits(tree),
            "uncore_limits": _uncore_limits(tree),
            "isa_by_kind": isa_by_kind(tree, topology),
            "isolated": _isolated(tree, topology),
            "cpuset_partitions": _partitions(tree),
            "boot_options": _boot_options(tree),
            **_processor(tree),
        }
    )
    facts = read.fields | {"topology": topology_json(topology)}
    for name, sign in (("cpu_capacity", CAPACITY), ("highest_perf", HIGHEST_PERF)):
        values = read_sign(tree, sign, topology.online)
        facts[name] = cpulists_by_value({cpu: str(value) for cpu, value in values.items()})
    facts["cpufreq"] = _scaling(cpufreq) | _hidden_scaling(tree, topology)
    if any(map(tree.is_directory, VIRTUAL_NODES)):
        facts["node"] = "virtual"
    return facts | {"unavailable": read.unavailable}


def switchable(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return those facts of the digest that can be switched at any time, by name."""
    return {
        "turbo": facts["cpufreq"].get("turbo"),
        "mode": facts["cpufreq"].get("mode"),
        "transparent_hugepages": facts.get("transparent_hugepages"),
    }


def smt_is_off(tree: Tree) -> bool:
    """Return whether the CPUs that are SMT siblings of others were put offline."""
    return tree.word(SMT) in ("off", "forceoff")


def read_switchable(tree: Tree) -> dict[str, Any]:
    """Return the present values of the facts in `switchable`."""
    return {
        "turbo": read_turbo(tree),
        "mode": read_mode(tree),
        "transparent_hugepages": known(_bracketed_word(tree, _THP)),
    }


def _processor(tree: Tree) -> dict[str, Any]:
    """Return the first CPU's model, microcode and flags, and whether it is virtual."""
    block = cpuinfo.first_block(tree)
    if not block:
        gone = Unavailable(f"{cpuinfo.PATH} is missing or empty")
        return dict.fromkeys(("cpu_model", "microcode", "cpu_flags", "virtual_machine"), gone)
    unnamed = Unavailable(f"{cpuinfo.PATH} does not say it")
    return {
        "cpu_model": block.get("model name") or block.get("Hardware") or unnamed,
        "microcode": block.get("microcode") or unnamed,
        # Vendors call them flags, Features or isa.
        "cpu_flags": next(filter(None, map(block.get, FLAG_FIELDS)), unnamed),
        "virtual_machine": cpuinfo.is_guest(block) if "flags" in block else unnamed,
    }


def _kernel(tree: Tree) -> str | Unavailable:
    """Return the kernel's release; recorded trees often have only /proc/version."""
    release = tree.text("/proc/sys/kernel/osrelease")
    if not isinstance(release, Unavailable):
        return release
    words = (known(tree.text("/proc/version")) or "").split()
    return words[2] if words[:2] == ["Linux", "version"] and len(words) > 2 else release


def _scaling(cpufreq: Cpufreq) -> dict[str, Any]:
    """Return the state of frequency scaling, with the CPUs of each value."""
    shown: dict[str, Any] = {"mode": cpufreq.mode, "turbo": cpufreq.turbo}
    if not cpufreq.policies:
        return shown | {"drivers": {}, "reason": cpufreq.reason}
    policy_of = {cpu: policy for policy in cpufreq.policies for cpu in policy.cpus}
    for name, attribute in _SCALING.items():
        values = {cpu: getattr(policy, attribute) for cpu, policy in policy_of.items()}
        shown[name] = cpulists_by_value(
            {cpu: str(value) for cpu, value in values.items() if value is not None}
        )
    offered = {cpu: " ".join(policy.governors) for cpu, policy in policy_of.items()}
    return shown | {"governors_offered": cpulists_by_value(offered)}


def _hidden_scaling(tree: Tree, topology: Topology) -> dict[str, Any]:
    """Return other settings of intel_pstate and amd_pstate, where they exist."""
    found = {name: tree.integer(f"{CPUS}/intel_pstate/{name}") for name in _PSTATE}
    texts = {cpu: known(tree.text(f"{CPUS}/cpu{cpu}/{_BIAS}")) for cpu in topology.online}
    bias = {cpu: text for cpu, text in texts.items() if text}
    shown = {"energy_perf_bias": cpulists_by_value(bias)} if bias else {}
    return reading_of(found).fields | shown | _preferred_cores(tree, topology)


def _preferred_cores(tree: Tree, topology: Topology) -> dict[str, Any]:
    """Return whether AMD's preferred cores are used, and the CPUs of each rank."""
    prefcore = known(tree.word(_PREFCORE))
    shown: dict[str, Any] = {"prefcore": prefcore} if prefcore else {}
    directories = policy_directories(tree)
    for name, file in PREFCORE_OF_POLICY.items():
        texts = {
            cpu: known(tree.word(f"{directories[cpu]}/{file}"))
            for cpu in topology.online
            if cpu in directories
        }
        if values := {cpu: text for cpu, text in texts.items() if text}:
            shown[name] = cpulists_by_value(values)
    return shown


def _uncore_limits(tree: Tree) -> dict[str, dict[str, int]] | Unavailable:
    """Return the limits in kHz of the frequency of each die's or cluster's interconnect."""
    names = tree.names(UNCORE)
    if isinstance(names, Unavailable):
        return names
    limits = {
        name: reading_of(
            {
                limit: tree.natural(f"{UNCORE}/{name}/{file}")
                for limit, file in _UNCORE_LIMITS.items()
            }
        ).fields
        for name in names
        if _DIE.fullmatch(name)
    }
    found = {name: of for name, of in limits.items() if of}
    return found or Unavailable(f"{UNCORE} has no limits that can be read")


def _itmt(tree: Tree) -> int | Unavailable:
    state = read_itmt(tree)
    return state if isinstance(state, Unavailable) else int(state == ON)


def memory_bytes(tree: Tree, name: str) -> int | Unavailable:
    """Return one figure of the node's memory, such as MemAvailable (proc_meminfo(5))."""
    text = tree.text("/proc/meminfo")
    if isinstance(text, Unavailable):
        return text
    match = re.search(rf"^{name}:\s*([0-9]{{1,15}}) kB$", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else Unavailable(f"/proc/meminfo has no {name} in kB")


def _isolated(tree: Tree, topology: Topology) -> str | Unavailable:
    """Return the CPUs that the kernel balances no threads onto; often none."""
    listed = tree.cpulist(ISOLATED)
    if isinstance(listed, Unavailable) and not topology.isolated:
        return listed
    return format_cpulist(topology.isolated)


def _partitions(tree: Tree) -> dict[str, str] | Unavailable:
    """Return the CPUs of cpuset partitions by their type; groups' names say too much of a node."""
    groups = tree.names(GROUPS)
    if isinstance(groups, Unavailable):
        return groups
    parts = read_partitions(tree)
    return {
        kind: format_cpulist({cpu for part in parts if part.type == kind for cpu in part.cpus})
        for kind in dict.fromkeys(part.type for part in parts)
    }


def _bracketed_word(tree: Tree, path: str) -> str | Unavailable:
    """Return the word in brackets of a file such as `always [madvise] never`."""
    text = tree.text(path)
    if isinstance(text, Unavailable):
        return text
    match = re.search(r"\[([a-z_]+)\]", text)
    return match[1] if match else Unavailable(f"{path} marks no choice")


def _boot_options(tree: Tree) -> str | Unavailable:
    """Return the relevant options of this boot, in order, separated by blanks; often none."""
    line = tree.content(BOOT_OPTIONS)
    return line if isinstance(line, Unavailable) else relevant_options(line)


def relevant_options(line: str) -> str:
    """Return the relevant options of a kernel command line; anything after `--` is for init."""
    words = []
    for word in line.split():
        if word == "--":
            break
        name, _, value = word.partition("=")
        # The kernel treats `-` and `_` in names as equal.
        if name.replace("-", "_") in _NAMES and _VALUE.fullmatch(value):
            words.append(word)
    return " ".join(words)
