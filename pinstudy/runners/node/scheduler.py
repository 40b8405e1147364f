"""The kernel's scheduler: its switches, a scheduler of sched_ext, and CPUs that it treats apart.

All may be switched at any time, so that they belong to a run and not to its node. A governor
switches energy-aware scheduling (EAS): it is possible only while schedutil is in force, also on x86
hybrids without SMT (from Linux 6.16 on). A comparison of governors is then one of two schedulers,
too.

Intel's ITMT ("Turbo Boost Max 3.0") makes the scheduler prefer the cores of a higher rank.

Preemption says when the kernel takes a CPU from a thread. Kernels with PREEMPT_DYNAMIC can switch
it, and only debugfs tells to what; on x86 and arm64 Linux has `full` and `lazy` alone from 7.0 on
(commit 7dadeaa6e851). Other kernels have the mode that they were built for.

The kernel balances no threads onto or between isolated CPUs: a thread gets there by an affinity
mask that has no other CPU, and stays on the CPU where it starts. The boot option `isolcpus` (with
the flag `domain`, which is the default) and isolated cpuset partitions make them so (Linux
Documentation/admin-guide/kernel-parameters.txt and cgroup-v2.rst). `nohz_full` alone stops the
timer's tick where one thread runs, and leaves the balancing as it is (Documentation/timers/
no_hz.rst).

Sources: Linux Documentation/admin-guide/sysctl/kernel.rst, "sched_energy_aware" (empty reads since
commit 8f833c82); Documentation/scheduler/sched-energy.rst and sched-ext.rst; kernel/sched/ext.c
(scx_attr_enable_seq), debug.c (sched_dynamic_show) and init/Makefile (preempt-flag);
arch/x86/kernel/itmt.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pinstudy.base.cpulist import format_cpulist, named_cpus, parse_cpulist
from pinstudy.base.reading import Reading, Unavailable, known, reading_of
from pinstudy.runners.host import control_groups
from pinstudy.runners.host.control_groups import GROUPS, Partition, read_partitions
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import CPUS
from pinstudy.runners.records.settings_of_runs import NO_SCHED_EXT, NONE

ENERGY_AWARE = "/proc/sys/kernel/sched_energy_aware"
SCHED_EXT = "/sys/kernel/sched_ext/state"
SCHED_EXT_NAME = "/sys/kernel/sched_ext/root/ops"
# How often one was loaded since the boot: one that restarts itself within a run shows there.
SCHED_EXT_LOADED = "/sys/kernel/sched_ext/enable_seq"
# The path up to Linux 6.12, and that of later kernels, which root alone reads.
ITMT = ("/proc/sys/kernel/sched_itmt_enabled", "/sys/kernel/debug/x86/sched_itmt_enabled")
# Cache-aware scheduling, in Linux from 7.2 on (CONFIG_SCHED_CACHE); root alone reads it.
CACHE_AWARE = "/sys/kernel/debug/sched/llc_balancing/enabled"
# The modes of preemption with the present one in brackets; root alone reads it.
PREEMPTION = "/sys/kernel/debug/sched/preempt"
# Kernels with the patches of PREEMPT_RT have it; others tell in their version alone.
_REAL_TIME_FILE, _VERSION = "/sys/kernel/realtime", "/proc/sys/kernel/version"
FILES = (
    *(ENERGY_AWARE, SCHED_EXT, SCHED_EXT_NAME, SCHED_EXT_LOADED, *ITMT, CACHE_AWARE),
    *(PREEMPTION, _REAL_TIME_FILE, _VERSION),
)

ON, OFF, IMPOSSIBLE = "on", "off", "impossible"
_ENERGY_AWARE = {"1": ON, "0": OFF, "": IMPOSSIBLE}
_SWITCH = {"1": ON, "Y": ON, "0": OFF, "N": OFF}
# The states in which sched_ext has no scheduler and one in force.
DISABLED, ENABLED = "disabled", "enabled"
REAL_TIME = "real-time"
_PREEMPTION_MODE = re.compile(r"\(([a-z]{1,20})\)", re.ASCII)


def read_scheduler(tree: Tree) -> Reading:
    """Return the scheduler's state, as fields of a run's record.

    `sched_energy_aware` is ON, OFF, or IMPOSSIBLE where the kernel says that it cannot be on now;
    `sched_ext` is the state of sched_ext, and `sched_ext_scheduler` the name of what it has loaded
    or NO_SCHED_EXT, `sched_ext_loaded` how often one was loaded since the boot. `sched_itmt` and
    `sched_cache_aware` are ON or OFF, `preemption` is a mode such as `lazy`.
    """
    state = tree.word(SCHED_EXT)
    # One reason for all three where the kernel has no sched_ext.
    absent = state if isinstance(state, Unavailable) else None
    return reading_of(
        {
            "sched_energy_aware": read_energy_aware(tree),
            "sched_itmt": read_itmt(tree),
            "sched_cache_aware": read_cache_aware(tree),
            "preemption": read_preemption(tree),
            "sched_ext": state,
            "sched_ext_scheduler": absent or read_loaded(tree),
            "sched_ext_loaded": absent or tree.natural(SCHED_EXT_LOADED),
        }
    )


def read_loaded(tree: Tree) -> str | Unavailable:
    """Return the name of the scheduler of sched_ext that is loaded, or NO_SCHED_EXT."""
    return NO_SCHED_EXT if tree.word(SCHED_EXT) == DISABLED else tree.word(SCHED_EXT_NAME)


def itmt_file(tree: Tree) -> str:
    """Return the file that switches ITMT here; the later kernels' where there is none."""
    texts = {path: tree.text(path) for path in ITMT}
    return next((path for path, text in texts.items() if isinstance(text, str)), ITMT[-1])


def read_itmt(tree: Tree) -> str | Unavailable:
    """Return whether the scheduler prefers faster cores: ON or OFF."""
    path = itmt_file(tree)
    text = tree.text(path)
    if isinstance(text, Unavailable):
        return text
    return _switch_in(path, text)


def read_cache_aware(tree: Tree) -> str | Unavailable:
    """Return whether the scheduler puts threads that share data near each other: ON or OFF."""
    text = tree.text(CACHE_AWARE)
    return text if isinstance(text, Unavailable) else _switch_in(CACHE_AWARE, text)


def read_preemption(tree: Tree) -> str | Unavailable:
    """Return the mode of preemption: `none`, `voluntary`, `full`, `lazy`, after REAL_TIME if it is.

    REAL_TIME alone where only the mode within it is not known.
    """
    version = (known(tree.text(_VERSION)) or "").split()
    real_time = "PREEMPT_RT" in version or known(tree.integer(_REAL_TIME_FILE)) == 1
    text = tree.text(PREEMPTION)
    mode = None if isinstance(text, Unavailable) else _PREEMPTION_MODE.search(text)
    if mode:
        return f"{REAL_TIME}, {mode[1]}" if real_time else mode[1]
    if real_time:
        return REAL_TIME
    if not isinstance(text, Unavailable):
        return Unavailable(f"{PREEMPTION} marks no mode")
    if version and "PREEMPT_DYNAMIC" not in version:
        return Unavailable("the kernel was built for one mode, which it does not tell")
    return text


def _switch_in(path: str, text: str) -> str | Unavailable:
    return _SWITCH.get(text, Unavailable(f"{path} holds neither 0 nor 1, neither N nor Y"))


def read_energy_aware(tree: Tree) -> str | Unavailable:
    """Return whether the scheduler is energy-aware: ON, OFF, or IMPOSSIBLE now."""
    content = tree.content(ENERGY_AWARE)
    if isinstance(content, Unavailable):
        return content
    unknown = Unavailable(f"{ENERGY_AWARE} holds neither 0 nor 1 and is not empty")
    return _ENERGY_AWARE.get(content.strip(), unknown)


BOOT_OPTIONS = "/proc/cmdline"
ISOLATED = f"{CPUS}/isolated"
TICKLESS = f"{CPUS}/nohz_full"
# The root cgroup's own file; /sys/devices/system/cpu/isolated does not have partitions before
# Linux 7.0.
PARTITIONS = f"{GROUPS}/cpuset.cpus.isolated"
# Those flags of isolcpus without which CPUs are balanced as ever.
_FLAGS, _DOMAIN = frozenset({"nohz", "domain", "managed_irq"}), "domain"


def read_isolated(
    tree: Tree, online: tuple[int, ...], partitions: Iterable[Partition]
) -> tuple[int, ...]:
    """Return the online CPUs that the kernel leaves out of its balancing."""
    by_boot = known(tree.cpulist(ISOLATED))
    if by_boot is None:
        by_boot = _isolcpus(_option(tree, "isolcpus"), online)
    seen = (part.cpus for part in partitions if part.type == control_groups.ISOLATED)
    found = {*by_boot, *(known(tree.cpulist(PARTITIONS)) or ())}.union(*seen)
    return tuple(sorted(found.intersection(online)))


def read_isolation(tree: Tree, online: tuple[int, ...]) -> Reading:
    """Return which CPUs are isolated, and this process's cpuset partition, as fields of a record.

    Each is NONE where there is none: partitions may be made and ended at any time.
    """
    partitions = read_partitions(tree)
    own = (f"{part.type} {format_cpulist(part.cpus)}" for part in partitions if part.own)
    isolated = format_cpulist(read_isolated(tree, online, partitions))
    return Reading({"isolated_cpus": isolated or NONE, "cpuset_partition": next(own, NONE)})


def read_tickless(tree: Tree, online: tuple[int, ...]) -> tuple[int, ...]:
    """Return the online CPUs whose tick stops where one thread runs."""
    # Kernels before 6.7 write `(null)` for none.
    found = known(tree.cpulist(TICKLESS))
    if found is None and tree.text(TICKLESS) != "(null)":
        found = _listed(_option(tree, "nohz_full"), online)
    return tuple(sorted(set(found or ()).intersection(online)))


def isolation_notes(
    isolated: tuple[int, ...], tickless: tuple[int, ...], partitions: Iterable[Partition] = ()
) -> list[str]:
    """Return in sentences what these CPUs, and cpuset partitions, do to threads."""
    notes = []
    for part in filter(lambda part: part.cpus, partitions):
        are = f"{named_cpus(part.cpus)} {_are(part.cpus)} a cpuset partition ({part.type})"
        if not part.own:
            isolated = tuple(cpu for cpu in isolated if cpu not in part.cpus)
            notes.append(
                f"{are} of other processes: neither the scheduler nor an affinity mask brings "
                "threads of this one there"
            )
        elif part.type == control_groups.ROOT:
            notes.append(f"{are}, in which this process is: others' threads do not come there")
    if isolated:
        notes.append(
            f"{named_cpus(isolated)} {_are(isolated)} isolated (isolcpus, or a cpuset partition): "
            "the kernel balances no threads onto or between them. The OS scheduler leaves them "
            "idle, threads of a set stay where they start, programs of a login shell may not use "
            "them, and numactl refuses them; pinned threads run there as elsewhere"
        )
    if tickless:
        notes.append(
            f"{named_cpus(tickless)} {_are(tickless)} without the timer's tick where one thread "
            "runs (nohz_full): threads are balanced as elsewhere, but run with fewer "
            "interruptions, and enter the kernel more slowly"
        )
    return notes


def _are(cpus: tuple[int, ...]) -> str:
    return "is" if len(cpus) == 1 else "are"


def _option(tree: Tree, name: str) -> str:
    """Return the value of the last boot option of a name; empty for none."""
    value = ""
    for word in (known(tree.text(BOOT_OPTIONS)) or "").split():
        if word == "--":
            break
        option, equals, text = word.partition("=")
        value = text if equals and option == name else value
    return value


def _isolcpus(value: str, online: tuple[int, ...]) -> tuple[int, ...]:
    words = value.split(",")
    flags = [word for word in words if word in _FLAGS]
    if flags and _DOMAIN not in flags:
        return ()
    return _listed(",".join(word for word in words if word not in _FLAGS), online)


def _listed(text: str, online: tuple[int, ...]) -> tuple[int, ...]:
    """Return the CPUs of a boot option; `N` is the last one (kernel-parameters.rst), `all` all."""
    if text == "all":
        return online
    try:
        return parse_cpulist(text.replace("N", str(max(online))))
    except ValueError:
        return ()
