"""A card: one small JSON file with what a study found on a node, and nothing of who ran it.

The types below are the card: what is written, what is read, and the tables of docs/cards.md. A card
has means and comparisons, with what intervals and words follow from, but no runs. Texts are words
that pinstudy knows, numbers of versions, or names that an author gave to programs and mappings. Of
a node it has facts that the hardware has in common with others of its kind: no name, serial number,
path or boot is among them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, to_builtins

from pinstudy.analysis.measures import MAX_SHARE, MEASURE_OF, PLAIN, UNMEASURED, Stats
from pinstudy.analysis.records.keys import ROW_FACTS, TABLE_KEYS, CaseKey, TableKey, settings_in
from pinstudy.analysis.records.metrics import MAX_METRICS, MAX_UNIT, Metric
from pinstudy.analysis.results import baselines, caveats, summaries
from pinstudy.analysis.results.case import Case, Circumstances, Stated
from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import MAX_CPU
from pinstudy.base.decoding import Count, CpuList, Line, line, read_decoded
from pinstudy.base.text import one_line, plural, unknown_word
from pinstudy.configs.daemons import UNITS
from pinstudy.configs.settings import NAMES
from pinstudy.runners.node.topology import KIND_ORDER
from pinstudy.runners.records.disturbances import DISTURBANCES
from pinstudy.runners.records.latency_file import Nanoseconds
from pinstudy.runners.records.node_file import NodeFile, TopologyTable
from pinstudy.runners.records.placed_runs import PlacedRuns
from pinstudy.runners.records.settings_of_runs import PowerSupply
from pinstudy.runners.records.status import FINAL, INTERRUPTED

if TYPE_CHECKING:
    from pinstudy.analysis.statistics.difference import Difference


MAX_LETTERS = 100
# A distribution's own ending, or that of somebody who builds kernels, may be a name.
_KERNEL = r"[0-9]{1,3}(?:\.[0-9]{1,5}){1,3}(?:-[0-9]{1,5})?"
_WORD = r"[A-Za-z][A-Za-z0-9_-]{0,39}"
_MAX_WORDS = 10

KindName: TypeAlias = Literal[KIND_ORDER]  # type: ignore[valid-type]
KernelNumber = Annotated[
    str, Meta(pattern=rf"\A{_KERNEL}\Z", title="the number of a kernel's release")
]
Word = Annotated[str, Meta(pattern=rf"\A{_WORD}\Z", title="a word of letters, digits, - and _")]


class KindFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A core kind: its CPUs as a list, and how many cores they are of; `declared` by hand."""

    name: KindName
    cpus: CpuList
    cores: Annotated[int, Meta(ge=1, le=MAX_CPU)]
    declared: bool = False


class CacheFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """So many caches of a level and size; None where the kernel does not tell the size."""

    level: Annotated[int, Meta(ge=1, le=9)]
    count: Annotated[int, Meta(ge=1, le=MAX_CPU)]
    size_bytes: Annotated[int, Meta(ge=1, le=2**50)] | None


class NodeFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A node without its identity; None and empty texts are facts that are not known."""

    cpu_model: Annotated[str, line(MAX_LETTERS)]
    """the CPU's model"""
    kinds: Annotated[tuple[KindFacts, ...], Meta(max_length=len(KIND_ORDER))] = ()
    """core kinds with CPUs and counts of cores"""
    caches: Annotated[tuple[CacheFacts, ...], Meta(max_length=50)] = ()
    """how many of each level and size"""
    memory_gib: Annotated[int, Meta(ge=0, le=2**20)] | None = None
    """memory in whole GiB"""
    kernel: KernelNumber | None = None
    """the number of the kernel's release"""
    drivers: Annotated[tuple[Word, ...], Meta(max_length=_MAX_WORDS)] = ()
    """of the CPUs' frequencies"""
    virtual_machine: bool | None = None
    """whether it is a virtual machine"""

    @property
    def digest(self) -> str:
        """A digest of the hardware's facts, which another kernel does not change.

        It is made of nothing but the facts beside it, so that it cannot tell a name that somebody
        guesses. Nodes of other digests are other nodes.
        """
        hardware = to_builtins(self) | {"kernel": None, "drivers": None}
        text = json.dumps(hardware, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def kinds_text(self) -> str:
        """The kinds with their CPUs, in short: `P 0-7, E 8-23`."""
        return ", ".join(f"{kind.name} {kind.cpus}" for kind in self.kinds)


def facts_of(node: NodeFile) -> NodeFacts | None:
    """Return the facts in a node's file; None where it does not tell the CPU's model."""
    if not node.cpu_model or not node.cpu_model.strip():
        return None
    topology = node.topology
    caches: Counter[tuple[int, int | None]] = Counter(
        (cache.level, cache.size_bytes) for cache in (topology.caches if topology else ())
    )
    return NodeFacts(
        one_line(node.cpu_model)[:MAX_LETTERS],
        tuple(_kinds(topology)) if topology else (),
        tuple(CacheFacts(level, count, size) for (level, size), count in caches.items()),
        round(node.memory_bytes / 2**30) if node.memory_bytes else None,
        kernel_number(node.kernel),
        words_in(node.cpufreq.drivers),
        node.virtual_machine,
    )


def kernel_number(release: str | None) -> str | None:
    """Return the number of a kernel's release: `6.8.0-45` of `6.8.0-45-generic`."""
    match = re.match(_KERNEL, release or "")
    return match[0] if match else None


def words_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return those that are names of drivers and governors, each once, in their order."""
    words = (text for text in texts if re.fullmatch(_WORD, text))
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


def _kinds(topology: TopologyTable) -> Iterable[KindFacts]:
    cores = Counter(core.kind for core in topology.cores)
    for kind in topology.kinds:
        if kind.name in KIND_ORDER:
            yield KindFacts(kind.name, kind.cpus, cores[kind.name] or 1, kind.declared)


def sheet_rows(facts: NodeFacts) -> list[tuple[str, str]]:
    """Return the facts with their names, for people; those that are not known are left out."""
    kinds = (
        f"{plural(kind.cores, f'{kind.name}-core')} (CPUs {kind.cpus}"
        f"{', declared by hand' if kind.declared else ''})"
        for kind in facts.kinds
    )
    caches: dict[str, list[str]] = {}
    for cache in facts.caches:
        size = f"{cache.size_bytes / 1024:g} KiB" if cache.size_bytes else "unknown size"
        caches.setdefault(f"L{cache.level} caches", []).append(f"{cache.count} x {size}")
    rows = [
        ("processor", facts.cpu_model),
        ("cores", "; ".join(kinds)),
        ("kernel", facts.kernel or ""),
        ("frequency driver", ", ".join(facts.drivers)),
        ("memory", f"{facts.memory_gib} GiB" if facts.memory_gib else ""),
        ("kind of machine", "virtual" if facts.virtual_machine else ""),
        *((level, ", ".join(texts)) for level, texts in caches.items()),
        ("digest of these facts", facts.digest),
    ]
    return [row for row in rows if row[1]]


SUFFIX = ".json"
MAX_BYTES = 1 << 20
MAX_CASES = 1000
_EXPECTED = f"expected a card that `{PINSTUDY} card` has written"
_ABSENT = "not measured"
_MAX_NOTES = 50
_MAX_NUMBER = 1e30
MEASURED, IMPORTED, PUBLISHED = "measured", "imported", "published"
# Why something is missing, in the only words that a card has for it.
OTHER_CAUSE = "a reason that only its own results tell"
CAUSES = (
    "the publication does not give it",
    "the node has no such core kind",
    "too few CPUs for it",
    "no permission",
    "the virtual machine has none",
    "the run was too short",
    "counted for a part of the time",
    "known for whole runs only",
    "no energy counter",
    "no such counter, or perf lacks it",
    "no frequency driver",
    "imported, and not told there",
    OTHER_CAUSE,
)
# Not as commands were typed: those have paths.
NOT_PROVED = "not tested; `pinstudy prove` does that"
NO_LATENCY = "not measured; `pinstudy latency` does that"
BAD_LATENCY = "its file beside the records cannot be read"
NO_NODE = {
    MEASURED: "the file of the node is not beside the records",
    IMPORTED: "imported results do not tell their node",
    PUBLISHED: "the publication does not tell its node",
}
COMPILERS = r"gcc|g\+\+|GNU|clang\+\+|[Cc]lang|icpx|icx|nvc\+\+"
RUNTIMES = ("libgomp", "libomp", "libiomp5", "libnvomp")
DIGEST = "[0-9a-f]{1,64}"
FIELD = "[A-Za-z][A-Za-z0-9_.-]{0,59}"
NUMBER_OF_VERSION = r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}"

STATUSES = (*FINAL, INTERRUPTED)
TOOLS = ("pinstudy", "perf", "likwid-pin", "taskset", "numactl", "openmpi", "mpich", "srun")

Cause: TypeAlias = Literal[CAUSES]  # type: ignore[valid-type]
Absence: TypeAlias = Literal[  # type: ignore[valid-type]
    (NOT_PROVED, NO_LATENCY, BAD_LATENCY, *NO_NODE.values())
]
Daemon: TypeAlias = Literal[tuple(UNITS)]  # type: ignore[valid-type]
Disturbance: TypeAlias = Literal[DISTURBANCES]  # type: ignore[valid-type]
Status: TypeAlias = Literal[STATUSES]  # type: ignore[valid-type]
Tool: TypeAlias = Literal[(*TOOLS, "compiler", "OpenMP runtime")]  # type: ignore[valid-type]
Name = Annotated[
    str, line(400, without="/\\\\~", title="a name on one printable line, which is no path")
]
Unit = Annotated[str, line(MAX_UNIT)]
Digest = Annotated[str, Meta(pattern=rf"\A{DIGEST}\Z", title="hexadecimal digits")]
Version = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:(?:{COMPILERS}|{'|'.join(RUNTIMES)}) )?{NUMBER_OF_VERSION}\Z",
        title="the number of a version, of a compiler or runtime with its name",
    ),
]
FieldName = Annotated[str, Meta(pattern=rf"\A{FIELD}\Z", title="the name of a record's field")]
Number = Annotated[float, Meta(ge=-_MAX_NUMBER, le=_MAX_NUMBER)]
Amount = Annotated[float, Meta(ge=0, le=_MAX_NUMBER)]
Some = Annotated[int, Meta(ge=1, le=10**9)]
Place = Annotated[int, Meta(ge=1, le=MAX_CASES)]
Names = Annotated[tuple[Name, ...], Meta(max_length=_MAX_NOTES)]
Words = Annotated[tuple[Word, ...], Meta(max_length=_MAX_NOTES)]


class Instruments(Struct, frozen=True, forbid_unknown_fields=True):
    """What `pinstudy prove` found of a node: the day, how many of each state, and what was off.

    `off` has the fields of records whose values are wrong, by the instrument's name.
    """

    day: date
    ok: Count
    absent: Count
    off: Annotated[
        dict[Name, Annotated[tuple[FieldName, ...], Meta(max_length=_MAX_NOTES)]],
        Meta(max_length=_MAX_NOTES),
    ]

    @property
    def summary(self) -> str:
        """When they were tested, and what was found: `proved 2026-11-22, 1 off (…)`."""
        names = f" ({', '.join(self.off)})" if self.off else ""
        return f"proved {self.day}: {self.ok} ok, {len(self.off)} off{names}, {self.absent} absent"


class NearCpus(Struct, frozen=True, forbid_unknown_fields=True):
    """CPUs that the kernel groups: median and range of the latency between them, in ns."""

    cpus: CpuList
    median_ns: Nanoseconds
    least_ns: Nanoseconds
    most_ns: Nanoseconds


class Mean(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A measure over a case's runs; `n` where not all of them have it."""

    mean: Number
    sd: Amount | None = None
    median: Number | None = None
    min: Number | None = None
    max: Number | None = None
    n: Some | None = None


class Printed(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A number that the program prints: its units, and which of it is better."""

    units: Annotated[tuple[Annotated[str, line(MAX_UNIT)] | Literal[""], ...], Meta(max_length=9)]
    better: Literal["lower", "higher"] | None = None
    mean: Mean | None = None


class StatedComparison(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a case differs from its baseline, as its runs tell it."""

    outcome: Literal["better", "worse", "equivalent", "undecided"]
    """for people; pinstudy follows the numbers"""
    ratio: Amount
    """to the baseline: e to `log_ratio`"""
    against: Place
    """the baseline's place, from 1"""
    unit: Unit
    """the objective's; which direction is better"""
    better: Literal["lower", "higher"]
    log_ratio: Annotated[float, Meta(ge=-150, le=150)]
    """its logarithm, standard error, degrees of freedom"""
    standard_error: Annotated[float, Meta(ge=0, le=1e3)]
    df: Annotated[float, Meta(ge=1e-3, le=_MAX_NUMBER)]
    n: Annotated[int, Meta(ge=2, le=10**9)]
    """repetitions of each"""
    paired: bool
    """compared within blocks"""
    estimand: Literal["typical", "mean"]
    """[typical values](statistics.md) or means"""
    cut: Count
    """values cut from each end of each sample"""
    units: Count
    """boots or days of the pairs"""
    low: Amount | None = None
    """the ratio's 95 % interval"""
    high: Amount | None = None
    across_attempts: bool = False
    """no attempt made runs of both"""

    def __post_init__(self) -> None:
        """Raise ValueError unless ratio and interval are those of the numbers."""
        for name, value in ends_of(self.difference).items():
            stated = getattr(self, name)
            if stated is not None and not math.isclose(stated, value or 0, rel_tol=1e-6):
                raise ValueError(f"{name} is {stated:.6g}, and {value or 0:.6g} by its log_ratio")

    @property
    def difference(self) -> Difference:
        """What intervals, tests and words follow from."""
        # Imported here: a folder of results is opened without scipy.
        from pinstudy.analysis.statistics.difference import Difference

        return Difference(
            self.log_ratio, self.standard_error, self.df, self.n, self.paired, self.estimand,
            self.cut, self.units,
        )  # fmt: skip


def ends_of(difference: Difference) -> dict[str, float | None]:
    """Return a difference's ratio and the ends of its interval; None for an end that is none."""
    interval = difference.known_interval()
    low, high = (interval.low, interval.high) if interval else (0.0, math.inf)
    ends = {
        name: end if 0 < end < math.inf else None for name, end in (("low", low), ("high", high))
    }
    return {"ratio": difference.ratio, **ends}


class CardCase(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One case; what it lacks is left out."""

    case_number: Some
    """the row's; the table's"""
    table_number: Some | None = None
    app: Name
    """what was run, as in `tables.csv`"""
    build: Name
    size: Name
    ranks: Some | None = None
    threads: Some
    schedule: Name
    wait_policy: Name
    region: Name | None = None
    mapping: Name
    governor: Name
    selection: Name | None = None
    binding: Name | None = None
    mechanism: Name | None = None
    cpus: Name | None = None
    engine: Name | None = None
    vm_cpus: Some | None = None
    vm_memory_mib: Some | None = None
    vm_accelerator: Name | None = None
    vcpu_mapping: Name | None = None
    vcpu_selection: Name | None = None
    vcpu_binding: Name | None = None
    vcpu_cpus: Name | None = None
    algorithm: Name | None = None
    mpi: Name | None = None
    ranks_by: Name | None = None
    rank_cpus: Annotated[tuple[CpuList, ...], Meta(max_length=10_000)] | None = None
    co_runner: Name | None = None
    co_runner_cpus: Name | None = None
    settings: Annotated[dict[Name, Name], Meta(max_length=len(NAMES))] = {}
    """[settings](settings.md#settings-as-factors) beside the governor"""
    co_runner_alone: Place | None = None
    """place of the co-runner's case alone"""
    implementations: Names = ()
    """whose program; as read back"""
    drivers: Words = ()
    governors_read: Words = ()
    n: Count | None
    """averaged runs"""
    measures: Annotated[dict[FieldName, Mean], Meta(max_length=len(MEASURE_OF))] = {}
    """`mean`, `sd`, and `n` if not all runs have it, by a record's field; by core kind
    `freq_P_ghz`"""
    metrics: Annotated[dict[Name, Printed], Meta(max_length=MAX_METRICS)] = {}
    """the same of what the program prints"""
    skipped: Cause | None = None
    """why not run"""
    reasons: Annotated[
        dict[Name, Annotated[tuple[Cause, ...], Meta(max_length=len(CAUSES))]], Meta(max_length=100)
    ] = {}
    """causes of missing values"""
    excluded: dict[Status, Count] = {}
    """runs not averaged, by status"""
    unexplained: Count | None = 0
    """lost runs without a cause; `null` if unknown"""
    placed: dict[Literal["proved", "unproved", "violated", "unseen"], Count] = {}
    """runs `proved`, `unproved`, `violated`, `unseen`"""
    disturbed: dict[Disturbance, Count] = {}
    """runs, by what disturbed them"""
    fixed_time: bool = False
    """runs as long as told"""
    out_of_turn: bool = False
    """`true` if not made [in turn](samples.md#the-order-of-runs) with the baseline: no
    comparisons"""
    unclear: Annotated[dict[Name, Line], Meta(max_length=_MAX_NOTES)] = {}
    """by objective, [modes](samples.md#runs-in-several-modes) that prevent a comparison"""
    comparisons: Annotated[dict[Name, StatedComparison], Meta(max_length=_MAX_NOTES)] = {}
    """by objective; below"""

    def __post_init__(self) -> None:
        """Raise ValueError for a setting or measure that there is not, or an impossible mean."""
        for name in self.settings:
            if name not in NAMES:
                raise ValueError(unknown_word("setting", name, NAMES))
        for name, mean in self.measures.items():
            if name not in MEASURE_OF:
                raise ValueError(unknown_word("measure", name, MEASURE_OF))
            measure = MEASURE_OF[name]
            if mean.mean < 0 and not measure.signed:
                raise ValueError(f"measures.{name}.mean: expected 0 or more, found {mean.mean:g}")
            if measure.share and mean.mean > MAX_SHARE:
                raise ValueError(f"measures.{name}.mean: expected a share, found {mean.mean:g}")

    def case(self, place: int) -> Case:
        """Return the case as tables and comparisons take it; `place` is that on the card."""
        metrics = {
            Metric(name, printed.units, printed.better): printed.mean
            for name, printed in self.metrics.items()
        }
        means = {metric.field: mean for metric, mean in metrics.items()}
        means |= dict.fromkeys(PLAIN) | self.measures
        table = TableKey(self.table_number, *(getattr(self, name) for name in TABLE_KEYS))
        facts = {name: getattr(self, name) for name in ROW_FACTS if name in SHARED}
        alone = None if self.co_runner_alone is None else str(self.co_runner_alone)
        key = CaseKey(
            str(place), table, self.case_number, self.mapping, self.governor,
            co_runner_alone=alone, settings=settings_in(self.settings), **facts,
        )  # fmt: skip
        stats = {name: _stats(mean, self.n) for name, mean in means.items()}
        return Case(key, self.n, stats, tuple(metrics), circumstances=self._circumstances(stats))

    def _circumstances(self, stats: Mapping[str, Stats]) -> Circumstances:
        missing = [
            name
            for name, found in stats.items()
            if not found.is_known
            and name not in self.reasons
            and (name not in MEASURE_OF or getattr(self, MEASURE_OF[name].only_with, None))
        ]
        if not self.drivers and "driver" not in self.reasons:
            missing.append("driver")
        return Circumstances(
            reasons=self.reasons | dict.fromkeys(missing, (_ABSENT,)),
            skip_reason=self.skipped,
            placed=PlacedRuns(**self.placed),
            unproved={"placement": self.placed.get("unproved", 0)},
            stated={
                name: Stated(
                    str(comparison.against), comparison.difference, comparison.across_attempts
                )
                for name, comparison in self.comparisons.items()
            },
            **{
                name: getattr(self, name)
                for name in Circumstances.__dataclass_fields__
                if name in SHARED
            },
        )


# What a case of a card has as the case that it is made of.
SHARED = (
    {*CardCase.__struct_fields__}
    & {*CaseKey.__dataclass_fields__, *Circumstances.__dataclass_fields__}
) - {"co_runner_alone", "settings", "reasons", "placed"}


def _stats(mean: Mean | None, n: int | None) -> Stats:
    if mean is None:
        return UNMEASURED
    return Stats(
        mean.n or n,
        mean.mean,
        sd=_or_nan(mean.sd),
        median=_or_nan(mean.median),
        min=_or_nan(mean.min),
        max=_or_nan(mean.max),
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


class Card(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A card: what it says of study, node and instruments, and its cases."""

    schema: Literal[1]
    """1, and `card`"""
    kind: Literal["card"]
    source: Literal["measured", "imported", "published"]
    """`measured`, `imported`, or `published`"""
    study: Name | None
    """its name, and its file's digest"""
    study_digest: Digest | None = None
    days: tuple[date, date] | None
    """first and last day of runs"""
    versions: dict[Tool, Annotated[tuple[Version, ...], Meta(max_length=5)]]
    """of pinstudy, perf, launchers, compiler, OpenMP runtime"""
    node: NodeFacts | None
    """CPU model, core kinds, caches, GiB of memory, kernel, frequency drivers, guest or not"""
    of_a_model: bool = False
    """numbers of a [virtual node](../vnode/README.md)"""
    unusual_priority: bool = False
    """programs inherited a priority or scheduling class"""
    power_supplies: tuple[PowerSupply, ...] = ()
    """what the node ran from"""
    energy_meter: Annotated[str, line(160)] | None = None
    """[meter and scope](energy-meters.md) of the energies"""
    daemons: Annotated[tuple[Daemon, ...], Meta(max_length=len(UNITS))] = ()
    """that change frequencies, masks or interrupts"""
    instruments: Instruments | None
    """the day of [`prove`](prove.md); how many were ok, absent; which were off, with their
    fields"""
    latency: Annotated[tuple[NearCpus, ...], Meta(max_length=2000)] | None
    """the kernel's groups of CPUs with median and range in ns, by a [latency file](latency.md)
    beside the records"""
    margin: Annotated[float, Meta(ge=1e-9, le=1)]
    """equivalence margin of the outcomes"""
    look: Annotated[int, Meta(ge=1, le=1000)]
    """[interim analysis](statistics.md), of how many"""
    planned_looks: Annotated[int, Meta(ge=1, le=1000)]
    notes: Annotated[tuple[Annotated[str, line(2000)], ...], Meta(max_length=_MAX_NOTES)] = ()
    """a publication's footnotes"""
    unavailable: dict[Literal["node", "instruments", "latency"], Absence]
    """why `node`, `instruments` or `latency` is `null`"""
    cases: Annotated[tuple[CardCase, ...], Meta(min_length=1, max_length=MAX_CASES)]
    """below"""

    def __post_init__(self) -> None:
        """Raise ValueError for a comparison with a case that is not there, or with itself."""
        for place, case in enumerate(self.cases, 1):
            for name, comparison in case.comparisons.items():
                if comparison.against == place or comparison.against > len(self.cases):
                    raise ValueError(
                        f"cases[{place - 1}].comparisons.{name}.against: expected the place of "
                        f"another case, found '{comparison.against}'"
                    )

    def all_cases(self) -> list[Case]:
        """Return its cases as tables and comparisons take them."""
        return [case.case(place) for place, case in enumerate(self.cases, 1)]

    @property
    def fixed_time(self) -> frozenset[str]:
        """The cases whose programs run as long as they are told, by case_id."""
        return frozenset(str(place) for place, case in enumerate(self.cases, 1) if case.fixed_time)

    @property
    def off(self) -> dict[str, str]:
        """Why the values of some fields are wrong, by field."""
        return {
            field: f"{name} was off, by `pinstudy prove`"
            for name, fields in (self.instruments.off if self.instruments else {}).items()
            for field in fields
        }

    @property
    def footnotes(self) -> tuple[str, ...]:
        """The footnotes of every table of it."""
        return *self.notes, *self._circumstances()

    def _circumstances(self) -> Iterator[str]:
        if self.source == IMPORTED:
            yield summaries.FOOTNOTE
        if self.of_a_model:
            yield caveats.OF_A_MODEL
        if self.node and self.node.virtual_machine and self.source == MEASURED:
            yield caveats.IN_A_GUEST
        yield from caveats.emulated(case.vm_accelerator for case in self.cases)
        if self.node and any(kind.declared for kind in self.node.kinds):
            yield f"{caveats.DECLARED}: {self.node.kinds_text}"
        yield from self._conditions()
        if any(case.out_of_turn for case in self.cases):
            yield baselines.OUT_OF_TURN
        versions = self.versions.get("pinstudy")
        made = f", made by pinstudy {versions[0]}" if versions else ""
        yield f"from a card{made}: means and comparisons, without runs and notes on them"
        if self.instruments and self.instruments.off:
            yield f"instruments of the node: {self.instruments.summary}"

    def _conditions(self) -> Iterator[str]:
        if self.unusual_priority:
            yield caveats.ran_with("an unusual priority")
        yield from caveats.ran_on_battery(self.power_supplies)
        if self.daemons:
            yield caveats.running_meanwhile(self.daemons)


def is_card(source: str) -> bool:
    """Return whether a source of results is named as a card's file is."""
    return source.endswith(SUFFIX)


def read_card(path: Path) -> Card:
    """Return the card in a file.

    Raises UserError, naming file and field, for what cannot be read, is larger than 1 MiB, and for
    anything that is not as `pinstudy card` writes it.
    """
    return read_decoded(path, Card, MAX_BYTES, _EXPECTED, f"; {_EXPECTED}")
