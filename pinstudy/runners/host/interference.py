"""Processes that interfere with what a study measures.

Known daemons change frequencies, masks or interrupts; a warning tells the user how to stop them.
Orphans of a killed pinstudy compute beside the next study's program, and are killed: a witness
(pinstudy/runners/witness/witness.cpp) kills its program when its pinstudy is gone, but a stopped
witness (SIGSTOP) does not. They are known by the mark of their starter
(pinstudy/runners/host/starter.py); another user's, whose mark cannot be read, by a witness that has
lost the other end of its pipe.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Unavailable, known
from pinstudy.base.text import first_of, plural
from pinstudy.configs.daemons import UNITS, USER_UNITS
from pinstudy.runners.host.processes import NAME_LENGTH, Task, has_ended, parse_task, read_stats
from pinstudy.runners.host.software import WITNESS
from pinstudy.runners.host.starter import (
    LOCK_VARIABLE,
    Starter,
    mark_in,
    mark_of,
    own_place,
    starter_of_folder,
)
from pinstudy.runners.host.tree import Tree

_BY_COMM = {name[:NAME_LENGTH]: name for name in (*UNITS, *USER_UNITS)}

# A process in an uninterruptible wait does not end before the wait does.
_END_LIMIT_S = 5.0
_PAUSE_S = 0.01
# As the kernel shows its name in /proc/PID/stat.
_WITNESS_NAME = WITNESS[:NAME_LENGTH]
_WITNESS = f"({_WITNESS_NAME})"
# Where a run's folders may be that had another $TMPDIR, beside this session's.
_COMMON_FOLDERS = ("/tmp", "/var/tmp")
_MAX_BYTES = 4096
_ROOTS = re.compile(rb"^Uid:\t0\t", re.MULTILINE)
_MAX_SHOWN = 5
_PROC = Path("/proc")
_PID_NAMESPACE = Path("/proc/self/ns/pid")
_FIRST_PID_NAMESPACE = 0xEFFFFFFC


def find_daemons(tree: Tree) -> list[str] | Unavailable:
    """Return the names of the known daemons that run now, sorted.

    They are found by their processes' names, which the kernel cuts to 15 characters.
    """
    stats = read_stats(tree)
    if isinstance(stats, Unavailable):
        return stats
    tasks = (parse_task(text) for text in stats.values())
    found = {_BY_COMM[task.command] for task in tasks if task and task.command in _BY_COMM}
    if not found and 1 not in stats:
        return Unavailable("/proc hides other users' processes (hidepid)")
    if not found and tree.live and _sees_part_of_processes():
        return Unavailable("a container sees its own processes only", missing=True)
    return sorted(found)


def _sees_part_of_processes() -> bool:
    """Whether this process has another PID namespace than the node's first process.

    The kernel gives the first namespace this inode (PROC_PID_INIT_INO, include/linux/proc_ns.h).
    """
    try:
        return _PID_NAMESPACE.stat().st_ino != _FIRST_PID_NAMESPACE
    except OSError:
        return False


def stop_commands(daemons: Collection[str]) -> str:
    """Return the shell's command line that stops these daemons until the next boot."""
    commands = []
    for command, units in (("sudo systemctl stop", UNITS), ("systemctl --user stop", USER_UNITS)):
        if named := [units[name] for name in daemons if name in units]:
            commands.append(" ".join([command, *named]))
    return " && ".join(commands)


def interfering(daemons: Collection[str]) -> str:
    """Return the beginning of a sentence: what these daemons do."""
    verb = "runs and changes" if len(daemons) == 1 else "run and change"
    return f"{', '.join(daemons)} {verb} frequencies, masks or interrupts"


def daemon_warning(daemons: Collection[str]) -> str | None:
    """Return one line about daemons that interfere, with the command that stops them, or None."""
    if not daemons:
        return None
    stop = stop_commands(daemons)
    return f"warning: {interfering(daemons)} while the study measures; stop with: {stop}"


def end_orphans() -> list[str]:
    """Kill what this user's killed pinstudies have left; return a message for the user on each.

    Their temporary folders are removed. Raises StudyError when this process cannot end an orphan:
    it is another user's, or waits uninterruptibly in the kernel.
    """
    own_uid = os.geteuid()
    lines = [_end_left_by(starter, own_uid) for starter in _gone_starters(own_uid)]
    lines += [line for orphan in _orphans() if (line := _end(orphan, own_uid))]
    if removed := remove_left_folders(own_uid):
        kept = plural(removed, "temporary folder")
        lines.append(f"removed {kept} of a pinstudy that was killed")
    return lines


def remove_left_folders(own_uid: int) -> int:
    """Remove the temporary folders of this user's killed pinstudies; return how many there were.

    Links are not followed, and what cannot be removed is left.
    """
    stats = _stats()
    removed = 0
    for place in sorted({tempfile.gettempdir(), *_COMMON_FOLDERS}):
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                starter = starter_of_folder(entry.name)
                if starter and starter.is_gone(stats) and _is_folder_of(entry, own_uid):
                    shutil.rmtree(entry.path, ignore_errors=True)
                    removed += not os.path.lexists(entry.path)
    return removed


def _is_folder_of(entry: os.DirEntry[str], uid: int) -> bool:
    try:
        return (
            entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == uid
        )
    except OSError:
        return False


def _gone_starters(own_uid: int) -> list[Starter]:
    """Return the starters of this user's living processes that have ended themselves."""
    stats = _stats()
    starters = dict.fromkeys(starter for starter, _ in _marks(stats, own_uid).values())
    # Whoever starts pinstudy in what a killed one has left means to keep that.
    if around := mark_in(os.environ):
        starters.pop(around[0], None)
    # As the processes are after that: whoever starts one lives longer.
    stats = _stats()
    return [starter for starter in starters if starter.is_gone(stats)]


def _marks(stats: Mapping[int, str], uid: int) -> dict[int, tuple[Starter, str]]:
    """Return the marks of this user's living processes that have one."""
    return {
        pid: mark
        for pid, text in stats.items()
        if not has_ended(text) and _is_of(pid, uid) and (mark := mark_of(pid))
    }


def _end_left_by(starter: Starter, own_uid: int) -> str:
    """Kill all that a starter has left, with what descends from it; return a message on it."""
    names: dict[int, str] = {}
    keys: set[tuple[int, int]] = set()
    deadline = time.monotonic() + _END_LIMIT_S
    problem = ""
    while left := _left_by(starter, own_uid, keys):
        new = [task for task in left if task.key not in keys]
        keys.update(task.key for task in left)
        names |= {task.pid: task.command for task in left}
        if time.monotonic() >= deadline:
            problem = problem or "does not end"
        if problem:
            raise _cannot_end(_shown(names), problem, [task.pid for task in left])
        # All are stopped before the first is killed, so that none starts others meanwhile.
        number = signal.SIGSTOP if new else signal.SIGKILL
        problem = _kill([task.pid for task in left], own_uid, number)
        if not new:
            time.sleep(_PAUSE_S)
    return f"ended what a pinstudy that was killed had left running: {_shown(names)}"


def _left_by(starter: Starter, uid: int, known_keys: Collection[tuple[int, int]]) -> list[Task]:
    """Return the living processes with a starter's mark or one of these keys, and descendants."""
    stats = _stats()
    marked = {pid for pid, (found, _) in _marks(stats, uid).items() if found == starter}
    tasks = _living(stats)
    roots = [pid for pid, task in tasks.items() if pid in marked or task.key in known_keys]
    pids = dict.fromkeys([*roots, *(pid for root in roots for pid in _descendants(root, stats))])
    return [tasks[pid] for pid in pids]


def _orphans() -> list[Task]:
    """Return the witnesses whose pinstudy is gone."""
    stats = _stats()
    found = [
        parse_task(text) for text in stats.values() if _WITNESS in text and not has_ended(text)
    ]
    return [
        task
        for task in found
        if task and not _is_under_another_lock(task.pid) and _is_orphan(task, stats)
    ]


def _is_under_another_lock(pid: int) -> bool:
    """Return whether a process is not of the lock that $PINSTUDY_LOCK names, if it names any."""
    if LOCK_VARIABLE not in os.environ:
        return False
    mark = mark_of(pid)
    return mark is None or mark[0].place != own_place()


def _is_orphan(witness: Task, stats: Mapping[int, str]) -> bool:
    """Return whether a witness has lost its pinstudy: its command pipe has no other end."""
    try:
        arguments = (_PROC / str(witness.pid) / "cmdline").read_bytes()[:_MAX_BYTES].split(b"\0")
        pipe = (_PROC / str(witness.pid) / "fd" / arguments[1].decode("ascii")).readlink()
    except PermissionError:
        # Only the parent of another user's process is visible; init adopts orphaned processes.
        return witness.parent == 1 and not _is_pinstudy(_PROC / "1")
    except (OSError, ValueError, IndexError):
        return False  # it has just ended, or is another program of this name
    if not str(pipe).startswith("pipe:"):
        return False
    family = {witness.pid, *_descendants(witness.pid, stats)}
    parent = _PROC / str(witness.parent)
    # A user cannot read the descriptors of the runner that works for this user under sudo.
    if not os.access(parent / "fd", os.R_OK) and _is_pinstudy(parent):
        return False
    return not any(_has_open(_PROC / str(pid), pipe) for pid in stats if pid not in family)


def _is_pinstudy(process: Path) -> bool:
    try:
        return b"pinstudy" in (process / "cmdline").read_bytes()[:_MAX_BYTES]
    except OSError:
        return False


def _has_open(process: Path, pipe: Path) -> bool:
    with suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with suppress(OSError):
                if descriptor.readlink() == pipe:
                    return True
    return False


def _end(witness: Task, own_uid: int) -> str:
    """Kill a witness and its descendants; return a message that names them.

    Empty when only another user's witness is left, which takes no CPU time.
    """
    names: dict[int, str] = {}
    deadline = time.monotonic() + _END_LIMIT_S
    while True:
        stats = _stats()
        now = parse_task(stats.get(witness.pid, ""))
        if now is None or now.key != witness.key or has_ended(stats[witness.pid]):
            break
        descendants = _descendants(witness.pid, stats)
        names |= descendants
        # The witness adopts orphans of its descendants, so it is killed last.
        problem = _kill(list(descendants) or [witness.pid], own_uid)
        if problem and not names:
            return ""
        if problem or time.monotonic() >= deadline:
            pids = [*descendants, witness.pid]
            raise _cannot_end(_listed(names, witness), problem or "does not end", pids)
        time.sleep(_PAUSE_S)
    return f"ended what a pinstudy that was killed had left running: {_listed(names, witness)}"


def _cannot_end(listed: str, problem: str, pids: Iterable[int]) -> StudyError:
    return StudyError(
        f"a pinstudy that was killed has left running: {listed}; it would disturb what is "
        f"measured, and {problem}: end it (sudo kill -9 {' '.join(map(str, pids))}) and start the "
        "same command again"
    )


def _kill(pids: Iterable[int], own_uid: int, number: int = signal.SIGKILL) -> str:
    """Kill processes of this user, or stop them; return why that cannot be done to one of them."""
    for pid in pids:
        try:
            owner = (_PROC / str(pid)).stat().st_uid
            if owner != own_uid:
                return f"belongs to user {owner}"
            os.kill(pid, number)
        except (FileNotFoundError, ProcessLookupError):
            continue
        except PermissionError:
            return "may not be ended by this user"
    return ""


def _descendants(process: int, stats: Mapping[int, str]) -> dict[int, str]:
    """Return the living descendants of a process, with their names."""
    children: dict[int, list[Task]] = {}
    for task in _living(stats).values():
        children.setdefault(task.parent, []).append(task)
    found: dict[int, str] = {}
    pending = [process]
    while pending:
        for child in children.get(pending.pop(), []):
            if child.pid not in found:
                found[child.pid] = child.command
                pending.append(child.pid)
    return found


def _living(stats: Mapping[int, str]) -> dict[int, Task]:
    tasks = (parse_task(text) for text in stats.values() if not has_ended(text))
    return {task.pid: task for task in tasks if task}


def _is_of(pid: int, uid: int) -> bool:
    """Return whether a process is of this user, who may read its memory without harm."""
    process = _PROC / str(pid)
    try:
        if process.stat().st_uid != uid:
            return False
        # What cannot be traced seems to be root's, and its memory may block every reader.
        return uid != 0 or _ROOTS.search((process / "status").read_bytes()) is not None
    except OSError:
        return False


def _stats() -> Mapping[int, str]:
    return known(read_stats(Tree(Path("/")))) or {}


def _listed(names: Mapping[int, str], witness: Task) -> str:
    return _shown(names or {witness.pid: WITNESS})


def _shown(names: Mapping[int, str]) -> str:
    """List processes; witnesses only where nothing else is left."""
    programs = {pid: name for pid, name in names.items() if name != _WITNESS_NAME} or names
    return first_of([f"{name} ({pid})" for pid, name in programs.items()], _MAX_SHOWN, ", ")
