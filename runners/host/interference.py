"""Processes that interfere with what a study measures.

Known daemons change frequencies, masks or interrupts; a warning tells the user how to stop them.
Orphans of a killed pinstudy compute beside the next study's program, and are killed: a witness
(runners/witness/witness.cpp) kills its program when its pinstudy is gone, but a stopped witness
(SIGSTOP) does not.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from base.errors import StudyError
from base.text import first_of
from runners.host.processes import NAME_LENGTH, Task, has_ended, parse_task, read_stats
from runners.host.software import WITNESS
from runners.host.tree import Tree, Unavailable, known

# Process name -> the systemd unit that stops it. What each one does:
# intel_lpmd moves everything off the P-cores by cgroups and rewrites EPP; power-profiles-daemon,
# tuned, tuned-ppd, tlp-pd, auto-cpufreq, system76-power and cpufreqd set governors and EPP;
# thermald sets power limits; irqbalance moves interrupts; gamemoded sets governors for games. TLP
# without tlp-pd has no process: udev starts it when the power source changes.
UNITS = {
    name: name
    for name in (
        "intel_lpmd",
        "power-profiles-daemon",
        "tuned",
        "tuned-ppd",
        "thermald",
        "irqbalance",
        "tlp-pd",
        "auto-cpufreq",
        "cpufreqd",
    )
} | {"system76-power": "com.system76.PowerDaemon"}
# A service of the user's own session, which root's systemctl does not manage.
_USER_UNITS = {"gamemoded": "gamemoded"}

_BY_COMM = {name[:NAME_LENGTH]: name for name in (*UNITS, *_USER_UNITS)}

# A process in an uninterruptible wait does not end before the wait does.
_END_LIMIT_S = 5.0
_PAUSE_S = 0.01
# As the kernel shows its name in /proc/PID/stat.
_WITNESS = f"({WITNESS[:NAME_LENGTH]})"
_MAX_BYTES = 4096
_MAX_SHOWN = 5
_PROC = Path("/proc")


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
    return sorted(found)


def stop_commands(daemons: Collection[str]) -> str:
    """Return the shell's command line that stops these daemons until the next boot."""
    commands = []
    for command, units in (("sudo systemctl stop", UNITS), ("systemctl --user stop", _USER_UNITS)):
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
    """Kill the orphans of this user's killed pinstudies; return a message for the user on each.

    Raises StudyError when this process cannot end an orphan: it is another user's, or waits
    uninterruptibly in the kernel.
    """
    own_uid = os.geteuid()
    return [line for orphan in _orphans() if (line := _end(orphan, own_uid))]


def _orphans() -> list[Task]:
    """Return the witnesses whose pinstudy is gone."""
    stats = _stats()
    found = [
        parse_task(text) for text in stats.values() if _WITNESS in text and not has_ended(text)
    ]
    return [task for task in found if task and _is_orphan(task, stats)]


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
    family = {witness.pid, *_descendants(witness, stats)}
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
        descendants = _descendants(witness, stats)
        names |= descendants
        # The witness adopts orphans of its descendants, so it is killed last.
        problem = _kill(list(descendants) or [witness.pid], own_uid)
        if problem and not names:
            return ""
        if problem or time.monotonic() >= deadline:
            raise StudyError(
                f"a pinstudy that was killed has left running: {_listed(names, witness)}; it would "
                f"disturb what is measured, and {problem or 'does not end'}: end it "
                f"(sudo kill -9 {' '.join(map(str, [*descendants, witness.pid]))}) and start the "
                "same command again"
            )
        time.sleep(_PAUSE_S)
    return f"ended what a pinstudy that was killed had left running: {_listed(names, witness)}"


def _kill(pids: list[int], own_uid: int) -> str:
    """Kill processes of this user; return why one of them cannot be killed."""
    for pid in pids:
        try:
            owner = (_PROC / str(pid)).stat().st_uid
            if owner != own_uid:
                return f"belongs to user {owner}"
            os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            continue
        except PermissionError:
            return "may not be ended by this user"
    return ""


def _descendants(witness: Task, stats: Mapping[int, str]) -> dict[int, str]:
    """Return the living descendants of a process, with their names."""
    tasks = [task for text in stats.values() if not has_ended(text) and (task := parse_task(text))]
    children: dict[int, list[Task]] = {}
    for task in tasks:
        children.setdefault(task.parent, []).append(task)
    found: dict[int, str] = {}
    pending = [witness.pid]
    while pending:
        for child in children.get(pending.pop(), []):
            if child.pid not in found:
                found[child.pid] = child.command
                pending.append(child.pid)
    return found


def _stats() -> Mapping[int, str]:
    return known(read_stats(Tree(Path("/")))) or {}


def _listed(names: Mapping[int, str], witness: Task) -> str:
    shown = [f"{name} ({pid})" for pid, name in names.items()] or [f"{WITNESS} ({witness.pid})"]
    return first_of(shown, _MAX_SHOWN, ", ")
