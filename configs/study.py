"""What a study is: a file of `configs/studies/`, or a user's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from base.structure import (
    As,
    AtKey,
    Called,
    Either,
    InvalidError,
    Mistake,
    OneOrMore,
    Table,
    Without,
)
from base.text import shown
from configs.app import App, Schedule, Size, Variant
from configs.event import event_problem
from configs.mapping import Mapping
from configs.repetitions import MAX_REPETITIONS, Decide, Precision, Race, RepetitionsKind
from configs.scheduling import SchedulerText, Scheduling, Switch, schedulings_of
from configs.site import BOTH_GIVEN, ScriptWord
from configs.values import Count, Duration, Flag, Name, Text, Word
from configs.variables import Assignments, Variables

# How a study is spread over the nodes of a site.
PER_NODE = "per-node"
SPLIT = "split"
DEFAULT_COLLECTORS = ("perf", "energy")
# `c2c` costs one more execution of each case of an app with `c2c: true`, so it is no default.
COLLECTORS = (*DEFAULT_COLLECTORS, "c2c")
# The pairs of CPUs between which core-to-core latency is measured.
LATENCY_PLANS = {
    "all": "every pair of CPUs",
    "representative": "some pairs of each relation: siblings, shared caches, kinds, packages",
}
RUNTIME_DEFAULT = "runtime-default"
WAIT_POLICIES = ("active", "passive", RUNTIME_DEFAULT)
# What programs do where nobody sets OMP_WAIT_POLICY. Any other policy may turn the answer round:
# threads that sleep at each barrier lose several times as much by being pinned as those that spin.
DEFAULT_WAIT_POLICY = RUNTIME_DEFAULT
# What stands in the list of co-runners for a program that runs alone.
NOTHING = "nothing"
# `current` measures under whatever governor is in force and changes nothing.
CURRENT_GOVERNOR = "current"
# Linux Documentation/admin-guide/pm/cpufreq.rst, "Generic Scaling Governors". `userspace` is not
# included: it is not a policy but a frequency that somebody writes.
GOVERNORS = (
    CURRENT_GOVERNOR,
    "performance",
    "powersave",
    "schedutil",
    "ondemand",
    "conservative",
)

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
_MEMORY = re.compile(r"\s*\d{1,8}\s*(MiB|GiB)\s*", re.ASCII)
_DIFFERENCE = re.compile(r"\s*\d{1,3}(\.\d{1,3})?\s*(K|°C)\s*", re.ASCII)


def _event(text: str) -> str:
    if problem := event_problem(text):
        raise InvalidError(problem)
    return text


def _mebibytes(text: str) -> int:
    """Return the MiB of an amount of memory."""
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

    within_k: Annotated[
        float,
        Called("within"),
        As(Text("a difference of temperatures, such as 5 K", _DIFFERENCE), _kelvins),
        "how much warmer than at the start a package may be",
    ]
    limit_s: Annotated[
        float,
        Called("limit"),
        Duration("the longest wait before a run, such as 2 min"),
    ]


def _idle_time(expected: str) -> Duration:
    return Duration(expected, MIN_IDLE_S, MAX_IDLE_S)


@dataclass(frozen=True)
class Baseline:
    """The node's idle power is measured for `duration_s` seconds, once a governor and attempt.

    With `every`, again after that many runs under the governor.
    """

    duration_s: Annotated[
        float,
        Called("duration"),
        _idle_time("how long the node is left idle, from 100 ms to 10 min, such as 10 s"),
    ]
    every: Annotated[int | None, Count("after how many runs it is repeated", 1, 100000)] = None


@dataclass(frozen=True)
class Vm:
    """The guest that cases run in; cases with the same mapping of its CPUs share one boot."""

    cpus: Annotated[int, Count("how many virtual CPUs the guest has", 1, MAX_VCPUS)]
    memory_mib: Annotated[
        int,
        Called("memory"),
        As(Text("an amount of memory, such as 512 MiB or 16 GiB", _MEMORY), _mebibytes),
    ]


@dataclass(frozen=True)
class Spread:
    """How a study is spread over the nodes of a site, unless options of `pinstudy submit` differ.

    `how` is PER_NODE or SPLIT. Under per-node there is a worker for each of `nodes`, or of
    `features`; under split there are `workers`, on nodes that have the first of `features`.
    """

    site: Annotated[str, Text("the name or file of a site")]
    how: Annotated[
        str,
        Called("spread"),
        Word("way to spread a study", (PER_NODE, SPLIT)),
        "`per-node`: the whole study on each node; `split`: its blocks divided over nodes",
    ] = PER_NODE
    nodes: Annotated[
        tuple[str, ...], OneOrMore(ScriptWord("the name of a node")), "nodes to compare"
    ] = ()
    features: Annotated[
        tuple[str, ...],
        OneOrMore(ScriptWord("the name of a feature")),
        "nodes to compare, by a feature of each; or the one that nodes share",
    ] = ()
    workers: Annotated[
        int | None,
        # A worker without a repetition would have nothing to do.
        Count("how many nodes share the study", 1, MAX_REPETITIONS),
    ] = None

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


def _mapping() -> Either:
    written_out = Table(Mapping, "a mapping with name, selection, binding")
    return Either(Text("the name of a mapping"), written_out)


def _mappings() -> OneOrMore:
    return OneOrMore(_mapping())


def _app() -> Either:
    return Either(Text("the name or file of an app"), Table(App, "an app, written out"))


@dataclass(frozen=True)
class AppChoice:
    """What a study uses of one app; where a field is None, that of the study holds."""

    app: Annotated[App, _app(), "name or file of an app, or the app itself"]
    variants: Annotated[tuple[Variant, ...], OneOrMore(Text("the name of a variant"))]
    sizes: Annotated[tuple[Size, ...], OneOrMore(Text("the name of a size"))]
    threads: Annotated[tuple[int, ...], OneOrMore(Count("a thread count", 1, MAX_THREADS))]
    ranks: Annotated[
        tuple[int, ...] | None,
        OneOrMore(Count("a number of ranks", 1, MAX_RANKS)),
        "numbers of MPI ranks, each of so many `threads` ([how](ranks.md))",
        Without("no MPI"),
    ] = None
    schedules: Annotated[
        tuple[str, ...], OneOrMore(Schedule()), "values of OMP_SCHEDULE, where its loops take one"
    ] = ()
    wait_policies: Annotated[
        tuple[str, ...] | None,
        Called("wait_policy"),
        OneOrMore(Word("wait policy", WAIT_POLICIES)),
        "its own wait policies",
        Without("those of the study"),
    ] = None
    mappings: Annotated[
        tuple[Mapping, ...] | None, _mappings(), "its own mappings", Without("those of the study")
    ] = None
    oversubscribe: Annotated[
        bool,
        Flag("true or false"),
        "`true` where more threads than CPUs are meant (not pinned ones)",
    ] = False
    regions: Annotated[
        tuple[str, ...] | None,
        OneOrMore(Text("the name of a region")),
        "regions that the app marks, to be measured one by one ([how](regions.md))",
        Without("the whole run alone"),
    ] = None


@dataclass(frozen=True)
class CoRunner:
    """An app that runs beside the measured program, again and again until that ends."""

    app: Annotated[App, _app(), "name or file of an app, or the app itself"]
    variant: Annotated[Variant, Text("the name of a variant")]
    size: Annotated[Size, Text("the name of a size")]
    threads: Annotated[int, Count("a thread count", 1, MAX_THREADS)]
    mapping: Annotated[Mapping, _mapping(), "where it runs"]


@dataclass(frozen=True)
class Study:
    """A validated study: its cases are the product of its apps, mappings, governors, schedulings.

    `repetitions` is how often a case is run; with `precision`, `decide` or `race`, how often at
    most.
    In `beside`, None stands for a program alone; without co-runners it is None itself.
    `digest` identifies what the study asks for: the hexadecimal SHA-256 of its canonical form.
    `source` is its file as it was read.
    """

    name: Annotated[str, Name("the study's name"), "its name, which is that of its file"]
    title: Annotated[str, Text("a title"), "one line for people"]
    apps: Annotated[
        tuple[AppChoice, ...],
        # A dict, until the app and what it has by these names are looked up.
        OneOrMore(Table(AppChoice, "an app with variants, sizes, threads", dict)),
        "programs, each with `variants`, `sizes`, `threads`, `ranks` of MPI and, where its loops "
        "take one, `schedules`; an entry may have `mappings` and a `wait_policy` of its own, and "
        "`oversubscribe: true` where "
        "more threads than CPUs are meant (not pinned ones); `regions` are "
        "measured one by one ([how](regions.md))",
    ]
    repetitions: Annotated[
        int,
        RepetitionsKind(),
        "runs of each case ([more of them](#continuing) continue it), or a range and what ends it "
        "([how](repetitions.md#until-a-precision-is-reached)), or as many as decide "
        "([how](repetitions.md#until-comparisons-are-decided)), or a race "
        "([how](repetitions.md#a-race))",
    ]
    path: str
    digest: str = ""
    mappings: Annotated[
        tuple[Mapping, ...],
        _mappings(),
        "names of `pinstudy mappings`, or mappings of the study's own, for all entries of `apps` "
        "without their own",
        Without("must be there; `scheduler` in guests"),
    ] = ()
    engine: Annotated[
        str,
        Word("engine", ("local", "vm", "batch")),
        "`local`; `vm`: in guests on this node ([vm.md](vm.md)); `batch`: on nodes that a batch "
        "system gives ([batch.md](batch.md))",
    ] = "local"
    vm: Annotated[
        Vm | None,
        Table(Vm, "a guest with the keys cpus and memory"),
        "with engine vm: `{cpus: 8, memory: 16 GiB}`; for apps that no command checks",
        Without("must be there then"),
    ] = None
    vcpu_mappings: Annotated[
        tuple[Mapping, ...],
        Called("vcpu_mapping"),
        _mappings(),
        "with engine vm: mappings of the guest's CPUs to this node's",
        Without("must be there then"),
    ] = ()
    spread: Annotated[
        Spread | None,
        Called("batch"),
        Table(Spread, "a table with the key site"),
        "with engine batch, the defaults of `pinstudy submit`: `{site: SITE}`, a name, "
        "or a file as seen from the study's; `nodes` or `features` to compare, each with the "
        "whole study; or `spread: split`, `workers: 4` and at most one of `features` to divide it",
        Without("must be there then"),
    ] = None
    governors: Annotated[
        tuple[str, ...],
        OneOrMore(Word("governor", GOVERNORS)),
        "governors a case is to run under; `current`: whatever is in force",
    ] = (CURRENT_GOVERNOR,)
    schedulers: Annotated[
        tuple[str, ...] | None,
        OneOrMore(SchedulerText()),
        "schedulers a case is to run under: `kernel`, or programs of sched_ext such as `scx_lavd` "
        "with their arguments in one text ([scheduling.md](scheduling.md)); `current`: whatever is "
        "in force",
        Without("`current`"),
    ] = None
    energy_aware: Annotated[
        tuple[str, ...] | None,
        OneOrMore(Switch("energy-aware scheduling")),
        "energy-aware scheduling: `on`, `off` or `current`",
        Without("`current`"),
    ] = None
    itmt: Annotated[
        tuple[str, ...] | None,
        OneOrMore(Switch("the preference of faster cores (ITMT)")),
        "Intel's preference of faster cores: `on`, `off` or `current`",
        Without("`current`"),
    ] = None
    beside: Annotated[
        tuple[CoRunner | None, ...] | None,
        OneOrMore(
            Either(
                Word("co-runner", (NOTHING,)),
                # A dict, until the app and what it has by these names are looked up.
                Table(CoRunner, "a co-runner with app, variant, size, threads, mapping", dict),
            )
        ),
        "what runs beside the measured program until that ends: `nothing`, or an app with "
        "`variant`, `size`, `threads` and `mapping`; several make more cases ([how](beside.md))",
        Without(NOTHING),
    ] = None
    warmup: Annotated[
        int,
        Count("how many runs of a case are not counted", 0, 1000),
        "runs of each case before, recorded but not averaged; in a race of the first case alone",
    ] = 1
    order: Annotated[
        str,
        Word("order", ("randomised-blocks", "sequential")),
        "`randomised-blocks`: each repetition is a shuffled pass over all cases; `sequential`: all "
        "repetitions of a case, then the next case, so that [nothing is compared]"
        "(samples.md#the-order-of-runs)",
    ] = "randomised-blocks"
    seed: Annotated[int, Count("a seed", 0, 2**32 - 1), "of the shuffle"] = 1
    wait_policies: Annotated[
        tuple[str, ...],
        Called("wait_policy"),
        OneOrMore(Word("wait policy", WAIT_POLICIES)),
        "`active` (spin), `passive` (sleep) or `runtime-default`; several make more cases",
    ] = (DEFAULT_WAIT_POLICY,)
    variables: Annotated[
        Assignments | None,
        Variables(),
        "environment variables for all runs; they count before those of an app, and those of a "
        "mapping before them ([how](apps.md#variables))",
        Without("none"),
    ] = None
    collect: Annotated[
        tuple[str, ...],
        OneOrMore(Word("collector", COLLECTORS)),
        "`perf`, `energy`, and `c2c`: contended cache lines of the apps that have any "
        "([how](threads-and-lines.md#contended-cache-lines)); placement is always proved",
    ] = DEFAULT_COLLECTORS
    events: Annotated[
        tuple[str, ...],
        OneOrMore(As(Text("an event of perf list, one an item"), _event)),
        "perf events beside the usual ones",
    ] = ()
    temperature_gate: Annotated[
        TemperatureGate | None,
        Table(TemperatureGate, "a gate with the keys within and limit"),
        "`{within: 5 K, limit: 2 min}`: before each run, wait until every package is at most 5 K "
        "warmer than when the study's first attempt started, but not longer than the limit",
        Without("no waiting"),
    ] = None
    baseline: Annotated[
        Baseline | None,
        Either(
            As(_idle_time("a duration from 100 ms to 10 min, such as 10 s"), Baseline),
            Table(Baseline, "a baseline with the keys duration and every"),
        ),
        "how long the node is left idle to measure its idle power, from which net energy is "
        "counted: `10 s`, or `{duration: 10 s, every: 50}` to repeat it after so many runs; once "
        "a governor and attempt, no time is spent where energy cannot be measured",
        Without("none: gross energy only"),
    ] = None
    latency: Annotated[
        str | None,
        Word("pairs of CPUs", LATENCY_PLANS),
        "`all` or `representative`: the latency between pairs of CPUs is measured before the "
        "first run, once a boot, into `latency.json` beside the records ([latency.md](latency.md))",
        Without("not measured"),
    ] = None
    prove: Annotated[
        bool,
        Flag("true or false"),
        "`true`: the node's instruments are tested before the first run, once a boot, as "
        "`pinstudy prove` does ([prove.md](prove.md))",
    ] = False
    precision: Precision | None = None
    decide: Decide | None = None
    race: Race | None = None
    source: bytes = field(default=b"", repr=False, compare=False)

    @property
    def co_runners(self) -> tuple[CoRunner, ...]:
        """The co-runners of its cases."""
        return tuple(filter(None, self.beside or ()))

    @property
    def all_apps(self) -> dict[str, App]:
        """Its apps by name, with those of its co-runners."""
        apps = [choice.app for choice in self.apps] + [of.app for of in self.co_runners]
        return {app.name: app for app in apps}

    @property
    def schedulings(self) -> tuple[Scheduling, ...]:
        """The combinations of schedulers, energy-aware scheduling and ITMT, in their order."""
        return schedulings_of(self.schedulers, self.energy_aware, self.itmt)
