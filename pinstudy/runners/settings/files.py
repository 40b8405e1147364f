"""The files of a node's settings: read, written, read back.

Order matters: first the governor, then the EPP, which drivers reset or refuse depending on the
governor, then the frequency limits, then turbo (Linux Documentation/admin-guide/pm/intel_pstate.rst
and amd-pstate.rst). Energy-aware scheduling can be switched only under the governor schedutil, and
is put back before the governors. Where users may not write the kernel's files, a site's own
commands set governors and schedulers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Sequence

from pinstudy.base.command import run
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.errors import UserError
from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import HIGHEST
from pinstudy.runners.host.privileges import rights_of
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import CPUS, is_cooled, policy_directories
from pinstudy.runners.settings import epp, governor, turbo
from pinstudy.runners.settings.frequency_limit import FREQUENCY_LIMITS, MaxFrequency
from pinstudy.runners.settings.registry import POLICY_FILES, is_valid, owner_of
from pinstudy.runners.settings.sched_ext import SchedExt, await_loaded, scheduler_of
from pinstudy.runners.settings.setting import SettingFile

# A limit may need its counterpart first, and a driver may reset an EPP late.
_PASSES = 3
# A site's command calls a daemon or sudo; one that takes longer hangs, or waits for a password.
COMMAND_LIMIT_S = 60.0


def read_scaling(tree: Tree, asked: Collection[str] = ()) -> tuple[SettingFile, ...] | Unavailable:
    """Return all settings of frequency scaling, in the order in which they are put back.

    `Unavailable` when an existing file cannot be read: it could not be put back either. A limit
    that heat has lowered is left out, unless it is of those settings that are `asked` for by name.
    """
    folders = dict.fromkeys(policy_directories(tree).values())
    paths = [f"{folder}/{name}" for name in POLICY_FILES for folder in folders]
    paths += (*governor.tuning_files(tree, folders), *turbo.FILES)
    # Who may not write it cannot put it back, and is not refused turbo for that.
    if tree.writable(turbo.MIN_PERFORMANCE):
        paths.append(turbo.MIN_PERFORMANCE)
    found = read_settings(tree, paths)
    if isinstance(found, Unavailable):
        return found
    names = {limit.file for limit in FREQUENCY_LIMITS if limit.name in asked}
    return without_heat(tree, found, [file.path for file in found if file.name in names])


def without_heat(
    tree: Tree, settings: Sequence[SettingFile], asked: Collection[str] = ()
) -> tuple[SettingFile, ...]:
    """Return settings without limits that heat has lowered: nobody knows what users have set.

    Those at the paths `asked` stay.
    """
    upper = {file.folder: file.value for file in settings if file.name == MaxFrequency.file}
    lowered = {
        file.path
        for file in settings
        if file.path not in asked
        and file.name in {limit.file for limit in FREQUENCY_LIMITS}
        # The kernel shows no lower limit above the upper one.
        and file.value == upper.get(file.folder) != HIGHEST
    }
    if not lowered or not is_cooled(tree):
        return tuple(settings)
    return tuple(file for file in settings if file.path not in lowered)


def read_settings(tree: Tree, paths: Iterable[str]) -> tuple[SettingFile, ...] | Unavailable:
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
        setting = SettingFile(path, value)
        if not is_valid(setting):
            return Unavailable(f"{path} holds {value[:40]!r}, which is no setting")
        settings.append(setting)
    return tuple(settings)


def read_value(tree: Tree, path: str) -> str | Unavailable:
    """Return the text of a setting's file."""
    setting = owner_of(path)
    return setting.text(tree, path) if setting else tree.text(path)


def in_force(tree: Tree, file: SettingFile) -> bool:
    """Return whether a file has its text, as far as the kernel shows it."""
    setting = owner_of(file.path)
    return setting is not None and setting.holds(tree, file)


def is_settled(tree: Tree, file: SettingFile) -> bool:
    """Return whether a file needs no writing to have its text."""
    setting = owner_of(file.path)
    return setting is not None and setting.is_settled(tree, file)


def unwritable_file(tree: Tree, directories: Iterable[str], also: Iterable[str] = ()) -> str | None:
    """Return a file that a change of these policies' settings may write and this process may not.

    The EPP is one of them: some drivers change it with the governor, and it has to be put back.
    `also` are further files.
    """
    names = governor.FILE, epp.FILE
    for path in (*(f"{folder}/{name}" for folder in directories for name in names), *also):
        text = tree.text(path)
        exists = not (isinstance(text, Unavailable) and text.missing)
        if exists and not tree.writable(path):
            return path
    return None


def put_in_force(
    tree: Tree,
    settings: Sequence[SettingFile],
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
            by_command = command and setting.name == governor.FILE
            if by_command or setting.path in failed_once or is_settled(tree, setting):
                continue
            owner = owner_of(setting.path)
            if isinstance(owner, SchedExt):
                failed = _change_scheduler(tree, setting.value, scheduler_command, uid)
            else:
                text = owner.written(tree, setting) if owner else setting.value
                failed = tree.put(setting.path, text)
            if failed is not None:
                kept = isinstance(owner, SchedExt) or (owner and owner.hidden_by_governors)
                (failed_once if kept else refused)[setting.path] = failed
        refused |= failed_once
        problems = {
            setting.path: _failure_reason(setting, refused.get(setting.path), now)
            for setting in settings
            if (now := read_value(tree, setting.path)) != setting.value
            and (setting.path in refused or not in_force(tree, setting))
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


def _failure_reason(
    setting: SettingFile, refused: Unavailable | None, now: str | Unavailable
) -> str:
    # Only a read shows this: writing an EPP under the governor performance fails with EBUSY, too.
    if isinstance(now, Unavailable) and now.busy:
        return _offline_reason(setting)
    reason = refused or (now if isinstance(now, Unavailable) else None)
    if reason is not None:
        return f"{reason.reason} (wanted: {setting.value})"
    return f"{setting.path} is {now}, not {setting.value}, after it was written"


def _offline_reason(setting: SettingFile) -> str:
    """Return the message for a policy with offline CPUs, the same for each of its settings.

    A policy has the number of one of its CPUs (Linux drivers/cpufreq/cpufreq.c).
    """
    policy = setting.path.split("/")[-2]
    cpu = f"{CPUS}/cpu{policy.removeprefix('policy')}"
    return f"the CPUs of {policy} are offline (`echo 1 > {cpu}/online`)"


def _run_command(
    tree: Tree, settings: Sequence[SettingFile], arguments: Sequence[str], uid: int
) -> dict[str, Unavailable]:
    """Set those governors by a site's command that are not in force; return failures by path.

    The command runs once per governor, which replaces `{governor}` in its arguments, and its CPUs
    `{cpus}`.
    """
    failed: dict[str, Unavailable] = {}
    wanted: dict[str, list[str]] = {}
    for setting in settings:
        if setting.name == governor.FILE and tree.text(setting.path) != setting.value:
            wanted.setdefault(setting.value, []).append(setting.path)
    directories = policy_directories(tree) if wanted else {}
    for name, paths in wanted.items():
        folders = {path.rpartition("/")[0] for path in paths}
        cpus = format_cpulist(sorted(cpu for cpu in directories if directories[cpu] in folders))
        command = [
            argument.replace("{governor}", name).replace("{cpus}", cpus) for argument in arguments
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
