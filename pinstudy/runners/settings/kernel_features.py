"""Features of the kernel that interrupt programs or move their memory.

`pinstudy tune` alone switches them (Linux Documentation/admin-guide/sysctl/kernel.rst).
"""

from __future__ import annotations

import re

from pinstudy.runners.settings.setting import Setting

NMI_WATCHDOG = "/proc/sys/kernel/nmi_watchdog"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


class KernelFeatures(Setting):
    """Switches that are no factor of a study."""

    title = "a feature of the kernel"
    paths = re.compile("|".join(map(re.escape, (NMI_WATCHDOG, NUMA_BALANCING, AUTOGROUP))))
