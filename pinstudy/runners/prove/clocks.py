"""Governors, preferences, limits and turbo: what a loaded CPU's frequency does under each.

A governor's name alone promises little: under a driver that scales by itself, `powersave` may be
as fast as `performance`. What must hold of every driver: no other governor is faster than
`performance`, a limit is kept, and a fixed governor stays at its limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Unavailable, known
from pinstudy.configs.settings import CURRENT, GOVERNORS
from pinstudy.configs.site import Site
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import (
    BOOST,
    NO_TURBO,
    Cpufreq,
    Policy,
    policy_directories,
    read_cpufreq,
)
from pinstudy.runners.node.node import Node
from pinstudy.runners.prove.bench import Bench, Seen, Task
from pinstudy.runners.prove.counting import A_CLOCK, SHORT_S, OfKind, chain_words, counts_time
from pinstudy.runners.prove.finding import Instrument
from pinstudy.runners.records.instruments import Finding
from pinstudy.runners.settings import epp, governor
from pinstudy.runners.settings.files import put_in_force, read_scaling, unwritable_file
from pinstudy.runners.settings.frequency_limit import MaxFrequency
from pinstudy.runners.settings.governor import PERFORMANCE
from pinstudy.runners.settings.node_settings import SLURM_REQUEST
from pinstudy.runners.settings.recovery import Saved
from pinstudy.runners.settings.setting import SettingFile

# Of a frequency: more is no rounding and no second of a colder core.
WITHIN = 0.03
POWERSAVE = "powersave"
# Drivers that scale by themselves, whatever the governor is called.
ACTIVE = "active"
UNDER = "frequency under"


@dataclass(frozen=True)
class Setup:
    """A setting to try: its name in words, and the texts of the files that make it."""

    name: str
    settings: tuple[SettingFile, ...]
    limit_khz: int | None = None


@dataclass(frozen=True)
class Tried:
    """What the frequency was under a setting, on a kind's first CPU; or why it was not in force."""

    setup: Setup
    ghz: float | None
    seen: Seen
    problem: str = ""


def why_not_settable(bench: Bench, site: Site | None) -> str:
    """Return why this process cannot change the node's frequency settings; empty when it can."""
    cpufreq = bench.node.cpufreq
    if cpufreq.reason:
        return cpufreq.reason
    if site and site.governor and site.governor.by != "pinstudy":
        return "at this site pinstudy does not write the kernel's files"
    if SLURM_REQUEST in os.environ:
        return "in this job Slurm sets the governor"
    if locked := unwritable_file(bench.node.tree, policy_directories(bench.node.tree).values()):
        return f"no permission to write {locked}: run as root"
    return Saved(bench.node.root).leftover


@contextmanager
def journaled(node: Node) -> Iterator[Callable[[Sequence[SettingFile]], str]]:
    """Save the settings in force on the disk; put them back at the end of the context.

    Yields what puts settings in force and returns why that failed. Raises StudyError when the
    settings cannot be saved or, afterwards, not be put back.
    """
    tree = node.tree
    before = read_scaling(tree)
    saved = Saved(node.root)
    if isinstance(before, Unavailable):
        yield lambda _: f"settings are not changed, because they cannot be saved: {before.reason}"
        return
    if problem := saved.add(before):
        raise StudyError(problem)

    def put(settings: Sequence[SettingFile]) -> str:
        # What an earlier setting has changed must not last under the next one.
        changed = {setting.path: setting for setting in (*before, *settings)}
        problems = put_in_force(tree, tuple(changed.values()))
        wanted = {setting.path for setting in settings}
        return next((why for path, why in problems.items() if path in wanted), "")

    try:
        yield put
    finally:
        if (done := saved.restore()) and done.message:
            raise StudyError(done.message)


def setups(tree: Tree, cpufreq: Cpufreq, quick: bool) -> list[Setup]:
    """Return the settings to try: governors, preferences, a limit, turbo.

    They are for all CPUs: cores may share a clock, and the highest request counts. With `quick`,
    only the governors and the limit.
    """
    cpus = [cpu for policy in cpufreq.policies for cpu in policy.cpus]
    folders = cpufreq.directories(cpus)
    offered = [
        name for name in GOVERNORS if name != CURRENT and cpufreq.offer_problem(name, cpus) is None
    ]
    found = [_of_all(f"governor {name}", folders, governor.FILE, name) for name in offered]
    fast = (
        _of_all("", folders, governor.FILE, PERFORMANCE).settings if PERFORMANCE in offered else ()
    )
    for limit in _limits(cpufreq.policies, folders):
        found.append(replace(limit, settings=(*fast, *limit.settings)))
    if quick:
        return found
    for name in _preferences(tree, folders):
        # Under `performance` the kernel refuses all others.
        powersave = _of_all("", folders, governor.FILE, POWERSAVE).settings
        preference = _of_all("", folders, epp.FILE, name).settings
        found.append(Setup(f"preference {name}", (*powersave, *preference)))
    return found + _turbo(tree)


def _of_all(name: str, folders: Sequence[str], file: str, value: str) -> Setup:
    return Setup(name, tuple(SettingFile(f"{of}/{file}", value) for of in folders))


def _limits(policies: Sequence[Policy], folders: Sequence[str]) -> list[Setup]:
    """Return a limit in the middle of the range that all these policies have."""
    ranges = [(of.min_khz, of.highest_khz) for of in policies if of.min_khz and of.highest_khz]
    if not ranges or len(ranges) != len(policies):
        return []
    low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
    if low >= high:
        return []
    middle = (low + high) // 2 // 100_000 * 100_000
    settings = [SettingFile(f"{of}/{MaxFrequency.file}", str(middle)) for of in folders]
    return [Setup(f"limit {middle / 1e6:g} GHz", tuple(settings), middle)]


def _preferences(tree: Tree, folders: Sequence[str]) -> list[str]:
    listed = [known(tree.text(f"{of}/{epp.AVAILABLE}")) or "" for of in folders]
    common = set(listed[0].split()).intersection(*(text.split() for text in listed))
    return [name for name in listed[0].split() if name in common and name != "default"]


def _turbo(tree: Tree) -> list[Setup]:
    for path, off in ((NO_TURBO, "1"), (BOOST, "0")):
        if isinstance(tree.text(path), str):
            return [Setup("turbo off", (SettingFile(path, off),))]
    return []


def try_setups(bench: Bench, kinds: Sequence[OfKind], quick: bool) -> dict[str, list[Tried]]:
    """Try each setting on the first CPU of each kind; return what was seen by kind."""
    found: dict[str, list[Tried]] = {of.kind.name: [] for of in kinds}
    cpufreq = read_cpufreq(bench.node.root)
    with journaled(bench.node) as put:
        for setup in setups(bench.node.tree, cpufreq, quick):
            problem = put(setup.settings)
            for of in kinds:
                seen = Seen(problem=problem)
                if not problem:
                    seen = bench.run(Task(chain_words(SHORT_S), (of.cpu,)))
                found[of.kind.name].append(
                    Tried(setup, frequency_ghz(seen, of.kind.name), seen, problem)
                )
    return found


def frequency_ghz(seen: Seen, kind: str) -> float | None:
    """Return the frequency of a run on a core kind by its additions; emulated, by its cycles."""
    additions, adding_s = seen.printed.get("additions"), seen.printed.get("adding_s")
    if additions and adding_s and not seen.emulated:
        return additions / adding_s / 1e9
    counted: float | None = seen.fields.get("freq_ghz", {}).get(kind)
    return counted


def judge_setups(of: OfKind, tried: Sequence[Tried], cpufreq: Cpufreq) -> list[Finding]:
    """Judge the frequencies that a kind's CPU had under each setting."""
    policy = next((each for each in cpufreq.policies if of.cpu in each.cpus), None)
    lowest_khz = policy.min_khz if policy and cpufreq.mode != ACTIVE else None
    by_name = {each.setup.name: each.ghz for each in tried}
    fastest_ghz = by_name.get(f"governor {PERFORMANCE}")
    found = []
    for each in tried:
        highest_ghz, truth = _highest(each.setup, lowest_khz, fastest_ghz)
        one = Instrument(UNDER, f"{each.setup.name} {of.kind.name}", truth, ("governor_read",))
        if why := each.problem or each.seen.problem:
            found.append(one.absent(why))
        elif counts_time(each.seen):
            found.append(one.absent(A_CLOCK))
        elif each.ghz is None:
            found.append(one.absent(each.seen.why_without("freq_mean_ghz")))
        else:
            more = each.ghz / highest_ghz - 1 if highest_ghz else 0.0
            off = f"{more:+.1%}, at most {WITHIN:.0%} more is allowed" if more > WITHIN else ""
            found.append(one.found(f"{each.ghz:.3f} GHz", off))
    return found


def _highest(
    setup: Setup, lowest_khz: int | None, fastest_ghz: float | None
) -> tuple[float | None, str]:
    """Return the highest frequency that a setting allows, in GHz, and the reason in words."""
    if setup.limit_khz:
        return setup.limit_khz / 1e6, "at most the limit"
    if lowest_khz and setup.name == f"governor {POWERSAVE}":
        return lowest_khz / 1e6, f"{lowest_khz / 1e6:.2f} GHz, the lowest"
    if fastest_ghz:
        return fastest_ghz, "not faster than performance"
    return None, "reported"
