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
from pinstudy.runners.host.privileges import write_problem
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
from pinstudy.runners.prove.counting import A_CLOCK, SHORT_S, KindRuns, chain_words, counts_time
from pinstudy.runners.prove.proof import Instrument
from pinstudy.runners.records.instruments import Finding
from pinstudy.runners.settings import epp, governor
from pinstudy.runners.settings.files import put_in_force, read_scaling, unwritable_file
from pinstudy.runners.settings.frequency_limit import FREQUENCY_LIMITS, MaxFrequency
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
        return ": ".join(write_problem(locked))
    return Saved(bench.node.root).leftover


@contextmanager
def journaled(node: Node) -> Iterator[Callable[[Sequence[SettingFile]], str]]:
    """Save the settings in force on the disk; put them back at the end of the context.

    Yields what puts settings in force and returns why that failed. Raises StudyError when the
    settings cannot be saved or, afterwards, not be put back.
    """
    tree = node.tree
    before = read_scaling(tree, [limit.name for limit in FREQUENCY_LIMITS])
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
    return Setup(name, tuple(SettingFile(f"{folder}/{file}", value) for folder in folders))


def _limits(policies: Sequence[Policy], folders: Sequence[str]) -> list[Setup]:
    """Return a limit in the middle of the range that all these policies have."""
    ranges = [
        (policy.min_khz, policy.highest_khz)
        for policy in policies
        if policy.min_khz and policy.highest_khz
    ]
    if not ranges or len(ranges) != len(policies):
        return []
    low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
    if low >= high:
        return []
    middle = (low + high) // 2 // 100_000 * 100_000
    settings = [SettingFile(f"{folder}/{MaxFrequency.file}", str(middle)) for folder in folders]
    return [Setup(f"limit {middle / 1e6:g} GHz", tuple(settings), middle)]


def _preferences(tree: Tree, folders: Sequence[str]) -> list[str]:
    offered = [known(epp.read_offered(tree, folder)) or () for folder in folders]
    common = set(offered[0]).intersection(*offered)
    return [name for name in offered[0] if name in common and name != "default"]


def _turbo(tree: Tree) -> list[Setup]:
    for path, off in ((NO_TURBO, "1"), (BOOST, "0")):
        if isinstance(tree.text(path), str):
            return [Setup("turbo off", (SettingFile(path, off),))]
    return []


def try_setups(bench: Bench, kinds: Sequence[KindRuns], quick: bool) -> dict[str, list[Tried]]:
    """Try each setting on the first CPU of each kind; return what was seen by kind."""
    found: dict[str, list[Tried]] = {runs.kind.name: [] for runs in kinds}
    cpufreq = read_cpufreq(bench.node.root)
    with journaled(bench.node) as put:
        for setup in setups(bench.node.tree, cpufreq, quick):
            problem = put(setup.settings)
            for runs in kinds:
                seen = Seen(problem=problem)
                if not problem:
                    seen = bench.run(Task(chain_words(SHORT_S), (runs.cpu,)))
                found[runs.kind.name].append(
                    Tried(setup, frequency_ghz(seen, runs.kind.name), seen, problem)
                )
    return found


def frequency_ghz(seen: Seen, kind: str) -> float | None:
    """Return the frequency of a run on a core kind by its additions; emulated, by its cycles."""
    additions, adding_s = seen.printed.get("additions"), seen.printed.get("adding_s")
    if additions and adding_s and not seen.emulated:
        return additions / adding_s / 1e9
    counted: float | None = seen.fields.get("freq_ghz", {}).get(kind)
    return counted


def judge_setups(runs: KindRuns, tried: Sequence[Tried], cpufreq: Cpufreq) -> list[Finding]:
    """Judge the frequencies that a kind's CPU had under each setting."""
    policy = next((policy for policy in cpufreq.policies if runs.cpu in policy.cpus), None)
    lowest_khz = policy.min_khz if policy and cpufreq.mode != ACTIVE else None
    by_name = {trial.setup.name: trial.ghz for trial in tried}
    fastest_ghz = by_name.get(f"governor {PERFORMANCE}")
    found = []
    for trial in tried:
        highest_ghz, truth = _highest(trial.setup, lowest_khz, fastest_ghz)
        instrument = Instrument(
            UNDER, f"{trial.setup.name} {runs.kind.name}", truth, ("governor_read",)
        )
        if why := trial.problem or trial.seen.problem:
            found.append(instrument.absent(why))
        elif counts_time(trial.seen):
            found.append(instrument.absent(A_CLOCK))
        elif trial.ghz is None:
            found.append(instrument.absent(trial.seen.why_without("freq_mean_ghz")))
        else:
            more = trial.ghz / highest_ghz - 1 if highest_ghz else 0.0
            off = f"{more:+.1%}, at most {WITHIN:.0%} more is allowed" if more > WITHIN else ""
            found.append(instrument.found(f"{trial.ghz:.3f} GHz", off))
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
