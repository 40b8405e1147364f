"""Options of the kernel's command line that decide how programs run: scheduler, frequency, memory.

Of all others (the root file system, consoles, what names the machine) nothing is taken. Names are
of Linux Documentation/admin-guide/kernel-parameters.txt and intel_pstate.rst.
"""

from __future__ import annotations

import re

from runners.host.tree import Absent, Tree

PATH = "/proc/cmdline"

_NAMES = frozenset(
    {
        # who runs where: `intel_pstate=no_cas`, for one, takes back capacity-aware scheduling
        *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "irqaffinity", "maxcpus", "nr_cpus"),
        *("nosmt", "noautogroup", "preempt", "threadirqs", "skew_tick"),
        # frequency and sleep states
        *("intel_pstate", "amd_pstate", "amd_prefcore", "cpufreq.default_governor", "idle"),
        *("cpufreq.off", "cpuidle.off", "cpuidle.governor", "intel_idle.max_cstate"),
        *("processor.max_cstate", "int_pln_enable", "cpuidle_haltpoll.force"),
        # interrupts that take a counter, and clocks
        *("nmi_watchdog", "nowatchdog", "nosoftlockup", "clocksource", "tsc", "hpet"),
        # memory
        *("transparent_hugepage", "hugepages", "hugepagesz", "default_hugepagesz"),
        *("numa", "numa_balancing"),
        # what protection against side channels costs
        *("mitigations", "nopti", "pti", "nospectre_v1", "nospectre_v2", "spectre_v2", "l1tf"),
        *("spectre_v2_user", "spec_store_bypass_disable", "mds", "tsx", "tsx_async_abort"),
        *("srbds", "mmio_stale_data", "retbleed", "spec_rstack_overflow"),
        *("gather_data_sampling", "reg_file_data_sampling", "spectre_bhi"),
    }
)
_VALUE = re.compile(r"[A-Za-z0-9_.,:+/-]{0,200}", re.ASCII)


def read_boot_options(tree: Tree) -> str | Absent:
    """Return these options of this boot, in their order, blanks between them; often none."""
    line = tree.content(PATH)
    return line if isinstance(line, Absent) else kept_options(line)


def kept_options(line: str) -> str:
    """Return what a kernel's command line has of these options; what follows `--` is init's."""
    words = []
    for word in line.split():
        if word == "--":
            break
        name, _, value = word.partition("=")
        # The kernel takes `-` and `_` in names for the same.
        if name.replace("-", "_") in _NAMES and _VALUE.fullmatch(value):
            words.append(word)
    return " ".join(words)
