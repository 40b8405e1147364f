"""A node's settings that a study or `pinstudy tune` may change: read, put in force, read back.

A setting is a file of the kernel and its text. Order matters: first the governor, then the EPP,
which drivers reset or refuse depending on the governor, then the frequency limits, then turbo
(Linux Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst). Energy-aware scheduling
can be switched only under the governor schedutil, and is put back before the governors. Where users
may not write the kernel's files, a site's own commands set governors and schedulers.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct

from base.command import run
from base.cpulist import format_cpulist
from base.errors import UserError
from base.reading import Unavailable
from runners.host.privileges import rights_of
from runners.host.tree import Tree
from runners.node.cpufreq import BOOST, CPUS, NO_TURBO, POLICIES, policy_directories
from runners.node.scheduler import (
    ENERGY_AWARE,
    IMPOSSIBLE,
    ITMT,
    SCHED_EXT_NAME,
    read_energy_aware,
    read_loaded,
)
from runners.settings.sched_ext import await_loaded, scheduler_of

GOVERNOR, EPP = "scaling_governor", "energy_performance_preference"
# The upper limit first: putting back mostly raises lowered limits, and a lower limit above the
# upper one is refused. Where limits are lowered instead, the second pass succeeds.
POLICY_FILES = (GOVERNOR, EPP, "scaling_max_freq", "scaling_min_freq", "boost")
_TURBO_FILES = (NO_TURBO, BOOST)
NMI_WATCHDOG = "/proc/sys/kernel/nmi_watchdog"
NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"
# In the order in which they are put back, before everything else.
SCHEDULER_FILES = (SCHED_EXT_NAME, ENERGY_AWARE, *ITMT)
_OTHER_FILES = frozenset((*_TURBO_FILES, NMI_WATCHDOG, NUMA_BALANCING, AUTOGROUP, *SCHEDULER_FILES))
# A limit may need its counterpart first, and a driver may reset an EPP late.
_PASSES = 3
# A site's command calls a daemon or sudo; one that takes longer hangs, or waits for a password.
COMMAND_LIMIT_S = 60.0

_POLICY_FILE = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/({'|'.join(POLICY_FILES)})", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
# SCX_OPS_NAME_LEN of Linux include/linux/sched/ext.h.
_SCHEDULER = re.compile(r"[A-Za-z0-9_.-]{1,127}", re.ASCII)


class Setting(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file of the node, by its path there, and its present or wanted text."""

    path: str
    value: str

    @property
    def valid(self) -> bool:
        """Whether pinstudy changes this file, and the file can have this value."""
        if _POLICY_FILE.fullmatch(self.path) is None and self.path not in _OTHER_FILES:
            return False
        form = _SCHEDULER if self.path == SCHED_EXT_NAME else _VALUE
        return form.fullmatch(self.value) is not None


def read_scaling(tree: Tree) -> tuple[Setting, ...] | Unavailable:
    """Return all settings of frequency scaling, in the order in which they are put back.

    `Unavailable` when an existing file cannot be read: it could not be put back either.
    """
    directories = dict.fromkeys(policy_directories(tree).values())
    paths = [f"{of}/{name}" for name in POLICY_FILES for of in directories]
    return read_settings(tree, (*paths, *_TURBO_FILES))


def read_settings(tree: Tree, paths: Iterable[str]) -> tuple[Setting, ...] | Unavailable:
    """Return the settings at these paths, without missing ones.

    `Unavailable` when one cannot be read, or has a value that no setting can have.
    """
    settings = []
    for path in paths:
        value = read_value(tree, path)
        if isinstance(value, Unavailable):
            if value.missing:
                continue
            return value
        setting = Setting(path, value)
        if not setting.valid:
            return Unavailable(f"{path} holds {value[:40]!r}, which is no setting")
        settings.append(setting)
    return tuple(settings)


def read_value(tree: Tree, path: str) -> str | Unavailable:
    """Return the text of a setting; without a scheduler of sched_ext there is no file to read."""
    return read_loaded(tree) if path == SCHED_EXT_NAME else tree.text(path)


def in_force(tree: Tree, setting: Setting) -> bool:
    """Return whether a setting has its value, as far as the kernel shows it.

    Energy-aware scheduling that is impossible now has none, and takes none.
    """
    if setting.path == ENERGY_AWARE and read_energy_aware(tree) == IMPOSSIBLE:
        return True
    return read_value(tree, setting.path) == setting.value


def unwritable_file(tree: Tree, directories: Iterable[str]) -> str | None:
    """Return a file that a change of these policies' governor may write and this process may not.

    The EPP is one of them: some drivers change it with the governor, and it has to be put back.
    """
    for path in (f"{of}/{name}" for of in directories for name in (GOVERNOR, EPP)):
        text = tree.text(path)
        exists = not (isinstance(text, Unavailable) and text.missing)
        if exists and not tree.writable(path):
            return path
    return None


def put_in_force(
    tree: Tree,
    settings: Sequence[Setting],
    command: Sequence[str] = (),
    user: int | None = None,
    scheduler_command: Sequence[str] = (),
) -> dict[str, str]:
    """Write the settings that are not in force, read all back; return failures by path.

    A site's own `command` takes the place of writing the governors' files, `scheduler_command` that
    of waiting until a scheduler of sched_ext is gone. `user` is the id of the user who runs them,
    by default that of this process.
    """
    uid = os.geteuid() if user is None else user
    problems: dict[str, str] = {}
    # What is not tried again: a scheduler, and a switch that another setting may hide.
    failed_once: dict[str, Unavailable] = {}
    for _ in range(_PASSES):
        refused = _run_command(tree, settings, command, uid) if command else {}
        for setting in settings:
            by_command = command and setting.path.endswith(GOVERNOR)
            if by_command or setting.path in failed_once or in_force(tree, setting):
                continue
            if setting.path == SCHED_EXT_NAME:
                failed = _change_scheduler(tree, setting.value, scheduler_command, uid)
            else:
                failed = tree.put(setting.path, setting.value)
            if failed is not None:
                kept = setting.path in (SCHED_EXT_NAME, ENERGY_AWARE)
                (failed_once if kept else refused)[setting.path] = failed
        refused |= failed_once
        problems = {
            setting.path: _failure_reason(setting, refused.get(setting.path), now)
            for setting in settings
            if (now := read_value(tree, setting.path)) != setting.value
            and (setting.path in failed_once or not in_force(tree, setting))
        }
        if not problems:
            break
    return problems


def _change_scheduler(
    tree: Tree, name: str, command: Sequence[str], uid: int
) -> Unavailable | None:
    """Have a scheduler of sched_ext, or none, by a site's command; else wait until it is so.

    pinstudy's own ends with the process that started it, whereupon the kernel needs a moment.
    """
    problem = scheduler_command_problem(command, scheduler_of(name), uid) if command else None
    problem = problem or await_loaded(tree, name)
    return Unavailable(problem) if problem else None


def scheduler_command_problem(
    arguments: Sequence[str], scheduler: str, uid: int | None = None
) -> str | None:
    """Have a site's command set a scheduler, as a study names it; return why that failed.

    Its name replaces `{scheduler}`. `uid` is that of the user who runs the command.
    """
    command = [argument.replace("{scheduler}", scheduler) for argument in arguments]
    return _command_problem(command, os.geteuid() if uid is None else uid)


def _failure_reason(setting: Setting, refused: Unavailable | None, now: str | Unavailable) -> str:
    # Only a read shows this: writing an EPP under the governor performance fails with EBUSY, too.
    if isinstance(now, Unavailable) and now.busy:
        return _offline_reason(setting)
    reason = refused or (now if isinstance(now, Unavailable) else None)
    if reason is not None:
        return f"{reason.reason} (wanted: {setting.value})"
    return f"{setting.path} is {now}, not {setting.value}, after it was written"


def _offline_reason(setting: Setting) -> str:
    """Return the message for a policy with offline CPUs, the same for each of its settings.

    A policy has the number of one of its CPUs (Linux drivers/cpufreq/cpufreq.c).
    """
    policy = setting.path.split("/")[-2]
    cpu = f"{CPUS}/cpu{policy.removeprefix('policy')}"
    return f"the CPUs of {policy} are offline (`echo 1 > {cpu}/online`)"


def _run_command(
    tree: Tree, settings: Sequence[Setting], arguments: Sequence[str], uid: int
) -> dict[str, Unavailable]:
    """Set those governors by a site's command that are not in force; return failures by path.

    The command runs once per governor, which replaces `{governor}` in its arguments, and its CPUs
    `{cpus}`.
    """
    failed: dict[str, Unavailable] = {}
    governors: dict[str, list[str]] = {}
    for setting in settings:
        if setting.path.endswith(GOVERNOR) and tree.text(setting.path) != setting.value:
            governors.setdefault(setting.value, []).append(setting.path)
    directories = policy_directories(tree) if governors else {}
    for governor, paths in governors.items():
        folders = {path.rpartition("/")[0] for path in paths}
        cpus = format_cpulist(sorted(cpu for cpu, of in directories.items() if of in folders))
        command = [
            argument.replace("{governor}", governor).replace("{cpus}", cpus)
            for argument in arguments
        ]
        if problem := _command_problem(command, uid):
            failed |= dict.fromkeys(paths, Unavailable(problem))
    return failed


def _command_problem(command: Sequence[str], uid: int) -> str | None:
    try:
        done = run(command, COMMAND_LIMIT_S, **rights_of(uid))
    except UserError as error:
        return f"`{shlex.join(command)}` cannot be started: {error}"
    return done.error if done.failed else None
