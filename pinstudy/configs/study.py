"""What a study is: a file of `pinstudy/configs/studies/`, or a user's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from pinstudy.base.text import shown
from pinstudy.configs.app import App, Build, Schedule, Size
from pinstudy.configs.decoding import (
    NO_KEY,
    AtKey,
    InvalidError,
    Mistake,
    called,
    replacing,
    written,
)
from pinstudy.configs.event import event_problem
from pinstudy.configs.mapping import MappingOrName
from pinstudy.configs.overrides import AS_WRITTEN, Overrides
from pinstudy.configs.repetitions import MAX_REPETITIONS, REPETITIONS, Decide, Race
from pinstudy.configs.settings import (
    CURRENT,
    Governor,
    SettingFactors,
    Settings,
    combinations,
    watts,
)
from pinstudy.configs.settings import NAMES as SETTING_NAMES
from pinstudy.configs.site import BOTH_GIVEN, FeatureName, MeterName, NodeName
from pinstudy.configs.values import Text, count, duration, label, text, word
from pinstudy.configs.variables import Variables

# How a study is spread over the nodes of a site.
PER_NODE = "per-node"
SPLIT = "split"
# In which order runs are made (pinstudy.runners.plan.runs).
RANDOMISED, BALANCED, SEQUENTIAL = ORDERS = ("randomised-blocks", "balanced", "sequential")
DEFAULT_COLLECTORS = ("perf", "energy")
# No defaults: `c2c` costs one more execution of each case of an app with `c2c: true`, and `trace`
# one more file of each run.
TRACE = "trace"
COLLECTORS = (*DEFAULT_COLLECTORS, "c2c", TRACE)
# The pairs of CPUs between which core-to-core latency is measured.
LATENCY_PLANS = {
    "all": "every pair of CPUs",
    "representative": "some pairs of each relation: siblings, shared caches, kinds, packages",
    "brief": "every pair within seconds, or some of each relation where that takes longer",
}
# What cases are added to tell the speeds of core kinds: those of one thread, or of all their cores.
SINGLE, LOADED = "single", "loaded"
RUNTIME_DEFAULT = "runtime-default"
WAIT_POLICIES = ("active", "passive", RUNTIME_DEFAULT)
# What programs do where nobody sets OMP_WAIT_POLICY. Any other policy may turn the answer round:
# threads that sleep at each barrier lose several times as much by being pinned as those that spin.
DEFAULT_WAIT_POLICY = RUNTIME_DEFAULT
# What stands in the list of co-runners for a program that runs alone.
NO_CO_RUNNER = "none"
# `current` measures under whatever governor is in force and changes nothing.
CURRENT_GOVERNOR = CURRENT

# No node that Linux supports today has CPUs for more threads: a larger count is a typing error.
MAX_THREADS = 4096
# An MPI job of more ranks on one node is a typing error, too.
MAX_RANKS = 4096
# Each region has a perf of its own.
MAX_REGIONS = 16
# The most that QEMU's machine q35 can have.
MAX_VCPUS = 255
# A Debian kernel does not boot with less; no node of today has more.
MIN_MIB, MAX_MIB = 128, 64 * 1024 * 1024
# RAPL's counters are updated about once a millisecond: below this the edges are more than 1%.
MIN_IDLE_S = 0.1
# The node idles meanwhile: a longer time is a typing error.
MAX_IDLE_S = 600.0
# From room temperature to the limit of a processor: a wider gate would never make a run wait.
MAX_WITHIN_K = 80.0

# Digits are bounded so that no number takes long to convert or overflows to infinity.
_MEMORY = re.compile(r"\s*[0-9]{1,8}\s*(MiB|GiB)\s*")
_DIFFERENCE = re.compile(r"\s*[0-9]{1,3}(\.[0-9]{1,3})?\s*(K|°C)\s*")


def _event(text: str) -> str:
    if problem := event_problem(text):
        raise InvalidError(problem)
    return text


def _bound(form: bool | str) -> str | None:
    if isinstance(form, str):
        return form
    return SINGLE if form else None


def _mebibytes(text: str) -> int:
    amount = text.strip()
    mebibytes = int(amount[:-3]) * (1024 if amount.endswith("GiB") else 1)
    if not MIN_MIB <= mebibytes <= MAX_MIB:
        raise InvalidError(f"{shown(text)} is not from {MIN_MIB} MiB to 64 TiB")
    return mebibytes


def _kelvins(text: str) -> float:
    """Return the kelvins of a difference of temperatures; `°C` is the same here."""
    kelvins = float(text.strip().rstrip("K°C"))
    if not 0 < kelvins <= MAX_WITHIN_K:
        raise InvalidError(f"{shown(text)} is not more than 0 K and at most 80 K")
    return kelvins


@dataclass(frozen=True)
class TemperatureGate:
    """Before each run every package cools to `within_k` kelvins above its start-of-study value.

    After `limit_s` seconds the run is made all the same.
    """

    expected: ClassVar[str] = "a gate with the keys within and limit"

    within_k: Annotated[
        float,
        written(text("a difference of temperatures, such as 5 K", _DIFFERENCE), to=_kelvins),
        called("within"),
    ]
    """how much warmer than at the start a package may be"""
    limit_s: Annotated[
        float, duration("the longest wait before a run, such as 2 min"), called("limit")
    ]


@dataclass(frozen=True)
class PowerGate:
    """Before each run the packages' mean power over `over_s` seconds falls to `below_w` watts.

    After `limit_s` seconds the run is made all the same.
    """

    expected: ClassVar[str] = "a gate with the keys below and limit"

    below_w: Annotated[
        float,
        written(Text, to=watts, expected="the power of all packages, such as 20 W"),
        called("below"),
    ]
    limit_s: Annotated[
        float, duration("the longest wait before a run, such as 2 min"), called("limit")
    ]
    over_s: (
        Annotated[
            float,
            duration("over how long power is averaged, from 1 s to 10 min", 1.0, MAX_IDLE_S),
            called("over"),
        ]
        | None
    ) = None


def _idle_time(expected: str) -> Meta:
    return duration(expected, MIN_IDLE_S, MAX_IDLE_S)


@dataclass(frozen=True)
class IdlePower:
    """The idle power is measured for `duration_s` seconds under each combination of settings.

    With `every`, again after that many runs under it; each attempt measures anew.
    """

    expected: ClassVar[str] = "idle power with the keys duration and every"

    duration_s: Annotated[
        float,
        _idle_time("how long the node is left idle, from 100 ms to 10 min, such as 10 s"),
        called("duration"),
    ]
    every: Annotated[int, count("after how many runs it is repeated", 1, 100000)] | None = None


def _idle_power(form: float | IdlePower) -> IdlePower:
    return form if isinstance(form, IdlePower) else IdlePower(form)


@dataclass(frozen=True)
class Vm:
    """The guest that cases run in; cases with the same mapping of its CPUs share one boot."""

    expected: ClassVar[str] = "a guest with the keys cpus and memory"

    cpus: Annotated[int, count("how many virtual CPUs the guest has", 1, MAX_VCPUS)]
    memory_mib: Annotated[
        int,
        written(text("an amount of memory, such as 512 MiB or 16 GiB", _MEMORY), to=_mebibytes),
        called("memory"),
    ]


@dataclass(frozen=True)
class Spread:
    """How a study is spread over the nodes of a site, unless options of `pinstudy submit` differ.

    `how` is PER_NODE or SPLIT. Under per-node there is a worker for each of `nodes`, or of
    `features`; under split there are `workers`, on nodes that have the first of `features`.
    """

    expected: ClassVar[str] = "a table with the key site"

    site: Annotated[str, text("the name or file of a site")]
    how: Annotated[str, word("way to spread a study", (PER_NODE, SPLIT)), called("spread")] = (
        PER_NODE
    )
    """`per-node`: the whole study on each node; `split`: its blocks divided over nodes"""
    nodes: tuple[NodeName, ...] = ()
    """nodes to compare"""
    features: tuple[FeatureName, ...] = ()
    """nodes to compare, by a feature of each; or the one that nodes share"""
    workers: Annotated[int, count("how many nodes share the study", 1, MAX_REPETITIONS)] | None = (
        None
    )

    @staticmethod
    def contradictions(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse keys that the way to spread the study does not use."""
        how = values.get("how", None if "spread" in present else Spread.how)
        if how == SPLIT and "nodes" in present:
            message = "split takes any interchangeable nodes: name a feature that they share"
            yield ("nodes",), AtKey(message)
        if how == SPLIT and len(values.get("features", ())) > 1:
            message = "split takes nodes with one feature; `spread: per-node` compares nodes"
            yield ("features",), message
        if how == PER_NODE and "workers" in present:
            message = "per-node has one worker for each node; `spread: split` shares a study"
            yield ("workers",), AtKey(message)
        if how == PER_NODE and {"nodes", "features"} <= set(present):
            yield ("features",), AtKey(BOTH_GIVEN)


ThreadCount = Annotated[int, count("a thread count", 1, MAX_THREADS)]
WaitPolicy = Annotated[str, word("wait policy", WAIT_POLICIES)]
# An app written out, or the name or file of one.
_AppOrName = Annotated[App, written(text("the name or file of an app"), App)]
_NamedBuild = Annotated[Build, written(text("the name of a build"))]
_NamedSize = Annotated[Size, written(text("the name of a size"))]


@dataclass(frozen=True)
class AppChoice:
    """What a study uses of one app; where a field is None, that of the study holds."""

    expected: ClassVar[str] = "an app with builds, sizes, threads"
    # A dict, until the app and what it has by these names are looked up.
    make: ClassVar[type] = dict

    app: _AppOrName
    """name or file of an app, or the app itself"""
    builds: Annotated[tuple[_NamedBuild, ...], called("builds", before="variants", file="study")]
    sizes: tuple[_NamedSize, ...]
    threads: tuple[ThreadCount, ...]
    ranks: tuple[Annotated[int, count("a number of ranks", 1, MAX_RANKS)], ...] | None = None
    """numbers of MPI ranks, each of so many `threads` ([how](ranks.md)). Without it: no MPI"""
    schedules: tuple[Schedule, ...] = ()
    """values of OMP_SCHEDULE, where its loops take one"""
    wait_policies: Annotated[tuple[WaitPolicy, ...] | None, called("wait_policy")] = None
    """its own wait policies. Without it: those of the study"""
    mappings: tuple[MappingOrName, ...] | None = None
    """its own mappings. Without it: those of the study"""
    oversubscribe: bool = False
    """`true` where more threads than CPUs are meant (not pinned ones)"""
    regions: tuple[Annotated[str, text("the name of a region")], ...] | None = None
    """regions that the app marks, to be measured one by one ([how](regions.md)). Without it: the
    whole run alone"""


def _governors_twice(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
    settings = values.get("settings")
    # A table with mistakes is none yet.
    of_settings = isinstance(settings, SettingFactors) and settings.governor
    if "governors" in present and of_settings:
        message = "'governors' is short for `settings: {governor: …}`; keep one"
        yield ("governors",), AtKey(message)


@dataclass(frozen=True)
class Exclusion:
    """A combination that a study leaves out: the cases that have a value of every key given."""

    expected: ClassVar[str] = "a table of keys, such as {apps: lu, mappings: ecores-pin}"

    apps: tuple[Annotated[str, text("the name of an app")], ...] | None = None
    """names of apps"""
    builds: tuple[Annotated[str, text("the name of a build")], ...] | None = None
    sizes: tuple[Annotated[str, text("the name of a size")], ...] | None = None
    threads: tuple[ThreadCount, ...] | None = None
    schedules: tuple[Schedule, ...] | None = None
    wait_policies: Annotated[tuple[WaitPolicy, ...] | None, called("wait_policy")] = None
    mappings: tuple[Annotated[str, text("the name of a mapping")], ...] | None = None
    governors: tuple[Governor, ...] | None = None
    settings: SettingFactors | None = None
    """[settings](settings.md#settings-as-factors) and their values"""

    @staticmethod
    def contradictions(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse a table without keys, which leaves out every case, and governors in two places."""
        if not present:
            yield (), "an empty table would leave out every case"
        if values.get("settings") == SettingFactors():
            yield ("settings",), "the table is empty; expected settings and their values"
        yield from _governors_twice(values, present)

    @property
    def factors(self) -> dict[str, tuple[Any, ...]]:
        """The values of each key that is given, the settings by their names."""
        factors = {name: getattr(self, name) for name in _EXCLUDED_BY}
        factors |= {name: getattr(self.settings, name, None) for name in SETTING_NAMES}
        if self.settings is not None and self.settings.governor is not None:
            factors["governors"] = self.settings.governor
        return {name: values for name, values in factors.items() if values is not None}


_EXCLUDED_BY = (
    *("apps", "builds", "sizes", "threads", "schedules", "wait_policies", "mappings"),
    "governors",
)


@dataclass(frozen=True)
class CoRunner:
    """An app that runs beside the measured program, again and again until that ends."""

    expected: ClassVar[str] = "a co-runner with app, build, size, threads, mapping"
    make: ClassVar[type] = dict

    app: _AppOrName
    """name or file of an app, or the app itself"""
    build: Annotated[_NamedBuild, called("build", before="variant", file="co-runner")]
    size: _NamedSize
    threads: ThreadCount
    mapping: MappingOrName
    """where it runs"""


_EARLIER_SETTINGS = {
    "schedulers": "settings: {sched_ext: …}",
    "energy_aware": "settings: {energy_aware: …}",
    "itmt": "settings: {itmt: …}",
}
_CoRunnerOrNone = Annotated[CoRunner | None, written(word("co-runner", (NO_CO_RUNNER,)), CoRunner)]


# The collector that a key needs, and why.
_COLLECTED_BY = {
    "events": ("perf", "perf counts events"),
    "power_gate": ("energy", "power comes from energy"),
    "idle_power": ("energy", "power comes from energy"),
}


@dataclass(frozen=True)
class Study:
    """A validated study: its cases are the product of its apps, mappings, governors, settings.

    `repetitions` is how often a case is run; with `decide`, how often at most. No file has a
    `race`: `pinstudy advise` adds it.
    In `co_runners`, None stands for a program alone; without co-runners it is None itself.
    `digest` identifies what the study asks for: the hexadecimal SHA-256 of its canonical form.
    `source` is its file as it was read, after a line with the `overrides`, if there are any.
    """

    name: Annotated[str, label("the study's name")]
    """its name, which is that of its file"""
    title: Annotated[str, text("a title")]
    """one line for people"""
    apps: tuple[AppChoice, ...]
    """programs, each with `builds`, `sizes`, `threads`; also `ranks` of MPI, `schedules`, `regions`
    ([how](regions.md)), `mappings` and `wait_policy` of its own, and `oversubscribe: true` where
    more threads than CPUs are meant"""
    repetitions: Annotated[int, REPETITIONS]
    """runs of each case, or [as many as decide](repetitions.md#until-comparisons-are-decided)"""
    path: Annotated[str, NO_KEY]
    digest: Annotated[str, NO_KEY] = ""
    mappings: tuple[MappingOrName, ...] = ()
    """names of `pinstudy mappings`, or the study's own, for entries of `apps` without their own.
    Without it: required; `unpinned` in guests"""
    engine: Annotated[str, word("engine", ("local", "vm", "batch"))] = "local"
    """`local`; `vm`: in [guests](vm.md); `batch`: on nodes of a [batch system](batch.md)"""
    vm: Vm | None = None
    """`{cpus: 8, memory: 16 GiB}`; for apps that no command checks. Without it: required
    with vm"""
    vcpu_mappings: Annotated[tuple[MappingOrName, ...], called("vcpu_mapping")] = ()
    """mappings of the guest's CPUs to this node's. Without it: required with vm"""
    spread: Annotated[Spread | None, called("batch")] = None
    """defaults of [`pinstudy submit`](batch.md): `site` (a file: as seen from the study), `nodes`
    or `features`, `spread`, `workers`. Without it: required with batch"""
    governors: tuple[Governor, ...] = (CURRENT_GOVERNOR,)
    """short for `settings: {governor: …}`; `current`: whatever is in force"""
    settings: Annotated[SettingFactors | None, replacing("study", _EARLIER_SETTINGS)] = None
    """the node's [settings](settings.md#settings-as-factors), each with its values, which are
    combined: `{governor: [performance, powersave], epp: [performance, power]}`. Without it: nothing
    is changed"""
    exclude: tuple[Exclusion, ...] | None = None
    """[combinations](select.md#in-the-study) that are left out:
    `[{apps: lu, threads: 1, mappings: ecores-pin}]`. Without it: none"""
    co_runners: (
        Annotated[tuple[_CoRunnerOrNone, ...], called("co_runners", before="beside", file="study")]
        | None
    ) = None
    """what runs beside the measured program: `none`, or [an app](co-runners.md); several make more
    cases. Without it: none"""
    warmup: Annotated[int, count("how many runs of a case are not counted", 0, 1000)] = 1
    """runs of each case before, not averaged"""
    order: Annotated[str, word("order", ORDERS)] = BALANCED
    """each repetition is a pass over all cases: `balanced`, [each after
    each](samples.md#what-runs-before-a-run) equally often, or `randomised-blocks`, shuffled;
    `sequential`: a case after the other, and [nothing is compared](samples.md#the-order-of-runs)"""
    seed: Annotated[int, count("a seed", 0, 2**32 - 1)] = 1
    """of the shuffle"""
    wait_policies: Annotated[tuple[WaitPolicy, ...], called("wait_policy")] = (DEFAULT_WAIT_POLICY,)
    """`active` (spin), `passive` (sleep) or `runtime-default`; several make more cases"""
    variables: Variables | None = None
    """environment variables for all runs ([which counts](apps.md#variables)). Without it: none"""
    collect: tuple[Annotated[str, word("collector", COLLECTORS)], ...] = DEFAULT_COLLECTORS
    """`perf`, `energy`; `c2c`: [contended cache
    lines](threads-and-lines.md#contended-cache-lines); `trace`: [the course of each
    thread](threads-and-lines.md#traces); placement is always proved"""
    events: tuple[
        Annotated[str, written(Text, to=_event, expected="an event of perf list, one an item")], ...
    ] = ()
    """perf events beside the usual ones"""
    meter: MeterName | None = None
    """the [meter](energy-meters.md) that tells the energy, such as `hwmon:ina226/power1`. Without
    it: that of the site, else the best that the node has"""
    temperature_gate: TemperatureGate | None = None
    """`{within: 5 K, limit: 2 min}`: before each run wait, for the limit at most, until every
    package is at most 5 K warmer than at the study's first start. Without it: no waiting"""
    power_gate: PowerGate | None = None
    """`{below: 20 W, limit: 2 min}`: wait likewise until the packages' [mean
    power](samples.md#what-runs-before-a-run) over tau, or `over: 28 s`, is so low. Without it: no
    waiting"""
    idle_power: Annotated[
        IdlePower | None,
        written(
            Annotated[float, _idle_time("a duration from 100 ms to 10 min, such as 10 s")],
            IdlePower,
            to=_idle_power,
        ),
        called("idle_power", before="baseline", file="study"),
    ] = None
    """how long the node idles, in each attempt under each combination of settings, to count net
    energy: `10 s`, or `{duration: 10 s, every: 50}` to repeat it after so many runs. Without
    it: gross energy only"""
    latency: Annotated[str, word("pairs of CPUs", LATENCY_PLANS)] | None = None
    """`all` or `representative` pairs of CPUs, or `brief` (within seconds), whose
    [latency](latency.md) is measured before the first run, once a boot. Without it: not measured"""
    prove: bool = False
    """`true`: [instruments are tested](prove.md) before the first run, once a boot"""
    bound: Annotated[
        str | None,
        written(bool, word("bound", (LOADED,)), to=_bound, expected=f"true, false or {LOADED}"),
    ] = None
    """`true`: adds cases of one thread on each core kind, which tell [how much is left](bound.md);
    `loaded`: of teams on all of its cores. Without it: none"""
    decide: Annotated[Decide | None, NO_KEY] = None
    race: Annotated[Race | None, NO_KEY] = None
    overrides: Annotated[Overrides, NO_KEY] = AS_WRITTEN
    source: Annotated[bytes, NO_KEY] = field(default=b"", repr=False, compare=False)

    @property
    def all_co_runners(self) -> tuple[CoRunner, ...]:
        """The co-runners of its cases; None of them stands for a program alone."""
        return tuple(filter(None, self.co_runners or ()))

    @property
    def all_apps(self) -> dict[str, App]:
        """Its apps by name, with those of its co-runners."""
        apps = [choice.app for choice in self.apps] + [runner.app for runner in self.all_co_runners]
        return {app.name: app for app in apps}

    @property
    def all_governors(self) -> tuple[str, ...]:
        """The governors, of whichever key has them."""
        return (self.settings and self.settings.governor) or self.governors

    @property
    def other_settings(self) -> tuple[Settings, ...]:
        """The combinations of all settings but the governor, in their order."""
        return combinations(self.settings)

    @staticmethod
    def contradictions(values: dict[str, Any], present: Collection[str]) -> Iterator[Mistake]:
        """Refuse governors in two places, and keys of what is not collected."""
        yield from _governors_twice(values, present)
        collect = values.get("collect", DEFAULT_COLLECTORS)
        for key, (collector, why) in _COLLECTED_BY.items():
            if key in present and collector not in collect:
                yield (key,), AtKey(f"{why}: add {collector} to `collect`")
