"""CPUs that the kernel treats apart from the others: isolated ones, and those without a tick.

The kernel balances no threads onto or between isolated CPUs: a thread gets there by an affinity
mask that has no other CPU, and stays on the CPU where it starts. The boot option `isolcpus` (with
the flag `domain`, which is the default) and isolated cpuset partitions make them so (Linux
Documentation/admin-guide/kernel-parameters.txt and cgroup-v2.rst). `nohz_full` alone stops the
timer's tick where one thread runs, and leaves the balancing as it is (Documentation/timers/
no_hz.rst).
"""

from __future__ import annotations

from pinstudy.base.cpulist import named_cpus, parse_cpulist
from pinstudy.base.reading import known
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import CPUS

BOOT_OPTIONS = "/proc/cmdline"
ISOLATED = f"{CPUS}/isolated"
TICKLESS = f"{CPUS}/nohz_full"
# The root cgroup's own file; /sys/devices/system/cpu/isolated does not have partitions before
# Linux 7.0.
PARTITIONS = "/sys/fs/cgroup/cpuset.cpus.isolated"
# Those flags of isolcpus without which CPUs are balanced as ever.
_FLAGS, _DOMAIN = frozenset({"nohz", "domain", "managed_irq"}), "domain"


def read_isolated(tree: Tree, online: tuple[int, ...]) -> tuple[int, ...]:
    """Return the online CPUs that the kernel leaves out of its balancing."""
    by_boot = known(tree.cpulist(ISOLATED))
    if by_boot is None:
        by_boot = _isolcpus(_option(tree, "isolcpus"), online)
    found = {*by_boot, *(known(tree.cpulist(PARTITIONS)) or ())}
    return tuple(sorted(found.intersection(online)))


def read_tickless(tree: Tree, online: tuple[int, ...]) -> tuple[int, ...]:
    """Return the online CPUs whose tick stops where one thread runs."""
    # Kernels before 6.7 write `(null)` for none.
    found = known(tree.cpulist(TICKLESS))
    if found is None and tree.text(TICKLESS) != "(null)":
        found = _listed(_option(tree, "nohz_full"), online)
    return tuple(sorted(set(found or ()).intersection(online)))


def isolation_notes(isolated: tuple[int, ...], tickless: tuple[int, ...]) -> list[str]:
    """Return in sentences what these CPUs do to threads."""
    notes = []
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
