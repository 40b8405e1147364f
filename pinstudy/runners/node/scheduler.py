"""The kernel's scheduler during a run: its switches, and a scheduler of sched_ext.

All may be switched at any time, so that they belong to a run and not to its node. A governor
switches energy-aware scheduling (EAS): it is possible only while schedutil is in force, also on x86
hybrids without SMT (from Linux 6.16 on). A comparison of governors is then one of two schedulers,
too.

Intel's ITMT ("Turbo Boost Max 3.0") makes the scheduler prefer the cores of a higher rank.

Sources: Linux Documentation/admin-guide/sysctl/kernel.rst, "sched_energy_aware" (empty reads since
commit 8f833c82); Documentation/scheduler/sched-energy.rst and sched-ext.rst; kernel/sched/ext.c
(scx_attr_enable_seq); arch/x86/kernel/itmt.c.
"""

from __future__ import annotations

from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.records.settings_of_runs import NO_SCHED_EXT

ENERGY_AWARE = "/proc/sys/kernel/sched_energy_aware"
SCHED_EXT = "/sys/kernel/sched_ext/state"
SCHED_EXT_NAME = "/sys/kernel/sched_ext/root/ops"
# How often one was loaded since the boot: one that restarts itself within a run shows there.
SCHED_EXT_LOADED = "/sys/kernel/sched_ext/enable_seq"
# The path up to Linux 6.12, and that of later kernels, which root alone reads.
ITMT = ("/proc/sys/kernel/sched_itmt_enabled", "/sys/kernel/debug/x86/sched_itmt_enabled")
# Cache-aware scheduling, in Linux from 7.2 on (CONFIG_SCHED_CACHE); root alone reads it.
CACHE_AWARE = "/sys/kernel/debug/sched/llc_balancing/enabled"
FILES = (ENERGY_AWARE, SCHED_EXT, SCHED_EXT_NAME, SCHED_EXT_LOADED, *ITMT, CACHE_AWARE)

ON, OFF, IMPOSSIBLE = "on", "off", "impossible"
_ENERGY_AWARE = {"1": ON, "0": OFF, "": IMPOSSIBLE}
_SWITCH = {"1": ON, "Y": ON, "0": OFF, "N": OFF}
# The states in which sched_ext has no scheduler and one in force.
DISABLED, ENABLED = "disabled", "enabled"


def read_scheduler(tree: Tree) -> Reading:
    """Return the scheduler's state, as fields of a run's record.

    `sched_energy_aware` is ON, OFF, or IMPOSSIBLE where the kernel says that it cannot be on now;
    `sched_ext` is the state of sched_ext, and `sched_ext_scheduler` the name of what it has loaded
    or NO_SCHED_EXT, `sched_ext_loaded` how often one was loaded since the boot. `sched_itmt` and
    `sched_cache_aware` are ON or OFF.
    """
    state = tree.word(SCHED_EXT)
    # One reason for all three where the kernel has no sched_ext.
    absent = state if isinstance(state, Unavailable) else None
    return reading_of(
        {
            "sched_energy_aware": read_energy_aware(tree),
            "sched_itmt": read_itmt(tree),
            "sched_cache_aware": read_cache_aware(tree),
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


def _switch_in(path: str, text: str) -> str | Unavailable:
    return _SWITCH.get(text, Unavailable(f"{path} holds neither 0 nor 1, neither N nor Y"))


def read_energy_aware(tree: Tree) -> str | Unavailable:
    """Return whether the scheduler is energy-aware: ON, OFF, or IMPOSSIBLE now."""
    content = tree.content(ENERGY_AWARE)
    if isinstance(content, Unavailable):
        return content
    unknown = Unavailable(f"{ENERGY_AWARE} holds neither 0 nor 1 and is not empty")
    return _ENERGY_AWARE.get(content.strip(), unknown)
