"""The recommended quiet state for measuring, with a journal of its own until `restore`.

The governor is `performance`, which has no ramp at the start of each run; a study still sets the
governors of its cases. Kernel features that interrupt programs or move their memory are off. Turbo
is left alone unless requested: without it, core kinds differ less than in normal use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pinstudy.base import PINSTUDY
from pinstudy.base.command import without_interruption
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import ON
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.host.privileges import write_problem
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import BOOST, CPUS, policy_boosts, read_cpufreq
from pinstudy.runners.settings.files import put_in_force, read_scaling, read_settings
from pinstudy.runners.settings.governor import FILE as GOVERNOR
from pinstudy.runners.settings.governor import PERFORMANCE
from pinstudy.runners.settings.journal import (
    STUDY,
    TUNE,
    Entry,
    new_entry,
    open_journal,
    predates_boot,
)
from pinstudy.runners.settings.kernel_switches import AUTOGROUP, NMI_WATCHDOG, NUMA_BALANCING
from pinstudy.runners.settings.registry import ordered
from pinstudy.runners.settings.setting import SettingFile
from pinstudy.runners.settings.turbo import MISSING, TEXTS

KEEP = "keep"
_STEADY = "it does not change the frequency with the load"
# Kernel features that tuning switches off, and why. Sources: Linux
# Documentation/admin-guide/sysctl/kernel.rst and sched-*.
_OFF = {
    NMI_WATCHDOG: "it interrupts every CPU and holds a hardware counter of each",
    NUMA_BALANCING: "it unmaps and moves the pages of programs while they run",
    AUTOGROUP: "it lets one busy thread of another session weigh as much as all of a program's",
}


@dataclass(frozen=True)
class Change:
    """One setting: its path, its old and its wanted value, and why; `problem` why it is not set."""

    path: str
    was: str
    wanted: str
    why: str
    problem: str = ""


def changes_of(tree: Tree, governor: str | None, turbo: str | None) -> list[Change]:
    """Return what tuning would change, without settings that are missing or already right.

    The default of `governor` is performance, where it is offered; KEEP leaves governors alone.
    `turbo` is "on", "off" or None. Raises UserError when a given governor or turbo is not offered.
    """
    wanted = {path: ("0", why) for path, why in _OFF.items()}
    wanted |= _governors(tree, governor) | _turbo(tree, turbo)
    changes = []
    for path, (value, why) in wanted.items():
        was = tree.text(path)
        if isinstance(was, Unavailable):
            if not was.missing:
                changes.append(Change(path, "", value, why, was.reason))
        elif was != value:
            changes.append(Change(path, was, value, why))
    return changes


def tune(root: Path, changes: Iterable[Change]) -> list[Change]:
    """Put the changes in force, and return them with their problems.

    Tuning again keeps the journal's values from before the first tuning of this boot. Raises
    StudyError while a study is at work, when one has left settings changed, or when the journal
    cannot be written; UserError when the journal or a setting cannot be read.
    """
    tree = Tree(root)
    with node_lock(root), without_interruption():
        changes = [_with_permission(tree, change) for change in changes]
        possible = [change for change in changes if not change.problem]
        if not possible:
            return changes
        if open_journal(root, STUDY).exists():
            raise StudyError(
                "a study that was killed has left settings changed; put them back first with "
                f"`{PINSTUDY} restore`"
            )
        journal = open_journal(root, TUNE)
        journal.write(_saved(tree, journal.read(), [change.path for change in possible]))
        problems = put_in_force(tree, [SettingFile(c.path, c.wanted) for c in possible])
    return [replace(c, problem=c.problem or problems.get(c.path, "")) for c in changes]


def _governors(tree: Tree, requested: str | None) -> dict[str, tuple[str, str]]:
    """Return the wanted governor of each file, and why; raises as `changes_of` does."""
    if requested == KEEP:
        return {}
    governor = requested or PERFORMANCE
    cpufreq = read_cpufreq(tree.root)
    cpus = [cpu for policy in cpufreq.policies for cpu in policy.cpus]
    problem = cpufreq.offer_problem(governor, cpus)
    if problem and requested:
        raise UserError(problem)
    files = [] if problem else [f"{folder}/{GOVERNOR}" for folder in cpufreq.directories(cpus)]
    return dict.fromkeys(files, (governor, "asked for" if requested else _STEADY))


def _turbo(tree: Tree, requested: str | None) -> dict[str, tuple[str, str]]:
    """Return the wanted value of each turbo file, and why; raises as `changes_of` does."""
    if requested is None:
        return {}
    texts = [tree.text(path) for path in TEXTS]
    if all(isinstance(text, Unavailable) and text.missing for text in texts):
        raise UserError(MISSING)
    files = {path: values[requested] for path, values in TEXTS.items()}
    if requested == ON:
        # The node's file is no order to a policy that is switched off by itself.
        files |= dict.fromkeys(policy_boosts(tree), TEXTS[BOOST][ON])
    return {path: (value, "asked for") for path, value in files.items()}


def _with_permission(tree: Tree, change: Change) -> Change:
    if change.problem or tree.writable(change.path):
        return change
    return replace(change, problem=": ".join(write_problem(change.path, "it")))


def _saved(tree: Tree, before: Entry | None, paths: list[str]) -> Entry:
    """Return the journal's entry: what an earlier tuning saved, and what is in force now."""
    readings = [read_settings(tree, (path for path in paths if path in _OFF))]
    if any(path.startswith(CPUS) for path in paths):
        # A change of governor changes its EPP and limits, too, so all of them are saved.
        readings.append(read_scaling(tree))
    saved = before.settings if before and not predates_boot(tree, before) else ()
    known = {setting.path for setting in saved}
    settings = list(saved)
    for reading in readings:
        if isinstance(reading, Unavailable):
            raise UserError(f"nothing is changed, because it cannot be saved: {reading.reason}")
        settings += [setting for setting in reading if setting.path not in known]
    return new_entry(tree, ordered(settings))
